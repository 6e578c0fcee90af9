# SPDX-License-Identifier: Apache-2.0
"""The columns of the scalability table, declared once for terminal, HTML, CSV and JSON alike.

Values are SI under keys that name their unit; a :class:`Unit` turns them into what people read. A column
picks one unit for a whole table, so that rows compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from linewatt import units
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.statistics.stats import Estimate
from linewatt.findings import Figure
from linewatt.model import Role

Value = Estimate | float | int | None
Loads = Literal["all", "tcp", "udp"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit people read: its name, the way there from SI, and how its numbers are written."""

    name: str
    from_si: Callable[[float], float]
    text: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell says: text and SD without unit, ``note`` when fewer trials have it than the case has.

    A missing value has ``text`` ``–`` and says why in ``reason``. A number that was not measured has a
    ``mark`` that says so (:mod:`linewatt.report.provenance`).
    """

    text: str
    sd: str | None = None
    note: str | None = None
    reason: str | None = None
    mark: str | None = None
    doubts: tuple[str, ...] = ()
    """letters of the findings that make it doubtful"""

    @property
    def missing(self) -> bool:
        return self.text == units.MISSING


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
        value: Value = getattr(summary, self.field)
        return value

    def applies(self, summaries: Sequence[CaseSummary]) -> bool:
        """Whether the column means anything for these cases."""
        tests = {summary.case.test for summary in summaries}
        if self.trivial and all(summary.case.instances == 1 for summary in summaries):
            return False
        return self.loads == "all" or any((test == "tcp") == (self.loads == "tcp") for test in tests)

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

    def export(self, summary: CaseSummary) -> dict[str, Any]:
        """Keys and values for JSON and CSV, SI; missing is ``None``."""
        value = self.value(summary)
        if not self.estimate:
            return {self.key: value}
        estimate = value if isinstance(value, Estimate) else None
        found = {
            self.json_key: estimate and estimate.mean,
            f"{self.key}_sd": estimate and estimate.sd,
            f"{self.key}_n": estimate.n if estimate else 0,
        }
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
        return Cell(unit.text(unit.from_si(value)), mark=mark)
    text = unit.text(unit.from_si(value.mean))
    sd = None if value.sd is None else _like(text, unit.from_si(value.sd))
    return Cell(text, sd, f"n={value.n}" if value.n < trials_done else None, mark=mark)


def _like(text: str, value: float) -> str:
    """``value`` with as many decimals as ``text`` has."""
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f}"


def significant(digits: int, most: int = 3) -> Callable[[float], str]:
    """Numbers with ``digits`` significant digits, but at most ``most`` decimals."""

    def text(value: float) -> str:
        plain = units.format_significant(value, digits)
        decimals = min(most, len(plain.partition(".")[2]))
        return f"{value:,.{decimals}f}"

    return text


def _loss(percent: float) -> str:
    """Loss in percent: a small loss never looks like none."""
    if percent == 0:
        return "0"
    return "<0.0001" if percent < 0.0001 else significant(3, 4)(percent)


def _signed(percent: float) -> str:
    """A deviation in percent with its sign, ``+0.1``, ``−3.2``; none where it rounds to nothing."""
    return f"{percent:+.1f}".replace("-", "−") if abs(percent) >= 0.05 else "0.0"


def fixed(decimals: int) -> Callable[[float], str]:
    """Numbers with so many decimals."""
    return lambda value: f"{value:,.{decimals}f}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:,.1f}"


def _same(value: float) -> float:
    return value


GBPS = Unit("Gbps", units.gbps_from_bps, significant(4))
MBPS = Unit("Mbps", units.mbps_from_bps, significant(4))
RATE = (GBPS, MBPS)
PERCENT = Unit("%", units.percent_from_ratio, _loss)
CPU_PERCENT = Unit("%", units.percent_from_cores, fixed(1))
MBPS_PER_CORE = Unit("Mbps/core", units.mbps_from_bps, significant(4, 2))
PER_CORE = (MBPS_PER_CORE,)
PER_GBPS = Unit("% per Gbps", units.percent_per_gbps, significant(3))
PER_MBPS = Unit("% per Mbps", units.percent_per_mbps, significant(3))
RATIO = (Unit("", _same, fixed(2)),)
COUNT = (Unit("", _same, _count),)

COLUMNS: tuple[Column, ...] = (
    Column(
        "throughput_bps",
        "throughput_bps",
        "Throughput",
        "Throughput",
        RATE,
        figure="throughput",
        show_sd=True,
        show_ci=True,
    ),
    Column(
        "line_rate_ratio",
        "line_rate_ratio",
        "Part of the line's goodput",
        "Of line\nrate",
        (Unit("%", units.percent_from_ratio, fixed(1)),),
        figure="throughput",
        remark="throughput ÷ the most payload that fits between the headers of the line (docs/networks.md)",
    ),
    Column("offered_bps", "offered_bps", "Offered", "Offered", RATE, loads="udp", figure="throughput"),
    Column("lost_ratio", "lost_ratio", "Loss", "Loss", (PERCENT,), loads="udp", figure="throughput"),
    Column(
        "packets_per_s",
        "packets_per_s",
        "Received packets",
        "Received",
        (Unit("packets/s", _same, _count),),
        figure="throughput",
        loads="udp",
    ),
    Column(
        "receiver_cpu_cores",
        "receiver_cpu_cores",
        "CPU receiver (remote)",
        "CPU\nreceiver\n(remote)",
        (CPU_PERCENT,),
        figure="cpu",
        role="receiver",
    ),
    Column(
        "sender_cpu_cores",
        "sender_cpu_cores",
        "CPU sender (local)",
        "CPU\nsender\n(local)",
        (CPU_PERCENT,),
        figure="cpu",
        role="sender",
    ),
    Column(
        "efficiency_receiver_bps_per_core",
        "efficiency_receiver_bps_per_core",
        "Efficiency receiver (remote)",
        "Effic.\nreceiver",
        PER_CORE,
        figure="cpu",
        role="receiver",
        show_ci=True,
    ),
    Column(
        "efficiency_sender_bps_per_core",
        "efficiency_sender_bps_per_core",
        "Efficiency sender (local)",
        "Effic.\nsender",
        PER_CORE,
        figure="cpu",
        role="sender",
        show_ci=True,
    ),
    Column(
        "efficiency_at_3ghz_bps_per_core",
        "efficiency_at_3ghz_bps_per_core",
        "Efficiency receiver at 3 GHz (rough)",
        "At 3 GHz\n(rough)",
        PER_CORE,
        figure="cpu",
        role="receiver",
        remark="efficiency × 3 GHz ÷ base frequency: only for rough comparison across CPUs",
    ),
    Column(
        "scaling_factor",
        "scaling_factor_ratio",
        "Scaling factor",
        "Scaling\nfactor",
        RATIO,
        figure="cpu",
        role="receiver",
        estimate=False,
        trivial=True,
    ),
    Column(
        "throughput_scaling",
        "throughput_scaling_ratio",
        "Throughput scaling",
        "Tput\nscaling",
        RATIO,
        figure="throughput",
        estimate=False,
        trivial=True,
    ),
    Column(
        "receiver_cpu_cores_per_bps",
        "receiver_cpu_cores_per_bps",
        "CPU per throughput, receiver",
        "CPU /\ntput",
        (PER_GBPS, PER_MBPS),
        figure="cpu",
        role="receiver",
    ),
    Column(
        "retransmits", "retransmits_per_trial", "Retransmits a trial", "Retrans-\nmits", COUNT, loads="tcp"
    ),
)
"""Columns of the scalability table, left to right, between instances and trials."""

TARGET = Column("target_bps", "target_bps", "Target", "Target", RATE)
OFF_TARGET = Column(
    "target_deviation_ratio",
    "target_deviation_ratio",
    "Off target",
    "Off\ntarget",
    (Unit("%", units.percent_from_ratio, _signed),),
)
"""Both for load levels only."""

MORE_COLUMNS: tuple[Column, ...] = (
    TARGET,
    OFF_TARGET,
    Column(
        "sender_cpu_cores_per_bps",
        "sender_cpu_cores_per_bps",
        "CPU per throughput, sender",
        "CPU /\ntput",
        (PER_GBPS, PER_MBPS),
    ),
    Column(
        "out_of_order_packets",
        "out_of_order_packets_per_trial",
        "Out of order a trial",
        "Out of\norder",
        COUNT,
        loads="udp",
    ),
)
"""Columns that JSON and CSV have beyond those of the table."""

SHARES = ("usr", "sys", "irq", "soft", "idle", "other")
ROLES = (
    ("receiver_app", "Receiver: app CPU"),
    ("receiver_irq", "Receiver: IRQ CPU"),
    ("sender_app", "Sender: app CPU"),
    ("sender_irq", "Sender: IRQ CPU"),
)
