# SPDX-License-Identifier: Apache-2.0
"""Slow pages: made by a few processes, once for concurrent requests, and cached.

Drawing charts blocks all threads of a process; in the server it would block all requests and the shutdown.
The key of a cached page changes with the files that the page is made of.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Lock

from fastapi import HTTPException

from linewatt.errors import StoreError
from linewatt.features.serve.responses import Body

AT_ONCE = 2
MOST_WAITING = 16
MOST_BYTES = 64 << 20
"""limit of the cache"""
_PAGES_EACH = 200
"""pages per process before it is replaced, which frees the memory of large results"""
_NICE = 10
"""a campaign on this machine has priority"""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def processes() -> Executor:
    """A pool of processes that end with this process, even if it is killed."""
    return ProcessPoolExecutor(
        AT_ONCE,
        multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(),),
        max_tasks_per_child=_PAGES_EACH,
    )


def _begin(server: int) -> None:
    """Ignore Ctrl-C, lower the priority, and end with the server process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICE)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(0)


class PagePool:
    """Pages being made, and a cache of those requested last."""

    def __init__(
        self,
        pool: Executor | None = None,
        *,
        waiting: int = MOST_WAITING,
        at_once: int = AT_ONCE,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._given_pool = pool
        self._pool: Executor | None = pool
        self._most_bytes = most_bytes
        self._most = at_once + waiting
        self._kept: OrderedDict[Hashable, Body] = OrderedDict()
        self._under_way: dict[Hashable, Future[Body]] = {}
        self._lock = Lock()

    async def page(self, key: Hashable, make: Callable[..., Body], *arguments: object) -> Body:
        """The cached page of ``key``, or ``make(*arguments)``, called in another process.

        Raises what ``make`` raises; HTTPException (503) if too many pages are waiting.
        """
        try:
            return await asyncio.shield(asyncio.wrap_future(self._future_of(key, make, arguments)))
        except BrokenProcessPool as error:
            self._replace_pool()
            raise StoreError(
                "what made this page ended; it may have needed more memory than there is"
            ) from error

    async def once(self, make: Callable[..., Body], *arguments: object) -> Body:
        """The result of ``make``, not cached."""
        return await self.page(_Once(), make, *arguments)

    def _future_of(
        self, key: Hashable, make: Callable[..., Body], arguments: tuple[object, ...]
    ) -> Future[Body]:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                finished: Future[Body] = Future()
                finished.set_result(self._kept[key])
                return finished
            if key in self._under_way:
                return self._under_way[key]
            if len(self._under_way) >= self._most:
                why = "too many pages are being made; try again in a moment"
                raise HTTPException(503, why, {"retry-after": "5"})
            if self._pool is None:
                self._pool = processes()
            future = self._pool.submit(_make_packed, make, *arguments)
            self._under_way[key] = future
        future.add_done_callback(lambda finished_future: self._store(key, finished_future))
        return future

    def stop(self) -> None:
        """Kill the processes of the pool."""
        pool = self._pool
        if isinstance(pool, ProcessPoolExecutor):
            for process in list((pool._processes or {}).values()):
                process.kill()

    def _replace_pool(self) -> None:
        with self._lock:
            self._pool = self._given_pool

    def _store(self, key: Hashable, future: Future[Body]) -> None:
        with self._lock:
            self._under_way.pop(key, None)
            if future.cancelled() or future.exception() is not None or isinstance(key, _Once):
                return
            page = future.result()
            if 2 * page.size > self._most_bytes:
                return
            self._kept[key] = page
            while sum(kept_page.size for kept_page in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)


def _make_packed(make: Callable[..., Body], *arguments: object) -> Body:
    """Call ``make`` and compress its page in the same process: a large page takes 0.2 s."""
    body = make(*arguments)
    body.pack()
    return body


class _Once:
    """A key of a page that is not cached."""
