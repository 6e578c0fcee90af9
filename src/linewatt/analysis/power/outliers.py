# SPDX-License-Identifier: Apache-2.0
"""Rows of a series whose power the others do not explain: fans, a power cap, another setting. Pure.

What the CPUs draw is taken off where it is known in every row; the rest is held against a line over
throughput that one row in four cannot move (P. K. Sen, JASA 63 (1968) 1379–1389).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from linewatt.analysis.power.machine_conditions import Beside, evidence
from linewatt.findings import OUTLIER_PART, OUTLIER_SDS, OUTLIER_UNCERTAINTIES

FEWEST_ROWS = 4
_MAD_TO_SD = 1.4826


@dataclass(frozen=True, slots=True)
class PowerRow:
    """One case: system and CPU power, W, and how to read what stood beside them, as ``fan speed (rpm)``."""

    instances: int
    throughput_bps: float
    system_w: float
    cpu_w: float | None = None
    uncertainty_w: float | None = None
    read_beside: Callable[[], Beside] = Beside
    """for outliers alone, which are few"""


@dataclass(frozen=True, slots=True)
class PowerOutlier:
    """A row far from what the others say; ``evidence`` says with what, and what it is not."""

    row: PowerRow
    expected_w: float
    evidence: tuple[str, ...]


def power_outliers(rows: Sequence[PowerRow]) -> Iterator[PowerOutlier]:
    """Those of a series with at least four rows."""
    if len(rows) < FEWEST_ROWS:
        return
    with_cpu = all(row.cpu_w is not None for row in rows)
    remainders_w = [row.system_w - ((row.cpu_w or 0.0) if with_cpu else 0.0) for row in rows]
    rates = [row.throughput_bps for row in rows]
    slope = _slope(rates, remainders_w)
    level = median(w - slope * rate for rate, w in zip(rates, remainders_w, strict=True))
    off = [w - slope * rate - level for rate, w in zip(rates, remainders_w, strict=True)]
    spread = _MAD_TO_SD * median(abs(deviation_w) for deviation_w in off)
    for row, by in zip(rows, off, strict=True):
        threshold_w = max(OUTLIER_SDS * spread, OUTLIER_UNCERTAINTIES * (row.uncertainty_w or 0.0))
        if abs(by) > max(threshold_w, OUTLIER_PART * (row.system_w - by)):
            explanations = _evidence(row, rows, by, with_cpu=with_cpu)
            yield PowerOutlier(row, row.system_w - by, tuple(explanations))


def _slope(rates: Sequence[float], watts: Sequence[float]) -> float:
    pairs = combinations(zip(rates, watts, strict=True), 2)
    slopes = [(w2 - w1) / (r2 - r1) for (r1, w1), (r2, w2) in pairs if r1 != r2]
    return median(slopes) if slopes else 0.0


def _evidence(row: PowerRow, rows: Sequence[PowerRow], above_w: float, *, with_cpu: bool) -> Iterator[str]:
    others = [peer for peer in rows if peer is not row]
    if with_cpu and row.cpu_w is not None:
        others_cpu_w = [peer.cpu_w for peer in others if peer.cpu_w is not None]
        range_w = f"{min(others_cpu_w):.1f} to {max(others_cpu_w):.1f} W"
        yield f"not the CPU: {row.cpu_w:.1f} W there, {range_w} in the others"
    yield from evidence(row.read_beside(), [peer.read_beside() for peer in others], above_w)
