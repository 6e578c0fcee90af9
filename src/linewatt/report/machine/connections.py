# SPDX-License-Identifier: Apache-2.0
"""How slowly hosts answered and how long they were given, where that is not what any host is given."""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.hosts import LIMIT_NAMES
from linewatt.records import Connection

TITLE = "Slow hosts"


def connection_lines(hosts: Mapping[str, Connection]) -> list[str]:
    """A line a host."""
    return [f"{name}: {connection_text(host)}" for name, host in hosts.items()]


def connection_text(connection: Connection) -> str:
    """The slowest answer of a host, then each limit with where it is from."""
    limits = [
        _limit_text(connection, limit)
        for limit in LIMIT_NAMES
        if limit in (*connection.stated, *connection.learned)
    ]
    parts = [f"slowest answer to a heartbeat {connection.slowest_answer_s:.3g} s"]
    parts += [f"limits: {', '.join(limits)}"] if limits else []
    if connection.is_raised is not None:
        parts.append(f"its SSH session was {'' if connection.is_raised else 'not '}raised to SCHED_RR")
    return "; ".join(parts)


def _limit_text(connection: Connection, limit: str) -> str:
    """``silence 4.5 s (learned)``."""
    seconds = getattr(connection, limit)
    limit_text = "each command's own" if seconds is None else f"{seconds:g} s"
    return (
        f"{limit.removesuffix('_s')} {limit_text} ({'stated' if limit in connection.stated else 'learned'})"
    )
