# SPDX-License-Identifier: Apache-2.0
"""mpstat: cutting its stream into records as they arrive, and reading one record."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.stream_helpers import cut_records

from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.sensors.mpstat import MPSTAT_COLUMNS, Mpstat, MpstatConfig, mpstat_time_s

CAPTURES = Path(__file__).parents[2] / "captures" / "mpstat"
CASES = sorted(path.name for path in CAPTURES.iterdir())
HOST = HostSpec(name="dut", address="local", data="eth0")
SENSOR = Mpstat()


def records(case: str) -> list[str]:
    return list(cut_records(SENSOR, (CAPTURES / case / "output").read_text().splitlines()))


def row(cpu: int, **shares: float) -> str:
    columns = dict.fromkeys(MPSTAT_COLUMNS, 0.0) | shares
    return json.dumps({"cpu": str(cpu), **columns})


def record(*rows: str) -> str:
    return '\t\t"cpu-load": [\n' + ",\n".join(rows) + "\n\t\t\t\t\t]"


@pytest.mark.parametrize("case", CASES)
def test_each_capture_gives_the_shares_that_were_put_in(case: str) -> None:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    readings = [SENSOR.parse(record) for record in records(case)]
    assert expected["origin"]
    assert len(readings) == expected["records"]
    assert [len({name.split(".")[0] for name in reading}) for reading in readings] == expected["cpus"]
    for number, channel, value in expected["readings"]:
        if value == "absent":
            assert channel not in readings[number]
        else:
            assert readings[number][channel] == pytest.approx(value, abs=1e-6), (number, channel)


@pytest.mark.parametrize("case", CASES)
def test_shares_of_a_cpu_sum_to_one(case: str) -> None:
    for text in records(case):
        values = SENSOR.parse(text)
        for cpu in {name.split(".")[0] for name in values}:
            assert sum(values[f"{cpu}.{column}_ratio"] or 0 for column in MPSTAT_COLUMNS) == pytest.approx(
                1, abs=0.01
            )


def test_a_record_is_complete_within_milliseconds_of_its_interval() -> None:
    ends = []
    text, seen = "", 0
    for stamp, chunk in json.loads((CAPTURES / "12.6.1-arrival" / "chunks.json").read_text()):
        text += chunk
        *lines, _unfinished = text.split("\n")
        ends += [stamp for line in lines[seen:] if SENSOR.ends_record(line)]
        seen = len(lines)
    assert len(ends) == 5
    for before, after in pairwise(ends):
        assert after - before == pytest.approx(1.0, abs=0.005)


def test_the_closing_brace_of_a_record_waits_for_the_next_and_so_cannot_end_it() -> None:
    chunks = json.loads((CAPTURES / "12.6.1-arrival" / "chunks.json").read_text())
    first_table = next(chunk for _, chunk in chunks if "]" in chunk)
    assert first_table.endswith("]\n\t\t\t\t}")


def test_the_end_of_the_document_ends_no_record() -> None:
    assert not SENSOR.ends_record("\t\t\t]")
    assert SENSOR.ends_record("\t\t\t\t\t]\r\n")


def test_an_offline_cpu_is_missing_and_never_fully_busy() -> None:
    text = record(row(0, idle=98.0, usr=2.0), row(1))
    values = SENSOR.parse(text)
    assert values["cpu0.idle_ratio"] == pytest.approx(0.98)
    assert values["cpu1.idle_ratio"] is None
    assert values["cpu1.usr_ratio"] is None
    assert SENSOR.reasons(text) == {"cpu1": "cpu 1 went offline or came back: its shares sum to 0.00 %"}


def test_a_cpu_whose_counters_jumped_is_missing() -> None:
    assert SENSOR.parse(record(row(3, usr=50.0, idle=0.0)))["cpu3.usr_ratio"] is None


def test_an_idle_tickless_cpu_is_idle() -> None:
    assert SENSOR.parse(records("12.6.1-tickless-cpu")[0])["cpu1.idle_ratio"] == 1.0


@given(st.text())
def test_no_text_gives_anything_but_readings_or_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(text)
    with pytest.raises(ParseError):
        SENSOR.parse(f'"cpu-load": [{{{text}}}]')


def test_two_tables_in_one_record_are_refused() -> None:
    with pytest.raises(ParseError, match="this one 2"):
        SENSOR.parse(record(row(0, idle=100.0)) + record(row(0, idle=100.0)))


def test_a_channel_is_a_mean_share_of_one_cpu() -> None:
    channel = SENSOR.channel("cpu12.soft_ratio")
    assert (channel.unit, channel.kind, channel.scope) == ("ratio", "mean", "cpu:12")
    assert channel.provenance == "measured"
    for wrong in ("cpu1.power_ratio", "cpu1.usr", "all.usr_ratio"):
        with pytest.raises(ParseError, match="no channel"):
            SENSOR.channel(wrong)


def test_the_command_streams_every_cpu_in_whole_seconds() -> None:
    assert " ".join(SENSOR.command(MpstatConfig(interval_s=2), HOST)) == "mpstat -P ALL -o JSON 2"
    with pytest.raises(ValidationError):
        MpstatConfig(interval_s=0.5)
    with pytest.raises(ValidationError):
        MpstatConfig(interval_s=1.5)


@pytest.mark.parametrize(
    ("stamp", "arrival_s", "record_s"),
    [
        ("00:00:10", 10.3, 10.0),
        ("23:59:59", 86_400.2, 86_399.0),
        ("00:00:00", 86_399.9, 86_400.0),
        ("12:00:00", 1_795_262_400.0, 1_795_262_400.0),
    ],
)
def test_the_stamp_is_the_one_closest_to_the_arrival(stamp: str, arrival_s: float, record_s: float) -> None:
    assert mpstat_time_s(f'"timestamp": "{stamp}",', arrival_s) == record_s


def test_a_record_without_a_stamp_has_no_time() -> None:
    assert mpstat_time_s("", 1.0) is None


def test_every_stamp_of_a_stream_lies_within_a_second_before_its_arrival() -> None:
    chunks = json.loads((CAPTURES / "12.6.1-arrival" / "chunks.json").read_text())
    arrivals = [stamp for stamp, chunk in chunks if "]\n" in chunk][:5]
    for text, arrival_s in zip(records("12.6.1-arrival"), arrivals, strict=True):
        stamp_s = mpstat_time_s(text, arrival_s)
        assert stamp_s is not None
        assert 0 <= arrival_s - stamp_s < 1.01


@pytest.mark.measures
@pytest.mark.skipif(shutil.which("mpstat") is None, reason="mpstat (sysstat) is not installed")
def test_the_real_mpstat_delivers_a_record_in_its_second() -> None:
    command = SENSOR.command(MpstatConfig(), HOST)
    environment = {**os.environ, **SENSOR.environment()}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        started_s, lines = time.monotonic(), []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if SENSOR.ends_record(line):
                break
        waited_s = time.monotonic() - started_s
        process.send_signal(signal.SIGINT)
    values = SENSOR.parse("\n".join(lines))
    assert waited_s == pytest.approx(1.0, abs=0.5)
    assert any(name.startswith("cpu0.") for name in values)
