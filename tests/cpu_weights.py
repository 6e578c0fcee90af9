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

TESTS = 400
"""of all tests, in units of cgroup v2, where 100 is the default: tests keep most of a CPU that another
program keeps busy, and the kernel threads, which are outside the group, still get theirs"""
WEIGHTS = {"labs": 400, "guests": 100, "computing": 1}
"""of each pool among tests: guests leave labs four fifths of a CPU, computing tests give way to all"""
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
REALTIME_US = 100_000
"""of each second, for the session that `raise_session` puts into a real-time class"""
_V1_DEFAULT = 1024


def make_root(v1: Path = V1, v2: Path = V2) -> Path | None:
    """A new control group for all tests of this run, or None where none can be made."""
    name = f"linewatt-tests-{os.getpid()}"
    return make_group(v1 / name, TESTS) or make_group(v2 / name, TESTS)


def make_group(group: Path, weight: int) -> Path | None:
    """A new control group of ``weight`` (1 to 10,000; default 100), or None where none can be made.

    Whether the parent is of cgroup v1 or v2 is seen from its files.
    """
    v2 = (group.parent / "cgroup.subtree_control").exists()
    file, value = ("cpu.weight", weight) if v2 else ("cpu.shares", max(2, weight * _V1_DEFAULT // 100))
    try:
        if v2:
            (group.parent / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
    except OSError:
        return None
    try:
        (group / file).write_text(str(value))
    except OSError:
        group.rmdir()
        return None
    with suppress(OSError):  # v1 with CONFIG_RT_GROUP_SCHED gives a new group no real-time share
        (group / "cpu.rt_runtime_us").write_text(str(REALTIME_US))
    return group


def inside(group: Path | None, argv: Sequence[str]) -> list[str]:
    """The command line that runs ``argv`` in the group; without a group, as it is."""
    if group is None:
        return list(argv)
    return ["sh", "-c", 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"', "sh", str(group), *argv]


def remove_group(group: Path | None) -> None:
    """Take the group and those in it away; what still runs there moves to its parent."""
    if group is None:
        return
    for child in [path for path in group.iterdir() if path.is_dir()]:
        remove_group(child)
    with suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()
