# SPDX-License-Identifier: Apache-2.0
"""Two meters compared over the trials of a stored result."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from linewatt import __version__
from linewatt.analysis.power.totals import least_sure
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.calibration.comparison import SIDES, Compared, Load, compare
from linewatt.features.calibration.delay import Delay
from linewatt.features.calibration.documents import Bounded, Calibration, ComparedMeter, ComparedStep
from linewatt.features.calibration.line import Figure, Line
from linewatt.loads.registry import DEFAULT, LOADS
from linewatt.missing import Missing
from linewatt.model import EndResult, PowerResult, Trial, Window
from linewatt.store.read import Result
from linewatt.store.samples import read_courses

_SCOPES = tuple(SIDES)


@dataclass(frozen=True, slots=True)
class Pair:
    """Which two meters of which host; a name is that of a source, or ``source:scope``."""

    host: str
    meter: str
    reference: str


@dataclass(frozen=True, slots=True)
class _Meter:
    """Channels of one source that make a total of one scope."""

    source: str
    scope: str
    channels: tuple[PowerResult, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.channel for one in self.channels)

    @property
    def step_w(self) -> float:
        return math.fsum(one.step_w or 0.0 for one in self.channels)

    def record(self, refresh_s: float | None) -> ComparedMeter:
        known = [one.tolerance_ratio for one in self.channels if one.tolerance_ratio is not None]
        return ComparedMeter(
            source=self.source,
            channels=list(self.names),
            scope=self.scope,
            provenance=least_sure(one.provenance for one in self.channels) or "measured",
            step_w=self.step_w or None,
            refresh_s=refresh_s,
            tolerance_ratio=max(known) if len(known) == len(self.channels) else None,
        )


def compared(result: Result, pair: Pair, tolerance_ratio: float) -> Calibration:
    """One meter against the other over all trials that are done. Raises InvalidInput, StoreError."""
    trials = [
        (one, one.window)
        for one in result.trials
        if one.status == "done" and one.window is not None and _end(one, pair.host) is not None
    ]
    if not trials:
        raise StoreError(f"{result.id}: no trial with {pair.host} is done, so there is nothing to compare")
    courses = _courses(result, [one for one, _ in trials], pair.host)
    meter, reference = _meters([one for one, _ in trials], pair, courses.keys())
    found = compare(
        _total(courses, meter),
        _total(courses, reference),
        [_load(trial, window) for trial, window in trials],
        (meter.step_w, reference.step_w),
        tolerance_ratio,
        (meter.source, reference.source),
    )
    return Calibration(
        linewatt_version=__version__,
        host=pair.host,
        meter=meter.record(found.meter_refresh_s),
        reference=reference.record(found.reference_refresh_s),
        measured_s=max(window.end_s for _, window in trials),
        tolerance_ratio=tolerance_ratio,
        windows=len(trials),
        steps=[
            ComparedStep(trial=one.number, reference_w=one.reference_w, meter_w=one.meter_w)
            for one in found.steps
        ],
        **_figures(found),
    )


def _figures(found: Compared) -> dict[str, Any]:
    if isinstance(found.line, Missing):
        return {"withheld": found.line.reason}
    line: Line = found.line
    return {
        "gain": _bounded(line.gain),
        "offset_w": _bounded(line.offset_w),
        "delay_s": _of_delay(found.delay),
        "averaging_s": found.delay.averaging_s if found.delay else None,
        "low_w": line.low_w,
        "high_w": line.high_w,
        "difference_w": _bounded(line.difference_w),
        "left_w": line.left_w,
        "bulge_w": line.bulge_w,
        "legs_w": _bounded(line.legs_w),
        "within_w": [list(one) for one in line.within],
        "withheld": line.withheld,
    }


def _bounded(figure: Figure | None) -> Bounded | None:
    return None if figure is None else Bounded(value=figure.value, low=figure.low, high=figure.high)


def _of_delay(late: Delay | None) -> Bounded | None:
    return None if late is None else Bounded(value=late.value_s, low=late.low_s, high=late.high_s)


def _end(trial: Trial, host: str) -> EndResult | None:
    return next((end for end in trial.ends if end.host == host), None)


def _load(trial: Trial, window: Window) -> Load:
    load = LOADS.get(trial.case.load or DEFAULT)
    begun_s = trial.started_s + (load.lead_s if load else 0.0)
    key = f"{trial.case_key} {trial.case.load_level}"
    return Load(begun_s, window.start_s, window.end_s, key, trial.number)


Courses = Mapping[tuple[str, str], Mapping[float, float]]
"""(source, channel) → W by time, Unix s"""


def _courses(result: Result, trials: Sequence[Trial], host: str) -> Courses:
    """What all channels of power of a host read, from the first trial to the last: each trial's samples reach
    into those beside it. Raises StoreError."""
    found: dict[tuple[str, str], dict[float, float]] = {}
    for trial in trials:
        for one in read_courses(result.path / "trials" / f"{trial.number:05d}" / "samples.parquet", {}):
            if one.host == host and one.unit == "W":
                known = ((time_s, value) for time_s, value in one.points if value is not None)
                found.setdefault((one.source, one.name), {}).update(known)
    return found


def _total(courses: Courses, meter: _Meter) -> list[tuple[float, float]]:
    """The sum of a meter's channels, wherever all were read at once, in the order of time."""
    own = [courses[meter.source, name] for name in meter.names]
    times = sorted(set(own[0]).intersection(*own[1:]))
    return [(time_s, math.fsum(one[time_s] for one in own)) for time_s in times]


def _meters(trials: Sequence[Trial], pair: Pair, read: Collection[tuple[str, str]]) -> tuple[_Meter, _Meter]:
    """What of the two sources can be compared: of one scope, else of one side. Raises InvalidInput."""
    known: dict[tuple[str, str], PowerResult] = {}
    for trial in trials:
        end = _end(trial, pair.host)
        every = end.power if end else ()
        known |= {key: one for one in every if (key := (one.source, one.channel)) in read}
    own, other = (list(_of_source(known.values(), name, pair.host)) for name in (pair.meter, pair.reference))
    return min(product(own, other), key=lambda two: _unlike(*two))


def _unlike(meter: _Meter, reference: _Meter) -> tuple[bool, bool, int]:
    same_side = SIDES[meter.scope] == SIDES[reference.scope]
    return not same_side, meter.scope != reference.scope, _SCOPES.index(reference.scope)


def _of_source(power: Iterable[PowerResult], name: str, host: str) -> Iterator[_Meter]:
    source, _, scope = name.partition(":")
    every = [one for one in power if one.source == source]
    told = [one for one in every if one.scope.partition(":")[0] in SIDES]
    scopes = list(dict.fromkeys(one.scope.partition(":")[0] for one in told))
    if scope and scope not in scopes:
        there = f"there are {', '.join(scopes)}" if scopes else "it has none that can be compared"
        raise InvalidInput(f"{name}: {source} of {host} has no {scope}; {there}")
    if not scopes:
        raise InvalidInput(f"{name}: no source {source} of {host} has watts that can be compared")
    for each in [scope] if scope else scopes:
        own = [one for one in told if one.scope.partition(":")[0] == each]
        whole = [one for one in own if ":" not in one.scope]
        yield _Meter(source, each, tuple(whole[:1] or own))
