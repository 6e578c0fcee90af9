# SPDX-License-Identifier: Apache-2.0
"""What a load is: argument lists and parsers, all pure, and what the rest of the house must know of it.

A load is a package of this room that has ``LOAD``, an instance of :class:`Load`. What it does not say of
itself is as most generators are.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar, Literal

from linewatt.errors import InvalidInput, ParseError
from linewatt.missing import Missing
from linewatt.model import Direction, Family, TestName, is_tcp
from linewatt.sizes import among, datagram_bytes

Protocol = Literal["TCP", "UDP"]
Version = tuple[int, ...]
BOTH_WAYS = ("at-once", "both ways")
"""the factor of a test whose process sent the other way at the same time, which is a test of its own"""
MOST_SAID = 200
"""characters of a tool's words about its failure"""


@dataclass(frozen=True, slots=True)
class LoadJob:
    """What one instance is to do. ``duration_s`` covers omit, window and tail."""

    test: TestName
    server_address: str
    port: int
    duration_s: float
    interval_s: float = 1.0
    client_address: str | None = None
    family: Family = "ipv4"
    streams: int = 1
    rate_bps: float | None = None
    reverse: bool = False
    zerocopy: bool = False
    payload_bytes: int | None = None
    """of one datagram; None: what a bare interface of MTU 1500 has room for"""
    options: tuple[tuple[str, str], ...] = ()
    """the load's own options by name, beyond those above"""

    @property
    def datagram_bytes(self) -> int | None:
        """Payload of a datagram; ``None`` for tests that are of no one size."""
        return self.payload_bytes or datagram_bytes(self.test, self.family)


@dataclass(frozen=True, slots=True)
class LoadInterval:
    """What one end counted from ``start_s`` to ``end_s`` after the start of the test, all streams.

    ``packets`` are datagrams: sent at the sender; received plus lost at the receiver. ``lost_packets`` are
    less than 0 where more came late, and had been counted as lost before, than were lost. ``rtt_s`` is the
    smoothed RTT of the sender's kernel at ``end_s``, the mean of the streams.
    """

    start_s: float
    end_s: float
    transferred_bytes: int
    retransmits: int | None = None
    packets: int | None = None
    lost_packets: int | None = None
    rtt_s: float | None = None


SHORT_RATIO = 0.5
"""of the usual length: a shorter interval has no rate of its own, for bytes are counted in jumps"""


def whole_intervals(intervals: Sequence[LoadInterval]) -> tuple[LoadInterval, ...]:
    """The same counts without short intervals, as the 10 ms that a test may end with: each is part of the one
    before it, the first of the next one. One that is apart from both is left out.
    """
    lengths_s = [interval.end_s - interval.start_s for interval in intervals]
    least_s = SHORT_RATIO * median(lengths_s) if lengths_s else 0.0
    full_intervals: list[LoadInterval] = []
    short: LoadInterval | None = None
    for interval, length_s in zip(intervals, lengths_s, strict=True):
        if length_s >= least_s and length_s > 0:
            full_intervals.append(
                interval if short is None else _joined(short, interval, least_s) or interval
            )
            short = None
        elif full_intervals:
            full_intervals[-1] = _joined(full_intervals[-1], interval, least_s) or full_intervals[-1]
        else:
            short = interval if short is None else _joined(short, interval, least_s) or interval
    return tuple(full_intervals)


def _joined(first: LoadInterval, then: LoadInterval, least_s: float) -> LoadInterval | None:
    """Two intervals as one; None where there is time between them."""
    if abs(then.start_s - first.end_s) > SHORT_RATIO * least_s:
        return None

    def both(first_count: int | None, second_count: int | None) -> int | None:
        return None if first_count is None or second_count is None else first_count + second_count

    return LoadInterval(
        first.start_s,
        then.end_s,
        first.transferred_bytes + then.transferred_bytes,
        both(first.retransmits, then.retransmits),
        both(first.packets, then.packets),
        both(first.lost_packets, then.lost_packets),
        then.rtt_s,
    )


@dataclass(frozen=True, slots=True)
class LoadEnd:
    """One end's account of one instance. ``cpu_cores`` is the process's own use over its whole test.

    ``connections`` are its data connections: the own port, the other end's. ``latency_s`` are percentiles
    by name (``p50``, ``p99``, ``p99.9``, ``max``) of the end that took the times.
    """

    is_sender: bool
    version: str
    intervals: tuple[LoadInterval, ...]
    duration_s: float
    cpu_cores: float | None
    out_of_order_packets: int | None = None
    congestion: str | None = None
    connections: tuple[tuple[int, int], ...] = ()
    duplicate_packets: int | None = None
    latency_s: Mapping[str, float] = field(default_factory=dict)
    retransmits: int | None = None
    """of the whole test, where no interval has its own"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one process of a load was asked to do, as its own file says it.

    ``rate_bps`` is of all its streams. ``options`` are those that are not as they are by default, by the name
    that campaigns have for them. ``seconds`` is the time asked for; None: it was to end by itself.
    """

    load: str
    test: TestName
    family: Family
    streams: int
    is_reverse: bool
    rate_bps: float | None
    omit_s: float
    seconds: float | None
    options: tuple[tuple[str, str], ...] = ()
    factors: tuple[tuple[str, str], ...] = ()
    """what else is no test of a campaign, so that it is compared with nothing but itself"""
    is_rate_told: bool = True
    """whether the file would say so if a rate had been asked for"""


@dataclass(frozen=True, slots=True)
class ToldEnd:
    """One end of one test, from ``file``, which its own host wrote.

    ``key`` is the same at both ends of one test, and of no other. ``begun_s`` is when the test began on the
    clock of its host, at the earliest; it was at most ``late_s`` later. ``other`` is what the file says of
    the other end, or why it says nothing. ``node`` is what the file calls its host, ``program`` the load;
    ``peer`` is how it calls the other one, ``addresses`` are its own, of data.
    """

    file: str
    node: str | None
    is_client: bool
    peer: str
    port: int
    key: str
    begun_s: float
    late_s: float
    asked: Asked
    own: LoadEnd
    other: LoadEnd | Missing
    told: str
    """which words of the file ``other`` is from"""
    text: str
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """what the file says of its host: section → fact → value, as hosts themselves are asked for them"""
    program: str | None = None
    failure: str | None = None
    addresses: frozenset[str] = frozenset()
    connection: str = ""
    """its first connection of data as both ends have it, which tells ends of one test that share no key"""
    undated: str | None = None
    """why the file does not say when the test ran; None: it does"""
    rounded: tuple[str, ...] = ()
    """how its figures are rounded, and what was inferred from them, a sentence each"""
    finer: str = "keep the JSON that the load writes, which has every byte"
    """what to do for figures that are rounded less"""
    own_missing: str | None = None
    """why the file does not say what its own end counted; None: ``own`` is that"""
    no_cpu: str = ""
    """why the load's own file has no CPU use of its hosts, of a load that can print it"""
    mean_of: str = ""
    """of which runs of the load its figures are the mean; empty: of one run they are no mean"""
    confidence_missed: str = ""
    """what the load warns of that its runs differed by too much; empty: it warns of nothing"""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a load that a campaign may set. ``pattern`` is what its value looks like, ``example`` one;
    None: on or off. ``tests`` have it."""

    flag: str
    about: str
    pattern: str | None
    example: str
    tests: tuple[TestName, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a campaign asks of a load in one kind of case."""

    test: TestName
    family: Family
    direction: Direction
    streams: int
    rate_bps: float | None
    zerocopy: bool
    omit_s: float
    is_soak: bool


@dataclass(frozen=True, slots=True)
class Exchange:
    """A try of one port: whether a few bytes get there and back."""

    protocol: Protocol
    family: Family
    client_address: str
    server_address: str
    port: int
    limit_s: float


class Load(ABC):
    """A traffic generator. Versions are what a host's copy says of itself, such as ``(3, 12)``."""

    name: ClassVar[str]
    """of the program, and of the load in a campaign"""
    package: ClassVar[str]
    """in which distributions have it"""
    version_pattern: ClassVar[re.Pattern[str]]
    """its first group is the version, numbers with dots between"""
    minimum_version: ClassVar[Version] = ()
    tests: ClassVar[tuple[TestName, ...]]
    """of which ``sizes.ANY_SIZE`` is UDP of every size"""
    least_datagram_bytes: ClassVar[int] = 1
    """fewer it does not put into one"""
    options: ClassVar[Mapping[str, Option]] = {}
    """by the name that users write behind ``<load>.``"""
    is_default: ClassVar[bool] = False
    """whether campaigns that name none mean this one"""
    suffix: ClassVar[str] = "txt"
    """of the files in which its output is stored"""
    lead_s: ClassVar[float] = 0.0
    """what passes at least from the start of a client to that of its test"""
    trail_s: ClassVar[float] = 0.0
    """what passes at least from the end of a test to that of its client"""
    try_limit_s: ClassVar[float] = 2.0
    """for the try of a port; a firewall that drops it lets this run out"""
    server_ends: ClassVar[bool] = True
    """whether a server ends by itself after one test; else it is stopped when its client has ended"""
    soaks: ClassVar[bool] = False
    """whether it counts often enough to be run for days"""
    threaded_from: ClassVar[Version | None] = None
    """the first version with a thread a stream; before it one thread served all"""
    timer_option: ClassVar[str | None] = None
    """with which a rate is taken off the kernel's tick"""
    by_hand: ClassVar[str] = ""
    """which output of it is read that somebody kept, in words; empty: none is"""
    text_pattern: ClassVar[str] = ""
    """what its output for people looks like, which is not read (a regular expression over lines)"""
    both_ends: ClassVar[str] = ""
    """how both ends' counts are kept by hand, in words"""
    busy_waits: ClassVar[tuple[Version, Version] | None] = None
    """the first version that busy-waits between packets of a rate-limited test, and the first that no longer
    does"""

    @property
    def version_command(self) -> tuple[str, ...]:
        return (self.name, "--version")

    def parse_version(self, text: str) -> Version:
        """What :attr:`version_command` says, as numbers. Raises ParseError."""
        match = self.version_pattern.search(text)
        if match is None:
            command = " ".join(self.version_command)
            raise ParseError(f"{command} prints no version, but {text.strip()[:60]!r}")
        return tuple(int(part) for part in match[1].split("."))

    def too_old(self, version: Version) -> str | None:
        """What is wrong with a version that cannot do what every job needs; ``None``: nothing."""
        if version >= self.minimum_version:
            return None
        needed = version_text(self.minimum_version)
        return f"{self.name} {version_text(version)} is too old; {needed} or later is needed"

    def refusals(self, wanted_case: Wanted) -> Iterator[tuple[str, str]]:
        """Keys of the campaign whose values it cannot do in such a case, and why."""
        if not among(wanted_case.test, self.tests):
            yield "tests", f"{self.name} has no test {wanted_case.test}; it has {', '.join(self.tests)}"
        if wanted_case.is_soak and not self.soaks:
            yield "soak", f"{self.name} counts once a test, too seldom for a soak; run trials"

    @abstractmethod
    def server_command(self, job: LoadJob, version: Version) -> list[str]:
        """Raises InvalidInput for what this version cannot do."""

    @abstractmethod
    def client_command(self, job: LoadJob, version: Version) -> list[str]:
        """Connects, runs for the job's seconds and prints what it counted. Raises InvalidInput."""

    def ends_of(self, file: str, text: str, documents: tuple[Any, ...]) -> tuple[ToldEnd, ...] | None:
        """Ends of tests in a file that somebody kept of it, of which ``documents`` are the JSON texts.

        ``None``: it is no file of it. Raises ParseError, InvalidInput.
        """
        return None

    def ends_of_text(self, file: str, text: str) -> tuple[ToldEnd, ...] | None:
        """The same of what it prints for people. Raises ParseError, InvalidInput."""
        return None

    def most_bytes(self, job: LoadJob) -> int:
        """More than one end of this job ever writes."""
        return 1 << 20

    def listens(self, protocol: Protocol) -> Protocol:
        """What a server's port is open for while it waits for a test of this protocol."""
        return protocol

    @abstractmethod
    def parse(self, text: str, argv: Sequence[str] = (), peer: str = "") -> LoadEnd:
        """One end's account from its output; ``argv`` is how it was called, ``peer`` the other end's output.

        Raises ParseError with the tool's own words when it failed: half a test is no test.
        """

    def complaint(self, stdout: str, stderr: str) -> str:
        """The tool's own words about its failure."""
        lines = (stderr or stdout).strip().splitlines()
        return lines[-1][:MOST_SAID] if lines else "it said nothing"

    def tried(self, tests: Iterable[TestName]) -> tuple[Protocol, ...]:
        """The protocols to try at a port for these tests; none is tried after one that failed."""
        protocols: set[Protocol] = {protocol_of(test) for test in tests}
        return tuple(sorted(protocols))

    @abstractmethod
    def try_server(self, exchange: Exchange) -> list[str]: ...

    @abstractmethod
    def try_client(self, exchange: Exchange) -> list[str]: ...

    @abstractmethod
    def try_problem(self, stdout: str, stderr: str, status: int) -> str | None:
        """What went wrong in an exchange, in the tool's words; ``None`` when it went well."""

    def option(self, name: str, value: str) -> str:
        """The value of an option as it is used. Raises InvalidInput: no such option, no such value."""
        option = self.options.get(name)
        if option is None:
            available = ", ".join(self.options) or "none"
            raise InvalidInput(f"{self.name}.{name} is not an option of {self.name} here: {available}")
        if not re.fullmatch(option.pattern or "on|off", value, re.ASCII):
            raise InvalidInput(
                f"{self.name}.{name} must be {option.about}, such as {option.example}; got {value!r}"
            )
        return value

    def without_option(self, name: str, test: TestName) -> str | None:
        """Why a test cannot have an option."""
        option = self.options[name]
        if among(test, option.tests):
            return None
        served = "TCP" if all(map(is_tcp, option.tests)) else " and ".join(option.tests)
        return f"{self.name}'s {option.flag} is for {served}"

    def option_flags(self, options: Iterable[tuple[str, str]]) -> list[str]:
        """What goes on the client's command line. Raises InvalidInput."""
        words = []
        for name, value in options:
            checked = self.option(name, value)
            if self.options[name].pattern is not None:
                words += [self.options[name].flag, checked]
            elif checked == "on":
                words.append(self.options[name].flag)
        return words


def protocol_of(test: TestName) -> Protocol:
    return "TCP" if is_tcp(test) else "UDP"


def version_text(version: Version) -> str:
    """``(3, 16)`` → ``3.16``."""
    return ".".join(map(str, version))
