# SPDX-License-Identifier: Apache-2.0
"""From how many instances on throughput no longer follows: two segments fitted by grid search. Pure.

Whether there is a bend is asked of a line from the origin, for no process carries nothing: with the few cases
of a series that leaves degrees of freedom for an F test. Its interval is every bend whose residual sum of
squares F does not tell from the best one's (G. A. F. Seber, C. J. Wild, Nonlinear Regression (1989), section
5.9). Where it is, is then told by two segments with an intercept of their own, since instances bring less and
less before the knee, too, which a line from the origin takes for an earlier one. A smooth law such as USL has
no place for a hard cap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import linear_regression

from linewatt.analysis.statistics.stats import CONFIDENCE_LEVEL, Estimate, t_quantile

FEWEST_POINTS = 4
FEWEST_WITH_INTERCEPT = 5
BENDS = 0.5
"""An instance beyond the knee brings less than this part of one before it, or there is none."""
GRID_STEPS = 400
"""bends that are tried, as far apart in ratio, from the fewest to the most instances"""


@dataclass(frozen=True, slots=True)
class Knee:
    """Where the slope changes, with its 95 % CI, and what an instance brings before and after, bit/s."""

    instances: float
    low: float
    high: float
    before_bps: float
    after_bps: float


def knee(points: Sequence[tuple[float, float]]) -> Knee | None:
    """The knee of (instances, mean throughput), instances ascending; ``None``: none that they show.

    The unit is the case, so that a curve that is no broken line makes the interval wide.
    """
    if len(points) < FEWEST_POINTS or points[-1][0] <= points[0][0] or min(y for _, y in points) <= 0:
        return None
    return _knee(tuple(points))


@lru_cache(maxsize=1024)
def _knee(points: tuple[tuple[float, float], ...]) -> Knee | None:
    """Regimes and ceilings ask of the same series."""
    grid = _grid(points[0][0], points[-1][0])
    about = _roughly(points, grid, origin=True)
    fits = [(at, *_broken(points, at)) for at in _smallest(grid, about)]
    at, best, before, after = min(fits, key=lambda fit: fit[1])
    if before <= 0 or after >= BENDS * before or not _better(_straight(points), best, len(points)):
        return None
    most_squares = best * (1 + t_quantile(len(points) - 3) ** 2 / (len(points) - 3)) + 1e-12
    inside = [
        bend
        for bend, squares in zip(grid, about, strict=True)
        if squares <= most_squares - _doubt(most_squares)
        or (squares <= most_squares + _doubt(most_squares) and _broken(points, bend)[0] <= most_squares)
    ]
    if len(points) >= FEWEST_WITH_INTERCEPT:
        segments = _best_segments(points, _smallest(grid, _roughly(points, grid, origin=False)))
        if segments[2] > 0 and segments[3] < BENDS * segments[2]:
            _, at, before, after = segments
    return Knee(at, min(*inside, at), max(*inside, at), before, max(0.0, after))


def _grid(low: float, high: float) -> list[float]:
    return [low * (high / low) ** (step / GRID_STEPS) for step in range(GRID_STEPS + 1)]


def _roughly(points: Sequence[tuple[float, float]], grid: Sequence[float], *, origin: bool) -> list[float]:
    """Relative residual sum of squares of every bend at once, to some digits: which are worth a proper fit.

    ``origin``: of lines from there, residuals weighted as :func:`_broken` has them; else as
    :func:`_segments`, on the scale of the mean rate.
    """
    import numpy as np

    instances, rates = np.array(points).T
    at = np.array(grid)[:, None]
    first, second = np.minimum(instances, at), np.maximum(instances - at, 0.0)
    rates = rates / rates.mean()
    if origin:
        first, second, target = first / rates, second / rates, np.ones_like(first)
    else:  # an intercept is what centring takes away
        first, second = (column - column.mean(axis=1, keepdims=True) for column in (first, second))
        target = np.broadcast_to(rates - rates.mean(), first.shape)
    aa, ab, bb, ay, by = (
        (column * partner).sum(axis=1)
        for column, partner in (
            (first, first),
            (first, second),
            (second, second),
            (first, target),
            (second, target),
        )
    )
    determinant = aa * bb - ab * ab
    is_regular = determinant > 1e-9 * aa * bb
    safe_determinant, longer = np.where(is_regular, determinant, 1.0), np.where(aa >= bb, aa, bb)
    before = np.where(
        is_regular, (ay * bb - by * ab) / safe_determinant, np.where(aa >= bb, ay, 0.0) / longer
    )
    after = np.where(is_regular, (by * aa - ay * ab) / safe_determinant, np.where(aa >= bb, 0.0, by) / longer)
    residuals = target - before[:, None] * first - after[:, None] * second
    return [float(square_sum) for square_sum in (residuals * residuals).sum(axis=1)]


def _doubt(squares: float) -> float:
    """By how much a rough sum may be off."""
    return 1e-6 * squares + 1e-12


def _smallest(grid: Sequence[float], about: Sequence[float]) -> list[float]:
    """The bends that may be the best."""
    fewest_squares = min(about)
    limit = fewest_squares + 2 * _doubt(fewest_squares)
    return [at for at, squares in zip(grid, about, strict=True) if squares <= limit]


def _broken(points: Sequence[tuple[float, float]], at: float) -> tuple[float, float, float]:
    """Residual sum of squares and both slopes of the line that bends at ``at``.

    Residuals are relative, as the spread of throughput is.
    """
    parts = [(min(n, at) / y, max(n - at, 0.0) / y) for n, y in points]
    aa = math.fsum(a * a for a, _ in parts)
    ab = math.fsum(a * b for a, b in parts)
    bb = math.fsum(b * b for _, b in parts)
    ay = math.fsum(a for a, _ in parts)
    by = math.fsum(b for _, b in parts)
    determinant = aa * bb - ab * ab
    if determinant <= 1e-9 * aa * bb:
        before = after = ay / aa
    else:
        before, after = (ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant
    return math.fsum((1 - before * a - after * b) ** 2 for a, b in parts), before, after


def _best_segments(
    points: Sequence[tuple[float, float]], bends: Sequence[float]
) -> tuple[float, float, float, float]:
    """Residual sum of squares of the best two segments that meet at one of ``bends``, wherever they begin;
    that bend, both slopes. Where the shorter segment has one case, a hundred bends are as good."""
    import numpy as np

    instances, rates = np.ascontiguousarray(np.array(points).T)
    design = np.ones((len(points), 3))
    fits = []
    for at in bends:
        np.minimum(instances, at, out=design[:, 1])
        np.maximum(instances - at, 0.0, out=design[:, 2])
        slopes, *_ = np.linalg.lstsq(design, rates, rcond=None)
        residuals = design @ slopes - rates
        fits.append((float(residuals @ residuals), at, float(slopes[1]), float(slopes[2])))
    return min(fits)


def _straight(points: Sequence[tuple[float, float]]) -> float:
    """Residual sum of squares of one line."""
    slope = math.fsum(n / y for n, y in points) / math.fsum((n / y) ** 2 for n, y in points)
    return math.fsum((1 - slope * n / y) ** 2 for n, y in points)


def _better(straight: float, broken: float, count: int) -> bool:
    """Whether the bend explains more than its two parameters would by chance."""
    df = count - 3
    return (straight - broken) / 2 > _f_quantile(df) * broken / df


def _f_quantile(df: int) -> float:
    """The quantile of F with 2 and ``df`` degrees of freedom, whose survival is (1 + 2 F / df)^(-df / 2)."""
    return df / 2 * (math.pow(1 - CONFIDENCE_LEVEL, -2 / df) - 1)


def widened(bend: Knee, means: Mapping[int, Estimate]) -> Knee:
    """The same with an interval that has what the spread of trials makes of it, too, and is no less than the
    grid: that of the series alone is of how the means lie about the two segments, of few maybe by chance."""
    finest = bend.instances * ((max(means) / min(means)) ** (1 / GRID_STEPS) - 1)
    reach = max(finest, _reach(means, bend.instances))
    return replace(
        bend, low=min(bend.low, bend.instances - reach), high=max(bend.high, bend.instances + reach)
    )


def _reach(means: Mapping[int, Estimate], at: float) -> float:
    """Half the 95 % CI that the errors of all means give the point where the lines on either side cross."""
    plain = {number: mean.mean for number, mean in means.items()}
    crossing = _crossing(plain, at)
    if crossing is None:
        return 0.0
    moved, degrees = [], 0
    for number, mean in means.items():
        if mean.sd is not None:
            moved_crossing = _crossing(plain | {number: mean.mean + mean.sd / math.sqrt(mean.n)}, at)
            moved.append(0.0 if moved_crossing is None else moved_crossing - crossing)
            degrees += mean.n - 1
    return t_quantile(degrees) * math.hypot(*moved) if degrees else 0.0


def _crossing(means: Mapping[int, float], at: float) -> float | None:
    (level, rise), (top, after) = lines(means, at)
    return None if rise <= after else (top - level) / (rise - after)


Line = tuple[float, float]
"""intercept and slope"""


def lines(means: Mapping[int, float], at: float) -> tuple[Line, Line]:
    """Least squares on either side: of one number alone from the origin before it, level beyond it."""
    points_before = [(number, bps) for number, bps in means.items() if number <= at]
    points_beyond = [(number, bps) for number, bps in means.items() if number > at]
    before = (
        _line(points_before)
        if len(points_before) > 1
        else (0.0, points_before[0][1] / points_before[0][0] if points_before else 0.0)
    )
    return before, _line(points_beyond) if len(points_beyond) > 1 else (
        points_beyond[0][1] if points_beyond else 0.0,
        0.0,
    )


def _line(points: Sequence[tuple[int, float]]) -> Line:
    slope, level = linear_regression(*zip(*points, strict=True))
    return level, slope
