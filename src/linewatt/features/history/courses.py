# SPDX-License-Identifier: Apache-2.0
"""A case over many results: its means in time order, and where they changed. Pure.

Steps of the logarithms of results' means (:mod:`linewatt.features.history.steps`) are judged by the rules
of a comparison. All courses share one chance that anything is found where nothing changed. A result weighs as
its mean is certain: by the spread of its runs over their number, and by how much results differ from one to
the next. A result that is unlike those around it is named and is part of no mean. A soak is a result of one
run: how results differ is all that is known of its spread.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from linewatt.analysis.comparison.differences import Difference, differences_of_hosts
from linewatt.analysis.comparison.matching import Match, Side
from linewatt.analysis.comparison.points import (
    Point,
    Series,
    Surroundings,
    series_of_cases,
    series_of_soaks,
)
from linewatt.analysis.comparison.verdicts import COMPARISON, Verdict, amount, factor, verdicts
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.soak.job import Job
from linewatt.analysis.statistics.contrasts import Contrast
from linewatt.features.history import steps
from linewatt.features.history.change_points import FEWEST
from linewatt.features.history.steps import FEWEST_VALUES
from linewatt.model import Case

FEWEST_RESULTS = FEWEST_VALUES
FALSE_ALARMS = 0.005
"""the chance, over all courses that are followed together, of a step or a drift where there is none: where
neighbours are alike it is more, and shall then be below 2 % (docs/compare.md has the simulations)"""


@dataclass(frozen=True, slots=True)
class Change:
    """What changed between levels: ``at`` is the first result after it, by its place among the points.

    ``first`` to ``last`` are the results that may as well be it. ``environment`` is what differs between the
    last result before and the first after. ``stands``: it is for the worse, and the newest level is still
    worse than the one before it. ``gradual``: a drift explains the course nearly as well.
    """

    at: int
    verdict: Verdict
    environment: tuple[Difference, ...]
    first: int
    last: int
    stands: bool = False
    gradual: bool = False
    doubts: tuple[str, ...] = ()
    """codes of findings that every result of either level has"""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A result (its place among the points) that is part of no mean: what it is against those around it."""

    at: int
    change: float


@dataclass(frozen=True, slots=True)
class Label:
    """What matters of campaign and hosts and is not what it was in the result before that at ``at``."""

    at: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A case or job (``case`` is that of the newest result) over results; ``words`` say how it stands."""

    case: Case | Job
    response: Response
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    words: str
    unlike: tuple[Unlike, ...] = ()
    drift: Verdict | None = None
    """from the first result to the last, where that explains them better than steps"""
    labels: tuple[Label, ...] = ()
    apart: str = ""
    """why it is not one with an earlier course of the same case"""
    without: tuple[str, ...] = ()
    """results that have the case without a value"""
    is_blind: bool = False
    """whether its results differ too much, or too few are alike, to show any change"""

    @property
    def has_enough(self) -> bool:
        """Whether there are as many results as a step needs: of fewer nothing is tested."""
        return len(self.points) >= FEWEST_RESULTS

    @property
    def newest_unlike(self) -> tuple[Unlike, ...]:
        """Those at the end: bad nights, or the beginning of a step."""
        apart, end = {one.at: one for one in self.unlike}, len(self.points)
        while end - 1 in apart:
            end -= 1
        return tuple(apart[at] for at in range(end, len(self.points)))

    @property
    def is_worse(self) -> bool:
        """Whether it stands worse than before, by a step or a drift."""
        return any(one.stands for one in self.changes) or (
            self.drift is not None and self.drift.kind == "worse"
        )

    @property
    def is_open(self) -> bool:
        """Whether more results would have to say how it stands: too few, or the newest may begin a step."""
        worse = [one for one in self.newest_unlike if (one.change < 0) == self.response.higher_is_better]
        return not self.has_enough or bool(worse)

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """First and last place of each level and its mean, on the scale of points: of too few results, all
        are taken for one, which nothing has tested (:attr:`has_enough`)."""
        apart = {one.at for one in self.unlike}
        edges = pairwise([0, *(one.at for one in self.changes), len(self.points)])
        return tuple(
            (
                start,
                end - 1,
                statistics.fmean(self.points[at].level for at in range(start, end) if at not in apart),
            )
            for start, end in edges
        )


def courses(
    sides: Sequence[Side],
    response: Response,
    wanted: Callable[[Case], bool] = lambda _: True,
    matters: float | None = None,
    soaks: Sequence[Side] = (),
    with_surroundings: Surroundings = lambda side: side,
) -> tuple[Course, ...]:
    """The course of each case and host pair over ``sides``, and of each job and server over ``soaks``.

    Both are in time order. All courses are judged together. ``with_surroundings`` gives a side with what is
    on record of its hosts, which is asked for only where something differs.
    """
    found = series_of_cases(sides, response, wanted, with_surroundings)
    every = [*found, *series_of_soaks(soaks, response, with_surroundings)]
    return judged(every, matters, with_surroundings, with_surroundings)


def course(points: Sequence[Point], response: Response, matters: float | None = None) -> Course:
    """The course of one series alone."""
    (one,) = judged([Series(response, list(points))], matters, lambda side: side, lambda side: side)
    return one


def judged(
    followed: Sequence[Series], matters: float | None, what_matters: Surroundings, everything: Surroundings
) -> tuple[Course, ...]:
    """A course of each series, all judged together.

    ``what_matters`` gives a side with what matters of its surroundings, which many results share;
    ``everything`` with all that is on record of its own.
    """
    testable = max(1, sum(len(one.points) >= FEWEST_RESULTS for one in followed))
    return tuple(_course(one, testable, matters, what_matters, everything) for one in followed)


def _course(
    series: Series,
    testable: int,
    matters: float | None,
    what_matters: Surroundings,
    everything: Surroundings,
) -> Course:
    points, response = series.points, series.response
    matters = matters if response.relative else None
    found = steps.found([one.level for one in points], of_runs(points), FALSE_ALARMS / testable)
    unlike = tuple(Unlike(one.at, _change_of(one.gap, response)) for one in found.unlike)
    counted = [
        (one, verdict)
        for one in found.steps
        if (verdict := _verdict(response, one.contrast, testable, matters)).kind in ("better", "worse")
    ]
    drift = found.drift and _verdict(response, found.drift, testable, matters)
    made = Course(
        case=points[-1].case,
        response=response,
        points=tuple(points),
        changes=tuple(_change(points, one, unlike, verdict, everything) for one, verdict in counted),
        words="",
        unlike=unlike,
        drift=drift if drift and drift.kind in ("better", "worse") else None,
        labels=tuple(_labels(points, what_matters)),
        apart=series.apart,
        without=series.without,
        is_blind=found.visible >= 1 and not counted,
    )
    made = replace(made, changes=_standing(made, matters))
    return replace(made, words=_words(made, found.visible, matters))


def _change_of(gap: float, response: Response) -> float:
    """A difference of levels as people read it: relative, or as it is; never more than a float holds."""
    return math.expm1(min(gap, 700.0)) if response.relative else gap


def _verdict(response: Response, contrast: Contrast, testable: int, matters: float | None) -> Verdict:
    """By the rules of a comparison; ``p`` is that of the course, ``p_holm`` that among all courses."""
    among = replace(contrast, tested_p=min(1.0, contrast.p * testable))
    (verdict,) = verdicts(response, [among], matters, COMPARISON)
    change = verdict.change
    return verdict if change is None else replace(verdict, change=replace(change, p=contrast.p))


def of_runs(points: Sequence[Point]) -> list[float]:
    """Variance of each result's mean by the spread of runs, which all results share."""
    spreads = [point.variance for point in points if len(point.values) > 1]
    within = statistics.fmean(spreads) if spreads else 0.0
    return [within / len(point.values) for point in points]


def _change(
    points: Sequence[Point],
    one: steps.Step,
    unlike: Sequence[Unlike],
    verdict: Verdict,
    everything: Surroundings,
) -> Change:
    """The environment is that of the results next to it that belong to their levels."""
    apart = {each.at for each in unlike}
    before = next(at for at in range(one.at - 1, -1, -1) if at not in apart)
    environment = _differences(points[before], points[one.at], everything)
    return Change(one.at, verdict, environment, one.first, one.last, gradual=one.gradual)


def _differences(one: Point, other: Point, with_surroundings: Surroundings) -> tuple[Difference, ...]:
    sides = with_surroundings(one.side), with_surroundings(other.side)
    return differences_of_hosts(*sides, Match(one.case, other.case).hosts, (one.runs, other.runs))


def _labels(points: Sequence[Point], what_matters: Surroundings) -> list[Label]:
    """Between each result and the next one, where their digests do not say that nothing differs."""
    labels = []
    for at, (one, other) in enumerate(pairwise(points), start=1):
        if one.side.environment and one.side.environment == other.side.environment:
            continue
        ranked = tuple(each for each in _differences(one, other, what_matters) if each.rank is not None)
        if ranked:
            labels.append(Label(at, ranked))
    return labels


def _standing(made: Course, matters: float | None) -> tuple[Change, ...]:
    """Changes, each with whether what it made worse still is, and with what makes either level doubtful."""
    levels, response = made.levels, made.response
    told = []
    for number, change in enumerate(made.changes):
        gap = levels[-1][2] - levels[number][2]
        size = _change_of(gap, response)
        still = abs(size) > factor(response, matters) and (size < 0) == response.higher_is_better
        doubts = {code for level in levels[number : number + 2] for code in _shared(made, level)}
        stands = still and change.verdict.kind == "worse"
        told.append(replace(change, stands=stands, doubts=tuple(sorted(doubts))))
    return tuple(told)


def _shared(made: Course, level: tuple[int, int, float]) -> set[str]:
    """Codes of findings that every result of a level has."""
    apart = {one.at for one in made.unlike}
    each = [
        {code for code, _ in made.points[at].doubts}
        for at in range(level[0], level[1] + 1)
        if at not in apart
    ]
    return set.intersection(*each)


def _words(made: Course, visible: float, matters: float | None) -> str:
    points, response = made.points, made.response
    if not made.has_enough:
        more = FEWEST_RESULTS - len(points)
        return f"{too_few(points)}: a step needs {FEWEST} before and {FEWEST} after it, so {more} more"
    if made.drift is not None:
        first, last = points[0].side.id, points[-1].side.id
        return (
            f"drifts, in no step: {made.drift.words} from {first} to {last}{_counted(made, 0)}{_newest(made)}"
        )
    if made.changes:
        newest = made.changes[-1]
        drifts = "; a steady drift explains these results nearly as well" if newest.gradual else ""
        since = f"{newest.verdict.words} since {points[newest.at].side.id}"
        return f"{since}{_counted(made, newest.at)}{drifts}{_newest(made)}"
    counted = _counted(made, 0).strip(" ()")
    if visible >= 1:
        return f"no change found over {counted}, which differ too much to show one{_newest(made)}"
    least = max(math.expm1(visible) if response.relative else visible, factor(response, matters))
    shown = f"a lasting one of {amount(response, least)} would most likely have been found"
    return f"no change found over {counted}; {shown}{_newest(made)}"


def too_few(points: Sequence[Point]) -> str:
    """``too few results (3 of 6)``."""
    return f"too few results ({len(points)} of {FEWEST_RESULTS})"


def _counted(made: Course, first: int) -> str:
    apart = sum(one.at >= first for one in made.unlike)
    told = f"{len(made.points) - first} results"
    return f" ({told}, {apart} of them unlike the rest)" if apart else f" ({told})"


def _newest(made: Course) -> str:
    """What cannot be told yet."""
    count = len(made.newest_unlike)
    if not count:
        return ""
    which = "the newest is" if count == 1 else f"the newest {count} are"
    nights = "a bad night" if count == 1 else "bad nights"
    more = max(1, FEWEST - count)
    return f"; {which} unlike those before: a step or {nights}, which takes at least {more} more to tell"
