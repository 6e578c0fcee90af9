# SPDX-License-Identifier: Apache-2.0
"""A start names the hosts whose CPUs were chosen, in a line, and what else is to be known of places."""

from __future__ import annotations

import pytest

from linewatt.engine.campaign import place_notices
from linewatt.records import ChosenPlace, PlaceLine

CHOSEN = ChosenPlace(processes=1, process_cpus=[2], irq_cpus=[4], rule=2)


def chosen(host: str) -> PlaceLine:
    return PlaceLine(host=host, text="placement rule 2: the cores are few", chosen=CHOSEN)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        (
            [chosen("gen"), chosen("gen"), chosen("dut")],
            ["CPUs are chosen for gen, dut; the report says which and why"],
        ),
        (
            [PlaceLine(host="dut", text="CPU 7 is offline"), chosen("gen")],
            ["CPUs are chosen for gen; the report says which and why", "dut: CPU 7 is offline"],
        ),
        (
            [chosen(f"h{number}") for number in range(96)],
            ["CPUs are chosen for h0, h1, h2, h3 and 92 more; the report says which and why"],
        ),
    ],
)
def test_a_start_has_a_line_for_all_chosen_cpus_and_each_note(
    lines: list[PlaceLine], expected: list[str]
) -> None:
    assert list(place_notices(lines)) == expected
