# SPDX-License-Identifier: Apache-2.0
"""Where the watts go, in the report: measured parts, declared ones, and what is left of the system."""

from __future__ import annotations

import re

import pytest
from tests.report_factories import PUBLISHED_POWER_W, demo_trials, powered, result

from linewatt.features.advice.psu_report import power_notes
from linewatt.report.printing.html import render_html
from linewatt.report.trials.charts.components import component_figures, end_breakdowns
from linewatt.report.trials.digest import digest_of

DECLARED = {
    "components": {"h2": [{"name": "DDR5 module", "power_w": 4, "provenance": "datasheet", "count": 12}]}
}


def test_declared_parts_stand_beside_measured_ones_and_the_rest_is_what_is_left() -> None:
    view = digest_of(result(powered(demo_trials(1)), campaign=DECLARED))
    (receiver, *_) = [one for one in end_breakdowns(view) if one.role == "receiver"]
    parts = {part.name: (part.power_w, part.provenance) for part in receiver.breakdown.parts}
    assert parts["12 × DDR5 module"] == (48, "datasheet")
    system_w, cpu_w = PUBLISHED_POWER_W[receiver.case.instances]
    assert parts["CPU"][0] == pytest.approx(cpu_w)
    assert receiver.breakdown.rest is not None
    assert receiver.breakdown.rest.power_w == pytest.approx(system_w - cpu_w - 48)


def test_the_report_has_the_figure_with_its_words() -> None:
    view = digest_of(result(powered(demo_trials(1)), campaign=DECLARED))
    (figure, *_) = component_figures(view)
    assert "from datasheet" in figure.description
    assert figure.title in render_html(view)


def test_without_power_and_components_there_is_none() -> None:
    assert end_breakdowns(digest_of(result(demo_trials(1)))) == ()


def test_declared_supplies_are_judged_by_the_power_that_was_read() -> None:
    psus = {"psus": {"h2": {"count": 2, "rating_w": 800.0, "level": "platinum", "mode": "shared"}}}
    view = digest_of(result(powered(demo_trials(1)), campaign=psus))
    (supplies,) = power_notes(view)
    told = [note.text for note in supplies.notes]
    assert told[0] == "h2:"
    assert "two 800 W units need 320 W to reach 20 %" in " ".join(told)
    assert re.search(r">Power supplies</h3>.*?>h2:\n", render_html(view), re.DOTALL)
    (supplies,) = power_notes(digest_of(result(powered(demo_trials(1)))))
    assert not supplies.notes
