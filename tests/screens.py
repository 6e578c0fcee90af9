# SPDX-License-Identifier: Apache-2.0
"""Programs on a pseudo-terminal, and what its screen shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT_S = 30.0
_CODE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|\x1b\](.*?)(?:\x07|\x1b\\)")


class Screen:
    """Rows of text as a terminal has them after some bytes; of its codes those that progress needs."""

    def __init__(self) -> None:
        self.rows: list[str] = [""]
        self.cursor_shown = True
        self._row = self._column = 0

    def take(self, text: str) -> None:
        at = 0
        while at < len(text):
            code = _CODE.match(text, at)
            if code is not None:
                self._act(code)
                at = code.end()
            else:
                self._put(text[at])
                at += 1

    def _put(self, sign: str) -> None:
        if sign == "\n":
            self._row += 1
            if self._row == len(self.rows):
                self.rows.append("")
        elif sign == "\r":
            self._column = 0
        else:
            row = self.rows[self._row].ljust(self._column)
            self.rows[self._row] = row[: self._column] + sign + row[self._column + 1 :]
            self._column += 1

    def _act(self, code: re.Match[str]) -> None:
        private, number, letter = code[1], code[2], code[3]
        if private and number == "25":
            self.cursor_shown = letter == "h"
        elif letter == "A":
            self._row = max(0, self._row - int(number or 1))
        elif letter == "K":
            row = self.rows[self._row]
            self.rows[self._row] = "" if number == "2" else row[: self._column]
        elif letter != "m":
            raise AssertionError(f"a code that this screen does not know: {code[0]!r}")

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows).strip()


class Child:
    """A program whose standard error, and output, is a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.screen = Screen()
        self.frames: list[str] = []
        """what the screen showed whenever anything came"""
        self.written = ""
        self._descriptor = descriptor

    def read_until(self, wanted: str | None = None, limit_s: float = LIMIT_S) -> None:
        """Read until the screen shows it; ``None``: to the end. Raises TimeoutError."""
        until_s = time.monotonic() + limit_s
        while wanted is None or wanted not in self.screen.text:
            left_s = until_s - time.monotonic()
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, left_s))
            if not ready:
                raise TimeoutError(f"waited {limit_s:g} s for {wanted or 'its end'}: {self.screen.text}")
            chunk = b""
            with suppress(OSError):  # Linux ends a pseudo-terminal's reading with EIO
                chunk = os.read(self._descriptor, 65536)
            if not chunk:
                if wanted is None:
                    return
                raise AssertionError(f"it ended before {wanted!r}: {self.screen.text}")
            text = chunk.decode(errors="replace")
            self.written += text
            self.screen.take(text)
            self.frames.append(self.screen.text)

    def ended(self) -> int:
        """Its status, once it is over."""
        self.read_until(None)
        return self.process.wait(LIMIT_S)


@contextmanager
def on_terminal(
    argv: Sequence[str], columns: int = 100, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Start a program on a terminal of its own; whatever happens it is gone afterwards."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    given = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    given |= {"TERM": "xterm-256color", **(env or {})}
    process = subprocess.Popen(
        argv, stdin=terminal, stdout=terminal, stderr=terminal, cwd=cwd, env=given, start_new_session=True
    )
    os.close(terminal)
    try:
        yield Child(process, controller)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(LIMIT_S)
        os.close(controller)


def python(script: str, *words: str) -> list[str]:
    """The argument list of a script for this Python."""
    return [sys.executable, "-c", script, *words]
