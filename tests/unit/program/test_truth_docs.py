# SPDX-License-Identifier: Apache-2.0
"""The planted truths and their document name what linewatt knows, and the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from tests.truth.plants import HEADROOM, PLANTS

from linewatt.analysis.limits import candidate
from linewatt.findings.all_kinds import catalogue

DOCS = Path(__file__).parents[3] / "docs"
OF_A_LAB_OF_ITS_OWN = "a ceiling that two ports share"
"""a truth that is no plant in the lab of two hosts: tests/truth/test_ports.py"""
WITHOUT_LAB = "## Planted without a lab"
LIES = "## Lies and their tests"
TESTS = Path(__file__).parents[2]


def test_every_plant_has_a_row_with_what_must_come_first() -> None:
    text, _, _ = (DOCS / "truth.md").read_text().partition(WITHOUT_LAB)
    every = [line.split("|") for line in text.splitlines() if line.startswith("| ")][2:]
    (of_ports,) = (row for row in every if row[1].strip() == OF_A_LAB_OF_ITS_OWN)
    assert {"`device-or-path`", "`shaper`"} <= {*of_ports[3].split()}
    rows = [row for row in every if row is not of_ports]
    assert len(rows) == len(PLANTS) + 1, "the last one is of the cases with headroom"
    for plant, row in zip(PLANTS, rows[:-1], strict=True):
        told = plant.findings or plant.limits
        assert any(f"`{one}`" in row[3] for one in told), f"{plant.name}: {row[3]}"


def test_plants_expect_kinds_and_findings_that_there_are() -> None:
    kinds = set(get_args(candidate.Kind))
    for plant in PLANTS:
        assert plant.limits or plant.findings, plant.name
        assert plant.limits <= kinds, plant.name
        assert plant.findings <= set(catalogue()), plant.name


def test_there_are_five_cases_with_headroom() -> None:
    tests = HEADROOM["tests"]
    assert isinstance(tests, list)
    assert sum(len(one.get("instances", [1])) for one in tests) == 5


def test_each_lie_has_a_test_that_there_is() -> None:
    _, _, text = (DOCS / "truth.md").read_text().partition(LIES)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 60
    for _, lie, cell in rows:
        file, name, key = re.fullmatch(r"`(test_\w+\.py)(?:::(\w+)|\[(.+)\])`", cell).groups()  # type: ignore[union-attr]
        (path,) = [*TESTS.glob(f"unit/**/{file}"), *TESTS.glob(f"truth/{file}")]
        marker = f"def {name}(" if name else f'"{key}": '
        assert marker in path.read_text(), f"{lie}: {cell}"


def test_the_labs_document_leads_to_the_truths() -> None:
    assert "(truth.md)" in (DOCS / "lab.md").read_text()
