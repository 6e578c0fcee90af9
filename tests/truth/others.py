# SPDX-License-Identifier: Apache-2.0
"""CPU time that others used meanwhile: processes of neither a lab nor these tests, by the kernel's count."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
NOISE_CORES = 0.1
TAKEN_CORES = 0.05
"""a hypervisor or others that take more leave no CPU to be full, and what is said of it comes first"""
TRIES = 4
_KERNEL = 2
"""the parent of the kernel's threads, whose work is the load's"""


@dataclass(frozen=True)
class Look:
    """Parents of all processes, and CPU time so far of others with that of children they waited for."""

    parents: Mapping[int, int]
    used_s: Mapping[int, float]

    def since(self, before: Look) -> float:
        """CPU time of others since then. Who has ended meanwhile is in the time of a parent that waited."""
        grown = sum(used_s - before.used_s.get(pid, 0.0) for pid, used_s in self.used_s.items())
        gone = before.used_s.keys() - self.used_s.keys()
        return grown - sum(before.used_s[pid] for pid in gone if before.parents[pid] in self.used_s)


class Others:
    """From when it is made on; ``ours`` is the process from which all comes that is none of theirs."""

    def __init__(self, ours: int | None = None) -> None:
        self._ours = ours or os.getpid()
        self._began_s, self._before = time.monotonic(), _look(self._ours)

    def seconds(self) -> float:
        """CPU time that they used since then."""
        return max(0.0, _look(self._ours).since(self._before))

    def cores(self) -> float:
        """The same a second."""
        return self.seconds() / (time.monotonic() - self._began_s)


def stolen_s() -> float:
    """CPU time that a hypervisor took from all CPUs since this machine started; proc(5), /proc/stat."""
    first, *_ = Path("/proc/stat").read_text().splitlines()
    return int(first.split()[8]) / os.sysconf("SC_CLK_TCK")


Taken = Callable[[], tuple[float, float]]
"""what a hypervisor and others took so far, in cores"""


class Disturbance:
    """What a hypervisor and others took from when it is made on."""

    def __init__(self) -> None:
        self._began_s, self._stolen_s, self._others = time.monotonic(), stolen_s(), Others()

    def cores(self) -> tuple[float, float]:
        """Of a hypervisor and of others."""
        return self._stolen_cores(), self._others.cores()

    def _stolen_cores(self) -> float:
        return (stolen_s() - self._stolen_s) / (time.monotonic() - self._began_s)

    @classmethod
    def begin(cls) -> Taken:
        return cls().cores

    @classmethod
    def begin_stolen(cls) -> Taken:
        """Of a hypervisor alone, for what others do not disturb."""
        one = cls()
        return lambda: (one._stolen_cores(), 0.0)


def undisturbed(
    measure: Callable[[int], T],
    begin: Callable[[], Taken] | None = None,
    stolen_cores: Callable[[T], float] = lambda _: 0.0,
) -> T:
    """What ``measure`` says of its first try that nothing disturbed. Skips where there is none.

    ``stolen_cores``: what a hypervisor took where it was measured, as it says itself.
    """
    tries = []
    for attempt in range(TRIES):
        cores = (begin or Disturbance.begin)()
        told = measure(attempt)
        stolen, used = cores()
        tries.append((max(stolen, stolen_cores(told)), used))
        if max(tries[-1]) <= TAKEN_CORES:
            return told
    raise _skipped(tries)


def holds(judge: Callable[[int], None], begin: Callable[[], Taken] | None = None) -> None:
    """Judge again what failed while it was disturbed. Skips where each try was."""
    tries = []
    for attempt in range(TRIES):
        cores = (begin or Disturbance.begin)()
        try:
            return judge(attempt)
        except AssertionError:
            tries.append(cores())
            if max(tries[-1]) <= TAKEN_CORES:
                raise
    raise _skipped(tries)


def _skipped(tries: Sequence[tuple[float, float]]) -> BaseException:
    each = "; ".join(f"a hypervisor {stolen:.2f}, others {used:.2f}" for stolen, used in tries)
    return pytest.skip.Exception(f"cores taken in each of {TRIES} tries: {each}")


def _look(ours: int) -> Look:
    """What runs now; a lab's processes are in networks of its own."""
    here, clock_hz = Path("/proc/self/ns/net").readlink(), os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    used_s: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            parents[int(path.name)] = int(fields[1])
            if (path / "ns" / "net").readlink() == here:
                used_s[int(path.name)] = sum(map(int, fields[11:15])) / clock_hz  # proc(5): utime … cstime
    return Look(parents, {pid: used for pid, used in used_s.items() if is_other(pid, parents, ours)})


def is_other(pid: int, parents: Mapping[int, int], ours: int) -> bool:
    """Whether a process comes neither from ``ours`` nor from the kernel's own."""
    while pid and pid not in (ours, _KERNEL):
        pid = parents.get(pid, 0)
    return pid == 0
