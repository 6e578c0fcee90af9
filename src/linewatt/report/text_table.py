# SPDX-License-Identifier: Apache-2.0
"""Tables for a terminal: numbers are never cut or wrapped, a table wider than it is split into several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from linewatt.report.columns import Cell

_GAP = 2


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of text: its heading in lines, its cells, and whether it is repeated when a table is split."""

    heading: str
    cells: tuple[str, ...]
    key: bool = False
    left: bool = False
    free: bool = False
    """prose, which may wrap"""

    @property
    def width(self) -> int:
        """Characters of its longest line."""
        return max(len(line) for text in (self.heading, *self.cells) for line in text.split("\n"))


def tables(columns: Sequence[TextColumn], width: int | None) -> RenderableType:
    """The columns as one table, or as several with the same rows where ``width`` is too small."""
    return Group(*(_table(part) for part in split(columns, width)))


def split(columns: Sequence[TextColumn], width: int | None) -> list[list[TextColumn]]:
    """Columns in portions that fit ``width``, key columns in each; a portion has at least one other."""
    keys = [column for column in columns if column.key]
    others = [column for column in columns if not column.key]
    room = None if width is None else width - sum(column.width + _GAP for column in keys)
    parts: list[list[TextColumn]] = [[]]
    used = 0
    for column in others:
        needed = min(column.width, 24) if column.free else column.width
        if room is not None and parts[-1] and used + needed > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += needed + _GAP
    return [keys + part for part in parts]


def _table(columns: Sequence[TextColumn]) -> RichTable:
    table = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        collapse_padding=True,
    )
    for column in columns:
        table.add_column(
            Text(column.heading),
            justify="left" if column.left else "right",
            vertical="bottom",
            no_wrap=not column.free,
            min_width=None if column.free else column.width,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


DOUBTFUL = "*"
"""behind a figure that a finding makes doubtful"""


def cell_text(cell: Cell, *, sd: bool = False) -> str:
    """A cell in one line: SD where wanted, what it is not (measured), how many trials have it.

    A doubtful figure has a star; which finding it is stands at its row.
    """
    text = f"{cell.text} ± {cell.sd}" if sd and cell.sd is not None else cell.text
    text = f"{text}{DOUBTFUL}" if cell.doubts else text
    text = f"{text} {cell.mark}" if cell.mark else text
    return f"{text} ({cell.note})" if cell.note else text


def unit_lines(name: str) -> str:
    """A unit in as little width as reads well: ``% per Gbps`` → ``%/Gbps``, ``Mbps/core`` in two lines."""
    return name.replace(" per ", "/").replace("/core", "/\ncore").replace("packets/s", "pkts/s")


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """The same texts, with repetitions of the one above left empty."""
    shown: list[str] = []
    last = None
    for text in texts:
        shown.append("" if text == last else text)
        last = text
    return tuple(shown)
