# SPDX-License-Identifier: Apache-2.0
"""Processes that help to make what is kept of many results, each from the end of the list towards its front.

They hand nothing over: what they make is in the user's cache when this process comes to it. One that is cut
off, or comes to an error, has helped less, and no more.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

MOST = 16
"""processes, beyond which the disk is what they wait for"""


@contextmanager
def helpers(results: Sequence[Path], make: Callable[[Path], object]) -> Iterator[None]:
    """While this is open, other CPUs make what is kept of these results; none do where this process has
    threads, which a copy of it would lack."""
    if threading.active_count() > 1:
        yield
        return
    others = min(len(os.sched_getaffinity(0)) - 1, MOST, len(results) // 2)
    children = [_helper(results[::-1][number::others], make) for number in range(others)]
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGTERM)  # no other process can have its id: nobody waited for it yet
        for child in children:
            os.waitpid(child, 0)


def _helper(results: Sequence[Path], make: Callable[[Path], object]) -> int:
    """Start one; its process id."""
    parent = os.getpid()
    signals = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        child = os.fork()
        if child == 0:
            _help(results, make, parent)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child


def _help(results: Sequence[Path], make: Callable[[Path], object], parent: int) -> NoReturn:
    """Until it is told to end, which waits for the result in hand, or nobody is there to be helped."""
    try:
        for result in results:
            if signal.SIGTERM in signal.sigpending() or os.getppid() != parent:
                break
            with suppress(Exception):  # whoever comes to it next says what is wrong
                make(result)
    finally:
        os._exit(0)
