# SPDX-License-Identifier: Apache-2.0
"""The columns that ``derive`` can add, as data: those of docs/metrics.md, each in the unit of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from linewatt import units
from linewatt.analysis.metrics import formulas

Readings = Mapping[str, float]
"""SI values of one row by quantity; a quantity that could not be read is not in it."""


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """One column that ``derive`` adds: the quantities it needs, and its value in the unit of its name.

    A ``per_mbps`` column is for rows whose own unit of rate is Mbit/s and stays empty in the others.
    """

    name: str
    needs: tuple[str, ...]
    compute: Callable[[Readings], float | None]
    per_mbps: bool = False

    @property
    def made_from(self) -> frozenset[str]:
        """The quantities that the table itself must give, those of a reference row included."""
        return frozenset(q for need in self.needs for q in MADE_FROM.get(need, (need,)))


def _in(convert: Callable[[float], float], value: float | None) -> float | None:
    return None if value is None else convert(value)


def _efficiency(r: Readings) -> float | None:
    return formulas.efficiency_bps_per_core(r["throughput_bps"], r["efficiency_cores"])


def _dynamic_w(r: Readings) -> float | None:
    return formulas.dynamic_w(r["power_w"], r["idle_w"])


def _cost(r: Readings) -> float | None:
    return formulas.cpu_cores_per_bps(r["cost_cores"], r["throughput_bps"])


def _dynamic_j_per_bit(r: Readings) -> float | None:
    return formulas.energy_j_per_bit(_dynamic_w(r), r["throughput_bps"])


COLUMNS: tuple[DerivedColumn, ...] = (
    DerivedColumn("cpu_used_pct", ("used_cores",), lambda r: units.percent_from_cores(r["used_cores"])),
    DerivedColumn(
        "mbps_per_core",
        ("throughput_bps", "efficiency_cores"),
        lambda r: _in(units.mbps_from_bps, _efficiency(r)),
    ),
    DerivedColumn(
        "mbps_per_core_3ghz",
        ("throughput_bps", "efficiency_cores", "base_frequency_hz"),
        lambda r: _in(units.mbps_from_bps, formulas.at_3ghz(_efficiency(r), r["base_frequency_hz"])),
    ),
    DerivedColumn(
        "mbps_per_core_local",
        ("throughput_bps", "local_cores"),
        lambda r: _in(
            units.mbps_from_bps, formulas.efficiency_bps_per_core(r["throughput_bps"], r["local_cores"])
        ),
    ),
    DerivedColumn(
        "scaling_factor",
        ("throughput_bps", "efficiency_cores", "single_efficiency_bps_per_core"),
        lambda r: formulas.scaling_factor(_efficiency(r), r["single_efficiency_bps_per_core"]),
    ),
    DerivedColumn(
        "throughput_scaling",
        ("throughput_bps", "instances", "single_throughput_bps"),
        lambda r: formulas.throughput_scaling(
            r["throughput_bps"], r["single_throughput_bps"], int(r["instances"])
        ),
    ),
    DerivedColumn(
        "cpu_pct_per_gbps",
        ("cost_cores", "throughput_bps"),
        lambda r: _in(units.percent_per_gbps, _cost(r)),
    ),
    DerivedColumn(
        "cpu_pct_per_mbps",
        ("cost_cores", "throughput_bps"),
        lambda r: _in(units.percent_per_mbps, _cost(r)),
        per_mbps=True,
    ),
    DerivedColumn(
        "system_mbps_per_w",
        ("throughput_bps", "system_w"),
        lambda r: _in(units.mbps_from_bps, formulas.bps_per_w(r["throughput_bps"], r["system_w"])),
    ),
    DerivedColumn(
        "cpu_mbps_per_w",
        ("throughput_bps", "cpu_w"),
        lambda r: _in(units.mbps_from_bps, formulas.bps_per_w(r["throughput_bps"], r["cpu_w"])),
    ),
    DerivedColumn(
        "cpu_power_pct",
        ("cpu_w", "system_w"),
        lambda r: _in(units.percent_from_ratio, formulas.cpu_power_ratio(r["cpu_w"], r["system_w"])),
    ),
    DerivedColumn(
        "dynamic_w_per_gbps",
        ("power_w", "idle_w", "throughput_bps"),
        lambda r: _in(units.w_per_gbps, _dynamic_j_per_bit(r)),
    ),
    DerivedColumn(
        "dynamic_w_per_mbps",
        ("power_w", "idle_w", "throughput_bps"),
        lambda r: _in(units.w_per_mbps, _dynamic_j_per_bit(r)),
        per_mbps=True,
    ),
    DerivedColumn(
        "energy_pj_per_bit",
        ("power_w", "throughput_bps"),
        lambda r: _in(units.pj_from_j, formulas.energy_j_per_bit(r["power_w"], r["throughput_bps"])),
    ),
    DerivedColumn(
        "dynamic_energy_pj_per_bit",
        ("power_w", "idle_w", "throughput_bps"),
        lambda r: _in(units.pj_from_j, _dynamic_j_per_bit(r)),
    ),
)
"""Every column that ``derive`` adds, in the order it adds them."""

MADE_FROM: Mapping[str, tuple[str, ...]] = {
    "single_throughput_bps": ("instances", "throughput_bps"),
    "single_efficiency_bps_per_core": ("instances", "throughput_bps", "efficiency_cores"),
}
"""Quantities of a row's reference, and what they are made from."""
