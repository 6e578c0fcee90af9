# SPDX-License-Identifier: Apache-2.0
"""A sensor's stream: stamped, cut into records, waited for, and never taken for more than it is."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from linewatt.engine.live import sensing, sensor_feed
from linewatt.engine.live.sensor_feed import SensorFeed
from linewatt.errors import HostLost, InvalidInput, NotReady, ParseError, WaitTimeout
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.clock import Offset
from linewatt.hosts.limits import LimitsUsed
from linewatt.model import Channel
from linewatt.sensors.base import SensorConfig
from linewatt.sensors.power.command import Command, CommandChannel, CommandConfig


class Numbers:
    """Two lines a record, the second one ``. N``; ``x`` is a missing reading, ``!`` is damage."""

    name: ClassVar[str] = "numbers"
    Config: ClassVar[type[SensorConfig]] = SensorConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        return ["true"]

    def environment(self) -> dict[str, str]:
        return {}

    def ends_record(self, line: str) -> bool:
        return line.startswith(".")

    def parse(self, record: str) -> dict[str, float | None]:
        word = record.split(". ")[1]
        if word == "!":
            raise ParseError("numbers: damaged")
        if word == "later":
            raise NotReady("numbers: still counting")
        if word == "none":
            raise InvalidInput("numbers: no 9; there are 1, 2")
        return {"n": None if word == "x" else float(word)}

    def reasons(self, record: str) -> dict[str, str]:
        return {"n": "x was read"}

    def channel(self, name: str) -> Channel:
        return Channel(name, "count", "mean", "host")


def fed(*words: str, first_s: float = 10.0) -> SensorFeed:
    """A feed that got a record a second."""
    feed = SensorFeed("h1", Numbers(), SensorConfig())
    for number, word in enumerate(words):
        feed.take(Line(first_s + number, "a line"))
        feed.take(Line(first_s + number, f". {word}"))
    return feed


def test_a_record_carries_its_arrival_and_the_time_since_the_one_before() -> None:
    records = fed("1", "2", "3").latest(2)
    assert [(one.received_s, one.span_s, one.text) for one in records] == [
        (11.0, 1.0, "a line\n. 2"),
        (12.0, 1.0, "a line\n. 3"),
    ]


def test_a_window_gets_one_record_before_it_all_within_and_one_after() -> None:
    feed = fed(*"0123456789")
    assert [one.received_s for one in feed.between(12.5, 14.5)] == [12.0, 13.0, 14.0, 15.0]
    assert [one.received_s for one in feed.between(0.0, 10.5)] == [10.0, 11.0]
    assert [one.received_s for one in feed.between(18.5, 99.0)] == [18.0, 19.0]
    assert SensorFeed("h1", Numbers(), SensorConfig()).between(0.0, 1.0) == ()


def test_what_no_later_window_needs_is_forgotten_and_the_rest_is_kept() -> None:
    feed = fed(*"0123456789")
    feed.forget_before(15.5)
    assert [one.received_s for one in feed.between(0.0, 99.0)] == [15.0, 16.0, 17.0, 18.0, 19.0]


def test_a_missing_reading_stays_missing_and_damage_is_told() -> None:
    reading = fed("1", "x", "!", "4").reading(10.0, 13.0)
    samples = list(reading.samples("n"))
    assert [sample.value for sample in samples] == [1.0, None, 4.0]
    assert samples == list(reading.samples())
    assert samples[1].reason == "x was read"
    assert [sample.span_s for sample in samples][1:] == [1.0, 1.0]
    assert reading.values("n") == [(10.0, 1.0), (11.0, None), (13.0, 4.0)]
    assert reading.problems == ("numbers: damaged",)


def test_raw_records_are_json_lines_with_the_tools_own_words() -> None:
    raw = fed("1", "2", first_s=1.25).reading(2.25, 2.25).raw()
    assert json.loads(raw) == {"received_s": 2.25, "span_s": 1.0, "text": "a line\n. 2"}


def test_waiting_for_a_reading_ends_with_it_or_says_what_was_awaited() -> None:
    async def scene() -> None:
        feed = fed("1", "2")
        await feed.wait_past(11.0, 0.01)
        waiting = asyncio.create_task(feed.wait_past(12.0, 5.0))
        await asyncio.sleep(0)
        feed.take(Line(12.5, ". 3"))
        await waiting
        with pytest.raises(WaitTimeout, match="h1: the next reading of numbers"):
            await feed.wait_past(99.0, 0.01)

    asyncio.run(scene())


class StillProcess:
    """A process that has started and never ends."""

    async def ready(self) -> None:
        return None

    def bound(self, most_bytes: int) -> None:
        return None

    async def wait(self, limit_s: float, what: str) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        return None


class AheadHost:
    """A host whose clock is 100 s ahead of the controller's."""

    spec = HostSpec("h1", "local", "lo")
    clock = Offset(100.0, 0.001)
    limits = LimitsUsed()

    async def start(self, argv: list[str], **_: Any) -> StillProcess:
        return StillProcess()


def stamped(*stamps: tuple[float, float | None]) -> SensorFeed:
    """A feed of the ``command`` driver; each (arrival, stamp by the host's clock) carries its own number."""
    channels = {"wall": CommandChannel(scope="wall", unit="W")}
    cfg = CommandConfig(argv=["meter"], channels=channels, provenance="measured")
    feed = SensorFeed("h1", Command(cfg), cfg, "meter")  # type: ignore[arg-type]  # Config is no class variable here

    async def run() -> None:
        await feed.start(AheadHost())  # type: ignore[arg-type]
        for number, (arrived_s, stamp_s) in enumerate(stamps):
            text = json.dumps({"time": stamp_s, "channel": "wall", "value": 100 + number})
            feed.take(Line(arrived_s, text))
        await feed.stop()

    asyncio.run(run())
    return feed


def test_a_reading_is_placed_where_its_source_says_it_was_read() -> None:
    feed = stamped((12.0, 110.5), (13.0, None), (14.0, 113.5))
    reading = feed.reading(0.0, 99.0)
    assert reading.values("wall") == [(10.5, 100.0), (13.0, 101.0), (13.5, 102.0)]
    assert [sample.time_s for sample in reading.samples("wall")] == [10.5, 13.0, 13.5]
    assert json.loads(reading.raw().splitlines()[0])["received_s"] == 12.0
    assert [one.time_s for one in feed.between(10.6, 13.2)] == [10.5, 13.0, 13.5]


@pytest.mark.parametrize(
    ("arrived_s", "stamp_s", "said"),
    [
        (12.0, 112.5, "stamped 0.500 s after it arrived"),
        (200.0, 110.0, "stamped 190 s before it arrived"),
        (12.0, 109.0, "stamped 1.000 s before the one that came first"),
    ],
)
def test_a_stamp_that_cannot_be_makes_no_number(arrived_s: float, stamp_s: float, said: str) -> None:
    reading = stamped((11.0, 110.0), (arrived_s, stamp_s)).reading(0.0, 999.0)
    assert reading.values("wall") == [(10.0, 100.0)]
    assert said in reading.problems[0]


def silent(feed: SensorFeed, *words: str, limit_s: float = 60.0, opening_s: float = 60.0) -> str | None:
    """What a feed says of its silence, with records that arrive one by one while it waits."""

    async def scene() -> str | None:
        waiting = asyncio.create_task(feed.silent(limit_s, opening_s))
        for number, word in enumerate(words):
            await asyncio.sleep(0.01)
            feed.take(Line(10.0 + number, f". {word}"))
        return await waiting

    return asyncio.run(scene())


def test_the_first_record_says_whether_a_source_delivers() -> None:
    assert silent(fed(), "1") is None
    assert silent(fed(), "x") == "x was read"
    assert silent(fed(), "!") == "numbers: damaged"


def test_a_choice_that_cannot_be_is_told_apart_from_damage() -> None:
    wrong, damaged = fed(), fed()
    assert silent(wrong, "none") == "numbers: no 9; there are 1, 2"
    assert str(wrong.refused) == "numbers: no 9; there are 1, 2"
    silent(damaged, "!")
    assert damaged.refused is None


def test_a_source_that_is_still_opening_is_waited_for_past_the_limit_and_then_heard() -> None:
    feed = fed("later")
    assert silent(feed, "later", "none", limit_s=0.0) == "numbers: no 9; there are 1, 2"
    assert feed.refused is not None
    assert silent(fed("later"), "1", limit_s=0.0) is None


def test_a_source_that_says_in_the_wait_that_it_is_opening_is_waited_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each record comes 50 s after the one before, by a clock that moves by nothing else."""
    feed = fed()
    monkeypatch.setattr("linewatt.engine.live.feed.now_s", lambda: 50.0 * len(feed.latest(9)))
    assert silent(feed, "later", "later", "none", limit_s=60.0) == "numbers: no 9; there are 1, 2"


def test_a_source_that_says_nothing_is_waited_for_no_longer_than_the_limit() -> None:
    assert silent(fed(), limit_s=0.05) == "waited 0.05 s for its first reading"
    late = fed()
    late._host = SimpleNamespace(limits=SimpleNamespace(late_s=0.02))
    assert silent(late, limit_s=0.05) == "waited 0.07 s for its first reading"
    assert silent(fed("later"), limit_s=0.0, opening_s=0.05) == "numbers: still counting"


def test_what_the_settings_ask_for_in_vain_is_said_though_the_program_has_ended_meanwhile() -> None:
    feed = fed("none")
    feed.failure = "ended with status 0"
    assert asyncio.run(feed.silent(1.0, 0.0)) == "numbers: no 9; there are 1, 2"
    assert feed.refused is not None


def test_what_comes_late_is_in_the_next_part_and_nothing_twice() -> None:
    feed = fed("1", "2")
    first = feed.later(0.0)
    feed.forget_before(first.records[-1].time_s)
    feed.take(Line(12.0, "a line"))
    feed.take(Line(12.0, ". 3"))
    second = feed.later(first.records[-1].time_s)
    assert [value for _, value in first.values("n")] == [1.0, 2.0]
    assert [value for _, value in second.values("n")] == [3.0]
    assert feed.later(12.0).records == ()


def test_two_readings_of_one_stamp_have_no_rate() -> None:
    feed = fed("1")
    assert feed.rate_bps("n") is None
    feed.take(Line(11.0, "a line"))
    feed.take(Line(11.0, ". 2"))
    assert feed.rate_bps("n") == 8.0
    feed.take(Line(11.0, "a line"))
    feed.take(Line(11.0, ". 3"))
    assert feed.rate_bps("n") is None


class Odd(Numbers):
    """Whose parser, or list of channels, was never meant for some words."""

    def parse(self, record: str) -> dict[str, float | None]:
        word = record.split(". ")[1]
        return {"odd": 1.0} if word == "channel" else {"n": float([word][word == "list"])}

    def channel(self, name: str) -> Channel:
        if name == "odd":
            raise ParseError("numbers: delivers no channel 'odd'")
        return super().channel(name)


@pytest.mark.parametrize("nonsense", ["list", "nonsense", "channel"])
def test_nonsense_once_is_one_record_without_a_number_and_the_next_are_read(nonsense: str) -> None:
    feed = SensorFeed("h1", Odd(), SensorConfig())
    for number, word in enumerate(["1", nonsense, "3"]):
        feed.take(Line(10.0 + number, f". {word}"))
    reading = feed.reading(0.0, 99.0)
    assert [value for _, value in reading.values("n")] == [1.0, 3.0]
    (problem,) = reading.problems
    assert problem.startswith(("numbers: ", "numbers cannot be read: "))


class Ending(AheadHost):
    """A host on which a sensor ends when told, and that counts how often one was started."""

    lost: str | None = None

    def __init__(self) -> None:
        self.started = self.stopped = 0
        self.fails = False

    async def start(self, argv: list[str], **_: Any) -> StillProcess:
        self.started += 1
        if self.fails:
            raise HostLost("h1: cannot start env")
        return Stopping(self)


class Stopping(StillProcess):
    """One whose host counts that it was ended."""

    def __init__(self, host: Ending) -> None:
        self.host = host

    async def stop(self) -> None:
        self.host.stopped += 1


class OneHost:
    """What of a session the restarts of sensors look at."""

    def __init__(self, feed: SensorFeed, host: Ending) -> None:
        self.feeds = {"h1": [feed]}
        self.hosts = {"h1": host}

    def all_feeds(self) -> list[SensorFeed]:
        return [feed for own in self.feeds.values() for feed in own]


def test_a_sensor_that_ended_is_started_again_now_and_then_and_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock_s = [100.0]
    monkeypatch.setattr(sensing, "now_s", lambda: clock_s[0])
    told: list[str] = []

    async def scene() -> None:
        host, feed = Ending(), fed()
        await feed.start(host)  # type: ignore[arg-type]
        await feed.start(host)  # type: ignore[arg-type]
        assert host.started == 1, "it runs"
        restarts = sensing.Restarts(OneHost(feed, host), lambda *words: told.append(": ".join(words)))  # type: ignore[arg-type]
        assert not await restarts.look()
        feed.failure = "ended with status 137"
        assert await restarts.look()
        assert (host.started, str(feed.failure)) == (2, "None")
        feed.failure = "ended with status 137"
        assert not await restarts.look(), "not at once again"
        clock_s[0] += 10.0
        assert not await restarts.look({"h1"}), "not while its host is away"
        assert await restarts.look()
        clock_s[0] += 21.0
        assert not await restarts.look()
        feed.failure, host.fails = "ended with status 1", True
        assert not await restarts.look()
        assert feed.failure == "did not start"
        await feed.stop()

    asyncio.run(scene())
    assert told == [
        "h1: numbers ended with status 137; starting it again",
        "h1: numbers ended with status 1; starting it again",
    ]


def test_a_sensor_that_hangs_is_ended_and_started_again_and_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock_s = [100.0]
    for module in (sensing, sensor_feed):
        monkeypatch.setattr(module, "now_s", lambda: clock_s[0])
    told: list[str] = []

    async def scene() -> None:
        host, feed = Ending(), fed()
        await feed.start(host)  # type: ignore[arg-type]
        restarts = sensing.Restarts(OneHost(feed, host), lambda *words: told.append(": ".join(words)))  # type: ignore[arg-type]
        clock_s[0] = 104.0
        feed.take(Line(104.0, "half a record"))
        clock_s[0] = 109.0
        assert not await restarts.look(), "it has spoken 5 s ago"
        clock_s[0] = 109.1
        assert not await restarts.look({"h1"}), "not while its host is away"
        host.lost = "the connection ended"
        assert not await restarts.look(), "nor where nothing could come"
        assert feed.failure is None
        host.lost = None
        assert await restarts.look()
        assert (host.started, host.stopped, str(feed.failure)) == (2, 1, "None")
        clock_s[0] = 115.0
        assert not await restarts.look(), "not at once again"
        assert feed.failure == "has been silent for 6 s"
        clock_s[0] = 119.2
        assert await restarts.look()
        await feed.stop()

    asyncio.run(scene())
    assert told == ["h1: numbers has been silent for 5 s; starting it again"]


def test_a_slow_sensor_and_a_source_of_power_have_more_time_to_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [100.0]
    monkeypatch.setattr(sensor_feed, "now_s", lambda: clock_s[0])
    slow = SensorFeed("h1", Numbers(), SensorConfig(interval_s=4.0))
    power = SensorFeed("h1", Numbers(), SensorConfig(), essential=False)

    async def scene() -> None:
        for feed, limit_s in ((slow, 20.0), (power, 30.0)):
            clock_s[0] = 100.0
            await feed.start(Ending())  # type: ignore[arg-type]
            clock_s[0] = 100.0 + limit_s
            feed.notice_silence()
            assert feed.failure is None
            clock_s[0] += 0.1
            feed.notice_silence()
            assert feed.failure == f"has been silent for {limit_s:.0f} s"
            feed.notice_silence()
            await feed.stop()

    asyncio.run(scene())


def test_a_sensor_of_a_slow_host_has_as_much_more_time_as_its_host_answers_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock_s = [100.0]
    monkeypatch.setattr(sensor_feed, "now_s", lambda: clock_s[0])
    feed, host = SensorFeed("h1", Numbers(), SensorConfig()), Ending()
    host.limits = LimitsUsed(late_s=2.0)

    async def scene() -> None:
        await feed.start(host)  # type: ignore[arg-type]
        clock_s[0] = 106.9
        feed.notice_silence()
        assert feed.failure is None
        clock_s[0] = 107.1
        feed.notice_silence()
        assert feed.failure == "has been silent for 7 s"
        await feed.stop()

    asyncio.run(scene())
