# SPDX-License-Identifier: Apache-2.0
"""estimate: CPU use from /proc/stat (tests/captures/estimate) through a stated model, never as measured."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.stream_helpers import (
    cost_to_read,
    needs_bash,
    next_other,
    records,
    replace,
    status_when_told,
    streaming,
)

from linewatt.engine.live.feed import Feed
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec, Line
from linewatt.sensors.power.estimate import Estimate, EstimateConfig, command

CAPTURES = Path(__file__).parents[2] / "captures" / "estimate"
CASES = sorted(path.name for path in CAPTURES.iterdir())
TWO: dict[str, Any] = {"idle_w": 60.0, "max_w": 180.0}


def estimate(**settings: Any) -> Any:
    return Estimate(EstimateConfig(**(settings or TWO)))


def record(busy: object, total: object) -> str:
    return f"linewatt-estimate 1 100|{busy} {total}|end 105"


@needs_bash
@pytest.mark.parametrize("case", CASES)
def test_what_the_cpus_counted_between_two_readings_is_what_counts(case: str, tmp_path: Path) -> None:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    shutil.copytree(CAPTURES / case / "before", tmp_path, dirs_exist_ok=True)
    sensor = Estimate(EstimateConfig.model_validate_json(json.dumps(expected["settings"])))
    with streaming(command(tuple(expected["cpus"]), 0.1, str(tmp_path))) as lines:
        still = next(lines)
        replace(tmp_path / "proc/stat", (CAPTURES / case / "after/proc/stat").read_text())
        following = next_other(lines, still, sensor.reasons)
    assert expected["origin"]
    assert sensor.parse(still) == {expected["channel"]: None}
    assert "no CPU time" in sensor.reasons(still)[expected["channel"]]
    if expected["busy"] is None:
        assert sensor.parse(following) == {expected["channel"]: None}
        assert "came or went" in sensor.reasons(following)[expected["channel"]]
    else:
        wanted_w = sensor.cfg.power_w(expected["busy"] / expected["total"])
        assert sensor.parse(following) == {expected["channel"]: pytest.approx(wanted_w)}
        assert sensor.reasons(following) == {}


@needs_bash
def test_cpus_that_are_not_there_are_none_with_their_reason(tmp_path: Path) -> None:
    shutil.copytree(CAPTURES / "6.18-2-cpus" / "before", tmp_path, dirs_exist_ok=True)
    (line,) = records(command((7,), 0.1, str(tmp_path)), 1)
    assert estimate().parse(line) == {"system": None}
    assert "are they online?" in estimate().reasons(line)["system"]


@needs_bash
def test_a_busy_cpu_of_this_host_shows() -> None:
    values = [estimate().parse(line)["system"] for line in records(command((), 0.2), 3)]
    assert all(value is not None and 60 <= value <= 180 for value in values)


@needs_bash
def test_the_first_record_is_there_after_a_second_however_long_the_interval() -> None:
    (line,) = records(command((), 60), 1)
    assert estimate().parse(line)["system"] is not None


@needs_bash
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_and_leaves_no_child(sent: signal.Signals) -> None:
    argv = command((), 60)
    assert status_when_told(argv, sent) != 0


@needs_bash
def test_a_record_of_64_chosen_cpus_costs_little_more_than_to_read_the_file(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    rows = [f"cpu{cpu} 586131 14683 382645 2122424 13204 0 187881 3543 0 0" for cpu in range(64)]
    (tmp_path / "proc/stat").write_text("\n".join(["cpu  1 1 1 1 1 1 1 1 0 0", *rows, "intr 1"]) + "\n")
    argv = command(tuple(range(64)), 0.02, str(tmp_path))
    assert cost_to_read(argv, 0.02, [tmp_path / "proc/stat"]) < 12


def test_two_watts_are_a_line_and_an_exponent_bends_it() -> None:
    assert estimate().parse(record(0, 200)) == {"system": 60}
    assert estimate().parse(record(200, 200)) == {"system": 180}
    assert estimate().parse(record(50, 200)) == {"system": 90}
    assert estimate(**TWO, exponent=0.5).parse(record(50, 200)) == {"system": 120}


def test_points_are_joined_by_straight_lines() -> None:
    sensor = estimate(points=[[0, 50], [10, 90], [100, 180]], scope="cpu")
    assert [sensor.parse(record(busy, 100))["cpu"] for busy in (0, 5, 10, 55, 100)] == [50, 70, 90, 135, 180]


@given(st.integers(0, 1000), st.integers(0, 1000), st.floats(0.05, 10))
def test_more_use_is_never_less_power(one: int, other: int, exponent: float) -> None:
    sensor = estimate(**TWO, exponent=exponent)
    low, high = (sensor.parse(record(busy, 1000))["system"] for busy in sorted((one, other)))
    assert low is not None
    assert high is not None
    assert 60 <= low <= high <= 180


@pytest.mark.parametrize(("busy", "total"), [(5, 3), (-1, 100), (1, -100), (0, 0)])
def test_what_cannot_be_counted_is_none_with_its_reason(busy: int, total: int) -> None:
    assert estimate().parse(record(busy, total)) == {"system": None}
    assert list(estimate().reasons(record(busy, total))) == ["system"]


@pytest.mark.parametrize("scope", ["system", "cpu"])
def test_an_estimate_is_marked_so_and_says_its_model(scope: str) -> None:
    channel = estimate(**TWO, scope=scope).channel(scope)
    assert (channel.provenance, channel.kind, channel.unit) == ("estimate", "mean", "W")
    assert channel.scope == f"{scope}:all"
    assert channel.method == "model of CPU use: idle 60 W, max 180 W, exponent 1"
    points = estimate(points=[[0, 50], [100, 180]]).channel("system")
    assert points.method == "model of CPU use: 50 W at 0 %, 180 W at 100 %"
    assert estimate(**TWO, simulated=True).channel("system").provenance == "simulated"
    with pytest.raises(ParseError, match="no channel"):
        estimate().channel("wall")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "needs idle_w and max_w, or points"),
        ({"idle_w": 60.0}, "needs idle_w and max_w"),
        ({"idle_w": 200.0, "max_w": 180.0}, "must not be more than max_w"),
        ({"idle_w": -1.0, "max_w": 180.0}, "idle_w"),
        ({**TWO, "exponent": 0.0}, "exponent"),
        ({**TWO, "points": [[0, 1], [100, 2]]}, "stand alone"),
        ({"points": [[0, 1], [100, 2]], "exponent": 1.0}, "stand alone"),
        ({"points": []}, "two or more pairs"),
        ({"points": [[0, 1]]}, "two or more pairs"),
        ({"points": [[0, 1], [100]]}, "two or more pairs"),
        ({"points": [[10, 1], [100, 2]]}, "begin at 0 and end at 100"),
        ({"points": [[0, 1], [90, 2]]}, "begin at 0 and end at 100"),
        ({"points": [[0, 1], [50, 3], [100, 2]]}, "not fall in watts"),
        ({"points": [[0, 1], [50, 2], [50, 3], [100, 4]]}, "rise in percent"),
        ({"points": [[0, -5], [100, 2]]}, "not fall in watts"),
        ({**TWO, "scope": "wall"}, "scope"),
    ],
)
def test_a_model_that_cannot_be_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        EstimateConfig(**settings)


def test_the_hosts_cpus_and_the_interval_are_arguments_of_a_constant_script() -> None:
    cfg = EstimateConfig(**TWO, interval_s=0.5)
    host = HostSpec("dut", "local", "eth0", cpus=(2, 3))
    argv = estimate().command(cfg, host)
    assert argv[:2] == ["bash", "-c"]
    assert argv[4:] == ["", "500000", "2", "3"]
    assert argv[2] == estimate().command(cfg, HostSpec("dut", "local", "eth0"))[2]


RECORD = record(12, 200)


@given(st.integers(1, len(RECORD)))
def test_a_cut_record_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        estimate().parse(RECORD[: len(RECORD) - max(cut, 3)])


@given(st.integers(0, len(RECORD) - 1), st.characters())
def test_a_damaged_record_gives_watts_or_a_parse_error_and_nothing_else(at: int, wrong: str) -> None:
    damaged = RECORD[:at] + wrong + RECORD[at + 1 :]
    try:
        value = estimate().parse(damaged)["system"]
    except ParseError:
        return
    assert (value is None) == ("system" in estimate().reasons(damaged))


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    for read in (estimate().parse, estimate().reasons):
        with pytest.raises(ParseError):
            read(text)


def test_a_damaged_record_becomes_a_problem_and_no_number() -> None:
    feed = Feed("dut", estimate(), EstimateConfig(**TWO))
    feed.take(Line(1.0, RECORD.replace("|end", "|")))
    (problem,) = feed.reading(0, 2).problems
    assert "is not a whole record" in problem
    assert list(feed.reading(0, 2).samples()) == []


def test_the_examples_of_the_docs_are_good_settings() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sensors.md").read_text()
    section = page.partition("\n## estimate\n")[2].partition("\n## ")[0]
    example = section.partition("```yaml\n")[2].partition("```")[0]
    sources = ruamel.yaml.YAML(typ="safe").load(example)["power"]
    assert sources
    for settings in sources.values():
        assert settings.pop("driver") == "estimate"
        EstimateConfig.model_validate_json(json.dumps(settings))
