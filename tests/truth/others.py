# SPDX-License-Identifier: Apache-2.0
"""CPU time that others used meanwhile: processes of neither a lab nor these tests, by the kernel's count."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

NOISE_CORES = 0.1
_KERNEL = 2
"""the parent of the kernel's threads, whose work is the load's"""


class Others:
    """From when it is made on."""

    def __init__(self) -> None:
        self._began_s, self._before_s = time.monotonic(), _used_s()

    def seconds(self) -> float:
        """CPU time that they used since then."""
        return _used_s() - self._before_s

    def cores(self) -> float:
        """The same a second."""
        return self.seconds() / (time.monotonic() - self._began_s)


def _used_s() -> float:
    """CPU time so far, and of children that have ended; a lab's processes are in networks of its own."""
    ours, here = os.getpid(), Path("/proc/self/ns/net").readlink()
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            parents[int(path.name)] = int(fields[1])
            if (path / "ns" / "net").readlink() == here:
                ticks[int(path.name)] = sum(map(int, fields[11:15]))  # proc(5): utime, stime, cutime, cstime
    clock_hz = os.sysconf("SC_CLK_TCK")
    return sum(own for pid, own in ticks.items() if is_other(pid, parents, ours)) / clock_hz


def is_other(pid: int, parents: Mapping[int, int], ours: int) -> bool:
    """Whether a process comes neither from ``ours`` nor from the kernel's own."""
    while pid and pid not in (ours, _KERNEL):
        pid = parents.get(pid, 0)
    return pid == 0
