# SPDX-License-Identifier: Apache-2.0
"""What is stored of a trial is enough to make its numbers again, to the byte."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.amounts import inputs
from tests.report_factories import dataclass_fields
from tests.unit.program.test_wiring import HEALTHY, LIES
from tests.wiring import Given, told

from linewatt.engine.live.feed import Feed
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.measure import measure
from linewatt.engine.measuring.plain_json import decoded, encoded
from linewatt.errors import ParseError
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Trial
from linewatt.sensors.registry import SENSORS


def as_bytes(trial: Trial) -> bytes:
    return json.dumps(trial, default=dataclass_fields, allow_nan=False).encode()


STORIES = {**HEALTHY, **LIES}
MEASURED_AGAIN = sorted(STORIES, key=lambda name: zlib.crc32(name.encode()))[: inputs(len(STORIES))]


@pytest.mark.parametrize("name", STORIES)
def test_a_trial_made_again_from_what_is_kept_of_it_is_the_same_to_the_byte(name: str) -> None:
    """The same input to the measurement, of the same types, in each case; what is measured, in some."""
    given = told(STORIES[name])
    first = measure(given.run, given.readings, given.setup, Iperf3(), 0.05)
    again = run_record.read(first.raw[run_record.NAME], first.raw, given.setup.hosts, Iperf3())
    assert (again.run, again.setup) == (given.run, given.setup)
    assert (
        run_record.text_of(again.run, given.readings, again.setup, again.overhead_s)
        == (first.raw[run_record.NAME])
    )
    if name in MEASURED_AGAIN:
        second = measure(again.run, given.readings, again.setup, Iperf3(), again.overhead_s)
        assert as_bytes(second.trial) == as_bytes(first.trial)
        assert second.raw == first.raw


def test_records_of_a_sensor_are_the_same_when_they_are_read_again() -> None:
    given: Given = told()
    for reading in given.readings["h2"][:3]:
        feed = Feed("h2", SENSORS[reading.source], None)
        for line in reading.raw().splitlines():
            feed.take_again(json.loads(line))
        assert feed.whole() == reading


def test_a_record_whose_stamp_cannot_be_stays_without_a_number() -> None:
    (reading,) = (one for one in told().readings["h1"] if one.source == "mpstat")
    first = replace(reading.records[0], values={}, problem="mpstat: a stamp of tomorrow", misplaced=True)
    feed = Feed("h1", SENSORS["mpstat"], None)
    feed.take_again(json.loads(replace(reading, records=(first,)).raw()))
    assert feed.whole().problems == ("mpstat: a stamp of tomorrow",)


def test_what_is_no_such_file_is_refused() -> None:
    for text in ("{", "[]", '{"run": {}}', '{"run": 1, "setup": 2}'):
        with pytest.raises(ParseError, match=r"run\.json cannot be read"):
            run_record.read(text, {}, {}, Iperf3())


@dataclass(frozen=True)
class Inner:
    pair: tuple[str, float]
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    whole: int | float
    by_key: Mapping[tuple[str, int], Inner]
    several: tuple[Inner, ...] | None
    cpus: frozenset[int] | None = None
    text_or_pair: str | tuple[int, int] = "x"
    more: Any = None


@pytest.mark.parametrize(
    "value",
    [
        Outer(1, {("a", 1): Inner(("x", 0.1))}, None),
        Outer(1.0, {}, (Inner(("y", 1e-300), "b"),), frozenset({3, 1}), (1, 2), {"free": [1, None]}),
    ],
    ids=["few", "all"],
)
def test_values_come_back_from_json_as_they_were(value: Outer) -> None:
    again = decoded(Outer, json.loads(json.dumps(encoded(value))))
    assert again == value
    assert type(again.whole) is type(value.whole)


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="PosixPath cannot be stored"):
        encoded({"a": Path("/x")})
