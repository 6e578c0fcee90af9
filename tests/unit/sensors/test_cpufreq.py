# SPDX-License-Identifier: Apache-2.0
"""cpufreq: the script over trees of kernel files (tests/captures/cpufreq), and the parser."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.stream_helpers import (
    cost_to_read,
    needs_bash,
    next_other,
    records,
    status_when_told,
    streaming,
)

from linewatt.engine.live.feed import Feed
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec, Line
from linewatt.sensors.cpufreq import MOST_CPUS, Cpufreq, CpufreqConfig, command, watched_cpus

CAPTURES = Path(__file__).parents[2] / "captures" / "cpufreq"
SENSOR = Cpufreq()
HOST = HostSpec("dut", "local", "eth0")


def one_record(root: Path, *cpus: int) -> str:
    return records(command(cpus, 60, str(root)), 1)[0]


def put_cpu(root: Path, cpu: int, khz: str, core: str | None = None) -> None:
    own = root / f"sys/devices/system/cpu/cpu{cpu}"
    (own / "cpufreq").mkdir(parents=True)
    (own / "cpufreq" / "scaling_cur_freq").write_text(f"{khz}\n")
    if core is not None:
        (own / "thermal_throttle").mkdir()
        (own / "thermal_throttle" / "core_throttle_count").write_text(f"{core}\n")


@needs_bash
def test_a_host_without_the_files_gives_short_records_and_nothing_else() -> None:
    argv = command((), 0.1, str(CAPTURES / "vm-without-either" / "root"))
    feed = Feed("dut", SENSOR, CpufreqConfig())
    lines = records(argv, 3)
    for number, line in enumerate(lines):
        feed.take(Line(float(number), line.rstrip("\n")))
    reading = feed.reading(0, 2)
    assert max(map(len, lines)) < 80
    assert len(reading.records) == 3
    assert (reading.channels, reading.problems, list(reading.samples())) == ({}, (), [])


@needs_bash
def test_only_named_cpus_are_read(tmp_path: Path) -> None:
    for cpu in range(4):
        put_cpu(tmp_path, cpu, "2100000", core="3")
    values = SENSOR.parse(one_record(tmp_path, 2, 3, 9))
    assert values == {
        "cpu2.frequency_hz": 2.1e9,
        "cpu3.frequency_hz": 2.1e9,
        "cpu2.core_throttle_count": 3,
        "cpu3.core_throttle_count": 3,
    }


@needs_bash
def test_a_host_of_512_cpus_has_its_first_64_read(tmp_path: Path) -> None:
    for cpu in range(512):
        put_cpu(tmp_path, cpu, "2100000")
    assert set(SENSOR.parse(one_record(tmp_path))) == {f"cpu{cpu}.frequency_hz" for cpu in range(MOST_CPUS)}


@needs_bash
@pytest.mark.parametrize("clock", ["", "unset EPOCHREALTIME\n"], ids=["bash 5", "bash 4.4"])
def test_where_reading_is_slow_a_record_goes_on_where_the_one_before_stopped(
    tmp_path: Path, clock: str
) -> None:
    """Linux 4.13 to 5.18 may sleep 20 ms for each CPU; here no CPU is left of the budget of 0."""
    at_once = 16 if clock else 1
    for cpu in range(3 * at_once):
        put_cpu(tmp_path, cpu, "2100000", core="3")
    argv = command((), 0.1, str(tmp_path))
    argv[2], argv[6] = clock + argv[2], "-1"
    read = []
    for line in records(argv, 4):
        names = [name.partition(".") for name in SENSOR.parse(line)]
        assert sum(what == "core_throttle_count" for _, _, what in names) == 3 * at_once
        read.append([int(cpu[3:]) for cpu, _, what in names if what == "frequency_hz"])
    wanted = [list(range(at * at_once, (at + 1) * at_once)) for at in range(3)]
    assert read == [*wanted, wanted[0]]


@needs_bash
def test_a_cpu_that_goes_offline_is_none_with_its_reason(tmp_path: Path) -> None:
    for cpu in range(2):
        put_cpu(tmp_path, cpu, "2100000", core="0")
    with streaming(command((), 0.1, str(tmp_path))) as lines:
        before = next(lines)
        (tmp_path / "sys/devices/system/cpu/cpu1").rename(tmp_path / "offline")
        next_other(lines, before, SENSOR.parse)  # it may have gone in the middle of this one
        record = next(lines)
    assert SENSOR.parse(before)["cpu1.frequency_hz"] == 2.1e9
    assert SENSOR.parse(record) == {
        "cpu0.frequency_hz": 2.1e9,
        "cpu1.frequency_hz": None,
        "cpu0.core_throttle_count": 0,
        "cpu1.core_throttle_count": None,
    }
    assert set(SENSOR.reasons(record)) == {"cpu1.frequency_hz", "cpu1.core_throttle_count", "temperature"}


def put_chip(root: Path, number: int, driver: str, *temperatures: tuple[str, str]) -> Path:
    own = root / f"sys/class/hwmon/hwmon{number}"
    own.mkdir(parents=True)
    (own / "name").write_text(f"{driver}\n")
    for at, (label, text) in enumerate(temperatures, 1):
        (own / f"temp{at}_input").write_text(f"{text}\n")
        if label:
            (own / f"temp{at}_label").write_text(f"{label}\n")
    return own


def put_zone(root: Path, number: int, kind: str, text: str) -> None:
    own = root / f"sys/class/thermal/thermal_zone{number}"
    own.mkdir(parents=True)
    (own / "type").write_text(f"{kind}\n")
    (own / "temp").write_text(f"{text}\n")


@needs_bash
def test_packages_stand_for_their_cores_and_each_has_its_own(tmp_path: Path) -> None:
    for package in (0, 1):
        core = ("Core 0", "71000")
        put_chip(tmp_path, package, "coretemp", (f"Package id {package}", f"{60 + package}000"), core)
        put_chip(tmp_path, 2 + package, "k10temp", ("Tctl", "95000"), ("Tdie", f"{68 + package}000"))
    put_zone(tmp_path, 0, "x86_pkg_temp", "61000")
    record = one_record(tmp_path)
    values = SENSOR.parse(record)
    assert values == {
        "coretemp Package id 0": 60.0,
        "coretemp Package id 1": 61.0,
        "k10temp Tdie": 68.0,
        "k10temp Tdie 2": 69.0,
    }
    assert {(one.unit, one.kind) for one in map(SENSOR.channel, values)} == {("°C", "gauge")}
    assert "temperature" not in SENSOR.reasons(record)


@needs_bash
def test_without_a_chip_of_the_cpu_its_thermal_zone_is_read_and_no_other(tmp_path: Path) -> None:
    put_chip(tmp_path, 0, "nvme", ("Composite", "40000"))
    put_zone(tmp_path, 0, "acpitz", "27800")
    put_zone(tmp_path, 1, "cpu-thermal", "48312")
    assert SENSOR.parse(one_record(tmp_path)) == {"thermal zone cpu thermal": 48.312}


@needs_bash
def test_cores_are_read_where_no_package_is_and_eight_at_most(tmp_path: Path) -> None:
    put_chip(tmp_path, 0, "coretemp", *((f"Core {core}", "50000") for core in range(9)))
    assert len(SENSOR.parse(one_record(tmp_path))) == 8


@needs_bash
@pytest.mark.parametrize("text", ["", "-61000", "200000", "unknown"])
def test_what_is_no_temperature_is_none_with_its_reason(tmp_path: Path, text: str) -> None:
    put_chip(tmp_path, 0, "k10temp", ("", text))
    record = one_record(tmp_path)
    assert SENSOR.parse(record) == {"k10temp": None}
    assert SENSOR.reasons(record)["k10temp"] == f"the kernel says {text!r}, which is not a temperature"


def test_a_record_from_before_temperatures_were_read_says_so() -> None:
    reasons = SENSOR.reasons("linewatt-cpufreq 1 5|frequency 0=2100000|end 6")
    assert reasons["temperature"] == "not read when this was recorded"


@needs_bash
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_and_leaves_no_child(sent: signal.Signals) -> None:
    argv = command((), 60)
    assert status_when_told(argv, sent) != 0


@needs_bash
def test_a_record_of_64_cpus_costs_little_more_than_to_read_the_files(tmp_path: Path) -> None:
    for cpu in range(MOST_CPUS):
        put_cpu(tmp_path, cpu, "2100000", core="3")
    files = tmp_path.glob("sys/devices/system/cpu/cpu*/*/*")
    assert cost_to_read(command((), 0.02, str(tmp_path)), 0.02, files) < 5


def test_the_cpus_that_take_part_are_watched() -> None:
    roles = HostSpec("dut", "local", "eth0", cpus=tuple(range(32)), app_cpus=(0, 1, 2), irq_cpus=(2, 8))
    assert watched_cpus(roles) == (0, 2, 1, 8)
    assert watched_cpus(HostSpec("dut", "local", "eth0", cpus=(4, 5), irq_cpus=(5,))) == (4, 5)
    assert watched_cpus(HOST) == ()


def test_of_many_cpus_the_first_of_each_role_are_watched() -> None:
    large = HostSpec("dut", "local", "eth0", app_cpus=tuple(range(256)), irq_cpus=tuple(range(256, 512)))
    assert sorted(watched_cpus(large)) == [*range(32), *range(256, 288)]


def test_cpus_and_interval_are_arguments_of_a_constant_script() -> None:
    host = HostSpec("dut", "local", "eth0", app_cpus=(7, 11))
    argv = SENSOR.command(CpufreqConfig(interval_s=0.5), host)
    assert argv[:2] == ["bash", "-c"]
    assert argv[4:] == ["", "500000", "250000", "64", "8", "7", "11"]
    assert argv[2] == SENSOR.command(CpufreqConfig(), HOST)[2]
    with pytest.raises(ValidationError):
        CpufreqConfig(interval_s=0)


RECORD = "linewatt-cpufreq 1 100|frequency 0=2100000 1=<unknown> 2=0 3=|core 0=7 1=|package 0=30|end 105"


def test_what_is_no_frequency_is_none_with_the_kernels_word() -> None:
    assert SENSOR.parse(RECORD) == {
        "cpu0.frequency_hz": 2.1e9,
        "cpu1.frequency_hz": None,
        "cpu2.frequency_hz": None,
        "cpu3.frequency_hz": None,
        "cpu0.core_throttle_count": 7,
        "cpu1.core_throttle_count": None,
        "cpu0.package_throttle_count": 30,
    }
    reasons = SENSOR.reasons(RECORD)
    assert "'<unknown>'" in reasons["cpu1.frequency_hz"]
    assert set(reasons) == {name for name, value in SENSOR.parse(RECORD).items() if value is None} | {
        "temperature"
    }


@given(st.integers(1, len(RECORD)))
def test_a_cut_record_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(RECORD[: len(RECORD) - max(cut, 3)])


@pytest.mark.parametrize(
    "damaged",
    [
        RECORD.replace("|frequency", "|fr\x00quency"),
        RECORD.replace(" 0=7", " 0:7"),
        RECORD.replace("0=30", "x=30"),
        RECORD.replace("|core 0=7 1=", "|core"),
        RECORD.replace("|package", "|core"),
        RECORD.replace("cpufreq 1 ", "cpufreq 2 "),
        RECORD[:40] + RECORD,
    ],
)
def test_a_damaged_record_is_a_parse_error_and_becomes_a_problem(damaged: str) -> None:
    feed = Feed("dut", SENSOR, CpufreqConfig())
    feed.take(Line(1.0, damaged))
    (problem,) = feed.reading(0, 2).problems
    assert "is not a whole record" in problem
    assert list(feed.reading(0, 2).samples()) == []


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    for read in (SENSOR.parse, SENSOR.reasons):
        with pytest.raises(ParseError):
            read(text)


def test_channels_say_what_they_are() -> None:
    frequency = SENSOR.channel("cpu12.frequency_hz")
    assert (frequency.unit, frequency.kind, frequency.scope) == ("Hz", "gauge", "cpu:12")
    count = SENSOR.channel("cpu3.package_throttle_count")
    assert (count.unit, count.kind, count.scope, count.bits) == ("count", "counter", "cpu:3", 64)
    for wrong in ("cpu.frequency_hz", "cpu0.idle_ratio", "cpu0.frequency_hz.x", "frequency"):
        with pytest.raises(ParseError, match="no channel"):
            SENSOR.channel(wrong)
