# SPDX-License-Identifier: Apache-2.0
"""What may be in place of a stored file, and a limit for commands that read it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT_S = 30
ADDRESS_SPACE_BYTES = 3 << 30
"""more than a command maps, and less than a hostile file would fill"""


def put_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


FAULTS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "huge": put_huge,
    "folder": Path.mkdir,
}


@contextmanager
def limited(what: str) -> Iterator[None]:
    """Fail where it waits, also inside a system call."""

    def stop(*_: object) -> None:
        raise AssertionError(f"waited {LIMIT_S} s for {what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
