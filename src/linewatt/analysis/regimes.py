# SPDX-License-Identifier: Apache-2.0
"""In which regime a case runs: one process, several, or more than bring anything. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from linewatt.analysis.summary import CaseSummary

Regime = Literal["single", "multi", "saturated", "paced"]

SATURATED_GAIN = 0.25
"""Instances that bring less than this part of what the others do have met a limit: the link, a device or the
CPUs. It is a word for a row, not the search for the knee."""


def regimes(summaries: Sequence[CaseSummary]) -> tuple[Regime, ...]:
    """The regime of each case of a series, instances ascending."""
    return tuple(_regime(summary, summaries[at - 1] if at else None) for at, summary in enumerate(summaries))


def _regime(summary: CaseSummary, fewer: CaseSummary | None) -> Regime:
    if summary.case.paced:
        return "paced"
    if summary.case.instances == 1:
        return "single"
    gain = None if fewer is None else _gain(summary, fewer)
    return "saturated" if gain is not None and gain < SATURATED_GAIN else "multi"


def _gain(summary: CaseSummary, fewer: CaseSummary) -> float | None:
    """What an instance more brought, as part of what one brought before."""
    if summary.throughput_bps is None or fewer.throughput_bps is None or fewer.throughput_bps.mean <= 0:
        return None
    each_bps = fewer.throughput_bps.mean / fewer.case.instances
    added = summary.case.instances - fewer.case.instances
    return (summary.throughput_bps.mean - fewer.throughput_bps.mean) / (added * each_bps)
