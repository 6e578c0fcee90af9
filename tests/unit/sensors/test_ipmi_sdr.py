# SPDX-License-Identifier: Apache-2.0
"""IPMI sensor records and readings: captures (tests/captures/ipmi), choices, damaged bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.missing import Missing, value_or_none
from linewatt.sensors.power.ipmi import sdr
from linewatt.sensors.power.ipmi.sdr import Sensor

CAPTURES = Path(__file__).parents[2] / "captures" / "ipmi"
CASES = sorted(path.name for path in CAPTURES.iterdir())
UNITS = {"Watts": "W", "RPM": "rpm", "Volts": "V", "Amps": "A", "percent": "ratio"}
PSU = Sensor("PSU1 Power In", 1, 0x20, 0, "W", (4, 0, 0, 0))


def records_of(case: str) -> list[bytes]:
    return [bytes.fromhex(line) for line in (CAPTURES / case / "records").read_text().split()]


def sensors_of(case: str) -> list[Sensor]:
    return [found for record in records_of(case) if (found := sdr.decode(record)) is not None]


def readings_of(case: str) -> dict[int, bytes | None]:
    """By number; ``None`` where the BMC answered with a completion code."""
    rows = (line.split(":", 1) for line in (CAPTURES / case / "readings").read_text().splitlines())
    return {int(number, 16): None if "rsp=" in said else bytes.fromhex(said) for number, said in rows}


def expected_of(case: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    assert expected["origin"]
    return expected


def value_of(case: str, chosen: sdr.Chosen) -> float | None:
    answer = readings_of(case)[chosen.sensor.number]
    return None if answer is None else value_or_none(sdr.reading(chosen.sensor, answer))


@pytest.mark.parametrize("case", CASES)
def test_records_and_readings_give_what_was_captured(case: str) -> None:
    expected = expected_of(case)
    chosen = sdr.choose(sensors_of(case), ["*"], False, "bmc")
    assert {one.channel.name: value_of(case, one) for one in chosen} == pytest.approx(expected["values"])
    assert {one.channel.name: one.channel.scope for one in chosen} == expected["scopes"]
    channels = {one.channel.name: one.channel for one in chosen}
    assert {name: channels[name].step for name in expected["steps"]} == pytest.approx(expected["steps"])
    assert {name: channels[name].maximum for name in expected["maxima"]} == pytest.approx(expected["maxima"])


@pytest.mark.parametrize("case", CASES)
def test_ipmitool_reads_the_same_from_the_same_bytes(case: str) -> None:
    by_number = {sensor.number: sensor for sensor in sensors_of(case)}
    compared = 0
    for line in (CAPTURES / case / "output").read_text().splitlines():
        name, number, _, _, said = (field.strip() for field in line.split("|"))
        sensor = by_number[int(number[:-1], 16)]
        assert sensor.name == name
        match = re.fullmatch(r"(-?[\d.]+) (\w+)", said)
        if match and match[2] in UNITS:
            answer = readings_of(case)[sensor.number]
            assert answer is not None
            value = sdr.reading(sensor, answer)
            if answer[0] == 0xFF and not sensor.signed:
                assert isinstance(value, Missing)
                continue  # ipmitool prints the most that the sensor can show
            assert sensor.unit == UNITS[match[2]]
            scale = 100 if sensor.unit == "ratio" else 1
            assert value == pytest.approx(float(match[1]) / scale, abs=0.005 / scale)
            compared += 1
    assert compared >= 10


def test_by_default_only_what_says_what_it_measures_is_read() -> None:
    chosen = sdr.choose(sensors_of("openipmi-2.0.33-formats"), None, False, "bmc")
    assert [one.channel.name for one in chosen] == [
        "PSU1 Power In",
        "PSU1 Power Out",
        "CPU_Power",
        "Memory_Power",
        "FAN1",
        "Fan 2",
        "Sys Power",
        "PSU2 Power In",
        "PSU2 Power Out",
        "Inlet Temp",
    ], "temperatures last: no watt waits for one"


def test_with_dcmi_no_other_reading_of_the_system_is_taken_by_default() -> None:
    chosen = sdr.choose(sensors_of("openipmi-2.0.33-formats"), None, True, "bmc")
    assert "system" not in {one.channel.scope.partition(":")[0] for one in chosen}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["PSU3*"], r"bmc: no sensor is called 'PSU3\*'; there are PSU1 Power In, .*, FAN1, .*12V, Current"),
        (
            ["Current"],
            "2 sensors are called 'Current': 94h, 95h; name the one you mean by its number, such as 94h",
        ),
    ],
)
def test_a_wrong_choice_says_what_there_is(wanted: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sdr.choose(sensors_of("openipmi-2.0.33-formats"), wanted, False, "bmc")


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["94h"], ["Current (94h)"]),
        (["95H"], ["Current (95h)"]),
        (["Curr*"], ["Current (94h)", "Current (95h)"]),
        (["06h", "Inlet*"], ["Inlet Temp"]),
        (["PSU1 Power In", "PSU1*", "01h"], ["PSU1 Power In", "PSU1 Power Out"]),
        (["PSU[12] Power In"], ["PSU1 Power In", "PSU2 Power In"]),
    ],
)
def test_sensors_are_chosen_by_name_pattern_or_number(wanted: list[str], names: list[str]) -> None:
    chosen = sdr.choose(sensors_of("openipmi-2.0.33-formats"), wanted, False, "bmc")
    assert [one.channel.name for one in chosen] == names


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (Sensor("X", 1, 0x2C, 0, "W"), "belongs to another controller \\(0x2c\\)"),
        (Sensor("X", 1, 0x20, 0, "W", linearization=0x70), "is not linear in a way of its own \\(0x70\\)"),
        (Sensor("X", 1, 0x20, 0, "states, not a number"), "is in states, not a number"),
        (Sensor("X", 1, 0x20, 0, "J"), "is in J"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_left_out_by_default(sensor: Sensor, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sdr.choose([sensor], ["X"], False, "bmc")
    assert sdr.choose([sensor], None, False, "bmc") == []


def test_a_bmc_without_anything_to_read_says_so() -> None:
    with pytest.raises(InvalidInput, match="there is none that can be read"):
        sdr.choose([], ["PSU1"], False, "bmc")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (0x80, "does not scan"),
        (0x00, "does not scan"),
        (0xE0, "no reading of it now"),
        (0x60, "no reading of it now"),
    ],
)
def test_a_reading_that_is_none_says_why(flags: int, reason: str) -> None:
    assert reason in str(sdr.reading(PSU, bytes([60, flags, 0, 0])))


def test_a_byte_of_255_is_no_reading() -> None:
    """BMCs answer it for a supply that is not there, and say that they scan it."""
    reason = "the BMC returned FFh: no reading, or more than it can show (1020 W)"
    assert sdr.reading(PSU, bytes([255, 0xC0])) == Missing(reason)
    assert sdr.reading(PSU, bytes([254, 0xC0])) == 1016


@pytest.mark.parametrize(
    ("signed", "raw", "value"), [(2, 0xFD, -3), (1, 0xFD, -2), (0, 0xFD, 253), (1, 0xFF, 0)]
)
def test_signed_readings(signed: int, raw: int, value: float) -> None:
    assert Sensor("X", 1, 0x20, 0, "W", signed=signed).value(raw) == value


@pytest.mark.parametrize(
    ("linearization", "raw", "value"),
    [
        (1, 1, 0.0),
        (4, 0, 1.0),
        (5, 2, 100.0),
        (7, 4, 0.25),
        (10, 81, 9.0),
        (11, 27, 3.0),
        (1, 0, None),
        (7, 0, None),
    ],
)
def test_sensors_that_are_not_linear(linearization: int, raw: int, value: float | None) -> None:
    sensor = Sensor("X", 1, 0x20, 0, "W", linearization=linearization)
    assert value_or_none(sdr.reading(sensor, bytes([raw, 0xC0]))) == pytest.approx(value)
    assert sensor.step is None


@pytest.mark.parametrize(
    ("type_and_length", "data", "name"),
    [
        (0xC4, b"PSU1", "PSU1"),
        (0xC6, b"PSU1\0 ", "PSU1"),
        (0x83, bytes([0x29, 0xDC, 0xA6]), "IPMI"),  # the specification's own example, 43.16
        (0x42, bytes([0x12, 0xB3]), "12-3"),
        (0x05, "Lüf".encode()[:5], "Lüf"),
        (0xC9, b"cut", "cut"),
    ],
)
def test_names_of_every_encoding(type_and_length: int, data: bytes, name: str) -> None:
    record = bytearray(records_of("openipmi-2.0.33-formats")[0][:47])
    found = sdr.decode(bytes([*record, type_and_length, *data]))
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("flags", "base", "unit"),
    [(0x01, 6, "rate"), (0x18, 6, "rate"), (0x02, 6, "rate"), (0x00, 7, "J"), (0, 92, "code 92")],
)
def test_units_that_are_none_of_ours_are_named(flags: int, base: int, unit: str) -> None:
    record = bytearray(records_of("openipmi-2.0.33-formats")[0])
    record[20], record[21] = flags, base
    found = sdr.decode(bytes(record))
    assert found is not None
    assert unit in found.unit
    assert found.obstacle is not None


@pytest.mark.parametrize(
    ("bytes_27_28", "ratio"), [((50, 0x00), 0.005), ((50, 0x04), 0.05), ((0, 0x00), None), ((63, 0x0C), None)]
)
def test_the_accuracy_a_record_states_is_kept(bytes_27_28: tuple[int, int], ratio: float | None) -> None:
    record = bytearray(records_of("openipmi-2.0.33-formats")[0])
    record[27:29] = bytes_27_28
    found = sdr.decode(bytes(record))
    assert found is not None
    assert found.accuracy_ratio == pytest.approx(ratio)


def test_dcmi_power_and_why_there_is_none() -> None:
    # 240 W now, 200 W to 300 W, 230 W in the mean; active
    data = bytes.fromhex("dc f000 c800 2c01 e600 00000000 e8030000 40")
    assert sdr.dcmi_reading(data) == 240.0
    assert sdr.dcmi_reading(data[:-1] + b"\0") == Missing("the BMC does not measure power now")
    assert isinstance(sdr.dcmi_reading(data[:9]), Missing)
    assert isinstance(sdr.dcmi_reading(b"\x2c" + data[1:]), Missing)


@given(st.binary(max_size=80))
def test_no_bytes_of_a_record_raise(record: bytes) -> None:
    found = sdr.decode(record)
    if found is not None:
        assert found.maximum is None or found.maximum >= (found.value(0) or found.maximum)


@given(st.sampled_from(records_of("openipmi-2.0.33-formats")), st.data())
def test_no_damage_to_a_real_record_raises(record: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(3, len(record) - 1))
    damaged = record[:at] + bytes([data.draw(st.integers(0, 255))]) + record[at + 1 :]
    found = sdr.decode(damaged[: data.draw(st.integers(0, len(damaged)))])
    if found is not None:
        sdr.choose([found], None, False, "bmc")
        sdr.reading(found, bytes([data.draw(st.integers(0, 255)), 0xC0]))
