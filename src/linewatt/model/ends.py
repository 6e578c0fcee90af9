# SPDX-License-Identifier: Apache-2.0
"""What a trial found at its ends: CPU, watts and counters of hosts, load processes, data ports."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

from linewatt.declare import SELDOM
from linewatt.model.case import Role
from linewatt.model.samples import Provenance


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
    guest_ratio: float = field(default=0.0, kw_only=True)
    """of ``other``, time of virtual machines that run there and are not niced: they give way to nobody"""

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
    CORRECTED: ClassVar[str] = "corrected: "
    """how the method of a channel begins that was made of others by a calibration on record"""

    @property
    def is_corrected(self) -> bool:
        """Whether no meter read this, but a feature made it of what one read."""
        return self.method.startswith(self.CORRECTED)


@dataclass(frozen=True, slots=True)
class ThermalResult:
    """A fan (``rpm``), a temperature (``°C``) or the clock of a role's CPUs (``Hz``) over a window: its mean,
    and between what it was."""

    source: str
    channel: str
    unit: str
    mean: float
    low: float
    high: float


SchedulingClass = Literal["deadline", "real-time", "normal", "batch", "idle"]
"""who runs first (sched(7)): deadlines before real-time (FIFO, RR), that before all others"""


class _Places(dict[str, int]):
    """Name → place of its value: one for all ends with the same names."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return id(self)


@cache
def _names_with(names: _Places, ending: str) -> tuple[str, ...]:
    return tuple(name for name in names if name.endswith(ending))


class Counters(Mapping[str, float | None]):
    """Counters of one end of a trial, read-only, as numbers alone: a tenth of a dictionary.

    Ends of hosts that are alike have the same names, which are kept once.
    """

    __slots__ = ("_at", "_values")
    _known: ClassVar[dict[tuple[str, ...], _Places]] = {}

    def __init__(self, counters: Mapping[str, float | None]) -> None:
        names = tuple(counters)
        at = self._known.get(names)
        if at is None:
            at = self._known.setdefault(names, _Places((name, place) for place, name in enumerate(names)))
        self._at = at
        values: list[Any] = list(counters.values())
        if None in values:  # was reset, or not read
            values = [math.nan if value is None else value for value in values]
        self._values = array("d", values)

    def __getitem__(self, name: str) -> float | None:
        value = self._values[self._at[name]]
        return None if value != value else value

    def get(self, name: str, default: Any = None) -> Any:
        """As of any mapping, without an exception for each name that is missing."""
        return self[name] if name in self._at else default

    def names_with(self, ending: str) -> tuple[str, ...]:
        """Names that end so, found once for all ends with the same names."""
        return _names_with(self._at, ending)

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._values)

    def __deepcopy__(self, _: object) -> dict[str, float | None]:
        """As a document has them."""
        return dict(self)


@dataclass(frozen=True, slots=True)
class OtherProcess:
    """A thread that is neither the load's nor linewatt's, and what it used between two readings of its host:
    one just before the window and one just after it.

    ``name`` is the one that the kernel has (``comm``), ``cpus`` those that it had run on last at a reading,
    ``scheduling`` and ``nice`` how the kernel chose between it and others at the second one.
    """

    name: str
    tid: int
    cpus: tuple[int, ...]
    cores: float
    kernel: bool = False
    """whether it is a thread of the kernel"""
    scheduling: SchedulingClass | None = field(default=None, metadata=SELDOM)
    """None: it was not read"""
    nice: int | None = field(default=None, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class SharedCpu:
    """A full CPU (or all of the load's together) that the load or its interrupts need and that others used a
    part of, whether they ran in the idle windows or not: who used how much, in cores."""

    cpus: tuple[int, ...]
    role: Literal["app", "irq"]
    busy_ratio: float
    load_cores: float | None
    """None: it is not known on which CPUs the load ran"""
    other_cores: float
    softirq_cores: float


@dataclass(frozen=True, slots=True)
class CgroupThrottling:
    """What the CPU quota of a control group did to the load in it, or below it, between two readings of its
    host: one just before the window and one just after it.

    Of ``periods`` in which it ran, it had used up its quota in ``throttled_periods``. ``throttled_s`` is how
    long it was kept from running, the sum over CPUs.
    """

    path: str
    periods: int
    throttled_periods: int
    throttled_s: float
    quota_cores: float | None = None
    """None: it is not known, or was taken away meanwhile"""
    period_s: float | None = None


@dataclass(frozen=True, slots=True)
class OutsideLimits:
    """What may have kept a load from its CPUs between two readings of its host, ``between_s`` apart.

    ``cgroups`` are those of its processes and their parents that have a quota, the most throttled first;
    ``pressure_s`` how long tasks of the host waited (``cpu some``, ``memory full``: /proc/pressure).
    """

    between_s: float
    cgroups: tuple[CgroupThrottling, ...] = ()
    pressure_s: Mapping[str, float] = field(default_factory=dict)


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
    busy_frequency_hz: float | None = None
    """the clock that its busy CPUs ran at: of each whose clock was read, weighted with how busy it was"""
    thermal: tuple[ThermalResult, ...] = field(default=(), metadata=SELDOM)
    """fans and temperatures that its sources tell of, and the clocks of its CPUs"""
    package_limit_w: float | None = field(default=None, metadata=SELDOM)
    """the power limit of a CPU package; None: it does not show one"""
    other_processes: tuple[OtherProcess, ...] = field(default=(), metadata=SELDOM)
    """the busiest processes that are neither the load's nor linewatt's, as far as they were seen"""

    shared_cpus: tuple[SharedCpu, ...] = field(default=(), metadata=SELDOM)
    """full CPUs of its roles that others used a part of"""
    outside_limits: OutsideLimits | None = field(default=None, metadata=SELDOM)
    """quotas and pressure between the two reads of the load's threads; None: not read"""
    load_waited_ratio: float | None = field(default=None, metadata=SELDOM)
    """part of the time between the two reads that the load's thread which waited most waited for a CPU, by
    by the scheduler's account; None: not known"""
    softirq_in_turn: CpuShares | None = field(default=None, metadata=SELDOM)
    """of softirqs that went from CPU to CPU: the one that they filled at each reading, mean over readings"""
    load_nice: int | None = field(default=None, metadata=SELDOM)
    """the highest nice value of the load's threads, where it is above 0: others are preferred to them"""


@dataclass(frozen=True, slots=True)
class TcpState:
    """What ``ss -tim`` says at the sender of an instance's connections in the tail of the load, all streams.

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
    mss_bytes: int | None = None
    """payload of a full segment, the smallest of the streams"""
    send_buffer_bytes: int | None = field(default=None, metadata=SELDOM)
    """sum over the streams: what each may hold unacknowledged or unsent (``sk_sndbuf``)"""


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
    duplicate_packets: int | None = field(default=None, metadata=SELDOM)
    latency_s: Mapping[str, float] = field(default_factory=dict, metadata=SELDOM)
    """percentiles by name (``p50``, ``p99``, ``p99.9``, ``max``) over the load's run; empty: none taken"""
    data_port: int | None = field(default=None, metadata=SELDOM)
    """which of several data ports it used, from 0; None: there is one"""


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One pair of a group in the window, beside what its instances counted.

    ``end`` is that of the host which is in no other pair, in a ring of that which sends; ``None`` where both
    are in others. The line is that between
    its two hosts, as in :class:`linewatt.model.trial.Trial`.
    """

    sender: str
    receiver: str
    line_goodput_bps: float | None = None
    line_kind: Literal["link", "shaper"] | None = None
    line_host: str | None = None
    end: EndResult | None = None
    users_bps: float | None = field(default=None, metadata=SELDOM)
    """of users, who are no instances: what those of this client moved both ways"""


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
