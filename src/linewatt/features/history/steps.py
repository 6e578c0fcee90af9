# SPDX-License-Identifier: Apache-2.0
"""Which changes of a course of values are evidence: steps, or one drift, and values unlike the rest. Pure.

Candidates are change points (:mod:`linewatt.features.history.change_points`), or where there are none the
place that splits the values best. Each must be beyond chance by the spread of values about their levels,
among all places where it could have been found (Bonferroni), and allowing for neighbours that are alike: the
variance of a mean is multiplied by (1 + r) / (1 − r), r their correlation, where that is above 0. A value far
from its level is part of no mean. Where one straight line explains the values better than the steps do, they
drift.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from linewatt.analysis.statistics.contrasts import Contrast
from linewatt.analysis.statistics.student import critical_t
from linewatt.features.history.change_points import FEWEST, bound, change_points, penalty

FEWEST_VALUES = 2 * FEWEST
UNLIKE_ALPHA = 0.01
"""the chance, over all values of a course, that one is called unlike the others where none is"""
NEARLY = 2 * math.log(2 / 0.05)
"""A place is not told from the best one that explains the values so much better, in variances: a 95 % set (D.
Siegmund, "Confidence sets in change-point problems", International Statistical Review 56, 1988, 31–48)."""
_NORMAL_MAD = 1.4826
_MOST_ALIKE = 0.7
"""correlation of neighbours above which none is believed: their mean would have no weight left"""
_ROUNDED = 12.0
"""the variance of what is rounded to whole steps is a step's square over this"""
_NOISY = 6.0
"""that of noise as wide as such a step that is rounded: what is believed where most values are equal"""
_NONE_ALIKE = 5
"""values without correlation that are added to those seen: of few, chance makes any"""
_MARGIN = 2.0
"""standard errors above what is needed: such a step is found in 7 to 9 of 10 simulated courses"""


@dataclass(frozen=True, slots=True)
class Step:
    """``at`` is the first value of the new level; ``first`` to ``last`` are places not told from it.

    ``gradual``: a straight line explains the course nearly as well.
    """

    at: int
    contrast: Contrast
    first: int
    last: int
    gradual: bool = False


@dataclass(frozen=True, slots=True)
class Unlike:
    """A value that is part of no level: its place, and how far it is from what the others there say."""

    at: int
    gap: float


@dataclass(frozen=True, slots=True)
class Found:
    """Steps in their order, or the ``drift`` from the first value to the last; ``visible`` is the step
    halfway that would most likely have been found, by how values spread about what was."""

    steps: tuple[Step, ...] = ()
    drift: Contrast | None = None
    unlike: tuple[Unlike, ...] = ()
    visible: float = math.inf


@dataclass(frozen=True, slots=True)
class _Values:
    """Values with the variance of each by its own runs, and ``variances`` with what lies between them."""

    levels: Sequence[float]
    of_runs: Sequence[float]
    variances: Sequence[float]
    least: float
    """variance that is believed in any case"""

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, slots=True)
class _Fit:
    """What is expected at each place by ``parameters`` values, and the places that are part of it."""

    expected: Sequence[float]
    inside: Sequence[int]
    parameters: int


def found(levels: Sequence[float], of_runs: Sequence[float], alpha: float) -> Found:
    """What of a course is beyond ``alpha``, the chance that something is found where there is nothing."""
    if len(levels) < FEWEST_VALUES:
        return Found()
    least = max(statistics.fmean(of_runs), _rounding(levels) ** 2 / _NOISY)
    values = _Values(levels, of_runs, spreads(levels, of_runs), least)
    ends = change_points(levels, values.variances) or _best_place(values)
    line = _line(values) if ends else None
    if line is not None and _apart(values, line, ends) < 0:
        drift = _drift(values, line)
        if drift.p < alpha:
            return _with(values, line, alpha, drift=drift)
        ends = []
    steps = _standing(values, ends, alpha)
    ends = [one.at for one in steps]
    if line is not None and len(steps) == 1 and _apart(values, line, ends) < NEARLY:
        steps = [replace(steps[0], gradual=True)]
    return _with(values, _flat(values, ends), alpha, steps)


def _best_place(values: _Values) -> list[int]:
    """The place that splits values best, where none explains what a candidate must: the test judges it.

    Differences of few neighbours tell the spread within a factor of two either way, which alone hides two
    of five steps that the spread about their levels shows.
    """
    inside = _flat(values, []).inside
    if len(inside) < FEWEST_VALUES:
        return []
    explained = _explained([values.levels[at] for at in inside])
    counts = range(FEWEST, len(inside) - FEWEST + 1)
    return [inside[max(counts, key=lambda count: explained[count - 1])]]


def _with(
    values: _Values, fit: _Fit, alpha: float, steps: Sequence[Step] = (), drift: Contrast | None = None
) -> Found:
    """What was found, and what is beside the fit to it."""
    outside = sorted(set(range(len(values))) - set(fit.inside))
    unlike = tuple(Unlike(at, values.levels[at] - fit.expected[at]) for at in outside)
    return Found(tuple(steps), drift, unlike, _visible(values, fit, alpha))


def _apart(values: _Values, line: _Fit, ends: Sequence[int]) -> float:
    """By how many variances steps explain the values better than a line does; those after the first cost."""
    return _cost(values, line) - _cost(values, _flat(values, ends)) - (len(ends) - 1) * penalty(len(values))


def spreads(levels: Sequence[float], of_runs: Sequence[float]) -> list[float]:
    """The variance of each value, above 0: of its runs, and what differences of neighbours show beyond.

    The differences' median stands for them, so that a few steps do not hide themselves; where most are 0, as
    of rounded values, the least one that is not.
    """
    between = (_NORMAL_MAD * statistics.median(_steps(levels))) ** 2 / 2 - statistics.fmean(of_runs)
    variances = [own + max(0.0, between) for own in of_runs]
    floor = max(_rounding(levels) ** 2 / _ROUNDED, max(variances) * 1e-6) or 1.0
    return [max(one, floor) for one in variances]


def _steps(levels: Sequence[float]) -> list[float]:
    return [abs(after - before) for before, after in pairwise(levels)]


def _rounding(levels: Sequence[float]) -> float:
    """The least step between neighbours, where most of them are equal; else 0."""
    steps = _steps(levels)
    return min((one for one in steps if one > 0), default=0.0) if statistics.median(steps) == 0 else 0.0


def _standing(values: _Values, candidates: Sequence[int], alpha: float) -> list[Step]:
    """Steps that stand: the least certain that does not is dropped until all do."""
    ends = list(candidates)
    while ends:
        steps = _judged(values, ends)
        weakest = max(range(len(steps)), key=lambda at: steps[at].contrast.p)
        if steps[weakest].contrast.p < alpha:
            return steps
        del ends[weakest]
    return []


def _judged(values: _Values, ends: Sequence[int]) -> list[Step]:
    """Each level against the one before; p is among all places between the levels' own ends."""
    fit = _flat(values, ends)
    inside = set(fit.inside)
    segments = [[at for at in range(*edges) if at in inside] for edges in _edges(values, ends)]
    variance, df = _noise(values, fit)
    steps = []
    for before, after in pairwise(segments):
        gap = _mean(values, after) - _mean(values, before)
        one = Contrast(gap, math.sqrt(variance * (1 / len(before) + 1 / len(after))), df)
        places = max(1, len(before) + len(after) - 2 * FEWEST + 1)
        contrast = replace(one, tested_p=min(1.0, one.p * places))
        steps.append(Step(after[0], contrast, *_range(values, before, after, variance)))
    return steps


def _edges(values: _Values, ends: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise([0, *ends, len(values)]))


def _mean(values: _Values, places: Sequence[int]) -> float:
    return statistics.fmean(values.levels[at] for at in places)


def _range(values: _Values, before: Sequence[int], after: Sequence[int], variance: float) -> tuple[int, int]:
    """The first and the last place where the step between two levels may as well be."""
    places = [*before, *after]
    explained = _explained([values.levels[at] for at in places])
    own = explained[len(before) - 1]
    near = [count for count, one in enumerate(explained, start=1) if own - one <= NEARLY * variance]
    return places[min(near)], places[max(near)]


def _explained(levels: Sequence[float]) -> list[float]:
    """The squares that two levels explain beyond one, by how many values the first of them has."""
    middle = statistics.fmean(levels)
    total, explained, running = len(levels), [], 0.0
    for count, level in enumerate(levels[:-1], start=1):
        running += level - middle
        explained.append(running**2 * total / (count * (total - count)))
    return explained


def _noise(values: _Values, fit: _Fit) -> tuple[float, float]:
    """Variance that the mean of so many values has, times their number, and its degrees of freedom."""
    rest = [values.levels[at] - fit.expected[at] for at in fit.inside]
    df = max(1, len(rest) - fit.parameters)
    squares = math.fsum(one * one for one in rest)
    variance = max(squares / df, values.least)
    alike = _alike(rest, squares, fit.parameters)
    return variance * (1 + alike) / (1 - alike), float(df)


def _alike(rest: Sequence[float], squares: float, parameters: int) -> float:
    """The correlation of neighbours, not below 0, without what estimated levels take from it."""
    if squares == 0:
        return 0.0
    seen = math.fsum(one * other for one, other in pairwise(rest)) / squares
    count = len(rest)
    alike = (seen + parameters * (1 + 3 * max(0.0, seen)) / count) * count / (count + _NONE_ALIKE)
    return min(max(0.0, alike), _MOST_ALIKE)


def _flat(values: _Values, ends: Sequence[int]) -> _Fit:
    """A level a segment."""

    def fitted(inside: frozenset[int]) -> list[float]:
        expected: list[float] = []
        for start, end in _edges(values, ends):
            own = [at for at in range(start, end) if at in inside]
            expected += [_mean(values, own)] * (end - start)
        return expected

    middles: list[float] = []
    for start, end in _edges(values, ends):
        middles += [statistics.median(values.levels[start:end])] * (end - start)
    return _without_unlike(values, fitted, middles, _edges(values, ends), len(ends) + 1)


def _line(values: _Values) -> _Fit:
    """One straight line; at first with the slope of H. Theil and P. K. Sen, which no few values bend."""
    import numpy as np

    levels, places = np.asarray(values.levels), np.arange(len(values))
    one, other = np.triu_indices(len(values), 1)
    slope = float(np.median((levels[other] - levels[one]) / (other - one)))
    base = float(np.median(levels - slope * places))

    def fitted(inside: frozenset[int]) -> list[float]:
        own = sorted(inside)
        found = np.polynomial.polynomial.polyfit(own, levels[own], 1)
        return [float(one) for one in found[0] + found[1] * places]

    first = [float(one) for one in base + slope * places]
    return _without_unlike(values, fitted, first, [(0, len(values))], 2)


def _without_unlike(
    values: _Values,
    fitted: Callable[[frozenset[int]], list[float]],
    first: Sequence[float],
    edges: Sequence[tuple[int, int]],
    parameters: int,
) -> _Fit:
    """A fit to all that is near it, and to what is far but within chance.

    Least far from the ``first`` guess first, each far value is tested against those that are left (deleted
    residuals, by Bonferroni). Of no segment more than what keeps a level is left out.
    """
    most, far = bound(len(values)), []
    for start, end in edges:
        apart = [
            ((values.levels[at] - first[at]) ** 2 / values.variances[at], at) for at in range(start, end)
        ]
        beyond = sorted((one for one in apart if one[0] >= most), reverse=True)
        far += beyond[: min((len(apart) - 1) // 2, max(0, len(apart) - FEWEST))]
    inside = frozenset(range(len(values))) - {at for _, at in far}
    for _, at in sorted(far):
        fit = _Fit(fitted(inside), sorted(inside), parameters)
        if _chance(values, fit, at, edges) * len(values) >= UNLIKE_ALPHA:
            inside |= {at}
    return _Fit(fitted(inside), sorted(inside), parameters)


def _chance(values: _Values, fit: _Fit, at: int, edges: Sequence[tuple[int, int]]) -> float:
    """p of a value that is not inside, against the others of the segment that it lies in."""
    rest = [values.levels[each] - fit.expected[each] for each in fit.inside]
    df = max(1, len(rest) - fit.parameters)
    variance = max(math.fsum(one * one for one in rest) / df, statistics.fmean(values.of_runs))
    start, end = next(edge for edge in edges if edge[0] <= at < edge[1])
    beside = sum(start <= each < end for each in fit.inside)
    gap = values.levels[at] - fit.expected[at]
    return Contrast(gap, math.sqrt(variance * (1 + 1 / beside)), df).p


def _cost(values: _Values, fit: _Fit) -> float:
    """Bounded squares about a fit, in variances."""
    most = bound(len(values))
    squares = zip(values.levels, fit.expected, values.variances, strict=True)
    return math.fsum(min((one - expected) ** 2 / variance, most) for one, expected, variance in squares)


def _drift(values: _Values, line: _Fit) -> Contrast:
    """From the first place to the last along a line."""
    variance, df = _noise(values, line)
    middle = statistics.fmean(line.inside)
    reach = math.fsum((at - middle) ** 2 for at in line.inside)
    return Contrast(line.expected[-1] - line.expected[0], math.sqrt(variance / reach) * (len(values) - 1), df)


def _visible(values: _Values, fit: _Fit, alpha: float) -> float:
    count = len(fit.inside)
    variance, df = _noise(values, fit)
    places = max(1, count - 2 * FEWEST + 1)
    tested = critical_t(alpha / places, max(1.0, df - 1))
    return (tested + _MARGIN) * math.sqrt(4 * variance / count)
