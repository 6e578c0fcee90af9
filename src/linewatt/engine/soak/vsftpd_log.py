# SPDX-License-Identifier: Apache-2.0
"""A server's log followed from afar: read by offset, a piece at a time, each line once."""

from __future__ import annotations

from dataclasses import dataclass

from linewatt.engine.soak.vsftpd_ground import LOG_AHEAD_BYTES, READ_LOG
from linewatt.errors import ParseError
from linewatt.foreign import one_line
from linewatt.hosts.base import Completed, Host
from linewatt.hosts.clock import now_s
from linewatt.loads.users.server_vsftpd import LogTotals

PIECE_BYTES = 512 * 1024
"""of one reading: heartbeats of the connection must not wait for long behind it on a slow line"""
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Piece:
    """What one reading brought: from where to where, the log's size, what of the disk it takes; its text."""

    start: int
    end: int
    size: int
    taken_bytes: int
    inode: str
    text: str


class FollowedLog:
    """``totals`` are what was read until ``read_s`` (controller's time line; ``None``: not yet)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.totals = LogTotals()
        self.read_s: float | None = None
        self.taken_bytes = 0
        self._inode, self._end = "-", 0

    async def read(self, host: Host) -> None:
        """Read on to the end as it is now. Raises HostLost, WaitTimeout, ParseError; nothing counts twice."""
        while True:
            began_s = now_s()
            words = [
                "linewatt",
                self.path,
                self._inode,
                str(self._end),
                str(PIECE_BYTES),
                str(LOG_AHEAD_BYTES),
            ]
            done = await host.run(["bash", "-c", READ_LOG, *words], timeout_s=LIMIT_S, root=True)
            piece = parse_piece(host.spec.name, done)
            if piece is not None:
                self._take(piece)
            self.read_s = began_s
            if piece is None or not piece.start < piece.end < piece.size:
                return

    def _take(self, piece: Piece) -> None:
        if piece.inode != self._inode or piece.start != self._end:
            self.totals.cut()
        self.totals.take(piece.text)
        self._inode, self._end, self.taken_bytes = piece.inode, piece.end, piece.taken_bytes


def parse_piece(host: str, done: Completed) -> Piece | None:
    """What :data:`READ_LOG` said; ``None``: there is no log. Raises ParseError."""
    head, _, text = done.stdout.partition("\n")
    if head == "gone":
        return None
    words = head.split()
    if done.status != 0 or len(words) != 5 or not all(word.isdecimal() for word in words):
        said = one_line((done.stderr.strip() or head)[:120])
        raise ParseError(f"{host}: vsftpd's log cannot be read: {said or f'status {done.status}'}")
    start, end, size, taken = (int(word) for word in words[:4])
    return Piece(start, end, size, taken, words[4], text)
