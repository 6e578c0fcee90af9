# SPDX-License-Identifier: Apache-2.0
"""The metrics of power as columns for terminal, HTML, CSV and JSON alike.

In JSON and CSV the values have the unit of their key, which are those of ``linewatt derive``; beside each
stands whether it was measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.of_power import POWER_METRICS, PowerMetric
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import ENDS, Provenance, Role
from linewatt.report.columns import cell_of
from linewatt.report.export import mean_keys
from linewatt.report.provenance import mark, words
from linewatt.report.table import Cell, Head


def provenance_of(metric: PowerMetric, power: EndPower) -> Provenance | None:
    """Whether the watts it is made of were measured; ``None`` where there is no value."""
    if power.values.get(metric.name) is None:
        return None
    if metric.of == "both":
        return power.provenance
    return power.system_provenance if metric.of == "system" else power.cpu_provenance


def power_cell(metric: PowerMetric, power: EndPower, unit: Unit, trials_done: int) -> Cell:
    """Text at one end in ``unit``, marked unless measured."""
    reason = power.reasons.get(metric.name, "not recorded")
    sure = mark(provenance_of(metric, power))
    cell = cell_of(power.values.get(metric.name), unit, trials_done, reason, sure)
    bound = power.values.get(metric.bound)
    if bound is not None and not cell.missing:
        decimals = len(cell.text.partition(".")[2])
        cell = replace(cell, text=f"{cell.text} ± {unit.from_si(bound.mean):,.{decimals}f}")
    return replace(cell, sd=cell.sd if metric.spread else None, si=None)  # JSON has other units


def power_head(
    metric: PowerMetric, role: Role, unit: Unit, scope: str | None, powers: Iterable[EndPower]
) -> Head:
    """What stands above it in a table of one end in ``unit``; ``scope`` are its watts."""
    named = SCOPE_WORDS.get(scope, scope) if scope else ("CPU" if metric.of == "cpu" else "System")
    return Head(
        metric.title.format(scope=named),
        unit.name,
        lines=metric.heading.format(scope=named.replace(" (", "\n(")),
        provenance=words(provenance_of(metric, power) for power in powers),
        key=f"{role}_{metric.key}_mean",
        show_sd=metric.show_sd,
    )


def export_end(metric: PowerMetric, role: Role, power: EndPower | None) -> dict[str, Any]:
    """Keys and values for JSON and CSV; missing is ``None``."""
    name = f"{role}_{metric.key}"
    value = None if power is None else power.values.get(metric.name)
    convert = metric.units[0].from_si
    row = mean_keys(name, value, convert)
    row[f"{name}_provenance"] = None if power is None else provenance_of(metric, power)
    if metric.bound:
        bound = None if power is None or value is None else power.values.get(metric.bound)
        row[f"{name}_uncertainty"] = None if bound is None else convert(bound.mean)
    return row


def export_power(summary: CaseSummary) -> dict[str, Any]:
    """The power of both ends as flat keys: which watts they are, and every column."""
    row: dict[str, Any] = {}
    for role in ENDS:
        power = summary.power(role)
        row[f"{role}_system_scope"] = None if power is None else power.system_scope
        row[f"{role}_cpu_scope"] = None if power is None else power.cpu_scope
        for metric in POWER_METRICS:
            row |= export_end(metric, role, power)
    return row


def power_reasons(summary: CaseSummary) -> dict[str, str]:
    """Why values are missing, by their key in JSON and CSV."""
    return {
        f"{role}_{metric.key}": power.reasons[metric.name]
        for role in ENDS
        if (power := summary.power(role)) is not None
        for metric in POWER_METRICS
        if metric.name in power.reasons
    }
