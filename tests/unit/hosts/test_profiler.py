# SPDX-License-Identifier: Apache-2.0
"""A profile is made of what hosts can give: what one lacks is said in it, and fails nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.features.profiles.test_profiles import ABLE, campaign, whole

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine import events
from linewatt.engine.live.trial_run import TrialRun
from linewatt.errors import ChangeError, HostError
from linewatt.features.profiles import store
from linewatt.features.profiles.engine.run import Profiler
from linewatt.features.profiles.perf.model import Profile
from linewatt.hosts.base import Completed, Ended
from linewatt.hosts.clock import Offset
from linewatt.model import Trial, Window
from linewatt.store.write import new_result

WELL = ABLE + "clock 1.4,msec,cpu-clock,1,100.00,,\ncycles <not supported>,,cycles,0,100.00,,\n"
FOLDED = "F\tcopy\t[kernel.kallsyms]\nS\tiperf3\t 0\nC\t0\t0\t0\t5\ntotals 5 0 0 0\n"


@dataclass
class Perf:
    """What perf on a host does when it is let go."""

    ended: Ended
    released: bool = False
    stopped: bool = False
    problem: str | None = None

    def bound(self, most_bytes: int) -> None: ...

    async def ready(self, timeout_s: float) -> None: ...

    def release(self) -> None:
        self.released = True

    async def wait(self, timeout_s: float, awaited: str) -> Ended:
        assert self.released
        if self.problem:
            raise HostError(self.problem)
        return self.ended

    async def stop(self) -> Ended:
        self.stopped = True
        return self.ended


@dataclass
class Host:
    """One that says what perf can do, and has it run."""

    able: str
    perf: Perf
    started: list[Sequence[str]] = field(default_factory=list)

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        return Completed(tuple(argv), 0, self.able, "")

    async def start(self, argv: Sequence[str], **more: object) -> Perf:
        assert more == {"held": True, "root": True}
        self.started.append(argv)
        return self.perf


def ended(status: int = 0, text: str = "", stderr: str = "") -> Ended:
    return Ended(status, text or whole(FOLDED), stderr, 0.0, 1.0)


class Bench:
    """The load of a trial: it begins, and comes to a number or to none."""

    def __init__(self, failure: str | None) -> None:
        self.failure = failure
        self.stopped = False

    def lives(self, trials: Sequence[Any]) -> list[Any]:
        self.planned = trials[0]
        return [self]

    async def prepared(self) -> None: ...

    def release(self) -> None: ...

    async def collect(self) -> TrialRun:
        await asyncio.sleep(0)
        clocks = {name: Offset(0.0, 0.001) for name in self.planned.case.hosts}
        return TrialRun(self.planned, 90.0, 110.0, 20.0, (), clocks, self.failure)

    async def stop(self) -> None:
        self.stopped = True

    def together(self, trials: Sequence[Any], runs: Sequence[TrialRun]) -> list[TrialRun]:
        return list(runs)

    async def unstored(self, run: TrialRun) -> Trial:
        case = run.planned.case
        made = Trial(1, 1, case, case.key, "done", 90.0)
        return replace(made, window=Window(95.0, 105.0), throughput_bps=9e9)


class Hosts:
    """The session of two hosts, and the stage that brings them to where a load can begin."""

    def __init__(self, hosts: dict[str, Host], specs: Any, problem: str | None = None) -> None:
        self.hosts, self.specs, self.problem = hosts, specs, problem
        self.facts = {name: {"cpus": {"online": [0, 1]}} for name in hosts}
        self.load = type("Load", (), {"lead_s": 0.0})

    def lost(self) -> dict[str, str]:
        return {}

    def late_s(self, names: object) -> float:
        return 0.0

    async def in_force(self, round_: object) -> None:
        if self.problem:
            raise ChangeError(self.problem)


def profiled(
    tmp_path: Path, a: Host, b: Host, failure: str | None = None, problem: str | None = None
) -> tuple[Profile, list[str]]:
    read = replace(load_campaign(campaign(tmp_path)), omit_s=60.0 if failure else 0.0, window_s=2.0)
    planned = plan_campaign(read, 0)
    result = new_result(tmp_path, "p", 1e9, {"schema_version": 1, "name": "p", "trials_planned": 0})
    told: list[str] = []

    def say(event: events.Event) -> None:
        if isinstance(event, events.Warned):
            told.append(event.text)

    hosts: Any = Hosts({"a": a, "b": b}, read.hosts, problem)
    bench: Any = Bench(failure)
    asyncio.run(Profiler(hosts, read, hosts, bench, say).run(result, planned.further["profiles"][0]))
    (found,) = store.profiles(result)
    assert not list((result / "trials").iterdir()), "a profile is no trial"
    return found, told


class Lost(Host):
    """One that goes away when it is asked."""

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        raise HostError("b: the connection ended")


def test_a_host_that_goes_away_leaves_nothing_held_on_the_other(tmp_path: Path) -> None:
    a = host()
    with pytest.raises(HostError, match="b: the connection ended"):
        profiled(tmp_path, a, Lost(WELL, Perf(ended())))
    assert a.perf.stopped
    assert not a.perf.released


def host(able: str = WELL, perf: Perf | None = None) -> Host:
    return Host(able, perf or Perf(ended()))


def test_a_profile_has_what_perf_said_on_both_hosts_and_when(tmp_path: Path) -> None:
    a, b = host(), host()
    found, told = profiled(tmp_path, a, b)
    assert told == []
    assert found.throughput_bps == 9e9
    assert [(one.host, one.role, one.samples) for one in found.hosts] == [
        ("a", "sender", 5),
        ("b", "receiver", 5),
    ]
    assert (found.hosts[0].start_s, found.hosts[0].end_s) == (100.0, 102.0)
    assert found.hosts[0].cpus == {"irq": (1,), "app + irq": (0,)}
    assert found.hosts[0].no_counters
    assert a.started[0][4:8] == ["cpu-clock", "499", "0-1", "2"]
    assert len(a.started[0]) == 13, "nothing is counted where there is nothing to count"


def test_where_the_hardware_counts_each_place_is_counted_beside_it(tmp_path: Path) -> None:
    a = host(WELL.replace("<not supported>", "123456"))
    profiled(tmp_path, a, host())
    assert a.started[0][4] == "cycles"
    assert sorted(a.started[0][13:]) == ["0", "1"]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (host("version bash: perf: command not found\n"), "there is no perf; apt-get install"),
        (host(perf=Perf(ended(1, stderr="x\nno folder has 8385 KiB free\n"))), "no folder has 8385 KiB free"),
        (host(perf=Perf(ended(text="linewatt-profile 1\nended 141 1\n"))), "cut off"),
        (host(perf=Perf(ended(), problem="b: perf wrote more than it may")), "wrote more than it may"),
    ],
)
def test_a_host_without_a_profile_says_why_and_the_other_has_its_own(
    tmp_path: Path, one: Host, why: str
) -> None:
    found, told = profiled(tmp_path, host(), one)
    assert found.hosts[0].samples == 5
    assert why in (found.hosts[1].reason or "")
    assert len(told) == 1
    assert why in told[0]


def test_a_load_that_fails_leaves_a_profile_that_says_so_and_nothing_running(tmp_path: Path) -> None:
    a, b = host(), host()
    found, told = profiled(tmp_path, a, b, failure="iperf3: refused")
    assert found.reason == "iperf3: refused"
    assert all(one.reason for one in found.hosts)
    assert a.perf.stopped
    assert told == ["profile 1: iperf3: refused"]


def test_a_setting_that_cannot_be_made_leaves_a_profile_that_says_so(tmp_path: Path) -> None:
    found, told = profiled(tmp_path, host(), host(), problem="a: mtu: refused")
    assert (found.reason, found.hosts) == ("a: mtu: refused", ())
    assert json.dumps(told) == '["profile 1: a: mtu: refused"]'


def test_a_recording_that_went_on_after_the_load_says_so(tmp_path: Path) -> None:
    late = whole(FOLDED).replace("times 100.0 102.0", "times 109.0 111.5")
    found, _ = profiled(tmp_path, host(perf=Perf(ended(text=late))), host())
    assert any("1.5 s beyond the end of the load" in note for note in found.hosts[0].notes)
