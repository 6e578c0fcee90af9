# SPDX-License-Identifier: Apache-2.0
"""Significant changes of a series of values: steps or one drift, and outliers. Pure.

Candidates are change points (:mod:`linewatt.features.history.change_points`), or, without any, the place that
splits the values best. Each is tested against the variance of values about their levels, corrected for all
places where it could have been found (Bonferroni) and for correlated neighbours: the variance of a mean is
multiplied by (1 + r) / (1 − r), where r > 0 is the correlation of neighbours. Outliers are left out of all
means. If a straight line explains the values better than the steps do, the series drifts. Both must explain
more than noise whose neighbours are alike does (:mod:`linewatt.features.history.alike_noise`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from linewatt.analysis.statistics import Contrast, critical_t
from linewatt.features.history.alike_noise import MOST_VALUES, Evidence, evidence
from linewatt.features.history.change_points import FEWEST, bound, change_points, penalty

FEWEST_VALUES = 2 * FEWEST
UNLIKE_ALPHA = 0.01
"""chance, over all values of a series, that a value is called an outlier if there is none"""
NEARLY = 2 * math.log(2 / 0.05)
"""Places that explain the values worse than the best place by at most this, in variances, are a 95 % set (D.
Siegmund, "Confidence sets in change-point problems", International Statistical Review 56, 1988, 31–48)."""
STEP_EVIDENCE = 16.0
"""least evidence of a step. With the two below, about 2 % of series of 6 to 80 values of AR(1) noise with a
correlation of 0.8, with or without noise of runs, have a change (``make simulate``)"""
LINE_EVIDENCE, LINE_EVIDENCE_TIMES = 10.0, 50.0
"""least evidence of a drift, and what is added to it, divided by the number of values"""
NEARLY_LINE = 3.0
"""a step whose evidence is not so much above that of a line is a drift"""
_NORMAL_MAD = 1.4826
_MOST_ALIKE = 0.7
"""upper limit of the correlation of neighbours: with more, a mean would have no weight left"""
_ROUNDED = 12.0
"""rounding to whole steps adds a variance of step² / 12"""
_NOISY = 6.0
"""assumed variance if most values are equal: step² / 6, noise as wide as a step plus the rounding"""
_NONE_ALIKE = 5
"""uncorrelated values added to the estimate: a correlation of few values is mostly chance"""
_MOST_TIMES, _FINER_TIMES, _EVIDENCE_MARGIN = 20.0, 1.15, 8.0
_MARGIN = 2.0
"""standard errors above the critical value: such a step is found in 7 to 9 of 10 simulated series"""


@dataclass(frozen=True, slots=True)
class Step:
    """``at`` is the first value of the new level; ``first`` to ``last`` are the other possible places.

    ``gradual``: a straight line explains the series nearly as well.
    """

    at: int
    contrast: Contrast
    first: int
    last: int
    gradual: bool = False


@dataclass(frozen=True, slots=True)
class Unlike:
    """An outlier: its place, and its distance from the expected value there."""

    at: int
    gap: float


@dataclass(frozen=True, slots=True)
class ChangeAnalysis:
    """Steps in order, or the ``drift`` from the first value to the last.

    ``visible`` is the smallest step halfway that would most likely have been found, by the residual variance.
    """

    steps: tuple[Step, ...] = ()
    drift: Contrast | None = None
    unlike: tuple[Unlike, ...] = ()
    visible: float = math.inf


@dataclass(frozen=True, slots=True)
class _Values:
    """Values with the variance of each from its runs, and ``variances`` including that between values."""

    levels: Sequence[float]
    of_runs: Sequence[float]
    variances: Sequence[float]
    floor: float
    """lower limit of the residual variance"""

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, slots=True)
class _Fit:
    """The expected value at each place, the places that are not outliers, and the number of parameters."""

    expected: Sequence[float]
    inside: Sequence[int]
    parameters: int


def find_steps(levels: Sequence[float], of_runs: Sequence[float], alpha: float) -> ChangeAnalysis:
    """Changes that are significant at ``alpha``, the chance of finding any where there is none."""
    if len(levels) < FEWEST_VALUES:
        return ChangeAnalysis()
    floor = max(statistics.fmean(of_runs), _rounding_step(levels) ** 2 / _NOISY)
    values = _Values(levels, of_runs, spreads(levels, of_runs), floor)
    ends = change_points(levels, values.variances) or _best_split(values)
    line = _fit_line(values) if ends else None
    is_line = line is not None and _advantage_of_steps(values, line, ends) < 0
    steps = [] if is_line else _clear_steps(values, _significant_steps(values, ends, alpha), alpha)
    if line is not None and (is_line or _is_nearly_line(values, steps)):
        drift = _drift(values, line)
        if drift.p < alpha and _evidence(values, line.inside).line >= line_evidence(len(line.inside)):
            return _analysis_of(values, line, alpha, drift=drift)
    ends = [step.at for step in steps]
    if line is not None and len(steps) == 1 and _advantage_of_steps(values, line, ends) < NEARLY:
        steps = [replace(steps[0], gradual=True)]
    return _analysis_of(values, _fit_levels(values, ends), alpha, steps)


def line_evidence(count: int) -> float:
    """Least evidence of a drift over so many values."""
    return LINE_EVIDENCE + LINE_EVIDENCE_TIMES / count


def _clear_steps(values: _Values, steps: Sequence[Step], alpha: float) -> list[Step]:
    """Steps that explain more than noise with neighbours alike: the least clear is dropped until all do."""
    clear = list(steps)
    while clear:
        ends = [step.at for step in clear]
        inside = _fit_levels(values, ends).inside
        edges = [0, *ends, len(values)]
        found = []
        for before, at, after in zip(edges, edges[1:], edges[2:], strict=False):
            first, last = max(before, at - MOST_VALUES // 2), min(after, at + MOST_VALUES // 2)
            found.append(_evidence(values, [place for place in inside if first <= place < last]).step)
        weakest = min(range(len(ends)), key=found.__getitem__)
        if found[weakest] >= STEP_EVIDENCE:
            return clear
        del ends[weakest]
        clear = _significant_steps(values, ends, alpha)
    return clear


def _is_nearly_line(values: _Values, steps: Sequence[Step]) -> bool:
    if len(steps) != 1:
        return False
    seen = _evidence(values, _fit_levels(values, [steps[0].at]).inside)
    return seen.step - seen.line < NEARLY_LINE


def _evidence(values: _Values, places: Sequence[int], levels: Sequence[float] | None = None) -> Evidence:
    """Of the values at some places, the newest :data:`MOST_VALUES` of them."""
    seen = [(levels or values.levels)[at] for at in places[-MOST_VALUES:]]
    if len(seen) < FEWEST_VALUES:
        return Evidence(0.0, 0.0)
    floor = max(values.floor, 1e-3 * statistics.fmean(values.variances))
    return evidence(seen, statistics.fmean(values.of_runs), floor)


def _best_split(values: _Values) -> list[int]:
    """The place that splits the values best, used if there is no change point; it is tested like one.

    The variance estimated from differences of few neighbours is uncertain by a factor of two, which hides two
    of five steps that the variance about the levels shows.
    """
    inside = _fit_levels(values, []).inside
    if len(inside) < FEWEST_VALUES:
        return []
    explained = _explained_squares([values.levels[at] for at in inside])
    counts = range(FEWEST, len(inside) - FEWEST + 1)
    return [inside[max(counts, key=lambda count: explained[count - 1])]]


def _analysis_of(
    values: _Values, fit: _Fit, alpha: float, steps: Sequence[Step] = (), drift: Contrast | None = None
) -> ChangeAnalysis:
    """The changes with the outliers of their fit."""
    outside = sorted(set(range(len(values))) - set(fit.inside))
    unlike = tuple(Unlike(at, values.levels[at] - fit.expected[at]) for at in outside)
    return ChangeAnalysis(tuple(steps), drift, unlike, _visible(values, fit, alpha))


def _advantage_of_steps(values: _Values, line: _Fit, ends: Sequence[int]) -> float:
    """Squares, in variances, that steps explain beyond a line, less a penalty per step after the first."""
    return (
        _bounded_cost(values, line)
        - _bounded_cost(values, _fit_levels(values, ends))
        - (len(ends) - 1) * penalty(len(values))
    )


def spreads(levels: Sequence[float], of_runs: Sequence[float]) -> list[float]:
    """The variance of each value, above 0: that of its runs plus that between neighbours.

    The latter comes from the median of the differences, so that a few steps do not raise it. If most
    differences are 0, as of rounded values, the smallest other difference sets a lower limit.
    """
    between = (_NORMAL_MAD * statistics.median(_absolute_differences(levels))) ** 2 / 2 - statistics.fmean(
        of_runs
    )
    variances = [run_variance + max(0.0, between) for run_variance in of_runs]
    floor = max(_rounding_step(levels) ** 2 / _ROUNDED, max(variances) * 1e-6) or 1.0
    return [max(variance, floor) for variance in variances]


def _absolute_differences(levels: Sequence[float]) -> list[float]:
    return [abs(after - before) for before, after in pairwise(levels)]


def _rounding_step(levels: Sequence[float]) -> float:
    """The smallest step between neighbours if most neighbours are equal; else 0."""
    steps = _absolute_differences(levels)
    return min((step for step in steps if step > 0), default=0.0) if statistics.median(steps) == 0 else 0.0


def _significant_steps(values: _Values, candidates: Sequence[int], alpha: float) -> list[Step]:
    """Significant steps: the weakest is dropped until all are significant."""
    ends = list(candidates)
    while ends:
        steps = _test_steps(values, ends)
        weakest = max(range(len(steps)), key=lambda at: steps[at].contrast.p)
        if steps[weakest].contrast.p < alpha:
            return steps
        del ends[weakest]
    return []


def _test_steps(values: _Values, ends: Sequence[int]) -> list[Step]:
    """Test each level against the one before; p is corrected for all possible places between them."""
    fit = _fit_levels(values, ends)
    inside = set(fit.inside)
    segments = [[at for at in range(*edges) if at in inside] for edges in _edges(values, ends)]
    variance, df = _residual_noise(values, fit)
    steps = []
    for before, after in pairwise(segments):
        gap = _mean(values, after) - _mean(values, before)
        contrast = Contrast(gap, math.sqrt(variance * (1 / len(before) + 1 / len(after))), df)
        places = max(1, len(before) + len(after) - 2 * FEWEST + 1)
        corrected = replace(contrast, tested_p=min(1.0, contrast.p * places))
        steps.append(Step(after[0], corrected, *_possible_places(values, before, after, variance)))
    return steps


def _edges(values: _Values, ends: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise([0, *ends, len(values)]))


def _mean(values: _Values, places: Sequence[int]) -> float:
    return statistics.fmean(values.levels[at] for at in places)


def _possible_places(
    values: _Values, before: Sequence[int], after: Sequence[int], variance: float
) -> tuple[int, int]:
    """The first and the last place where the step between two levels may be."""
    places = [*before, *after]
    explained = _explained_squares([values.levels[at] for at in places])
    best = explained[len(before) - 1]
    near = [count for count, squares in enumerate(explained, start=1) if best - squares <= NEARLY * variance]
    return places[min(near)], places[max(near)]


def _explained_squares(levels: Sequence[float]) -> list[float]:
    """Squares that two levels explain beyond one level, by the number of values in the first."""
    middle = statistics.fmean(levels)
    total, explained, running = len(levels), [], 0.0
    for count, level in enumerate(levels[:-1], start=1):
        running += level - middle
        explained.append(running**2 * total / (count * (total - count)))
    return explained


def _residual_noise(values: _Values, fit: _Fit) -> tuple[float, float]:
    """Residual variance, corrected for correlated neighbours, and its degrees of freedom."""
    residuals = [values.levels[at] - fit.expected[at] for at in fit.inside]
    df = max(1, len(residuals) - fit.parameters)
    squares = math.fsum(residual * residual for residual in residuals)
    variance = max(squares / df, values.floor)
    alike = _correlation(residuals, squares, fit.parameters)
    return variance * (1 + alike) / (1 - alike), float(df)


def _correlation(residuals: Sequence[float], squares: float, parameters: int) -> float:
    """Correlation of neighbours, at least 0, corrected for the bias of estimated levels."""
    if squares == 0:
        return 0.0
    seen = math.fsum(residual * following for residual, following in pairwise(residuals)) / squares
    count = len(residuals)
    alike = (seen + parameters * (1 + 3 * max(0.0, seen)) / count) * count / (count + _NONE_ALIKE)
    return min(max(0.0, alike), _MOST_ALIKE)


def _fit_levels(values: _Values, ends: Sequence[int]) -> _Fit:
    """Fit one level per segment."""

    def fitted(inside: frozenset[int]) -> list[float]:
        expected: list[float] = []
        for start, end in _edges(values, ends):
            segment = [at for at in range(start, end) if at in inside]
            expected += [_mean(values, segment)] * (end - start)
        return expected

    middles: list[float] = []
    for start, end in _edges(values, ends):
        middles += [statistics.median(values.levels[start:end])] * (end - start)
    return _fit_without_unlike(values, fitted, middles, _edges(values, ends), len(ends) + 1)


def _fit_line(values: _Values) -> _Fit:
    """Fit a straight line; the first guess is the Theil-Sen line, which is robust to outliers."""
    import numpy as np

    levels, places = np.asarray(values.levels), np.arange(len(values))
    first_places, last_places = np.triu_indices(len(values), 1)
    slope = float(np.median((levels[last_places] - levels[first_places]) / (last_places - first_places)))
    base = float(np.median(levels - slope * places))

    def fitted(inside: frozenset[int]) -> list[float]:
        places_inside = sorted(inside)
        coefficients = np.polynomial.polynomial.polyfit(places_inside, levels[places_inside], 1)
        return [float(level) for level in coefficients[0] + coefficients[1] * places]

    first = [float(level) for level in base + slope * places]
    return _fit_without_unlike(values, fitted, first, [(0, len(values))], 2)


def _fit_without_unlike(
    values: _Values,
    fitted: Callable[[frozenset[int]], list[float]],
    first: Sequence[float],
    edges: Sequence[tuple[int, int]],
    parameters: int,
) -> _Fit:
    """Fit without outliers.

    Values far from the ``first`` guess are left out, then tested in order of distance against the rest
    (deleted residuals, Bonferroni), and added again if the distance may be chance. Each segment keeps enough
    values for a level.
    """
    far_limit, far = bound(len(values)), []
    for start, end in edges:
        distances = [
            ((values.levels[at] - first[at]) ** 2 / values.variances[at], at) for at in range(start, end)
        ]
        beyond = sorted((distance for distance in distances if distance[0] >= far_limit), reverse=True)
        far += beyond[: min((len(distances) - 1) // 2, max(0, len(distances) - FEWEST))]
    inside = frozenset(range(len(values))) - {at for _, at in far}
    for _, at in sorted(far):
        fit = _Fit(fitted(inside), sorted(inside), parameters)
        if _p_value(values, fit, at, edges) * len(values) >= UNLIKE_ALPHA:
            inside |= {at}
    return _Fit(fitted(inside), sorted(inside), parameters)


def _p_value(values: _Values, fit: _Fit, at: int, edges: Sequence[tuple[int, int]]) -> float:
    """p of a value that is not part of the fit, against the others of its segment."""
    residuals = [values.levels[place] - fit.expected[place] for place in fit.inside]
    df = max(1, len(residuals) - fit.parameters)
    variance = max(
        math.fsum(residual * residual for residual in residuals) / df, statistics.fmean(values.of_runs)
    )
    start, end = next(edge for edge in edges if edge[0] <= at < edge[1])
    neighbours = sum(start <= place < end for place in fit.inside)
    gap = values.levels[at] - fit.expected[at]
    return Contrast(gap, math.sqrt(variance * (1 + 1 / neighbours)), df).p


def _bounded_cost(values: _Values, fit: _Fit) -> float:
    """Sum of bounded squares about a fit, in variances."""
    limit = bound(len(values))
    squares = zip(values.levels, fit.expected, values.variances, strict=True)
    return math.fsum(min((level - expected) ** 2 / variance, limit) for level, expected, variance in squares)


def _drift(values: _Values, line: _Fit) -> Contrast:
    """Difference from the first place to the last along a line."""
    variance, df = _residual_noise(values, line)
    middle = statistics.fmean(line.inside)
    reach = math.fsum((at - middle) ** 2 for at in line.inside)
    return Contrast(line.expected[-1] - line.expected[0], math.sqrt(variance / reach) * (len(values) - 1), df)


def _visible(values: _Values, fit: _Fit, alpha: float) -> float:
    count = len(fit.inside)
    variance, df = _residual_noise(values, fit)
    places = max(1, count - 2 * FEWEST + 1)
    tested = critical_t(alpha / places, max(1.0, df - 1))
    visible = (tested + _MARGIN) * math.sqrt(4 * variance / count)
    return visible * _times_until_clear(values, fit, visible)


def _times_until_clear(values: _Values, fit: _Fit, visible: float) -> float:
    """How many times a step halfway has to be as large for its evidence to suffice in this noise."""
    if not 0 < visible < 1 or len(fit.inside) < FEWEST_VALUES:
        return 1.0
    noise = [level - expected for level, expected in zip(values.levels, fit.expected, strict=True)]
    inside = fit.inside[-MOST_VALUES:]
    half = inside[len(inside) // 2]
    times = 1.0
    while times < _MOST_TIMES:
        stepped = [level + times * visible * (at >= half) for at, level in enumerate(noise)]
        if _evidence(values, inside, stepped).step >= STEP_EVIDENCE + _EVIDENCE_MARGIN:
            break
        times *= _FINER_TIMES
    return times
