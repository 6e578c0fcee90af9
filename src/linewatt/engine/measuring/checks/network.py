# SPDX-License-Identifier: Apache-2.0
"""Packets that were dropped, and where. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.engine.measuring.seen import Seen
from linewatt.model import EndResult, Flag

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


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from drops(end)


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
