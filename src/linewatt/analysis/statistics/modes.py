# SPDX-License-Identifier: Apache-2.0
"""Runs of a case that fall into two groups, such as those whose streams share a receive queue. Pure.

The mean of two modes is a figure that no run has, and its spread is that between the modes.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from linewatt.analysis.statistics.stats import Estimate, estimate

FEWEST_RUNS = 10
SDS_APART = 4.0
"""within-group SDs by which the gap, or the means, of two modes are apart"""
PART_APART = 0.05
"""of the mean: what is nearer is no matter of another queue"""
A_SIDE = 2
A_SIDE_OVERLAPPING = 3
GAP_SDS = 1.25
"""Modes of 4 to 6 SDs apart leave no gap of 4; where the means are, so much of a gap is asked for."""


@dataclass(frozen=True, slots=True)
class Modes:
    """Two groups of runs; ``low`` is the slower one. ``by`` says what gave them away."""

    low: Estimate
    high: Estimate
    by: str

    @property
    def apart_ratio(self) -> float:
        """How much the slower mode is below the faster one."""
        return 1 - self.low.mean / self.high.mean


def modes(values: Sequence[float]) -> Modes | None:
    """The two modes of a case's runs; ``None`` where they show one, or are fewer than 10.

    Found by the largest gap in sorted runs, by means that are far apart, or by Hartigan's dip; how often, and
    how often where there is one mode, is in docs/metrics.md ("Statistics").
    """
    runs = sorted(value for value in values if value > 0 and math.isfinite(value))
    if len(runs) < FEWEST_RUNS or runs[-1] - runs[0] <= PART_APART * sum(runs) / len(runs):
        return None
    clear = _at_largest_gap(runs, A_SIDE)
    if clear.gap > SDS_APART * clear.sd and clear.gap > PART_APART * clear.mean:
        return clear.modes("a gap")
    near = _at_largest_gap(runs, A_SIDE_OVERLAPPING)
    if near.apart > max(SDS_APART * near.sd, PART_APART * near.mean) and near.gap > GAP_SDS * near.sd:
        return near.modes("means far apart")
    if not is_beyond_one_mode(runs):
        return None
    wide = min((_split(runs, at) for at in _cuts(runs, A_SIDE_OVERLAPPING)), key=lambda split: split.sd)
    return wide.modes("Hartigan's dip") if wide.apart > PART_APART * wide.mean else None


@dataclass(frozen=True, slots=True)
class _Split:
    low: Estimate
    high: Estimate
    gap: float

    @property
    def mean(self) -> float:
        n = self.low.n + self.high.n
        return (self.low.n * self.low.mean + self.high.n * self.high.mean) / n

    @property
    def apart(self) -> float:
        return self.high.mean - self.low.mean

    @property
    def sd(self) -> float:
        """Within the groups, pooled."""
        squares = sum((group.n - 1) * (group.sd or 0.0) ** 2 for group in (self.low, self.high))
        return math.sqrt(squares / (self.low.n + self.high.n - 2))

    def modes(self, by: str) -> Modes:
        return Modes(self.low, self.high, by)


def _cuts(runs: Sequence[float], a_side: int) -> range:
    return range(a_side, len(runs) - a_side + 1)


def _at_largest_gap(runs: Sequence[float], a_side: int) -> _Split:
    return _split(runs, max(_cuts(runs, a_side), key=lambda at: runs[at] - runs[at - 1]))


def _split(runs: Sequence[float], at: int) -> _Split:
    low, high = estimate(runs[:at]), estimate(runs[at:])
    if low is None or high is None:
        raise ValueError("runs must be finite numbers")
    return _Split(low, high, runs[at] - runs[at - 1])


_CRITICAL = (
    (10, 0.5026),
    (12, 0.5128),
    (15, 0.5278),
    (20, 0.5370),
    (30, 0.5560),
    (50, 0.5732),
    (100, 0.5899),
    (200, 0.6049),
    (1000, 0.6208),
)
"""n, and the √n × dip that runs of one mode exceed with a chance of 1 % (uniform, the worst one mode)"""


def is_beyond_one_mode(values: Sequence[float]) -> bool:
    """Whether the dip is larger than that of one mode in 99 of 100 draws; False below 10 runs."""
    n = len(values)
    if n < _CRITICAL[0][0]:
        return False
    return math.sqrt(n) * dip(values) > _critical(n)


def _critical(n: int) -> float:
    at = bisect_left(_CRITICAL, (n, 0.0))
    if at == len(_CRITICAL) or _CRITICAL[at][0] == n:
        return _CRITICAL[min(at, len(_CRITICAL) - 1)][1]
    (before, low), (after, high) = _CRITICAL[at - 1], _CRITICAL[at]
    return low + (high - low) * (n - before) / (after - before)


def dip(values: Sequence[float]) -> float:
    """The largest distance of the runs' distribution from the nearest one with a single mode.

    From 1 / (2 n) to 1 / 4. The modal interval is narrowed while the greatest convex minorant and the least
    concave majorant of the steps are further apart inside it than the steps are from either outside.
    """
    x = sorted(values)
    n = len(x)
    low, high, largest = 0, n - 1, 1.0
    while x[low] < x[high]:
        below, above = _hull(x, low, high, 1), _hull(x, low, high, -1)
        if len(below) == len(above) == 2:  # both are the same line
            break
        widest, (newer_low, newer_high) = max(
            *((_height(x, above, i) - i + 1, (i, above[bisect_left(above, i)])) for i in below),
            *((i - _height(x, below, i) + 1, (below[bisect_right(below, i) - 1], i)) for i in above),
        )
        if widest <= largest:
            break
        before = [i for i in below if i <= newer_low]
        after = [i for i in above if i >= newer_high]
        largest = max(largest, _sticks_out(x, before, 1), _sticks_out(x, after, -1))
        if (newer_low, newer_high) == (low, high):
            break
        low, high = newer_low, newer_high
    return largest / (2 * n)


def _hull(x: Sequence[float], low: int, high: int, sign: int) -> list[int]:
    """Runs that the greatest convex minorant (``sign`` 1) or least concave majorant (−1) touches."""
    touched: list[int] = []
    for i in range(low, high + 1):
        while len(touched) > 1:
            first, last = touched[-2:]
            turn = (last - first) * (x[i] - x[last]) - (i - last) * (x[last] - x[first])
            if sign * turn < 0:
                break
            touched.pop()
        touched.append(i)
    return touched


def _height(x: Sequence[float], hull: Sequence[int], i: int) -> float:
    """The count that a hull has at run ``i``."""
    at = min(bisect_right(hull, i) - 1, len(hull) - 2)
    first, last = hull[at], hull[at + 1]
    if x[last] == x[first]:
        return last
    return first + (x[i] - x[first]) * (last - first) / (x[last] - x[first])


def _sticks_out(x: Sequence[float], hull: Sequence[int], sign: int) -> float:
    """How many counts the steps are from a hull at most, above a minorant (1) or below a majorant (−1)."""
    max_counts = 0.0
    for first, last in pairwise(hull):
        max_counts = max(max_counts, 1.0)
        if last - first > 1 and x[last] > x[first]:
            slope = (last - first) / (x[last] - x[first])
            between = range(first, last + 1)
            max_counts = max(
                max_counts, *(1 + sign * (i - first - (x[i] - x[first]) * slope) for i in between)
            )
    return max_counts
