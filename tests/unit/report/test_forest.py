# SPDX-License-Identifier: Apache-2.0
"""Changes as a chart: an interval that runs out of its panel says how far it goes."""

from __future__ import annotations

from typing import Any

from linewatt.report.charts.forest import panel


def row(level: str, change: float, low: float, high: float) -> dict[str, Any]:
    return {
        "level": level,
        "change": change,
        "low": low,
        "high": high,
        "doubtless": "no",
        "kind": "effect",
    }


def words_at_edges(*rows: dict[str, Any]) -> list[tuple[str, str]]:
    spec = panel(["Throughput"], "%", rows, [each["level"] for each in rows], 300, first=True)
    return [
        (value["level"], value["words"])
        for layer in spec["layer"]
        for value in layer.get("data", {}).get("values", ())
        if "words" in value
    ]


def test_an_interval_within_its_panel_has_no_words() -> None:
    assert words_at_edges(row("on", 3.5, -4.0, 9.0)) == []


def test_an_interval_that_is_cut_says_where_it_ends() -> None:
    near, far = row("on", 3.5, -4.0, 9.0), row("off", -2.0, -81.25, 113.4)
    assert words_at_edges(near, far) == [("off", "◂ from −81.2"), ("off", "to +113 ▸")]


def test_what_is_not_known_is_not_said_to_be_cut() -> None:
    unknown = {"level": "off", "kind": "unknown"}
    assert words_at_edges(row("on", 3.5, -4.0, 9.0), unknown) == []
