# SPDX-License-Identifier: Apache-2.0
"""Whether a series stays where it is: one step, or a slope, that its own noise does not explain. Pure.

Throughput of neighbouring intervals is alike (TCP's control, queues, clocks), so that a plain test would see
a change in every other series. Standard errors are therefore those of noise with the series' own lag-1
autocorrelation. Nothing is ever trimmed: what is found is a flag's business.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from linewatt.analysis.statistics.pelt import mean_changes
from linewatt.analysis.statistics.stats import t_quantile
from linewatt.analysis.statistics.student import two_sided_p
from linewatt.findings import FEWEST_TO_DIFFER, VISIBLE_CHANGE_RATIO, VISIBLE_DRIFT

if TYPE_CHECKING:
    import numpy as np

FEWEST_INTERVALS = 10
"""values below which no step or slope within a window is told"""
FEWEST_FOR_ERROR = 5
"""values below which the error of their mean is not told"""
STEP_CHANCE = 1e-5
SLOPE_CHANCE = 3e-5
"""Two-sided p (Student's t) that it must be below. It is that strict because autocorrelation is hardly known,
and the best of several steps is looked at; the false alarms are in docs/metrics.md ("Statistics")."""
MOST_CORRELATED = 0.95
FEWEST_RUNS = 6
"""runs below which no drift of a case is told"""
DRIFT_CHANCE = 0.005
"""the same for a case's runs over the campaign"""
FEWEST_DEGREES = 4
"""of freedom below which no drift within groups of runs is told"""
_MOST_LOG = 100.0
FIRST_CHANCE = 0.001
"""two-sided p that the first run is one like the others, which it must be below"""


@dataclass(frozen=True, slots=True)
class SeriesStep:
    """From value number ``at`` (from 0) on the mean is ``after``, and before it ``before``."""

    at: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """The change, in parts of the mean after it."""
        return self.before / self.after - 1


@dataclass(frozen=True, slots=True)
class Slope:
    """A straight line through the series: ``first`` at its beginning, ``last`` at its end."""

    first: float
    last: float


def step(values: Sequence[float]) -> SeriesStep | None:
    """The clearest step in a series of equal intervals; ``None`` where its noise may have made it.

    Candidates are the change points of PELT (R. Killick et al., JASA 107 (2012) 1590–1598).
    """
    import numpy as np

    series = np.asarray(values, float)
    if len(series) < FEWEST_INTERVALS or series.mean() <= 0:
        return None
    tried = [(_chance(series, at), at) for at in _change_points(series)]
    if not tried:
        return None
    likely, at = min(tried)
    before, after = float(series[:at].mean()), float(series[at:].mean())
    if likely > STEP_CHANCE or after <= 0 or abs(before / after - 1) < VISIBLE_CHANGE_RATIO:
        return None
    return SeriesStep(int(at), before, after)


def slope(values: Sequence[float]) -> Slope | None:
    """The trend of a series of equal intervals; ``None`` where its noise may have made it."""
    import numpy as np

    series = np.asarray(values, float)
    n = len(series)
    if n < FEWEST_INTERVALS or series.mean() <= 0:
        return None
    time = np.arange(n) - (n - 1) / 2
    rise = float(time @ series / (time @ time))
    residuals = series - series.mean() - rise * time
    change = rise * (n - 1)
    mean = float(series.mean())
    if (
        abs(change) < VISIBLE_CHANGE_RATIO * mean
        or chance(rise, 1 / float(time @ time), residuals, parameters=2) > SLOPE_CHANCE
    ):
        return None
    return Slope(mean - change / 2, mean + change / 2)


def drift(times_s: Sequence[float], values: Sequence[float]) -> Slope | None:
    """The trend of a case's runs over the campaign; ``None`` where their spread may have made it.

    From the time of the first run to that of the last. Trials are independent, so this is a plain test.
    """
    n = len(values)
    if n < FEWEST_RUNS or max(times_s) <= min(times_s) or math.fsum(values) <= 0:
        return None
    middle_s, mean = math.fsum(times_s) / n, math.fsum(values) / n
    squares = math.fsum((time_s - middle_s) ** 2 for time_s in times_s)
    pairs = [(time_s - middle_s, value - mean) for time_s, value in zip(times_s, values, strict=True)]
    rise = math.fsum(time_s * value for time_s, value in pairs) / squares
    if abs(rise) * (max(times_s) - min(times_s)) < VISIBLE_DRIFT * mean:
        return None
    variance = math.fsum((value - rise * time_s) ** 2 for time_s, value in pairs) / (n - 2) / squares
    if _student_p(rise, variance, n - 2) > DRIFT_CHANCE:
        return None
    return Slope(mean + rise * (min(times_s) - middle_s), mean + rise * (max(times_s) - middle_s))


@dataclass(frozen=True, slots=True)
class Change:
    """By what part of itself something changes, with its 95 % CI."""

    ratio: float
    low: float
    high: float


def drift_within(groups: Iterable[tuple[Sequence[float], Sequence[float]]], span_s: float) -> Change | None:
    """What values above 0 change by in ``span_s``, were it as within each group; ``None``: by chance.

    ``groups`` are times and values of what is alike but for time, such as the runs of a case. The slope of
    the logarithms over time is that of all groups, whose levels are their own (analysis of covariance), so
    that what differs from group to group is no drift.
    """
    pairs: list[tuple[float, float]] = []
    count = 0
    for times_s, values in groups:
        logs = [math.log(value) for value in values]
        middle_s, mean = fmean(times_s), fmean(logs)
        pairs += [(time_s - middle_s, log - mean) for time_s, log in zip(times_s, logs, strict=True)]
        count += 1
    degrees = len(pairs) - count - 1
    squares = math.fsum(time_s**2 for time_s, _ in pairs)
    if degrees < FEWEST_DEGREES or squares <= 0:
        return None
    rise = math.fsum(time_s * log for time_s, log in pairs) / squares
    variance = math.fsum((log - rise * time_s) ** 2 for time_s, log in pairs) / degrees / squares
    if _student_p(rise, variance, degrees) > DRIFT_CHANCE:
        return None
    reach = t_quantile(degrees) * math.sqrt(variance)
    ends = (
        math.expm1(min(_MOST_LOG, log_slope * span_s)) for log_slope in (rise, rise - reach, rise + reach)
    )
    return Change(*ends)


def unlike(first: float, later_values: Sequence[float]) -> bool:
    """Whether one run is none of those that the rest are of, by their prediction interval (Student's t)."""
    n = len(later_values)
    if n + 1 < FEWEST_TO_DIFFER or min(*later_values, first) <= 0:
        return False
    mean = math.fsum(later_values) / n
    variance = math.fsum((value - mean) ** 2 for value in later_values) / (n - 1) * (1 + 1 / n)
    if abs(first - mean) < VISIBLE_DRIFT * mean:
        return False
    return _student_p(first - mean, variance, n - 1) < FIRST_CHANCE


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of a series of equal intervals, with its autocorrelation; ``None`` below five of them."""
    import numpy as np

    n = len(values)
    if n < FEWEST_FOR_ERROR:
        return None
    deviations = np.asarray(values, float) - fmean(values)
    variance = float(deviations @ deviations) / (n - 1)
    return math.sqrt(variance / n * inflation(deviations, parameters=1))


def warm_up_change_points() -> None:
    """Search once, so that all that a search needs is loaded in good time and not between two loads."""
    step([1.0] * FEWEST_INTERVALS + [2.0] * FEWEST_INTERVALS)


def _change_points(series: np.ndarray[Any, Any]) -> list[int]:
    """PELT's change points of the mean, with a penalty for independent noise: it only proposes."""
    import numpy as np

    differences = np.diff(series)
    noise = float(np.median(np.abs(differences - np.median(differences)))) / (0.6745 * math.sqrt(2))
    scale = noise or float(series.std()) or 1.0
    return mean_changes((series - series.mean()) / scale, penalty=2 * math.log(len(series)))


def _chance(series: np.ndarray[Any, Any], at: int) -> float:
    """The p of no difference between the means before and after a point.

    Noise is that of the longer part: a ramp in the shorter one is none.
    """
    before, after = series[:at], series[at:]
    longer = max(before, after, key=len)
    change = float(before.mean() - after.mean())
    return chance(change, 1 / len(before) + 1 / len(after), longer - longer.mean(), parameters=1)


def chance(change: float, share: float, residuals: np.ndarray[Any, Any], parameters: int) -> float:
    """Two-sided p of a change whose variance is ``share`` of that of the noise in ``residuals``.

    ``parameters`` were fitted to have the noise left. Autocorrelated values count as the fewer independent
    ones that would say as much.
    """
    more = inflation(residuals, parameters)
    variance = float(residuals @ residuals) / (len(residuals) - parameters) * more * share
    return _student_p(change, variance, max(1.0, len(residuals) / more - parameters))


def _student_p(change: float, variance: float, df: float) -> float:
    if variance <= 0:
        return 0.0 if change else 1.0
    return two_sided_p(change / math.sqrt(variance), df)


def inflation(residuals: np.ndarray[Any, Any], parameters: int) -> float:
    """How much larger the variance of a mean is for AR(1) noise than for independent noise.

    The lag-1 autocorrelation r of few residuals is too small by about (1 + 3 r) / n around a mean (M. G.
    Kendall, Biometrika 41 (1954) 403–404) and (2 + 4 r) / n around a line; it is made larger by that, and
    never taken for negative.
    """
    squares = float(residuals @ residuals)
    if squares <= 0:
        return 1.0
    n = len(residuals)
    r = float(residuals[1:] @ residuals[:-1]) / squares
    r = min(max(0.0, r + (parameters + (parameters + 2) * r) / n), MOST_CORRELATED)
    return (1 + r) / (1 - r)
