# SPDX-License-Identifier: Apache-2.0
"""Differences of means with their uncertainty: Welch, and Holm for several at once. Pure.

Values are whatever the caller compares on: logarithms, where a ratio is wanted. The run is the unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.statistics.stats import CONFIDENCE_LEVEL
from linewatt.analysis.statistics.student import critical_t, two_sided_p
from linewatt.missing import Missing

MIN_RUNS = 3
"""Runs on each side below which two are not compared: the spread of two runs is hardly known."""
TAKE_MORE = "take 4 or more on each side"
"""what is enough for a verdict: with 3 and 3, one deal of shuffled runs in ten is as far apart"""
MIN_DF = 4
"""Degrees of freedom of the error below which no effect is tested; three runs on each side have as many."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Contrast:
    """An estimated difference, its standard error, and the degrees of freedom of that.

    ``tested_p`` is the p of a test of its own, such as F over several differences, in place of t.
    ``permutation_p`` is that of shuffled runs, where it was asked for (``permutation``). ``doubt`` is why no
    verdict can stand on it, though it can be estimated. ``beyond_drift`` is the difference without the trend
    of the runs, where one side was measured after the other (:func:`beyond_drift`): the interval covers that
    of both, and p is the larger.
    """

    value: float
    se: float
    df: float
    tested_p: float | None = None
    permutation_p: float | None = None
    doubt: str | None = None
    beyond_drift: Contrast | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """The two-sided CI (Student t) at :data:`CONFIDENCE_LEVEL`."""
        reach = critical_t(1 - CONFIDENCE_LEVEL, self.df) * self.se
        low, high = self.value - reach, self.value + reach
        if self.beyond_drift is None:
            return low, high
        drift_low, drift_high = self.beyond_drift.interval
        return min(low, drift_low), max(high, drift_high)

    @property
    def p(self) -> float:
        """Two-sided p of no difference, with regard to drift. Runs without any spread differ or are alike."""
        if self.beyond_drift is None:
            return self.p_of_means
        if self.value * self.beyond_drift.value < 0:  # without the trend it is the other way round
            return 1.0
        return max(self.p_of_means, self.beyond_drift.p)

    @property
    def p_of_means(self) -> float:
        """Two-sided p of no difference if nothing drifts."""
        if self.tested_p is not None:
            return self.tested_p
        if self.se == 0:
            return 1.0 if math.isclose(self.value, 0, abs_tol=1e-12) else 0.0
        return two_sided_p(self.value / self.se, self.df)


def welch(base: Sequence[float], other_values: Sequence[float]) -> Contrast | Missing:
    """Mean of ``other_values`` − mean of ``base``, without taking their spread for equal; or why not.

    B. L. Welch, Biometrika 34 (1947) 28–35, degrees of freedom after Satterthwaite.
    """
    fewest = min(len(base), len(other_values))
    if fewest < MIN_RUNS:
        return Missing(f"{len(base)} and {len(other_values)}; {TAKE_MORE}")
    (mean, squared), (other_mean, other_squared) = (
        _mean_and_squared_se(values) for values in (base, other_values)
    )
    squared_se = squared + other_squared
    df = _degrees(squared_se, (squared, other_squared), (len(base) - 1, len(other_values) - 1))
    return Contrast(other_mean - mean, math.sqrt(squared_se), df)


def _degrees(squared_se: float, squares: Sequence[float], free: Sequence[float]) -> float:
    """Degrees of freedom of a standard error, squared, that is the sum of ``squares`` with so many each."""
    weight = math.fsum(square**2 / degrees for square, degrees in zip(squares, free, strict=True))
    # equal runs have no spread to weigh; any number of degrees does, as se is 0
    return squared_se**2 / weight if weight > 0 else math.fsum(free)


def beyond_drift(base: Sequence[float], other_values: Sequence[float]) -> Contrast | None:
    """The step from where the trend of ``base`` ends to where that of ``other_values`` begins; ``None`` below
    three runs on a side.

    Runs are in order of time, those of ``other_values`` after all of ``base``. A straight line through the
    runs of each side, with a spread of its own, is led on by half the distance of two runs; degrees of
    freedom after Satterthwaite. Any linear drift is taken out, at twice the standard error of the difference
    of means. What changes while neither side runs is in it.
    """
    if min(len(base), len(other_values)) < MIN_RUNS:
        return None
    (end, squared), (start, other_squared) = _led_on(base), _led_on(other_values[::-1])
    squared_se = squared + other_squared
    df = _degrees(squared_se, (squared, other_squared), (len(base) - 2, len(other_values) - 2))
    return Contrast(start - end, math.sqrt(squared_se), df)


def mean_beyond_drift(strata: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Contrast | None:
    """The mean over strata of :func:`beyond_drift`; ``None`` where a stratum has none."""
    steps = [step for base, other_values in strata if (step := beyond_drift(base, other_values)) is not None]
    if len(steps) < len(strata):
        return None
    squares = [step.se**2 for step in steps]
    total = math.fsum(squares)
    df = _degrees(total, squares, [step.df for step in steps])
    return Contrast(math.fsum(step.value for step in steps) / len(steps), math.sqrt(total) / len(steps), df)


def _led_on(values: Sequence[float]) -> tuple[float, float]:
    """The level half a run after the last of ``values`` by their trend, and its squared standard error."""
    n = len(values)
    if max(values) == min(values):  # rounding of the mean must not look like spread
        return values[0], 0.0
    mean, middle = math.fsum(values) / n, (n - 1) / 2
    squares_of_places = n * (n * n - 1) / 12
    slope = math.fsum((at - middle) * (value - mean) for at, value in enumerate(values)) / squares_of_places
    residual_squares = math.fsum(
        (value - mean - slope * (at - middle)) ** 2 for at, value in enumerate(values)
    )
    return mean + slope * n / 2, residual_squares / (n - 2) * (1 / n + (n / 2) ** 2 / squares_of_places)


def over_strata(strata: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Contrast | Missing:
    """The mean over strata of the difference of their sides' means, every stratum alike; or why not.

    It is of these strata and no others: their spread is not in it. Each side of each has a spread of its own,
    degrees of freedom after Satterthwaite.
    """
    fewest = min(min(len(base), len(other_values)) for base, other_values in strata)
    if fewest < 2:
        return Missing(f"{fewest} {'trial' if fewest == 1 else 'trials'} on a side, and each needs 2")
    parts = [
        (_mean_and_squared_se(base), _mean_and_squared_se(other_values)) for base, other_values in strata
    ]
    value = math.fsum(other_part[0] - base[0] for base, other_part in parts) / len(parts)
    squared_se = math.fsum(base[1] + other_part[1] for base, other_part in parts)
    squares = [squared for pair in parts for _, squared in pair]
    df = _degrees(squared_se, squares, [len(values) - 1 for sides in strata for values in sides])
    doubt = f"{df:.1f} degrees of freedom, and {MIN_DF} are needed" if df < MIN_DF else None
    return Contrast(value, math.sqrt(squared_se) / len(parts), df, doubt=doubt)


def _mean_and_squared_se(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    mean = math.fsum(values) / n
    if max(values) == min(values):  # rounding of the mean must not look like spread
        return values[0], 0.0
    return mean, math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n


def holm_adjusted(ps: Sequence[float]) -> list[float]:
    """Each p as if it were the only one looked at: S. Holm, Scand. J. Statistics 6 (1979) 65–70."""
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[at]))
        adjusted[at] = largest
    return adjusted
