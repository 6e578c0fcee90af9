# SPDX-License-Identifier: Apache-2.0
"""How slowly hosts answered and how long they were given, where that is not what any host is given."""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.hosts.limits import NAMES
from linewatt.records import Connection

TITLE = "Slow hosts"


def connection_lines(hosts: Mapping[str, Connection]) -> list[str]:
    """A line a host."""
    return [f"{name}: {connection_text(one)}" for name, one in hosts.items()]


def connection_text(one: Connection) -> str:
    """The slowest answer of a host, then each limit with where it is from."""
    limits = [_limit_text(one, limit) for limit in NAMES if limit in (*one.stated, *one.learned)]
    parts = [f"slowest answer to a heartbeat {one.slowest_answer_s:.3g} s"]
    parts += [f"limits: {', '.join(limits)}"] if limits else []
    if one.is_raised is not None:
        parts.append(f"its SSH session was {'' if one.is_raised else 'not '}raised to SCHED_RR")
    return "; ".join(parts)


def _limit_text(one: Connection, limit: str) -> str:
    """``silence 4.5 s (learned)``."""
    seconds = getattr(one, limit)
    given = "each command's own" if seconds is None else f"{seconds:g} s"
    return f"{limit.removesuffix('_s')} {given} ({'stated' if limit in one.stated else 'learned'})"
