# SPDX-License-Identifier: Apache-2.0
"""The values that travel through the house: frozen, SI inside, no live handles.

Missing is ``None`` with a reason beside it, never 0. Ratios are 0..1 of one CPU unless said otherwise.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

TestName = str
"""``tcp``, ``udp-<bytes>`` (:mod:`linewatt.sizes` says bytes of what), ``tcp-rr``, ``udp-rr``"""
Family = Literal["ipv4", "ipv6"]
Direction = Literal["forward", "reverse"]
Role = Literal["sender", "receiver"]
ENDS: tuple[Role, Role] = ("receiver", "sender")
Provenance = Literal["measured", "datasheet", "estimate", "simulated"]
METHOD = 3
"""Counts up whenever the same raw output would make other figures or findings."""


def is_tcp(test: TestName) -> bool:
    return test in ("tcp", "tcp-rr")


def is_request_response(test: TestName) -> bool:
    """Whether one message is under way at a time, there and back: what is measured is its latency."""
    return test in ("tcp-rr", "udp-rr")


ChannelKind = Literal["gauge", "mean", "counter"]


@dataclass(frozen=True, slots=True)
class Channel:
    """A named quantity that a source delivers.

    ``kind``: ``gauge`` is an instantaneous reading, ``mean`` an average over the sample's span,
    ``counter`` a running total (differences mean something, values do not); a counter wraps at
    2**``bits`` or at ``wraps_at`` when one is given. ``method`` is how it is measured, in words. In the
    channel's unit: ``step`` is the smallest difference a reading can show, ``maximum`` the largest value it
    can show. ``tolerance_ratio`` is the accuracy of a reading (0.05: ± 5 % of it). ``None``: not known.
    """

    name: str
    unit: str
    kind: ChannelKind
    scope: str
    provenance: Provenance = "measured"
    bits: int | None = None
    wraps_at: float | None = None
    method: str = ""
    step: float | None = None
    tolerance_ratio: float | None = None
    maximum: float | None = None


class Sample(NamedTuple):
    """One reading. ``time_s`` is on the controller's time line (Unix seconds), at the end of ``span_s``."""

    time_s: float
    channel: str
    value: float | None
    span_s: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The steady part of a trial on the controller's time line, Unix seconds."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that makes a number doubtful: what was seen (evidence) and what to do (advice).

    ``code`` is a stable kebab-case word, for example ``cpu-accounting-disagrees``; ``where`` names the
    host, channel or instance it is about.
    """

    code: str
    where: str
    evidence: str
    advice: str


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a campaign.

    Traffic flows from ``sender`` to ``receiver``. ``direction`` says who opens the connection: in
    ``forward`` the sender is the client, in ``reverse`` the receiver is.
    ``rate_bps`` is the offered rate of one instance; ``None`` is as fast as it goes. ``load_level`` is the
    part (0..1) of the calibrated maximum that is offered, the rate then follows from the calibration; 0 is
    active idle. ``factors`` are the settings that this case differs from others in: (factor, level) by name.
    ``load`` is the program that makes it; ``None``: the one that campaigns have unless they name another.
    ``search`` says what of it is searched, if anything: its trials are steps, each a case with the rate that
    those before it led to.
    """

    test: TestName
    sender: str
    receiver: str
    instances: int = 1
    streams: int = 1
    direction: Direction = "forward"
    family: Family = "ipv4"
    network: str = "bare"
    rate_bps: float | None = None
    zerocopy: bool = False
    load_level: float | None = None
    factors: tuple[tuple[str, str], ...] = ()
    load: str | None = None
    search: Literal["rate"] | None = None
    data_ports: int | None = None
    """over how many ports of its hosts the instances are dealt in turn; None: there is one"""

    def __post_init__(self) -> None:
        if not _is_test(self.test):
            raise ValueError(f"{self.test[:40]!r} is no name of a test")

    @property
    def is_tcp(self) -> bool:
        return is_tcp(self.test)

    @property
    def paced(self) -> bool:
        """Whether the load is held to a rate."""
        return self.rate_bps is not None or self.load_level is not None

    @property
    def hosts(self) -> tuple[str, str]:
        return self.sender, self.receiver

    def host(self, role: Role) -> str:
        """The sender or the receiver."""
        return self.sender if role == "sender" else self.receiver

    @property
    def client(self) -> str:
        return self.sender if self.direction == "forward" else self.receiver

    @property
    def server(self) -> str:
        return self.receiver if self.direction == "forward" else self.sender

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes this case comparable elsewhere: everything but the hosts, sorted."""
        return {
            "direction": self.direction,
            "family": self.family,
            "instances": self.instances,
            "network": self.network,
            "rate_bps": self.rate_bps,
            "streams": self.streams,
            "test": self.test,
            "zerocopy": self.zerocopy,
            **({} if self.load_level is None else {"load_level": self.load_level}),
            **({"factors": dict(self.factors)} if self.factors else {}),
            **({} if self.load is None else {"load": self.load}),
            **({} if self.search is None else {"search": self.search}),
            **({} if self.data_ports is None else {"data_ports": self.data_ports}),
        }

    @property
    def key(self) -> str:
        """Stable 12-digit hash of :attr:`parameters`; the same on every host, kernel and year."""
        return _key(self)


@lru_cache(1 << 10)
def _is_test(name: str) -> bool:
    """Whether a name has the shape of a test's: what is stored is shown, and names charts."""
    return re.fullmatch(r"(?:tcp|udp)-rr|tcp|udp-[1-9][0-9]{1,4}", name, re.ASCII) is not None


@lru_cache(1 << 16)
def _key(case: Case) -> str:
    """Asked for many times of each of thousands of cases."""
    text = json.dumps(case.parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CpuShares:
    """Mean shares of one or more CPUs over the window, each 0..1 **per CPU** (mean over ``cpus``)."""

    cpus: tuple[int, ...]
    usr_ratio: float
    sys_ratio: float
    irq_ratio: float
    soft_ratio: float
    idle_ratio: float
    other_ratio: float
    """nice, steal and guest together; waiting for disks is idle"""
    unnumbered: int = field(default=0, kw_only=True)
    """how many more CPUs it is the mean of, whose numbers nobody wrote down (imported tables)"""
    steal_ratio: float = field(default=0.0, kw_only=True)
    """time that a hypervisor gave to others: neither idle nor used"""

    @property
    def busy_ratio(self) -> float:
        """Time in use: neither idle (with waiting for disks) nor stolen."""
        return 1 - self.idle_ratio - self.steal_ratio


@dataclass(frozen=True, slots=True)
class PowerResult:
    """One power channel over a window.

    ``source`` is the campaign's name of where it comes from, ``scope`` what it covers (``psu-out:PSU1``).
    ``energy_uncertainty_j`` is a bound on the error of ``energy_j`` from the sensor's tolerance, step,
    updates and the window's edges, at about 95 %. ``updates`` counts distinct updates in the window.
    Without numbers ``reason`` says why.
    """

    source: str
    channel: str
    scope: str
    provenance: Provenance
    method: str
    power_w: float | None
    energy_j: float | None = None
    energy_uncertainty_j: float | None = None
    step_w: float | None = None
    update_s: float | None = None
    tolerance_ratio: float | None = None
    updates: int = 0
    idle_w: float | None = None
    """its mean in the idle windows of this host with these settings"""
    reason: str | None = None
    idle_uncertainty_w: float | None = None
    """bound on the error of ``idle_w``, half the difference of the windows before and after among it"""
    idle_windows_w: tuple[float, ...] = ()
    """its mean in each of those windows, in the order of time"""
    idle_doubt: str | None = None
    """what still moved when one of those windows began"""
    refresh_s: float | None = None
    """the usual time between distinct values of this meter, as far as was learned"""
    averaging_s: float | None = None
    """over how long this meter averages, as far as was learned; 0: it does not"""
    delay_s: float | None = None
    """how late beyond that this meter is, as far as was learned"""
    settle_s: float | None = None
    """after a step of the power this meter may show what was before for so long; a bound"""
    spread_w: float | None = None
    """by how much its samples in the window differ"""


class Counters(Mapping[str, float | None]):
    """Counters of one end of a trial, read-only, as numbers alone: a tenth of a dictionary.

    Ends of hosts that are alike have the same names, which are kept once.
    """

    __slots__ = ("_at", "_values")
    _known: ClassVar[dict[tuple[str, ...], dict[str, int]]] = {}

    def __init__(self, counters: Mapping[str, float | None]) -> None:
        names = tuple(counters)
        at = self._known.get(names)
        self._at = at or self._known.setdefault(names, {name: place for place, name in enumerate(names)})
        self._values = array("d", [math.nan if value is None else value for value in counters.values()])

    def __getitem__(self, name: str) -> float | None:
        value = self._values[self._at[name]]
        return None if value != value else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._values)

    def __deepcopy__(self, _: object) -> dict[str, float | None]:
        """As a document has them."""
        return dict(self)


@dataclass(frozen=True, slots=True)
class EndResult:
    """One end of a trial: what it cost the host and what the host's counters saw.

    ``cpu_cores`` is Σ over the host's CPUs of (1 − idle − iowait − steal), in cores; ``load_cpu_cores`` is
    what the load processes say they used themselves (the cross-check). Counter deltas over the window are
    ``None`` where a counter was reset or a reading is missing; ``reasons`` says why, by field or counter.
    """

    host: str
    role: Role
    cpu_cores: float | None
    app_cpu: CpuShares | None
    irq_cpu: CpuShares | None
    load_cpu_cores: float | None
    base_frequency_hz: float | None
    counters: Mapping[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    power: tuple[PowerResult, ...] = ()
    hottest_app: CpuShares | None = None
    """the busiest one of the app CPUs: its shares"""
    hottest_irq: CpuShares | None = None
    """the busiest one of the IRQ CPUs"""
    hottest: CpuShares | None = None
    """the busiest one of all of the host's CPUs"""
    steal_cores: float | None = None
    """what a hypervisor took from the host's CPUs; no part of ``cpu_cores``"""
    foreign_cores: float | None = None
    """``cpu_cores`` without the load's own and the softirq work: what others used"""
    load_window_cores: float | None = None
    """the load's CPU use by the scheduler's account of its threads, between the two reads of them: one before
    the window, where omit leaves time, one in the tail"""
    pcie_goodput_bps: float | None = None
    """the most payload that the slot of the data interface carries; None: not known"""
    settings: dict[str, str | None] = field(default_factory=dict)
    """what linewatt had set on the host, as read back during the trial: "knob target" → its text"""


@dataclass(frozen=True, slots=True)
class TcpState:
    """What ``ss -ti`` says at the sender of an instance's connections in the tail of the load, all streams.

    Times are of the connections' whole lives: ``busy_s`` with data to send, of which ``rwnd_limited_s``
    waiting for the receiver's window, ``sndbuf_limited_s`` for room in the sender's buffer (Linux 4.9 and
    newer).
    """

    streams: int
    busy_s: float | None = None
    rwnd_limited_s: float | None = None
    sndbuf_limited_s: float | None = None
    cwnd_bytes: int | None = None
    """sum over the streams: congestion window × MSS"""
    rtt_s: float | None = None
    """mean over the streams"""
    congestion: str | None = None


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """One load process pair in the window; throughput is the receiver's, offered the sender's.

    ``sender_start_s`` and ``receiver_start_s`` put each end's own interval times on the controller's time
    line. ``sender_cpu`` and ``receiver_cpu`` are where its processes were put, ``sender_ran_on`` and
    ``receiver_ran_on`` where their threads were seen while they ran (CPU lists). Out-of-order datagrams are
    counted over the whole test, everything else over the window.
    """

    instance: int
    port: int
    sender_cpu: str | None
    receiver_cpu: str | None
    sender_start_s: float
    receiver_start_s: float
    throughput_bps: float
    offered_bps: float
    retransmits: int | None = None
    packets: int | None = None
    lost_packets: int | None = None
    out_of_order_packets: int | None = None
    sender_cpu_cores: float | None = None
    receiver_cpu_cores: float | None = None
    sender_ran_on: str | None = None
    receiver_ran_on: str | None = None
    congestion: str | None = None
    """TCP's congestion control at the sender"""
    tcp: TcpState | None = None
    """None: not TCP, or not read"""
    sender_threads: int | None = None
    """of the load process at the sender, in the tail; None: not read"""
    receiver_threads: int | None = None
    duplicate_packets: int | None = None
    latency_s: Mapping[str, float] = field(default_factory=dict)
    """percentiles by name (``p50``, ``p99``, ``p99.9``, ``max``) over the load's run; empty: none taken"""
    data_port: int | None = None
    """which of several data ports it used, from 0; None: there is one"""


@dataclass(frozen=True, slots=True)
class PortResult:
    """One of several data ports in the window: what its instances counted, and what its interfaces did.

    ``sent_bytes`` left the sender by its interface and ``received_bytes`` came to the receiver by its own, as
    the kernels counted; ``None``: not counted. ``line_goodput_bps`` is the most payload its line carries.
    """

    sender_interface: str
    receiver_interface: str
    instances: int
    throughput_bps: float
    offered_bps: float
    line_goodput_bps: float | None = None
    sent_bytes: float | None = None
    received_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One repetition of a case, as stored in ``trials/<n>/trial.json``.

    A failed trial has ``status`` "failed", a ``reason``, and ``None`` where numbers would be.
    An imported one is done and has a ``reason`` for what its table does not say.
    ``lost_ratio`` is lost / (lost + received) datagrams in the window; ``start_skew_s`` is last minus
    first instance start; ``clock`` maps host to its offset and uncertainty in seconds.
    """

    number: int
    repetition: int
    case: Case
    case_key: str
    status: Literal["done", "failed"]
    started_s: float
    reason: str | None = None
    window: Window | None = None
    throughput_bps: float | None = None
    offered_bps: float | None = None
    target_bps: float | None = None
    """what a load level asked for, all instances together"""
    line_goodput_bps: float | None = None
    """the most payload that the line between the hosts can carry; None: its rate is not known"""
    line_kind: Literal["link", "shaper"] | None = None
    """what that line is: the slower link, or a shaper below it; None: not known"""
    line_host: str | None = None
    """the host whose interface is the slower one"""
    retransmits: int | None = None
    packets: int | None = None
    lost_packets: int | None = None
    lost_ratio: float | None = None
    out_of_order_packets: int | None = None
    start_skew_s: float | None = None
    sender: EndResult | None = None
    receiver: EndResult | None = None
    instances: tuple[InstanceResult, ...] = ()
    flags: tuple[Flag, ...] = ()
    clock: dict[str, tuple[float, float]] = field(default_factory=dict)
    overhead_s: float | None = None
    """wall time of the trial beyond its load seconds"""
    duplicate_packets: int | None = None
    latency_s: Mapping[str, float] = field(default_factory=dict)
    """percentile → the largest of all instances: that of their messages together is at most so much"""
    method: int = 1
    """by which method (``METHOD``) its figures were made; results stored before methods had numbers have 1"""
    data_ports: tuple[PortResult, ...] = ()
    """those that instances used, where the hosts have several"""
    schema_version: int = 1

    def end(self, role: Role) -> EndResult | None:
        """What was recorded of the sender or of the receiver."""
        return self.sender if role == "sender" else self.receiver


OF_SEVERAL_PORTS = frozenset({"data_ports", "data_port"})
"""fields that only hosts with several data ports have: documents of the others are without them"""
_OF_FEW = OF_SEVERAL_PORTS | {"load", "latency_s", "duplicate_packets", "search"}
"""the same, with what only some loads and cases have"""


def document_of(value: Any) -> dict[str, Any]:
    """A value that holds trials or cases, as plain values for JSON."""

    def known(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: one for name, one in pairs if one or name not in _OF_FEW or one == 0}

    return asdict(value, dict_factory=known)
