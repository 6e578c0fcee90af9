# SPDX-License-Identifier: Apache-2.0
"""Power whose mean is known, and what a meter that averages, refreshes and rounds shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from linewatt.analysis.power import meters
from linewatt.analysis.power.energy import Energy, Meter, energy_from_power
from linewatt.missing import Missing
from linewatt.model import Window
from linewatt.sensors.power.dynamics import Dynamics

GRID_S = 0.1
BEFORE_S = 40.0
"""idle, before a load"""
OMIT_S, TAIL_S = 5.0, 2.0
IDLE_W = 100.0
W_PER_CORE = 50.0

Floats = Any


@dataclass(frozen=True)
class Simulated:
    """A meter, and how it is read."""

    refresh_s: float
    averaging_s: float
    shape: Literal["window", "exponential"] = "window"
    step_w: float = 1.0
    read_every_s: float = 1.0
    delay_s: float = 0.0
    peak_s: float = 0.0
    """it shows the highest power of so long"""

    def readings(self, rng: np.random.Generator, power_w: Floats) -> list[tuple[float, float]]:
        """What whoever polls it gets."""
        shown = self._averaged(power_w)
        seconds = len(power_w) * GRID_S
        jitter = 1 + rng.uniform(-0.02, 0.02, int(seconds / self.read_every_s) + 2)
        times = rng.uniform(0, self.read_every_s) + np.cumsum(jitter) * self.read_every_s
        times = times[times < seconds - GRID_S]
        phase = rng.uniform(0, self.refresh_s)
        taken = np.floor((times - phase) / self.refresh_s) * self.refresh_s + phase
        at = np.clip(((taken - self.delay_s) / GRID_S).astype(int), 0, len(shown) - 1)
        values = shown[at]
        return list(zip(times.tolist(), (np.round(values / self.step_w) * self.step_w).tolist(), strict=True))

    def _averaged(self, power_w: Floats) -> Floats:
        if self.peak_s:
            held = round(self.peak_s / GRID_S)
            padded = np.concatenate([np.full(held, power_w[0]), power_w])
            return np.lib.stride_tricks.sliding_window_view(padded, held + 1).max(axis=1)
        span = round(self.averaging_s / GRID_S)
        if span < 1:
            return power_w
        if self.shape == "exponential":
            # 0.1 s of a first-order response, over as long as matters
            weights = np.exp(-np.arange(8 * span) / span)
            weights /= weights.sum()
        else:
            weights = np.full(span, 1 / span)
        padded = np.concatenate([np.full(len(weights) - 1, power_w[0]), power_w])
        return np.convolve(padded, weights, mode="valid")


@dataclass(frozen=True)
class Course:
    """How power varies under load: by noise of some correlation time, and between levels."""

    noise_w: float = 4.0
    correlation_s: float = 0.5
    levels_w: float = 0.0

    def power(self, rng: np.random.Generator, load_s: float, load_w: float) -> Floats:
        """Idle, ``load_s`` of a load, and a second of idle again, every 0.1 s."""
        times = np.arange(0, BEFORE_S + load_s + 1, GRID_S)
        knots = np.arange(-self.correlation_s, times[-1] + 2 * self.correlation_s, self.correlation_s)
        noise = np.interp(times, knots, rng.normal(0, self.noise_w, len(knots)))
        changes = np.cumsum(rng.exponential(20, 40))
        levels = rng.choice([-1.0, 0.0, 1.0], 41) * self.levels_w
        of_load = load_w + noise + levels[np.searchsorted(changes, times)]
        loaded = (times >= BEFORE_S) & (times < BEFORE_S + load_s)
        return np.where(loaded, of_load, IDLE_W + 0.4 * noise)


def learned(
    rng: np.random.Generator, meter: Simulated, course: Course, loads: int, load_s: float
) -> Dynamics:
    """What a campaign knows of a meter after some loads."""
    distances: list[float] = []
    steps = []
    for _ in range(loads):
        readings = meter.readings(rng, course.power(rng, load_s, rng.uniform(150, 300)))
        distances += [after - before for before, after in pairwise(meters.changes(readings))]
        refresh_s = meters.refresh(distances, meter.read_every_s)
        own = [one for one in readings if one[0] <= BEFORE_S + load_s - TAIL_S]
        step = meters.fit_step(own, BEFORE_S, refresh_s, meter.step_w)
        steps += [step] if step else []
    return meters.dynamics(distances, meter.read_every_s, steps)


def in_a_row(
    rng: np.random.Generator,
    meter: Simulated,
    loads_w: Sequence[float],
    load_s: float,
    rest_s: float,
    course: Course = Course(),
    after_s: float = 0.0,
) -> tuple[list[tuple[float, float]], list[meters.Load]]:
    """Readings of idle, then loads with a rest behind each, then idle again; and when these loads ran."""
    loads = [
        meters.Load(start_s, start_s + load_s, (load_w - IDLE_W) / W_PER_CORE)
        for load_w, start_s in (
            (load_w, BEFORE_S + number * (load_s + rest_s)) for number, load_w in enumerate(loads_w)
        )
    ]
    seconds = loads[-1].end_s - BEFORE_S + after_s
    vary_w = course.power(rng, seconds, IDLE_W) - IDLE_W
    times = np.arange(len(vary_w)) * GRID_S
    power_w = IDLE_W + 0.4 * vary_w
    for load, load_w in zip(loads, loads_w, strict=True):
        loaded = (times >= load.start_s) & (times < load.end_s)
        power_w = np.where(loaded, load_w + vary_w, power_w)
    return meter.readings(rng, power_w), loads


@dataclass(frozen=True)
class Outcome:
    """One window: the true mean, and what was made of the readings."""

    true_w: float
    found: Energy | Missing
    window_s: float

    @property
    def holds(self) -> bool:
        """Whether the truth is within what is stated."""
        assert isinstance(self.found, Energy)
        return abs(self.found.power_w - self.true_w) <= self.found.uncertainty_j / self.window_s


def window(
    rng: np.random.Generator, meter: Simulated, course: Course, window_s: float, known: Dynamics
) -> Outcome:
    """A load measured as the engine does."""
    load_s = OMIT_S + window_s + TAIL_S
    power_w = course.power(rng, load_s, rng.uniform(150, 300))
    load = Window(BEFORE_S, BEFORE_S + load_s)
    span = Window(BEFORE_S + OMIT_S, BEFORE_S + OMIT_S + window_s)
    true_w = float(power_w[round(span.start_s / GRID_S) : round(span.end_s / GRID_S)].mean())
    readings = [one for one in meter.readings(rng, power_w) if one[0] >= BEFORE_S - 2 * meter.read_every_s]
    found = energy_from_power(readings, span, Meter(meter.read_every_s, meter.step_w, dynamics=known), load)
    return Outcome(true_w, found, window_s)
