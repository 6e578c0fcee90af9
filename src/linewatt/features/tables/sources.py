# SPDX-License-Identifier: Apache-2.0
"""What commands read from: a table of anybody's, or a stored result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linewatt.delimited import TableWarning, read_table
from linewatt.document import read_bytes as contents
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.tables.analysed import EXTRA, AnalysedTable, trials_of
from linewatt.features.tables.inputs import RECOGNISED
from linewatt.features.tables.published import refuse_no_figures
from linewatt.store import read
from linewatt.store.read import Result
from linewatt.units import number_ranges

MOST_BYTES = 256 * 2**20


def is_table(table_or_id: str) -> bool:
    """Whether a word names a table, not a stored result."""
    return (
        table_or_id == "-"
        or table_or_id.lower().endswith((".csv", ".tsv", ".txt"))
        or Path(table_or_id).is_file()
    )


def read_bytes(table: str) -> tuple[str, bytes]:
    """How messages name the table, and its bytes. Raises InvalidInput when it cannot be read."""
    if table == "-":
        source, data = "standard input", sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        source = table if table.isprintable() else repr(table)
        try:
            data = contents(Path(table), MOST_BYTES)
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise InvalidInput(f"{source}: cannot be read: {why}") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{source}: larger than {MOST_BYTES >> 20} MiB, which no table is")
    return source, data


@contextmanager
def stored_result(results: Path, result_id: str) -> Iterator[Result]:
    """A stored result, and a guard around what is made of it. Raises InvalidInput where there is none."""
    try:
        path = read.find(results, result_id)
    except StoreError as error:
        raise InvalidInput(f"no table, and {error}") from None
    with read.readable(path):
        yield read.load(path)


def trials_of_table(table_name: str, *, figures: bool = False) -> tuple[str, AnalysedTable, list[str]]:
    """How messages name a table, its rows as trials, what of it could not be read. Raises InvalidInput.

    ``figures``: also for a number of which nothing can be made.
    """
    source, data = read_bytes(table_name)
    table, warnings = read_table(data, source, known=(*RECOGNISED, *EXTRA))
    if figures:
        refuse_no_figures(table, source)
    try:
        analysed = trials_of(table)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    return source, analysed, folded([*warnings, *analysed.warnings])


def folded(warnings: Iterable[TableWarning]) -> list[str]:
    """Warnings as lines of text, those that say the same of several rows in one line."""
    alike: dict[tuple[str | None, str], list[TableWarning]] = {}
    for warning in warnings:
        alike.setdefault((warning.column, warning.message), []).append(warning)
    return [str(same[0]) if len(same) == 1 else _folded(same) for same in alike.values()]


def _folded(warnings: Sequence[TableWarning]) -> str:
    numbers = [warning.row for warning in warnings if warning.row is not None]
    column = f", column {warnings[0].column}" if warnings[0].column else ""
    return f"rows {number_ranges(numbers, '-')}{column}: {warnings[0].message}"
