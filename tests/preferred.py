# SPDX-License-Identifier: Apache-2.0
"""A quiet of the tests' own: whatever else runs on this machine waits where they want a CPU.

``python -m tests.preferred COMMAND…`` runs it in a control group of the highest weight, which is gone
afterwards. Where there can be none the command has its share as everybody has, and that is said. A CPU that
others keep busy looks busy all the same: what tests make of that is in :mod:`tests.again`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

RUN = "LINEWATT_TESTS_RUN"
"""names the process from which all tests of a whole run come"""
WEIGHTS = {"cpu.weight": "10000", "cpu.shares": "262144"}
"""file of a group → the most it may say: cgroup-v2.rst; of version 1 MAX_SHARES in kernel/sched/sched.h"""
_REMOVE_LIMIT_S = 10.0
_RETRY_S = 0.05


@dataclass(frozen=True)
class Hierarchy:
    """Where groups are made, and which file of a group is its weight."""

    root: Path
    weight: str


def hierarchy(mounts: str) -> Hierarchy | None:
    """The one that shares out CPUs: version 1 where both are mounted, as the controller is in one only."""
    found: dict[str, Hierarchy] = {}
    for line in mounts.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            found["1"] = Hierarchy(Path(where), "cpu.shares")
        elif kind == "cgroup2":
            found["2"] = Hierarchy(Path(where), "cpu.weight")
    return found[min(found)] if found else None


def home(own: str, where: Hierarchy) -> Path:
    """The group of this process (``own`` is /proc/self/cgroup); the root where it cannot be told."""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        named = "cpu" in controllers.split(",") if where.weight == "cpu.shares" else not controllers
        if named and ".." not in path and (where.root / path.lstrip("/")).is_dir():
            return where.root / path.lstrip("/")
    return where.root


@contextmanager
def preferred(where: Hierarchy, own: str) -> Iterator[None]:
    """This process, and what it starts, in a group of the highest weight. Raises OSError."""
    back = home(own, where)
    group = where.root / f"linewatt-tests-{os.getpid()}"
    group.mkdir()
    try:
        (group / where.weight).write_text(WEIGHTS[where.weight])
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        _remove(group, back)


def _remove(group: Path, back: Path) -> None:
    """Put back what is left in a group, and remove it; what cannot be is said."""
    deadline = time.monotonic() + _REMOVE_LIMIT_S
    while group.exists():
        with suppress(OSError):
            for process in (group / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (back / "cgroup.procs").write_text(process)
        try:
            group.rmdir()
        except OSError as error:
            if time.monotonic() > deadline:
                print(f"{group}: cannot be removed: {error.strerror}", file=sys.stderr)  # noqa: T201
                return
            time.sleep(_RETRY_S)


def run(argv: Sequence[str]) -> int:
    """A command to its end, which Ctrl-C and TERM ask for; its status as a shell has it."""
    environment = {**os.environ, RUN: str(os.getpid())}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the whole terminal gets it, and the command ends first
    with subprocess.Popen(argv, env=environment, preexec_fn=_interruptible) as process:
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        status = process.wait()
    return status if status >= 0 else 128 - status


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main(argv: Sequence[str]) -> int:
    """Run it, preferred where that can be had."""
    where = hierarchy(Path("/proc/self/mounts").read_text())
    with ExitStack() as stack:
        try:
            if where is None:
                raise OSError(0, "no control groups share out CPUs here")
            stack.enter_context(preferred(where, Path("/proc/self/cgroup").read_text()))
        except OSError as error:
            print(f"tests: others have their share of the CPUs ({error.strerror})", file=sys.stderr)  # noqa: T201
        return run(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
