# SPDX-License-Identifier: Apache-2.0
"""hwmon: the script over trees of /sys/class/hwmon (tests/captures/hwmon), the parser, what is no power."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.stream_helpers import (
    cost_to_read,
    needs_bash,
    next_other,
    open_tree,
    records,
    status_when_told,
    streaming,
)

from linewatt.engine.live.feed import Feed
from linewatt.errors import InvalidInput, ParseError
from linewatt.hosts.base import HostSpec, Line
from linewatt.sensors.power.hwmon import Hwmon, HwmonConfig, command

CAPTURES = Path(__file__).parents[2] / "captures" / "hwmon"
HOST = HostSpec("dut", "local", "eth0")


def hwmon(**settings: Any) -> Any:
    return Hwmon(HwmonConfig(**settings))


def one_record(root: Path, *, anybody: bool = False, **settings: Any) -> str:
    argv = command(HwmonConfig(interval_s=60, **settings), str(root))
    return records(argv, 1, anybody=anybody)[0]


def put_chip(root: Path, folder: str, name: str, device: str = "", **files: object) -> Path:
    chip = root / "sys/class/hwmon" / folder
    chip.mkdir(parents=True)
    for file, text in {"name": name, **files}.items():
        (chip / file).write_text(f"{text}\n")
    if device:
        (root / "sys/devices" / device).mkdir(parents=True, exist_ok=True)
        (chip / "device").symlink_to(f"../../../devices/{device}")
    return chip


def scopes(sensor: Hwmon, record: str) -> dict[str, str]:
    return {name: sensor.channel(name).scope for name in sensor.parse(record)}


@needs_bash
def test_an_average_goes_before_a_moment_and_its_interval_is_in_the_method(tmp_path: Path) -> None:
    put_chip(
        tmp_path,
        "hwmon1",
        "power_meter",
        "ACPI000D:00",
        power1_average=214_000_000,
        power1_input=999_000_000,
        power1_average_interval=300_000,
        power1_accuracy="95.0%",
    )
    sensor = hwmon()
    assert sensor.parse(one_record(tmp_path)) == {"power_meter.power1": 214}
    channel = sensor.channel("power_meter.power1")
    assert (channel.unit, channel.kind, channel.scope) == ("W", "gauge", "system:ACPI000D:00")
    assert channel.method == "hwmon power_meter power1_average, mean over 300 s"
    assert channel.tolerance_ratio == pytest.approx(0.05)


@pytest.mark.parametrize("accuracy", ["0.0%", "100.0%", "unknown", "", "79.9%"])
def test_an_accuracy_that_cannot_be_is_not_known(accuracy: str) -> None:
    sensor = hwmon()
    sensor.parse(f"linewatt-hwmon 1 1|hwmon1\tpower_meter\t\tpower1_average\t\t\t{accuracy}\t5000000|end 2")
    assert sensor.channel("power_meter.power1").tolerance_ratio is None


@needs_bash
def test_two_acpi_meters_may_contain_each_other_so_neither_is_the_system(tmp_path: Path) -> None:
    for number in range(2):
        device = f"ACPI000D:0{number}"
        put_chip(tmp_path, f"hwmon{number}", "power_meter", device, power1_average=200_000_000)
    settings: dict[str, Any] = {"scopes": {"power_meter-ACPI000D:01.power1": "system"}}
    assert scopes(hwmon(), one_record(tmp_path)) == {
        "power_meter-ACPI000D:00.power1": "other:power_meter-ACPI000D:00-power1",
        "power_meter-ACPI000D:01.power1": "other:power_meter-ACPI000D:01-power1",
    }
    assert scopes(hwmon(**settings), one_record(tmp_path)) == {
        "power_meter-ACPI000D:00.power1": "other:power_meter-ACPI000D:00-power1",
        "power_meter-ACPI000D:01.power1": "system:ACPI000D:01",
    }


GRACE = {
    "Module Power Socket 0": 412,
    "Grace Power Socket 0": 140,
    "CPU Power Socket 0": 77,
    "SysIO Power Socket 0": 9,
}


@needs_bash
@pytest.mark.parametrize("in_device", [True, False])
def test_the_meters_of_a_grace_are_told_apart_by_their_oem_info(tmp_path: Path, in_device: bool) -> None:
    """Two sockets; readings stand in the folder of the chip, their OEM info there or in device."""
    words = GRACE | {name.replace("0", "1"): watts + 1 for name, watts in GRACE.items()}
    for number, (info, watts) in enumerate(words.items()):
        device = f"ACPI000D:0{number}"
        put_chip(tmp_path, f"hwmon{number}", "power_meter", device, power1_average=watts * 1_000_000)
        chip = tmp_path / "sys/class/hwmon" / f"hwmon{number}"
        (chip / "device" if in_device else chip).joinpath("power1_oem_info").write_text(f"{info}\n")
    sensor = hwmon()
    record = one_record(tmp_path)
    values = sensor.parse(record)
    found = {sensor.channel(name).scope: value for name, value in values.items()}
    assert found == {
        "other:module0": 412, "package:0": 140, "cpu:0": 77, "other:sysio0": 9,
        "other:module1": 413, "package:1": 141, "cpu:1": 78, "other:sysio1": 10,
    }  # fmt: skip
    methods = [sensor.channel(name).method for name in values]
    assert methods[0] == "hwmon power_meter power1_average, Module Power Socket 0"
    named = hwmon(scopes={"power_meter.Module Power*": "system"})
    assert {"system:ACPI000D:00", "system:ACPI000D:04"} <= set(scopes(named, record).values())


@needs_bash
def test_power_and_energy_of_one_thing_count_once(tmp_path: Path) -> None:
    put_chip(
        tmp_path, "hwmon2", "xe", "0000:03:00.0",
        power1_input=40_000_000, power1_label="card", energy1_input=5, energy1_label="card",
        energy2_input=4, energy2_label="pkg",
    )  # fmt: skip
    assert scopes(hwmon(), one_record(tmp_path)) == {
        "xe.power1": "gpu:0000:03:00.0",
        "xe.energy1": "other:xe-0000:03:00.0-energy1",
        "xe.energy2": "other:xe-0000:03:00.0-energy2",
    }


@needs_bash
def test_psus_have_their_input_and_output_and_cards_their_address(tmp_path: Path) -> None:
    for number in range(2):
        put_chip(
            tmp_path, f"hwmon{number}", "dps2000", f"i2c-7/7-005{number}",
            power1_input=220_000_000, power1_label="pin", power2_input=200_000_000, power2_label="pout1",
        )  # fmt: skip
        put_chip(tmp_path, f"hwmon1{number}", "amdgpu", f"0000:0{number}:00.0", power1_input=9_000_000)
    assert scopes(hwmon(), one_record(tmp_path)) == {
        "dps2000-7-0050.power1": "psu-in:7-0050",
        "dps2000-7-0050.power2": "psu-out:7-0050",
        "dps2000-7-0051.power1": "psu-in:7-0051",
        "dps2000-7-0051.power2": "psu-out:7-0051",
        "amdgpu-0000:00:00.0.power1": "gpu:0000:00:00.0",
        "amdgpu-0000:01:00.0.power1": "gpu:0000:01:00.0",
    }


@needs_bash
def test_chips_of_one_name_without_a_device_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    for number in range(2):
        put_chip(tmp_path, f"hwmon{number}", "zenergy", energy1_input=number, energy1_label="Esocket0")
    assert hwmon().parse(one_record(tmp_path)) == {
        "zenergy-hwmon0.energy1": 0,
        "zenergy-hwmon1.energy1": 1e-6,
    }


@needs_bash
def test_the_light_of_an_sfp_module_is_not_its_power(tmp_path: Path) -> None:
    put_chip(
        tmp_path, "hwmon1", "sfp_1", "sfp-1",
        power1_input=532, power1_label="TX_power", power2_input=401, power2_label="RX_power",
    )  # fmt: skip
    every: tuple[dict[str, Any], ...] = ({}, {"channels": ["*"]})
    for settings in every:
        record = one_record(tmp_path, **settings)
        assert hwmon(**settings).parse(record) == {"power": None}
        assert "chips there are: sfp_1" in hwmon(**settings).reasons(record)["power"]


@needs_bash
def test_chips_and_channels_choose_what_is_read(tmp_path: Path) -> None:
    put_chip(tmp_path, "hwmon0", "amdgpu", "0000:03:00.0", power1_average=9_000_000, power1_label="PPT")
    put_chip(tmp_path, "hwmon1", "corsairpsu", "hid.5", power1_input=1, power1_label="power total")
    put_chip(tmp_path, "hwmon2", "ina226", "1-0040", power1_input=2, power2_input=3)

    def names(**settings: Any) -> set[str]:
        return set(hwmon(**settings).parse(one_record(tmp_path, **settings)))

    assert len(names()) == 4
    assert names(chips=["amdgpu"]) == {"amdgpu.power1"}
    assert names(chips=["*-0000:03:*", "ina226"], channels=["*.power1"]) == {"amdgpu.power1", "ina226.power1"}
    assert names(channels=["corsairpsu.power total"]) == {"corsairpsu.power1"}
    assert names(channels=["*", "ina226.power1"]) == names()


@needs_bash
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"chips": ["amdgpu", "i915"]}, "chips: no chip fits 'i915'; there are amdgpu, sfp_1"),
        (
            {"channels": ["amdgpu.power9"]},
            "no sensor of power or energy fits 'amdgpu.power9'; there are amdgpu.PPT, amdgpu.power2",
        ),
        ({"channels": ["*", "sfp_1.TX_power"]}, "fits 'sfp_1.TX_power'; there are amdgpu.PPT"),
        (
            {"channels": ["amdgpu.PPT"], "scopes": {"amdgpu.PPT": "gpu", "amdgpu.power2": "cpu"}},
            "scopes: no sensor that is read fits 'amdgpu.power2'; there are amdgpu.PPT",
        ),
    ],
    ids=["chip", "channel", "light", "scope"],
)
def test_a_choice_that_fits_nothing_is_refused_with_what_there_is(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    put_chip(tmp_path, "hwmon0", "amdgpu", "gpu", power1_average=9, power1_label="PPT", power2_input=1)
    put_chip(tmp_path, "hwmon1", "sfp_1", power1_input=532, power1_label="TX_power")
    record = one_record(tmp_path, **settings)
    for ask in (hwmon(**settings).parse, hwmon(**settings).reasons):
        with pytest.raises(InvalidInput) as caught:
            ask(record)
        assert said in str(caught.value)


@needs_bash
def test_a_choice_on_a_host_without_sensors_is_refused_with_why(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no chip fits 'amdgpu'; there is none: a virtual machine"):
        hwmon().parse(one_record(tmp_path, chips=["amdgpu"]))


@needs_bash
def test_a_host_without_hwmon_says_so(tmp_path: Path) -> None:
    record = one_record(tmp_path)
    sensor = hwmon(simulated=True)
    assert sensor.parse(record) == {"power": None}
    assert "virtual machine" in sensor.reasons(record)["power"]
    assert sensor.channel("power").provenance == "simulated"


@needs_bash
def test_what_the_settings_say_goes_before_what_is_known(tmp_path: Path) -> None:
    put_chip(tmp_path, "hwmon0", "ina226", "1-0040", power1_input=5_000_000, power1_label="vin")
    put_chip(tmp_path, "hwmon1", "power_meter", "ACPI000D:00", power1_average=5_000_000)
    settings: dict[str, Any] = {"scopes": {"ina226.vin": "psu-in:PSU1", "power_meter.*": "wall"}}
    assert scopes(hwmon(**settings), one_record(tmp_path)) == {
        "ina226.power1": "psu-in:PSU1",
        "power_meter.power1": "wall:ACPI000D:00",
    }


@needs_bash
def test_who_may_not_read_it_is_told_what_to_do() -> None:
    """amd_energy is 0440 since Linux commit 60268b0e8258."""
    with open_tree() as root:
        chip = put_chip(root, "hwmon0", "amd_energy", energy1_input=7_000_000, energy1_label="Esocket0")
        (chip / "energy1_input").chmod(0o440 if os.geteuid() == 0 else 0)
        record = one_record(root, anybody=True)
    assert hwmon().parse(record) == {"amd_energy.energy1": None}
    assert "`sudo: true`" in hwmon().reasons(record)["amd_energy.energy1"]
    assert hwmon().needs_root


@needs_bash
def test_a_sensor_that_disappears_is_none_with_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    chips = [
        put_chip(tmp_path, f"hwmon{n}", "amdgpu", f"0000:0{n}:00.0", power1_average=9_000_000) for n in (0, 1)
    ]
    sensor = hwmon()
    with streaming(command(HwmonConfig(interval_s=0.1), str(tmp_path))) as lines:
        before = next(lines)
        shutil.rmtree(chips[1])
        record = next_other(lines, before, sensor.parse)
    assert sensor.parse(before) == {"amdgpu-0000:00:00.0.power1": 9, "amdgpu-0000:01:00.0.power1": 9}
    assert sensor.parse(record) == {"amdgpu-0000:00:00.0.power1": 9, "amdgpu-0000:01:00.0.power1": None}
    assert "gone" in sensor.reasons(record)["amdgpu-0000:01:00.0.power1"]


@pytest.mark.parametrize(
    ("file", "word", "why"),
    [
        ("power1_average", "4294967295000", "do not know"),
        ("power1_average", "-1", "less than nothing"),
        ("power1_average", "100000000001", "do not know"),
        ("power1_average", "0", "0 W of a host that runs"),
        ("power1_average", "unknown", "the driver says 'unknown'"),
        ("power1_average", "", "the driver says ''"),
        ("power1_average", "12.5", "the driver says '12.5'"),
        ("power1_average", "unreadable", "gives no reading"),
        ("energy1_input", "-1", "less than nothing"),
    ],
)
def test_garbage_is_none_with_its_reason(file: str, word: str, why: str) -> None:
    record = f"linewatt-hwmon 1 1|hwmon1\tpower_meter\tACPI000D:00\t{file}\t\t\t\t{word}|end 2"
    ((_, value),) = hwmon().parse(record).items()
    ((_, reason),) = hwmon().reasons(record).items()
    assert value is None
    assert why in reason


def test_a_card_that_sleeps_may_draw_nothing() -> None:
    record = "linewatt-hwmon 1 1|hwmon1\tamdgpu\t0000:03:00.0\tpower1_average\tPPT\t\t\t0|end 2"
    assert hwmon().parse(record) == {"amdgpu.power1": 0}


@needs_bash
def test_bars_tabs_and_shell_in_a_label_stay_text(tmp_path: Path) -> None:
    label = f"a|b\tc $(touch {tmp_path}/bad) `touch {tmp_path}/bad` *"
    put_chip(tmp_path, "hwmon0", "ina226", power1_input=5_000_000, power1_label=label)
    sensor = hwmon(channels=["ina226.a_b_c*"])
    assert sensor.parse(one_record(tmp_path, channels=["ina226.a_b_c*"])) == {"ina226.power1": 5}
    assert "a_b_c $(touch" in sensor.channel("ina226.power1").method
    assert not (tmp_path / "bad").exists()


@needs_bash
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_and_leaves_no_child(sent: signal.Signals) -> None:
    argv = command(HwmonConfig(interval_s=60), str(CAPTURES / "corsair-psu" / "root"))
    assert status_when_told(argv, sent) != 0


@needs_bash
def test_a_record_of_sixteen_sensors_costs_little_more_than_to_read_the_files(tmp_path: Path) -> None:
    chips = [
        put_chip(tmp_path, f"hwmon{number}", "amdgpu", f"0000:{number:02}:00.0", power1_average=9_000_000)
        for number in range(16)
    ]
    argv = command(HwmonConfig(), str(tmp_path))
    argv[5] = "20000"
    assert cost_to_read(argv, 0.02, [chip / "power1_average" for chip in chips]) < 7


def test_settings_are_arguments_of_a_constant_script() -> None:
    cfg = HwmonConfig(interval_s=0.5, chips=["amdgpu", "ina*"], channels=["*.power1"])
    argv = hwmon().command(cfg, HOST)
    assert argv[:2] == ["bash", "-c"]
    assert argv[4:] == ["", "500000", "2", "amdgpu", "ina*", "*.power1"]
    assert argv[2] == hwmon().command(HwmonConfig(), HOST)[2]


@pytest.mark.parametrize(
    "settings",
    [
        {"chips": ["+(a|b)"]},
        {"channels": ["[a-z]"]},
        {"scopes": {"ina226.power1": "power"}},
        {"scopes": {"ina226.power1": "psu-in:"}},
        {"chips": [""]},
        {"chips": "amdgpu"},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HwmonConfig(**settings)


RECORD = (
    "linewatt-hwmon 1 100|hwmon1\tpower_meter\tACPI000D:00\tpower1_average\t\t300000\t90.0%\t214000000"
    "|hwmon3\tamdgpu\t0000:03:00.0\tpower1_input\tPPT\t\t\tunreadable|end 105"
)


@given(st.integers(1, len(RECORD)))
def test_a_cut_record_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        hwmon().parse(RECORD[: len(RECORD) - max(cut, 3)])


@given(st.integers(0, len(RECORD) - 1), st.characters())
def test_a_damaged_record_gives_readings_or_a_parse_error_and_nothing_else(at: int, wrong: str) -> None:
    damaged = RECORD[:at] + wrong + RECORD[at + 1 :]
    sensor = hwmon()
    try:
        values = sensor.parse(damaged)
    except ParseError:
        return
    assert {name for name, value in values.items() if value is None} == set(sensor.reasons(damaged))
    assert {sensor.channel(name).unit for name in values} <= {"W", "J"}


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    for read in (hwmon().parse, hwmon().reasons):
        with pytest.raises(ParseError):
            read(text)


def test_a_damaged_record_becomes_a_problem_and_no_number() -> None:
    feed = Feed("dut", hwmon(), HwmonConfig())
    feed.take(Line(1.0, RECORD.replace("\tPPT\t", "\t")))
    (problem,) = feed.reading(0, 2).problems
    assert "is not a reading of a sensor" in problem
    assert list(feed.reading(0, 2).samples()) == []
    with pytest.raises(ParseError, match="no channel"):
        hwmon().channel("power_meter.power1")
