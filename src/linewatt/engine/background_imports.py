# SPDX-License-Identifier: Apache-2.0
"""What is imported while a run waits for its hosts: a step at a time, in a thread, never beside a window.

This machine may be one of the hosts, and whatever it computes while they are measured is measured with them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module

ImportStep = Callable[[], object]


def importing(names: Iterable[str]) -> list[ImportStep]:
    """A step a module; those that others of them need come first, so that each step is short."""
    return [partial(import_module, name) for name in names]


class Beside:
    """Steps that go on while a run waits, and stand still while anything is measured."""

    def __init__(self) -> None:
        self._needed: deque[ImportStep] = deque()
        self._wanted: deque[ImportStep] = deque()
        self._may_go_on = asyncio.Event()
        self._may_go_on.set()
        self._windows = 0
        self._running: asyncio.Task[object] | None = None
        self._going: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._all_there = asyncio.Event()
        """nothing is left that a load needs"""
        self._all_there.set()

    def begin(self, needed: Iterable[ImportStep], steps: Iterable[ImportStep] = ()) -> None:
        """Go through what the first load needs, and then through what is wanted only when all are over."""
        self._needed.extend(needed)
        self._wanted.extend(steps)
        self._all_there.clear()
        self._going = asyncio.create_task(self._go_on())

    async def ready(self) -> None:
        """Wait for all that the first load needs. Raises what one of these steps raised."""
        await self._all_there.wait()
        if self._failure is not None:
            raise self._failure

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """With nothing imported: the step that runs is waited for, and no other begins."""
        self._windows += 1
        self._may_go_on.clear()
        try:
            if self._running is not None:
                await asyncio.wait({self._running})
            yield
        finally:
            self._windows -= 1
            if not self._windows:
                self._may_go_on.set()

    async def close(self) -> None:
        """Begin no further step; what is not imported by now is when it is used."""
        if self._going is not None:
            self._going.cancel()
            await asyncio.wait({self._going, *([self._running] if self._running else [])})

    async def _go_on(self) -> None:
        await asyncio.sleep(0)  # whoever began it speaks to the hosts first, and they answer meanwhile
        try:
            while self._needed:
                await self._take(self._needed)
        except Exception as error:  # noqa: BLE001  whatever it is, who waits for it is told
            self._failure = error
        finally:
            self._all_there.set()
        while self._wanted and self._failure is None:
            try:
                await self._take(self._wanted)
            except Exception:  # noqa: BLE001  it is imported again, and says so, where it is used
                self._wanted.clear()

    async def _take(self, steps: deque[ImportStep]) -> None:
        while not self._may_go_on.is_set():  # one window may follow another at once
            await self._may_go_on.wait()
        self._running = asyncio.create_task(asyncio.to_thread(steps.popleft()))
        try:
            await asyncio.shield(self._running)
        finally:
            if self._running.done():
                self._running = None
