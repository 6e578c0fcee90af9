# SPDX-License-Identifier: Apache-2.0
"""Units in which people read metrics: the way there from SI, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linewatt import units


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit people read: its name, the way there from SI, and how its numbers are written."""

    name: str
    from_si: Callable[[float], float]
    text: Callable[[float], str]


def significant_digits(digits: int, max_decimals: int = 3) -> Callable[[float], str]:
    """Numbers with ``digits`` significant digits, but at most ``max_decimals`` decimals."""

    def text(value: float) -> str:
        plain = units.format_significant(value, digits)
        decimals = min(max_decimals, len(plain.partition(".")[2]))
        return f"{value:,.{decimals}f}"

    return text


def loss(percent: float) -> str:
    """Loss in percent: a small loss never looks like none."""
    if percent == 0:
        return "0"
    return "<0.0001" if percent < 0.0001 else significant_digits(3, 4)(percent)


def signed(percent: float) -> str:
    """A deviation in percent with its sign, ``+0.1``, ``−3.2``; none where it rounds to nothing."""
    return f"{percent:+.1f}".replace("-", "−") if abs(percent) >= 0.05 else "0.0"


def fixed_decimals(decimals: int) -> Callable[[float], str]:
    """Numbers with so many decimals."""
    return lambda value: f"{value:,.{decimals}f}"


def count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:,.1f}"


def unscaled(value: float) -> float:
    return value


GBPS = Unit("Gbps", units.gbps_from_bps, significant_digits(4))
MBPS = Unit("Mbps", units.mbps_from_bps, significant_digits(4))
RATE = (GBPS, MBPS)
PERCENT = Unit("%", units.percent_from_ratio, loss)
CPU_PERCENT = Unit("%", units.percent_from_cores, fixed_decimals(1))
MBPS_PER_CORE = Unit("Mbps/core", units.mbps_from_bps, significant_digits(4, 2))
PER_CORE = (MBPS_PER_CORE,)
MBPS_PER_W = Unit("Mbps/W", units.mbps_from_bps, significant_digits(5, 2))
BITS_PER_CYCLE = Unit("bit/cycle", unscaled, significant_digits(4))
PER_GBPS = Unit("% per Gbps", units.percent_per_gbps, significant_digits(3))
PER_MBPS = Unit("% per Mbps", units.percent_per_mbps, significant_digits(3))
RATIO = (Unit("", unscaled, fixed_decimals(2)),)
COUNT = (Unit("", unscaled, count),)
COST = (PER_GBPS, PER_MBPS)
MPPS = Unit("Mpps", units.mpps_from_pps, significant_digits(4))
PACKETS_PER_CORE = (
    Unit("Mpps/core", units.mpps_from_pps, significant_digits(4)),
    Unit("kpps/core", units.kpps_from_pps, significant_digits(4)),
)
KPPS = Unit("kpps", units.kpps_from_pps, significant_digits(4))
PACKETS = (Unit("packets/s", unscaled, count),)
PER_S = Unit("per s", unscaled, count)
LATENCY = (Unit("µs", units.us_from_s, significant_digits(3)),)
PERCENT_1 = (Unit("%", units.percent_from_ratio, fixed_decimals(1)),)
OFF = (Unit("%", units.percent_from_ratio, signed),)
