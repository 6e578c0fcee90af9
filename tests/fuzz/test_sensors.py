# SPDX-License-Identifier: Apache-2.0
"""Streams of sensors: whatever a host prints, what is kept of it can be stored and read again."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.fuzz.conftest import check_reason, fuzz, survived
from tests.fuzz.mutate import VALUES, damaged, texts

from linewatt.engine.live.feed import Feed, Reading
from linewatt.engine.live.meters import MeterRecords, plausible
from linewatt.foreign import STORED, read_json
from linewatt.hosts.base import Line
from linewatt.model import Channel
from linewatt.sensors.base import SensorConfig
from linewatt.sensors.power.base import MeterRecord
from linewatt.sensors.registry import POWER_DRIVERS, SENSORS

_SEEDS: dict[str, list[bytes]] = {
    "mpstat": texts("mpstat/*/output"),
    "link": texts("link/*/output"),
    "qdisc": texts("qdisc/*/output"),
    "netcounters": [
        b"linewatt-netcounters 1 1000000|nic rx_bytes=5 rx_dropped=|softnet 0a 1 2 3 4 5;0a 1 2 3 4 6;|"
        b"nstat TcpInSegs=7 IpExtInOctets=123456789|end 1000100\n",
    ],
    "interrupts": [
        b"linewatt-interrupts 1 1000000|intr 381383633|ctxt 623831339|softirqs 0 10063100 7828903 635895659|"
        b"irq:eth0 0000:00:03.0 CPU0 CPU1;38 virtio2-input.0 0 28;39 virtio2-output.0 22 0|end 1000100\n",
        b"linewatt-interrupts 1 2000000|intr 381383733|ctxt 623831439|many|end 2000100\n",
    ],
    "cpufreq": [
        b"linewatt-cpufreq 1 1795332394922286|frequency 0=1699981 1=1699981|core 0=5 1=0|package 0=30 1=30|"
        b"end 1795332394923269\n",
    ],
    "rapl": [
        b"linewatt-rapl 1 1795332394935788 GenuineIntel|intel-rapl:0 package-0 262143328850 26963529117|"
        b"intel-rapl:0:0 core 262143328850 7980278886|end 1795332394936124\n",
    ],
    "hwmon": [
        b"linewatt-hwmon 1 100|hwmon1\tpower_meter\tACPI000D:00\tpower1_average\t\t300000\t90.0%\t214000000|"
        b"hwmon2\tamdgpu\t0000:03:00.0\tpower1_average\tPPT\t\t\t9000000|none k10temp|end 2\n",
    ],
    "estimate": [b"linewatt-estimate 1 100|5 100|end 105\nlinewatt-estimate 1 200|50 200|end 205\n"],
    "ipmitool": texts("ipmitool/*/output"),
    "command": [*texts("command/*/stdout.txt"), b'{"time": 1767225600.25, "values": {"wall": 2e3}}\n'],
}
_SETTINGS: dict[str, dict[str, Any]] = {
    "estimate": {"idle_w": 60.0, "max_w": 180.0},
    "command": {
        "argv": ["meter"],
        "provenance": "measured",
        "channels": {"wall": {"scope": "wall", "unit": "W"}},
    },
}
NAMES = [*SENSORS, *(name for name, driver in POWER_DRIVERS.items() if not hasattr(driver, "open"))]


def feed_of(name: str) -> Feed:
    if name in SENSORS:
        return Feed("h1", SENSORS[name], SENSORS[name].Config())
    cfg = POWER_DRIVERS[name].Config.model_validate_json(json.dumps(_SETTINGS.get(name, {})))
    return Feed("h1", POWER_DRIVERS[name](cfg), cfg, essential=False)


def check_kept(reading: Reading) -> None:
    """What is stored of a reading is finite, can be read again, and gives the same."""
    for sample in reading.samples():
        assert sample.value is None or math.isfinite(sample.value)
        if sample.value is None:
            assert sample.reason
    for problem in reading.problems:
        check_reason(problem)
    json.dumps([vars_of(one) for one in reading.channels.values()], allow_nan=False)
    for line in reading.raw().splitlines():
        read_json(line, "raw", STORED)


def vars_of(channel: Channel) -> dict[str, Any]:
    return {name: getattr(channel, name) for name in Channel.__slots__}


def test_every_stream_is_tried() -> None:
    assert set(NAMES) == set(_SEEDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_of_anything_is_readings_or_problems(name: str) -> None:
    @fuzz(damaged(_SEEDS[name]))
    def check(text: str) -> None:
        with survived(f"sensor {name}"):
            feed = feed_of(name)
            for number, line in enumerate(text.split("\n")):
                feed.take(Line(1e9 + number, line))
            reading = feed.whole()
            check_kept(reading)
            again = feed_of(name)
            for line in reading.raw().splitlines():
                again.take_again(read_json(line, "raw", STORED))
            assert [one.values for one in again.whole().records] == [one.values for one in reading.records]

    check()


numbers = st.floats() | st.integers(-(10**400), 10**400) | st.sampled_from([1e308, math.nan, math.inf, -0.0])


@fuzz(st.dictionaries(st.text(max_size=9), st.none() | numbers, max_size=4), st.text(max_size=30))
def test_whatever_a_meter_reads_is_kept_or_none_with_its_reason(
    values: dict[str, float | None], why: str
) -> None:
    with survived("meter"):
        kept, reasons = plausible(values, dict.fromkeys(values, why))
        sensor = MeterRecords("meter")
        sensor.channels = {name: Channel(name, "W", "gauge", "wall") for name in values}
        feed = Feed("h1", sensor, SensorConfig(), essential=False)
        feed.take(Line(1e9, MeterRecord(1e9, 1e9, kept, reasons).line()))
        for _, value in ((name, one.values[name]) for one in feed.whole().records for name in one.values):
            assert value is None or math.isfinite(value)
        for line in feed.whole().raw().splitlines():
            read_json(line, "raw", STORED)


@fuzz(damaged([b'{"begin_s": 1.0, "end_s": 1.1, "values": {"w": 3.0}, "reasons": {}}\n']))
def test_a_meters_record_of_anything_is_a_reading_or_a_problem(text: str) -> None:
    with survived("meter record"):
        sensor = MeterRecords("meter")
        sensor.channels = {"w": Channel("w", "W", "gauge", "wall")}
        feed = Feed("h1", sensor, SensorConfig(), essential=False)
        for line in text.split("\n"):
            feed.take(Line(1e9, line))
        check_kept(feed.whole())


@fuzz(st.sampled_from(VALUES))
def test_a_record_kept_before_is_read_as_what_it_is(value: Any) -> None:
    with survived("kept record"):
        line = json.dumps({"received_s": 1.0, "span_s": 1.0, "text": value})
        read_json(line, "raw", STORED)
