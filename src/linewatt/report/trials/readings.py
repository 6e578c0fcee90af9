# SPDX-License-Identifier: Apache-2.0
"""What was read of a trial over time, put together of what is stored."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from linewatt.loads import SHORT_RATIO
from linewatt.model import Role, Trial
from linewatt.store import Course, Result, read_rates, trial_dir

Points = list[tuple[float, float | None]]
"""(s, value), None where a reading is missing"""


def median_trial(trials: Iterable[Trial]) -> Trial | None:
    """The trial that stands for its case: the one with the median throughput, of an even number the lower."""
    measured = [trial for trial in trials if trial.throughput_bps is not None and trial.window is not None]
    ordered = sorted(measured, key=lambda trial: (trial.throughput_bps, trial.number))
    return ordered[(len(ordered) - 1) // 2] if ordered else None


@dataclass(frozen=True, slots=True)
class ThroughputCourse:
    """Throughput of all instances over a trial: ``points`` are means since the one before, bit/s.

    Times are seconds from the start of the window, which is ``window_s`` long.
    """

    points: tuple[tuple[float, float | None], ...]
    window_s: float

    @property
    def in_window(self) -> tuple[float | None, ...]:
        """The means of which at least half is of the window."""
        half_s = _usual_distance_s(self.points) / 2
        return tuple(value for time_s, value in self.points if 0 <= time_s - half_s <= self.window_s)


def read_throughput(result: Result, trial: Trial) -> ThroughputCourse | None:
    """What the throughput of one trial did; None where it is not stored. Raises StoreError."""
    if trial.window is None:
        return None
    courses = read_rates(trial_dir(result.path, trial.number) / "samples.parquet")
    points = throughput_points(courses, trial, "receiver")
    start_s = trial.window.start_s
    from_start = tuple((time_s - start_s, value) for time_s, value in points)
    return ThroughputCourse(from_start, trial.window.seconds) if from_start else None


def throughput_points(courses: Sequence[Course], trial: Trial, role: Role) -> Points:
    """What all instances got together, at the times of the first; where one is not known, nor is the sum."""
    rates = [course for course in courses if course.unit == "bit/s" and f".{role}." in course.name]
    if len(rates) < trial.case.processes:
        return []
    rates = [replace(rate, points=tuple(points_of_usual_length(rate.points))) for rate in rates]
    first = rates[0].points
    half_s = _usual_distance_s(first) / 2
    total = [
        (time_s, whole_sum(_nearest(rate.points, time_s, half_s) for rate in rates)) for time_s, _ in first
    ]
    known_indices = [at for at, (_, value) in enumerate(total) if value is not None]
    return total[known_indices[0] : known_indices[-1] + 1] if known_indices else []


def points_of_usual_length(points: Sequence[tuple[float, float | None]]) -> Points:
    """Means without those of a short time since the one before: what a few ms hold is no rate."""
    if not points:
        return []
    apart_s = [after - before for (before, _), (after, _) in pairwise(points)]
    least_s = SHORT_RATIO * median(apart_s) if apart_s else 0.0
    return [point for point, since_s in zip(points, [math.inf, *apart_s], strict=True) if since_s >= least_s]


def _usual_distance_s(points: Sequence[tuple[float, float | None]]) -> float:
    return median([after - before for (before, _), (after, _) in pairwise(points)] or [0.0])


def _nearest(points: Sequence[tuple[float, float | None]], time_s: float, within_s: float) -> float | None:
    """The reading nearest to a time, if it is no further away than that."""
    at = bisect_left(points, time_s, key=lambda point: point[0])
    near = min(points[max(0, at - 1) : at + 1], key=lambda point: abs(point[0] - time_s), default=None)
    return near[1] if near is not None and abs(near[0] - time_s) <= within_s else None


def whole_sum(values: Iterable[float | None]) -> float | None:
    """The sum of readings; None where one is missing."""
    readings = list(values)
    return None if None in readings else math.fsum(value for value in readings if value is not None)
