# SPDX-License-Identifier: Apache-2.0
"""The machine that the numbers belong to, and how busy it was."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench import cgroup
from bench.rows import MeasurementFailed


@dataclass(frozen=True, slots=True)
class Machine:
    """What a figure needs beside it to mean anything."""

    cpu: str
    cores: int
    kernel: str
    system: str
    python: str
    iperf3: str
    load_average: tuple[float, float, float]

    def heading(self) -> str:
        load = " ".join(f"{value:.2f}" for value in self.load_average)
        return (
            f"{self.cpu}, {self.cores} cores, kernel {self.kernel}, {self.system}, "
            f"Python {self.python}, {self.iperf3}; load average {load} at the start"
        )


def look() -> Machine:
    """This machine, now."""
    cores = len(os.sched_getaffinity(0))
    return Machine(
        cpu=_found(Path("/proc/cpuinfo"), r"model name\s*:\s*(.+)") or platform.machine(),
        cores=cores,
        kernel=platform.release(),
        system=_found(Path("/etc/os-release"), r'PRETTY_NAME="?([^"\n]+)') or platform.system(),
        python=platform.python_version(),
        iperf3=_iperf3(),
        load_average=os.getloadavg(),
    )


class Others:
    """How many cores were used meanwhile by what is no part of the bench; ``None``: not known."""

    cores: float | None = None


@contextmanager
def beside_others(name: str) -> Iterator[Others]:
    """Watch what the rest of the machine does: on a shared one, that is what a bad figure may come from.

    This process goes into a control group, so that all it starts is told from all else.
    """
    others = Others()
    with ExitStack() as stack:
        own = None
        with suppress(OSError, MeasurementFailed):
            own = stack.enter_context(cgroup.group(name))
            own.take([os.getpid()])
            began_s, before_s = time.monotonic(), own.others_s()
        try:
            yield others
        finally:
            if own is not None:
                others.cores = (own.others_s() - before_s) / (time.monotonic() - began_s)


def _found(path: Path, pattern: str) -> str | None:
    try:
        match = re.search(pattern, path.read_text())
    except OSError:
        return None
    return match[1].strip() if match else None


def _iperf3() -> str:
    done = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[:2]) or "no iperf3"
