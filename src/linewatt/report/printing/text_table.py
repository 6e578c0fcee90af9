# SPDX-License-Identifier: Apache-2.0
"""Tables for a terminal: numbers are never cut or wrapped.

Of a table that is too wide the columns that matter least are left out, and named; what is still too wide is
split into several.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from linewatt.foreign import one_line
from linewatt.report.table import Cell, Head, Note, Row, Table
from linewatt.units import MISSING

_GAP = 2
_KEY, _PROSE, _MOST_WORD = 9, 14, 24
"""characters that what a row is and other words are given before they wrap; a longer word may be parted"""
_STYLES = {"remark": "", "doubt": "yellow", "legend": "yellow", "absence": "dim"}
_SIGNS = {"doubt": "! ", "absence": f"{MISSING} "}


@dataclass(frozen=True)
class TextColumn:
    """A column of text: its heading in lines, its cells, and whether it is repeated when a table is split."""

    heading: str
    cells: tuple[str, ...]
    key: bool = False
    left: bool = False
    free: bool = False
    """prose, which may wrap"""
    name: str = ""
    rank: int = 0
    """as that of a :class:`linewatt.report.table.Head`"""
    label: bool = False
    """of groups of rows: said at the first of each"""

    @cached_property
    def longest_word(self) -> int:
        words = (word for text in (self.heading, *self.cells) for word in text.split())
        return max(map(cell_len, words), default=0)

    @cached_property
    def width(self) -> int:
        """Characters of its longest line."""
        return max(map(cell_len, chain(self.heading.split("\n"), self.cells)))

    @cached_property
    def needed(self) -> int:
        """Characters without which it does not read well."""
        if not self.free:
            return self.width
        return min(self.width, _KEY if self.key else max(_PROSE, min(self.longest_word, _MOST_WORD)))


def render_table(table: Table, width: int | None) -> RenderableType:
    """A table under its title, and what is to be known of it; ``width`` is the terminal's, if any."""
    title = f"{table.title}{_sources(table)}"
    columns, without = fitting(text_columns(table), width)
    labels: dict[int, str] = {}
    if any(column.label and column.free and column.longest_word > column.needed for column in columns):
        label, *others = text_columns(table)
        labels = {at: text for at, text in enumerate(label.cells) if text}
        columns, without = fitting(others, width)
    parts = split_columns(columns, width)
    return Group(
        *([Text(one_line(title), style="bold")] if title else []),
        *_apart(
            _wrapped(part) if width and any(column.free for column in part) else _plain(part, labels, width)
            for part in (parts if len(parts) == 1 or labels else map(_without_empty_rows, parts))
        ),
        *([Text(f"Not at {width} columns: {' · '.join(without)}", style="dim")] if without else []),
        *_starred(table.rows),
        *map(note_text, table.notes),
    )


def _apart(parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Portions of a table, with an empty line between them."""
    for at, part in enumerate(parts):
        yield from [Text(), part] if at else [part]


def _sources(table: Table) -> str:
    """Whether its numbers were measured, where no heading says it."""
    is_stated = any(head.provenance for head in table.heads)
    return f" ({table.provenance})" if table.provenance and not is_stated else ""


def note_text(note: Note) -> Text:
    """A line below a table."""
    return Text(_SIGNS.get(note.kind, "") + one_line(note.sentence), style=_STYLES[note.kind])


def titled(title: str, lines: Iterable[str], style: str = "") -> RenderableType:
    """Lines under a title, indented."""
    indented = (Padding(Text(one_line(line), style=style), (0, 0, 0, _GAP)) for line in lines)
    return Group(Text(one_line(title), style="bold"), *indented)


def text_columns(table: Table) -> list[TextColumn]:
    """The columns of a table, the label of a group beside its first row."""
    rows = table.rows
    columns = []
    if any(group.label for group in table.groups):
        label_cells = [
            [one_line(group.label)] + [""] * (len(group.rows) - 1) for group in table.groups if group.rows
        ]
        columns.append(
            TextColumn(table.group_title, tuple(chain(*label_cells)), key=True, left=True, label=True)
        )
    for at, head in enumerate(table.keys):
        columns.append(_column(head, [row.keys[at] for row in rows], key=True))
    for at, head in enumerate(table.heads):
        if not head.page_only:
            columns.append(_column(head, [row.cell(at) for row in rows], key=False))
    if table.flagged:
        columns.append(TextColumn("See", tuple(",".join(row.marks) for row in rows)))
    return columns


def _column(head: Head, cells: Sequence[Cell], *, key: bool) -> TextColumn:
    lines = (head.lines or head.title, unit_lines(head.unit), head.provenance.replace(" ", "\n"))
    return TextColumn(
        "\n".join(line for line in map(_safe_lines, lines) if line),
        tuple(one_line(cell_text(cell, sd=head.show_sd)) for cell in cells),
        key=key,
        left=head.kind != "number",
        free=head.kind == "prose",
        name=one_line(head.title),
        rank=head.rank,
    )


def _safe_lines(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


def fitting(columns: Sequence[TextColumn], width: int | None) -> tuple[list[TextColumn], list[str]]:
    """Columns for a width, and the names of those left out: the highest rank first, of equals the last.

    Words that say what a row is wrap where no column has room beside them.
    """
    if width is None:
        return list(columns), []
    kept_columns, without = _beside(columns, width, min), list[str]()
    while (
        sum(column.needed + _GAP for column in kept_columns) - _GAP > width
        and sum(not column.key for column in kept_columns) > 1
    ):
        dropped = max(reversed(kept_columns), key=lambda column: column.rank)
        if not dropped.rank:
            break
        kept_columns.remove(dropped)
        without.insert(0, dropped.name)
    return _beside(kept_columns, width, max), without


def _beside(
    columns: Sequence[TextColumn], width: int, which: Callable[[Iterable[int]], int]
) -> list[TextColumn]:
    """The columns; where one other, the narrowest or widest, has no room beside the keys, words wrap."""
    placed = list(columns)
    for wraps_key in (False, True):
        keys = sum(column.needed + _GAP for column in placed if column.key)
        if keys + which([column.needed for column in placed if not column.key] or [-_GAP]) <= width:
            break
        placed = [
            replace(column, free=True)
            if column.left and column.key == wraps_key and (column.key or keys + column.needed > width)
            else column
            for column in placed
        ]
    return placed


def split_columns(columns: Sequence[TextColumn], width: int | None) -> list[list[TextColumn]]:
    """Columns in portions that fit ``width``, key columns in each; a portion has at least one other."""
    keys = [column for column in columns if column.key]
    others = [column for column in columns if not column.key]
    room = None if width is None else width - sum(column.needed + _GAP for column in keys)
    parts: list[list[TextColumn]] = [[]]
    used = 0
    for column in others:
        if room is not None and parts[-1] and used + column.needed > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += column.needed + _GAP
    return [keys + part for part in parts]


def _without_empty_rows(columns: Sequence[TextColumn]) -> list[TextColumn]:
    """A portion of a table without the rows in which it has nothing to say."""
    others = [column for column in columns if not column.key]
    kept_rows = [at for at in range(len(columns[0].cells)) if any(column.cells[at] for column in others)]
    kept_columns = []
    for column in columns:
        cells = [column.cells[at] for at in kept_rows]
        if column.label:
            of_row: list[str] = []
            for text in column.cells:
                of_row.append(text or (of_row[-1] if of_row else ""))
            cells_of_row = ["", *(of_row[at] for at in kept_rows)]
            cells = ["" if label == before else label for before, label in pairwise(cells_of_row)]
        kept_columns.append(replace(column, cells=tuple(cells)))
    return kept_columns


def _wrapped(columns: Sequence[TextColumn]) -> RenderableType:
    table = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        collapse_padding=True,
    )
    lines = max(column.heading.count("\n") for column in columns)
    for column in columns:
        table.add_column(
            Text("\n" * (lines - column.heading.count("\n")) + column.heading),
            justify="left" if column.left else "right",
            no_wrap=not column.free,
            overflow="fold",
            min_width=column.needed,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _plain(columns: Sequence[TextColumn], labels: Mapping[int, str], width: int | None) -> RenderableType:
    """The same table where nothing wraps: a thousand rows take rich half a second.

    ``labels`` stand above the rows that they begin with: of groups whose words are too long for a column.
    """
    lines = max(column.heading.count("\n") for column in columns) + 1
    padded = []
    for column in columns:
        wide = column.width
        head = column.heading.split("\n")
        cells = [*[""] * (lines - len(head)), *head, "─" * wide, *column.cells]
        blanks = [" " * (wide - cell_len(cell)) for cell in cells]
        padded.append(
            [
                f"{cell}{blank}" if column.left else f"{blank}{cell}"
                for cell, blank in zip(cells, blanks, strict=True)
            ]
        )
    rows = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    rows[lines] = rows[lines].replace(" ", "─")
    rule, *body_rows = rows[lines:]
    above = [textwrap.wrap(labels.get(at, ""), width or 100_000) for at in range(len(body_rows))]
    beneath = chain(*([*label, row] for label, row in zip(above, body_rows, strict=True)))
    heads, body = "\n".join(rows[:lines]), "\n".join([rule, *beneath])
    return Segments([Segment(heads, Style(bold=True)), Segment(f"\n{body}\n")])


DOUBTFUL = "*"
"""behind a figure that a finding makes doubtful"""


def _starred(rows: Iterable[Row]) -> Iterator[Text]:
    """What a star means, where there is one, and which findings they are."""
    letters = {letter for row in rows for cell in row.cells for letter in cell.doubts}
    if letters:
        in_order = sorted(letters, key=lambda letter: (len(letter), letter))
        yield Text(
            f"{DOUBTFUL} doubtful: see {', '.join(f'({letter})' for letter in in_order)}", style="yellow"
        )


def cell_text(cell: Cell, *, sd: bool = False) -> str:
    """A cell in one line: SD where wanted, what it is not (measured), how many trials have it.

    A doubtful figure has a star; which finding it is stands at its row.
    """
    text = f"{cell.text} ± {cell.sd}" if sd and cell.sd is not None else cell.text
    text = f"{text}{DOUBTFUL}" if cell.doubts else text
    for behind in (cell.mark, cell.warning, f"({cell.note})" if cell.note else ""):
        text = f"{text} {behind}" if behind else text
    return text


def unit_lines(name: str) -> str:
    """A unit in as little width as reads well: ``% per Gbps`` → ``%/Gbps``, ``Mbps/core`` in two lines."""
    return name.replace(" per ", "/").replace("/core", "/\ncore").replace("packets/s", "pkts/s")
