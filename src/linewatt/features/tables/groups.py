# SPDX-License-Identifier: Apache-2.0
"""Which row with one instance a row scales from.

Rows belong together when they agree in every column that describes the case: the columns named in
CASE_COLUMNS, and any other column most of whose filled cells are text. Not counted: columns that linewatt
reads or derives, ``published_*``, and those named in OUTCOME_COLUMNS, which say what came out, not what
was run. An unknown text column counts, so that a doubt leaves cells empty and never scales a row from
another's figures.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from linewatt.delimited import Row, Table, parse_number

CASE_COLUMNS = frozenset(
    {
        "direction",
        "family",
        "host",
        "kernel",
        "mtu",
        "network",
        "nic",
        "os",
        "pair",
        "protocol",
        "receiver",
        "role",
        "sender",
        "streams",
        "test",
    }
)
OUTCOME_COLUMNS = frozenset(
    {
        "bottleneck",
        "comment",
        "comments",
        "date",
        "flag",
        "flags",
        "limit",
        "limited_by",
        "note",
        "notes",
        "reason",
        "regime",
        "remark",
        "remarks",
        "status",
        "time",
        "timestamp",
        "verdict",
    }
)


@dataclass(frozen=True, slots=True)
class NoReference:
    """Why a row has no row with one instance to scale from."""

    why: str


def group_columns(table: Table, not_counted: Collection[str]) -> tuple[str, ...]:
    """The columns in which rows must agree; ``not_counted`` are names that linewatt reads or derives."""
    return tuple(column for column in table.columns if _describes_case(column, table, not_counted))


def _describes_case(column: str, table: Table, not_counted: Collection[str]) -> bool:
    if column in CASE_COLUMNS:
        return True
    if column in not_counted or column in OUTCOME_COLUMNS or column.startswith("published_"):
        return False
    filled = [row.cells[column] for row in table.rows if row.aligned and row.cells[column]]
    # most, not any: one "n/a" among readings does not make a name of them
    return 2 * sum(parse_number(cell) is None for cell in filled) > len(filled)


def find_references(
    rows: Sequence[Row], instances: Sequence[float | None], columns: Sequence[str]
) -> list[int | NoReference | None]:
    """For each row the index of its reference, or why there is none; ``None`` where instances are unknown."""
    singles: dict[tuple[str, ...], list[int]] = {}
    for index, row in enumerate(rows):
        if instances[index] == 1:
            singles.setdefault(_key(row, columns), []).append(index)
    return [
        None if instances[index] is None else _choose(singles.get(_key(row, columns), []), rows, columns)
        for index, row in enumerate(rows)
    ]


def _key(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(row.cells[column] for column in columns)


def _choose(candidates: Sequence[int], rows: Sequence[Row], columns: Sequence[str]) -> int | NoReference:
    if len(candidates) == 1:
        return candidates[0]
    alike = f" with the same {', '.join(columns)}" if columns else ""
    if not candidates:
        return NoReference(f"no row{alike} has instances = 1")
    numbers = ", ".join(str(rows[index].number) for index in candidates)
    return NoReference(f"rows {numbers}{alike} all have instances = 1, which one counts is unclear")
