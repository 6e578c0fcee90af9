# SPDX-License-Identifier: Apache-2.0
"""The metrics of a case as columns for terminal, HTML, CSV and JSON alike.

Values are SI under keys that name their unit; a unit turns them into what people read. A column
picks one unit for a whole table, so that rows compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linewatt import units
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.metric import Loads, Metric
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.statistics.stats import Estimate
from linewatt.findings import Figure
from linewatt.model import Role, is_tcp
from linewatt.report.export import mean_keys
from linewatt.report.table import Cell, Head

Value = Estimate | float | int | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    ``field`` is the field of :class:`CaseSummary`, ``key`` its name in JSON and CSV (SI unit included; an
    estimate gets ``_mean``, ``_sd`` and ``_n``), ``heading`` the title broken into lines for a terminal.
    ``loads`` are the loads it means something for. A column that is ``trivial`` at one instance is shown
    only for a series. Of two ``units``, the first is for tables in Gbps, the second for those in Mbps.
    """

    field: str
    key: str
    title: str
    heading: str
    units: tuple[Unit, ...]
    loads: Loads = "all"
    estimate: bool = True
    show_sd: bool = False
    trivial: bool = False
    remark: str = ""
    figure: Figure | None = None
    """what findings may make doubtful about it"""
    role: Role | None = None
    """the end whose CPU it is made of"""
    show_ci: bool = False
    """whether JSON, CSV and the report have its 95 % CI"""

    @property
    def json_key(self) -> str:
        """Key of the value itself: of the mean where it is an estimate."""
        return f"{self.key}_mean" if self.estimate else self.key

    def value(self, summary: CaseSummary) -> Value:
        """The value of a case, SI; ``None`` when no trial has it."""
        values = summary.values if self.estimate else summary.scalings
        return values.get(self.field)

    def applies(self, summaries: Sequence[CaseSummary]) -> bool:
        """Whether the column means anything for these cases."""
        tests = {summary.case.test for summary in summaries}
        if self.trivial and all(summary.case.instances == 1 for summary in summaries):
            return False
        return self.loads == "all" or any(is_tcp(test) == (self.loads == "tcp") for test in tests)

    def has_values(self, summaries: Sequence[CaseSummary]) -> bool:
        """Whether any of these cases has a value."""
        return any(self.value(summary) is not None for summary in summaries)

    def unit(self, summaries: Sequence[CaseSummary]) -> Unit:
        """The unit these cases are shown in."""
        rates = [summary.throughput_bps.mean for summary in summaries if summary.throughput_bps]
        return self.units[0] if max(rates, default=0.0) >= units.BPS_PER_GBPS else self.units[-1]

    def cell(self, summary: CaseSummary, unit: Unit) -> Cell:
        """Text of one case in ``unit``."""
        reason = summary.reasons.get(self.field, "not recorded")
        cell = cell_of(self.value(summary), unit, summary.trials_done, reason)
        if self.field == "throughput_bps" and summary.modes is not None:
            return replace(cell, note="; ".join(filter(None, (cell.note, "two modes"))))
        return cell

    def ci_text(self, summary: CaseSummary, unit: Unit) -> str | None:
        """The 95 % CI of a case's mean in ``unit``; ``None`` where it is not shown or there is none."""
        value = self.value(summary)
        found = value.interval() if self.show_ci and isinstance(value, Estimate) else None
        if found is None:
            return None
        return " to ".join(unit.text(unit.from_si(end)) for end in (found.low, found.high))

    def head(self, unit: Unit) -> Head:
        """What stands above it in a table in ``unit``."""
        return Head(
            self.title,
            unit.name,
            lines=self.heading,
            key=self.json_key,
            show_sd=self.show_sd,
            show_ci=self.show_ci,
        )

    def export(self, summary: CaseSummary) -> dict[str, Any]:
        """Keys and values for JSON and CSV, SI; missing is ``None``."""
        value = self.value(summary)
        if not self.estimate:
            return {self.key: value}
        estimate = value if isinstance(value, Estimate) else None
        found = mean_keys(self.key, estimate)
        if not self.show_ci:
            return found
        ci = estimate.interval() if estimate else None
        return found | {
            f"{self.key}_ci95_low": ci and ci.low,
            f"{self.key}_ci95_high": ci and ci.high,
            f"{self.key}_ci95_method": ci and ci.method,
        }


def cell_of(value: Value, unit: Unit, trials_done: int, reason: str, mark: str | None = None) -> Cell:
    """Text of a value in ``unit``; ``reason`` is why there is none."""
    if value is None:
        return Cell(units.MISSING, reason=reason)
    if not isinstance(value, Estimate):
        return Cell(unit.text(unit.from_si(value)), mark=mark, si=value)
    text = unit.text(unit.from_si(value.mean))
    sd = None if value.sd is None else _like(text, unit.from_si(value.sd))
    return Cell(text, sd, f"n={value.n}" if value.n < trials_done else None, mark=mark, si=value.mean)


def _like(text: str, value: float) -> str:
    """``value`` with as many decimals as ``text`` has."""
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f}"


def _column(metric: Metric) -> Column:
    return Column(
        field=metric.name,
        key=metric.key or metric.name,
        title=metric.title,
        heading=metric.heading,
        units=metric.units,
        loads=metric.loads,
        estimate=metric.scaled is None,
        show_sd=metric.show_sd,
        trivial=metric.scaled is not None,
        remark=metric.remark,
        figure=metric.figure,
        role=metric.role,
        show_ci=metric.show_ci,
    )


COLUMNS = tuple(_column(metric) for metric in METRICS if metric.tabled)
"""Columns of the scalability table, left to right, between instances and trials."""
MORE_COLUMNS = tuple(_column(metric) for metric in METRICS if not metric.tabled)
"""Columns that JSON and CSV have beyond those of the table."""
TARGET, OFF_TARGET = (
    next(column for column in MORE_COLUMNS if column.field == name)
    for name in ("target_bps", "target_deviation_ratio")
)

SHARES = ("usr", "sys", "irq", "soft", "idle", "other")
ROLES = (
    ("receiver_app", "Receiver: app CPU"),
    ("receiver_irq", "Receiver: IRQ CPU"),
    ("sender_app", "Sender: app CPU"),
    ("sender_irq", "Sender: IRQ CPU"),
)
