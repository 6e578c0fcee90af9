# SPDX-License-Identifier: Apache-2.0
"""The texts of a lab's BMCs; what ipmitool makes of them is in tests/lab/test_bmc_lab.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.features.lab.bmc_recipe import (
    SENSORS,
    Meters,
    Unit,
    commands,
    feeder_arguments,
    lan_conf,
    meters_of,
    sensor_record,
    values_line,
)
from linewatt.features.lab.power_model import server_power

PLACE = Path("/run/linewatt/lab/one/bmc/values/h1")
entities = st.tuples(st.sampled_from(["processor", "supply", "fan", "memory"]), st.integers(1, 0x5F))
names = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=16)


def numbered(record: bytes) -> dict[int, int]:
    """Bytes by their number in table 43-1 of IPMI 2.0, which counts from 1."""
    return dict(enumerate(record, 1))


@given(st.integers(1, 254), names, st.sampled_from(["W", "rpm"]), st.integers(1, 511), entities)
def test_a_record_says_what_it_was_made_from(
    number: int, name: str, unit: Unit, step: int, entity: tuple[str, int]
) -> None:
    record = sensor_record(number, name, unit, step, entity)
    at = numbered(record)
    assert at[5] == len(record) - 5
    assert (at[3], at[4], at[8], at[10]) == (0x51, 0x01, number, entity[1])
    assert at[9] == {"processor": 3, "supply": 10, "fan": 29, "memory": 32}[entity[0]]
    assert (at[13], at[22]) == {"W": (0x0B, 0x06), "rpm": (0x04, 0x12)}[unit]
    assert at[25] | (at[26] & 0xC0) << 2 == step
    assert (at[24], at[27], at[30]) == (0, 0, 0)  # linear, no offset, no exponents
    assert at[48] == 0xC0 | len(name)
    assert record[48:].decode() == name


def test_a_record_is_byte_by_byte_what_a_simulator_took_and_ipmitool_read() -> None:
    """As read back with ``ipmitool sdr dump`` 1.8.19 from ipmi_sim 2.0.33, without the record's id."""
    read = (
        "5101 3820 0001 0a01 7f43 0b01 0000 0000 0000 0006 0000 0400 0000 0000 0000"
        "0000 ff00 0000 0000 0000 0000 0000 00cd 5053 5531 2050 6f77 6572 2049 6e"
    )
    assert sensor_record(1, "PSU1 Power In", "W", 4, ("supply", 1))[2:] == bytes.fromhex(read)


@pytest.mark.parametrize(
    ("number", "name", "step"),
    [(1, "a" * 17, 4), (1, "", 4), (1, "a", 0), (1, "a", 512), (0, "a", 1), (255, "a", 1)],
)
def test_what_no_record_can_hold_is_refused(number: int, name: str, step: int) -> None:
    with pytest.raises(ValueError, match="no sensor record can hold"):
        sensor_record(number, name, "W", step, ("supply", 1))


def test_a_bmc_listens_on_one_address_and_lets_in_one_user() -> None:
    lines = [line.split() for line in lan_conf("one-h1", "198.18.7.1", "secret").splitlines()]
    assert [line[1:] for line in lines if line[0] == "addr"] == [["198.18.7.1", "623"]]
    assert [line[1:5] for line in lines if line[0] == "user"] == [["2", "true", '"admin"', '"secret"']]
    assert not [line for line in lines if line[0] in ("console", "serial", "sol", "startcmd")]
    assert not any("none" in line for line in lines)


def test_bmcs_have_ids_of_their_own() -> None:
    found = {
        re.search(r"guid ([0-9a-f]{32})\n", lan_conf("x", address, "y"))[1]  # type: ignore[index]
        for address in ("198.18.1.1", "198.18.1.2", "198.18.2.1")
    }
    assert len(found) == 3


@given(st.floats(0, 1))
def test_every_sensor_reads_its_own_value_from_the_file(busy: float) -> None:
    """ipmi_sim reads from ``offset`` on, and takes the number there up to the first space."""
    line = values_line(server_power(busy))
    added = [text for text in commands(PLACE).splitlines() if text.startswith("sensor_add")]
    assert len(added) == len(SENSORS)
    for text, sensor in zip(added, SENSORS, strict=True):
        match = re.search(rf'"{PLACE}" offset=(\d+) div=(\d+) base=10$', text)
        assert match is not None
        offset = int(match[1])
        assert offset % 8 == 0  # a reader sees it whole or not at all
        value, space, _ = line[offset:].partition(" ")
        assert space
        assert len(value) == 7
        assert abs(int(value) - sensor.reading(server_power(busy))) <= sensor.step / 2 + 1e-9
        assert int(value) % sensor.step == 0  # the simulator would cut off what is beyond
        assert int(match[2]) == sensor.step


def test_sensors_are_numbered_as_they_are_in_their_records() -> None:
    added = re.findall(r"^sensor_add 0x20 0 (\d+) ", commands(PLACE), re.MULTILINE)
    records = re.findall(r"^main_sdr_add 0x20 (.+)$", commands(PLACE), re.MULTILINE)
    assert [int(number) for number in added] == [int(record.split()[7], 16) for record in records]


def test_the_feeder_is_told_which_cpus_each_file_is_about() -> None:
    cpus = {"h1": (0, 1), "h3": (7,)}
    assert feeder_arguments(Path("/a b"), cpus) == ["/a b", "0,0,0,0,0,0", "h1=0,1", "h3=7"]
    planted = Meters(10.0, 2.5, 0.04, -6.0, 3.0, plug=True)
    _, word, *_ = feeder_arguments(Path("/a b"), cpus, planted)
    assert word == "10,2.5,0.04,-6,3,1"
    assert meters_of(word) == planted
