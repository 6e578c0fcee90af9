# SPDX-License-Identifier: Apache-2.0
"""``docs/knobs-tested.md``: what tests saw each knob do on real drivers and kernels.

A test makes a :class:`Table` of what it saw and calls :func:`hold` with it: with ``--write-knobs`` its
section of the page is written, otherwise what it saw has to be what the page says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, get_args

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "knobs-tested.md"
COMMAND = "make knobs-tested"

Outcome = Literal["works", "rounds", "refused", "ignored", "not there"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Key = tuple[str, str]
"""knob, and what it was tried on: a row and a column"""

_RAN = re.compile(r"^Run on \d{4}-\d{2}-\d{2} with (.+)\.$", re.MULTILINE)
_SERIES = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Cell:
    """What became of one knob. ``said``: linewatt's own words, where it does not work."""

    outcome: Outcome
    said: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What one test saw. Rows and columns are in the order in which ``cells`` first names them."""

    name: str
    """of its section, which the page has between ``<!-- NAME -->`` and ``<!-- end of NAME -->``"""
    columns: str
    """what a column is, such as ``driver``"""
    date: str
    """when it was run, ISO 8601"""
    versions: Mapping[str, str]
    """of what decides on the outcomes, such as ``{"Linux": "6.1.0-56-amd64", "QEMU": "7.2.22"}``"""
    cells: Mapping[Key, Cell]


def hold(table: Table, *, write: bool, page: Path = PAGE) -> None:
    """Write a table's section, or fail where it differs from what the page says."""
    text = page.read_text()
    if write:
        page.write_text(replaced(text, table))
        return
    ran = series(table.versions)
    if (stated := stated_series(text, table.name)) != ran:
        pytest.skip(f"{page.name} was written with {stated}, this is {ran}; {COMMAND} writes it anew")
    seen = {key: cell.outcome for key, cell in table.cells.items()}
    assert seen == stated_outcomes(text, table.name), f"{COMMAND} writes {page.name} anew"


def series(versions: Mapping[str, str]) -> dict[str, str]:
    """Versions without what only mends: ``7.2.22`` is 7.2."""
    return {name: _SERIES.match(text)[0] for name, text in versions.items()}  # type: ignore[index]


def stated_series(page: str, name: str) -> dict[str, str]:
    """With what a section was written."""
    ran = _RAN.search(_section(page, name))
    assert ran is not None, f"section {name} does not say with what it was run; {COMMAND} writes it"
    items = (item.rpartition(" ") for item in ran[1].split(", "))
    return series({what: version for what, _, version in items})


def stated_outcomes(page: str, name: str) -> dict[Key, Outcome]:
    """What a section says of each knob."""
    rows = [line.strip("|").split("|") for line in _section(page, name).splitlines() if line.startswith("|")]
    table = [[word.strip().strip("`") for word in row] for row in rows]
    end = next((at for at, row in enumerate(table) if at > 1 and row[0] == "knob"), len(table))
    found: dict[Key, Outcome] = {}
    for row in table[2:end]:
        for column, word in zip(table[0][1:], row[1:], strict=True):
            outcome = next(one for one in OUTCOMES if one == word)
            found[row[0], column] = outcome
    return found


def replaced(page: str, table: Table) -> str:
    """The page with a section written anew."""
    before, _, after = _around(page, table.name)
    return before + "\n".join(_lines(table)) + after


def _section(page: str, name: str) -> str:
    return _around(page, name)[1]


def _around(page: str, name: str) -> tuple[str, str, str]:
    """What is before a section, the section, and what is behind it."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    assert page.count(start) == page.count(end) == 1, f"the page has no section {name}"
    before, _, rest = page.partition(start)
    own, _, after = rest.partition(end)
    return before + start, own, end + after


def _lines(table: Table) -> Iterator[str]:
    knobs = list(dict.fromkeys(knob for knob, _ in table.cells))
    columns = list(dict.fromkeys(column for _, column in table.cells))
    versions = ", ".join(f"{name} {text}" for name, text in table.versions.items())
    yield f"Run on {table.date} with {versions}."
    yield ""
    yield from _rows(["knob", *(f"`{column}`" for column in columns)], _body(table, knobs, columns))
    if said := list(_said(table, knobs)):
        yield ""
        yield from _rows(["knob", table.columns, "", "what linewatt says"], said)
    yield ""  # so that the mark of its end has a line of its own


def _rows(head: list[str], body: list[list[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *body):
        yield f"| {' | '.join(row)} |"


def _body(table: Table, knobs: list[str], columns: list[str]) -> list[list[str]]:
    return [[f"`{knob}`", *(table.cells[knob, column].outcome for column in columns)] for knob in knobs]


def _said(table: Table, knobs: list[str]) -> Iterator[list[str]]:
    """What was said of a knob, once for all columns of which the same was said."""
    for knob in knobs:
        own = [(cell, column) for (name, column), cell in table.cells.items() if name == knob and cell.said]
        own.sort(key=lambda one: (OUTCOMES.index(one[0].outcome), one[0].said))
        for cell, same in groupby(own, key=lambda one: one[0]):
            names = ", ".join(f"`{column}`" for _, column in same)
            yield [f"`{knob}`", names, cell.outcome, cell.said.replace("|", "\\|")]
