# SPDX-License-Identifier: Apache-2.0
"""The metrics of a case as columns for terminal, HTML, CSV and JSON alike.

Values are SI under keys that name their unit; a unit turns them into what people read. A column
picks one unit for a whole table, so that rows compare.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linewatt import units
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.metric import Metric
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.statistics.stats import Estimate
from linewatt.report.export import mean_keys
from linewatt.report.table import Cell, Head

Value = Estimate | float | int | None


def case_cell(metric: Metric, summary: CaseSummary, unit: Unit) -> Cell:
    """Text of one case in ``unit``."""
    reason = summary.reasons.get(metric.name, "not recorded")
    cell = cell_of(metric.value(summary), unit, summary.trials_done, reason)
    if metric.name == "throughput_bps" and summary.modes is not None:
        return replace(cell, note="; ".join(filter(None, (cell.note, "two modes"))))
    return cell


def ci_text(metric: Metric, summary: CaseSummary, unit: Unit) -> str | None:
    """The 95 % CI of a case's mean in ``unit``; ``None`` where it is not shown or there is none."""
    value = metric.value(summary)
    found = value.interval() if metric.show_ci and isinstance(value, Estimate) else None
    if found is None:
        return None
    return " to ".join(unit.text(unit.from_si(end)) for end in (found.low, found.high))


def head(metric: Metric, unit: Unit) -> Head:
    """What stands above a metric in a table in ``unit``."""
    return Head(
        metric.title,
        unit.name,
        lines=metric.heading,
        key=metric.si_key if metric.of_series else f"{metric.si_key}_mean",
        show_sd=metric.show_sd,
        show_ci=metric.show_ci,
    )


def export(metric: Metric, summary: CaseSummary) -> dict[str, Any]:
    """Keys and values for JSON and CSV, SI; missing is ``None``."""
    if metric.loads == "request-response" and not metric.applies([summary]):
        return {}
    value, key = metric.value(summary), metric.si_key
    if metric.of_series:
        return {key: value}
    estimate = value if isinstance(value, Estimate) else None
    found = mean_keys(key, estimate)
    if not metric.show_ci:
        return found
    ci = estimate.interval() if estimate else None
    return found | {
        f"{key}_ci95_low": ci and ci.low,
        f"{key}_ci95_high": ci and ci.high,
        f"{key}_ci95_method": ci and ci.method,
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


COLUMNS = tuple(metric for metric in METRICS if metric.tabled)
"""Columns of the scalability table, left to right, between instances and trials."""
MORE_COLUMNS = tuple(metric for metric in METRICS if not metric.tabled)
"""Columns that JSON and CSV have beyond those of the table."""

SHARES = ("usr", "sys", "irq", "soft", "idle", "other")
ROLES = (
    ("receiver_app", "Receiver: app CPU"),
    ("receiver_irq", "Receiver: IRQ CPU"),
    ("sender_app", "Sender: app CPU"),
    ("sender_irq", "Sender: IRQ CPU"),
)
