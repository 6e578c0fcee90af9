# SPDX-License-Identifier: Apache-2.0
"""The idle window: what every host uses before any load runs, with all changes made."""

from __future__ import annotations

import asyncio
from typing import Any

from linewatt.engine.ends import end_result
from linewatt.engine.session import Session
from linewatt.hosts.clock import now_s
from linewatt.model import Window

LATE_LIMIT_S = 5.0
SCHEMA_VERSION = 1


async def measure(session: Session, seconds: float) -> dict[str, Any]:
    """Wait ``seconds`` and say what each host's CPUs did meanwhile. Raises WaitTimeout."""
    window = Window(now_s(), now_s() + seconds)
    feeds = [feed for own in session.feeds.values() for feed in own]
    await asyncio.gather(*(feed.wait_past(window.end_s, seconds + LATE_LIMIT_S) for feed in feeds))
    return {
        "schema_version": SCHEMA_VERSION,
        "window": {"start_s": window.start_s, "end_s": window.end_s},
        "hosts": {name: _host(session, name, window) for name in session.specs},
    }


def _host(session: Session, name: str, window: Window) -> dict[str, Any]:
    readings = [feed.reading(window.start_s, window.end_s) for feed in session.feeds[name]]
    end = end_result(session.specs[name], "receiver", readings, window, (), None, None)
    return {"cpu_cores": end.cpu_cores, "reason": end.reasons.get("cpu_cores")}


def idle_cores(document: dict[str, Any]) -> dict[str, float | None]:
    """Host → cores that were busy in the idle window."""
    return {name: values["cpu_cores"] for name, values in document["hosts"].items()}
