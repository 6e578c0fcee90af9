# SPDX-License-Identifier: Apache-2.0
"""The metrics of the power of one end of a case, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from linewatt import units
from linewatt.analysis.metrics import formulas
from linewatt.analysis.metrics.unit import PERCENT_1, Unit, fixed, same, significant
from linewatt.analysis.power import totals
from linewatt.analysis.statistics.stats import Quantity
from linewatt.findings import Figure
from linewatt.missing import Missing

Of = Literal["system", "cpu", "both"]


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


@dataclass(frozen=True, slots=True)
class PowerMetric:
    """One metric.

    ``key`` is its name in JSON and CSV behind ``receiver_`` or ``sender_``, ``of`` whose watts it is made of.
    ``title`` and ``heading`` (broken into lines) may hold ``{scope}``. Of several ``units``, the first is for
    JSON and CSV.
    """

    name: str
    read: Callable[[EndOfTrial], float | None]
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
    of_packets: bool = False
    """whether only what counts packets has it; documents of the first two sizes are without it"""
    rank: int = 0
    """of its column on a narrow terminal, as that of a :class:`linewatt.report.table.Head`"""
    quantity: Quantity = "positive"
    """which means are possible: watts above idle may be below 0"""
    bound: str = ""
    """one of ``BOUNDS``, which then stands behind it as ±"""

    def unit(self, values: Iterable[float], *, gbps: bool) -> Unit:
        """That of a table with these values, SI, whose throughput is in Gbps or in Mbps."""
        if self.units not in (PER_BIT, PER_PACKET):
            return self.units[0 if gbps else -1]
        smallest = min((abs(value) for value in values if value), default=0.0)
        return next((unit for unit in reversed(self.units) if unit.from_si(smallest) >= 1), self.units[0])


BOUNDS: dict[str, Callable[[EndOfTrial], float | None]] = {
    "idle_uncertainty_w": lambda end: end.of_system("idle_uncertainty_w"),
    "dynamic_uncertainty_w": lambda end: end.of_system("above_idle_uncertainty_w"),
    "dynamic_uncertainty_w_per_bps": lambda end: end.per_bps(end.of_system("above_idle_uncertainty_w")),
}
"""bounds of the errors of others; the last is that of both costs above idle, W per bit/s, which is J/bit"""

_above_idle = partial(PowerMetric, figure="above_idle", spread=False, quantity="signed")

W = Unit("W", same, fixed(1))
PLUS_MINUS_W = Unit("± W", same, fixed(1))
MBPS_PER_W = Unit("Mbps/W", units.mbps_from_bps, significant(5, 2))
W_PER_RATE = (
    Unit("W/Gbps", units.w_per_gbps, significant(4)),
    Unit("W/Mbps", units.w_per_mbps, significant(4)),
)
PER_PACKET = (
    Unit("nJ/packet", units.nj_from_j, significant(4, 1)),
    Unit("µJ/packet", units.uj_from_j, significant(4)),
)
PACKETS_PER_J = Unit("pkt/J", same, significant(4))
PER_BIT = (
    Unit("pJ/bit", units.pj_from_j, significant(4, 2)),
    Unit("nJ/bit", units.nj_from_j, significant(4)),
    Unit("µJ/bit", units.uj_from_j, significant(4)),
)
"""of these a table has whichever gives it readable numbers"""

POWER_METRICS: tuple[PowerMetric, ...] = (
    PowerMetric("system_w", lambda end: end.system_w, "system_w", "{scope}", "{scope}", (W,), show_sd=True),
    PowerMetric(
        "uncertainty_w",
        lambda end: end.of_system("uncertainty_w"),
        "system_uncertainty_w",
        "Bound of sensor error",
        "Sensor\nerror",
        (PLUS_MINUS_W,),
        spread=False,
    ),
    PowerMetric("cpu_w", lambda end: end.cpu_w, "cpu_w", "{scope}", "{scope}", (W,), of="cpu"),
    PowerMetric(
        "system_bps_per_w",
        lambda end: formulas.bps_per_w(end.throughput_bps, end.system_w),
        "system_mbps_per_w",
        "System efficiency",
        "System\neffic.",
        (MBPS_PER_W,),
    ),
    PowerMetric(
        "cpu_bps_per_w",
        lambda end: formulas.bps_per_w(end.throughput_bps, end.cpu_w),
        "cpu_mbps_per_w",
        "CPU efficiency",
        "CPU\neffic.",
        (MBPS_PER_W,),
        of="cpu",
    ),
    PowerMetric(
        "cpu_power_ratio",
        lambda end: formulas.cpu_power_ratio(end.cpu_w, end.system_w),
        "cpu_power_pct",
        "CPU share",
        "CPU\nshare",
        PERCENT_1,
        of="both",
    ),
    _above_idle(
        "idle_w",
        lambda end: end.of_system("idle_w"),
        "idle_w",
        "Idle",
        "Idle",
        (W,),
        bound="idle_uncertainty_w",
    ),
    _above_idle(
        "dynamic_w",
        lambda end: end.dynamic_w,
        "dynamic_w",
        "Above idle",
        "Above\nidle",
        (W,),
        bound="dynamic_uncertainty_w",
    ),
    _above_idle(
        "dynamic_w_per_bps",
        lambda end: end.per_bps(end.dynamic_w),
        "dynamic_w_per_gbps",
        "Above idle per throughput",
        "Above\nidle\nper tput",
        W_PER_RATE,
        bound="dynamic_uncertainty_w_per_bps",
    ),
    PowerMetric(
        "energy_j_per_bit",
        lambda end: formulas.energy_j_per_bit(end.system_w, end.throughput_bps),
        "energy_pj_per_bit",
        "Energy per bit",
        "Energy",
        PER_BIT,
    ),
    _above_idle(
        "dynamic_energy_j_per_bit",
        lambda end: end.per_bps(end.dynamic_w),
        "dynamic_energy_pj_per_bit",
        "Energy per bit above idle",
        "Energy\nabove\nidle",
        PER_BIT,
        bound="dynamic_uncertainty_w_per_bps",
    ),
    PowerMetric(
        "energy_j_per_packet",
        lambda end: formulas.energy_j_per_bit(end.system_w, end.packets_per_s),
        "energy_nj_per_packet",
        "Energy per packet",
        "Energy\nper\npacket",
        PER_PACKET,
        of_packets=True,
        rank=1,
    ),
    PowerMetric(
        "packets_per_j",
        lambda end: formulas.bps_per_w(end.packets_per_s, end.system_w),
        "packets_per_j",
        "Packets per energy",
        "Packets\nper\nenergy",
        (PACKETS_PER_J,),
        of_packets=True,
        rank=2,
    ),
)
"""In the order of the columns of the power table, behind the throughput"""

POWER_BY_NAME = {metric.name: metric for metric in POWER_METRICS}
