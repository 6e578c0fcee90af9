# SPDX-License-Identifier: Apache-2.0
"""Time that code took of its own accord, so that a promise in seconds can be tested on a busy machine."""

from __future__ import annotations

import time
from pathlib import Path

_SCHEDULED = Path("/proc/thread-self/schedstat")


class Stopwatch:
    """Runs from when it is made, in the thread that made it.

    Time in which this thread could have run and others had the CPU is not counted: it says something of the
    machine, nothing of the code. What other processes need to answer is counted, however busy they are.
    """

    def __init__(self) -> None:
        self._began_s = time.monotonic() - _queued_s()

    @property
    def took_s(self) -> float:
        """Seconds so far; never too few, since a wait between the two looks counts."""
        queued_s = _queued_s()
        return time.monotonic() - queued_s - self._began_s


def _queued_s() -> float:
    """How long this thread has waited for a CPU; 0 where the kernel does not count it.

    Source: Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
    """
    try:
        return int(_SCHEDULED.read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
