# SPDX-License-Identifier: Apache-2.0
"""Hosts whose power and CPU use follow a known course, on a clock of their own: nothing is waited for."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.engine.background_imports import Beside
from linewatt.engine.live.feed import Reading, Record
from linewatt.hosts.base import HostSpec
from linewatt.model import Channel

Course = Callable[[float], float]


@dataclass
class Clock:
    """Time that passes only where somebody waits."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class FakeFeed:
    """A sensor that reads a course every so often, as :class:`linewatt.engine.live.feed.Feed` shows it."""

    host: str
    source: str
    clock: Clock
    courses: Mapping[str, Course]
    channels: Mapping[str, Channel]
    interval_s: float = 1.0
    essential: bool = True
    updates_s: dict[str, float] = field(default_factory=dict)
    started_s: float = 0.0
    failure: str | None = None
    phase_s: float = 0.0
    """how long after whole intervals it reads"""

    @property
    def latest_s(self) -> float:
        return (
            math.floor((self.clock.now_s - self.phase_s) / self.interval_s + 1e-9) * self.interval_s
            + self.phase_s
        )

    async def wait_past(self, time_s: float, limit_s: float) -> None:
        assert time_s <= self.clock.now_s + limit_s
        if self.latest_s < time_s:
            late = math.ceil((time_s - self.phase_s) / self.interval_s)
            self.clock.now_s = max(self.clock.now_s, late * self.interval_s + self.phase_s)

    def reading(self, start_s: float, end_s: float) -> Reading:
        first = math.floor((start_s - self.phase_s) / self.interval_s)
        last = math.ceil((end_s - self.phase_s) / self.interval_s)
        every = (number * self.interval_s + self.phase_s for number in range(first, last + 1))
        times = [time_s for time_s in every if time_s <= self.latest_s]
        records = tuple(self._record(time_s) for time_s in times)
        return Reading(
            self.host, self.source, records, self.channels, dict(self.updates_s), optional=not self.essential
        )

    def later(self, than_s: float) -> Reading:
        since = self.reading(max(than_s, self.started_s), self.latest_s)
        return replace(since, records=tuple(record for record in since.records if record.time_s > than_s))

    def _record(self, time_s: float) -> Record:
        values = {name: course(time_s) for name, course in self.courses.items()}
        return Record(time_s, self.interval_s, json.dumps(values), values)


def mpstat(host: str, clock: Clock, busy_cores: Course, cpus: int = 1) -> FakeFeed:
    """A host whose first CPU is busy so much of each second, and the others are not."""
    names = ("usr", "sys", "irq", "soft", "nice", "iowait", "steal", "guest", "gnice", "idle")
    courses: dict[str, Course] = {
        f"cpu{cpu}.{name}_ratio": (lambda _: 1.0) if name == "idle" else (lambda _: 0.0)
        for cpu in range(cpus)
        for name in names
    }
    courses["cpu0.usr_ratio"] = busy_cores
    courses["cpu0.idle_ratio"] = lambda time_s: 1.0 - busy_cores(time_s)
    channels = {name: Channel(name, "ratio", "mean", "cpu:0") for name in courses}
    return FakeFeed(host, "mpstat", clock, courses, channels)


def bmc(host: str, clock: Clock, watts: Course, step_w: float = 1.0, interval_s: float = 1.0) -> FakeFeed:
    """A meter of the system's power that cuts to its step."""
    channel = Channel("Total", "W", "gauge", "system", step=step_w)
    courses = {"Total": lambda time_s: math.floor(watts(time_s) / step_w) * step_w}
    return FakeFeed(host, "bmc", clock, courses, {"Total": channel}, interval_s, essential=False)


class FakeSession:
    """What idle needs of a session."""

    def __init__(self, *feeds: FakeFeed) -> None:
        self.feeds: dict[str, Sequence[FakeFeed]] = {}
        for feed in feeds:
            self.feeds[feed.host] = [*self.feeds.get(feed.host, ()), feed]
        self.specs = {name: HostSpec(name, "192.0.2.1", "eth0", cpus=(0,)) for name in self.feeds}
        self.hosts: dict[str, object] = dict.fromkeys(self.specs)
        self.gone: dict[str, str] = {}
        self.beside = Beside()

    def lost(self) -> dict[str, str]:
        return self.gone
