# SPDX-License-Identifier: Apache-2.0
"""What a record costs of the drivers that run on the host: there exactly, and where it is read by the engine.

A stream is run by hand on this machine, in a control group of its own, at its highest rate. Its start is left
out: the group's CPU time is looked at whenever a record arrives, beginning with the first.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bench.cgroup import Group, group
from bench.cost import cost
from bench.rows import MeasurementFailed, Row
from linewatt.engine.live.feed import Feed
from linewatt.hosts.base import HostSpec, Line
from linewatt.sensors.power.ipmi import ipmitool
from linewatt.sensors.registry import POWER_DRIVERS

BATCHES = 20
START_S = 30.0
END_LIMIT_S = 5.0
_LOOK_S = 0.02
_JOIN = 'echo $$ >"$1" && shift && exec "$@"'
_STAMPS = re.compile(r"\S+ 1 (\d+)\|.*\|end (\d+)")

# A program that reads nothing: what any costs in bash at least.
_PROGRAM = r"""
exec {never}<> <(:)
while printf '{"time": %s, "values": {"wall": 214.5, "energy": 90211.0}}\n' "$EPOCHREALTIME"; do
  read -r -t "$LINEWATT_INTERVAL_S" -u "$never"
done
"""


@dataclass(frozen=True, slots=True)
class Stream:
    """A driver, its settings and its interval; ``tool`` is ipmitool and how it reaches a BMC."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    interval_s: float = 0.1
    tool: Sequence[str] = ()
    said: str = ""

    def driver(self) -> Any:
        kind = POWER_DRIVERS[self.name]
        return kind(kind.Config(interval_s=self.interval_s, **self.settings))

    def argv(self, driver: Any, host: HostSpec) -> list[str]:
        cfg = driver.Config(interval_s=self.interval_s, **self.settings)
        found = ipmitool.command(cfg, self.tool) if self.tool else driver.command(cfg, host)
        return list(found)


STREAMS = (
    Stream("rapl"),
    Stream("hwmon"),
    Stream("estimate", {"scope": "system", "idle_w": 50.0, "max_w": 150.0}),
    Stream(
        "command",
        {
            "argv": ["bash", "-c", _PROGRAM],
            "channels": {"wall": {"scope": "wall", "unit": "W"}, "energy": {"scope": "wall", "unit": "J"}},
            "provenance": "simulated",
        },
        said="its program is a bash loop that reads nothing, the least there can be",
    ),
)


def ipmitool_stream(cfg: Any) -> Stream:
    """The in-band stream, with a lab BMC's LAN port in the place of /dev/ipmi0."""
    tool = ["ipmitool", "-I", "lanplus", "-C", "3", "-H", cfg.address]
    tool += ["-U", cfg.user, "-f", cfg.password_file]
    said = "over a simulator's LAN port with its encryption, in the place of /dev/ipmi0"
    return Stream("ipmitool", {}, 0.5, tool, said)


def stream_rows(stream: Stream, seconds: float) -> list[Row]:
    """CPU time a record, on the host and on the controller, and wall time where records say it."""
    driver = stream.driver()
    count = max(5, round(seconds / stream.interval_s))
    host = HostSpec("here", "local", "lo", cpus=tuple(sorted(os.sched_getaffinity(0))))
    records, used_s = _run(stream, driver, stream.argv(driver, host), count)
    controller_s, channels = _taken(stream, driver, records)
    note = f"{channels} {'channel' if channels == 1 else 'channels'} here, {count} records"
    if stream.said:
        note += f"; {stream.said}"
    rows = [
        Row(f"{stream.name}, a record, CPU of the host", "s", used_s, note=note),
        Row(f"{stream.name}, a record, CPU of the controller", "s", controller_s),
    ]
    if stream.tool:
        rows.insert(0, Row(f"{stream.name}, a record, wall", "s", tuple(spans_s(records))))
    return rows


def _run(stream: Stream, driver: Any, argv: Sequence[str], count: int) -> tuple[list[str], tuple[float, ...]]:
    """Records after the first, and what the group used for each. Raises MeasurementFailed."""
    limit_s = START_S + 2 * count * stream.interval_s
    environment = {**os.environ, **driver.environment()}
    with group(f"stream-{stream.name}") as own, _running(own, argv, limit_s, environment) as child:
        lines = (line.rstrip("\n") for line in child.stdout or ())
        records, looks = [], []
        for line in lines:
            if not driver.ends_record(line):
                continue
            records.append(line)
            looks.append(own.look().used_s)
            if len(records) > count:
                break
    if len(records) <= count:
        raise MeasurementFailed(
            f"{stream.name}: {count + 1} records were awaited for {limit_s:g} s, {len(records)} came"
        )
    return records[1:], tuple(later - before for before, later in pairwise(looks))


@contextmanager
def _running(
    own: Group, argv: Sequence[str], limit_s: float, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """The stream in its group, from its first instruction to its last process."""
    joined = ["sh", "-c", _JOIN, "sh", str(own.path / "cgroup.procs")]
    with subprocess.Popen(
        [*joined, "timeout", f"{limit_s:g}", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(environment),
        start_new_session=True,
    ) as child:
        try:
            yield child
        finally:
            child.terminate()  # timeout passes it on
            _empty(own, child)


def _empty(own: Group, child: subprocess.Popen[str]) -> None:
    """Wait for all of the group; what is left after a while is killed. Raises MeasurementFailed."""
    end_s = time.monotonic() + END_LIMIT_S
    while child.poll() is None or own.processes():
        late_s = time.monotonic() - end_s
        if late_s > END_LIMIT_S:
            raise MeasurementFailed(f"processes of a stream to end were awaited for {2 * END_LIMIT_S:g} s")
        for process in own.processes() if late_s > 0 else ():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _taken(stream: Stream, driver: Any, records: Sequence[str]) -> tuple[tuple[float, ...], int]:
    """CPU time a record in the engine's own code, and how many channels have a value.

    Raises MeasurementFailed.
    """
    feed = Feed("here", driver, None, stream.name)
    costs = []
    for _ in range(BATCHES):
        with cost() as one:
            for record in records:
                feed.take(Line(time.time(), record))
        costs.append(one.cpu_s / len(records))
    problems = feed.reading(0, time.time()).problems
    if problems:
        raise MeasurementFailed(f"{stream.name}: {problems[-1]}")
    (last,) = feed.latest(1)
    return tuple(costs), sum(value is not None for value in last.values.values())


def spans_s(records: Sequence[str]) -> Iterator[float]:
    """From beginning to end of each record, as it says itself."""
    for record in records:
        stamps = _STAMPS.fullmatch(record)
        if stamps is None:
            raise MeasurementFailed(f"no stamps in {record[:80]!r}")
        yield (int(stamps[2]) - int(stamps[1])) / 1e6
