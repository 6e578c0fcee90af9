# SPDX-License-Identifier: Apache-2.0
"""Idle windows: begun when a host is quiet, before and after each setting, stored with what was read."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.idle_simulation import Clock, Course, FakeSession, bmc, mpstat
from tests.unit.campaign.test_plan_order import campaign

from linewatt.analysis.power.totals import idle_drift_of
from linewatt.campaign.campaign import Campaign, EnergySweep, PowerSource
from linewatt.campaign.planning.idle import default_s, settling_limits
from linewatt.campaign.planning.plan import Plan, Round, plan_campaign
from linewatt.engine import events, idle
from linewatt.engine.measuring.ends import cpu_shares
from linewatt.engine.measuring.idle import BusyCores, moving, slope
from linewatt.engine.networks.proof import Leg
from linewatt.engine.readiness.checkup_probes import Way
from linewatt.engine.stage import Stage
from linewatt.errors import ChangeError
from linewatt.hosts.base import HostSpec
from linewatt.model import Case, Window
from linewatt.sensors.power.dynamics import Dynamics
from linewatt.sensors.registry import POWER_DRIVERS
from linewatt.store import raw
from linewatt.store.read import idle_windows

IDLE_W, LOAD_W = 100.0, 250.0
END_S = 1000.0
"""when the load ended"""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(END_S)
    monkeypatch.setattr(idle, "now_s", made)
    return made


def falling(time_constant_s: float) -> Course:
    """Power after a load: what is stored in warm parts and slow fans goes away by and by."""
    return lambda time_s: IDLE_W + (LOAD_W - IDLE_W) * math.exp(-max(0.0, time_s - END_S) / time_constant_s)


def taken(
    clock: Clock, watts: Course, cores: Course = lambda _: 0.01, seconds: float = 30.0, **more: Any
) -> Any:
    """The idle document of a host h1."""
    session = FakeSession(mpstat("h1", clock, cores), bmc("h1", clock, watts, **more))
    (one,) = asyncio.run(idle.measure(cast(Any, session), seconds, {"h1": ()}, {"h1"}))
    return one


def of_host(one: idle.Measured) -> tuple[float, float, str | None]:
    """Its idle power, the bound of that, and what moved."""
    values = one.window.hosts["h1"]
    (power,) = values.power
    assert power.power_w is not None
    assert power.idle_uncertainty_w is not None
    return power.power_w, power.idle_uncertainty_w, values.moving


def waited_s(one: idle.Measured) -> float:
    return one.window.window.start_s - END_S


@pytest.mark.parametrize("time_constant_s", [0.1, 2.0, 5.0, 8.0])
def test_idle_is_the_true_one_within_its_bound_however_slowly_power_falls(
    clock: Clock, time_constant_s: float
) -> None:
    power_w, bound_w, moving = of_host(taken(clock, falling(time_constant_s)))
    assert moving is None
    assert abs(power_w - IDLE_W) <= bound_w
    assert bound_w < 0.02 * IDLE_W


def test_a_quiet_host_is_looked_at_for_ten_seconds_and_no_longer(clock: Clock) -> None:
    assert waited_s(taken(clock, lambda _: IDLE_W)) == pytest.approx(10.0, abs=1.0)


def test_a_host_that_never_becomes_quiet_is_measured_at_the_limit_and_says_so(clock: Clock) -> None:
    one = taken(clock, lambda time_s: 300.0 - 1.5 * (time_s - END_S))
    assert waited_s(one) == pytest.approx(60.0, abs=1.5)
    assert one.moving == {"h1": "power (bmc Total) fell by 15.0 W of 217.3 W in 10 s"}


def test_a_host_whose_cpus_become_busy_is_not_quiet(clock: Clock) -> None:
    one = taken(clock, lambda _: IDLE_W, lambda time_s: 0.02 + 0.012 * (time_s - END_S))
    assert one.moving["h1"].startswith("CPU use rose from 0.")


@pytest.mark.parametrize(
    ("cpus", "look_s", "more_cores", "is_moving"),
    [
        (1, 40.0, 0.018, False),
        (1, 40.0, 0.022, True),
        (64, 40.0, 0.06, False),
        (64, 40.0, 0.07, True),
        (1, 4.0, 0.045, False),
        (1, 4.0, 0.055, True),
    ],
    ids=[
        "0.02 cores",
        "more",
        "0.1 % of 64 CPUs",
        "more of 64",
        "0.1 s in half of a short look",
        "more of it",
    ],
)
def test_how_much_more_cpu_use_makes_a_host_move_depends_on_its_size_and_on_the_look(
    clock: Clock, cpus: int, look_s: float, more_cores: float, is_moving: bool
) -> None:
    feed = mpstat("h1", clock, lambda at: 0.1 + more_cores * (at > END_S - look_s / 2), cpus)
    host, look = HostSpec("h1", "192.0.2.1", "eth0", cpus=tuple(range(cpus))), Window(END_S - look_s, END_S)
    said = moving(host, [feed.reading(look.start_s, look.end_s)], look)
    assert (said is not None) is is_moving


def test_work_that_ends_is_waited_for(clock: Clock) -> None:
    one = taken(clock, lambda _: IDLE_W, lambda time_s: 0.8 if time_s < END_S + 7 else 0.01)
    assert one.moving == {}
    assert waited_s(one) >= 7


@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_meter_and_a_host_with_timers_are_quiet(clock: Clock, seed: int) -> None:
    def noise(time_s: float) -> float:
        return random.Random(f"{seed} {time_s}").gauss(0, 1)  # noqa: S311

    one = taken(clock, lambda at: IDLE_W + 2 * noise(at), lambda at: max(0.0, 0.03 + 0.015 * noise(at + 0.5)))
    assert one.moving == {}


def test_a_slow_meter_is_looked_at_for_three_of_its_responses(clock: Clock) -> None:
    session = FakeSession(mpstat("h1", clock, lambda _: 0.01), bmc("h1", clock, lambda _: IDLE_W))
    session.feeds["h1"][1].updates_s["Total"] = 8.0
    (one,) = asyncio.run(idle.measure(cast(Any, session), 30.0, {"h1": ()}, {"h1"}))
    assert waited_s(one) == pytest.approx(24.0, abs=1.0)
    look = one.window.hosts["h1"].look
    assert look is not None
    assert look.needed_s == 24.0


def test_what_the_campaign_has_learned_of_a_meter_counts(clock: Clock) -> None:
    session = FakeSession(mpstat("h1", clock, lambda _: 0.01), bmc("h1", clock, lambda _: IDLE_W))
    known = {"h1": {("bmc", "Total"): Dynamics(refresh_s=1.0, averaging_s=5.0, settle_s=7.0)}}
    (one,) = asyncio.run(idle.measure(cast(Any, session), 30.0, {"h1": ()}, {"h1"}, known))
    assert waited_s(one) == pytest.approx(21.0, abs=1.0)


def test_a_short_idle_looks_as_briefly_and_has_a_wider_bound(clock: Clock) -> None:
    short = taken(clock, lambda _: IDLE_W, seconds=2.0)
    assert waited_s(short) == pytest.approx(2.0, abs=1.0)
    _, wide_w, _ = of_host(short)
    clock.now_s = END_S
    _, narrow_w, _ = of_host(taken(clock, lambda _: IDLE_W))
    assert wide_w - narrow_w == pytest.approx((10 / 2 - 1) * 0.01 * IDLE_W)


def test_a_short_idle_in_which_power_still_falls_holds_the_truth(clock: Clock) -> None:
    power_w, bound_w, _ = of_host(taken(clock, falling(5.0), seconds=2.0, interval_s=0.2))
    assert power_w > IDLE_W + 10
    assert abs(power_w - IDLE_W) <= bound_w


def test_without_power_only_a_short_look_at_the_cpus_is_taken(clock: Clock) -> None:
    session = FakeSession(mpstat("h1", clock, lambda _: 0.5))
    (one,) = asyncio.run(idle.measure(cast(Any, session), 5.0, {"h1": ()}, set()))
    assert waited_s(one) <= 3
    assert settling_limits(5.0, powered=False).limit_s <= 4


def test_a_meter_that_hangs_is_not_waited_for(clock: Clock) -> None:
    session = FakeSession(mpstat("h1", clock, lambda _: 0.01), bmc("h1", clock, lambda _: IDLE_W))
    session.feeds["h1"][1].failure = "no answer within 5 s"
    (one,) = asyncio.run(idle.measure(cast(Any, session), 30.0, {"h1": ()}, {"h1"}))
    assert waited_s(one) == pytest.approx(10.0, abs=1.0)


def test_a_slope_is_told_with_its_error() -> None:
    change, error = slope([(at, 3.0 * at) for at in range(10)]) or (0.0, 1.0)
    assert change == pytest.approx(27.0)
    assert error == pytest.approx(0.0, abs=1e-9)
    assert slope([(0.0, 1.0), (1.0, 2.0)]) is None
    assert slope([(0.0, 1.0)] * 3) is None


@pytest.mark.parametrize(
    ("intervals_s", "idle_s"), [((), 5.0), ((1.0,), 30.0), ((1.0, 5.0), 150.0), ((60.0,), 300.0)]
)
def test_with_power_idle_is_thirty_seconds_or_thirty_readings(
    intervals_s: tuple[float, ...], idle_s: float
) -> None:
    assert default_s(intervals_s) == idle_s


@pytest.mark.parametrize(
    ("after_w", "step_w", "has_drifted"), [(104.0, 1.0, False), (106.0, 1.0, True), (106.0, 8.0, False)]
)
def test_idle_may_be_five_percent_or_a_step_of_the_meter_higher_afterwards(
    after_w: float, step_w: float, has_drifted: bool
) -> None:
    assert (idle_drift_of([100.0, after_w], step_w) is not None) is has_drifted


# --- before and after each setting -------------------------------------------------------------------------


class FakeSettings:
    """Settings that are in force as soon as they are asked for."""

    def __init__(self) -> None:
        self.now: dict[str, object] = {}

    async def to(self, changes: object, hosts: Any) -> None:
        self.now |= dict.fromkeys(hosts, changes)

    def shows(self, changes: object, hosts: Any) -> bool:
        return all(self.now.get(name) == changes for name in hosts)


class NoLabels:
    def missing(self, factors: object) -> dict[str, str]:
        return {}


class Proven:
    """Paths on which full packets pass."""

    def proven(self, round_: Round) -> bool:
        return True

    def refuse_failed(self, rounds: object) -> None:
        pass

    async def of(self, rounds: object) -> None:
        pass


def staged_with(
    session: FakeSession, wanted: Campaign, planned: Plan, path: Path, say: events.OnEvent
) -> Stage:
    settings, labels = cast(Any, FakeSettings()), cast(Any, NoLabels())
    stage = Stage(cast(Any, session), wanted, planned, settings, labels, path, say)
    stage.proofs = cast(Any, Proven())
    return stage


def source() -> PowerSource:
    driver = POWER_DRIVERS["ipmi"]
    return PowerSource("ipmi", driver.Config(address="192.0.2.9", user="admin", password_env="P"))  # noqa: S106


async def run_rounds(stage: Stage, rounds: tuple[Round, ...], loaded: Callable[[Case], None]) -> None:
    """As a campaign does: each round made ready and run, then the end."""
    for at, one in enumerate(rounds):
        later = rounds[at:]

        def to_come(later: tuple[Round, ...] = later) -> set[tuple[str, idle.Setting]]:
            return {(host, each.trials[0].case.factors) for each in later for host in each.hosts}

        await stage.ready(one, to_come)
        loaded(one.trials[0].case)
        stage.ran(one)
    await stage.end(())


def test_idle_of_a_client_counts_cpus_that_only_the_server_has_offline(clock: Clock) -> None:
    feeds = [mpstat(name, clock, lambda _: 0.1, cpus=4) for name in ("c1", "dut")]
    for feed in feeds:
        cast(dict[str, Course], feed.courses).update(
            {"cpu3.usr_ratio": lambda _: 0.3, "cpu3.idle_ratio": lambda _: 0.7}
        )
    session = FakeSession(*feeds)
    session.specs = {name: replace(spec, cpus=None) for name, spec in session.specs.items()}
    settings = dict.fromkeys(session.specs, (("cpus_online", "0-1"),))
    (one,) = asyncio.run(idle.measure(cast(Any, session), 5.0, settings, set(), server="dut"))
    cores = {name: found.cpu_cores for name, found in one.window.hosts.items()}
    assert cores == {"c1": pytest.approx(0.4), "dut": pytest.approx(0.1)}


def test_idle_before_and_after_trials_of_users_knows_whose_cpus_go_offline(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, rounds, _ = staged(tmp_path, clock, lambda _: IDLE_W)
    stage._campaign = replace(stage._campaign, feature_values={"users": SimpleNamespace(server_host="b")})
    servers: list[object] = []

    async def measured(*known: Any) -> Any:
        servers.append(known[-1])
        return await idle.measure(*known)

    monkeypatch.setattr("linewatt.engine.stage.measure", measured)
    asyncio.run(run_rounds(stage, rounds, lambda _: None))
    assert servers == ["b"] * len(servers)
    assert len(servers) > 1


def staged(
    tmp_path: Path, clock: Clock, watts: Course, **more: Any
) -> tuple[Stage, tuple[Round, ...], list[str]]:
    session = FakeSession(
        *(feed for name in "ab" for feed in (mpstat(name, clock, lambda _: 0.01), bmc(name, clock, watts)))
    )
    wanted = campaign(power={name: {"bmc": source()} for name in "ab"}, **more)
    planned = plan_campaign(wanted, 0)
    said: list[str] = []

    def say(event: events.Event) -> None:
        if isinstance(event, events.Warned):
            said.append(event.text)

    return staged_with(session, wanted, planned, tmp_path, say), planned.rounds, said


def test_hosts_are_not_set_for_a_round_whose_path_is_known_to_fail(tmp_path: Path, clock: Clock) -> None:
    stage, rounds, _ = staged(tmp_path, clock, lambda _: IDLE_W)

    class Failed(Proven):
        def proven(self, round_: Round) -> bool:
            return False

        def refuse_failed(self, rounds: object) -> None:
            raise ChangeError("a packet of 9000 bytes does not pass")

    stage.proofs = cast(Any, Failed())
    with pytest.raises(ChangeError, match="does not pass"):
        asyncio.run(stage.ready(rounds[0], lambda: ()))
    assert cast(FakeSettings, stage.settings).now == {}


def test_each_setting_has_idle_before_its_first_and_after_its_last_trial(
    tmp_path: Path, clock: Clock
) -> None:
    stage, rounds, said = staged(
        tmp_path, clock, lambda _: IDLE_W, factors={"mtu": ("1500", "9000")}, trials=2
    )
    order: list[tuple[float, str]] = []

    def loaded(case: Case) -> None:
        clock.now_s += 5
        order.append((clock.now_s, dict(case.factors)["mtu"]))

    asyncio.run(run_rounds(stage, rounds, loaded))
    windows = idle_windows(tmp_path)
    assert [(one.setting["mtu"], one.after) for one in windows] == [
        ("1500", False),
        ("9000", False),
        ("1500", True),
        ("9000", True),
    ]
    for one in windows:
        times = [time_s for time_s, mtu in order if mtu == one.setting["mtu"]]
        assert one.window.start_s > max(times) if one.after else one.window.end_s < min(times)
        assert set(one.hosts) == {"a", "b"}
    assert said == []


SWEEP = {"energy": EnergySweep(0.2), "idle_s": 10.0, "omit_s": 1.0, "window_s": 10.0, "tail_s": 2.0}
"""idle after every third trial: a fifth of 10 s of it and 39 s of load"""


@pytest.mark.parametrize("factors", [{}, {"mtu": ("1500", "9000")}], ids=["one setting", "two settings"])
def test_a_sweep_has_idle_between_its_trials_as_often_as_its_plan_says(
    tmp_path: Path, clock: Clock, factors: dict[str, tuple[str, ...]]
) -> None:
    stage, rounds, _ = staged(tmp_path, clock, lambda _: IDLE_W, trials=7, factors=factors, **SWEEP)
    times: dict[str, list[float]] = {}

    def loaded(case: Case) -> None:
        clock.now_s += 13
        times.setdefault(dict(case.factors).get("mtu", ""), []).append(clock.now_s)

    asyncio.run(run_rounds(stage, rounds, loaded))
    windows = idle_windows(tmp_path)
    asked = campaign(power={"a": {"bmc": source()}}, trials=7, factors=factors, **SWEEP)
    planned = plan_campaign(asked, 0).idle
    assert planned.every_rounds == 3
    assert len(windows) == planned.windows
    assert planned.between_windows == sum(len(own) // 3 - (len(own) % 3 == 0) for own in times.values())
    for level, own in times.items():
        starts = [one.window.start_s for one in windows if one.setting.get("mtu", "") == level]
        assert len(starts) > 2
        for first, last in pairwise(starts):
            assert sum(first < ended <= last for ended in own) in (1, 2, 3)


def test_a_round_before_which_hosts_are_to_be_idle_is_not_made_ready_ahead(
    tmp_path: Path, clock: Clock
) -> None:
    stage, rounds, _ = staged(tmp_path, clock, lambda _: IDLE_W, trials=7, **SWEEP)
    ahead = []

    async def run() -> None:
        for one, following in pairwise(rounds):
            await stage.ready(one, lambda: ())
            ahead.append(stage.as_it_is(following))
            stage.ran(one)

    asyncio.run(run())
    assert ahead[:6] == [True, True, False] * 2


def test_a_sweep_that_is_resumed_begins_with_idle(tmp_path: Path, clock: Clock) -> None:
    for part in (1, 2):
        stage, rounds, _ = staged(tmp_path, clock, lambda _: IDLE_W, trials=7, **SWEEP)
        asyncio.run(stage.ready(rounds[0], lambda: ()))
        assert len(idle_windows(tmp_path)) == part


def test_idle_of_one_setting_is_not_that_of_another(tmp_path: Path, clock: Clock) -> None:
    """At MTU 9000 the same host draws 20 W more."""
    now = {"mtu": "1500"}
    stage, rounds, _ = staged(
        tmp_path,
        clock,
        lambda _: IDLE_W + (20 if now["mtu"] == "9000" else 0),
        factors={"mtu": ("1500", "9000")},
        trials=1,
    )
    settings = cast(Any, stage.settings)
    put = settings.to

    async def to(changes: Any, hosts: Any) -> None:
        now["mtu"] = next(one.value for one in changes if one.knob == "mtu")
        await put(changes, hosts)

    settings.to = to
    asyncio.run(run_rounds(stage, rounds, lambda _: None))
    found = {mtu: stage.idle.power((("mtu", mtu),), ["a"])["a"]["bmc", "Total"] for mtu in ("1500", "9000")}
    assert found == {"1500": pytest.approx(100.0), "9000": pytest.approx(120.0)}
    assert stage.idle.cores((("mtu", "9000"),), ["a"])["a"] == pytest.approx(0.01)


def test_idle_that_drifted_is_told_once_a_host(tmp_path: Path, clock: Clock) -> None:
    stage, rounds, said = staged(tmp_path, clock, lambda time_s: IDLE_W if time_s < END_S + 60 else 130.0)

    def loaded(case: Case) -> None:
        clock.now_s += 60

    asyncio.run(run_rounds(stage, rounds, loaded))
    assert said == [
        f"{name}: idle was 100.0 W before and 130.0 W after; watts above idle are withheld for this setting"
        for name in "ab"
    ]


def test_what_tools_said_in_idle_windows_is_stored_raw(tmp_path: Path, clock: Clock) -> None:
    stage, rounds, _ = staged(tmp_path, clock, lambda _: IDLE_W)
    asyncio.run(run_rounds(stage, rounds, lambda _: None))
    for name, end in (("idle", False), ("idle-end", True)):
        document = json.loads((tmp_path / f"{name}.json").read_text())
        texts = raw.raw_texts(tmp_path / "raw" / name)
        for host in "ab":
            for tool in ("mpstat", "bmc"):
                lines = texts[f"{host}/{tool}.jsonl"].splitlines()
                times = [json.loads(line)["received_s"] for line in lines]
                assert times[0] <= document["hosts"][host]["look"]["start_s"]
                assert times[-1] >= document["window"]["end_s"]
        assert [one.after for one in idle_windows(tmp_path) if one.after == end] == [end]


def test_without_power_there_is_one_window_a_setting(tmp_path: Path, clock: Clock) -> None:
    session = FakeSession(*(mpstat(name, clock, lambda _: 0.01) for name in "ab"))
    wanted = campaign()
    planned = plan_campaign(wanted, 0)
    stage = staged_with(session, wanted, planned, tmp_path, lambda _: None)
    asyncio.run(run_rounds(stage, planned.rounds, lambda _: None))
    assert [one.after for one in idle_windows(tmp_path)] == [False]


def test_a_plan_knows_what_idle_takes() -> None:
    quiet = plan_campaign(campaign(trials=10, idle_s=5.0), 0)
    assert quiet.idle.windows == 1
    assert quiet.duration_s == pytest.approx(5 + 10 * 5.1)
    power = {"a": {"bmc": source()}}
    powered = plan_campaign(
        campaign(trials=10, idle_s=30.0, power=power, factors={"mtu": ("1500", "9000")}), 0
    )
    assert powered.idle.windows == 4
    assert powered.idle.least_s == pytest.approx(4 * 40.0)
    assert powered.idle.most_s == pytest.approx(4 * 90.0)


@pytest.mark.parametrize("seed", range(8))
def test_cores_that_were_busy_are_those_of_the_shares_of_each_cpu(clock: Clock, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    feed = mpstat("h1", clock, lambda at: abs(math.sin(at)) / 2, cpus=3)
    host = HostSpec("h1", "192.0.2.1", "eth0", cpus=(0, 2) if seed % 2 else None)
    start_s = END_S - chance.uniform(4, 30)
    window = Window(start_s, start_s + chance.uniform(1, 3))
    reading = feed.reading(window.start_s, window.end_s)
    if seed > 4:  # a CPU that went away, or has no idle time in a record
        gone = {"cpu2.idle_ratio", "cpu2.usr_ratio"} if seed == 5 else {"cpu0.idle_ratio"}
        records = [
            replace(one, values={name: v for name, v in one.values.items() if name not in gone})
            if at == 1
            else one
            for at, one in enumerate(reading.records)
        ]
        reading = replace(reading, records=tuple(records))
    shares = cpu_shares(host, [reading], window)
    cores = BusyCores(host)
    cores.take([reading])
    busy = cores.over(window)
    assert (busy is None) is any(one is None for one in shares.values()) is (seed > 4), "both are tried"
    if busy is not None:
        assert busy[0] == pytest.approx(sum(one.busy_ratio for one in shares.values() if one))
        assert busy[1] == len(shares)


def test_nothing_is_imported_in_an_idle_window(clock: Clock) -> None:
    session = FakeSession(mpstat("h1", clock, lambda _: 0.1, cpus=4))
    open_windows: list[int] = []
    wait_past = session.feeds["h1"][0].wait_past

    async def waited(*words: Any, **more: Any) -> None:
        open_windows.append(session.beside._windows)
        await wait_past(*words, **more)

    session.feeds["h1"][0].wait_past = waited  # type: ignore[method-assign]
    asyncio.run(idle.measure(cast(Any, session), 5.0, {"h1": ()}, set()))
    assert set(open_windows) == {1}


def test_ways_known_to_be_good_are_so_once_and_until_something_is_changed(tmp_path: Path) -> None:
    wanted = campaign()
    stage = staged_with(FakeSession(), wanted, plan_campaign(wanted, 1), tmp_path, lambda _: None)
    leg = Leg("bare", "eth0", Way("h1", "h2", "ipv4", "192.0.2.1", "192.0.2.2", 1500))
    for untouched in (True, False):
        stage.good = frozenset({leg})
        stage.settings = cast(Any, SimpleNamespace(untouched=untouched))
        assert stage._known_good() == (frozenset({leg}) if untouched else frozenset())
        assert stage._known_good() == frozenset()
