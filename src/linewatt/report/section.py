# SPDX-License-Identifier: Apache-2.0
"""A section of a page: tables, lists and figures under one heading; their figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linewatt.report.table import Note, Table

if TYPE_CHECKING:  # a screen in a terminal has sections and no figure
    from linewatt.report.charts.figure import DrawnFigure


@dataclass(frozen=True, slots=True)
class Lines:
    """A list of lines under a heading of its own, if it has one; ``preformatted`` lines are indented.

    A page shows those that are ``folded`` on request.
    """

    title: str
    notes: tuple[Note, ...]
    preformatted: bool = False
    folded: bool = False


def text_lines(title: str, lines: Iterable[str], *, preformatted: bool = False) -> Lines:
    """Lines of text alone."""
    return Lines(title, tuple(Note("remark", line) for line in lines), preformatted)


@dataclass(frozen=True, slots=True)
class Section:
    """A section: ``anchor`` is its id, ``nav`` its name among the contents, where that is shorter."""

    title: str
    anchor: str
    tables: tuple[Table, ...] = ()
    figures: tuple[DrawnFigure, ...] = ()
    notes: tuple[Lines, ...] = ()
    intro: tuple[str, ...] = ()
    nav: str = ""
    elsewhere: bool = False
    """whether cases at load levels are left out of it"""
    small_figures: bool = False
    """three of which stand side by side"""
    folded: str = ""
    """figures that open on request stand below this line"""

    def __bool__(self) -> bool:
        return bool(self.tables or self.figures or any(note.notes for note in self.notes))
