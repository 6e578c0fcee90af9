# SPDX-License-Identifier: Apache-2.0
"""Processes that help to make what is kept of many results, each from the end of the list towards its front.

They hand nothing over: what they make is in the user's cache when this process comes to it. One that is cut
off, or comes to an error, has helped less, and no more. They are nice to whatever else runs.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

MOST = 16
"""processes, beyond which the disk is what they wait for"""
END_LIMIT_S = 1.0
"""for the result in hand, once they are to end"""
_NICE = 10


@contextmanager
def helpers(results: Sequence[Path], make: Callable[[Path], object]) -> Iterator[None]:
    """While this is open, other CPUs make what is kept of these results; none do where this process has
    threads, which a copy of it would lack (numpy's, of OpenBLAS, are ended and begun again by a fork)."""
    others = min(len(os.sched_getaffinity(0)) - 1, MOST, len(results) // 2)
    children: list[int] = []
    try:
        with suppress(OSError):  # where no more processes can be started, fewer help
            for number in range(others if threading.active_count() == 1 else 0):
                _start_helper(results[::-1][number::others], make, children)
        yield
    finally:
        _end(children)


def _start_helper(results: Sequence[Path], make: Callable[[Path], object], children: list[int]) -> None:
    """One more, whose process id is among ``children`` whatever interrupts this one. Raises OSError."""
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        child = os.fork()
        if child == 0:
            _help(results, make, parent)
        children.append(child)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _help(results: Sequence[Path], make: Callable[[Path], object], parent: int) -> NoReturn:
    """Until it is told to end, which waits for the result in hand, or nobody is there to be helped."""
    try:
        os.nice(_NICE)
        for result in results:
            if signal.SIGTERM in signal.sigpending() or os.getppid() != parent:
                break
            with suppress(Exception):  # whoever comes to it next says what is wrong
                make(result)
    finally:
        os._exit(0)


def _end(children: Sequence[int]) -> None:
    """Have them end, and wait for it. Nobody else waits for them, so no other process has their ids yet."""
    for child in children:
        os.kill(child, signal.SIGTERM)
    deadline_s = time.monotonic() + END_LIMIT_S
    for child in children:
        handle = os.pidfd_open(child)
        try:
            if not select.select([handle], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
                os.kill(child, signal.SIGKILL)
        finally:
            os.close(handle)
        os.waitpid(child, 0)
