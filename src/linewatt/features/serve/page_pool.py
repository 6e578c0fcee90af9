# SPDX-License-Identifier: Apache-2.0
"""Pages that take long: made by few processes of their own, each once however many ask, kept for the next.

Processes, since what draws charts lets no other thread run meanwhile: a server would stand still, and would
not end before the chart is drawn. What is kept is found under a key that changes with what a page is made of.
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
"""of pages that are kept"""
_PAGES_EACH = 200
"""that one process makes before another takes its place: what a large result needed is given back"""
_NICE = 10
"""a campaign that runs on this machine comes first"""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def processes() -> Executor:
    """Processes that end with this one, however it ends."""
    return ProcessPoolExecutor(
        AT_ONCE,
        multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(),),
        max_tasks_per_child=_PAGES_EACH,
    )


def _begin(server: int) -> None:
    """Ctrl-C is for the server, which this process does not outlive and does not slow down."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICE)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(0)


class Making:
    """Pages under way, and those that were asked for last."""

    def __init__(
        self,
        pool: Executor | None = None,
        *,
        waiting: int = MOST_WAITING,
        at_once: int = AT_ONCE,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._given = pool
        self._pool: Executor | None = pool
        self._most_bytes = most_bytes
        self._most = at_once + waiting
        self._kept: OrderedDict[Hashable, Body] = OrderedDict()
        self._under_way: dict[Hashable, Future[Body]] = {}
        self._lock = Lock()

    async def page(self, key: Hashable, make: Callable[..., Body], *arguments: object) -> Body:
        """What ``make`` gives of its arguments, or gave under this key; both are sent to another process.

        Raises what it raises; HTTPException (503) where too many wait already.
        """
        try:
            return await asyncio.shield(asyncio.wrap_future(self._asked(key, make, arguments)))
        except BrokenProcessPool as error:
            self._anew()
            raise StoreError(
                "what made this page ended; it may have needed more memory than there is"
            ) from error

    async def once(self, make: Callable[..., Body], *arguments: object) -> Body:
        """What ``make`` gives, which is not kept."""
        return await self.page(_Once(), make, *arguments)

    def _asked(self, key: Hashable, make: Callable[..., Body], arguments: tuple[object, ...]) -> Future[Body]:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                there: Future[Body] = Future()
                there.set_result(self._kept[key])
                return there
            if key in self._under_way:
                return self._under_way[key]
            if len(self._under_way) >= self._most:
                why = "too many pages are being made; try again in a moment"
                raise HTTPException(503, why, {"retry-after": "5"})
            if self._pool is None:
                self._pool = processes()
            made = self._pool.submit(_packed, make, *arguments)
            self._under_way[key] = made
        made.add_done_callback(lambda done: self._done(key, done))
        return made

    def stop(self) -> None:
        """End what makes pages, whatever it is at."""
        pool = self._pool
        if isinstance(pool, ProcessPoolExecutor):
            for process in list((pool._processes or {}).values()):
                process.kill()

    def _anew(self) -> None:
        with self._lock:
            self._pool = self._given

    def _done(self, key: Hashable, done: Future[Body]) -> None:
        with self._lock:
            self._under_way.pop(key, None)
            if done.cancelled() or done.exception() is not None or isinstance(key, _Once):
                return
            page = done.result()
            if 2 * page.size > self._most_bytes:
                return
            self._kept[key] = page
            while sum(one.size for one in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)


def _packed(make: Callable[..., Body], *arguments: object) -> Body:
    """What ``make`` gives, packed where it is made: a large page takes a fifth of a second."""
    body = make(*arguments)
    body.pack()
    return body


class _Once:
    """A key that is like no other."""
