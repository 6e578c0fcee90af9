# SPDX-License-Identifier: Apache-2.0
"""Heartbeats to all connections of a loop, each as often as its host has them."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from linewatt.hosts.clock import now_s

if TYPE_CHECKING:  # which imports this module
    from linewatt.hosts.ssh.connection import Wire

LATE_S = 0.05
LATE_MEMORY = 64


class Beats:
    """When the next heartbeat of each connection is due, and the sending of those that are.

    A host ends what runs on it when no heartbeat comes for a while. The loop runs what is ready in its order,
    and with many hosts that can be much: so whoever was handed a chunk of output has due heartbeats sent
    before it goes on, and none of them waits for an answer or for what other hosts have said.
    """

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Wire]] = []
        """a heap: the next one first"""
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._woken: deque[tuple[float, float]] = deque(maxlen=LATE_MEMORY)
        """when the loop came to a timer late, and how late"""

    def add(self, wire: Wire) -> None:
        """Send its heartbeats, until it is given up."""
        self._push(wire, now_s())
        self._arm()

    def give_up(self, wire: Wire) -> None:
        self._due = [due_beat for due_beat in self._due if due_beat[2] is not wire]
        heapq.heapify(self._due)

    def send_due(self) -> None:
        """Send those whose time has come."""
        while self._due and self._due[0][0] <= (time_s := now_s()):
            wire = heapq.heappop(self._due)[2]
            self._push(wire, time_s)
            wire.send_beat()

    def _push(self, wire: Wire, time_s: float) -> None:
        heapq.heappush(self._due, (time_s + wire.pace.used.heartbeat_s, next(self._order), wire))

    def _arm(self) -> None:
        """Wake for the first that is due, where no timer does so as early."""
        if not self._due:
            return
        loop = asyncio.get_running_loop()
        when_s = loop.time() + max(0.0, self._due[0][0] - now_s())
        if self._timer is not None and self._timer.when() <= when_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(when_s, self._wake)

    def late_s(self, since_s: float) -> float:
        """How long what came since then may have waited for this loop.

        For the cycle in which it came, and for the one in which it was handed on.
        """
        woken_s = next((late_s for time_s, late_s in reversed(self._woken) if time_s >= since_s), 0.0)
        return woken_s + self._overdue_s()

    def _overdue_s(self) -> float:
        if self._timer is None:
            return 0.0
        return max(0.0, asyncio.get_running_loop().time() - self._timer.when())

    def _wake(self) -> None:
        if (late_s := self._overdue_s()) >= LATE_S:
            self._woken.append((now_s(), late_s))
        self._timer = None
        self.send_due()
        self._arm()


_BEATS: WeakKeyDictionary[asyncio.AbstractEventLoop, Beats] = WeakKeyDictionary()


def beats_of_loop() -> Beats:
    """Those of the loop that runs."""
    loop = asyncio.get_running_loop()
    if loop not in _BEATS:
        _BEATS[loop] = Beats()
    return _BEATS[loop]
