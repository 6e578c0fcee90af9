# SPDX-License-Identifier: Apache-2.0
"""A case over many results: its means in time order, and where they changed. Pure.

Steps of the logarithms of results' means (:mod:`linewatt.features.history.steps`) are judged by the rules of
a comparison. The false alarm rate is shared by all courses. The variance of a result is the variance of its
runs divided by their number, plus the variance between neighbouring results. An outlier is reported and is
left out of all means. A soak is a result of one run: its variance is that between results.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from linewatt.analysis.comparison import (
    COMPARISON,
    Difference,
    Match,
    Point,
    Series,
    Surroundings,
    Task,
    Verdict,
    differences_of_sides,
    least_factor,
    response_amount,
    verdicts_of_family,
)
from linewatt.analysis.metrics import Response
from linewatt.analysis.statistics import Contrast
from linewatt.features.history import steps
from linewatt.features.history.change_points import FEWEST
from linewatt.features.history.steps import FEWEST_VALUES
from linewatt.model import Case

FEWEST_RESULTS = FEWEST_VALUES
FALSE_ALARMS = 0.005
"""chance, over all courses judged together, of a step or a drift where there is none. It is higher if
neighbours are correlated, but must stay below 2 % (docs/history.md has the simulations)"""


@dataclass(frozen=True, slots=True)
class Change:
    """A change between two levels: ``at`` is the place of the first result after it.

    ``first`` to ``last`` are the places where the change may also be. ``environment`` lists the differences
    between the last result before and the first after. ``stands``: the change is for the worse, and the
    newest level is still worse than the level before the change. ``gradual``: a drift explains the course
    nearly as well.
    """

    at: int
    verdict: Verdict
    environment: tuple[Difference, ...]
    first: int
    last: int
    stands: bool = False
    gradual: bool = False
    doubts: tuple[str, ...] = ()
    """codes of findings that all results of the level before, or of the level after, have"""


@dataclass(frozen=True, slots=True)
class Unlike:
    """An outlier, left out of all means: its place and its change against its neighbours."""

    at: int
    change: float


@dataclass(frozen=True, slots=True)
class Label:
    """Differences of campaign and hosts that matter between the result at ``at`` and the one before."""

    at: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A case or task over results; ``case`` is that of the newest result, ``words`` the summary."""

    case: Case | Task
    response: Response
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    words: str
    unlike: tuple[Unlike, ...] = ()
    drift: Verdict | None = None
    """from the first result to the last, if a line explains the results better than steps"""
    labels: tuple[Label, ...] = ()
    apart: str = ""
    """why it does not continue an earlier course of the same case"""
    without: tuple[str, ...] = ()
    """results that have the case without a value"""
    is_blind: bool = False
    """whether its results vary too much to show any change"""

    @property
    def has_enough(self) -> bool:
        """Whether there are enough results for a step; with fewer nothing is tested."""
        return len(self.points) >= FEWEST_RESULTS

    @property
    def newest_unlike(self) -> tuple[Unlike, ...]:
        """Outliers at the end: bad nights, or the beginning of a step."""
        by_place, end = {outlier.at: outlier for outlier in self.unlike}, len(self.points)
        while end - 1 in by_place:
            end -= 1
        return tuple(by_place[at] for at in range(end, len(self.points)))

    @property
    def is_worse(self) -> bool:
        """Whether the newest level is worse than before, by a step or a drift."""
        return any(change.stands for change in self.changes) or (
            self.drift is not None and self.drift.kind == "worse"
        )

    @property
    def is_open(self) -> bool:
        """Whether more results are needed: too few, or the newest may begin a step for the worse."""
        worse = [
            outlier
            for outlier in self.newest_unlike
            if (outlier.change < 0) == self.response.higher_is_better
        ]
        return not self.has_enough or bool(worse)

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """First and last place of each level and its mean, on the scale of points.

        Too few results are one untested level (:attr:`has_enough`).
        """
        outliers = {outlier.at for outlier in self.unlike}
        edges = pairwise([0, *(change.at for change in self.changes), len(self.points)])
        return tuple(
            (
                start,
                end - 1,
                statistics.fmean(self.points[at].level for at in range(start, end) if at not in outliers),
            )
            for start, end in edges
        )


def judge(
    all_series: Sequence[Series], matters: float | None, what_matters: Surroundings, everything: Surroundings
) -> tuple[Course, ...]:
    """A course of each series, all judged together.

    ``what_matters`` adds to a side the surroundings that matter, which many results share; ``everything``
    adds all surroundings of that result.
    """
    testable = max(1, sum(len(series.points) >= FEWEST_RESULTS for series in all_series))
    return tuple(_judge_series(series, testable, matters, what_matters, everything) for series in all_series)


def _judge_series(
    series: Series,
    testable: int,
    matters: float | None,
    what_matters: Surroundings,
    everything: Surroundings,
) -> Course:
    points, response = series.points, series.response
    matters = matters if response.relative else None
    analysis = steps.find_steps([point.level for point in points], of_runs(points), FALSE_ALARMS / testable)
    unlike = tuple(Unlike(outlier.at, _change_of(outlier.gap, response)) for outlier in analysis.unlike)
    counted = [
        (step, verdict)
        for step in analysis.steps
        if (verdict := _verdict(response, step.contrast, testable, matters)).kind in ("better", "worse")
    ]
    drift = analysis.drift and _verdict(response, analysis.drift, testable, matters)
    course = Course(
        case=points[-1].case,
        response=response,
        points=tuple(points),
        changes=tuple(_change(points, step, unlike, verdict, everything) for step, verdict in counted),
        words="",
        unlike=unlike,
        drift=drift if drift and drift.kind in ("better", "worse") else None,
        labels=tuple(_labels(points, what_matters)),
        apart=series.apart,
        without=series.without,
        is_blind=analysis.visible >= 1 and not counted,
    )
    course = replace(course, changes=_with_standing(course, matters))
    return replace(course, words=_summary(course, analysis.visible, matters))


def _change_of(gap: float, response: Response) -> float:
    """A difference of levels as displayed: relative or absolute, limited to the range of a float."""
    return math.expm1(min(gap, 700.0)) if response.relative else gap


def _verdict(response: Response, contrast: Contrast, testable: int, matters: float | None) -> Verdict:
    """Verdict by the rules of a comparison; ``p`` is of this course, ``p_holm`` over all courses."""
    among = replace(contrast, tested_p=min(1.0, contrast.p * testable))
    (verdict,) = verdicts_of_family(response, [among], matters, COMPARISON)
    change = verdict.change
    return verdict if change is None else replace(verdict, change=replace(change, p=contrast.p))


def of_runs(points: Sequence[Point]) -> list[float]:
    """Variance of each result's mean, from the variance between runs pooled over all results."""
    spreads = [point.variance for point in points if len(point.values) > 1]
    run_variance = statistics.fmean(spreads) if spreads else 0.0
    return [run_variance / len(point.values) for point in points]


def _change(
    points: Sequence[Point],
    step: steps.Step,
    unlike: Sequence[Unlike],
    verdict: Verdict,
    everything: Surroundings,
) -> Change:
    """A change with the differences between the results next to it that belong to a level."""
    outliers = {outlier.at for outlier in unlike}
    before = next(at for at in range(step.at - 1, -1, -1) if at not in outliers)
    environment = _differences(points[before], points[step.at], everything)
    return Change(step.at, verdict, environment, step.first, step.last, gradual=step.gradual)


def _differences(before: Point, after: Point, with_surroundings: Surroundings) -> tuple[Difference, ...]:
    sides = with_surroundings(before.side), with_surroundings(after.side)
    return differences_of_sides(*sides, [Match(before.case, after.case)])


def _labels(points: Sequence[Point], what_matters: Surroundings) -> list[Label]:
    """Labels between neighbouring results, unless equal digests show that nothing differs."""
    labels = []
    for at, (before, after) in enumerate(pairwise(points), start=1):
        if before.side.environment and before.side.environment == after.side.environment:
            continue
        ranked = tuple(
            difference
            for difference in _differences(before, after, what_matters)
            if difference.rank is not None
        )
        if ranked:
            labels.append(Label(at, ranked))
    return labels


def _with_standing(course: Course, matters: float | None) -> tuple[Change, ...]:
    """Changes with ``stands`` and ``doubts`` set."""
    levels, response = course.levels, course.response
    changes = []
    for number, change in enumerate(course.changes):
        gap = levels[-1][2] - levels[number][2]
        size = _change_of(gap, response)
        still = abs(size) > least_factor(response, matters) and (size < 0) == response.higher_is_better
        doubts = {code for level in levels[number : number + 2] for code in _shared_doubts(course, level)}
        is_still_worse = still and change.verdict.kind == "worse"
        changes.append(replace(change, stands=is_still_worse, doubts=tuple(sorted(doubts))))
    return tuple(changes)


def _shared_doubts(course: Course, level: tuple[int, int, float]) -> set[str]:
    """Codes of findings that all results of a level have."""
    outliers = {outlier.at for outlier in course.unlike}
    codes_by_result = [
        {code for code, _ in course.points[at].doubts}
        for at in range(level[0], level[1] + 1)
        if at not in outliers
    ]
    return set.intersection(*codes_by_result)


def _summary(course: Course, visible: float, matters: float | None) -> str:
    points, response = course.points, course.response
    if not course.has_enough:
        more = FEWEST_RESULTS - len(points)
        return f"{too_few(points)}: a step needs {FEWEST} before and {FEWEST} after it, so {more} more"
    if course.drift is not None:
        first, last = points[0].side.id, points[-1].side.id
        change = f"{course.drift.words} from {first} to {last}"
        return f"drifts, in no step: {change}{_format_count(course, 0)}{_format_newest(course)}"
    if course.changes:
        newest = course.changes[-1]
        drifts = "; a steady drift explains these results nearly as well" if newest.gradual else ""
        since = f"{newest.verdict.words} since {points[newest.at].side.id}"
        return f"{since}{_format_count(course, newest.at)}{drifts}{_format_newest(course)}"
    counted = _format_count(course, 0).strip(" ()")
    if visible >= 1:
        return f"no change found over {counted}, which differ too much to show one{_format_newest(course)}"
    smallest = max(math.expm1(visible) if response.relative else visible, least_factor(response, matters))
    shown = f"a lasting one of {response_amount(response, smallest)} would most likely have been found"
    return f"no change found over {counted}; {shown}{_format_newest(course)}"


def too_few(points: Sequence[Point]) -> str:
    """``too few results (3 of 6)``."""
    return f"too few results ({len(points)} of {FEWEST_RESULTS})"


def _format_count(course: Course, first: int) -> str:
    outliers = sum(outlier.at >= first for outlier in course.unlike)
    results = f"{len(course.points) - first} results"
    return f" ({results}, {outliers} of them unlike the rest)" if outliers else f" ({results})"


def _format_newest(course: Course) -> str:
    """``; the newest is unlike ...``: outliers at the end that need more results; empty without any."""
    count = len(course.newest_unlike)
    if not count:
        return ""
    which = "the newest is" if count == 1 else f"the newest {count} are"
    nights = "a bad night" if count == 1 else "bad nights"
    more = max(1, FEWEST - count)
    return f"; {which} unlike those before: a step or {nights}, which takes at least {more} more to tell"
