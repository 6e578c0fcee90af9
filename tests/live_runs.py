# SPDX-License-Identifier: Apache-2.0
"""Runs that can be watched, without hosts: their events come from a test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from linewatt.engine import events
from linewatt.engine.live.current_readings import CpuNow
from linewatt.features.serve.broadcast.broadcast import Broadcast
from linewatt.model import Case

LIMIT_S = 60.0
"""for what comes at once, where how soon is not what is tested"""
CASE = Case("tcp", "h1", "h2", instances=4)
ENDS = (events.Placed("h1", "sender", (2, 3), ()), events.Placed("h2", "receiver", (2, 3), (0,)))
WATTS = (
    events.Watts("h1", 228.9, "simulated", "psu-out"),
    events.Watts("h2", 157.2, "measured", "psu-in"),
)


def started(number: int = 1, total: int = 3) -> events.TrialStarted:
    """The barrier of a trial has opened."""
    return events.TrialStarted(number, total, CASE, number, 10.0, 30.0, ENDS)


def cpu_of(ends: Iterable[events.Placed]) -> Sequence[CpuNow]:
    """What hosts would tell of their CPUs."""
    return [CpuNow(one.host, one.role, 4, 1.34, 0.97, 0.41 if one.irq_cpus else None) for one in ends]


class Fed:
    """A run in a loop and a thread of its own, which tells what :meth:`say` gives it until it is ended."""

    def __init__(self, state: Path, path: Path) -> None:
        self.shown: list[events.Event] = []
        self.outcome: BaseException | None = None
        self._state, self._path = state, path
        self._loop = asyncio.new_event_loop()
        self._begun = threading.Event()
        self._end: asyncio.Event
        self.broadcast: Broadcast
        self._thread = threading.Thread(target=self._run, name=f"run {path.name}", daemon=True)
        self._thread.start()
        assert self._begun.wait(LIMIT_S), f"waited {LIMIT_S:g} s for a run to begin"

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def say(self, *told: events.Event) -> None:
        """Events of the run, all of them told when this returns."""

        def all_of_them() -> None:
            for event in told:
                self.broadcast.hear(event)

        self._call(all_of_them)

    def end(self) -> None:
        """Have it end by itself."""
        self._loop.call_soon_threadsafe(self._end.set)
        self.ended()

    def ended(self) -> None:
        """Wait for its end."""
        self._thread.join(LIMIT_S)
        assert self.is_over, f"waited {LIMIT_S:g} s for a run to end"

    def close(self) -> None:
        if not self.is_over:
            self.end()

    def _call(self, work: Any) -> None:
        done: Future[None] = Future()

        def call() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  it is raised where it was asked for
                done.set_exception(error)
            else:
                done.set_result(None)

        self._loop.call_soon_threadsafe(call)
        done.result(LIMIT_S)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._work())
        except BaseException as error:  # noqa: BLE001  it is looked at by the test
            self.outcome = error
        finally:
            self._loop.close()

    async def _work(self) -> None:
        self._end = asyncio.Event()
        self.broadcast = Broadcast(self.shown.append, cpu_of)
        async with self.broadcast.during(self._path, self._state, resumable=True):
            self._begun.set()
            await self._end.wait()
