# SPDX-License-Identifier: Apache-2.0
"""A published table on one screen: its answer, the first columns of its tables, and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.features.tables.view import View
from linewatt.foreign import one_line
from linewatt.report import Cell, Head, Note, Row, Table, plural
from linewatt.report.printing import Block, Entry, Line, Screen, cell_text
from linewatt.units import MISSING, format_time_utc

_MOST_COLUMNS = 4
"""of a table, so that a row is a line of 80 columns"""
_NO_UNITS = ("as printed", "derived")
"""said in the place of a unit"""


def first_screen_of_view(view: View) -> Screen:
    """What ``show`` prints of a published table; ``--full`` has whole tables."""
    result = view.result
    answer = Block("Published", ((Line("", prose=view.answer),),))
    trust = Block(
        "Can I trust it",
        tuple(_notes(view)),
        "linewatt did not measure these figures, and checked no trials",
        rest="note",
    )
    return Screen(
        one_line(str(result.manifest.name or result.id)),
        (result.id, format_time_utc(result.manifest.created_s)),
        (view.caveat,),
        view.answer,
        trust.remark,
        (answer, *map(_block, view.tables), trust),
        (f"linewatt show {result.id} --full", f"linewatt report {result.id}"),
        tables=view.tables,
        lists=(trust,),
    )


def _block(table: Table) -> Block:
    shown_heads = [at for at, head in enumerate(table.heads) if not head.page_only][:_MOST_COLUMNS]
    more = sum(not head.page_only for head in table.heads) - len(shown_heads)
    title, _, of = table.title.partition(": ")
    return Block(
        title,
        tuple(_row(row, table, shown_heads) for row in table.rows),
        ", ".join(_column_name(table.heads[at]) for at in shown_heads) if len(shown_heads) > 1 else "",
        of=of,
        rest="row",
        beyond=f"{plural(more, 'more column')}: show --full" if more else "",
    )


def _row(row: Row, table: Table, heads: list[int]) -> Entry:
    keys = (_figure(cell, head) for cell, head in zip(row.keys, table.keys, strict=True) if cell.text)
    return (Line(", ".join(keys), tuple(_figure(row.cell(at), table.heads[at]) for at in heads)),)


def _figure(cell: Cell, head: Head) -> str:
    text = cell_text(cell, sd=head.show_sd) or MISSING
    return f"{text} {head.unit}" if head.unit and head.unit not in _NO_UNITS and text != MISSING else text


def _column_name(head: Head) -> str:
    name = (head.lines or head.title).replace("\n", " ")
    return f"{name[:1].lower()}{name[1:]}"


def _notes(view: View) -> Iterator[Entry]:
    """What makes a figure doubtful, then how the table was read."""
    doubts: list[Note] = [note for table in view.tables for note in table.notes if note.kind == "doubt"]
    for note in doubts:
        yield (Line("", prose=note.sentence, style="yellow"),)
    for words in view.notes:
        yield (Line("", prose=words),)
