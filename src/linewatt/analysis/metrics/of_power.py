# SPDX-License-Identifier: Apache-2.0
"""The metrics of the power of one end of a case, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from linewatt import units
from linewatt.analysis.metrics import formulas
from linewatt.analysis.metrics.metric import Metric
from linewatt.analysis.metrics.unit import (
    MBPS_PER_W,
    PERCENT_1,
    Unit,
    fixed_decimals,
    significant_digits,
    unscaled,
)
from linewatt.analysis.power import totals
from linewatt.missing import Missing


@dataclass(frozen=True, slots=True)
class EndOfTrial:
    """One end of one trial: throughput and packets, and its totals or why there are none."""

    throughput_bps: float | None
    system: totals.Total | Missing
    cpu: totals.Total | Missing
    packets_per_s: float | None = None

    def of_system(self, name: str) -> float | None:
        """A field of the system's total; ``None`` where it is not known."""
        value: float | None = getattr(self.system, name, None)
        return value

    @property
    def system_w(self) -> float | None:
        return self.of_system("power_w")

    @property
    def cpu_w(self) -> float | None:
        value: float | None = getattr(self.cpu, "power_w", None)
        return value

    @property
    def dynamic_w(self) -> float | None:
        """Power above idle, 0 or less included: to leave such trials out would make the mean too large."""
        return self.of_system("above_idle_w")

    def per_bps(self, power_w: float | None) -> float | None:
        """A cost that may be 0 or less; None where nothing arrived."""
        return power_w / self.throughput_bps if power_w is not None and self.throughput_bps else None


PowerMetric = Metric[EndOfTrial, float | None]
"""``None``: the totals have the reason"""

BOUNDS: dict[str, Callable[[EndOfTrial], float | None]] = {
    "idle_uncertainty_w": lambda end: end.of_system("idle_uncertainty_w"),
    "dynamic_uncertainty_w": lambda end: end.of_system("above_idle_uncertainty_w"),
    "dynamic_uncertainty_w_per_bps": lambda end: end.per_bps(end.of_system("above_idle_uncertainty_w")),
}
"""error bounds of other metrics; the last is for both costs above idle (W per bit/s is J/bit)"""

_of_power = partial(PowerMetric, figure="power", watts="system")
_above_idle = partial(PowerMetric, figure="above_idle", watts="system", spread=False, quantity="signed")
"""watts above idle may be below 0"""

W = Unit("W", unscaled, fixed_decimals(1))
PLUS_MINUS_W = Unit("± W", unscaled, fixed_decimals(1))
W_PER_RATE = (
    Unit("W/Gbps", units.w_per_gbps, significant_digits(4)),
    Unit("W/Mbps", units.w_per_mbps, significant_digits(4)),
)
PER_PACKET = (
    Unit("nJ/packet", units.nj_from_j, significant_digits(4, 1)),
    Unit("µJ/packet", units.uj_from_j, significant_digits(4)),
)
PACKETS_PER_J = Unit("pkt/J", unscaled, significant_digits(4))
PER_BIT = (
    Unit("pJ/bit", units.pj_from_j, significant_digits(4, 2)),
    Unit("nJ/bit", units.nj_from_j, significant_digits(4)),
    Unit("µJ/bit", units.uj_from_j, significant_digits(4)),
)
"""a table uses the unit that gives readable numbers"""

POWER_METRICS: tuple[PowerMetric, ...] = (
    _of_power("system_w", "{scope}", "{scope}", (W,), lambda end: end.system_w, show_sd=True),
    _of_power(
        "uncertainty_w",
        "Bound of sensor error",
        "Sensor\nerror",
        (PLUS_MINUS_W,),
        lambda end: end.of_system("uncertainty_w"),
        key="system_uncertainty_w",
        spread=False,
    ),
    _of_power("cpu_w", "{scope}", "{scope}", (W,), lambda end: end.cpu_w, watts="cpu"),
    _of_power(
        "system_bps_per_w",
        "System efficiency",
        "System\neffic.",
        (MBPS_PER_W,),
        lambda end: formulas.bps_per_w(end.throughput_bps, end.system_w),
        key="system_mbps_per_w",
    ),
    _of_power(
        "cpu_bps_per_w",
        "CPU efficiency",
        "CPU\neffic.",
        (MBPS_PER_W,),
        lambda end: formulas.bps_per_w(end.throughput_bps, end.cpu_w),
        key="cpu_mbps_per_w",
        watts="cpu",
    ),
    _of_power(
        "cpu_power_ratio",
        "CPU share",
        "CPU\nshare",
        PERCENT_1,
        lambda end: formulas.cpu_power_ratio(end.cpu_w, end.system_w),
        key="cpu_power_pct",
        watts="both",
    ),
    _above_idle(
        "idle_w",
        "Idle",
        "Idle",
        (W,),
        lambda end: end.of_system("idle_w"),
        bound="idle_uncertainty_w",
    ),
    _above_idle(
        "dynamic_w",
        "Above idle",
        "Above\nidle",
        (W,),
        lambda end: end.dynamic_w,
        bound="dynamic_uncertainty_w",
    ),
    _above_idle(
        "dynamic_w_per_bps",
        "Above idle per throughput",
        "Above\nidle\nper tput",
        W_PER_RATE,
        lambda end: end.per_bps(end.dynamic_w),
        key="dynamic_w_per_gbps",
        bound="dynamic_uncertainty_w_per_bps",
    ),
    _of_power(
        "energy_j_per_bit",
        "Energy per bit",
        "Energy",
        PER_BIT,
        lambda end: formulas.energy_j_per_bit(end.system_w, end.throughput_bps),
        key="energy_pj_per_bit",
    ),
    _above_idle(
        "dynamic_energy_j_per_bit",
        "Energy per bit above idle",
        "Energy\nabove\nidle",
        PER_BIT,
        lambda end: end.per_bps(end.dynamic_w),
        key="dynamic_energy_pj_per_bit",
        bound="dynamic_uncertainty_w_per_bps",
    ),
    _of_power(
        "energy_j_per_packet",
        "Energy per packet",
        "Energy\nper\npacket",
        PER_PACKET,
        lambda end: formulas.energy_j_per_bit(end.system_w, end.packets_per_s),
        key="energy_nj_per_packet",
        only_recorded=True,
        rank=1,
    ),
    _of_power(
        "packets_per_j",
        "Packets per energy",
        "Packets\nper\nenergy",
        (PACKETS_PER_J,),
        lambda end: formulas.bps_per_w(end.packets_per_s, end.system_w),
        only_recorded=True,
        rank=2,
    ),
)
"""In the order of the columns of the power table, after the throughput"""

POWER_BY_NAME = {metric.name: metric for metric in POWER_METRICS}


def power_unit(metric: PowerMetric, values: Iterable[float], *, gbps: bool) -> Unit:
    """That of a table with these values, SI, whose throughput is in Gbps or in Mbps."""
    if metric.units not in (PER_BIT, PER_PACKET):
        return metric.units[0 if gbps else -1]
    smallest = min((abs(value) for value in values if value), default=0.0)
    return next((unit for unit in reversed(metric.units) if unit.from_si(smallest) >= 1), metric.units[0])


def power_title(metric: PowerMetric) -> str:
    """Its title where no table says which scope its watts are of."""
    return metric.title.format(scope="CPU power" if metric.watts == "cpu" else "System power")
