# SPDX-License-Identifier: Apache-2.0
"""command: what programs print (tests/captures/command), and what is never taken for a number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from linewatt.engine.live.feed import Feed
from linewatt.errors import InvalidInput, ParseError
from linewatt.hosts.base import HostSpec, Line
from linewatt.sensors.power.command import Command, CommandConfig

CAPTURES = Path(__file__).parents[2] / "captures" / "command"
HOST = HostSpec("dut", "local", "eth0")
SETTINGS: dict[str, Any] = {
    "argv": ["meter", "--json"],
    "provenance": "measured",
    "channels": {
        "wall": {"scope": "wall", "unit": "W", "step": 0.1, "tolerance_percent": 1.5},
        "energy": {"scope": "psu-in:PSU1", "unit": "J"},
        "fan": {"scope": "fan:1", "unit": "rpm"},
    },
}


def command(**settings: Any) -> Any:
    return Command(CommandConfig(**{**SETTINGS, **settings}))


def test_a_real_program_is_started_as_it_is_named_and_its_lines_are_readings() -> None:
    program = (
        "import json, os\n"
        'print(json.dumps({"channel": "wall", "value": float(os.environ["LINEWATT_INTERVAL_S"])}))'
    )
    sensor = command(argv=[sys.executable, "-c", program], interval_s=0.25)
    feed = Feed("dut", sensor, sensor.cfg)
    done = subprocess.run(
        sensor.command(sensor.cfg, HOST),
        env=sensor.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    for line in done.stdout.splitlines():
        feed.take(Line(5.0, line))
    assert feed.reading(0, 9).values("wall") == [(5.0, 0.25)]


def test_channels_are_what_the_settings_say() -> None:
    wall, energy, fan = (command().channel(name) for name in ("wall", "energy", "fan"))
    assert (wall.unit, wall.kind, wall.scope, wall.provenance) == ("W", "gauge", "wall", "measured")
    assert (wall.step, wall.tolerance_ratio, wall.method) == (0.1, 0.015, "program meter")
    assert (energy.unit, energy.kind, energy.scope) == ("J", "counter", "psu-in:PSU1")
    assert (fan.unit, fan.kind, fan.tolerance_ratio) == ("rpm", "gauge", None)
    assert command(tolerance_percent=5).channel("fan").tolerance_ratio == 0.05
    assert command(tolerance_percent=5).channel("wall").tolerance_ratio == 0.015


def test_what_is_no_measurement_never_looks_like_one() -> None:
    assert command(provenance="estimate").channel("wall").provenance == "estimate"
    assert command(provenance="simulated").channel("wall").provenance == "simulated"
    assert command(simulated=True).channel("wall").provenance == "simulated"
    with pytest.raises(ValidationError):
        CommandConfig(**{key: value for key, value in SETTINGS.items() if key != "provenance"})


def test_it_runs_as_root_only_if_asked_to() -> None:
    assert not command().needs_root
    assert command(root=True).needs_root


@pytest.mark.parametrize(
    "settings",
    [
        {"argv": []},
        {"argv": ["A=B", "meter"]},
        {"argv": ["-x"]},
        {"argv": ["meter", "a\x00b"]},
        {"argv": ["meter", "\x1b[31mred"]},
        {"argv": [""]},
        {"argv": "meter --json"},
        {"channels": {}},
        {"channels": {"wall": {"scope": "wall", "unit": "mW"}}},
        {"channels": {"wall": {"scope": "wall", "unit": "kWh"}}},
        {"channels": {"wall": {"scope": "table", "unit": "W"}}},
        {"channels": {"wall": {"unit": "W"}}},
        {"channels": {"wall": {"scope": "wall"}}},
        {"channels": {"a.b": {"scope": "wall", "unit": "W"}}},
        {"channels": {"wall": {"scope": "wall", "unit": "W", "step": 0}}},
        {"provenance": "datasheet"},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CommandConfig(**{**SETTINGS, **settings})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"channel": "wall", "value": Infinity}', "holds Infinity, which is not a number"),
        ('{"channel": "wall", "value": 1e999}', "'1e999' is too large"),
        ('{"channel": "wall", "value": true}', "not a finite number"),
        ('{"channel": "wall", "value": [1]}', "not a finite number"),
        ('{"channel": "wall"}', "neither channel and value, nor values"),
        ('{"value": 3}', "neither channel and value, nor values"),
        ('{"values": {}}', "neither channel and value, nor values"),
        ('{"values": [3]}', "neither channel and value, nor values"),
        ('{"values": {"wall": 1}, "value": 3}', "neither channel and value, nor values"),
        ('{"channel": 7, "value": 3}', "channel '7' is not a name"),
        ('{"channel": ["wall"], "value": 3}', "is not a name"),
        ('{"channel": "wall", "value": 3, "time": "now"}', "time is now"),
        ('{"channel": "wall", "value": 3, "unit": "mW"}', "key 'unit' is not known"),
        ("214.5", "is not a JSON object"),
        ("[" * 100_000, "nests values too deeply"),
        ("1" * 5000, "a number of 5000 digits"),
        ('{"channel": "wall", "value": ' + "9" * 400 + "}", "a number of 400 digits"),
    ],
)
def test_what_is_no_reading_is_a_parse_error_that_says_why(line: str, why: str) -> None:
    for read in (command().parse, command().reasons):
        with pytest.raises(ParseError, match=why.replace("[", r"\[")):
            read(line)


@pytest.mark.parametrize("line", ['{"channel": "roof", "value": 3}', '{"values": {"wall": 1, "roof": 3}}'])
def test_a_channel_that_was_not_declared_is_refused_with_those_that_are(line: str) -> None:
    said = "channel 'roof' was not declared; declared are wall, energy, fan"
    for read in (command().parse, command().reasons):
        with pytest.raises(InvalidInput, match=said):
            read(line)


def test_two_channels_of_the_same_watts_are_refused() -> None:
    """Two outlets that both say `wall` would be one of them, or the same meter twice."""
    twice = {"a": {"scope": "wall", "unit": "W"}, "b": {"scope": "wall", "unit": "W"}}
    with pytest.raises(ValidationError, match=r"a and b are both wall in W.*such as wall:a and wall:b"):
        command(channels=twice)
    fans = {name: {"scope": "fan", "unit": "rpm"} for name in ("a", "b")}
    assert command(channels={**fans, "w": twice["a"], "j": {**twice["a"], "unit": "J"}})


def test_power_and_energy_of_one_meter_are_the_same_watts() -> None:
    """Else their sum would be the host's power: twice what it draws."""
    both = {"wall": {"scope": "wall", "unit": "W"}, "energy": {"scope": "wall", "unit": "J"}}
    sensor = command(channels=both)
    assert sensor.channel("wall").scope == sensor.channel("energy").scope


def test_a_missing_value_has_its_reason_and_the_others_stay() -> None:
    line = '{"values": {"wall": null, "energy": 5}, "reason": "overload"}'
    assert command().parse(line) == {"wall": None, "energy": 5}
    assert command().reasons(line) == {"wall": "overload"}
    assert command().reasons('{"channel": "wall", "value": null}') == {"wall": "the program gives no value"}


LINE = '{"time": 1767225600.25, "values": {"wall": 214.5, "energy": 9.0e4}, "reason": "x"}'


@given(st.integers(1, len(LINE) - 1))
def test_a_cut_line_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        command().parse(LINE[:cut])


@given(st.integers(0, len(LINE) - 1), st.characters())
def test_a_damaged_line_gives_declared_readings_or_a_parse_error(at: int, wrong: str) -> None:
    damaged = LINE[:at] + wrong + LINE[at + 1 :]
    try:
        values = command().parse(damaged)
    except (ParseError, InvalidInput):
        return
    assert values.keys() <= SETTINGS["channels"].keys()
    command().reasons(damaged)
    command().time_s(damaged)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["time", "channel", "value", "values", "reason", "unit"]),
        json_values | st.sampled_from(["wall", {"wall": 1}]),
    )
)
def test_no_json_gives_anything_but_finite_readings_or_a_parse_error(found: dict[str, Any]) -> None:
    try:
        values = command().parse(json.dumps(found))
    except (ParseError, InvalidInput):
        return
    assert all(value is None or abs(value) < float("inf") for value in values.values())


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        command().parse(text)


def test_empty_lines_are_no_records_and_a_problem_never_becomes_a_number() -> None:
    sensor = command()
    feed = Feed("dut", sensor, sensor.cfg)
    for second, line in enumerate(["", "  ", '{"channel": "wall", "value": 3}', "oops"]):
        feed.take(Line(float(second), line))
    reading = feed.reading(0, 9)
    assert reading.values("wall") == [(2.0, 3.0)]
    assert len(reading.problems) == 1


def test_the_examples_of_the_docs_are_good_settings() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sensors.md").read_text()
    section = page.partition("\n## command\n")[2].partition("\n## ")[0]
    example = section.partition("```yaml\n")[2].partition("```")[0]
    sources = ruamel.yaml.YAML(typ="safe").load(example)["power"]
    assert sources
    for settings in sources.values():
        assert settings.pop("driver") == "command"
        CommandConfig.model_validate_json(json.dumps(settings))
