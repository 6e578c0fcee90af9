# SPDX-License-Identifier: Apache-2.0
"""How many hosts one controller carries: its CPU for each more host whose sensors it reads once a second.

In a long idle window nothing happens but that: heartbeats, streams, parsing, storing. The controller's CPU
time is the scheduler's, so that others on the machine do not matter. What two numbers of hosts differ by is
the hosts' part of it; the rest is what linewatt costs anyway, and comes off the half core that hosts may use.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from bench.cgroup import threads_s
from bench.effort import Effort
from bench.rig import Rig, lab_of, rig
from bench.rows import MeasurementFailed, Row

ABOUT_S = 480
_REPEATS = 2
_SETTLE_S = 4.0
_WINDOW = {"omit": 0, "seconds": 1, "tail": 1}
_BUSY = 0.5
"""of a core: the rest is for connecting, settings and the ends of rounds"""


def measure(effort: Effort) -> list[Row]:
    """Few and many hosts, with and without meters."""
    few, many, seconds = effort.of((8, 48, 20.0), (4, 12, 8.0), (2, 4, 2.0))
    rows = []
    for what, metered in (("", True), (", no meter", False)):
        costs = [
            cost({hosts: _cores(hosts, seconds, metered=metered) for hosts in (few, many)})
            for _ in range(_REPEATS)
        ]
        each = tuple(100 * one.each for one in costs)
        enough = tuple(one.hosts for one in costs)
        rows += [
            Row(f"CPU of the controller for each host, sensors at 1 Hz{what}", "percent", each),
            Row(f"hosts for which half a core of the controller will do{what}", "count", enough),
        ]
    return rows


@dataclass(frozen=True, slots=True)
class Cost:
    """Cores that the controller uses: ``fixed`` whatever the hosts, ``each`` for one more."""

    fixed: float
    each: float

    @property
    def hosts(self) -> float:
        """For how many hosts half a core will do, of which the fixed cost is a part."""
        return (_BUSY - self.fixed) / self.each


def cost(cores: Mapping[int, float]) -> Cost:
    """The line through the cores used with few and with many hosts. Raises MeasurementFailed."""
    (few, low), (many, high) = sorted(cores.items())
    each = (high - low) / (many - few)
    if each <= 0:
        raise MeasurementFailed(
            f"{many} hosts cost the controller no more CPU than {few}: {high:.3f} and {low:.3f} cores"
        )
    fixed = low - few * each
    if fixed >= _BUSY:
        raise MeasurementFailed(f"the controller uses {fixed:.3f} cores before it has a host")
    return Cost(fixed, each)


def _cores(hosts: int, seconds: float, *, metered: bool) -> float:
    """Cores that the controller uses in an idle window of so many hosts."""
    with rig() as own, lab_of(hosts, "1gbit", bmc=metered) as lab:
        pairs = [f"h{number} -> h{number + 1}" for number in range(1, hosts, 2)]
        idle = {"seconds": seconds + 2 * _SETTLE_S}
        campaign = own.campaign(
            read_each_second(lab.inventory, own.directory),
            pairs=pairs,
            concurrent_pairs=True,
            trials=1,
            rate="2M",
            window=_WINDOW,
            idle=idle,
        )
        watch = _Watch(own, seconds)
        own.run(campaign, on_event=watch.on_event, partial=True)
    if watch.cores is None:
        raise MeasurementFailed("the campaign never said that its idle window began")
    return watch.cores


def read_each_second(inventory: Path, directory: Path) -> Path:
    """The lab's inventory with meters at 1 Hz: linewatt by itself reads more often for a short window."""
    tree = YAML(typ="safe").load(inventory)
    for source in _sources(tree):
        source["interval_s"] = 1.0
    path = directory / "inventory.yaml"
    path.write_text(json.dumps(tree))
    return path


def _sources(tree: Any) -> Iterator[dict[str, Any]]:
    """Every source of power of every host, wherever its group stands."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from value.values() if name == "linewatt_power" else _sources(value)


class _Watch:
    """Looks at the controller twice inside the idle window."""

    def __init__(self, own: Rig, seconds: float) -> None:
        self._own, self._seconds = own, seconds
        self.cores: float | None = None

    def on_event(self, event: dict[str, Any]) -> None:
        """An event of linewatt. It has nothing to say while this sleeps."""
        if event["event"] == "phase" and event["text"].startswith("idle window") and self.cores is None:
            time.sleep(_SETTLE_S)
            before_s, before = time.monotonic(), self._used_s()
            time.sleep(self._seconds)
            self.cores = (self._used_s() - before) / (time.monotonic() - before_s)

    def _used_s(self) -> float:
        used = None if self._own.running is None else threads_s(self._own.running)
        if used is None:
            raise MeasurementFailed("the campaign ended in its idle window")
        return used
