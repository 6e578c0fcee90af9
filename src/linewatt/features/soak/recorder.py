# SPDX-License-Identifier: Apache-2.0
"""Everything that is read during a soak, on disk chunk by chunk: memory holds what came since the last."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linewatt.engine import events
from linewatt.engine.live import Feed
from linewatt.features.soak import storage as store
from linewatt.features.users.soaks import SoakUsers
from linewatt.hosts import now_s
from linewatt.model import Channel, Sample
from linewatt.store import Series

GOOD = {"server-started", "host-back", "client-back"}
CHUNK_S = 30.0
"""what a controller that is killed loses at most, and how much memory holds"""
TURN_S = 0.0005
INTERVALS_A_CHUNK = 3
"""at most: a soak of short intervals is stored as much more often"""


@contextmanager
def _short_turns() -> Iterator[None]:
    """Have a thread that computes hand over every half millisecond: heartbeats wait for each turn of it."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(usual_s)


class Recorder:
    """Chunks of one part. ``feeds`` are all sensors; ``users`` is None for a load without any."""

    def __init__(
        self,
        feeds: Callable[[], Iterable[Feed]],
        users: SoakUsers | None,
        say: events.OnEvent,
    ) -> None:
        self._part: Path | None = None
        self._feeds = feeds
        self._users = users
        self._say = say
        self._events: list[dict[str, Any]] = []
        self._extra: list[Series] = []
        self._number = 0
        self._storing: asyncio.Task[None] | None = None
        self._upto: dict[tuple[str, str], float] = {}
        self._problems: set[tuple[str, str]] = set()

    def begin(self, part: Path) -> None:
        """From here on users work: what they and the server counted is nothing yet."""
        self._part, began_s = part, now_s()
        if self._users is not None:
            self._users.totals.begin(self._users.users.clients, began_s)
        for feed in self._feeds():
            feed.forget_before(began_s)  # but for the last, where totals start
        self._extra += self._server_series()

    def happened(self, kind: str, host: str, text: str) -> None:
        """Keep an event of now for the next chunk, and tell it."""
        self._events.append({"time_s": now_s(), "kind": kind, "host": host, "text": text})
        where = f"{host}: {text}" if host else text
        self._say(events.Phase(where) if kind in GOOD else events.Warned(where))

    def add(self, series: Iterable[Series]) -> None:
        """Samples of something else, for the next chunk."""
        self._extra += series

    async def run(self, interval_s: float) -> None:
        """Store a chunk every so often, until cancelled. Raises StoreError."""
        while True:
            await asyncio.sleep(min(CHUNK_S, INTERVALS_A_CHUNK * interval_s))
            self._storing = asyncio.create_task(self._store())
            await asyncio.shield(self._storing)  # a chunk that was begun is written, also when all ends

    async def watch_server(self, every_s: float) -> None:
        """What the server counted, as often as users are asked, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            self._extra += self._server_series()

    async def last(self) -> None:
        """Store what is left, when nothing comes any more. Raises StoreError, DiskFull."""
        if self._storing is not None:
            await self._storing
        await self._store()

    async def _store(self) -> None:
        if self._part is None:  # it never began
            return
        series = [sensed async for sensed in self._sensed()]
        series += [*self._server_series(), *self._extra]
        counted, tally = ([], None) if self._users is None else self._users.totals.taken()
        events_, self._events, self._extra = self._events, [], []
        users = None if tally is None else tally.as_dict()
        self._number += 1
        with _short_turns():
            await asyncio.to_thread(
                store.write_chunk, self._part, self._number, [*series, *counted], users, events_
            )

    async def _sensed(self) -> AsyncIterator[Series]:
        """One sensor after the other: heartbeats of all hosts must come in between."""
        for feed in self._feeds():
            await asyncio.sleep(0)
            key = (feed.host, feed.source)
            reading = feed.later(self._upto.get(key, 0.0))
            if reading.records:
                self._upto[key] = reading.records[-1].time_s
                feed.forget_before(self._upto[key])
            for problem in reading.problems[:1]:
                if key not in self._problems:
                    self._problems.add(key)
                    self.happened("warning", feed.host, f"{feed.source}: {problem}")
            if reading.channels:
                samples = list(thinned(reading.samples(), reading.channels))
                yield Series(feed.host, feed.source, reading.channels, samples)

    def _server_series(self) -> list[Series]:
        return [] if self._users is None else self._users.server_series()


def thinned(samples: Iterable[Sample], channels: Mapping[str, Channel]) -> Iterator[Sample]:
    """The samples of one source, those of one channel in order of time; missing ones all stay."""
    last: dict[str, float | None] = {}
    held: dict[str, Sample] = {}
    for sample in samples:
        name = sample.channel
        if channels[name].kind != "counter":
            yield sample
        elif name in last and sample.value is not None and sample.value == last[name]:
            held[name] = sample
        else:
            if (before := held.pop(name, None)) is not None:
                yield before
            last[name] = sample.value
            yield sample
    yield from held.values()
