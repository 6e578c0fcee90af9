# SPDX-License-Identifier: Apache-2.0
"""The process that feeds a lab's BMCs: CPU use in, values files out, five times a second.

``python -m linewatt.features.lab.feeder VALUES 0,0,0,0,0,0 h1=0,1 h2=2,3``: ``VALUES/h1`` says what a
server with the CPUs 0 and 1 draws. Hosts on the same CPUs share a file. The numbers are those of
:class:`.Meters`; of a BMC that does not show what is drawn ``VALUES/h1.truth`` has that, and
``VALUES/h1.plug`` where there is a plug. CPUs are as busy as ``VALUES/h1.busy`` says, if it is there,
and fans turn at no less than ``VALUES/h1.fans`` says. It runs until it is ended, or ``VALUES`` is gone.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from linewatt.features.lab.bmc_recipe import (
    BEAT,
    BUSY,
    FANS,
    PLUG,
    TRUTH,
    Meters,
    meters_of,
    plug_line,
    truth_line,
    values_line,
)
from linewatt.features.lab.power_model import PSUS, ServerPower, mean_power, server_power

_INTERVAL_S = 0.2
_AVERAGED = 5
"""Intervals: /proc/stat counts in steps of 10 ms, of which one interval has too few. A BMC averages, too."""

_IDLE_FIELDS = (3, 4)  # idle, iowait
_MOST_BYTES = 1 << 20
_FIELDS = 8  # up to steal; guest time is in user already. Source: proc(5)

Ticks = tuple[int, int]
"""Busy and all ticks since the machine started."""


def cpu_ticks(stat: str) -> dict[int, Ticks]:
    """Ticks of each CPU from ``/proc/stat``; of a text that is cut off, those that are whole."""
    ticks = {}
    for line in stat.splitlines(keepends=True):
        name, *words = line.split(maxsplit=_FIELDS + 1)[: _FIELDS + 1] or [""]
        if not name.startswith("cpu"):
            break  # interrupts follow, a number for each
        if name != "cpu" and line.endswith("\n") and len(words) == _FIELDS:
            values = [int(word) for word in words]
            total = sum(values)
            ticks[int(name[3:])] = (total - sum(values[at] for at in _IDLE_FIELDS), total)
    return ticks


def sum_of(ticks: Mapping[int, Ticks], cpus: Sequence[int]) -> Ticks:
    """Sum of the ticks of several CPUs; offline CPUs are left out."""
    online = [ticks[cpu] for cpu in cpus if cpu in ticks]
    return sum(busy for busy, _ in online), sum(total for _, total in online)


def utilisation(before: Ticks, after: Ticks) -> float | None:
    """Utilisation of the CPUs in between, 0 to 1; ``None`` if no time passed or the set of CPUs changed."""
    busy, total = after[0] - before[0], after[1] - before[1]
    return busy / total if 0 <= busy <= total and total > 0 else None


class Bmc:
    """One values file: what a server draws, as its BMC shows it; ``controls`` begins the names of the files
    that make it another."""

    def __init__(self, file: int, truth: int | None, plug: int | None, controls: str, meters: Meters) -> None:
        self._file = file
        self._truth = truth
        self._plug = plug
        self._controls = controls
        self._meters = meters
        self._ticks: deque[Ticks] = deque(maxlen=_AVERAGED + 1)
        self._powers: deque[ServerPower] = deque(maxlen=max(1, round(meters.average_s / _INTERVAL_S)))
        self._late: deque[tuple[float, ServerPower]] = deque()
        self._due_s = 0.0
        self._energy_j = 0.0
        self._last_s: float | None = None

    def take(self, ticks: Ticks, now_s: float) -> None:
        """CPU time until now, seconds of any clock that runs steadily."""
        self._ticks.append(ticks)
        busy = utilisation(self._ticks[0], self._ticks[-1])
        if busy is None:
            return
        set_busy = _read_control(self._controls + BUSY)
        power = server_power(
            busy if set_busy is None else set_busy, _read_control(self._controls + FANS) or 0.0
        )
        self._late.append((now_s, power))
        while self._late and self._late[0][0] <= now_s - self._meters.delay_s:
            self._powers.append(self._late.popleft()[1])
        if self._last_s is not None:
            self._energy_j += PSUS * power.psu_out_w * (now_s - self._last_s)
        self._last_s = now_s
        if self._truth is not None:
            os.pwrite(self._truth, truth_line(time.time(), self._energy_j).encode(), 0)
        if self._plug is not None:
            os.pwrite(self._plug, plug_line(PSUS * power.psu_in_w).encode(), 0)
        if now_s >= self._due_s and self._powers:
            self._due_s = max(self._due_s + self._meters.refresh_s, now_s)
            self._show(self._meters.shown(mean_power(self._powers)))

    def _show(self, power: ServerPower) -> None:
        line = values_line(power).encode()
        if os.pread(self._file, len(line), 0) != line:
            os.pwrite(self._file, line, 0)


def _read_control(path: str) -> float | None:
    """The number in a control file that overrides a value; ``None`` if there is no such file."""
    try:
        return float(Path(path).read_text())
    except (OSError, ValueError):
        return None


def feed(
    values: Path,
    hosts: Mapping[str, Sequence[int]],
    stat: Path = Path("/proc/stat"),
    *,
    meters: Meters | None = None,
) -> None:
    """Write the values of ``hosts`` (file name → CPUs) until their directory is gone."""
    with ExitStack() as closing:
        source = _open_file(closing, stat, os.O_RDONLY)
        beat = _open_file(closing, values / BEAT, os.O_WRONLY | os.O_CREAT)
        bmcs, shown_meters = {}, meters or Meters()
        for name in hosts:
            file = _open_file(closing, values / name, os.O_RDWR | os.O_CREAT)
            truth, plug = (
                _open_file(closing, values / f"{name}{kind}", os.O_RDWR | os.O_CREAT) if is_written else None
                for kind, is_written in ((TRUTH, not shown_meters.as_drawn), (PLUG, shown_meters.plug))
            )
            bmcs[name] = Bmc(file, truth, plug, str(values / name), shown_meters)
        due_s = time.monotonic()
        while _is_there(values / BEAT, beat):
            ticks = cpu_ticks(os.pread(source, _MOST_BYTES, 0).decode())
            now_s = time.monotonic()
            for name, cpus in hosts.items():
                bmcs[name].take(sum_of(ticks, cpus), now_s)
            os.utime(beat)
            now_s = time.monotonic()
            due_s = max(due_s + _INTERVAL_S, now_s)
            time.sleep(due_s - now_s)


def _open_file(closing: ExitStack, path: Path, flags: int) -> int:
    handle = os.open(path, flags | os.O_CLOEXEC, 0o644)
    closing.callback(os.close, handle)
    return handle


def _is_there(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def main(words: Sequence[str]) -> None:
    """Run the feeder with the arguments of this program."""
    values, numbers, *assignments = words
    parts = (word.partition("=") for word in assignments)
    hosts = {name: tuple(int(cpu) for cpu in cpus.split(",")) for name, _, cpus in parts}
    feed(Path(values), hosts, meters=meters_of(numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
