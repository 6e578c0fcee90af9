# SPDX-License-Identifier: Apache-2.0
"""The page on knobs says what there is: every knob and every factor, in the words of the code."""

from __future__ import annotations

from pathlib import Path

from linewatt.tuning.factors import FACTORS
from linewatt.tuning.registry import TUNING_KNOBS

PAGE = Path(__file__).parents[3] / "docs" / "knobs.md"


def rows(after: str) -> list[str]:
    """The rows of the first table after a heading."""
    lines = PAGE.read_text().partition(f"\n{after}\n")[2].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| ---")) + 1
    end = next((i for i, line in enumerate(lines[start:], start) if not line.startswith("|")), len(lines))
    return lines[start:end]


def test_the_table_of_knobs_is_what_the_knobs_say_of_themselves() -> None:
    assert rows("## What can be set") == [
        f"| [`{knob.name}`](#{knob.name}) | {knob.about} | {knob.targets} | {knob.values} | `{knob.tool}` |"
        for knob in TUNING_KNOBS.values()
    ]


def test_the_table_of_factors_is_what_the_factors_say_of_themselves() -> None:
    assert rows("## As factors of a campaign") == [
        f"| `{factor.name}` | {factor.about} | {factor.levels} |" for factor in FACTORS.values()
    ]


def test_each_knob_has_a_section_of_its_own() -> None:
    headings = [line[4:] for line in PAGE.read_text().splitlines() if line.startswith("### ")]
    assert headings == list(TUNING_KNOBS)
