# SPDX-License-Identifier: Apache-2.0
"""The chart of where the watts go: parts end to end, and what was not measured never looks measured."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from linewatt.analysis.power.components import Breakdown, MeasuredParts, breakdown
from linewatt.analysis.power.totals import Total
from linewatt.missing import Missing
from linewatt.model import Provenance
from linewatt.records import Component
from linewatt.report.charts.figure import render_svg
from linewatt.report.trials.charts.components import component_rows, component_spec, component_words

SVG = "{http://www.w3.org/2000/svg}"
DECLARED = (
    Component("DDR5 module", 4, "datasheet", count=12, kind="memory"),
    Component("Network card", 20, "datasheet", kind="nic"),
    Component("Idle SSD", 2, "datasheet", kind="storage"),
)


def total(scope: str, power_w: float, provenance: Provenance = "measured") -> Total:
    return Total(power_w, None, None, scope, provenance, "bmc", (scope,))


def published(system_w: float = 249, provenance: Provenance = "measured") -> Breakdown:
    measured = MeasuredParts({"cpu": total("cpu", 136, provenance), "fan": total("fan", 32, provenance)}, ())
    return breakdown("dut", total("psu-out", system_w, provenance), measured, DECLARED)


def spec_of(found: Breakdown) -> dict[str, Any]:
    spec = component_spec(found)
    assert spec is not None
    return spec


def test_each_part_begins_where_the_one_before_ends_and_the_last_ends_at_the_system() -> None:
    *parts, system = component_rows(published())
    assert [part["low"] for part in parts] == [0, 136, 168, 216, 236, 238]
    assert [part["high"] for part in parts] == [136, 168, 216, 236, 238, 249]
    assert (system["part"], system["low"], system["high"]) == ("System", 0, 249)


def test_every_bar_says_its_watts_and_where_they_are_from() -> None:
    assert component_words(published()) == (
        "CPU 136 W, measured; Fans 32 W, measured; 12 × DDR5 module 48 W, from datasheet; "
        "Network card 20 W, from datasheet; Idle SSD 2 W, from datasheet; Rest 11 W, what is left; "
        "System 249 W, PSU DC out, measured"
    )


def test_words_stand_in_the_drawing_behind_each_bar() -> None:
    drawn = ET.fromstring(render_svg(spec_of(published())))  # noqa: S314 - our own
    texts = {element.text for element in drawn.iter(f"{SVG}text")}
    assert {row["text"] for row in component_rows(published())} <= texts
    assert {"CPU", "12 × DDR5 module", "Rest", "System"} <= texts


def test_measured_datasheet_estimate_and_simulated_look_different_without_colour() -> None:
    looks = {}
    provenances: tuple[Provenance, ...] = ("measured", "simulated")
    for provenance in provenances:
        found = published(provenance=provenance)
        encoding = spec_of(found)["layer"][0]["encoding"]
        names = encoding["fillOpacity"]["scale"]["domain"]
        for at, name in enumerate(names):
            opacity = encoding["fillOpacity"]["scale"]["range"][at]
            dashes = encoding["strokeDash"]["scale"]["range"][at]
            looks[name] = (opacity, tuple(dashes))
    assert set(looks) == {"measured", "from datasheet", "estimated", "simulated"}
    assert len(set(looks.values())) == 4
    assert looks["measured"][0] > 2 * max(looks[name][0] for name in looks if name != "measured")


def test_the_drawing_has_the_outlines_of_the_specification() -> None:
    drawn = ET.fromstring(render_svg(spec_of(published())))  # noqa: S314 - our own
    dashes = [path.get("stroke-dasharray") for path in drawn.iter(f"{SVG}path") if path.get("fill-opacity")]
    assert dashes == ["1,0"] * 5 + ["4,3", "1,0"]


def test_simulated_watts_and_their_rest_say_so() -> None:
    rows = {row["part"]: row for row in component_rows(published(provenance="simulated"))}
    assert rows["CPU"]["text"] == "136 W, simulated"
    assert rows["Rest"]["text"] == "11 W, what is left, simulated"
    assert rows["System"]["text"] == "249 W, PSU DC out, simulated"
    assert {rows[name]["provenance"] for name in ("CPU", "Rest", "System")} == {"simulated"}


def test_a_negative_rest_is_said_and_draws_no_bar() -> None:
    rows = {row["part"]: row for row in component_rows(published(system_w=200))}
    assert rows["Rest"]["text"] == "−38 W: the parts exceed the system"
    assert rows["Rest"]["low"] == rows["Rest"]["high"] == 238
    spec = spec_of(published(system_w=200))
    assert spec["encoding"]["x"]["scale"]["domain"][1] > 238
    assert render_svg(spec)


def test_without_the_system_there_is_neither_rest_nor_system() -> None:
    found = breakdown("dut", Missing("no source of system power is named"), MeasuredParts({}, ()), DECLARED)
    assert [row["part"] for row in component_rows(found)] == ["12 × DDR5 module", "Network card", "Idle SSD"]


def test_nothing_to_draw_is_no_chart() -> None:
    assert component_spec(breakdown("dut", Missing("unknown"), MeasuredParts({}, ()), ())) is None


def test_parts_of_one_name_are_two_bars() -> None:
    declared = [Component("CPU", 5, "estimate"), Component("CPU", 6, "estimate")]
    found = breakdown("dut", total("psu-out", 20), MeasuredParts({}, ()), declared)
    spec = spec_of(found)
    assert spec["encoding"]["y"]["sort"] == ["CPU", "CPU (2)", "Rest", "System"]


def test_a_hostile_name_is_text() -> None:
    declared = [Component("<script>alert(1)</script>", 5, "estimate")]
    svg = render_svg(spec_of(breakdown("dut", total("psu-out", 20), MeasuredParts({}, ()), declared)))
    assert "<script" not in svg
