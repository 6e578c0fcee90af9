# SPDX-License-Identifier: Apache-2.0
"""What is imported while a run waits: a step at a time, never in a window, what a load needs before it."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.unit.engine.test_many_hosts import campaign_of

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.cli import execution as command
from linewatt.cli.answer_imports import answer_modules
from linewatt.engine.background_imports import Beside, importing
from linewatt.engine.campaign import CampaignRun
from linewatt.engine.live.session import Session
from linewatt.engine.run import Places
from linewatt.errors import HostError, HostInUse
from linewatt.features.soak.run import SoakRun

LIMIT_S = 60
IMPORTED = threading.Event()


class Steps:
    """Steps that write down their names, some of which wait until they are let go."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.each = threading.Condition()
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def step(self, name: str) -> Callable[[], object]:
        return lambda: self.does(name)

    def does(self, name: str) -> None:
        with self.each:
            self.done.append(name)
            self.each.notify_all()

    def held(self) -> None:
        self.begun.set()
        assert self.may_end.wait(LIMIT_S)
        self.does("held")

    async def until(self, name: str) -> None:
        def wait() -> bool:
            with self.each:
                return self.each.wait_for(lambda: name in self.done, LIMIT_S)

        assert await asyncio.to_thread(wait)


def run(work: Callable[[Beside, Steps], Awaitable[None]]) -> list[str]:
    async def whole() -> list[str]:
        beside, steps = Beside(), Steps()
        await work(beside, steps)
        await beside.close()
        return steps.done

    return asyncio.run(whole())


def test_what_a_load_needs_is_there_before_what_is_only_wanted() -> None:
    async def work(beside: Beside, steps: Steps) -> None:
        beside.begin([steps.step("a"), steps.step("b")], [steps.step("c")])
        await beside.ready()
        assert steps.done[:2] == ["a", "b"]
        await steps.until("c")

    assert run(work) == ["a", "b", "c"]


def test_a_window_waits_for_the_step_that_runs_and_no_other_begins_in_it() -> None:
    async def work(beside: Beside, steps: Steps) -> None:
        beside.begin([], [steps.held, steps.step("after")])
        await asyncio.to_thread(steps.begun.wait, LIMIT_S)
        asyncio.get_running_loop().call_later(0.01, steps.may_end.set)
        async with beside.still():
            assert steps.done == ["held"]
            for _ in range(100):
                await asyncio.sleep(0)
            assert steps.done == ["held"]
        await steps.until("after")

    assert run(work) == ["held", "after"]


def test_of_two_windows_the_last_one_lets_go() -> None:
    async def work(beside: Beside, steps: Steps) -> None:
        async with beside.still():
            beside.begin([], [steps.step("a")])
            async with beside.still():
                pass
            for _ in range(100):
                await asyncio.sleep(0)
            assert steps.done == []
        await steps.until("a")

    run(work)


def test_a_window_that_opens_as_another_ends_finds_nothing_begun() -> None:
    async def work(beside: Beside, steps: Steps) -> None:
        async with beside.still():
            beside.begin([], [steps.step("a")])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        async with beside.still():
            for _ in range(100):
                await asyncio.sleep(0)
            assert steps.done == []

    run(work)


def test_what_is_needed_and_cannot_be_had_is_told_and_what_is_wanted_is_left_to_its_user() -> None:
    async def needed(beside: Beside, steps: Steps) -> None:
        beside.begin(importing(["linewatt.no_such_module"]), [steps.step("a")])
        with pytest.raises(ModuleNotFoundError):
            await beside.ready()

    async def wanted(beside: Beside, steps: Steps) -> None:
        beside.begin([], importing(["linewatt.no_such_module"]))
        await beside.ready()

    assert run(needed) == []
    assert run(wanted) == []


def test_nothing_begins_once_it_is_closed() -> None:
    async def work(beside: Beside, steps: Steps) -> None:
        beside.begin([], [steps.held, steps.step("after")])
        await asyncio.to_thread(steps.begun.wait, LIMIT_S)
        asyncio.get_running_loop().call_later(0.01, steps.may_end.set)
        await beside.close()

    assert run(work) == ["held"]


# --- in a run ----------------------------------------------------------------------------------------------


def run_of(tmp_path: Path, **more: Any) -> CampaignRun:
    campaign = campaign_of(tmp_path)
    return CampaignRun(
        campaign, plan_campaign(campaign, 1), Places(tmp_path, tmp_path), lambda _: None, **more
    )


def test_run_hands_over_what_its_answer_is_made_with_and_json_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[tuple[str, ...]] = []

    async def start(self: CampaignRun) -> object:
        handed.append(self._later)
        return None

    campaign: Campaign = campaign_of(tmp_path)
    monkeypatch.setattr(CampaignRun, "start", start)
    for as_json in (False, True):
        command.execute(campaign, plan_campaign(campaign, 1), None, tmp_path, as_json, state=tmp_path)
    assert handed == [answer_modules(), ()]


def test_what_is_wanted_later_is_imported_while_hosts_are_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"from {__name__} import IMPORTED\nIMPORTED.set()\n"
    (tmp_path / "wanted_when_it_is_over.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    one = run_of(tmp_path, later=["wanted_when_it_is_over"])

    async def connect(*_: object) -> None:
        assert await asyncio.to_thread(IMPORTED.wait, LIMIT_S)
        raise HostError("h1: far enough")

    monkeypatch.setattr(one._session, "connect", connect)
    with pytest.raises(HostError, match="far enough"):
        asyncio.run(one.start())


def test_from_the_first_load_to_the_last_nothing_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, steps = run_of(tmp_path), Steps()
    manifest = SimpleNamespace(hosts={})
    monkeypatch.setattr("linewatt.engine.campaign.load_manifest", lambda _: manifest)
    seen: list[int] = []
    more = [steps.step("wanted")] * 1000  # than there is time for before the first load

    async def opened(*_: object) -> None:
        one._session.beside.begin([steps.step("needed")], [*more, steps.step("last")])

    async def rounds(*_: object) -> None:
        assert "needed" in steps.done
        seen.append(len(steps.done))
        for _turn in range(20):
            await asyncio.to_thread(seen.append, seen[0])

    async def further(*_: object) -> None:
        seen.append(len(steps.done))
        monkeypatch.setattr(one, "_ended", ended)

    async def ended(*_: object) -> None:
        pass

    monkeypatch.setattr(one, "_opened", opened)
    monkeypatch.setattr(one, "_rounds", rounds)
    monkeypatch.setattr(one, "_further", further)

    async def whole() -> None:
        await one._measure(tmp_path, cast(Any, None), cast(Any, None), None)
        await steps.until("last")

    try:
        asyncio.run(whole())
    finally:
        gc.unfreeze()
    assert len(set(seen)) == 1, "what was not there by the first load comes after the last"
    assert seen[0] < len(more)


def test_nothing_is_imported_in_a_soaks_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, seen = object.__new__(SoakRun), list[bool]()
    beside = Beside()

    async def nothing(*_: object, **__: object) -> tuple[()]:
        return ()

    async def part(*_: object) -> None:
        seen.append(beside._may_go_on.is_set())

    planned = SimpleNamespace(rounds=(), changes_in=lambda _: ())
    session = SimpleNamespace(hosts={}, beside=beside, first_readings=nothing)
    made: dict[str, Any] = {
        "_session": session,
        "_plan": planned,
        "_unstored": None,
        "_part": part,
        "_users": None,
    }
    made |= {"_prepare": nothing, "_stop": nothing, "_left_s": lambda _: 1.0, "_ended": lambda _: None}
    made |= {"_say": lambda _: None, "_users": None}
    for name, value in made.items():
        setattr(one, name, value)
    monkeypatch.setattr("linewatt.features.soak.run.Settings", lambda *_: None)
    for name in ("start_sensors", "prove_paths"):
        monkeypatch.setattr(f"linewatt.features.soak.run.{name}", nothing)
    monkeypatch.setattr("linewatt.features.soak.run.legs_of_rounds", lambda *_: ())
    try:
        asyncio.run(one._measure(tmp_path, cast(Any, SimpleNamespace(to=nothing)), cast(Any, None), None))
    finally:
        gc.unfreeze()
    assert (seen, beside._may_go_on.is_set()) == ([False], True)


IMPORTS = """
import sys
from pathlib import Path
import numpy as np
from linewatt.analysis.statistics import steadiness
from linewatt.analysis.statistics.stats import estimate
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.cli.answer_imports import answer_modules
from linewatt.engine import run
from linewatt.engine.background_imports import importing
from linewatt.engine.campaign import CampaignRun

folder = Path(sys.argv[1])
campaign = load_campaign(folder / "two.yaml")
one = CampaignRun(campaign, plan_campaign(campaign, 1), run.Places(folder, folder), print)
for step in [*one._needed(), run._warm_up, *importing(answer_modules())]:
    step()
there = set(sys.modules)
series = [10.0, 10.1] * 8 + [7.0, 7.1] * 8
assert steadiness.step(series) and steadiness.slope(np.arange(1.0, 30.0).tolist())
print(sorted(set(sys.modules) - there))
assert steadiness.drift(range(12), [100.0 + at for at in range(12)]) and steadiness.unlike(5.0, series[:9])
assert estimate(series[:5]).interval().method == "student-t-skewed"
assert estimate(series).interval().method == "bca-bootstrap"
print(sorted({name for name in sys.modules if name == "ruptures" or name.startswith("scipy")}))
"""


def test_a_campaign_with_long_windows_imports_neither_scipy_nor_ruptures_before_its_first_load_or_at_its_end(
    tmp_path: Path,
) -> None:
    (tmp_path / "two.yaml").write_text(
        "name: two\nhosts: {h1: {address: 192.0.2.1, data: e0}, h2: {address: 192.0.2.2, data: e0}}\n"
        "pairs: [h1 -> h2]\ntests: [tcp]\ntrials: 20\nwindow: {seconds: 10}\n"
    )
    script = [sys.executable, "-c", IMPORTS, str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]


# --- sensors, which begin beside what hosts are asked ------------------------------------------------------


class Started:
    """What becomes of the sensors of a run whose hosts are made up."""

    def __init__(self, run: CampaignRun, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        self.session: Session = run._session
        for feed in self.session.all_feeds():
            monkeypatch.setattr(feed, "start", self.start)
            monkeypatch.setattr(feed, "stop", self.stop)
        self.session.hosts = cast(Any, dict.fromkeys(self.session.specs, Nobody()))
        monkeypatch.setattr(self.session, "_connect", self.connect)

    async def start(self, host: object) -> None:
        self.events.append("start")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.events.append("cancelled")
            raise

    async def stop(self) -> None:
        self.events.append("stop")

    async def connect(self, name: str) -> None:
        pass


class Nobody:
    lost = None

    async def close(self) -> None:
        pass


def test_no_sensor_is_started_on_a_host_that_another_controller_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = run_of(tmp_path)
    started = Started(one, monkeypatch)

    async def taken(*_: object) -> None:
        for _turn in range(100):
            await asyncio.sleep(0)
        raise HostInUse("h1: in use by somebody")

    monkeypatch.setattr(one._session, "_take", taken)
    with pytest.raises(HostInUse):
        asyncio.run(one.start())
    assert set(started.events) == {"stop"}


def test_sensors_that_were_begun_are_ended_where_hosts_cannot_be_worked_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = run_of(tmp_path)
    started = Started(one, monkeypatch)
    feeds = len(one._session.all_feeds())

    async def take(*_: object) -> None:
        pass

    async def learn() -> None:
        for _turn in range(100):
            await asyncio.sleep(0)
        assert started.events == ["start"] * feeds, "they start meanwhile"
        raise HostError("h1: no iperf3")

    monkeypatch.setattr(one._session, "_take", take)
    monkeypatch.setattr(one._session, "learn", learn)
    with pytest.raises(HostError, match="no iperf3"):
        asyncio.run(one.start())
    assert started.events == ["start"] * feeds + ["cancelled"] * feeds + ["stop"] * feeds


def test_what_a_sensor_that_was_begun_said_is_told_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = run_of(tmp_path)._session
    session.hosts = cast(Any, dict.fromkeys(session.specs, Nobody()))

    async def fails(host: object) -> None:
        raise HostError("h1: mpstat did not start")

    for feed in session.all_feeds():
        monkeypatch.setattr(feed, "start", fails)

    async def whole() -> None:
        session.begin_sensors()
        with pytest.raises(HostError, match="did not start"):
            await session.start_sensors()

    asyncio.run(whole())
