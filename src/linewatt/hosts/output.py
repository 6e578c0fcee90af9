# SPDX-License-Identifier: Apache-2.0
"""What a process on a host writes, kept within bounds: nobody promises that it ever stops.

Each chunk costs time in proportion to its own length, whatever came before: heartbeats of all hosts go
through the same loop.
"""

from __future__ import annotations

from collections.abc import Callable

from linewatt.foreign import KIB, MIB, entered
from linewatt.hosts.base import Line
from linewatt.hosts.clock import now_s

MOST_BYTES = 16 * MIB
"""of a command's output, where its caller names no other bound"""
MOST_LINE_BYTES = 4 * MIB
STREAM_BYTES_A_S = 4 * MIB
STREAM_START_S = 4.0
"""what may come at once: that of so many seconds"""
STREAM_LINES = 100_000
STREAM_LINES_A_S = 20_000
"""on average over a stream, beyond what may come at its start: the loop reads some 200,000 lines a second"""
_KEPT = 64 * KIB
"""of output that went beyond its bound, and at each end of standard error"""


class Flood(Exception):
    """A process wrote more than it may; the text says of what, and how much that is."""


class Whole:
    """The output of a command that is read when it has ended."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._data = bytearray()

    def add(self, chunk: bytes) -> None:
        """Raises Flood, and then keeps the beginning only."""
        if len(self._data) + len(chunk) > self.most_bytes:
            del self._data[_KEPT:]
            raise Flood(f"more than {_size(self.most_bytes)}")
        self._data += chunk

    @property
    def text(self) -> str:
        return entered(bytes(self._data))


class Lines:
    """The output of a command that is read line by line as it comes; what has no end yet waits for it."""

    def __init__(self, take: Callable[[Line], None]) -> None:
        self.bytes_a_s = STREAM_BYTES_A_S
        self._take = take
        self._began_s = now_s()
        self._bytes = self._lines = 0
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def add(self, chunk: bytes) -> None:
        """Hand each whole line on. Raises Flood, and whatever its taker raises."""
        received_s = now_s()
        self._count(chunk, received_s - self._began_s)
        *lines, unfinished = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._begun, lines[0]))
            self._begun, self._begun_bytes = [], 0
        self._begun.append(unfinished)
        self._begun_bytes += len(unfinished)
        if self._begun_bytes > MOST_LINE_BYTES:
            self._begun.clear()
            raise Flood(f"a line of more than {_size(MOST_LINE_BYTES)}")
        for line in lines:
            self._take(Line(received_s, entered(line)))

    def _count(self, chunk: bytes, elapsed_s: float) -> None:
        self._bytes += len(chunk)
        self._lines += chunk.count(b"\n")
        elapsed_s = max(0.0, elapsed_s)
        if self._bytes > self.bytes_a_s * (STREAM_START_S + elapsed_s):
            raise Flood(f"more than {_size(self.bytes_a_s)} a second")
        if self._lines > STREAM_LINES + STREAM_LINES_A_S * elapsed_s:
            raise Flood(f"more than {STREAM_LINES_A_S} lines a second")


class Complaints:
    """Standard error: its beginning and its end, for a process may complain every second for days."""

    def __init__(self) -> None:
        self._first = bytearray()
        self._last = bytearray()
        self._left_out = False

    def add(self, chunk: bytes) -> None:
        room = _KEPT - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        if len(self._last) > 2 * _KEPT:
            del self._last[:-_KEPT]
            self._left_out = True

    def __bool__(self) -> bool:
        return bool(self._first)

    @property
    def text(self) -> str:
        if not self._left_out:
            return entered(bytes(self._first + self._last))
        # whole lines: one that was cut could look like another
        first, last = self._first.rpartition(b"\n")[0], self._last.partition(b"\n")[2]
        return entered(bytes(first)) + "\n…\n" + entered(bytes(last))


def _size(count: int) -> str:
    return f"{count // MIB} MiB" if count >= MIB else f"{count // KIB} KiB"
