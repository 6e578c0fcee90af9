# SPDX-License-Identifier: Apache-2.0
"""Runs of a case that fall into two groups, such as those whose streams share a receive queue. Pure.

The mean of two modes is a figure that no run has, and its spread is that between the modes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.statistics.dip import is_beyond_one_mode
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
    wide = min((_split(runs, at) for at in _cuts(runs, A_SIDE_OVERLAPPING)), key=lambda one: one.sd)
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
        squares = sum((one.n - 1) * (one.sd or 0.0) ** 2 for one in (self.low, self.high))
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
