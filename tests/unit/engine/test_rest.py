# SPDX-License-Identifier: Apache-2.0
"""rest: until-cool: what is as cool as idle, how long is waited, and where that is refused or told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.report_factories import watts

from linewatt.campaign.campaign import Rest
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine import resting
from linewatt.engine.live.feed import Feed, Reading, Record
from linewatt.engine.measuring.cool import follows_s, warm
from linewatt.engine.resting import NO_TEMPERATURE, cooled, refuse_without_temperature
from linewatt.errors import InvalidInput
from linewatt.hosts.base import Line
from linewatt.hosts.clock import now_s
from linewatt.model import Channel, PowerResult, ThermalResult, Window
from linewatt.records import IdleHost
from linewatt.sensors.cpufreq import Cpufreq, CpufreqConfig

POWER = watts("psu-out:PSU1", 100.0)
SOURCE, WATTS = POWER.source, POWER.channel
IDLE = IdleHost(
    thermal=(
        ThermalResult("bmc", "FAN1", "rpm", 4000, 4000, 4000),
        ThermalResult("bmc", "CPU Temp", "°C", 40, 39, 41),
    ),
)
COOL = ThermalResult("cpufreq", "k10temp Tctl", "°C", 40, 40, 40)


def reading(source: str, **values: float) -> Reading:
    units = {"FAN1": "rpm", "CPU_Temp": "°C"}
    named = {name.replace("_", " "): value for name, value in values.items()}
    channels = {
        one: Channel(one, unit, "gauge", "other:x")
        for one, unit in ((name.replace("_", " "), units.get(name, "W")) for name in values)
    }
    return Reading("h1", source, (Record(1.0, 1.0, "", named),), channels, optional=True)


def told(**values: float) -> tuple[str, ...]:
    return warm(IDLE, reading("bmc", **values), Window(0.0, 2.0))


def test_within_what_is_allowed_above_idle_and_anything_below_it_a_host_is_cool() -> None:
    assert told(FAN1=4400, CPU_Temp=43) == ()
    assert told(FAN1=3000, CPU_Temp=20) == ()


def test_what_is_above_is_told_with_what_is_awaited() -> None:
    assert told(FAN1=9000, CPU_Temp=61) == (
        "bmc FAN1 9,000 rpm, awaited 4,400 (idle 4,000)",
        "bmc CPU Temp 61 °C, awaited 43 (idle 40)",
    )


def test_what_was_not_read_is_not_cool() -> None:
    assert told(FAN1=4000) == ("bmc CPU Temp was not read",)


def test_watts_of_the_whole_host_count_and_those_of_its_parts_do_not() -> None:
    def of(idle: IdleHost, now_w: float) -> tuple[str, ...]:
        one = Reading(
            "h1",
            SOURCE,
            (Record(1.0, 1.0, "", {WATTS: now_w}),),
            {WATTS: Channel(WATTS, "W", "gauge", "psu-out:PSU1")},
            optional=True,
        )
        return warm(idle, one, Window(0.0, 2.0))

    own = IdleHost(power=(POWER,))
    assert of(own, 104.0) == ()
    assert of(own, 130.0)[0].startswith(f"{SOURCE} {WATTS} 130 W, awaited ")
    assert of(IdleHost(power=(watts("cpu:all", 100.0),)), 130.0) == ()


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "LOOK_S", 0.3)


def feed(*degrees: float | None) -> Feed:
    one = Feed("h1", Cpufreq(), CpufreqConfig(interval_s=0.1))
    for value in degrees:
        say(one, value)
    return one


def say(one: Feed, degrees: float | None, at_s: float | None = None) -> None:
    sensors = "" if degrees is None else f" k10temp_Tctl={degrees * 1000:.0f}"
    one.take(
        Line(
            now_s() if at_s is None else at_s,
            f"linewatt-cpufreq 1 5|frequency 0=2100000|temperature{sensors}|end 6",
        )
    )


def rested(one: Feed, idle: IdleHost | None, later: Sequence[float | None], limit_s: float) -> dict[str, str]:
    """What became of a wait in which these temperatures are read, one after the other, and then the last."""
    session: Any = SimpleNamespace(feeds={"h1": [one]}, specs={"h1": None})

    async def run() -> dict[str, str]:
        waiting = asyncio.create_task(cooled(session, {"h1": idle}, limit_s))
        for value in later:
            for _ in range(5):  # each lets those wait that are awaited one within the other
                await asyncio.sleep(0)
            say(one, value)
        while later and not waiting.done():
            say(one, later[-1])
            await asyncio.sleep(0.01)
        return await waiting

    return asyncio.run(run())


def rested_in_steps(
    idle: IdleHost, temperatures: Sequence[float], limit_s: float, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The same by a clock that goes on by 0.02 s from reading to reading, however slow the machine is."""
    session: Any = SimpleNamespace(feeds={"h1": [one := feed()]}, specs={"h1": None})
    time_s = 1000.0
    monkeypatch.setattr(resting, "now_s", lambda: time_s)
    say(one, temperatures[0], time_s)

    async def run() -> dict[str, str]:
        nonlocal time_s
        waiting = asyncio.create_task(cooled(session, {"h1": idle}, limit_s))
        for value in temperatures[1:]:
            if waiting.done():
                break
            for _ in range(5):  # each lets those wait that are awaited one within the other
                await asyncio.sleep(0)
            time_s += 0.02
            say(one, value, time_s)
        return await waiting

    return asyncio.run(run())


def test_a_host_is_waited_for_until_it_is_cool_and_what_was_read_under_load_does_not_count() -> None:
    assert rested(feed(40.0), IdleHost(thermal=(COOL,)), [61.0, 40.0, 40.0, *[35.0] * 8], 60.0) == {}


def test_fans_that_follow_late_are_seen_although_the_first_reading_is_cool() -> None:
    own = IdleHost(thermal=(COOL,))
    (said,) = rested(feed(40.0), own, [40.0, 40.0, 61.0], 1.0).values()
    assert said == "waited 1 s, and still: cpufreq k10temp Tctl 61 °C, awaited 43 (idle 40)"


def test_a_meter_that_refreshes_slowly_may_show_what_was_before_the_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is looked at for as long as it may take to follow, here a second; then fans are still fast."""
    meter = PowerResult("bmc", "CPU", "cpu", "measured", "IPMI", 100.0, refresh_s=0.6, averaging_s=0.4)
    own = IdleHost(thermal=(COOL,), power=(meter,))
    assert follows_s(own) == 1.0
    assert follows_s(IdleHost(thermal=(COOL,))) == 0.0
    temperatures = [*[40.0] * 26, *[61.0] * 400]
    assert "k10temp Tctl 61" in rested_in_steps(own, temperatures, 3.0, monkeypatch)["h1"]


def test_a_wait_has_a_limit_and_says_what_was_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = rested_in_steps(IdleHost(thermal=(COOL,)), [61.0] * 100, 0.05, monkeypatch).values()
    assert said == "waited 0.05 s, and still: cpufreq k10temp Tctl 61 °C, awaited 43 (idle 40)"


def test_a_host_without_an_idle_window_or_a_temperature_is_told() -> None:
    assert "no idle window" in rested(feed(40.0), None, [], 1.0)["h1"]
    assert "no idle window" in rested(feed(40.0), IdleHost(), [], 1.0)["h1"]


def test_where_no_temperature_is_read_that_is_told_although_all_else_is_cool() -> None:
    own = IdleHost(thermal=(ThermalResult("none", "FAN1", "rpm", 4000, 4000, 4000),))
    assert rested(feed(None), own, [], 1.0) == {"h1": NO_TEMPERATURE}


def test_a_host_that_tells_no_temperature_is_refused_once_all_its_sources_have_spoken() -> None:
    def refuse(*feeds: Feed) -> None:
        session: Any = SimpleNamespace(feeds={"h1": list(feeds)}, specs={"h1": None})
        refuse_without_temperature(session)

    refuse(feed(40.0))
    refuse(feed(None), feed())  # one has said nothing yet: it may have one
    with pytest.raises(InvalidInput, match=r"^h1: rest: until-cool needs a temperature, and neither"):
        refuse(feed(None))


CAMPAIGN = """name: t
hosts:
  h1: {address: 192.0.2.1, data: eth0}
  h2: {address: 192.0.2.2, data: eth0}
tests: [tcp]
"""


def read(tmp_path: Path, *lines: str) -> Any:
    file = tmp_path / "t.yaml"
    file.write_text(CAMPAIGN + "\n".join(lines) + "\n")
    return load_campaign(file)


def test_a_campaign_says_it_in_a_word_or_with_a_limit(tmp_path: Path) -> None:
    assert read(tmp_path).rest is None
    assert read(tmp_path, "rest: until-cool").rest == Rest(300.0)
    assert read(tmp_path, "rest: {until: cool, limit: 20}").rest == Rest(20.0)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["rest: until-warm"], "rest"),
        (["rest: {until: cool, limit: 0}"], "rest.limit"),
        (["rest: until-cool", "idle: {seconds: 0}"], "idle.seconds is 0"),
        (["rest: until-cool", "soak: 1h"], "a soak has none"),
        (["rest: until-cool", "sensors: {cpufreq: false}"], "h1 has none: sensors.cpufreq is off"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_any_host_is_touched(
    tmp_path: Path, lines: list[str], said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, *lines)
    assert said in str(caught.value)
