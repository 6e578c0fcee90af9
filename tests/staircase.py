# SPDX-License-Identifier: Apache-2.0
"""Power that goes up and down a staircase of load, and what two meters of which all is planted show of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from linewatt.features.calibration.comparison import Compared, Load, compare
from linewatt.model import Case, Channel, EndResult, PowerResult, Sample, Trial, Window
from linewatt.store import write
from linewatt.store.samples import Series

GRID_S = 0.05
LEVELS = (0, 10, 25, 50, 75, 100)
BEFORE_S, OMIT_S, BETWEEN_S, AFTER_S = 20.0, 3.0, 3.2, 80.0
IDLE_W, MOST_W = 72.0, 228.0
CREATED_S = 1_767_225_600.0


@dataclass(frozen=True)
class Meter:
    """``(1 + gain) · power + offset_w``, averaged, late, refreshed, rounded and read."""

    gain: float = 0.0
    offset_w: float = 0.0
    delay_s: float = 0.0
    refresh_s: float = 0.2
    averaging_s: float = 0.0
    step_w: float = 0.1
    read_every_s: float = 1.0
    bulge_w: float = 0.0
    drift_w: float = 0.0
    """what it reads more at the end than at the beginning"""


@dataclass(frozen=True)
class Staircase:
    """How long each load is, how often it goes up and down, and how the power varies."""

    window_s: float = 20.0
    legs: int = 2
    noise_w: float = 2.0
    most_w: float = MOST_W
    loads: tuple[Load, ...] = field(init=False)
    levels: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        legs = (LEVELS if leg % 2 == 0 else LEVELS[::-1] for leg in range(self.legs))
        levels = (100, 100, *(level for leg in legs for level in leg))
        each_s = OMIT_S + self.window_s + BETWEEN_S
        begun = [BEFORE_S + each_s * number for number in range(len(levels))]
        object.__setattr__(self, "levels", levels)
        object.__setattr__(
            self,
            "loads",
            tuple(
                Load(at_s, at_s + OMIT_S, at_s + OMIT_S + self.window_s, str(level), number)
                for number, (at_s, level) in enumerate(zip(begun, levels, strict=True), 1)
            ),
        )

    def power(self, rng: np.random.Generator) -> Any:
        times = np.arange(0, self.loads[-1].end_s + AFTER_S, GRID_S)
        power_w = np.full(len(times), IDLE_W)
        for load, level in zip(self.loads, self.levels, strict=True):
            busy = level / 100
            rise = 2 * busy - busy**1.4
            power_w[(times >= load.begun_s) & (times < load.end_s + 2)] = (
                IDLE_W + (self.most_w - IDLE_W) * rise
            )
        knots = np.arange(-1, times[-1] + 2, 0.5)
        return power_w + np.interp(times, knots, rng.normal(0, self.noise_w, len(knots)))

    def readings(self, rng: np.random.Generator, meter: Meter, power_w: Any) -> list[tuple[float, float]]:
        """What whoever reads the meter gets."""
        span = max(1, round(meter.averaging_s / GRID_S))
        padded = np.concatenate([np.full(span - 1, power_w[0]), power_w])
        shown = np.convolve(padded, np.full(span, 1 / span), mode="valid")
        share = (shown - IDLE_W) / (self.most_w - IDLE_W) if meter.bulge_w else 0.0 * shown
        shown = (1 + meter.gain) * shown + meter.offset_w + 4 * meter.bulge_w * share * (1 - share)
        shown += meter.drift_w * np.linspace(0, 1, len(shown))
        last_s = (len(power_w) - 1) * GRID_S
        times = rng.uniform(0, meter.read_every_s) + np.arange(0, last_s - 1, meter.read_every_s)
        times = times + rng.uniform(0, 0.03, len(times))
        phase_s = rng.uniform(0, meter.refresh_s)
        taken = np.floor((times - phase_s) / meter.refresh_s) * meter.refresh_s + phase_s - meter.delay_s
        values = shown[np.clip((taken / GRID_S).astype(int), 0, len(shown) - 1)]
        rounded = np.round(values / meter.step_w) * meter.step_w
        return list(zip(times.tolist(), rounded.tolist(), strict=True))


def compared(
    seed: int, meter: Meter, reference: Meter | None = None, stairs: Staircase | None = None
) -> Compared:
    rng, how, other = np.random.default_rng(seed), stairs or Staircase(), reference or Meter()
    power_w = how.power(rng)
    own, its = how.readings(rng, meter, power_w), how.readings(rng, other, power_w)
    return compare(own, its, how.loads, (meter.step_w, other.step_w), names=("bmc", "pdu"))


def stored(root: Path, seed: int, meter: Meter, reference: Meter | None = None, **scopes: str) -> Path:
    """The same as a result: h2 with ``bmc`` and ``pdu``, h1 with nothing."""
    rng, how, other = np.random.default_rng(seed), Staircase(), reference or Meter()
    power_w = how.power(rng)
    readings = {
        "bmc": (meter, how.readings(rng, meter, power_w)),
        "pdu": (other, how.readings(rng, other, power_w)),
    }
    hosts = {name: {"address": "192.0.2.1", "data": "eth0", "facts": {}} for name in ("h1", "h2")}
    manifest = {
        "schema_version": 1,
        "name": "meters",
        "linewatt_version": "0",
        "created_s": CREATED_S,
        "campaign_text": "",
        "campaign": {},
        "plan": None,
        "seed": None,
        "order": "mirrored",
        "trials_planned": len(how.loads),
        "hosts": hosts,
    }
    path = write.new_result(root, "meters", CREATED_S, manifest)
    for load, level in zip(how.loads, how.levels, strict=True):
        near = {
            name: [one for one in own if load.begun_s - 1.5 <= one[0] <= load.end_s + 3.5]
            for name, (_, own) in readings.items()
        }
        series = [_series(name, near[name], readings[name][0], scopes) for name in near]
        write.write_trial(path, _trial(load, level, readings, scopes), series, {})
    return path


def _series(name: str, points: list[tuple[float, float]], meter: Meter, scopes: dict[str, str]) -> Series:
    channel = Channel("watts", "W", "gauge", scopes.get(name, "wall"), step=meter.step_w)
    samples = [Sample(CREATED_S + time_s, "watts", value) for time_s, value in points]
    return Series("h2", name, {"watts": channel}, samples)


def _trial(load: Load, level: int, readings: dict[str, Any], scopes: dict[str, str]) -> Trial:
    case = Case("tcp", "h1", "h2", load_level=level / 100)
    window = Window(CREATED_S + load.start_s, CREATED_S + load.end_s)
    power = tuple(
        PowerResult(name, "watts", scopes.get(name, "wall"), "measured", "", 100.0, 2000.0, 1.0, meter.step_w)
        for name, (meter, _) in readings.items()
    )
    sender = EndResult("h1", "sender", 0.5, None, None, None, None)
    receiver = EndResult("h2", "receiver", 0.5, None, None, None, None, power=power)
    return Trial(
        load.number,
        1,
        case,
        case.key,
        "done",
        CREATED_S + load.begun_s,
        window=window,
        throughput_bps=1e9 * level,
        sender=sender,
        receiver=receiver,
    )
