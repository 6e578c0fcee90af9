# SPDX-License-Identifier: Apache-2.0
"""Meters in their threads: readings arrive, failures are on record, and nobody waits for one that is down."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from linewatt.engine.live import meters
from linewatt.engine.live.meters import MeterFeed
from linewatt.errors import HostError, InvalidInput
from linewatt.hosts.clock import now_s
from linewatt.model import Channel
from linewatt.sensors.power.base import MeterSession, PowerConfig

CFG = PowerConfig(interval_s=0.1)
PSU = Channel("psu1_in", "W", "gauge", "psu-in:PSU1", "simulated", step=4.0)


class Session:
    """Gives what ``course`` says, or raises it."""

    def __init__(self, course: Callable[[], float | None]) -> None:
        self.course = course
        self.reasons: dict[str, str] = {}
        self.closed = False

    @property
    def channels(self) -> Mapping[str, Channel]:
        return {PSU.name: PSU}

    def read(self, names: Collection[str] | None = None) -> dict[str, float | None]:
        value = self.course()
        self.reasons = {} if value is not None else {PSU.name: "scanning disabled"}
        return {PSU.name: value}

    def close(self) -> None:
        self.closed = True


class FakeMeter:
    """Opens what comes next in ``sessions``; an exception is raised."""

    name: ClassVar[str] = "fake"
    Config: ClassVar[type[PowerConfig]] = PowerConfig

    def __init__(self, cfg: Any, *sessions: Session | Exception) -> None:
        self.sessions = list(sessions)
        self.passwords: list[str | None] = []

    def open(self, password: str | None) -> MeterSession:
        self.passwords.append(password)
        following = self.sessions.pop(0) if len(self.sessions) > 1 else self.sessions[0]
        if isinstance(following, Exception):
            raise following
        return following


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meters, "RETRY_S", 0.05)
    monkeypatch.setattr(meters, "PROBE_S", 0.3)


def feed_of(*sessions: Session | Exception) -> MeterFeed:
    return MeterFeed("h1", "bmc", FakeMeter(CFG, *sessions), CFG, "canary")


async def until(condition: Callable[[], bool], awaited: str) -> None:
    end_s = now_s() + 5
    while not condition():
        assert now_s() < end_s, f"waited 5 s for {awaited}"
        await asyncio.sleep(0.01)


NO_HOST: Any = None


def test_readings_arrive_with_their_channels_and_the_raw_record_has_both_times() -> None:
    async def scene() -> None:
        feed = feed_of(Session(lambda: 100.0))
        await feed.start(NO_HOST)
        await feed.wait_past(now_s(), 5)
        reading = feed.reading(0.0, now_s())
        assert reading.source == "bmc"
        assert reading.channels == {"psu1_in": PSU}
        assert {value for _, value in reading.values("psu1_in")} == {100.0}
        raw = json.loads(json.loads(reading.raw().splitlines()[0])["text"])
        assert raw["begin_s"] <= reading.records[0].received_s <= raw["end_s"]
        assert "canary" not in reading.raw()
        await feed.stop()

    asyncio.run(scene())


def test_a_meter_that_says_0_w_is_refused_at_the_start_and_kept_later() -> None:
    async def scene(values: list[float]) -> tuple[InvalidInput | None, str | None]:
        left = iter(values)
        feed = feed_of(Session(lambda: next(left, 0.0)))
        await feed.start(NO_HOST)
        why = await feed.silent(5, 5)
        await feed.stop()
        return feed.refused, why

    refused, why = asyncio.run(scene([0.0]))
    assert refused is not None
    assert why == "this server has no power meter: every reading of power is 0 W; leave this source out"
    assert asyncio.run(scene([90.0])) == (None, None)


@pytest.mark.parametrize("error", [ValueError("1e999"), KeyError("PowerWatts"), RecursionError()])
@pytest.mark.parametrize("when", ["at its opening", "at a reading"])
def test_a_meter_whose_answer_is_nonsense_once_is_asked_again(error: Exception, when: str) -> None:
    told = threading.Event()

    def course() -> float:
        if told.is_set():
            raise error
        return 100.0

    async def scene() -> None:
        broken = error if when == "at its opening" else Session(course)
        feed = feed_of(broken, Session(lambda: 110.0))
        await feed.start(NO_HOST)
        told.set()
        await until(
            lambda: bool(feed.latest(1)) and feed.latest(1)[0].values["psu1_in"] == 110.0, "a reading"
        )
        reasons = [one.reason for one in feed.reading(0.0, now_s()).samples("psu1_in") if one.value is None]
        said = f"its answer cannot be read: {type(error).__name__}"
        assert len(reasons) == (0 if when == "at its opening" else 1)
        assert all(str(one).startswith(said) for one in reasons)
        assert feed.failure is None
        await feed.stop()

    asyncio.run(scene())


def test_a_reading_that_is_not_available_keeps_its_reason() -> None:
    async def scene() -> None:
        feed = feed_of(Session(lambda: None))
        await feed.start(NO_HOST)
        await feed.wait_past(now_s(), 5)
        samples = list(feed.reading(0.0, now_s()).samples("psu1_in"))
        assert {(one.value, one.reason) for one in samples} == {(None, "scanning disabled")}
        await feed.stop()

    asyncio.run(scene())


def test_settings_that_the_meter_cannot_meet_are_told_apart_from_one_that_is_down() -> None:
    async def scene() -> None:
        wrong = feed_of(InvalidInput("192.0.2.1: no sensor PSU9; there are PSU1, PSU2"))
        down = feed_of(HostError("192.0.2.1: no answer"))
        for feed in (wrong, down):
            await feed.start(NO_HOST)
            await feed.stop()
        assert "there are PSU1, PSU2" in str(wrong.refused)
        assert down.refused is None
        assert await wrong.silent(5, 5) == "192.0.2.1: no sensor PSU9; there are PSU1, PSU2"
        assert await down.silent(5, 5) == "192.0.2.1: no answer"

    asyncio.run(scene())


def test_a_meter_whose_records_are_incomplete_after_its_restart_is_tried_again() -> None:
    """A BMC that starts may say for a while that it has no such sensor: that must not end it for good."""
    gone = threading.Event()

    def course() -> float:
        if gone.is_set():
            raise HostError("192.0.2.1: the session ended")
        return 100.0

    async def scene() -> None:
        again = Session(lambda: 110.0)
        feed = feed_of(Session(course), InvalidInput("192.0.2.1: no sensor PSU1; there are"), again)
        await feed.start(NO_HOST)
        assert await feed.silent(5, 5) is None
        gone.set()
        await until(lambda: feed.latest(1)[0].values["psu1_in"] == 110.0, "a reading of the second session")
        reasons = [one.reason for one in feed.reading(0.0, now_s()).samples("psu1_in") if one.value is None]
        assert "192.0.2.1: no sensor PSU1; there are" in reasons
        assert feed.failure is None
        assert feed.refused is None
        await feed.stop()

    asyncio.run(scene())


def test_a_meter_that_opens_too_slowly_is_down_until_it_has_and_ends_no_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(meters, "OPEN_LIMIT_S", 0.1)
    may = threading.Event()

    class Slow(FakeMeter):
        def open(self, password: str | None) -> MeterSession:
            may.wait(5)
            return super().open(password)

    async def scene() -> None:
        feed = MeterFeed("h1", "bmc", Slow(CFG, Session(lambda: 100.0)), CFG, None)
        await feed.start(NO_HOST)
        assert await feed.silent(5, 5) == "waited 0.1 s for it to answer"
        may.set()
        await until(lambda: bool(feed.latest(1)), "a reading")
        assert feed.failure is None
        await feed.stop()

    asyncio.run(scene())


def test_a_meter_that_answers_without_a_number_says_why() -> None:
    async def scene() -> None:
        feed = feed_of(Session(lambda: None))
        await feed.start(NO_HOST)
        assert await feed.silent(5, 5) == "scanning disabled"
        await feed.stop()

    asyncio.run(scene())


def test_a_meter_that_is_down_does_not_hold_the_campaign_up_and_is_tried_again() -> None:
    may = threading.Event()

    class Held(FakeMeter):
        def open(self, password: str | None) -> MeterSession:
            assert len(self.passwords) < 2 or may.wait(60), "waited 60 s to be let on"
            return super().open(password)

    async def scene() -> None:
        down = HostError("192.0.2.1: no answer")
        feed = MeterFeed("h1", "bmc", Held(CFG, down, down, Session(lambda: 90.0)), CFG, None)
        await feed.start(NO_HOST)
        assert feed.failure == "192.0.2.1: no answer"
        await feed.wait_past(now_s() + 99, 0.01)
        may.set()
        await until(lambda: feed.failure is None, "the meter to be opened again")
        await feed.wait_past(now_s(), 5)
        assert feed.latest(1)[0].values == {"psu1_in": 90.0}
        await feed.stop()

    asyncio.run(scene())


def test_a_meter_that_ends_in_mid_session_leaves_a_gap_with_its_reason_and_wakes_who_waits() -> None:
    def course() -> float:
        if readings.is_set():
            raise HostError("192.0.2.1: the session ended")
        return 100.0

    readings = threading.Event()

    async def scene() -> None:
        first = Session(course)
        feed = feed_of(first, HostError("192.0.2.1: no answer"))
        await feed.start(NO_HOST)
        await feed.wait_past(now_s(), 5)
        waiting = asyncio.create_task(feed.wait_past(now_s() + 99, 5))
        await asyncio.sleep(0)
        readings.set()
        await asyncio.wait_for(waiting, 5)
        await until(lambda: first.closed, "the session to be closed")
        values = feed.reading(0.0, now_s()).values("psu1_in")
        assert values[0][1] == 100.0
        assert values[-1][1] is None
        reasons = {one.reason for one in feed.reading(0.0, now_s()).samples()}
        assert "192.0.2.1: the session ended" in reasons
        await feed.stop()

    asyncio.run(scene())


@pytest.mark.parametrize("every_s", [0.3, None], ids=["moving", "still"])
def test_how_often_the_sensor_is_updated_is_measured_when_it_can_be_seen_to_change(
    monkeypatch: pytest.MonkeyPatch, every_s: float | None
) -> None:
    """By a clock that only the meter's waits move, so that a busy machine changes nothing."""
    clock_s = [100.0]

    class Waits(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            clock_s[0] += timeout or 0.0
            return super().wait(0.001)

    monkeypatch.setattr(meters, "threading", SimpleNamespace(Event=Waits, Thread=threading.Thread))
    monkeypatch.setattr(meters, "now_s", lambda: clock_s[0])
    monkeypatch.setattr(meters, "PROBE_S", 2.0)

    async def scene() -> None:
        cfg = PowerConfig(interval_s=1.0)
        session = Session(lambda: 100.0 + 4 * int((clock_s[0] - 99.99) / every_s) if every_s else 100.0)
        feed = MeterFeed("h1", "bmc", FakeMeter(cfg, session), cfg, None)
        await feed.start(NO_HOST)
        await feed.wait_past(100.0 + 2 * meters.PROBE_S, 60)
        await feed.stop()
        assert feed.updates_s == ({"psu1_in": pytest.approx(every_s)} if every_s else {})

    asyncio.run(scene())
