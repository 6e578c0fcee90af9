# SPDX-License-Identifier: Apache-2.0
"""Exact CPU time: of a control group (all that ever ran in it), and of single processes.

Both come from the scheduler's own clock in nanoseconds or microseconds. ``/proc/PID/stat`` and mpstat count
ticks of 4 ms on many kernels, and what sleeps in step with the tick is never seen by them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.rows import MeasurementFailed

_REMOVE_LIMIT_S = 5.0
_RETRY_S = 0.01


@dataclass(frozen=True, slots=True)
class CpuTime:
    """One look: when, CPU seconds of the whole group so far, and of its processes that are alive."""

    time_s: float
    used_s: float
    processes: dict[int, float]


class Group:
    """A control group that processes are put into; what they start is in it too."""

    def __init__(self, path: Path, usage: Path, *, nanoseconds: bool) -> None:
        self.path = path
        self._usage = usage
        self._nanoseconds = nanoseconds

    def take(self, processes: Iterable[int]) -> None:
        """Put processes in."""
        for process in processes:
            with suppress(ProcessLookupError):
                (self.path / "cgroup.procs").write_text(str(process))

    def processes(self) -> list[int]:
        return [int(line) for line in (self.path / "cgroup.procs").read_text().split()]

    def look(self) -> CpuTime:
        """CPU time of the group and of each process in it, read within a millisecond or so."""
        alive = {process: used for process in self.processes() if (used := process_s(process)) is not None}
        return CpuTime(time.monotonic(), self._used_s(), alive)

    def _used_s(self) -> float:
        text = self._usage.read_text()
        if self._nanoseconds:
            return int(text) / 1e9
        values = dict(line.split() for line in text.splitlines())
        return int(values["usage_usec"]) / 1e6

    def remove(self) -> None:
        """Put what is left in it back to where the group hangs, and remove it."""
        deadline = time.monotonic() + _REMOVE_LIMIT_S
        while self.path.exists():
            for process in self.processes():
                with suppress(OSError):
                    (self.path.parent / "cgroup.procs").write_text(str(process))
            try:
                self.path.rmdir()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise MeasurementFailed(f"{self.path}: cannot be removed: {error.strerror}") from error
                time.sleep(_RETRY_S)


@contextmanager
def group(name: str) -> Iterator[Group]:
    """A control group of that name, gone afterwards: cpuacct of version 1, else version 2."""
    made = _make(f"linewatt-bench-{os.getpid()}-{name}", Path("/proc/self/mounts").read_text())
    try:
        yield made
    finally:
        made.remove()


def _make(name: str, mounts: str) -> Group:
    root, nanoseconds = hierarchy(mounts)
    path = root / name
    path.mkdir()
    return Group(path, path / ("cpuacct.usage" if nanoseconds else "cpu.stat"), nanoseconds=nanoseconds)


def hierarchy(mounts: str) -> tuple[Path, bool]:
    """Where CPU time is accounted, and whether it is version 1. Raises MeasurementFailed."""
    found: dict[str, Path] = {}
    for line in mounts.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpuacct" in options.split(","):
            found["1"] = Path(where)
        elif kind == "cgroup2":
            found["2"] = Path(where)
    if not found:
        raise MeasurementFailed("no cgroup file system is mounted, so CPU time cannot be accounted exactly")
    version = min(found)
    return found[version], version == "1"


def process_s(process: int) -> float | None:
    """CPU seconds of a process's main thread, from the scheduler; ``None`` once it has ended."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return None


def command_line(process: int) -> list[str]:
    """Argument list of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []
