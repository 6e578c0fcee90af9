# SPDX-License-Identifier: Apache-2.0
"""One connection to each watched run, shared by all browsers.

The hub always reads, so a slow browser does not slow down the run: its queued events are dropped, and it gets
the full state next.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

from linewatt.errors import LinewattError, ParseError
from linewatt.features.serve import live_words
from linewatt.features.serve.broadcast import client
from linewatt.features.serve.broadcast.client import NotRunning
from linewatt.features.serve.broadcast.view import View
from linewatt.features.serve.live_words import Words
from linewatt.foreign import contained

MOST_QUEUED = 16
"""events queued for a browser; with more it gets the full state instead"""
MOST_BROWSERS = 64
"""pages that are kept up to date at once"""
ENDED_S = 60.0
"""for which the end of a run is kept for reconnecting browsers; later the run may have been resumed"""
AGAIN_S = 1.0
"""before reconnecting to a run that closed the connection"""


class TooMany(LinewattError):
    """More than :data:`MOST_BROWSERS` live pages are open."""


class Listener:
    """A browser and its queue of at most :data:`MOST_QUEUED` events."""

    def __init__(self, make_page: Callable[[], Words]) -> None:
        self._make_page = make_page
        self._queue: deque[tuple[str, Words]] = deque()
        self._arrived = asyncio.Event()
        self._behind = True
        self._over: Words | None = None

    def put(self, words: Words) -> None:
        """Queue an event; a full queue is dropped in favour of the full state."""
        if not self._behind:
            self._queue.append(("change", words))
        if len(self._queue) > MOST_QUEUED:
            self.renew()
        self._arrived.set()

    def renew(self) -> None:
        """Send the full state next."""
        self._queue.clear()
        self._behind = True
        self._arrived.set()

    def end(self, words: Words) -> None:
        """Queue the last event."""
        self._over = words
        self._arrived.set()

    @property
    def waiting(self) -> int:
        """Number of queued events."""
        return len(self._queue)

    async def next(self, limit_s: float) -> tuple[str, Words] | None:
        """Name and data of the next event; ``None`` after ``limit_s``. ``closed`` is the last."""
        if not (self._behind or self._queue or self._over):
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await self._arrived.wait()
        if self._behind:
            self._behind = False
            self._queue.clear()
            return "whole", self._make_page()
        if self._queue:
            return self._queue.popleft()
        return None if self._over is None else ("closed", self._over)


class WatchedRun:
    """A run and the browsers that watch it."""

    def __init__(self, state: Path, result_id: str, ended: Callable[[str, Words], None]) -> None:
        """``ended`` is called with the id and the final state."""
        self._ended = ended
        self.view = View()
        self.listeners: set[Listener] = set()
        self._state, self._id = state, result_id
        self._first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._follow())

    async def ready(self) -> None:
        """Wait for the first snapshot. Raises NotRunning."""
        await asyncio.shield(self._first)

    @property
    def is_done(self) -> bool:
        return self._task.done()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()
        if self._first.done() and not self._first.cancelled():
            self._first.exception()  # already raised to the browsers that waited

    async def _follow(self) -> None:
        """Follow the run until its end. An error before the first snapshot is raised by ``ready``."""
        try:
            while self.view.state["closed"] is None:
                await self._connection()
                if self.view.state["closed"] is None:
                    await asyncio.sleep(AGAIN_S)
        except Exception as error:
            if not self._first.done():
                self._first.set_exception(error)
            if not isinstance(error, LinewattError):
                raise
        finally:
            words = live_words.closed(self.view)
            if self.view.state["closed"] is not None:
                self._ended(self._id, words)
            for listener in self.listeners:
                listener.end(words)

    async def _connection(self) -> None:
        """Take all documents of one connection. Raises NotRunning, also for invalid documents."""
        async with aclosing(client.watch(self._state, self._id)) as documents:
            async for document in documents:
                try:
                    with contained(f"what {self._id} tells"):
                        self._take_document(document)
                except ParseError as error:
                    raise NotRunning(str(error)) from error

    def _take_document(self, document: Words) -> None:
        if document.get("event") == "snapshot":
            self.view = View(document)
            live_words.full_page(self.view)  # raises for a state that cannot be shown
            for listener in self.listeners:
                listener.renew()
            if not self._first.done():
                self._first.set_result(None)
            return
        self.view.take(document)
        words = self._change_words(document)
        for listener in self.listeners:
            listener.put(words)

    def _change_words(self, document: Words) -> Words:
        match document["event"]:
            case "trial_stored":
                return live_words.stored(self.view)
            case "now":
                return live_words.second(self.view)
            case "warned":
                return {**live_words.moment(self.view), "findings": live_words.findings(self.view)}
            case _:
                return live_words.moment(self.view)


class Hub:
    """All watched runs."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._watched: dict[str, WatchedRun] = {}
        self._ended: dict[str, tuple[float, Words]] = {}

    @property
    def browsers(self) -> int:
        return sum(len(watched.listeners) for watched in self._watched.values())

    def ended(self, result_id: str) -> Words | None:
        """The final state of a run that ended within ENDED_S, if a browser watched it."""
        since_s = time.monotonic() - ENDED_S
        self._ended = {name: end for name, end in self._ended.items() if end[0] > since_s}
        return self._ended[result_id][1] if result_id in self._ended else None

    def _remember_end(self, result_id: str, words: Words) -> None:
        self._ended[result_id] = time.monotonic(), words

    @asynccontextmanager
    async def listening(self, result_id: str) -> AsyncIterator[Listener]:
        """Register a browser for a run. Raises NotRunning, TooMany."""
        if self.browsers >= MOST_BROWSERS:
            raise TooMany(f"{MOST_BROWSERS} pages are open already; close some")
        watched = self._watched.get(result_id)
        if watched is None or watched.is_done:
            watched = self._watched[result_id] = WatchedRun(self._state, result_id, self._remember_end)
        listener = Listener(lambda: live_words.full_page(watched.view))
        watched.listeners.add(listener)
        try:
            await watched.ready()
            yield listener
        finally:
            watched.listeners.discard(listener)
            if not watched.listeners:
                if self._watched.get(result_id) is watched:
                    del self._watched[result_id]
                await watched.close()
