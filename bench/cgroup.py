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
    """A control group that processes are put into; what they start is in it too.

    ``home`` is the group that gets back what is left in it at the end.
    """

    def __init__(self, path: Path, home: Path, *, nanoseconds: bool) -> None:
        self.path = path
        self._home = home
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
        return CpuTime(time.monotonic(), used_s(self.path, nanoseconds=self._nanoseconds), alive)

    def others_s(self) -> float:
        """CPU seconds of everything on the machine that is not in this group."""
        return used_s(self.path.parent, nanoseconds=self._nanoseconds) - self.look().used_s

    def remove(self) -> None:
        """Put back what is left in it, and remove it."""
        deadline = time.monotonic() + _REMOVE_LIMIT_S
        while self.path.exists():
            for process in self.processes():
                with suppress(OSError):
                    (self._home / "cgroup.procs").write_text(str(process))
            try:
                self.path.rmdir()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise MeasurementFailed(f"{self.path}: cannot be removed: {error.strerror}") from error
                time.sleep(_RETRY_S)


@contextmanager
def group(name: str) -> Iterator[Group]:
    """A control group of that name, gone afterwards: cpuacct of version 1, else version 2."""
    root, nanoseconds = hierarchy(Path("/proc/self/mounts").read_text())
    path = root / f"linewatt-bench-{os.getpid()}-{name}"
    path.mkdir()
    made = Group(path, home(root, Path("/proc/self/cgroup").read_text()), nanoseconds=nanoseconds)
    try:
        yield made
    finally:
        made.remove()


def used_s(path: Path, *, nanoseconds: bool) -> float:
    """CPU seconds of a group: ``cpuacct.usage`` of version 1, ``cpu.stat`` of version 2."""
    if nanoseconds:
        return int((path / "cpuacct.usage").read_text()) / 1e9
    values = dict(line.split() for line in (path / "cpu.stat").read_text().splitlines())
    return int(values["usage_usec"]) / 1e6


def home(root: Path, own: str) -> Path:
    """The group this process is in (``own`` is /proc/self/cgroup); the root where it cannot be told."""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        named = "cpuacct" in controllers.split(",") if (root / "cpuacct.usage").exists() else not controllers
        found = root / path.lstrip("/")
        if named and ".." not in path and found.is_dir():
            return found
    return root


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


def threads_s(process: int) -> float | None:
    """CPU seconds of all threads that a process has, from the scheduler; ``None`` once it has ended."""
    try:
        found = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/schedstat")]
    except OSError:
        return None
    return sum(int(text.split()[0]) for text in found) / 1e9 if found else None


def command_line(process: int) -> list[str]:
    """Argument list of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []
