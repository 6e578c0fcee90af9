# SPDX-License-Identifier: Apache-2.0
"""A table as a value: made once of what was measured, printed by a terminal and a page alike.

Who makes one decides what stands in it, in which unit and why it is missing; printers decide on looks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.units import MISSING, first_of

Kind = Literal["number", "text", "prose"]
NoteKind = Literal["remark", "doubt", "legend", "absence"]
_MOST_PLACES = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell says: text and SD without unit, ``note`` when fewer trials have it than the case has.

    A missing value has ``text`` ``–`` and says why in ``reason``. A number that was not measured has a
    ``mark`` that says so (:mod:`linewatt.report.provenance`).
    """

    text: str
    sd: str | None = None
    note: str | None = None
    reason: str | None = None
    mark: str | None = None
    doubts: tuple[str, ...] = ()
    """letters of the findings that make it doubtful"""
    ci: str | None = None
    """95 % CI of the mean, in the unit of the text"""
    si: float | None = None
    """the value itself, SI"""
    warning: str = ""
    """a word behind it that warns, as ``missed``"""
    strong: bool = False
    bar: float | None = None
    """0..1: how long a bar a page draws beside it"""

    @property
    def missing(self) -> bool:
        return self.text == MISSING


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column: its title and unit, and a word unless all below it was measured."""

    title: str
    unit: str = ""
    kind: Kind = "number"
    lines: str = ""
    """the title for a terminal, broken into lines; empty: as it is"""
    group: str = ""
    """what it shares with the columns beside it"""
    provenance: str = ""
    key: str = ""
    """of its values in JSON"""
    show_sd: bool = False
    """where there is little room"""
    show_ci: bool = False
    plus_minus: str = ""
    """what stands behind ± below it, where that is not said elsewhere"""
    page_only: bool = False
    """left out where there is little room, since another column says it, too"""
    rank: int = 0
    """in which order columns are left out where a terminal is too narrow, the highest first; 0: never"""

    @property
    def full_title(self) -> str:
        """Its title with what it shares, for whoever prints no groups of columns."""
        return f"{self.group}: {self.title}" if self.group else self.title


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what it is, what stands in it, and the letters of the findings that concern it.

    Of fewer cells than there are columns, the last one goes on to the end.
    """

    keys: tuple[Cell, ...]
    cells: tuple[Cell, ...]
    marks: tuple[str, ...] = ()
    style: str = ""
    kind: str = ""
    """for programs that read a page"""

    def cell(self, at: int) -> Cell:
        """What stands in a column by itself: behind the last cell nothing."""
        return self.cells[at] if at < len(self.cells) else Cell("")


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that belong together; without a ``label`` where there is nothing to tell them apart from."""

    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A line below a table: ``lead`` is its subject, if it has one."""

    kind: NoteKind
    text: str
    lead: str = ""

    @property
    def sentence(self) -> str:
        """The whole as one line of text."""
        return f"{self.lead}: {self.text}" if self.lead else self.text


@dataclass(frozen=True, slots=True)
class Table:
    """A table: columns that say what a row is, those with what was found, rows in groups, notes below."""

    title: str
    keys: tuple[Head, ...]
    heads: tuple[Head, ...]
    groups: tuple[RowGroup, ...]
    notes: tuple[Note, ...] = ()
    group_title: str = "Case"
    provenance: str = ""
    """in words, unless all was measured"""
    style: str = "numbers"
    folded: str = ""
    """what a page shows of it until it is opened; empty: all of it"""

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def flagged(self) -> bool:
        """Whether findings concern any row."""
        return any(row.marks for row in self.rows)

    @property
    def columns(self) -> int:
        """How many there are on a page."""
        return len(self.keys) + len(self.heads) + self.flagged

    @property
    def head_groups(self) -> tuple[tuple[str, tuple[Head, ...]], ...]:
        """Columns beside each other that share a heading; alone under "" where they have none."""
        groups: list[tuple[str, list[Head]]] = []
        for head in self.heads:
            if head.group and groups and groups[-1][0] == head.group:
                groups[-1][1].append(head)
            else:
                groups.append((head.group, [head]))
        return tuple((name, tuple(heads)) for name, heads in groups)

    def with_columns(self, columns: Sequence[int]) -> Table:
        """The same rows with some of its columns, by their places among the heads."""
        groups = tuple(
            replace(
                group,
                rows=tuple(replace(row, cells=tuple(row.cell(at) for at in columns)) for row in group.rows),
            )
            for group in self.groups
        )
        return replace(self, heads=tuple(self.heads[at] for at in columns), groups=groups)

    def said(self, kind: NoteKind) -> tuple[str, ...]:
        """Its notes of a kind."""
        return tuple(note.sentence for note in self.notes if note.kind == kind)


@dataclass(frozen=True, slots=True)
class Lack:
    """A value that is missing, or that some trials lack: in which row of which group, and why.

    Without a place where the reason says it.
    """

    title: str
    reason: str
    group: str = ""
    row: str = ""


def absences(lacks: Iterable[Lack], places: int, noun: str = "") -> tuple[Note, ...]:
    """Why values are missing: columns that lack them for one reason in the same rows share a line.

    Nothing is said of where when all ``places`` lack them. ``noun`` is what rows are numbers of.
    """
    where: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    for lack in lacks:
        where.setdefault((lack.reason, lack.title), {})[lack.group, lack.row] = None
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for (reason, title), lacking in where.items():
        alike.setdefault((reason, tuple(lacking)), []).append(title)
    return tuple(
        Note("absence", ", ".join(titles) + _where(lacking, places, noun) + f": {reason}")
        for (reason, lacking), titles in alike.items()
    )


def _where(lacking: tuple[tuple[str, str], ...], places: int, noun: str) -> str:
    """``: h1 → h2, IPv6, 1, 2 instances``; only rows where they are in no group."""
    if len(lacking) == places or not any(group or row for group, row in lacking):
        return ""
    rows: dict[str, list[str]] = {}
    for group, row in lacking:
        rows.setdefault(group, []).append(row)
    named = [_named(group, [row for row in group_rows if row], noun) for group, group_rows in rows.items()]
    return f": {first_of(named, _MOST_PLACES)}"


def _named(group: str, rows: list[str], noun: str) -> str:
    counted = f" {noun if rows == ['1'] else f'{noun}s'}" if noun and rows else ""
    return ", ".join(part for part in (group, f"{', '.join(rows)}{counted}") if part)


def legend_notes(lines: Iterable[str]) -> tuple[Note, ...]:
    """What marks mean."""
    return tuple(Note("legend", line) for line in lines)


def text_cells(*cells: str) -> tuple[Cell, ...]:
    """Cells of text alone."""
    return tuple(map(Cell, cells))
