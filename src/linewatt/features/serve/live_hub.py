# SPDX-License-Identifier: Apache-2.0
"""One connection to each run that is looked at, whatever the number of browsers.

A run thus has one reader of this server, which always reads. What a browser is slow to take is thrown away
here: it gets all that is to be seen at once when it comes round to it.
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
"""events that a browser has not taken; with more it gets the whole instead"""
MOST_BROWSERS = 64
"""pages that are kept up to date at once"""
ENDED_S = 60.0
"""for which it is kept how a run ended, for who comes back: later it may have been gone on with"""
AGAIN_S = 1.0
"""before a run that cut us off is connected to again"""


class TooMany(LinewattError):
    """More pages are open than are kept up to date."""


class Listener:
    """A browser: what is to be sent to it, at most :data:`MOST_QUEUED` events of it."""

    def __init__(self, whole: Callable[[], Words]) -> None:
        self._whole = whole
        self._queue: deque[tuple[str, Words]] = deque()
        self._arrived = asyncio.Event()
        self._behind = True
        self._over: Words | None = None

    def put(self, words: Words) -> None:
        """An event; one that is too much throws all away for the whole."""
        if not self._behind:
            self._queue.append(("change", words))
        if len(self._queue) > MOST_QUEUED:
            self.renew()
        self._arrived.set()

    def renew(self) -> None:
        """Have it get the whole next."""
        self._queue.clear()
        self._behind = True
        self._arrived.set()

    def end(self, words: Words) -> None:
        """The last that it gets."""
        self._over = words
        self._arrived.set()

    @property
    def waiting(self) -> int:
        """How many events it has not taken."""
        return len(self._queue)

    async def next(self, limit_s: float) -> tuple[str, Words] | None:
        """The next event: its name and data; ``None`` where there is none in time. ``closed`` is the last."""
        if not (self._behind or self._queue or self._over):
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await self._arrived.wait()
        if self._behind:
            self._behind = False
            self._queue.clear()
            return "whole", self._whole()
        if self._queue:
            return self._queue.popleft()
        return None if self._over is None else ("closed", self._over)


class Watched:
    """A run, and the browsers that look at it."""

    def __init__(self, state: Path, result_id: str, ended: Callable[[str, Words], None]) -> None:
        """``ended`` is told how it did."""
        self._ended = ended
        self.view = View()
        self.listeners: set[Listener] = set()
        self._state, self._id = state, result_id
        self._first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._follow())

    async def ready(self) -> None:
        """Once there is something to be seen. Raises NotRunning."""
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
            self._first.exception()  # it was told to whom it concerned

    async def _follow(self) -> None:
        """Until its end. What goes wrong is why it cannot be looked at, or its end."""
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
            for one in self.listeners:
                one.end(words)

    async def _connection(self) -> None:
        """Take what one connection tells. Raises NotRunning, also where no run tells such."""
        async with aclosing(client.watch(self._state, self._id)) as told:
            async for document in told:
                try:
                    with contained(f"what {self._id} tells"):
                        self._take(document)
                except ParseError as error:
                    raise NotRunning(str(error)) from error

    def _take(self, document: Words) -> None:
        if document.get("event") == "snapshot":
            self.view = View(document)
            live_words.whole(self.view)  # what cannot be shown is found here
            for one in self.listeners:
                one.renew()
            if not self._first.done():
                self._first.set_result(None)
            return
        self.view.take(document)
        words = self._words(document)
        for one in self.listeners:
            one.put(words)

    def _words(self, document: Words) -> Words:
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
    """All runs that are looked at."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._watched: dict[str, Watched] = {}
        self._ended: dict[str, tuple[float, Words]] = {}

    @property
    def browsers(self) -> int:
        return sum(len(one.listeners) for one in self._watched.values())

    def ended(self, result_id: str) -> Words | None:
        """How a run ended just now, if a browser looked at it then."""
        since_s = time.monotonic() - ENDED_S
        self._ended = {name: one for name, one in self._ended.items() if one[0] > since_s}
        return self._ended[result_id][1] if result_id in self._ended else None

    def _note(self, result_id: str, words: Words) -> None:
        self._ended[result_id] = time.monotonic(), words

    @asynccontextmanager
    async def listening(self, result_id: str) -> AsyncIterator[Listener]:
        """A browser that looks at a run. Raises NotRunning, TooMany."""
        if self.browsers >= MOST_BROWSERS:
            raise TooMany(f"{MOST_BROWSERS} pages are open already; close some")
        watched = self._watched.get(result_id)
        if watched is None or watched.is_done:
            watched = self._watched[result_id] = Watched(self._state, result_id, self._note)
        listener = Listener(lambda: live_words.whole(watched.view))
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
