# SPDX-License-Identifier: Apache-2.0
"""Series of a trial's readings over time, for charts: throughput and RTT of all instances, thinned."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from linewatt.loads import SHORT_RATIO
from linewatt.model import Role, Trial
from linewatt.store import Course

Points = list[tuple[float, float | None]]
"""(s, value), None where a reading is missing"""
MOST_POINTS = 120


def throughput_points(courses: Sequence[Course], trial: Trial, role: Role) -> Points:
    """What all instances got together, at the times of the first; where one is not known, nor is the sum."""
    rates = [course for course in courses if course.unit == "bit/s" and f".{role}." in course.name]
    if len(rates) < trial.case.processes:
        return []
    rates = [replace(rate, points=tuple(of_usual_length(rate.points))) for rate in rates]
    return _of_all(rates, sum_if_complete)


def rtt_points(courses: Sequence[Course], trial: Trial, role: Role) -> Points:
    """The mean RTT of all instances, at the times of the first; where one is not known, nor is the mean.

    It is the mean of all streams, because the instances of a trial have the same number of streams.
    """
    rtts = [course for course in courses if course.unit == "s" and course.name.endswith(f".{role}.rtt_s")]
    return _of_all(rtts, _mean_if_complete) if len(rtts) >= trial.case.processes else []


def _of_all(courses: Sequence[Course], combine: Callable[[Iterable[float | None]], float | None]) -> Points:
    """One series of the courses of all instances, from its first to its last known value."""
    first = courses[0].points if courses else ()
    half_s = usual_distance_s(first) / 2
    points: Points = [
        (time_s, combine(_at(course.points, time_s, half_s) for course in courses)) for time_s, _ in first
    ]
    known_indices = [at for at, (_, value) in enumerate(points) if value is not None]
    return points[known_indices[0] : known_indices[-1] + 1] if known_indices else []


def of_usual_length(points: Sequence[tuple[float, float | None]]) -> Points:
    """Means without those of a short time since the one before: what a few ms hold is no rate."""
    if not points:
        return []
    apart_s = [after - before for (before, _), (after, _) in pairwise(points)]
    least_s = SHORT_RATIO * median(apart_s) if apart_s else 0.0
    return [point for point, since_s in zip(points, [math.inf, *apart_s], strict=True) if since_s >= least_s]


def usual_distance_s(points: Sequence[tuple[float, float | None]]) -> float:
    """The median time between readings; 0 of fewer than two."""
    return median([after - before for (before, _), (after, _) in pairwise(points)] or [0.0])


def _at(points: Sequence[tuple[float, float | None]], time_s: float, within_s: float) -> float | None:
    """The reading nearest to a time, if it is no further away than that."""
    at = bisect_left(points, time_s, key=lambda point: point[0])
    near = min(points[max(0, at - 1) : at + 1], key=lambda point: abs(point[0] - time_s), default=None)
    return near[1] if near is not None and abs(near[0] - time_s) <= within_s else None


def sum_if_complete(values: Iterable[float | None]) -> float | None:
    """The sum; None where a value is missing."""
    readings = list(values)
    return None if None in readings else math.fsum(value for value in readings if value is not None)


def _mean_if_complete(values: Iterable[float | None]) -> float | None:
    """The mean; None where a value is missing."""
    readings = list(values)
    total = sum_if_complete(readings)
    return None if total is None else total / len(readings)


def thinned(points: Points, max_points: int = MOST_POINTS) -> Points:
    """At most ``max_points`` points that keep every peak and dip, and a gap of each portion that has one."""
    if len(points) <= max_points:
        return list(points)
    portions = max_points // 3
    selected: Points = []
    for at in range(portions):
        portion = points[at * len(points) // portions : (at + 1) * len(points) // portions]
        known_values = [(value, time_s) for time_s, value in portion if value is not None]
        gap = next((point for point in portion if point[1] is None), None)
        ends: dict[float, float | None] = {}
        if known_values:
            ends = {time_s: value for value, time_s in (min(known_values), max(known_values))}
        if gap is not None:
            ends[gap[0]] = None
        selected += sorted(ends.items())
    return selected
