# SPDX-License-Identifier: Apache-2.0
"""A result's throughput at a glance: the few numbers of a sparkline, and what they are in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from linewatt.units import format_rate

if TYPE_CHECKING:
    from linewatt.analysis.cases import CaseSummary
    from linewatt.report.trials.digest import Digest

MOST_VALUES = 60


@dataclass(frozen=True, slots=True)
class Glance:
    """Throughput, bit/s, over what it is told by: instances, trials in the order they ran, or time.

    ``at`` are the numbers of instances or of trials. ``None`` is a gap: nothing is known there.
    """

    over: Literal["instances", "trials", "time"]
    values_bps: tuple[float | None, ...]
    at: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """``1 to 16 instances: 24.3 to 111 Gbps``."""
        known_bps = [value for value in self.values_bps if value is not None]
        if not known_bps:
            return "nothing is known"
        ends = dict.fromkeys(format_rate(value) for value in (min(known_bps), max(known_bps)))
        return f"{self._along}: {' to '.join(ends)}"

    @property
    def _along(self) -> str:
        if self.over == "instances":
            return f"{self.at[0]} to {self.at[-1]} instances"
        return f"trials {self.at[0]} to {self.at[-1]}" if self.over == "trials" else "over time"


def of_trials(view: Digest, best: CaseSummary) -> Glance | None:
    """Of the series that the best case is in, or where that is its only case, of its trials."""
    single = best.case.single
    series = [summary for summary in view.summaries if summary.case.single == single]
    along = [
        (summary.case.instances, summary.throughput_bps.mean) for summary in series if summary.throughput_bps
    ]
    if len(along) > 1:
        return Glance("instances", tuple(bps for _, bps in along), tuple(count for count, _ in along))
    runs = [
        (trial.number, trial.throughput_bps)
        for trial in view.result.trials
        if trial.case == best.case and trial.throughput_bps is not None
    ]
    if len(runs) < 2:
        return None
    chosen = _spread(runs)
    return Glance("trials", tuple(bps for _, bps in chosen), tuple(number for number, _ in chosen))


def _spread(runs: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """Of many trials the slowest and the fastest of each portion: none that stands out is left out."""
    if len(runs) <= MOST_VALUES:
        return runs
    portions = MOST_VALUES // 2
    extremes: list[tuple[int, float]] = []
    for at in range(portions):
        portion = runs[at * len(runs) // portions : (at + 1) * len(runs) // portions]
        ends = {min(portion, key=lambda run: run[1]), max(portion, key=lambda run: run[1])}
        extremes += sorted(ends)
    return extremes
