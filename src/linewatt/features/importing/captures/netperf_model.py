# SPDX-License-Identifier: Apache-2.0
"""A test of netperf as values, whichever way it was printed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import number
from linewatt.model import Family

NAME = "netperf"
MOST_BYTES_PER_S = 1e15
MOST_SECONDS = 1e7
KIB = 1024.0
UNITS = {
    "Bytes": 1.0,
    "KBytes": KIB,
    "MBytes": KIB**2,
    "GBytes": KIB**3,
    "10^3bits": 1e3 / 8,
    "10^6bits": 1e6 / 8,
    "10^9bits": 1e9 / 8,
}
"""what netperf calls its units (format_units in netlib.c) → bytes"""
UNIT = r"10\^\d{1,2}bits|[KMG]?Bytes|Trans|Usec"
NO_METHOD = "UTR?"
"""letters of ways to measure CPU use: none, or such as netperf itself calls unsuitable (format_cpu_method)"""


class KindOfTest(NamedTuple):
    """A test's protocol, and whether netperf's own host receives."""

    protocol: str | None
    is_reverse: bool


TESTS = {
    "TCP STREAM": KindOfTest("tcp", is_reverse=False),
    "TCP MAERTS": KindOfTest("tcp", is_reverse=True),
    "TCP SENDFILE": KindOfTest("tcp", is_reverse=False),
    "UDP STREAM": KindOfTest("udp", is_reverse=False),
    "UDP UNIDIRECTIONAL SEND": KindOfTest("udp", is_reverse=False),
    "OMNI Send": KindOfTest(None, is_reverse=False),
    "OMNI Receive": KindOfTest(None, is_reverse=True),
}
"""by its name in a title"""
_CONFIDENCE = re.compile(
    r"!!! .{0,40}?(Throughput|Local CPU util|Remote CPU util) {0,20}: {0,20}([\d.]{1,20}%)"
)


@dataclass(frozen=True, slots=True)
class Title:
    """The line with which netperf begins a test."""

    name: str
    own_address: str
    peer: str
    family: Family
    is_migrated: bool
    is_mean: bool
    has_no_control: bool

    @property
    def kind(self) -> KindOfTest:
        """Raises InvalidInput for a test that is not read."""
        if self.name not in TESTS:
            raise InvalidInput(
                f"holds netperf's {self.name} test; of netperf, TCP_STREAM, TCP_MAERTS, TCP_SENDFILE and "
                "UDP_STREAM are read"
            )
        return TESTS[self.name]


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of one test. ``begun`` is the stamp on the line before it, and how far that is cut."""

    title: Title | None
    begun: tuple[float, float] | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interim:
    """What netperf's own host counted in ``seconds`` up to ``end_s`` (Unix)."""

    end_s: float
    seconds: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class CpuUse:
    """What netperf says of one host's CPUs: the share of all of them in use, and CPU time for 1,024 bytes.

    ``bytes_per_s`` is the rate that the CPU time is for, rounded by ``rounding`` as a part of it. ``cpus`` is
    their number, where netperf prints it.
    """

    percent: float | None
    demand_us_per_kb: float | None
    bytes_per_s: float | None
    rounding: float
    cpus: int | None = None
    method: str = ""

    @property
    def cores(self) -> float | None:
        """Cores in use; ``None``: not measured, or not in netperf's output."""
        if self.method in NO_METHOD and self.method:
            return None
        if self.percent is None or not 0 < self.percent <= 101:
            return None
        if self.cpus is not None and self.cpus > 0:
            return self.percent / 100 * self.cpus
        if self.demand_us_per_kb is None or self.demand_us_per_kb <= 0 or not self.bytes_per_s:
            return None
        by_demand = self.demand_us_per_kb * 1e-6 * self.bytes_per_s / KIB
        cpus = by_demand / (self.percent / 100)
        rounding = self.rounding + 0.0005 / self.demand_us_per_kb + 0.005 / self.percent
        is_whole = round(cpus) >= 1 and abs(cpus - round(cpus)) <= cpus * rounding < 0.5
        return self.percent / 100 * round(cpus) if is_whole else by_demand


@dataclass(frozen=True, slots=True)
class Measured:
    """One test; ``None``: not in netperf's output.

    ``not_reached`` are the widths of its intervals where it did not reach the confidence that was asked for.
    """

    is_udp: bool
    is_reverse: bool
    family: Family
    peer: str
    own_address: str
    elapsed_s: float = 0.0
    sent_bytes_per_s: float | None = None
    arrived_bytes_per_s: float | None = None
    message_bytes: int | None = None
    sent_messages: int | None = None
    arrived_messages: int | None = None
    retransmits: int | None = None
    local_cpu: CpuUse | None = None
    remote_cpu: CpuUse | None = None
    rounding: float = 0.0
    options: tuple[tuple[str, str], ...] = ()
    points: tuple[Interim, ...] = ()
    is_sendfile: bool = False
    is_mean: bool = False
    is_without_header: bool = False
    not_reached: str = ""
    failure: str | None = None


def bytes_per_s(figure: str, unit: str) -> float:
    """A rate of netperf. Raises ParseError, InvalidInput for units that are none of a stream."""
    if unit == "10^0bits":  # -f b: calc_thruput_interval has 1 as its divisor, as for Bytes
        raise InvalidInput(
            "is in 10^0bits/s (-f b), as which netperf prints bytes/s; let it print 10^6bits/s (-f m)"
        )
    if unit not in UNITS:
        raise InvalidInput(
            f"is in {unit}/s, which is not a rate of bytes; let netperf print 10^6bits/s (-f m)"
        )
    rate = number(figure, "a throughput") * UNITS[unit]
    if not 0 <= rate <= MOST_BYTES_PER_S:
        raise ParseError(f"netperf reports {figure} {unit}/s, which is not a throughput")
    return rate


def rounding_of(figure: str) -> float:
    """Half of the last digit, as a part of the figure; 0 of 0."""
    value = number(figure, "a throughput")
    return 0.5 * 10.0 ** -len(figure.partition(".")[2]) / value if value > 0 else 0.0


def not_reached(lines: tuple[str, ...]) -> str:
    """The widths that netperf warns of, in words; empty: it does not."""
    if not any(line.startswith("!!! WARNING") for line in lines):
        return ""
    widths = [f"{match[1]} {match[2]}" for line in lines if (match := _CONFIDENCE.match(line))]
    return f" (confidence intervals: {', '.join(widths)})" if widths else " (without saying by how much)"
