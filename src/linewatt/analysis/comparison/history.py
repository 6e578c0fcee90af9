# SPDX-License-Identifier: Apache-2.0
"""A case over many results: its means in time order, and where they changed. Pure.

Candidates are change points of the logarithms of results' means
(:mod:`linewatt.analysis.statistics.change_points`). A result weighs as its mean is certain: by the spread of
its runs over their number, and by how much results differ from one to the next. Each candidate is then judged
by the rules of a comparison, all that are left of the series together. No segment has fewer than two results.
A result that is unlike those around it is named and is part of no mean. A soak is a result of one run: how
results differ is all that is known of its spread.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from linewatt.analysis.comparison.differences import Difference, differences_of_hosts
from linewatt.analysis.comparison.matching import Match, Side
from linewatt.analysis.comparison.runs import CaseRuns
from linewatt.analysis.comparison.verdicts import COMPARISON, Verdict, amount, factor, verdicts
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.of_soak import SoakRun
from linewatt.analysis.soak.job import Job
from linewatt.analysis.statistics.change_points import FEWEST, bound, change_points, penalty
from linewatt.analysis.statistics.contrasts import ALPHA, Contrast
from linewatt.analysis.statistics.stats import Estimate, estimate, t_quantile
from linewatt.model import Case

FEWEST_RESULTS = 2 * FEWEST
UNLIKE_ALPHA = 0.01
"""the chance, over all results of a case, that one is called unlike the others where none is"""
_NORMAL_MAD = 1.4826
_MARGIN = 2.5
"""standard errors above what is needed: such a step is found in 7 to 9 of 10 simulated courses"""


@dataclass(frozen=True, slots=True)
class Point:
    """A case or a soak's job in one result: ``values`` on the scale they are compared on, ``mean`` as people
    read it, SI."""

    side: Side
    case: Case | Job
    values: tuple[float, ...]
    mean: Estimate

    @property
    def level(self) -> float:
        """Mean of the values."""
        return statistics.fmean(self.values)

    @property
    def variance(self) -> float:
        """Of the values, of which there are several."""
        return _variance(self.values)


@cache
def _variance(values: tuple[float, ...]) -> float:
    """The nearest float to the exact one, as ``statistics.variance`` gives it in eight times the time."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max(denominator for _, denominator in ratios)
    whole = [numerator * (scale // denominator) for numerator, denominator in ratios]
    count = len(whole)
    squares = count * sum(one * one for one in whole) - sum(whole) ** 2
    return squares / (count * (count - 1) * scale * scale)


@dataclass(frozen=True, slots=True)
class Change:
    """What changed between segments: ``at`` is the first result after it, by its place among the points.

    ``environment`` is what differs between the last result before and the first after.
    """

    at: int
    verdict: Verdict
    environment: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Unlike:
    """A result (its place among the points) that is part of no mean: what it is against those around it."""

    at: int
    change: float


@dataclass(frozen=True, slots=True)
class Course:
    """A case or job (``case`` is that of the newest result) over results; ``words`` say how it stands."""

    case: Case | Job
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    words: str
    unlike: tuple[Unlike, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    at: int
    contrast: Contrast


@dataclass(frozen=True, slots=True)
class _Split:
    """Segments that begin at 0 and at ``ends``, and the places of results that belong to none."""

    ends: tuple[int, ...]
    unlike: frozenset[int]

    def segments(self, points: Sequence[Point]) -> list[list[int]]:
        """The places in each segment without those that are unlike the rest."""
        edges = [0, *self.ends, len(points)]
        return [[at for at in range(start, end) if at not in self.unlike] for start, end in pairwise(edges)]


def courses(
    sides: Sequence[Side],
    response: Response,
    wanted: Callable[[Case], bool] = lambda _: True,
    matters: float | None = None,
    soaks: Sequence[Side] = (),
    with_surroundings: Callable[[Side], Side] = lambda side: side,
) -> tuple[Course, ...]:
    """The course of each case and host pair over ``sides``, and of each job and server over ``soaks``.

    Both are in time order. All courses are judged together. ``with_surroundings`` gives a side with what is
    on record of its hosts, which is asked for only where something changed.
    """
    series: dict[tuple[Any, ...], list[Point]] = {}
    for side in sides:
        for case, runs in side.cases.items():
            if wanted(case):
                point = _point(side, runs, response)
                if point is not None:
                    series.setdefault((case.key, case.ways), []).append(point)
    for side in soaks:
        if side.soak is not None:
            job = side.soak.job
            series.setdefault((job.key, job.under_test), []).append(_soak_point(side, side.soak, response))
    candidates = [_candidates(points) for points in series.values()]
    family = [one.contrast for own in candidates for one in own]
    judged = iter(verdicts(response, family, matters, COMPARISON))
    return tuple(
        _course(points, [(one, next(judged)) for one in own], response, matters, with_surroundings)
        for points, own in zip(series.values(), candidates, strict=True)
    )


def course(points: Sequence[Point], response: Response, matters: float | None = None) -> Course:
    """The course of one series alone."""
    candidates = _candidates(points)
    told = verdicts(response, [one.contrast for one in candidates], matters, COMPARISON)
    return _course(points, list(zip(candidates, told, strict=True)), response, matters)


def _course(
    points: Sequence[Point],
    judged: Sequence[tuple[_Candidate, Verdict]],
    response: Response,
    matters: float | None,
    with_surroundings: Callable[[Side], Side] = lambda side: side,
) -> Course:
    counted = [(one, verdict) for one, verdict in judged if _counts(verdict)]
    unlike = _unlike(points, [one.at for one, _ in counted], response)
    changes = tuple(_change(points, one, unlike, verdict, with_surroundings) for one, verdict in counted)
    words = _words(points, changes, unlike, response, matters)
    return Course(points[-1].case, tuple(points), changes, words, unlike)


def _counts(verdict: Verdict) -> bool:
    return verdict.kind in ("better", "worse")


def _point(side: Side, runs: CaseRuns, response: Response) -> Point | None:
    measured = runs.measured.get(response.name)
    values = measured.values if measured else ()
    mean = estimate(math.exp(value) if response.relative else value for value in values)
    return None if mean is None else Point(side, runs.case, values, mean)


def _soak_point(side: Side, run: SoakRun, response: Response) -> Point:
    """Of a soak that ran to its end; its value is above 0."""
    value = run.quantities[response.name].value or 0.0
    return Point(side, run.job, (math.log(value),), Estimate(value, None, 1))


def _candidates(points: Sequence[Point]) -> list[_Candidate]:
    """Change points that stand alone: the least certain that does not is dropped until all do."""
    ends = breaks(points)
    while ends:
        contrasts = _contrasts(points, _split(points, ends))
        weakest = max(contrasts, key=lambda one: one.contrast.p)
        if weakest.contrast.p < ALPHA:
            return contrasts
        ends = [end for end, one in zip(ends, contrasts, strict=True) if one != weakest]
    return []


def _contrasts(points: Sequence[Point], split: _Split) -> list[_Candidate]:
    """Each segment against the one before, by how results spread about the means of their segments.

    The result is the unit: its runs share a day. Their spread is the least that is believed. A change is at
    the first result after it that belongs to its segment.
    """
    places = split.segments(points)
    segments = [[points[at].level for at in own] for own in places]
    variance, df = _spread(points, segments)
    candidates = []
    for (before, after), own in zip(pairwise(segments), places[1:], strict=True):
        gap = statistics.fmean(after) - statistics.fmean(before)
        se = math.sqrt(variance * (1 / len(before) + 1 / len(after)))
        candidates.append(_Candidate(own[0], Contrast(gap, se, df)))
    return candidates


def _spread(points: Sequence[Point], segments: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance of results about the means of their segments, and its degrees of freedom."""
    df = sum(map(len, segments)) - len(segments)
    squares = math.fsum((len(own) - 1) * statistics.variance(own) for own in segments if len(own) > 1)
    return max(squares / df, statistics.fmean(_of_runs(points))), df


def _split(points: Sequence[Point], ends: Sequence[int]) -> _Split:
    """Segments and what is unlike them: far from the median, and beyond chance among all that are not.

    Least far first, each is tested against those that are left (deleted residuals, by Bonferroni), and is
    unlike only if it is beyond.
    """
    variances, most = _positive(_variances(points)), bound(len(points))
    edges = [0, *ends, len(points)]
    far: list[tuple[float, int]] = []
    for start, end in pairwise(edges):
        middle = statistics.median(point.level for point in points[start:end])
        weighted = [((points[at].level - middle) ** 2 / variances[at], at) for at in range(start, end)]
        far += sorted((one for one in weighted if one[0] >= most), reverse=True)[: (len(weighted) - 1) // 2]
    unlike = {at for _, at in far}
    for _, at in sorted(far):
        split = _Split(tuple(ends), frozenset(unlike))
        if _chance(points, split, at) * len(points) >= UNLIKE_ALPHA:
            unlike.discard(at)
    return _Split(tuple(ends), frozenset(unlike))


def _chance(points: Sequence[Point], split: _Split, at: int) -> float:
    """p of a result that is in no segment, against the others of the segment that it lies in."""
    places = split.segments(points)
    segments = [[points[each].level for each in segment] for segment in places]
    variance, df = _spread(points, segments)
    segment = segments[sum(end <= at for end in split.ends)]
    gap = points[at].level - statistics.fmean(segment)
    return Contrast(gap, math.sqrt(variance * (1 + 1 / len(segment))), df).p


def _unlike(points: Sequence[Point], ends: Sequence[int], response: Response) -> tuple[Unlike, ...]:
    """Results that are part of no mean, each against its segment."""
    if len(points) < FEWEST_RESULTS:
        return ()
    split = _split(points, ends)
    places = split.segments(points)
    unlike = []
    for at in sorted(split.unlike):
        place = places[sum(end <= at for end in split.ends)]
        gap = points[at].level - statistics.fmean(points[each].level for each in place)
        unlike.append(Unlike(at, math.expm1(gap) if response.relative else gap))
    return tuple(unlike)


def breaks(points: Sequence[Point]) -> list[int]:
    """Where segments begin after the first, as places among ``points``."""
    if len(points) < FEWEST_RESULTS:
        return []
    return change_points([point.level for point in points], _positive(_variances(points)))


def _positive(variances: Sequence[float]) -> list[float]:
    largest = max(variances)
    if largest == 0:  # nothing varies but the level itself
        return [1e-12] * len(variances)
    return [max(variance, largest * 1e-6) for variance in variances]


def _variances(points: Sequence[Point]) -> list[float]:
    """Of each result's mean: of its runs, and what differences from one result to the next show beyond.

    The differences' median stands for them, so that a few steps do not hide themselves.
    """
    of_runs = _of_runs(points)
    steps = [abs(after.level - before.level) for before, after in pairwise(points)]
    between = (_NORMAL_MAD * statistics.median(steps)) ** 2 / 2 - statistics.fmean(of_runs)
    return [own + max(0.0, between) for own in of_runs]


def _of_runs(points: Sequence[Point]) -> list[float]:
    """Variance of each result's mean by the spread of runs, which all results share."""
    spreads = [point.variance for point in points if len(point.values) > 1]
    within = statistics.fmean(spreads) if spreads else 0.0
    return [within / len(point.values) for point in points]


def _change(
    points: Sequence[Point],
    one: _Candidate,
    unlike: Sequence[Unlike],
    verdict: Verdict,
    with_surroundings: Callable[[Side], Side],
) -> Change:
    """The environment is that of the results next to it that belong to their segments."""
    apart = {each.at for each in unlike}
    before = points[next(at for at in range(one.at - 1, -1, -1) if at not in apart)]
    after = points[one.at]
    sides = with_surroundings(before.side), with_surroundings(after.side)
    environment = differences_of_hosts(*sides, Match(before.case, after.case).hosts)
    return Change(one.at, verdict, environment)


def visible(points: Sequence[Point], unlike: Sequence[Unlike] = ()) -> float:
    """The step halfway that would most likely be found in such a course, on the scale of levels."""
    apart = {one.at for one in unlike}
    levels = [point.level for at, point in enumerate(points) if at not in apart]
    variance, df = _spread(points, [levels])
    needed = max(math.sqrt(penalty(len(points))), t_quantile(df - 1)) + _MARGIN
    return needed * math.sqrt(4 * variance / len(levels))


def _words(
    points: Sequence[Point],
    changes: Sequence[Change],
    unlike: Sequence[Unlike],
    response: Response,
    matters: float | None,
) -> str:
    if len(points) < FEWEST_RESULTS:
        return f"not enough results: {len(points)}, and a change needs {FEWEST} before and after it"
    first = changes[-1].at if changes else 0
    count = len(points) - first
    apart = sum(one.at >= first for one in unlike)
    counted = f"{count} results" + (f", {apart} of them unlike the rest" if apart else "")
    if changes:
        return f"{changes[-1].verdict.words} since {points[first].side.id} ({counted})"
    step = visible(points, unlike)
    least = max(math.expm1(min(step, 1.0)) if response.relative else step, factor(response, matters))
    shown = f"a lasting one of {amount(response, least)} would most likely have been found"
    return f"no change found over {counted}; {shown}"
