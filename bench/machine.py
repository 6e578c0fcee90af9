# SPDX-License-Identifier: Apache-2.0
"""The machine that the numbers belong to, and how busy it was."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_BUSY_LOOK_S = 1.0
_IDLE_FIELDS = (3, 4)  # idle, iowait: proc(5), /proc/stat


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


def busy_cores(seconds: float = _BUSY_LOOK_S) -> float:
    """How many cores others use: looked at while this process sleeps."""
    before = _cpu_ticks()
    time.sleep(seconds)
    after = _cpu_ticks()
    total, idle = after[0] - before[0], after[1] - before[1]
    return (os.cpu_count() or 1) * (total - idle) / total if total else 0.0


def _cpu_ticks() -> tuple[int, int]:
    """All ticks and the idle ones, all CPUs together."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), sum(ticks[at] for at in _IDLE_FIELDS)


def _found(path: Path, pattern: str) -> str | None:
    try:
        match = re.search(pattern, path.read_text())
    except OSError:
        return None
    return match[1].strip() if match else None


def _iperf3() -> str:
    done = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[:2]) or "no iperf3"
