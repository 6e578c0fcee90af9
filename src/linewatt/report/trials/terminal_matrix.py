# SPDX-License-Identifier: Apache-2.0
"""A matrix of hosts for a terminal: a table a test, and a grid of sender × receiver."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.foreign import one_line
from linewatt.report.text_table import TextColumn, cell_text, once, tables, unit_lines
from linewatt.report.trials.charts.heat_map import HeatMap
from linewatt.report.trials.matrix import MatrixTable


def matrix(table: MatrixTable, width: int | None) -> RenderableType:
    """The pairs of a test, those of one matrix together."""
    rows = [(block.label, row) for block in table.blocks for row in block.rows]
    columns = []
    if len(table.blocks) > 1:
        columns.append(TextColumn("", once(one_line(label) for label, _ in rows), key=True, left=True))
    columns.append(TextColumn("Pair", tuple(one_line(row.pair) for _, row in rows), key=True, left=True))
    for at, head in enumerate(table.heads):
        cells = tuple(cell_text(row.cells[at], sd=True) for _, row in rows)
        columns.append(TextColumn(f"{head.lines}\n{unit_lines(head.unit)}".rstrip(), cells))
    columns.append(TextColumn("n", tuple(row.trials for _, row in rows)))
    return Group(
        Text(one_line(table.title), style="bold"),
        tables(columns, width),
        *(Text(line, style="yellow") for line in table.legend),
    )


def heat_map(one: HeatMap, width: int | None) -> RenderableType:
    """The values of a heat map as a grid: rows send, columns receive."""
    rows = [one.row(sender) for sender in one.hosts]
    columns = [
        TextColumn("sender ↓ receiver →", tuple(one_line(host) for host in one.hosts), key=True, left=True)
    ]
    columns += [
        TextColumn(one_line(host), tuple(row[at] for row in rows)) for at, host in enumerate(one.hosts)
    ]
    said = f"{one.title}{f', {one.label}' if one.label else ''} ({one.unit})"
    return Group(Text(one_line(said), style="bold"), tables(columns, width))
