# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of an instance's connections, all streams together. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linewatt.hosts.sockets import Connection
from linewatt.model import TcpState


def tcp_state(found: Sequence[Connection], own: Collection[tuple[int, int]]) -> TcpState | None:
    """Of the connections with these ports (own, other end's); ``None`` unless all of them are there."""
    streams = [one for one in found if (one.local_port, one.peer_port) in own]
    if not own or len(streams) < len(own):
        return None
    rtts_s = [one.rtt_s for one in streams if one.rtt_s is not None]
    names = sorted({one.congestion for one in streams if one.congestion is not None})
    return TcpState(
        streams=len(streams),
        busy_s=_sum([one.busy_s for one in streams]),
        rwnd_limited_s=_sum([one.rwnd_limited_s for one in streams]),
        sndbuf_limited_s=_sum([one.sndbuf_limited_s for one in streams]),
        cwnd_bytes=_cwnd_bytes(streams),
        rtt_s=sum(rtts_s) / len(rtts_s) if rtts_s else None,
        congestion=", ".join(names) or None,
    )


def _cwnd_bytes(streams: Sequence[Connection]) -> int | None:
    products = [(one.cwnd_packets, one.mss_bytes) for one in streams]
    total = 0
    for packets, mss_bytes in products:
        if packets is None or mss_bytes is None:
            return None
        total += packets * mss_bytes
    return total


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
