# SPDX-License-Identifier: Apache-2.0
"""Where packets are lost on a host, and the counters that say so: one table for trials and for soaks. Pure.

Sources: the kernel's interface statistics and snmp counter documents
(docs.kernel.org/networking/statistics.html, …/snmp_counter.html), ``enqueue_to_backlog`` in net/core/dev.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cause:
    """A place where packets are lost, and the counters that say so, of packets that leave and that arrive.

    ``key`` and ``title`` are those of a ledger's line; ``layer`` and ``what`` are the parts of the title,
    ``place`` is where it is, in a sentence. ``is_drop``: False: it only warns. ``is_packets``: False:
    connections, not packets of a transfer. ``protocol`` is the one whose packets it drops; None: any.
    """

    key: str
    layer: str
    what: str
    place: str
    leaving: tuple[str, ...] = ()
    arriving: tuple[str, ...] = ()
    is_drop: bool = True
    is_packets: bool = True
    protocol: str | None = None

    @property
    def title(self) -> str:
        return f"{self.layer}: {self.what}" if self.what else self.layer

    @property
    def channels(self) -> tuple[str, ...]:
        return (*self.leaving, *self.arriving)


def _both(name: str) -> tuple[str, str]:
    return f"nstat.Udp{name}", f"nstat.Udp6{name}"


DROP_CAUSES: tuple[Cause, ...] = (
    Cause(
        "nic_rx_dropped",
        "NIC",
        "received, no room or nobody wanted it",
        "at the interface (no room, or nobody wanted it)",
        arriving=("nic.rx_dropped",),
    ),
    Cause(
        "nic_rx_missed",
        "NIC",
        "no receive buffer (missed)",
        "in the receive ring (missed)",
        arriving=("nic.rx_missed_errors",),
    ),
    Cause(
        "nic_rx_overrun",
        "NIC",
        "receive overrun",
        "in the NIC (overrun)",
        arriving=("nic.rx_fifo_errors", "nic.rx_over_errors"),
    ),
    Cause("nic_rx_errors", "NIC", "bad packets", "on the wire (bad packets)", arriving=("nic.rx_errors",)),
    Cause(
        "nic_tx_dropped", "NIC", "not sent, dropped", "at the sending interface", leaving=("nic.tx_dropped",)
    ),
    Cause(
        "nic_tx_errors",
        "NIC",
        "not sent, error or overrun",
        "in the sending NIC (errors)",
        leaving=("nic.tx_errors", "nic.tx_fifo_errors"),
    ),
    Cause(
        "qdisc_dropped",
        "Queue discipline",
        "dropped",
        "in the queueing discipline (qdisc)",
        leaving=("qdisc.dropped",),
    ),
    Cause(
        "softnet_dropped",
        "Softnet",
        "backlog full",
        "in the backlog of a CPU (softnet)",
        arriving=("softnet.dropped",),
    ),
    Cause(
        "softnet_squeezed",
        "Softnet",
        "budget used up (no loss)",
        "in softirq",
        arriving=("softnet.time_squeeze",),
        is_drop=False,
    ),
    Cause(
        "ip_discards",
        "IP",
        "discarded",
        "by IP",
        leaving=("nstat.IpOutDiscards",),
        arriving=("nstat.IpInDiscards",),
    ),
    Cause(
        "ip6_discards",
        "IPv6",
        "discarded",
        "by IPv6",
        leaving=("nstat.Ip6OutDiscards",),
        arriving=("nstat.Ip6InDiscards",),
    ),
    Cause(
        "tcp_backlog",
        "TCP socket",
        "backlog full",
        "in the backlog of a TCP socket",
        arriving=("nstat.TcpExtTCPBacklogDrop",),
        protocol="tcp",
    ),
    Cause(
        "tcp_receive_queue",
        "TCP socket",
        "receive queue or window full",
        "in the receive queue of a TCP socket",
        arriving=(
            "nstat.TcpExtTCPRcvQDrop",
            "nstat.TcpExtTCPZeroWindowDrop",
            "nstat.TcpExtPFMemallocDrop",
        ),
        protocol="tcp",
    ),
    Cause(
        "tcp_pruned",
        "TCP socket",
        "pruned for memory",
        "in a TCP socket (pruned for memory)",
        arriving=("nstat.TcpExtRcvPruned", "nstat.TcpExtOfoPruned", "nstat.TcpExtTCPOFODrop"),
        protocol="tcp",
    ),
    Cause(
        "listen_drops",
        "Listening socket",
        "connections refused",
        "at a listening socket",
        arriving=("nstat.TcpExtListenDrops",),
        is_packets=False,
        protocol="tcp",
    ),
    Cause(
        "udp_receive_buffer",
        "UDP socket",
        "receive buffer full",
        "in the receive buffer of the UDP socket",
        arriving=_both("RcvbufErrors"),
        protocol="udp",
    ),
    Cause(
        "udp_send_buffer",
        "UDP socket",
        "send buffer full",
        "in the send buffer of the UDP socket",
        leaving=_both("SndbufErrors"),
        protocol="udp",
    ),
    Cause(
        "udp_memory",
        "UDP socket",
        "no memory",
        "at the UDP socket (no memory)",
        arriving=_both("MemErrors"),
        protocol="udp",
    ),
    Cause(
        "checksums",
        "Wrong checksum",
        "",
        "for a wrong checksum",
        arriving=("nstat.TcpInCsumErrors", *_both("InCsumErrors")),
    ),
)
"""What would count a loss twice is left out: flow_limit is in softnet's dropped, rx_crc_errors and
the like in rx_errors, ListenOverflows in ListenDrops."""

COUNTED_TWICE = (
    ("softnet_dropped", "nic_rx_dropped"),
    ("qdisc_dropped", "ip_discards"),
    ("qdisc_dropped", "ip6_discards"),
    ("ip_discards", "udp_send_buffer"),
    ("ip6_discards", "udp_send_buffer"),
)
"""Where packets are dropped, and where the same are counted again. What a full backlog drops is counted for
the CPU and for the interface that it came by; a datagram that a queueing discipline drops, by IP
(``ip_send_skb``) and as an error of its socket (``udp_send_skb``), too."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets that one host dropped for one cause, by the counters that moved."""

    cause: Cause
    packets: float
    counters: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"{self.packets:.0f} {self.cause.place}"


def losses_of_host(counted: Mapping[str, float | None], *, leaving: bool | None = None) -> list[Loss]:
    """What a host's counters say it dropped, each packet once, the most first.

    ``leaving``: only packets that leave (True) or arrive (False). A counter that could not be read is none.
    """
    loss_by_cause = {
        cause.key: loss for cause in DROP_CAUSES if (loss := _loss(cause, counted, leaving)) is not None
    }
    again = _again(loss_by_cause.values(), counted, leaving)
    loss_by_cause = {
        key: replace(loss, packets=loss.packets - again.get(key, 0.0)) for key, loss in loss_by_cause.items()
    }
    return sorted(
        (loss for loss in loss_by_cause.values() if loss.packets > 0), key=lambda loss: -loss.packets
    )


def _again(
    losses_found: Iterable[Loss], counted: Mapping[str, float | None], leaving: bool | None
) -> dict[str, float]:
    """Packets by cause that another cause counts too, in the same direction: out or in."""
    ways = {True: lambda cause: cause.leaving, False: lambda cause: cause.arriving}
    again: dict[str, float] = {}
    for way in ways if leaving is None else (leaving,):
        moved = {
            loss.cause.key: sum(counted.get(name) or 0.0 for name in ways[way](loss.cause))
            for loss in losses_found
        }
        for part, total in COUNTED_TWICE:
            remaining = moved.get(total, 0.0) - again.get(total, 0.0)
            again[total] = again.get(total, 0.0) + min(moved.get(part, 0.0), max(0.0, remaining))
    return again


def _loss(cause: Cause, counted: Mapping[str, float | None], leaving: bool | None) -> Loss | None:
    if not cause.is_drop or not cause.is_packets:
        return None
    channels = {None: cause.channels, True: cause.leaving, False: cause.arriving}[leaving]
    moved = tuple(_moved(channels, counted))
    return Loss(cause, sum(counted[name] or 0.0 for name in moved), moved) if moved else None


def _moved(channels: tuple[str, ...], counted: Mapping[str, float | None]) -> Iterator[str]:
    return (name for name in channels if counted.get(name))
