# SPDX-License-Identifier: Apache-2.0
"""rapl: the script over trees of powercap files (tests/captures/rapl), the parser, and wraps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.stream_helpers import (
    END_LIMIT_S,
    START_US,
    cost_to_read,
    needs_bash,
    next_other,
    open_tree,
    records,
    replace,
    stamps_us,
    status_when_told,
    streaming,
)

from linewatt.engine.live.feed import Feed
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec, Line
from linewatt.model import Window
from linewatt.sensors.counters import counter_delta
from linewatt.sensors.power.rapl import Rapl, RaplConfig, command

CAPTURES = Path(__file__).parents[2] / "captures" / "rapl"
HOST = HostSpec("dut", "local", "eth0")
RANGE_UJ = 262143328850


def rapl(**settings: Any) -> Any:
    return Rapl(RaplConfig(**settings))


def one_record(root: Path, *, anybody: bool = False) -> str:
    return records(command(30, str(root)), 1, anybody=anybody)[0]


def put_zone(root: Path, key: str, name: str, energy_uj: object, range_uj: object = RANGE_UJ) -> Path:
    zone = root / "sys/class/powercap" / key
    zone.mkdir(parents=True)
    (zone / "name").write_text(f"{name}\n")
    (zone / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (zone / "energy_uj").write_text(f"{energy_uj}\n")
    return zone


def put_vendor(root: Path, vendor: str) -> None:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: 25\n")


@needs_bash
def test_two_sockets_have_their_own_packages_parts_and_ranges(tmp_path: Path) -> None:
    for socket in range(2):
        put_zone(tmp_path, f"intel-rapl:{socket}", f"package-{socket}", 1_000_000 + socket)
        put_zone(tmp_path, f"intel-rapl:{socket}:0", "dram", 2_000_000 + socket, range_uj=65712999613)
    sensor = rapl()
    values = sensor.parse(one_record(tmp_path))
    assert values == {"package-0": 1, "dram-0": 2, "package-1": 1.000001, "dram-1": 2.000001}
    dram = sensor.channel("dram-1")
    assert (dram.unit, dram.kind, dram.scope, dram.wraps_at) == ("J", "counter", "dram:1", 65712.999613)
    assert sensor.channel("package-1").scope == "package:1"
    assert "intel-rapl:1:0" in dram.method


@needs_bash
def test_the_dies_of_an_intel_package_are_counted_each(tmp_path: Path) -> None:
    put_vendor(tmp_path, "GenuineIntel")
    for number, die in enumerate(range(2)):
        put_zone(tmp_path, f"intel-rapl:{number}", f"package-0-die-{die}", 5_000_000 + die)
        put_zone(tmp_path, f"intel-rapl:{number}:0", "core", 3_000_000 + die)
    sensor = rapl()
    assert sensor.parse(one_record(tmp_path)) == {
        "package-0-die-0": 5,
        "core-0-die-0": 3,
        "package-0-die-1": 5.000001,
        "core-0-die-1": 3.000001,
    }
    assert sensor.channel("package-0-die-1").scope == "package:0-die-1"
    assert sensor.channel("core-0-die-1").scope == "core:0-die-1"


@needs_bash
@pytest.mark.parametrize("vendor", ["AuthenticAMD", "HygonGenuine"])
def test_an_amd_package_counts_once_however_many_dies_show_it(tmp_path: Path, vendor: str) -> None:
    """Linux 6.10 on 2 sockets of 8 dies: 16 zones of 2 counters, and "core" is one single core."""
    put_vendor(tmp_path, vendor)
    for number in range(16):
        socket, die = divmod(number, 8)
        put_zone(tmp_path, f"intel-rapl:{number:x}", f"package-{socket}-die-{die}", (socket + 1) * 10**6)
        put_zone(tmp_path, f"intel-rapl:{number:x}:0", "core", 999)
    assert rapl().parse(one_record(tmp_path)) == {"package-0": 1, "package-1": 2}


@needs_bash
def test_mmio_is_read_where_there_is_nothing_else(tmp_path: Path) -> None:
    put_zone(tmp_path, "intel-rapl-mmio:0", "package-0", 7_000_000)
    sensor = rapl()
    assert sensor.parse(one_record(tmp_path)) == {"package-0": 7}
    assert "intel-rapl-mmio:0" in sensor.channel("package-0").method


@needs_bash
def test_who_may_not_read_it_is_told_what_to_do() -> None:
    """0400 since Linux 5.10, some kernels max_energy_range_uj too (powerapi-ng/pyJoules issue 13)."""
    with open_tree() as root:
        zone = put_zone(root, "intel-rapl:0", "package-0", 7_000_000)
        for name in ("energy_uj", "max_energy_range_uj"):
            (zone / name).chmod(0o400 if os.geteuid() == 0 else 0)
        record = one_record(root, anybody=True)
    sensor = rapl()
    assert sensor.parse(record) == {"package-0": None}
    assert "`sudo: true`" in sensor.reasons(record)["package-0"]
    assert sensor.channel("package-0").wraps_at is None
    assert sensor.needs_root


@needs_bash
def test_links_that_lead_nowhere_are_no_zones(tmp_path: Path) -> None:
    """home-assistant/operating-system issue 4931."""
    folder = tmp_path / "sys/class/powercap"
    folder.mkdir(parents=True)
    (folder / "intel-rapl:0").symlink_to("../../devices/virtual/powercap/intel-rapl/intel-rapl:0")
    record = one_record(tmp_path)
    assert rapl().parse(record) == {"package-0": None}
    assert "modprobe intel_rapl_msr" in rapl().reasons(record)["package-0"]


@needs_bash
def test_a_zone_that_disappears_is_none_with_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    for socket in range(2):
        put_zone(tmp_path, f"intel-rapl:{socket}", f"package-{socket}", 5_000_000)
    sensor = rapl()
    with streaming(command(0.1, str(tmp_path))) as lines:
        before = next(lines)
        shutil.rmtree(tmp_path / "sys/class/powercap/intel-rapl:1")
        record = next_other(lines, before, sensor.parse)
    assert sensor.parse(before) == {"package-0": 5, "package-1": 5}
    assert sensor.parse(record) == {"package-0": 5, "package-1": None}
    assert set(sensor.reasons(record)) == {"package-1"}
    assert "gone" in sensor.reasons(record)["package-1"]


@needs_bash
def test_a_counter_that_wraps_while_it_is_read_is_counted_on(tmp_path: Path) -> None:
    energy = put_zone(tmp_path, "intel-rapl:0", "package-0", 65_000_000_000, 65_532_610_987) / "energy_uj"
    sensor = rapl()
    feed = Feed("dut", sensor, RaplConfig())
    with streaming(command(0.1, str(tmp_path))) as lines:
        line = next(lines)
        feed.take(Line(0.0, line.rstrip("\n")))
        for second, energy_uj in enumerate((65_300_000_000, 67_389_013, 367_389_013), 1):
            replace(energy, f"{energy_uj}\n")
            line = next_other(lines, line, sensor.parse)
            feed.take(Line(float(second), line.rstrip("\n")))
    reading = feed.reading(0, 3)
    delta = counter_delta(
        reading.values("package-0"), Window(0, 3), wraps_at=reading.channels["package-0"].wraps_at
    )
    assert delta.value == pytest.approx(300 + 300 + 300)


@pytest.mark.parametrize(
    ("energy_uj", "range_uj", "why"),
    [
        ("0", RANGE_UJ, "never counted"),
        (RANGE_UJ + 1, RANGE_UJ, "beyond the counter's own range"),
        ("unreadable", RANGE_UJ, "cannot be read"),
        ("-5", RANGE_UJ, "the kernel says '-5'"),
        ("1e6", RANGE_UJ, "the kernel says '1e6'"),
    ],
)
def test_what_is_no_energy_is_none_with_its_reason(energy_uj: object, range_uj: int, why: str) -> None:
    record = f"linewatt-rapl 1 1 GenuineIntel|intel-rapl:0 package-0 {range_uj} {energy_uj}|end 2"
    assert rapl().parse(record) == {"package-0": None}
    assert why in rapl().reasons(record)["package-0"]


def test_a_part_that_was_never_counted_is_left_out_until_it_is() -> None:
    sensor = rapl()
    record = "linewatt-rapl 1 1 ?|intel-rapl:0 package-0 9 1|intel-rapl:0:0 uncore 9 {}|end 2"
    assert set(sensor.parse(record.format(0))) == {"package-0"}
    assert set(sensor.parse(record.format(1))) == {"package-0", "uncore-0"}


@pytest.mark.parametrize("range_uj", ["0", "?"])
def test_a_range_that_is_not_known_gives_no_wrap(range_uj: str) -> None:
    """0 on some systems (powercap/powercap issue 3)."""
    sensor = rapl()
    assert sensor.parse(f"linewatt-rapl 1 1 ?|intel-rapl:0 package-0 {range_uj} 5000000|end 2") == {
        "package-0": 5
    }
    assert sensor.channel("package-0").wraps_at is None


def test_platforms_are_counted_and_unknown_zones_left_out() -> None:
    record = (
        "linewatt-rapl 1 1 ?|intel-rapl:0 package-0 9 1|intel-rapl:1 psys 9 2|intel-rapl:2 psys 9 3"
        "|intel-rapl:3 galaxy 9 4|intel-rapl:3:0 core 9 5|intel-rapl:0:0 npu 9 6|end 2"
    )
    assert rapl().parse(record) == {"package-0": 1e-6, "psys-0": 2e-6, "psys-1": 3e-6}


@needs_bash
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_and_leaves_no_child(sent: signal.Signals) -> None:
    argv = command(60, str(CAPTURES / "client-core-uncore" / "root"))
    assert status_when_told(argv, sent) != 0


@needs_bash
def test_it_ends_when_nobody_reads_it() -> None:
    argv = command(0.1, str(CAPTURES / "client-core-uncore" / "root"))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(END_LIMIT_S) != 0


@needs_bash
@pytest.mark.parametrize("own_clock", [True, False], ids=["bash 5", "bash 4.4"])
def test_readings_come_on_time_and_do_not_drift(own_clock: bool) -> None:
    argv = command(0.2, str(CAPTURES / "client-core-uncore" / "root"))
    (first_us, _), *rest = stamps_us(argv, [0, 30_000, 0, 150_000, 0], own_clock=own_clock)
    assert START_US <= first_us < START_US + 200_000
    assert [begin - START_US for begin, _ in rest] == [200_000, 430_000, 600_000, 950_000, 1_000_000]


@needs_bash
def test_after_a_whole_interval_lost_readings_start_over() -> None:
    argv = command(0.2, str(CAPTURES / "client-core-uncore" / "root"))
    begun, ended = zip(*stamps_us(argv, [0, 250_000, 0, 0], own_clock=True), strict=True)
    assert begun[2] == START_US + 650_000
    assert [begun[3], begun[4]] == [ended[2] + 200_000, ended[2] + 400_000]


@needs_bash
@pytest.mark.parametrize("bash", ["", "unset EPOCHREALTIME\n"], ids=["bash 5", "bash 4.4"])
def test_waits_are_real_and_stamps_are_of_the_hosts_clock(bash: str) -> None:
    argv = command(0.2, str(CAPTURES / "client-core-uncore" / "root"))
    argv[2] = bash + argv[2]
    from_s, watch_s = time.time(), time.monotonic()
    times_s = [int(line.split()[2]) / 1e6 for line in records(argv, 3)]
    assert time.monotonic() - watch_s > 0.399
    assert from_s < times_s[0] < times_s[1] < times_s[2] < time.time()


@needs_bash
def test_a_record_of_eight_sockets_costs_little_more_than_to_read_the_files(tmp_path: Path) -> None:
    zones = [
        put_zone(tmp_path, f"intel-rapl:{socket}{part}", name, 5_000_000)
        for socket in range(8)
        for part, name in (("", f"package-{socket}"), (":0", "dram"))
    ]
    files = [zone / "energy_uj" for zone in zones]
    assert cost_to_read(command(0.02, str(tmp_path)), 0.02, files) < 7


def test_the_interval_is_an_argument_of_a_constant_script_and_half_a_minute_at_most() -> None:
    argv = rapl().command(RaplConfig(interval_s=0.5), HOST)
    assert argv[:2] == ["bash", "-c"]
    assert argv[4:] == ["", "500000"]
    assert argv[2] == rapl().command(RaplConfig(), HOST)[2]
    for wrong in (0, 31):
        with pytest.raises(ValidationError):
            RaplConfig(interval_s=wrong)


def test_a_simulator_and_an_accuracy_are_in_the_channel() -> None:
    sensor = rapl(simulated=True, tolerance_percent=5)
    sensor.parse(RECORD)
    assert sensor.channel("package-0").provenance == "simulated"
    assert sensor.channel("package-0").tolerance_ratio == 0.05
    with pytest.raises(ParseError, match="no channel"):
        sensor.channel("package-7")


RECORD = (
    f"linewatt-rapl 1 100 GenuineIntel|intel-rapl:0 package-0 {RANGE_UJ} 240422366267"
    f"|intel-rapl:0:0 core {RANGE_UJ} denied|end 105"
)


@given(st.integers(1, len(RECORD)))
def test_a_cut_record_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        rapl().parse(RECORD[: len(RECORD) - max(cut, 3)])


@given(st.integers(0, len(RECORD) - 1), st.characters())
def test_a_damaged_record_gives_readings_or_a_parse_error_and_nothing_else(at: int, wrong: str) -> None:
    damaged = RECORD[:at] + wrong + RECORD[at + 1 :]
    sensor = rapl()
    try:
        values = sensor.parse(damaged)
    except ParseError:
        return
    assert {name for name, value in values.items() if value is None} == set(sensor.reasons(damaged))
    assert [sensor.channel(name).unit for name in values] == ["J"] * len(values)


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    for read in (rapl().parse, rapl().reasons):
        with pytest.raises(ParseError):
            read(text)


def test_a_damaged_record_becomes_a_problem_and_no_number() -> None:
    feed = Feed("dut", rapl(), RaplConfig())
    feed.take(Line(1.0, RECORD.replace("|end", " end")))
    (problem,) = feed.reading(0, 2).problems
    assert "is not a whole record" in problem
    assert list(feed.reading(0, 2).samples()) == []
