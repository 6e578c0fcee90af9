# SPDX-License-Identifier: Apache-2.0
"""The lies of measurement that a single trial can give away. Each check returns flags, or nothing.

Pure; thresholds are named here and each is about what the field calls a visible difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from linewatt.engine.feed import Reading
from linewatt.engine.measuring.window import EndRun
from linewatt.hosts.base import HostSpec
from linewatt.hosts.clock import Offset
from linewatt.model import Case, EndResult, Flag, InstanceResult
from linewatt.sensors import cpu_check
from linewatt.sensors.mpstat import record_time_s

LOSS_SHOWN = 0.001
FULL_CPU = 0.98
HEADROOM = 0.90
START_UNCERTAINTY_S = 0.1
CLOCK_UNCERTAINTY_S = 0.05
ARRIVAL_LATE_S = 1.5
BUSY_IDLE_CORES = 0.1
SPINS_FROM, SPINS_BEFORE = (3, 16), (3, 18)
DROP_COUNTERS = (
    "nic.rx_dropped",
    "nic.rx_missed_errors",
    "nic.rx_over_errors",
    "nic.rx_fifo_errors",
    "nic.rx_errors",
    "nic.tx_dropped",
    "nic.tx_errors",
    "softnet.dropped",
    "nstat.UdpRcvbufErrors",
    "nstat.UdpSndbufErrors",
    "nstat.Udp6RcvbufErrors",
    "nstat.TcpExtTCPRcvQDrop",
    "nstat.TcpExtTCPBacklogDrop",
)


def placement(case: Case, instances: Sequence[InstanceResult], hosts: Sequence[HostSpec]) -> list[Flag]:
    """Instances on one CPU, threads of one process on one CPU, both roles on one CPU, hosts on one CPU."""
    flags = []
    for host in hosts:
        cpus = [one.sender_cpu if host.name == case.sender else one.receiver_cpu for one in instances]
        used = Counter(cpu for cpu in cpus if cpu is not None)
        crowded = [cpu for cpu, number in used.items() if number > 1]
        if crowded:
            flags.append(
                Flag(
                    "instances-share-cpu",
                    host.name,
                    f"{used[crowded[0]]} instances run on CPU {crowded[0]}",
                    "name at least as many app_cpus as instances",
                )
            )
        if case.streams > 1 and used:
            flags.append(
                Flag(
                    "streams-share-cpu",
                    host.name,
                    f"{case.streams} streams of an instance share its one CPU",
                    "use instances rather than streams to load more CPUs",
                )
            )
        both = set(used) & {str(cpu) for cpu in host.irq_cpus or ()}
        if both:
            flags.append(
                Flag(
                    "app-irq-share-cpu",
                    host.name,
                    f"CPU {min(both)} runs a load process and takes the receive work",
                    "give app_cpus and irq_cpus different CPUs",
                )
            )
    if any(one.name in other.shares_cpus_with for one in hosts for other in hosts):
        flags.append(
            Flag(
                "hosts-share-cpus",
                f"{hosts[0].name}, {hosts[-1].name}",
                "both ends run on the same CPUs, so each end's CPU use contains the other's",
                "use hosts with CPUs of their own for any figure on CPU cost",
            )
        )
    return flags


def datagrams(case: Case, instances: Sequence[InstanceResult]) -> list[Flag]:
    """UDP that was sent but not received, and datagrams out of order."""
    packets = sum(one.packets or 0 for one in instances)
    lost = sum(one.lost_packets or 0 for one in instances)
    disordered = sum(one.out_of_order_packets or 0 for one in instances)
    flags = []
    if packets and lost / packets >= LOSS_SHOWN:
        flags.append(
            Flag(
                "udp-loss",
                case.receiver,
                f"{lost} of {packets} datagrams lost in the window ({100 * lost / packets:.2f} %)",
                "throughput is what arrived; offer less (rate) to learn what arrives without loss",
            )
        )
    if packets and disordered / packets >= LOSS_SHOWN:
        flags.append(
            Flag(
                "udp-out-of-order",
                case.receiver,
                f"{disordered} of about {packets} datagrams arrived out of order",
                "look for more than one path or queue between the hosts",
            )
        )
    return flags


def alignment(ends: Sequence[EndRun], clocks: Mapping[str, Offset]) -> list[Flag]:
    """Series that may not lie where they are thought to lie on the one time line."""
    flags = []
    start_s = max((end.start_uncertainty_s for end in ends), default=0.0)
    if start_s > START_UNCERTAINTY_S:
        flags.append(
            Flag(
                "start-uncertain",
                "window",
                f"a load's start is known to ±{start_s:.2f} s only",
                "lengthen window.omit and the window, or find what delays the load's connection",
            )
        )
    for host, clock in clocks.items():
        if clock.uncertainty_s > CLOCK_UNCERTAINTY_S:
            flags.append(
                Flag(
                    "clock-uncertain",
                    host,
                    f"its clock is known to ±{1000 * clock.uncertainty_s:.0f} ms only",
                    "use a management network with a shorter round trip, or a longer window",
                )
            )
    return flags


def bottleneck(case: Case, sender: EndResult, receiver: EndResult) -> list[Flag]:
    """A sender whose CPU is full while the receiver has room: the figure is the sender's.

    A load level is limited by what it asks for; that a sender does not keep up is said where levels are
    (analysis/load_levels.py).
    """
    if case.load_level is not None:
        return []
    if sender.app_cpu is None or receiver.app_cpu is None:
        return []
    busy = 1 - sender.app_cpu.idle_ratio
    roles = [role for role in (receiver.app_cpu, receiver.irq_cpu) if role is not None]
    fullest = max(1 - role.idle_ratio for role in roles)
    if busy < FULL_CPU or fullest > HEADROOM:
        return []
    return [
        Flag(
            "sender-is-the-bottleneck",
            case.sender,
            f"its app CPU is {100 * busy:.1f} % busy, the receiver's fullest CPU {100 * fullest:.1f} %",
            "the receiver could take more: send from more instances or a faster host",
        )
    ]


def cpu(end: EndResult, case: Case, host: HostSpec, tick_accounting: bool | None) -> list[Flag]:
    """CPU accounting that disagrees with what the load says of itself."""
    return cpu_check.check(
        end,
        paced=case.paced,
        tick_accounting=tick_accounting,
        dedicated=_dedicated(end, host),
    )


def _dedicated(end: EndResult, host: HostSpec) -> bool:
    """Whether the app CPUs are for the load alone: no receive work, and no other host, is put there."""
    if end.app_cpu is None or host.shares_cpus_with:
        return False
    return not set(end.app_cpu.cpus) & set(host.irq_cpus or ())


def spinning(case: Case, runs: Sequence[EndRun]) -> list[Flag]:
    """A rate-limited iperf3 that burns its CPU while it waits: its CPU use is not the cost of the traffic."""
    for run in runs:
        version = tuple(int(part) for part in re.findall(r"\d+", run.load.version)[:2])
        if case.paced and run.load.is_sender and SPINS_FROM <= version < SPINS_BEFORE:
            return [
                Flag(
                    "load-spins",
                    case.sender,
                    f"iperf3 {run.load.version} busy-waits between the packets of a rate-limited test",
                    "use iperf3 before 3.16 or from 3.18 on, or leave the rate out",
                )
            ]
    return []


def drops(end: EndResult) -> list[Flag]:
    """Packets that the host's own counters say were dropped in the window, by cause."""
    dropped = {name: value for name in DROP_COUNTERS if (value := end.counters.get(name))}
    if not dropped:
        return []
    causes = ", ".join(f"{name} {value:.0f}" for name, value in dropped.items())
    return [
        Flag(
            "packets-dropped",
            end.host,
            f"dropped in the window: {causes}",
            "look at ring sizes, socket buffers (net.core.rmem_max) and net.core.netdev_max_backlog",
        )
    ]


def background(end: EndResult, idle_cores: float | None) -> list[Flag]:
    """A host that was busy before any load ran: its CPU figures contain somebody else's work."""
    if idle_cores is None or idle_cores <= BUSY_IDLE_CORES:
        return []
    return [
        Flag(
            "host-not-idle",
            end.host,
            f"{idle_cores:.2f} cores were busy in the idle window",
            "find what else runs there (top, systemd timers) and measure again",
        )
    ]


def sensors(end: EndResult, readings: Sequence[Reading], clock: Offset) -> list[Flag]:
    """Sensors that stall, do not parse, or whose stamps disagree with their arrival."""
    flags = []
    for reading in readings:
        if reading.problems:
            flags.append(
                Flag(
                    "sensor-unreadable",
                    f"{end.host}: {reading.source}",
                    f"{len(reading.problems)} records could not be read, the first: {reading.problems[0]}",
                    "see the trial's raw directory",
                )
            )
        if reading.source == "mpstat" and (late_s := _late_s(reading, clock)) > ARRIVAL_LATE_S:
            flags.append(
                Flag(
                    "sensor-late",
                    f"{end.host}: {reading.source}",
                    f"a record arrived {late_s:.1f} s after its own stamp",
                    "the CPU and load windows may not be aligned; look for a stalled connection",
                )
            )
    if end.cpu_cores is None:
        flags.append(
            Flag(
                "cpu-missing",
                end.host,
                end.reasons["cpu_cores"],
                "see the trial's raw mpstat records; lengthen window.tail",
            )
        )
    return flags


def _late_s(reading: Reading, clock: Offset) -> float:
    """The largest delay between a record's own stamp (whole seconds, host clock) and its arrival."""
    delays = [0.0]
    for record in reading.records:
        stamp_s = record_time_s(record.text, record.received_s + clock.offset_s)
        if stamp_s is not None:
            delays.append(record.received_s - clock.to_controller(stamp_s))
    return max(delays)
