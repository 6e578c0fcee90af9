# SPDX-License-Identifier: Apache-2.0
"""The columns that ``derive`` can add, as data: those of docs/metrics.md, each in the unit of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from linewatt import units
from linewatt.analysis.metrics import formulas

Readings = Mapping[str, float]
"""SI values of one row by quantity; a quantity that could not be read is not in it."""


def _same(value: float) -> float:
    return value


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """One column that ``derive`` adds: the quantities it needs, the formula that takes them, and its unit.

    A ``per_mbps`` column is for rows whose own unit of rate is Mbit/s and stays empty in the others.
    """

    name: str
    needs: tuple[str, ...]
    formula: Callable[..., float | None]
    from_si: Callable[[float], float] = _same
    per_mbps: bool = False

    @property
    def made_from(self) -> frozenset[str]:
        """The quantities that the table itself must give, those of a reference row included."""
        return frozenset(q for need in self.needs for q in MADE_FROM.get(need, (need,)))

    def compute(self, read: Readings) -> float | None:
        """The value of a row that has all it needs, in the unit of the name."""
        value = self.formula(*(read[name] for name in self.needs))
        return None if value is None else self.from_si(value)


def _at_3ghz(bps: float, cores: float, base_hz: float) -> float | None:
    return formulas.at_3ghz(formulas.efficiency_bps_per_core(bps, cores), base_hz)


def _scaling(bps: float, cores: float, single: float) -> float | None:
    return formulas.scaling_factor(formulas.efficiency_bps_per_core(bps, cores), single)


def _throughput_scaling(bps: float, instances: float, single_bps: float) -> float | None:
    return formulas.throughput_scaling(bps, single_bps, int(instances))


def _dynamic_j_per_bit(power_w: float, idle_w: float, bps: float) -> float | None:
    return formulas.energy_j_per_bit(formulas.dynamic_w(power_w, idle_w), bps)


_RATE = "throughput_bps"
_EFFICIENCY = (_RATE, "efficiency_cores")
_DYNAMIC = ("power_w", "idle_w", _RATE)
_per_core, _cost, _mbps = formulas.efficiency_bps_per_core, formulas.cpu_cores_per_bps, units.mbps_from_bps
COLUMNS: tuple[DerivedColumn, ...] = (
    DerivedColumn("cpu_used_pct", ("used_cores",), _same, units.percent_from_cores),
    DerivedColumn("mbps_per_core", _EFFICIENCY, _per_core, _mbps),
    DerivedColumn("mbps_per_core_3ghz", (*_EFFICIENCY, "base_frequency_hz"), _at_3ghz, _mbps),
    DerivedColumn("mbps_per_core_local", (_RATE, "local_cores"), _per_core, _mbps),
    DerivedColumn("scaling_factor", (*_EFFICIENCY, "single_efficiency_bps_per_core"), _scaling),
    DerivedColumn("throughput_scaling", (_RATE, "instances", "single_throughput_bps"), _throughput_scaling),
    DerivedColumn("cpu_pct_per_gbps", ("cost_cores", _RATE), _cost, units.percent_per_gbps),
    DerivedColumn("cpu_pct_per_mbps", ("cost_cores", _RATE), _cost, units.percent_per_mbps, per_mbps=True),
    DerivedColumn("system_mbps_per_w", (_RATE, "system_w"), formulas.bps_per_w, _mbps),
    DerivedColumn("cpu_mbps_per_w", (_RATE, "cpu_w"), formulas.bps_per_w, _mbps),
    DerivedColumn("cpu_power_pct", ("cpu_w", "system_w"), formulas.cpu_power_ratio, units.percent_from_ratio),
    DerivedColumn("dynamic_w_per_gbps", _DYNAMIC, _dynamic_j_per_bit, units.w_per_gbps),
    DerivedColumn("dynamic_w_per_mbps", _DYNAMIC, _dynamic_j_per_bit, units.w_per_mbps, per_mbps=True),
    DerivedColumn("energy_pj_per_bit", ("power_w", _RATE), formulas.energy_j_per_bit, units.pj_from_j),
    DerivedColumn("dynamic_energy_pj_per_bit", _DYNAMIC, _dynamic_j_per_bit, units.pj_from_j),
)
"""Every column that ``derive`` adds, in the order it adds them."""

MADE_FROM: Mapping[str, tuple[str, ...]] = {
    "single_throughput_bps": ("instances", "throughput_bps"),
    "single_efficiency_bps_per_core": ("instances", "throughput_bps", "efficiency_cores"),
}
"""Quantities of a row's reference, and what they are made from."""
