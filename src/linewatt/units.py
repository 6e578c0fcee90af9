# SPDX-License-Identifier: Apache-2.0
"""Units at the edge: what users read and write, to and from the SI values inside.

Inside the house a rate is bit/s, CPU used is cores, power is W, energy is J, a share is a ratio 0..1.
Users read Mbps, Gbps, %, pJ/bit. The conversion happens here and nowhere else. All rate prefixes are
decimal (1 Gbps is 10⁹ bit/s), as load generators, link speeds and docs/metrics.md have them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Final

from linewatt.errors import InvalidInput

BPS_PER_KBPS: Final = 1e3
BPS_PER_MBPS: Final = 1e6
BPS_PER_GBPS: Final = 1e9
HZ_PER_GHZ: Final = 1e9
PJ_PER_J: Final = 1e12
PERCENT: Final = 100.0

REFERENCE_FREQUENCY_HZ: Final = 3e9
"""Base frequency that ``efficiency at 3 GHz`` refers to (docs/metrics.md)."""

MISSING: Final = "–"
"""What a person sees where a number is missing."""

_PREFIXES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNBROKEN: Final = re.compile(r"(?<=[0-9±≥≤<]) (?=\S)| (?=→)|(?<=→) |(?<=\([a-z]\)) ")
NO_BREAK: Final = "\u00a0"
_UNIT = re.compile(r"([kmgt]?)(?:bps|b/s|bits?/s|bits?/sec|bits?ps|bits?/second|bits?)?", re.IGNORECASE)
_BYTES = re.compile(r"B(?!it|IT)")
_WIDE: Final = Context(prec=400)
"""digits enough for any float without its exponent"""
_RATE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,3}))?\s*([A-Za-z/]*)")


def mbps_from_bps(rate_bps: float) -> float:
    """Mbit/s of a rate in bit/s."""
    return rate_bps / BPS_PER_MBPS


def bps_from_mbps(rate_mbps: float) -> float:
    """Bit/s of a rate in Mbit/s."""
    return rate_mbps * BPS_PER_MBPS


def gbps_from_bps(rate_bps: float) -> float:
    """Gbit/s of a rate in bit/s."""
    return rate_bps / BPS_PER_GBPS


def bps_from_gbps(rate_gbps: float) -> float:
    """Bit/s of a rate in Gbit/s."""
    return rate_gbps * BPS_PER_GBPS


def kpps_from_pps(rate_pps: float) -> float:
    """Thousands of packets a second."""
    return rate_pps / 1e3


def mpps_from_pps(rate_pps: float) -> float:
    """Millions of packets a second."""
    return rate_pps / 1e6


def percent_from_ratio(ratio: float) -> float:
    """Percent of a ratio 0..1."""
    return ratio * PERCENT


def ratio_from_percent(percent: float) -> float:
    """Ratio 0..1 of a percentage."""
    return percent / PERCENT


def percent_from_cores(cores: float) -> float:
    """CPU % as the field writes it (one full core is 100 %) of CPU used in cores."""
    return cores * PERCENT


def cores_from_percent(percent: float) -> float:
    """CPU used in cores of CPU % (one full core is 100 %)."""
    return percent / PERCENT


def ghz_from_hz(frequency_hz: float) -> float:
    """GHz of a frequency in Hz."""
    return frequency_hz / HZ_PER_GHZ


def hz_from_ghz(frequency_ghz: float) -> float:
    """Hz of a frequency in GHz."""
    return frequency_ghz * HZ_PER_GHZ


def percent_per_gbps(cores_per_bps: float) -> float:
    """CPU % per Gbit/s of CPU per throughput in cores per bit/s."""
    return cores_per_bps * (PERCENT * BPS_PER_GBPS)


def percent_per_mbps(cores_per_bps: float) -> float:
    """CPU % per Mbit/s of CPU per throughput in cores per bit/s."""
    return cores_per_bps * (PERCENT * BPS_PER_MBPS)


def w_per_gbps(energy_j_per_bit: float) -> float:
    """W per Gbit/s of an energy in J/bit (which is W per bit/s)."""
    return energy_j_per_bit * BPS_PER_GBPS


def w_per_mbps(energy_j_per_bit: float) -> float:
    """W per Mbit/s of an energy in J/bit (which is W per bit/s)."""
    return energy_j_per_bit * BPS_PER_MBPS


def ms_from_s(time_s: float) -> float:
    """Milliseconds of a time in seconds."""
    return time_s * 1e3


def us_from_s(time_s: float) -> float:
    """Microseconds of a time in seconds."""
    return time_s * 1e6


def pj_from_j(energy_j: float) -> float:
    """Picojoule of an energy in joule."""
    return energy_j * PJ_PER_J


def nj_from_j(energy_j: float) -> float:
    """Nanojoule of an energy in joule."""
    return energy_j * 1e9


def uj_from_j(energy_j: float) -> float:
    """Microjoule of an energy in joule."""
    return energy_j * 1e6


def rate_unit_bps(unit: str) -> float | None:
    """Bit/s in one ``unit`` of rate, such as ``Gbps``, ``Mbit/s`` or ``Mbits/sec``.

    ``None`` for anything else, also for bytes (``MB/s``) and for ``MBPS``, which may mean either.
    """
    text = unit.strip()
    matched = _UNIT.fullmatch(text)
    if matched is None or text.lower() in _PREFIXES or _BYTES.search(text):
        return None
    return float(_PREFIXES[matched[1].lower()])


def parse_rate(text: str) -> float:
    """Bit/s of a rate as people write it: ``3.5G``, ``100M``, ``94.2 Gbps``, ``940 Mbit/s``, ``1e9``.

    Equal rates written differently (``94.2G``, ``94200M``) give the same float. Raises InvalidInput when
    the text is no positive rate, or is in bytes.
    """
    matched = _RATE.fullmatch(text.strip())
    unit = matched and _UNIT.fullmatch(matched[3])
    if not matched or not unit or _BYTES.search(matched[3]):
        raise InvalidInput(f"{text!r} is not a rate: write bits per second such as 3.5G, 100M or 940 Mbit/s")
    try:
        number = Decimal(matched[1]).scaleb(int(matched[2] or 0)) * _PREFIXES[unit[1].lower()]
        rate_bps = float(number)
    except (InvalidOperation, OverflowError):
        rate_bps = math.inf
    if not 0 < rate_bps < math.inf:
        raise InvalidInput(f"{text!r} is not a usable rate: it must be greater than 0 and finite")
    return rate_bps


def format_rate(rate_bps: float | None, digits: int = 3) -> str:
    """A rate for people, with ``digits`` significant digits: ``94.2 Gbps``, ``169 Mbps``."""
    if rate_bps is None or not math.isfinite(rate_bps):
        return MISSING
    for scale, unit in ((BPS_PER_GBPS, "Gbps"), (BPS_PER_MBPS, "Mbps"), (BPS_PER_KBPS, "kbps")):
        # 999.96 Mbps must not be shown as 1000 Mbps
        if abs(float(f"{rate_bps:.{digits - 1}e}")) >= scale:
            return f"{format_significant(rate_bps / scale, digits)} {unit}"
    return f"{format_significant(rate_bps, digits)} bit/s"


def format_rates(rates_bps: Sequence[float], digits: int = 4) -> str:
    """Rates in the unit and with the decimals of the largest: ``2.380, 2.402, 2.951 Gbps``."""
    largest, unit = format_rate(max(rates_bps), digits).rsplit(" ", 1)
    scale = {"Gbps": BPS_PER_GBPS, "Mbps": BPS_PER_MBPS, "kbps": BPS_PER_KBPS}.get(unit, 1)
    decimals = len(largest.partition(".")[2])
    return f"{', '.join(f'{rate / scale:,.{decimals}f}' for rate in rates_bps)} {unit}"


def format_packets(rate_pps: float) -> str:
    """Packets a second for people: ``1.49 Mpps``, ``14.9 kpps``, ``149 packets/s``."""
    for convert, unit in ((mpps_from_pps, "Mpps"), (kpps_from_pps, "kpps")):
        if abs(convert(float(f"{rate_pps:.2e}"))) >= 1:
            return f"{format_significant(convert(rate_pps))} {unit}"
    return f"{format_significant(rate_pps)} packets/s"


def format_given_rate(rate_bps: float) -> str:
    """A rate that was asked for, as people read it, with digits enough to be no other rate's words."""
    names = (format_rate(rate_bps, digits) for digits in range(3, 17))
    return next((name for name in names if parse_rate(name) == rate_bps), f"{rate_bps!r} bit/s")


def format_significant(value: float | None, digits: int = 3) -> str:
    """A number with ``digits`` significant digits and never an exponent; whole digits are never cut."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{decimals}f}"


def format_cut(value: float | None, decimals: int) -> str:
    """A number with ``decimals`` decimals, further ones cut, not rounded, as studies of hosts print them.

    Digits beyond the 12th are noise of binary fractions: 0.3 is never cut to 0.299.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    exact = Decimal(f"{value:.12g}")
    step = Decimal(1).scaleb(-decimals)
    # + 0 makes no number of a negative zero
    return f"{exact.quantize(step, ROUND_DOWN, _WIDE) + 0:,f}"


def format_percent(ratio: float | None, decimals: int = 1) -> str:
    """A ratio 0..1 as percent for people: ``12.5 %``."""
    percent = None if ratio is None else percent_from_ratio(ratio)
    if percent is None or not math.isfinite(percent):
        return MISSING
    return f"{percent:.{decimals}f} %"


def format_change(ratio: float, decimals: int = 1) -> str:
    """A ratio as percent with its sign, for people: ``+12.5 %``, ``−3.0 %``."""
    return f"{percent_from_ratio(ratio):+.{decimals}f} %".replace("-", "−")


def format_seconds(seconds: float | None) -> str:
    """A duration for people: ``12 ms``, ``1.50 s``, ``3 min 20 s``, ``2 h 05 min``, ``2 d 03 h``."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 0:
        return f"-{format_seconds(-seconds)}"
    if seconds < 1e-3:
        return "0 s" if seconds == 0 else f"{format_significant(seconds * 1e6)} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms" if seconds < 0.9995 else "1.00 s"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    rounded_s = round(seconds)
    if rounded_s < 60:
        return f"{rounded_s} s"
    if rounded_s < 3600:
        return f"{rounded_s // 60} min {rounded_s % 60:02d} s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24:02d} h"


def format_time_utc(time_s: float | None) -> str:
    """A Unix time for people, in UTC: ``2026-02-03 14:05 UTC``."""
    return MISSING if time_s is None else datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def stamp(time_s: float) -> str:
    """A Unix time as names of files begin with it, in UTC: ``20260203-140509``."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y%m%d-%H%M%S")


def first_of(items: Sequence[str], limit: int, noun: str = "", between: str = "; ") -> str:
    """The first ``limit`` of some words, and how many more there are: ``a; b and 3 more``."""
    more = len(items) - limit
    more_words = f" and {more} more{f' {noun}' if noun else ''}" if more > 0 else ""
    return between.join(items[:limit]) + more_words


def did_you_mean(wrong: str, names: Iterable[str], least_alike_ratio: float = 0.6) -> str:
    """``did you mean a or b?`` with the names that are spelled most like it; empty where none is."""
    similar = get_close_matches(wrong, list(dict.fromkeys(names)), n=2, cutoff=least_alike_ratio)
    return f"did you mean {' or '.join(similar)}?" if similar else ""


def number_ranges(numbers: Iterable[int], dash: str = "–", comma: str = ", ") -> str:
    """Numbers for people, neighbours drawn together: ``1–3, 7``; none is an empty text."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return comma.join(f"{first}{dash}{last}" if last > first else f"{first}" for first, last in runs)


def unbroken(text: str) -> str:
    """Text of which no line may end inside a figure: a number stays with its unit, ``h1 → h2`` is one.

    Nor between ``(a)`` and what it marks.
    """
    return _UNBROKEN.sub(NO_BREAK, text)
