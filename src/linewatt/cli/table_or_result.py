# SPDX-License-Identifier: Apache-2.0
"""What a command is given to read: a file with a table of anybody's, or the name of a stored result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linewatt.delimited import TableWarning
from linewatt.document import read_bytes as contents
from linewatt.document import similar_files
from linewatt.errors import InvalidInput, StoreError
from linewatt.store import Result, find_result, load_result, reading_results
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
        except FileNotFoundError as error:
            raise InvalidInput(
                f"{source}: cannot be read: {error.strerror}{similar_files(Path(table))}"
            ) from None
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
        path = find_result(results, result_id)
    except StoreError as error:
        raise InvalidInput(f"no table, and {error}") from None
    with reading_results(path):
        yield load_result(path)


def folded_warnings(warnings: Iterable[TableWarning]) -> list[str]:
    """Warnings as lines of text, those that say the same of several rows in one line."""
    alike: dict[tuple[str | None, str], list[TableWarning]] = {}
    for warning in warnings:
        alike.setdefault((warning.column, warning.message), []).append(warning)
    return [str(same[0]) if len(same) == 1 else _folded(same) for same in alike.values()]


def _folded(warnings: Sequence[TableWarning]) -> str:
    numbers = [warning.row for warning in warnings if warning.row is not None]
    column = f", column {warnings[0].column}" if warnings[0].column else ""
    return f"rows {number_ranges(numbers, '-')}{column}: {warnings[0].message}"
