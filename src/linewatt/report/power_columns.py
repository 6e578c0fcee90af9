# SPDX-License-Identifier: Apache-2.0
"""The columns of the power table, declared once for terminal, HTML, CSV and JSON alike.

In JSON and CSV the values have the unit of their key, which are those of ``linewatt derive``; beside each
stands whether it was measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from linewatt import units
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.unit import Unit, fixed, significant
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.analysis.statistics.stats import Estimate
from linewatt.findings import Figure
from linewatt.model import Provenance, Role
from linewatt.report.columns import cell_of
from linewatt.report.export import mean_keys
from linewatt.report.provenance import mark, words
from linewatt.report.table import Cell, Head

Of = Literal["system", "cpu", "both"]

ENDS: tuple[Role, Role] = ("receiver", "sender")


@dataclass(frozen=True, slots=True)
class PowerColumn:
    """One column.

    ``field`` is the field of :class:`EndPower`, ``key`` its name in JSON and CSV behind ``receiver_`` or
    ``sender_``, ``of`` whose watts it is made of. ``title`` and ``heading`` (broken into lines) may hold
    ``{scope}``. Of two ``units``, the first is for tables in Gbps and for JSON and CSV.
    """

    field: str
    key: str
    title: str
    heading: str
    units: tuple[Unit, ...]
    of: Of = "system"
    show_sd: bool = False
    figure: Figure = "power"
    """what findings may make doubtful about it"""
    spread: bool = True
    """whether the standard deviation over trials is shown"""
    bound: str = ""
    """the field with the bound of its error, which then stands behind it as ±"""

    def value(self, power: EndPower) -> Estimate | None:
        """The value at one end, SI; ``None`` when no trial has it."""
        value: Estimate | None = getattr(power, self.field)
        return value

    def provenance(self, power: EndPower) -> Provenance | None:
        """Whether the watts it is made of were measured; ``None`` where there is no value."""
        if self.value(power) is None:
            return None
        if self.of == "both":
            return power.provenance
        return power.system_provenance if self.of == "system" else power.cpu_provenance

    def cell(self, power: EndPower, unit: Unit, trials_done: int) -> Cell:
        """Text at one end in ``unit``, marked unless measured."""
        reason = power.reasons.get(self.field, "not recorded")
        cell = cell_of(self.value(power), unit, trials_done, reason, mark(self.provenance(power)))
        bound = self.bound_of(power)
        if bound is not None and not cell.missing:
            decimals = len(cell.text.partition(".")[2])
            cell = replace(cell, text=f"{cell.text} ± {unit.from_si(bound.mean):,.{decimals}f}")
        return replace(cell, sd=cell.sd if self.spread else None, si=None)  # JSON has other units

    def bound_of(self, power: EndPower) -> Estimate | None:
        """The bound of its error at one end, SI; ``None`` where it has none or none is known."""
        bound: Estimate | None = getattr(power, self.bound) if self.bound else None
        return bound

    def head(self, role: Role, unit: Unit, scope: str | None, powers: Iterable[EndPower]) -> Head:
        """What stands above it in a table of one end in ``unit``; ``scope`` are its watts."""
        named = SCOPE_WORDS.get(scope, scope) if scope else ("CPU" if self.of == "cpu" else "System")
        return Head(
            self.title.format(scope=named),
            unit.name,
            lines=self.heading.format(scope=named.replace(" (", "\n(")),
            provenance=words(map(self.provenance, powers)),
            key=f"{role}_{self.key}_mean",
            show_sd=self.show_sd,
        )

    def export(self, role: Role, power: EndPower | None) -> dict[str, Any]:
        """Keys and values for JSON and CSV; missing is ``None``."""
        name = f"{role}_{self.key}"
        value = None if power is None else self.value(power)
        convert = self.units[0].from_si
        row = mean_keys(name, value, convert)
        row[f"{name}_provenance"] = None if power is None else self.provenance(power)
        if self.bound:
            bound = None if power is None or value is None else self.bound_of(power)
            row[f"{name}_uncertainty"] = None if bound is None else convert(bound.mean)
        return row


_above_idle = partial(PowerColumn, figure="above_idle", spread=False)


def _same(value: float) -> float:
    return value


W = Unit("W", _same, fixed(1))
PLUS_MINUS_W = Unit("± W", _same, fixed(1))
MBPS_PER_W = Unit("Mbps/W", units.mbps_from_bps, significant(5, 2))
PERCENT = Unit("%", units.percent_from_ratio, fixed(1))
W_PER_RATE = (
    Unit("W/Gbps", units.w_per_gbps, significant(4)),
    Unit("W/Mbps", units.w_per_mbps, significant(4)),
)
PJ_PER_BIT = Unit("pJ/bit", units.pj_from_j, significant(4, 2))

POWER_COLUMNS: tuple[PowerColumn, ...] = (
    PowerColumn("system_w", "system_w", "{scope}", "{scope}", (W,), show_sd=True),
    PowerColumn(
        "uncertainty_w",
        "system_uncertainty_w",
        "Bound of sensor error",
        "Sensor\nerror",
        (PLUS_MINUS_W,),
        spread=False,
    ),
    PowerColumn("cpu_w", "cpu_w", "{scope}", "{scope}", (W,), of="cpu"),
    PowerColumn(
        "system_bps_per_w", "system_mbps_per_w", "System efficiency", "System\neffic.", (MBPS_PER_W,)
    ),
    PowerColumn("cpu_bps_per_w", "cpu_mbps_per_w", "CPU efficiency", "CPU\neffic.", (MBPS_PER_W,), of="cpu"),
    PowerColumn("cpu_power_ratio", "cpu_power_pct", "CPU share", "CPU\nshare", (PERCENT,), of="both"),
    _above_idle("idle_w", "idle_w", "Idle", "Idle", (W,), bound="idle_uncertainty_w"),
    _above_idle("dynamic_w", "dynamic_w", "Above idle", "Above\nidle", (W,), bound="dynamic_uncertainty_w"),
    _above_idle(
        "dynamic_w_per_bps",
        "dynamic_w_per_gbps",
        "Above idle per throughput",
        "Above\nidle\nper tput",
        W_PER_RATE,
        bound="dynamic_uncertainty_w_per_bps",
    ),
    PowerColumn("energy_j_per_bit", "energy_pj_per_bit", "Energy per bit", "Energy", (PJ_PER_BIT,)),
    _above_idle(
        "dynamic_energy_j_per_bit",
        "dynamic_energy_pj_per_bit",
        "Energy per bit above idle",
        "Energy\nabove\nidle",
        (PJ_PER_BIT,),
        bound="dynamic_uncertainty_w_per_bps",
    ),
)
"""Columns of the power table, left to right, behind the throughput."""


def export_power(summary: CaseSummary) -> dict[str, Any]:
    """The power of both ends as flat keys: which watts they are, and every column."""
    row: dict[str, Any] = {}
    for role in ENDS:
        power = summary.power(role)
        row[f"{role}_system_scope"] = None if power is None else power.system_scope
        row[f"{role}_cpu_scope"] = None if power is None else power.cpu_scope
        for column in POWER_COLUMNS:
            row |= column.export(role, power)
    return row


def power_reasons(summary: CaseSummary) -> dict[str, str]:
    """Why values are missing, by their key in JSON and CSV."""
    return {
        f"{role}_{column.key}": power.reasons[column.field]
        for role in ENDS
        if (power := summary.power(role)) is not None
        for column in POWER_COLUMNS
        if column.field in power.reasons
    }
