# SPDX-License-Identifier: Apache-2.0
"""``linewatt analyze``: the published series is read as its study reads it, from the table alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.inline import invoke
from tests.report_factories import result, scaling_trials, stored

from linewatt.errors import InvalidInput

PUBLISHED = Path(__file__).resolve().parents[4] / "docs" / "published" / "x64_scaling.csv"
Add = Callable[[dict[str, str]], dict[str, str]]


def table(tmp_path: Path, add: Add) -> Path:
    """The published table with more columns."""
    rows = [row | add(row) for row in csv.DictReader(io.StringIO(PUBLISHED.read_text()))]
    path = tmp_path / "series.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def lines(row: dict[str, str]) -> dict[str, str]:
    """One port of 100 Gbps up to 8 instances, both at 16."""
    return {"line_rate_gbps": "200" if row["instances"] == "16" else "100"}


def analyzed(*args: str) -> dict[str, Any]:
    done = invoke(["analyze", *args, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def by_kind(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {one["kind"]: one for one in document["findings"]}
    assert len(found) == len(document["findings"]), "each once"
    return found


def test_the_published_series_has_its_regimes_a_hidden_ceiling_and_one_power_outlier(tmp_path: Path) -> None:
    document = analyzed(str(table(tmp_path, lines)))
    assert document["schema_version"] == 1
    regimes = {one["instances"]: one["regime"] for one in document["regimes"]}
    assert regimes == {1: "single", 2: "multi", 4: "multi", 8: "saturated", 16: "saturated"}
    assert all(one["why"] for one in document["regimes"])
    assert 4 < document["knee_instances"] < 8, "4 instances are still below it, 8 are not"
    found = by_kind(document)
    assert found.keys() == {"line-rate", "power-outlier", "hidden-ceiling"}
    line, power, hidden = found["line-rate"], found["power-outlier"], found["hidden-ceiling"]
    assert line["instances"] == 8
    assert "94,237 Mbps of 94,149 Mbps possible" in line["message"]
    assert power["instances"] == 8
    assert power["rank"] == "doubtful"
    assert power["message"].startswith("Power of the receiver: 339.2 W")
    assert hidden["instances"] == 16
    assert hidden["message"] == "Hidden ceiling near 110.8 Gbps: not the line rate, not CPU"
    assert "not the line rate: 58.9 % of 188 Gbps of payload" in hidden["evidence"]
    assert any("0.84 cores" in said and "1.69" in said for said in hidden["evidence"])
    assert any(said.startswith("not known: the CPUs of the sender") for said in hidden["evidence"])


def test_what_each_step_brought_and_cost_is_printed() -> None:
    document = analyzed(str(PUBLISHED))
    assert [(one["from_instances"], one["instances"]) for one in document["steps"]] == [
        (1, 2),
        (2, 4),
        (4, 8),
        (8, 16),
    ]
    last = document["steps"][-1]
    assert last["throughput_ratio"] == pytest.approx(110831.41 / 94237.26 - 1)
    assert last["receiver_cpu_ratio"] == pytest.approx(1344.55 / 942.52 - 1)
    assert last["receiver_power_w"] == pytest.approx(249.00 - 339.24)
    assert (last["sender_cpu_ratio"], last["sender_power_w"]) == (None, None)
    done = invoke(["analyze", str(PUBLISHED)], catch_exceptions=False)
    words = "From 8 to 16 instances: throughput +17.6 %, receiver's CPU +42.7 %, receiver's power −90.2 W"
    assert words in " ".join(done.stdout.split())


def test_without_the_line_rate_nothing_is_said_of_line_or_ceiling() -> None:
    document = analyzed(str(PUBLISHED))
    assert by_kind(document).keys() == {"power-outlier"}
    assert [one["regime"] for one in document["regimes"]][:3] == ["single", "multi", "multi"]
    assert not any("line" in one["why"].split() for one in document["regimes"])


def test_fan_speed_stands_beside_the_outlier(tmp_path: Path) -> None:
    fans = analyzed(
        str(table(tmp_path, lambda row: {"fan_rpm": "16000" if row["instances"] == "8" else "7000"}))
    )
    assert (
        "fan speed (rpm) 16,000, in the others 7,000: it changed too"
        in by_kind(fans)["power-outlier"]["evidence"]
    )


def test_a_full_cpu_of_the_table_is_the_limit_and_an_impossible_rate_is_doubtful(tmp_path: Path) -> None:
    idle = analyzed(str(table(tmp_path, lambda row: {"app_cpu_idle_pct": "40", "irq_cpu_idle_pct": "0.5"})))
    assert {one["instances"] for one in idle["findings"] if one["kind"] == "receiver-irq-cpu"} == {
        1,
        2,
        4,
        8,
        16,
    }
    above = analyzed(str(table(tmp_path, lambda row: {"line_rate_gbps": "100"})))
    (found,) = (one for one in above["findings"] if one["kind"] == "above-line-rate")
    assert (found["instances"], found["rank"]) == (16, "doubtful")


def test_a_table_with_jumbo_frames_has_the_goodput_of_them(tmp_path: Path) -> None:
    jumbo = analyzed(str(table(tmp_path, lambda row: lines(row) | {"mtu": "9000"})))
    assert "94,237 Mbps of 99,00" in by_kind(jumbo)["line-rate"]["message"]


def test_series_that_a_table_tells_apart_are_judged_apart(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    rows = [f"{kernel},{n},{10 * n}" for kernel in ("old", "new") for n in (1, 2)]
    path.write_text("\n".join(["kernel,instances,throughput_gbps", *rows]))
    document = analyzed(str(path))
    assert [(one["series"], one["instances"]) for one in document["regimes"]] == [
        ("tcp, kernel old", 1),
        ("tcp, kernel old", 2),
        ("tcp, kernel new", 1),
        ("tcp, kernel new", 2),
    ]


def test_a_stored_result_is_analyzed_as_a_table_is(tmp_path: Path) -> None:
    stored(tmp_path, result(scaling_trials()))
    document = analyzed("last", "--results", str(tmp_path))
    assert [one["regime"] for one in document["regimes"]] == [
        "single",
        "multi",
        "multi",
        "saturated",
        "saturated",
    ]
    done = invoke(["analyze", "last", "--results", str(tmp_path)], catch_exceptions=False)
    assert "Knee at 4.3 instances" in done.stdout


@pytest.mark.parametrize("wanted", ["nosuch", "nosuch.csv"])
def test_what_is_neither_table_nor_result_is_one_line_and_exit_code_2(tmp_path: Path, wanted: str) -> None:
    done = invoke(["analyze", wanted, "--results", str(tmp_path)])
    assert isinstance(done.exception, InvalidInput)
    assert done.exception.exit_code == 2
    assert wanted in str(done.exception)
    assert "\n" not in str(done.exception)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("instances,watts\n1,2\n", "lacks a throughput"),
        ("throughput_gbps,host\n1,a\n", "lacks instances"),
        ("instances,throughput_gbps\nx,1\n", "no row has both"),
        ("", "the file is empty"),
    ],
)
def test_a_table_that_is_no_series_is_one_line_and_exit_code_2(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = invoke(["analyze", str(path)])
    assert isinstance(done.exception, InvalidInput)
    assert done.exception.exit_code == 2
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)
