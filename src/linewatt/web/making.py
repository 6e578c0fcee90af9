# SPDX-License-Identifier: Apache-2.0
"""Pages that take long: made by few threads of their own, each once however many ask, and kept for the next.

What is kept is found under a key that changes with what a page is made of.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from fastapi import HTTPException

from linewatt.web.answers import Made

AT_ONCE = 2
MOST_WAITING = 16
MOST_BYTES = 64 << 20
"""of pages that are kept"""


class Making:
    """Threads that make pages, and the pages that were asked for last."""

    def __init__(
        self, at_once: int = AT_ONCE, most_bytes: int = MOST_BYTES, waiting: int = MOST_WAITING
    ) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="linewatt-page")
        self._most_bytes = most_bytes
        self._most = at_once + waiting
        self._kept: OrderedDict[Hashable, Made] = OrderedDict()
        self._under_way: dict[Hashable, Future[Made]] = {}
        self._lock = Lock()

    async def page(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, or gave under this key. Raises what it raises; HTTPException (503) where too
        many wait already."""
        return await asyncio.shield(asyncio.wrap_future(self._asked(key, make)))

    async def once(self, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, which is not kept."""
        return await self.page(object(), make)

    def _asked(self, key: Hashable, make: Callable[[], Made]) -> Future[Made]:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                there: Future[Made] = Future()
                there.set_result(self._kept[key])
                return there
            if key in self._under_way:
                return self._under_way[key]
            if len(self._under_way) >= self._most:
                raise HTTPException(
                    503, "too many pages are being made; try again in a moment", {"retry-after": "5"}
                )
            made = self._threads.submit(make)
            self._under_way[key] = made
        made.add_done_callback(lambda done: self._done(key, done))
        return made

    def _done(self, key: Hashable, done: Future[Made]) -> None:
        with self._lock:
            self._under_way.pop(key, None)
            if done.cancelled() or done.exception() is not None or type(key) is object:
                return
            page = done.result()
            if 2 * page.size > self._most_bytes:
                return
            self._kept[key] = page
            while sum(one.size for one in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)
