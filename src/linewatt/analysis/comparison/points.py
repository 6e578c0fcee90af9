# SPDX-License-Identifier: Apache-2.0
"""What a case or a task has in each result, and which of these make one course. Pure.

Results that measure something else under the same name (another window, another kind of CPU accounting,
watts of another scope) are courses of their own. What the hosts are is no reason: it is what a course is
asked about.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from linewatt.analysis.comparison.case_runs import CaseRuns, Measured
from linewatt.analysis.comparison.comparable import Ends, alike_runs, obstacles
from linewatt.analysis.comparison.compare import watts_differ
from linewatt.analysis.comparison.side import Side, Task
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.findings import Figure, kind_of
from linewatt.model import Case, Provenance

Surroundings = Callable[[Side], Side]
"""a side with what is on record of its campaign and hosts"""
OF_HOSTS = ("offloads",)
"""what refuses a verdict on two results, but is what a course over many would show"""


@dataclass(frozen=True, slots=True)
class Point:
    """A case or a task in one result: ``values`` on the scale they are compared on, ``mean`` as people
    read it, SI. ``runs`` are those of a case, ``doubts`` codes of findings on the figure and in how many."""

    side: Side
    case: Case | Task
    values: tuple[float, ...]
    mean: Estimate
    runs: CaseRuns | None = None
    measured: Measured | None = None
    doubts: tuple[tuple[str, int], ...] = ()

    @property
    def level(self) -> float:
        """Mean of the values."""
        return statistics.fmean(self.values)

    @property
    def variance(self) -> float:
        """Of the values, of which there are several."""
        return _variance(self.values)

    @property
    def provenance(self) -> Provenance | None:
        """Of the watts in it."""
        return self.measured.provenance if self.measured else None


@cache
def _variance(values: tuple[float, ...]) -> float:
    """The nearest float to the exact one, as ``statistics.variance`` gives it in eight times the time."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max(denominator for _, denominator in ratios)
    scaled_values = [numerator * (scale // denominator) for numerator, denominator in ratios]
    count = len(scaled_values)
    squares = (
        count * sum(scaled_value * scaled_value for scaled_value in scaled_values) - sum(scaled_values) ** 2
    )
    return squares / (count * (count - 1) * scale * scale)


@dataclass(slots=True)
class Series:
    """Points in time order that are one course; ``apart``: why they are none with an earlier one.

    ``without`` are results that have the case, but no value of the response.
    """

    response: Response
    points: list[Point] = field(default_factory=list)
    apart: str = ""
    without: tuple[str, ...] = ()


def series_of_cases(
    sides: Sequence[Side], response: Response, is_wanted: Callable[[Case], bool], surroundings: Surroundings
) -> list[Series]:
    """Each case and host pair over results in time order."""
    points_by_key: dict[tuple[Any, ...], list[Point]] = {}
    lacking: dict[tuple[Any, ...], list[str]] = {}
    for side in sides:
        for case, runs in side.cases.items():
            if is_wanted(case):
                point, key = _point(side, runs, response), (case.key, case.ways)
                if point is not None:
                    points_by_key.setdefault(key, []).append(point)
                else:
                    lacking.setdefault(key, []).append(side.id)
    series = []
    for key, points in points_by_key.items():
        parts = _split(points, response, surroundings)
        parts[-1].without = tuple(lacking.get(key, ()))
        series += parts
    return series


def series_of_tasks(sides: Sequence[Side], response: Response, surroundings: Surroundings) -> list[Series]:
    """Each task and the hosts under test over results of one run, in time order."""
    points_by_task: dict[tuple[Any, ...], list[Point]] = {}
    for side in sides:
        if side.single_run is not None:
            task = side.single_run.task
            value = side.single_run.quantities[response.name].value or 0.0  # of a run to its end: above 0
            point = Point(side, task, (math.log(value),), Estimate(value, None, 1))
            points_by_task.setdefault((task.key, task.hosts_under_test), []).append(point)
    return [part for points in points_by_task.values() for part in _split(points, response, surroundings)]


def _point(side: Side, runs: CaseRuns, response: Response) -> Point | None:
    measured = runs.measured.get(response.name)
    values = measured.values if measured else ()
    mean = estimate(math.exp(value) if response.relative else value for value in values)
    if mean is None:
        return None
    return Point(side, runs.case, values, mean, runs, measured, _doubts(runs, response))


_FIGURES: dict[str, Figure | None] = {
    metric.response.name: metric.figure for metric in METRICS if metric.response
}


def _doubts(runs: CaseRuns, response: Response) -> tuple[tuple[str, int], ...]:
    """Findings of its trials that make the figure doubtful, and of how many trials."""
    figure = "power" if response.group == "power" else _FIGURES.get(response.name)
    return tuple(
        (flag.code, flag.trials)
        for flag in runs.flags
        if (kind := kind_of(flag.code)).rank != "note" and figure in kind.figures and not flag.is_light
    )


def _split(points: Iterable[Point], response: Response, surroundings: Surroundings) -> list[Series]:
    """Each goes on with the newest series whose last point measures the same."""
    parts: list[Series] = []
    for point in points:
        reasons = []
        for part in sorted(parts, key=lambda part: -(part.points[-1].side.created_s or 0)):
            reason = _differ(part.points[-1], point, response, surroundings)
            if not reason:
                part.points.append(point)
                break
            reasons.append(reason)
        else:
            parts.append(Series(response, [point], reasons[0] if reasons else ""))
    return parts


def _differ(earlier_point: Point, later_point: Point, response: Response, surroundings: Surroundings) -> str:
    """Why two results are not of one course, in words; empty where they are."""
    earlier_side, later_side = earlier_point.side, later_point.side
    if response.group == "power":
        names = earlier_side.id, later_side.id
        if watts := watts_differ(names, earlier_point.measured, later_point.measured):
            return watts
    earlier_runs, later_runs = earlier_point.runs, later_point.runs
    same = earlier_side.environment and earlier_side.environment == later_side.environment
    if same and (earlier_runs is None or later_runs is None or alike_runs(earlier_runs, later_runs)):
        return ""
    sides = (
        replace(surroundings(earlier_side), name=earlier_side.id),
        replace(surroundings(later_side), name=later_side.id),
    )
    if earlier_runs is not None and later_runs is not None:
        side_obstacles = obstacles(Ends(*sides, earlier_runs, later_runs, None))
    else:
        side_obstacles = sides[0].single_runs[0].kind.obstacles(sides)
    return "; ".join(
        obstacle.words
        for obstacle in side_obstacles
        if obstacle.bars(response.name) and obstacle.code not in OF_HOSTS
    )
