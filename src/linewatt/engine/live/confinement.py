# SPDX-License-Identifier: Apache-2.0
"""What confines a load's processes: CPUs of their control groups, limits (ulimit), scheduling class. Pure.

The lines are those that scripts of the read-back write (:mod:`linewatt.engine.live.throttling`,
:mod:`linewatt.engine.live.readback`, :mod:`linewatt.engine.live.processes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linewatt.foreign import one_line
from linewatt.hosts.facts import parse_cpulist
from linewatt.model import SchedulingClass

LONGEST_PATH = 200
CLASSES: dict[int, SchedulingClass] = {
    0: "normal",
    1: "real-time",
    2: "real-time",
    3: "batch",
    5: "idle",
    6: "deadline",
    7: "normal",
}
"""policies of sched(7), and SCHED_EXT, whose place is that of SCHED_OTHER"""

Resource = Literal["open files", "locked memory", "threads"]
_UNITS: tuple[tuple[Resource, int], ...] = (("open files", 1), ("locked memory", 1024), ("threads", 1))
"""what is counted of a process, in the order of the line, and what one of it is"""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """How much a process uses of what is limited (setrlimit(2)); memory in bytes.

    Of threads the limit is of all of its user: ``used`` is a least value.
    """

    resource: Resource
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Cpuset:
    """The CPUs that a control group lets a process have: its own, or the nearest parent that names some."""

    pid: int
    path: str
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What of a process is limited by setrlimit(2), as far as it is known."""

    pid: int
    resources: tuple[ResourceUse, ...]


def parse_cpuset(values: str) -> Cpuset:
    """``404 0-1 /a b``. Raises ValueError or LinewattError."""
    pid, cpus, path = values.split(" ", 2)
    return Cpuset(int(pid), one_line(path)[:LONGEST_PATH], parse_cpulist(cpus))


def parse_limits(values: str) -> ProcessLimits:
    """``404 7 1024 0 8388608 1 96365``; what is not known, or unlimited, is left out. Raises ValueError."""
    pid, *numbers = values.split()
    if len(numbers) != 2 * len(_UNITS):
        raise ValueError(values)
    counts = zip(_UNITS, numbers[::2], numbers[1::2], strict=True)
    return ProcessLimits(
        int(pid),
        tuple(
            ResourceUse(resource, int(used) * unit, int(limit))
            for (resource, unit), used, limit in counts
            if used != "-" and limit not in ("-", "unlimited")
        ),
    )
