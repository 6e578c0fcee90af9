# SPDX-License-Identifier: Apache-2.0
"""Energy and mean power over a window from readings of power, or of a running total of energy. Pure.

Power is integrated by trapezoids over distinct updates, clipped to the window. The uncertainty is a bound,
made of what is known of the sensor:

- step: whether a sensor rounds or cuts is not known, so a whole step over all of the window;
- lag: an update may be as old as the sensor's update interval, so the course of power may be shifted by it:
  the difference between the window's ends times the interval;
- jumps: between two updates the power may have jumped at any moment, independently of other jumps: half of
  each difference times their distance, added in squares;
- tolerance: ± this part of the energy, if known, added in squares to the sum of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from linewatt.model import Window

MAX_GAP_UPDATES = 3
"""A longer silence is a gap, and nothing is interpolated over it."""

SAME_WAY = 3
"""jumps of power whose errors may all have one sign"""
SAME_UPDATE = 0.9
"""An equal reading that comes sooner than this part of the update interval is the same update read again."""

Readings = Sequence[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Energy:
    """What a window used, its mean, a bound of the error, and from how many distinct updates it is."""

    energy_j: float
    power_w: float
    uncertainty_j: float
    updates: int


@dataclass(frozen=True, slots=True)
class Meter:
    """What is known of a sensor: update interval (s), step (W; of a total J), tolerance (0.05: ± 5 %)."""

    update_s: float
    step_w: float | None = None
    tolerance_ratio: float | None = None
    step_j: float | None = None


def distinct_updates(readings: Readings, update_s: float) -> list[tuple[float, float]]:
    """Readings that are updates of the sensor: another value, or an equal one an update interval later."""
    kept: list[tuple[float, float]] = []
    for time_s, value in sorted((when_s, power_w) for when_s, power_w in readings if power_w is not None):
        if not kept or value != kept[-1][1] or time_s - kept[-1][0] >= SAME_UPDATE * update_s:
            kept.append((time_s, value))
    return kept


def from_power(readings: Readings, window: Window, meter: Meter) -> Energy | str:
    """Integrate readings of power ``(time_s, W)`` over the window, or say why that cannot be done."""
    updates = distinct_updates(readings, meter.update_s)
    missing = _uncovered([time_s for time_s, _ in updates], window, meter.update_s)
    if missing:
        return missing
    clipped = _clip(updates, window)
    energy_j = sum((t1 - t0) * (p0 + p1) / 2 for (t0, p0), (t1, p1) in pairwise(clipped))
    jumps_j = _timing_j([(t1 - t0) * abs(p1 - p0) / 2 for (t0, p0), (t1, p1) in pairwise(clipped)])
    lag_j = meter.update_s * abs(clipped[-1][1] - clipped[0][1])
    return _energy(energy_j, window, meter, jumps_j + lag_j, _inside(updates, window))


def _timing_j(jumps_j: Sequence[float]) -> float:
    """Error from not knowing when power changed between two updates, J.

    Many small ones fall either way and add as squares; the few largest may all fall the same way.
    """
    ordered = sorted(jumps_j, reverse=True)
    return math.fsum(ordered[:SAME_WAY]) + math.hypot(*ordered[SAME_WAY:])


def from_total(readings: Readings, window: Window, meter: Meter, counted_j: float) -> Energy | str:
    """Energy that a running total counted in the window (``counted_j``, free of wraps), or why it tells none.

    The window's edges fall between updates: there the power is known no better than the steps around it. A
    total that did not move is of a meter too coarse for the window, or of one that stands: never 0 W.
    """
    if counted_j <= 0:
        steps = f", in steps of {meter.step_j:g} J" if meter.step_j else ""
        return f"its total did not move in the window{steps}"
    ordered = sorted((time_s, value) for time_s, value in readings if value is not None)
    moves = [after for before, after in pairwise(ordered) if after[1] != before[1]]
    times = [ordered[0][0], *(time_s for time_s, _ in moves)]
    longest_s = max((after - before for before, after in pairwise(times)), default=0.0)
    edges_j = 2 * counted_j / window.seconds * longest_s / 4
    coarse_j = edges_j + (meter.step_j or 0.0)
    known = Meter(meter.update_s, None, meter.tolerance_ratio)
    return _energy(counted_j, window, known, coarse_j, _inside(moves, window))


def _energy(energy_j: float, window: Window, meter: Meter, timing_j: float, updates: int) -> Energy:
    tolerance_j = (meter.tolerance_ratio or 0.0) * abs(energy_j)
    step_j = (meter.step_w or 0.0) * window.seconds
    uncertainty_j = math.hypot(tolerance_j, step_j + timing_j)
    return Energy(energy_j, energy_j / window.seconds, uncertainty_j, updates)


def _uncovered(times_s: Sequence[float], window: Window, update_s: float) -> str | None:
    if len(times_s) < 2 or times_s[0] > window.start_s or times_s[-1] < window.end_s:
        return "its readings do not cover the window"
    steps = [(before, after) for before, after in pairwise(times_s)]
    usual_s = max(update_s, median(after - before for before, after in steps))
    for before, after in steps:
        touches = after > window.start_s and before < window.end_s
        if touches and after - before > MAX_GAP_UPDATES * usual_s:
            return f"no reading for {after - before:.1f} s"
    return None


def _inside(updates: Sequence[tuple[float, float]], window: Window) -> int:
    return sum(window.start_s <= time_s <= window.end_s for time_s, _ in updates)


def _clip(updates: Sequence[tuple[float, float]], window: Window) -> list[tuple[float, float]]:
    """The course of power in the window, its ends interpolated."""
    inside = [one for one in updates if window.start_s < one[0] < window.end_s]
    return [
        (window.start_s, _at(updates, window.start_s)),
        *inside,
        (window.end_s, _at(updates, window.end_s)),
    ]


def _at(updates: Sequence[tuple[float, float]], time_s: float) -> float:
    for (t0, p0), (t1, p1) in pairwise(updates):
        if t0 <= time_s <= t1:
            return p0 if t1 == t0 else p0 + (p1 - p0) * (time_s - t0) / (t1 - t0)
    raise ValueError(f"{time_s} is outside the readings")
