# SPDX-License-Identifier: Apache-2.0
"""Typed tables in a database of this process's memory that reaches nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from linewatt.report.data.column import Cell, Column

MEMORY = "1GB"
MOST_THREADS = 4
_CLOSED = {
    "memory_limit": MEMORY,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "pandas_analyze_sample": 0,
}
"""nothing is spilled to a disk, no extension is fetched or loaded, no variable of Python is a table, and
what is an object in an array is text"""


def opened() -> Any:
    """A connection to a database in memory, with limits. :func:`close_in` is still to come."""
    import duckdb  # only whoever asks needs it

    threads = min(MOST_THREADS, os.cpu_count() or 1)
    connection = duckdb.connect(":memory:", config={"threads": threads})
    for name, value in _CLOSED.items():
        connection.execute(f"SET {name} = {quoted(value) if isinstance(value, str) else value}")
    return connection


def close_in(connection: Any, files: Sequence[str] = ()) -> None:
    """From now on it reads these files at most, and no setting changes any more."""
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def quoted(text: str) -> str:
    """As a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """As an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def make_table(connection: Any, name: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """A table with these rows; ``None`` is NULL."""
    declared = ", ".join(f"{named(column.name)} {column.type}" for column in columns)
    connection.execute(f"CREATE TABLE {named(name)} ({declared})")
    if not rows:
        return
    values = zip(*rows, strict=True)
    arrays = {f"c{at}": _array(*pair) for at, pair in enumerate(zip(columns, values, strict=True))}
    connection.register("made", arrays)
    read = ", ".join(_read(f"c{at}", column) for at, column in enumerate(columns))
    connection.execute(f"INSERT INTO {named(name)} SELECT {read} FROM made")  # noqa: S608  names of our own
    connection.unregister("made")


def _array(column: Column, values: Sequence[Any]) -> Any:
    import numpy as np

    if column.type in ("DOUBLE", "BOOLEAN"):
        numbers = np.array(values, dtype=float)  # None becomes NaN
        return np.ma.array(numbers, mask=np.isnan(numbers))  # and this NULL, with no condition in SQL
    if column.type == "BIGINT":
        return np.array([None if value is None else str(value) for value in values], dtype=object)
    return np.array(values, dtype=object)


def _read(name: str, column: Column) -> str:
    return name if column.type == "DOUBLE" else f"CAST({name} AS {column.type})"
