# SPDX-License-Identifier: Apache-2.0
"""The idle window: what every host uses before any load runs, with all changes made."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linewatt.engine.feed import Feed
from linewatt.engine.measuring.ends import end_result
from linewatt.engine.measuring.power import IdlePower, with_power
from linewatt.engine.session import Session
from linewatt.errors import HostError, WaitTimeout
from linewatt.findings.idle import DRIFT_RATIO
from linewatt.hosts.clock import now_s
from linewatt.model import Window
from linewatt.store.read import read_json
from linewatt.store.write import write_json

LATE_LIMIT_S = 5.0
DRIFT_STEPS = 2.0
SCHEMA_VERSION = 1


Setting = tuple[tuple[str, str], ...]
"""(factor, level) of what a host's idle state may depend on"""


async def measure(
    session: Session, seconds: float, names: Collection[str] | None = None, setting: Setting = ()
) -> dict[str, Any]:
    """Wait ``seconds`` and say what the CPUs of hosts (None: all) did meanwhile. Raises WaitTimeout.

    The window begins when every source of power has been read: a gauge covers nothing before that.
    """
    hosts = [name for name in session.specs if names is None or name in names]
    feeds = [feed for name in hosts for feed in session.feeds[name]]
    meters = [feed for feed in feeds if not feed.essential]
    await asyncio.gather(*(_past(feed, feed.started_s, LATE_LIMIT_S) for feed in meters))
    window = Window(now_s(), now_s() + seconds)
    await asyncio.gather(*(_past(feed, window.end_s, seconds + LATE_LIMIT_S) for feed in feeds))
    return {
        "schema_version": SCHEMA_VERSION,
        **({"setting": dict(setting)} if setting else {}),
        "window": {"start_s": window.start_s, "end_s": window.end_s},
        "hosts": {name: _host(session, name, window) for name in hosts},
    }


class IdleBook:
    """The idle windows of a result: one for each setting of each host, since idle power depends on both.

    The first is ``idle.json``, further ones are ``idle-2.json`` and so on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._documents: list[dict[str, Any]] = []
        while (file := self._file()).exists():
            self._documents.append(read_json(file))

    def _file(self) -> Path:
        number = len(self._documents) + 1
        return self._path / ("idle.json" if number == 1 else f"idle-{number}.json")

    def add(self, document: dict[str, Any]) -> None:
        """Keep an idle window, on disk before anything else happens."""
        write_json(self._file(), document)
        self._documents.append(document)

    def lacking(self, hosts: Collection[str], setting: Setting) -> set[str]:
        """Those of ``hosts`` that have no idle window with this setting."""
        return set(hosts) - self._of(setting).keys()

    def cores(self, setting: Setting) -> dict[str, float | None]:
        """Host → cores that were busy idle with this setting."""
        return idle_cores({"hosts": self._of(setting)})

    def power(self, setting: Setting) -> dict[str, IdlePower]:
        """Host → power of its sources idle with this setting."""
        return idle_power({"hosts": self._of(setting)})

    def _of(self, setting: Setting) -> dict[str, Any]:
        wanted = dict(setting)
        return {
            name: values
            for document in self._documents
            if document.get("setting", {}) == wanted
            for name, values in document["hosts"].items()
        }


async def _past(feed: Feed, time_s: float, limit_s: float) -> None:
    """Wait for the reading behind the window; a source of power that hangs is missing, not waited for."""
    try:
        await feed.wait_past(time_s, limit_s)
    except WaitTimeout:
        if feed.essential:
            raise
    if feed.essential and feed.failure is not None:
        raise HostError(f"{feed.host}: {feed.source} {feed.failure}")


def _host(session: Session, name: str, window: Window) -> dict[str, Any]:
    readings = [feed.reading(window.start_s, window.end_s) for feed in session.feeds[name]]
    bare = end_result(session.specs[name], "receiver", readings, window, (), None, None)
    end = with_power(bare, readings, window, {})
    return {
        "cpu_cores": end.cpu_cores,
        "reason": end.reasons.get("cpu_cores"),
        "power": [asdict(one) for one in end.power],
        "power_reasons": {key: why for key, why in end.reasons.items() if key.startswith("power.")},
    }


def drift(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Where a host's idle power at the end is not what it was before, in words."""
    then, now = idle_power(before), idle_power(after)
    steps = {
        (name, one["source"], one["channel"]): one["step_w"] or 0.0
        for name, values in before["hosts"].items()
        for one in values.get("power", ())
    }
    found = []
    for name, powers in then.items():
        for (source, channel), power_w in powers.items():
            again_w = now.get(name, {}).get((source, channel))
            allowed_w = max(DRIFT_RATIO * power_w, DRIFT_STEPS * steps[name, source, channel])
            if again_w is not None and abs(again_w - power_w) > allowed_w:
                found.append(
                    f"{name}: {source} {channel}: idle power was {power_w:.1f} W before the trials and is "
                    f"{again_w:.1f} W now; figures above idle are doubtful by the difference"
                )
    return found


def idle_cores(document: dict[str, Any]) -> dict[str, float | None]:
    """Host → cores that were busy in the idle window."""
    return {name: values["cpu_cores"] for name, values in document["hosts"].items()}


def idle_power(document: dict[str, Any]) -> dict[str, IdlePower]:
    """Host → mean power of each (source, channel) in the idle window, W; those without a number left out."""
    return {
        name: {
            (one["source"], one["channel"]): one["power_w"]
            for one in values.get("power", ())
            if one["power_w"] is not None
        }
        for name, values in document["hosts"].items()
    }
