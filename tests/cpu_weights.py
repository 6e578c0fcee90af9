# SPDX-License-Identifier: Apache-2.0
"""CPU weights for pools of tests: computing tests give way to labs; labs do not give way to other programs.

Source: kernel documentation, sched-design-CFS ("group scheduler extensions", ``cpu.shares``) and cgroup-v2
(``cpu.weight``). A process outside any group competes with weight 100 per session (sched(7), autogroup).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

LABS = 400
"""in units of cgroup v2, where 100 is the default: labs keep most of a CPU that another program keeps busy,
and the kernel's threads, which are outside the group, still get theirs"""
COMPUTING = 1
"""the least: only CPU time that nobody else wants"""
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
REALTIME_US = 100_000
"""of each second, for the session that `raise_session` puts into a real-time class"""
_V1_DEFAULT = 1024


def make_group(name: str, weight: int, v1: Path = V1, v2: Path = V2) -> Path | None:
    """A new control group of ``weight`` (1 to 10,000; default 100), or None where none can be made."""
    for parent, file, value in (
        (v1, "cpu.shares", max(2, weight * _V1_DEFAULT // 100)),
        (v2, "cpu.weight", weight),
    ):
        group = parent / f"linewatt-{name}-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / file).write_text(str(value))
        except OSError:
            group.rmdir()
            continue
        with suppress(OSError):  # v1 with CONFIG_RT_GROUP_SCHED gives a new group no real-time share
            (group / "cpu.rt_runtime_us").write_text(str(REALTIME_US))
        return group
    return None


def inside(group: Path | None, argv: Sequence[str]) -> list[str]:
    """The command line that runs ``argv`` in the group; without a group, as it is."""
    if group is None:
        return list(argv)
    return ["sh", "-c", 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"', "sh", str(group), *argv]


def remove_group(group: Path | None) -> None:
    """Take the group away; what still runs in it moves to its parent."""
    if group is None:
        return
    with suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()
