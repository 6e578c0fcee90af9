# SPDX-License-Identifier: Apache-2.0
"""Two meters compared over the trials of a stored result."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from linewatt import __version__
from linewatt.analysis.power import least_sure
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.calibration.comparison import SIDES, Compared, Load, compare
from linewatt.features.calibration.delay import Delay
from linewatt.features.calibration.documents import Bounded, Calibration, ComparedMeter, ComparedStep
from linewatt.features.calibration.line import Line
from linewatt.loads import load_of
from linewatt.missing import Missing
from linewatt.model import EndResult, PowerResult, Trial, Window
from linewatt.store import Result, read_courses

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
        return tuple(channel.channel for channel in self.channels)

    @property
    def step_w(self) -> float:
        return math.fsum(channel.step_w or 0.0 for channel in self.channels)

    def record(self, refresh_s: float | None) -> ComparedMeter:
        tolerance_ratios = [
            channel.tolerance_ratio for channel in self.channels if channel.tolerance_ratio is not None
        ]
        return ComparedMeter(
            source=self.source,
            channels=list(self.names),
            scope=self.scope,
            provenance=least_sure(channel.provenance for channel in self.channels) or "measured",
            step_w=self.step_w or None,
            refresh_s=refresh_s,
            tolerance_ratio=max(tolerance_ratios) if len(tolerance_ratios) == len(self.channels) else None,
        )


def compared(result: Result, pair: Pair, tolerance_ratio: float) -> Calibration:
    """One meter against the other over all trials that are done. Raises InvalidInput, StoreError."""
    trials = [
        (trial, trial.window)
        for trial in result.trials
        if trial.status == "done" and trial.window is not None and _end(trial, pair.host) is not None
    ]
    if not trials:
        raise StoreError(f"{result.id}: no trial with {pair.host} is done, so there is nothing to compare")
    courses = _courses(result, [trial for trial, _ in trials], pair.host)
    meter, reference = _meters([trial for trial, _ in trials], pair, courses.keys())
    comparison = compare(
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
        meter=meter.record(comparison.meter_refresh_s),
        reference=reference.record(comparison.reference_refresh_s),
        measured_s=max(window.end_s for _, window in trials),
        tolerance_ratio=tolerance_ratio,
        windows=len(trials),
        steps=[
            ComparedStep(trial=step.number, reference_w=step.reference_w, meter_w=step.meter_w)
            for step in comparison.steps
        ],
        **_figures(comparison),
    )


def _figures(comparison: Compared) -> dict[str, Any]:
    if isinstance(comparison.line, Missing):
        return {"withheld": comparison.line.reason}
    line: Line = comparison.line
    return {
        "gain": line.gain,
        "offset_w": line.offset_w,
        "delay_s": _of_delay(comparison.delay),
        "averaging_s": comparison.delay.averaging_s if comparison.delay else None,
        "low_w": line.low_w,
        "high_w": line.high_w,
        "difference_w": line.difference_w,
        "left_w": line.left_w,
        "bulge_w": line.bulge_w,
        "legs_w": line.legs_w,
        "within_w": [list(span_w) for span_w in line.within],
        "withheld": line.withheld,
    }


def _of_delay(late: Delay | None) -> Bounded | None:
    return None if late is None else Bounded(value=late.value_s, low=late.low_s, high=late.high_s)


def _end(trial: Trial, host: str) -> EndResult | None:
    return next((end for end in trial.ends if end.host == host), None)


def _load(trial: Trial, window: Window) -> Load:
    begun_s = trial.started_s + load_of(trial.case.load).lead_s
    key = f"{trial.case_key} {trial.case.load_level}"
    return Load(begun_s, window.start_s, window.end_s, key, trial.number)


Courses = Mapping[tuple[str, str], Mapping[float, float]]
"""(source, channel) → W by time, Unix s"""


def _courses(result: Result, trials: Sequence[Trial], host: str) -> Courses:
    """What all channels of power of a host read, from the first trial to the last: each trial's samples reach
    into those beside it. Raises StoreError."""
    courses: dict[tuple[str, str], dict[float, float]] = {}
    for trial in trials:
        for course in read_courses(result.path / "trials" / f"{trial.number:05d}" / "samples.parquet", {}):
            if course.host == host and course.unit == "W":
                points = ((time_s, value) for time_s, value in course.points if value is not None)
                courses.setdefault((course.source, course.name), {}).update(points)
    return courses


def _total(courses: Courses, meter: _Meter) -> list[tuple[float, float]]:
    """The sum of a meter's channels, wherever all were read at once, in the order of time."""
    channel_courses = [courses[meter.source, name] for name in meter.names]
    times = sorted(set(channel_courses[0]).intersection(*channel_courses[1:]))
    return [(time_s, math.fsum(course[time_s] for course in channel_courses)) for time_s in times]


def _meters(trials: Sequence[Trial], pair: Pair, read: Collection[tuple[str, str]]) -> tuple[_Meter, _Meter]:
    """What of the two sources can be compared: of one scope, else of one side. Raises InvalidInput."""
    read_channels: dict[tuple[str, str], PowerResult] = {}
    for trial in trials:
        end = _end(trial, pair.host)
        end_channels = end.power if end else ()
        read_channels |= {
            key: channel for channel in end_channels if (key := (channel.source, channel.channel)) in read
        }
    meters, references = (
        list(_of_source(read_channels.values(), name, pair.host)) for name in (pair.meter, pair.reference)
    )
    return min(product(meters, references), key=lambda two: _unlike(*two))


def _unlike(meter: _Meter, reference: _Meter) -> tuple[bool, bool, int]:
    same_side = SIDES[meter.scope] == SIDES[reference.scope]
    return not same_side, meter.scope != reference.scope, _SCOPES.index(reference.scope)


def _of_source(power: Iterable[PowerResult], name: str, host: str) -> Iterator[_Meter]:
    source, _, scope = name.partition(":")
    source_channels = [channel for channel in power if channel.source == source]
    sided_channels = [channel for channel in source_channels if channel.scope.partition(":")[0] in SIDES]
    scopes = list(dict.fromkeys(channel.scope.partition(":")[0] for channel in sided_channels))
    if scope and scope not in scopes:
        available = f"there are {', '.join(scopes)}" if scopes else "it has none that can be compared"
        raise InvalidInput(f"{name}: {source} of {host} has no {scope}; {available}")
    if not scopes:
        raise InvalidInput(f"{name}: no source {source} of {host} has watts that can be compared")
    for chosen_scope in [scope] if scope else scopes:
        scope_channels = [
            channel for channel in sided_channels if channel.scope.partition(":")[0] == chosen_scope
        ]
        total_channels = [channel for channel in scope_channels if ":" not in channel.scope]
        yield _Meter(source, chosen_scope, tuple(total_channels[:1] or scope_channels))
