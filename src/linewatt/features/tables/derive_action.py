# SPDX-License-Identifier: Apache-2.0
"""What is derived of a table, printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linewatt import report, units
from linewatt.cli import folded_warnings, print_csv, print_json, print_rich, put, put_lines, read_bytes, say
from linewatt.delimited import Table, TableWarning, parse_number, read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables.derive import DerivedTable, derive
from linewatt.features.tables.groups import CASE_COLUMNS, group_columns
from linewatt.features.tables.inputs import NUMERIC, RECOGNISED
from linewatt.features.tables.quantities import Published, is_quantities, published
from linewatt.features.tables.quantity_facts import quantity_facts
from linewatt.findings import kind_of
from linewatt.report import Table as Shown
from linewatt.report.printing import render_table, split_columns, text_columns

if TYPE_CHECKING:  # what is slow to import is imported when the command runs
    from rich.console import RenderableType

SCHEMA_VERSION = 1
MAX_INT_DIGITS = 15
"""whole numbers of more digits lose places in readers of JSON that hold them as double"""


def print_derived(*, table: str, as_json: bool, as_csv: bool) -> None:
    """Derive efficiency, scaling and energy from a raw table."""
    if as_json and as_csv:
        raise InvalidInput("--json and --csv exclude each other: choose one")
    source, data = read_bytes(table)
    raw, warnings_of_table = read_table(data, source, known=RECOGNISED)
    if is_quantities(raw):
        _quantities(raw, warnings_of_table, as_json=as_json, as_csv=as_csv)
        return
    try:
        derived = derive(raw)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    warnings = sorted([*warnings_of_table, *derived.warnings], key=lambda warning: warning.row or 0)
    for line in folded_warnings(warnings):
        say(f"warning: {line}")
    if as_json:
        rows = json_rows(derived)
        print_json({"schema_version": SCHEMA_VERSION, "rows": rows, "warnings": json_warnings(warnings)})
    elif as_csv:
        print_csv([*raw.columns, *derived.added], csv_rows(derived))
    else:
        _print_table(derived)


def _quantities(raw: Table, table_warnings: list[TableWarning], *, as_json: bool, as_csv: bool) -> None:
    """A table with a row a quantity: a soak's summary."""
    summary = published(raw)
    for line in folded_warnings([*table_warnings, *summary.warnings]):
        say(f"warning: {line}")
    if as_json:
        flags = [asdict(flag) for flag in summary.flags]
        document = {"schema_version": SCHEMA_VERSION, "summary": summary.figures, "flags": flags}
        print_json({**document, "warnings": json_warnings(summary.warnings)})
    elif as_csv:
        rows = [{"quantity": name, "value": value} for name, value in summary.figures.items()]
        print_csv(["quantity", "value"], rows)
    else:
        _show_quantities(summary)


def _show_quantities(summary: Published) -> None:
    """The summary as studies print it, and the flags."""
    for title, value in quantity_facts(summary):
        put(f"{title:<20}{value}")
    for flag in summary.flags:
        heading = f"{kind_of(flag.code).title} [{flag.code}]"
        put_lines(["", heading, f"  {flag.where}: {flag.evidence}", f"  {flag.advice}"])


def json_rows(derived: DerivedTable) -> list[dict[str, Any]]:
    """The rows with numbers as numbers and missing as ``None``.

    A column that linewatt reads as numbers holds numbers or ``None``. Any other column of the input holds
    numbers when every filled cell is one, and its text as found otherwise; names stay text.
    """
    rows: list[dict[str, Any]] = [{} for _ in derived.table.rows]
    for column in derived.table.columns:
        cells = [row.cells[column] for row in derived.table.rows]
        numbers = [_json_number(cell, exact=column not in NUMERIC) for cell in cells]
        some_text = any(cell and number is None for cell, number in zip(cells, numbers, strict=True))
        is_text = column not in NUMERIC and (column in CASE_COLUMNS or some_text)
        for row, cell, number in zip(rows, cells, numbers, strict=True):
            row[column] = (cell or None) if is_text else number
    for row, values in zip(rows, derived.values, strict=True):
        row.update(values)
    return rows


def _json_number(cell: str, *, exact: bool) -> int | float | None:
    """The number a cell holds; ``None`` for text.

    With ``exact`` also for digits that are a name (007), and for more of them than a double holds.
    """
    value = parse_number(cell)
    digits = cell.lstrip("+-")
    if value is None or not digits.isdigit():
        return value
    if len(digits) <= MAX_INT_DIGITS and (digits == "0" or not digits.startswith("0")):
        return int(cell)
    return None if exact else value


def json_warnings(warnings: Iterable[TableWarning]) -> list[dict[str, Any]]:
    """Each warning as its place and its text; ``null`` where it is not about one row or column."""
    return [
        {"row": item.row, "line": item.line, "column": item.column, "message": str(item)} for item in warnings
    ]


def csv_rows(derived: DerivedTable) -> list[dict[str, str]]:
    """The rows as text: the input's cells as found, derived figures in full, empty where missing."""
    return [
        {**row.cells, **{column: _plain(value) for column, value in values.items()}}
        for row, values in zip(derived.table.rows, derived.values, strict=True)
    ]


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.12g}"


def _print_table(derived: DerivedTable) -> None:
    """A table for people. Off a terminal every column is there in full, whatever the width."""

    def shown(width: int | None) -> RenderableType:
        full_table = _table(derived, (), [*derived.table.columns, *derived.added])
        if len(split_columns(text_columns(full_table), width)) == 1:
            return render_table(full_table, width)
        say("the terminal is too narrow for all columns of the table; --csv and --json print them")
        return render_table(_table(derived, naming_columns(derived), derived.added), width)

    print_rich(shown, of_any_width=True)


def naming_columns(derived: DerivedTable) -> list[str]:
    """The columns of the input that say what a row is, for a terminal too narrow for all."""
    names = {"instances", *group_columns(derived.table, NUMERIC)}
    return [column for column in derived.table.columns if column in names]


def _table(derived: DerivedTable, keys: Sequence[str], heads: Sequence[str]) -> Shown:
    """These columns, of which ``keys`` are repeated where the table is split."""

    def head(column: str) -> report.Head:
        cells = [row.cells.get(column) for row in derived.table.rows]
        is_text = any(cell and parse_number(cell) is None for cell in cells)
        return report.Head(column, kind="text" if is_text else "number")

    def cells(columns: Sequence[str]) -> Iterator[tuple[report.Cell, ...]]:
        for row, values in zip(derived.table.rows, derived.values, strict=True):
            yield report.text_cells(
                *(format_figure(values[c]) if c in values else row.cells[c] for c in columns)
            )

    rows = tuple(map(report.Row, cells(keys), cells(heads)))
    return report.Table("", tuple(map(head, keys)), tuple(map(head, heads)), (report.RowGroup("", rows),))


def format_figure(value: float | None) -> str:
    """A derived figure for people: 2 decimals from 100 on, else 3, and at least 3 significant digits."""
    if value is None:
        return units.MISSING
    if not 1e-6 <= value < 1e15:
        return f"{value:.3g}"
    if value < 0.1:
        return units.format_significant(value)
    return f"{value:.2f}" if value >= 100 else f"{value:.3f}"
