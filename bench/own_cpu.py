# SPDX-License-Identifier: Apache-2.0
"""CPU that linewatt uses on a host beside the load, exactly: sshd, the heartbeat, the leashes, the sensors.

A host's sshd is put into a control group before the campaign connects, so that all linewatt starts there
is in it; the group's CPU time is read twice inside a long idle window, when nothing else runs in it. The
split comes from the scheduler's figures of each process; what is left over are children too short-lived to
be seen. The floor is one mpstat started by hand.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from bench.capacity import read_each_second
from bench.cgroup import CpuTime, Group, command_line, group
from bench.effort import Effort
from bench.rig import lab_of, rig
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.campaign.reading.file import load_campaign
from linewatt.features.lab.api import HostLayout, Lab
from linewatt.hosts import leash
from linewatt.hosts.base import HostSpec
from linewatt.sensors.mpstat import Mpstat, MpstatConfig
from linewatt.sensors.registry import SENSORS

ABOUT_S = 60
_SETTLE_S = 1.5
_WINDOW = {"omit": 0, "seconds": 1, "tail": 1}
_REST = "short-lived children"

Looks = dict[str, tuple[CpuTime, CpuTime]]
"""Host → the looks at the beginning and the end"""


def measure(effort: Effort) -> list[Row]:
    """One campaign with a long idle window, then mpstat by hand on the same hosts for as long."""
    seconds = effort.of(20.0, 5.0, 1.5)
    with rig() as own, lab_of(2, "2gbit") as lab, ExitStack() as stack:
        groups = {host.name: stack.enter_context(group(host.name)) for host in lab.hosts}
        for host in lab.hosts:
            groups[host.name].take(_processes_in(host.namespace))
        idle = {"seconds": seconds + _SETTLE_S + 2}
        campaign = own.campaign(
            read_each_second(lab.inventory, own.directory), trials=1, window=_WINDOW, idle=idle
        )
        watch = Watch(groups, seconds, Labels(load_campaign(campaign, None).hosts))
        own.run(campaign, on_event=watch.on_event)
        by_hand = _mpstat_by_hand(lab, groups, seconds)
    return _rows(watch, by_hand)


def _rows(watch: Watch, by_hand: tuple[float, ...]) -> list[Row]:
    floor = Peer("one mpstat by hand", by_hand)
    total = tuple(percent(*looks) for looks in watch.looks.values())
    if not total:
        raise MeasurementFailed("the campaign never said that its idle window began")
    rows = [Row("CPU of all that linewatt runs on a host", "percent", total, Target(at_most=1.0), floor)]
    parts = {host: split(*looks, watch.names) for host, looks in watch.looks.items()}
    names = sorted({name for part in parts.values() for name in part})
    for name in names:
        values = tuple(part.get(name, 0.0) for part in parts.values())
        rows.append(Row(f"of it {name}", "percent", values, peer=floor if name == "mpstat" else None))
    return rows


class Watch:
    """Looks at the groups twice inside the idle window, and remembers what each process was."""

    def __init__(self, groups: Mapping[str, Group], seconds: float, labels: Labels) -> None:
        self.looks: Looks = {}
        self._groups = groups
        self._seconds = seconds
        self._labels = labels
        self.names: dict[int, str] = {}

    def on_event(self, event: dict[str, Any]) -> None:
        """An event of linewatt. Nothing else is read from it meanwhile: it has nothing to say."""
        if event["event"] == "phase" and event["text"].startswith("idle window"):
            time.sleep(_SETTLE_S)
            before = {host: own.look() for host, own in self._groups.items()}
            time.sleep(self._seconds)
            after = {host: own.look() for host, own in self._groups.items()}
            self.looks = {host: (before[host], after[host]) for host in before}
            processes = {process for look in after.values() for process in look.processes}
            self.names = {process: self._labels.of(command_line(process)) for process in processes}


def split(before: CpuTime, after: CpuTime, names: Mapping[int, str]) -> dict[str, float]:
    """Percent of a core by what it was used for; it sums to the total."""
    elapsed_s = after.time_s - before.time_s
    parts: dict[str, float] = {}
    for process, used_s in after.processes.items():
        spent_s = used_s - before.processes.get(process, 0.0)
        parts[names[process]] = parts.get(names[process], 0.0) + 100 * spent_s / elapsed_s
    return {**parts, _REST: max(0.0, percent(before, after) - sum(parts.values()))}


def percent(before: CpuTime, after: CpuTime) -> float:
    """Of one core, over the time between two looks."""
    return 100 * (after.used_s - before.used_s) / (after.time_s - before.time_s)


class Labels:
    """What a process on a host is for, told by its argument list."""

    def __init__(self, specs: Mapping[str, HostSpec]) -> None:
        self._sensors = {
            tuple(sensor.command(sensor.Config(), spec)): name
            for name, sensor in SENSORS.items()
            for spec in specs.values()
        }
        self._leash = leash.leashed([], held=False, root=False)[:3]

    def of(self, words: list[str]) -> str:
        if words[:3] == leash.anchor(0.0)[:3]:
            return "heartbeat"
        if words[:3] == self._leash:
            return "leashes"
        if words and words[0].startswith("sshd"):
            return "sshd"
        return self._sensors.get(tuple(words)) or (words[0] if words else "?")


def _mpstat_by_hand(lab: Lab, groups: Mapping[str, Group], seconds: float) -> tuple[float, ...]:
    with ExitStack() as stack:
        started = {host.name: stack.enter_context(_mpstat(host, groups[host.name])) for host in lab.hosts}
        time.sleep(_SETTLE_S)
        before = {name: groups[name].look() for name in started}
        time.sleep(seconds)
        after = {name: groups[name].look() for name in started}
    return tuple(percent(before[name], after[name]) for name in started)


@contextmanager
def _mpstat(host: HostLayout, own: Group) -> Iterator[subprocess.Popen[bytes]]:
    """The sensor's command on the host's CPUs and in its group, its output thrown away."""
    mpstat = Mpstat()
    argv = [
        *("ip", "netns", "exec", host.namespace),
        *("taskset", "-c", ",".join(map(str, host.cpus))),
        *mpstat.command(MpstatConfig(), _spec(host)),
    ]
    environment = {**os.environ, **mpstat.environment()}
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        own.take([child.pid])
        yield child
    finally:
        child.terminate()
        child.wait()


def _spec(host: HostLayout) -> HostSpec:
    return HostSpec(host.name, host.address, "data0")


def _processes_in(namespace: str) -> list[int]:
    done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]
