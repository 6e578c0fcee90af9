# SPDX-License-Identifier: Apache-2.0
"""What one controller does for a host does not grow with the number of the others: counted, not timed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.idle_simulation import Clock, FakeSession, mpstat
from tests.unit.engine.test_settings import FOUND, KNOBS, FakeHost, made

from linewatt.campaign.campaign import Campaign, PowerSource
from linewatt.campaign.planning.plan import PlannedTrial, Round, plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine import idle
from linewatt.engine.campaign import CampaignRun
from linewatt.engine.live import session as sessions
from linewatt.engine.live.feed import Feed, Reading, Record
from linewatt.engine.live.meter_book import MeterBook
from linewatt.engine.live.sensing import Restarts
from linewatt.engine.live.session import HOSTS_AT_ONCE, Session
from linewatt.engine.measuring.cut import Setup
from linewatt.engine.measuring.idle import BusyCores, moving
from linewatt.engine.run import Places
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError, HostError, SettingRefused
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.journal.journal import Entry, Journal, journal_path
from linewatt.model import Channel
from linewatt.sensors.registry import POWER_DRIVERS

MANY = 200
NAMES = [f"h{number}" for number in range(MANY)]


class Name(str):
    """The name of a host, which counts how often it is compared with others."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def comparisons(work: Callable[[], object]) -> int:
    Name.compared = 0
    work()
    return Name.compared


class Busy:
    """Counts how much is under way at once, and lets nothing end before all that can has begun."""

    spec = HostSpec("h1", "192.0.2.1", "e0")

    def __init__(self) -> None:
        self.now = self.most = 0

    async def one(self, *_: object, **__: object) -> Any:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1
        return self


def campaign_of(folder: Path) -> Campaign:
    hosts = ", ".join(f"{name}: {{address: 192.0.2.{at + 1}, data: e0}}" for at, name in enumerate(NAMES))
    file = folder / "many.yaml"
    pairs = ", ".join(f"{one} -> {other}" for one, other in zip(NAMES[::2], NAMES[1::2], strict=True))
    file.write_text(
        f"name: many\nhosts: {{{hosts}}}\npairs: [{pairs}]\ntests: [tcp]\nconcurrent_pairs: true\n"
    )
    return load_campaign(file)


def session_of(folder: Path) -> Session:
    return Session(campaign_of(folder), {})


@pytest.mark.parametrize(
    ("hosts", "window_s", "named_s", "interval_s"),
    [
        (2, 60, None, 1.0),
        (2, 3, None, 0.2),
        (20, 3, None, 0.2),
        (50, 3, None, 0.5),
        (200, 3, None, 1.0),
        (200, 3, 0.1, 0.1),
    ],
)
def test_meters_of_many_hosts_are_read_no_more_than_a_hundred_times_a_second_in_all(
    tmp_path: Path, hosts: int, window_s: float, named_s: float | None, interval_s: float
) -> None:
    campaign = campaign_of(tmp_path)
    named = {} if named_s is None else {"interval_s": named_s}
    cfg = POWER_DRIVERS["hwmon"].Config(**named)
    campaign = replace(
        campaign,
        window_s=window_s,
        power={name: {"watts": PowerSource("hwmon", cfg)} for name in NAMES[:hosts]},
    )
    session = Session(campaign, {})
    feeds = [feed for feed in session.all_feeds() if not feed.essential]
    assert {feed.interval_s for feed in feeds} == {interval_s}
    assert len(feeds) == hosts


def test_a_record_whose_values_are_all_there_is_parsed_once() -> None:
    asked: list[str] = []

    class Twice:
        name = "twice"

        def ends_record(self, line: str) -> bool:
            return True

        def parse(self, record: str) -> dict[str, float | None]:
            return {} if record == "nothing" else {"x": None if record == "?" else float(record)}

        def reasons(self, record: str) -> dict[str, str]:
            asked.append(record)
            return {"x": "it went away"}

        def channel(self, name: str) -> Channel:
            return Channel(name, "W", "gauge", "system")

    feed = Feed("h1", Twice(), None)
    for at, text in enumerate(("1", "2", "?", "nothing", "3")):
        feed.take(Line(float(at), text))
    assert asked == ["?", "nothing"]
    assert [one.reason for one in feed.whole().samples("x")] == [None, None, "it went away", None]


def test_as_many_hosts_as_may_are_connected_to_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, asked = Busy(), Busy()
    monkeypatch.setattr(sessions, "connect_to_host", busy.one)
    monkeypatch.setattr(sessions, "read_facts", asked.one)
    session = session_of(tmp_path)
    monkeypatch.setattr(session, "_take", Busy().one)
    monkeypatch.setattr(session, "_check", lambda name: None)
    asyncio.run(session.open())
    assert len(session.hosts) == len(session.specs) > HOSTS_AT_ONCE
    assert (busy.most, asked.most) == (HOSTS_AT_ONCE, HOSTS_AT_ONCE)


def test_sensors_of_all_hosts_are_started_again_at_once(tmp_path: Path) -> None:
    session, busy = session_of(tmp_path), Busy()
    for name, own in session.feeds.items():
        session.hosts[name] = type("There", (), {"lost": None})()
        for feed in own:
            feed.failure = "ended"
            feed.start = busy.one  # type: ignore[method-assign]
    told: list[str] = []
    assert asyncio.run(Restarts(session, lambda host, _: told.append(host)).look())
    assert busy.most == len(told) == sum(len(own) for own in session.feeds.values()) > 1


def test_a_pair_that_cannot_be_made_ready_is_found_by_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_of(tmp_path)
    planned = plan_campaign(campaign, 0)
    first = planned.rounds[0]
    bad = first.trials[len(first.trials) // 3]
    asked: list[int] = []
    failed: list[int] = []

    class Stage:
        async def ready(self, round_: Round, to_come: object) -> None:
            asked.append(len(round_.trials))
            if bad in round_.trials:
                raise ChangeError("h1: no")

    class Runner:
        async def fail(self, trials: Sequence[PlannedTrial], reason: str) -> None:
            failed.extend(one.number for one in trials)

    async def nothing() -> bool:
        return False

    run = CampaignRun(campaign, planned, Places(tmp_path, tmp_path), lambda _: None)
    monkeypatch.setattr(run, "_mended", nothing)
    ready = asyncio.run(run._made_ready(Runner(), Stage(), first, lambda: ()))  # type: ignore[arg-type]
    assert failed == [bad.number]
    assert set(ready) == set(first.trials) - {bad}
    assert len(first.trials) > 50
    assert len(asked) < 16, "a question for each halving, and one for what is left beside it"


def test_a_setting_that_a_host_refused_is_not_tried_again_and_other_settings_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "factors.yaml"
    file.write_text(
        "name: factors\nhosts: {h1: {address: 192.0.2.1, data: e0}, h2: {address: 192.0.2.2, data: e0}}\n"
        "pairs: [h1 -> h2]\ntests: [tcp]\ntrials: 3\nfactors: {mtu: [1500, 9000]}\ninstances: [1, 2]\n"
    )
    campaign = load_campaign(file)
    planned = plan_campaign(campaign, 0)
    tried: list[str] = []
    failed: dict[int, str] = {}

    class Stage:
        async def ready(self, round_: Round, to_come: object) -> None:
            level = dict(round_.trials[0].case.factors)["mtu"]
            tried.append(level)
            if level == "9000":
                raise SettingRefused("its driver refuses it", where="h2")

    class Runner:
        async def fail(self, trials: Sequence[PlannedTrial], reason: str) -> None:
            failed.update((trial.number, reason) for trial in trials)

    async def nothing() -> bool:
        return False

    run = CampaignRun(campaign, planned, Places(tmp_path, tmp_path), lambda _: None)
    monkeypatch.setattr(run, "_mended", nothing)
    begun = [
        trial
        for round_ in planned.rounds
        for trial in asyncio.run(run._made_ready(Runner(), Stage(), round_, lambda: ()))  # type: ignore[arg-type]
    ]
    assert {dict(trial.case.factors)["mtu"] for trial in begun} == {"1500"}
    assert (tried.count("1500"), tried.count("9000")) == (6, 1)
    assert set(failed.values()) == {"h2: its driver refuses it"}
    assert len(failed) == 6, "each is stored, once"


def test_what_is_slow_to_import_is_imported_while_hosts_are_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_of(tmp_path)
    run = CampaignRun(campaign, plan_campaign(campaign, 1), Places(tmp_path, tmp_path), lambda _: None)
    imported = threading.Event()

    async def connect(*_: object) -> None:
        assert await asyncio.to_thread(imported.wait, 60), "it was not begun before"
        raise HostError("h1: far enough")

    monkeypatch.setattr(run, "_needed", lambda: [imported.set])
    monkeypatch.setattr(run._session, "connect", connect)
    with pytest.raises(HostError, match="far enough"):
        asyncio.run(run.start())


def test_what_a_campaign_needs_from_its_first_round_on_is_not_imported_before() -> None:
    code = "import sys, linewatt.engine.campaign; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"linewatt.engine.rounds", "linewatt.engine.stage"} & set(done.stdout.split())


def test_what_one_host_is_to_show_is_asked_of_none_of_the_others(tmp_path: Path) -> None:
    names = [Name(name) for name in NAMES]
    hosts = {name: FakeHost(HostSpec(name, "192.0.2.1", "eth0"), dict(FOUND)) for name in names}
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([host.spec for host in hosts.values()])
    settings = Settings(hosts, KNOBS, journal)  # type: ignore[arg-type]
    changes = [made(f"{name} sysctl=2") for name in names]
    asyncio.run(settings.to(changes, names))
    assert settings.of(names[7]) == [("sysctl", "a", "2")]
    assert comparisons(lambda: settings.of(names[7])) < 5


def test_queues_of_all_hosts_are_kept_with_one_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = {name: FakeHost(HostSpec(name, "192.0.2.1", "eth0"), dict(FOUND)) for name in NAMES}
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([host.spec for host in hosts.values()])
    written: list[int] = []
    intend = journal.intend

    def counted(entries: Sequence[Entry]) -> None:
        written.append(len(entries))
        intend(entries)

    monkeypatch.setattr(journal, "intend", counted)
    settings = Settings(hosts, KNOBS, journal)  # type: ignore[arg-type]
    asyncio.run(settings.to([made(f"{name} channels=2") for name in NAMES], NAMES))
    assert written == [MANY, MANY], "what queues had of their own, and the changes"


def test_what_is_put_back_of_many_hosts_is_found_without_comparing_each_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = {name: FakeHost(HostSpec(name, "192.0.2.1", "eth0"), dict(FOUND)) for name in NAMES}
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([host.spec for host in hosts.values()])
    settings = Settings(hosts, KNOBS, journal)  # type: ignore[arg-type]
    asyncio.run(settings.to([made(f"{name} sysctl=2") for name in NAMES], NAMES))
    compared: list[object] = []
    equal = Entry.__eq__

    def counted(one: Entry, other: object) -> bool:
        compared.append(one)
        return equal(one, other)

    monkeypatch.setattr(Entry, "__eq__", counted)
    asyncio.run(settings.to([], NAMES))
    assert {host.state["sysctl", "a"] for host in hosts.values()} == {"1"}
    assert len(compared) <= MANY


def test_a_trial_looks_at_the_meters_of_its_own_hosts_only(tmp_path: Path) -> None:
    book, names = MeterBook(tmp_path, {}), [Name(name) for name in NAMES]
    watts = Channel("in", "W", "gauge", "psu-in:PSU1")
    for name in names:
        book.take([Reading(name, "bmc", (Record(1.0, 1.0, "", {"in": 60.0}),), {"in": watts}, optional=True)])

    def trial() -> None:
        for name in names[:2]:
            assert book.seen_s(name, "bmc") == 1.0
            assert list(book.of(name)) == [("bmc", "in")]
        book.load(dict.fromkeys(names[:2]), 0.0, 2.0)

    assert comparisons(trial) < 20


def test_what_is_known_of_hosts_is_handed_to_a_trial_without_going_through_all_of_them() -> None:
    names = [Name(name) for name in NAMES]
    every = dict.fromkeys(names, 1.0)
    setup = Setup(1.0, 1.0, {}, every, {}, idle_cores=every)  # type: ignore[arg-type]
    own = setup.of(names[:2])
    assert own.idle_cores == own.base_frequency_hz == dict.fromkeys(names[:2], 1.0)
    assert comparisons(lambda: setup.of(names[:2])) < 10


def test_a_host_that_settles_is_looked_at_once_a_sweep_and_each_record_of_its_cpus_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, cpus, limit_s = Clock(), 16, 60
    monkeypatch.setattr(idle, "now_s", clock)
    feeds = [mpstat("h1", clock, lambda at: 0.02 * (at - 1000), cpus) for _ in range(6)]
    for number, feed in enumerate(feeds):
        feed.phase_s = number / 10
        feed.source = "mpstat" if number == 0 else f"sensor {number}"
    looks: list[object] = []
    records: list[object] = []
    counted = BusyCores._counted

    def looked(*args: Any) -> str | None:
        looks.append(args)
        return moving(*args)

    def count(cores: BusyCores, record: Record) -> tuple[int, float]:
        records.append(record)
        return counted(cores, record)

    monkeypatch.setattr(idle, "moving", looked)
    monkeypatch.setattr(BusyCores, "_counted", count)
    session = FakeSession(*feeds)
    asyncio.run(idle._settle(cast(Any, session), session.specs["h1"], 30.0, True, {}))
    assert limit_s <= clock.now_s - 1000 <= limit_s + 2, "it never settles"
    assert limit_s - 15 <= len(looks) <= limit_s, "not one more for each of its sensors"
    assert limit_s - 2 <= len(records) <= limit_s + 2
