# SPDX-License-Identifier: Apache-2.0
"""Packets that were dropped, and where. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.engine.measuring.checks.load import is_lossy
from linewatt.engine.measuring.seen import Seen
from linewatt.findings.network import DROPS_SHOWN, USUAL
from linewatt.model import EndResult, Flag
from linewatt.sensors.drops import Loss, losses


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    told = is_lossy(seen.instances)
    for end in seen.ends:
        yield from drops(end, datagrams_told=told)


def drops(end: EndResult, *, datagrams_told: bool = False) -> list[Flag]:
    """Packets that the host's own counters say were dropped in the window, by cause.

    ``datagrams_told``: where the load's datagrams were lost is told with its own count (``udp-loss``).
    """
    found = [loss for loss in losses(end.counters) if _matters(loss, end)]
    if datagrams_told:
        own = {loss.cause for loss in losses(end.counters, leaving=end.role == "sender")}
        found = [loss for loss in found if loss.cause.protocol == "tcp" or loss.cause not in own]
    if not found:
        return []
    causes = ", ".join(f"{loss.words} ({', '.join(loss.counters)})" for loss in found)
    return [
        Flag(
            "packets-dropped",
            end.host,
            f"dropped in the window: {causes}",
            "look at ring sizes, socket buffers (net.core.rmem_max), queues (tc -s qdisc) and "
            "net.core.netdev_max_backlog",
        )
    ]


def _matters(loss: Loss, end: EndResult) -> bool:
    """Not a few among millions where that is usual."""
    if loss.cause.key not in USUAL:
        return True
    way = "tx" if set(loss.counters) <= set(loss.cause.leaving) else "rx"
    passed = end.counters.get(f"nic.{way}_packets")
    return passed is None or loss.packets >= DROPS_SHOWN * passed
