# SPDX-License-Identifier: Apache-2.0
"""A column of a view, for ``linewatt sql`` and Parquet files: name, type, unit, meaning. Pure.

Names, types and units are a contract: :data:`VIEWS_SCHEMA_VERSION` increases when one is changed or removed.
A new column may be added at the end of a view at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linewatt.declare import unit_of
from linewatt.errors import StoreError

VIEWS_SCHEMA_VERSION = 1

Type = Literal["VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN"]
Cell = str | float | int | bool | None
_LARGEST = 1 << 63
"""the first integer too large for BIGINT"""


@dataclass(frozen=True, slots=True)
class Column:
    """``reason`` names where to find why a value is missing: a column, or a key of a JSON column."""

    name: str
    type: Type = "VARCHAR"
    meaning: str = ""
    reason: str = ""

    @property
    def unit(self) -> str:
        """In words, derived from the name; empty without a unit."""
        if self.type not in ("DOUBLE", "BIGINT"):
            return ""
        if self.name == "load_level":
            return "0 to 1"
        unit = unit_of(self.name) or ""
        return "0 to 1, or times" if unit == "1" else unit


def mean_columns(key: str, meaning: str, reason: str, *, ci: bool = False) -> tuple[Column, ...]:
    """Columns of a mean over trials, named by :func:`linewatt.report.printing.export.mean_keys`."""
    columns = [
        Column(f"{key}_mean", "DOUBLE", meaning, reason),
        Column(f"{key}_sd", "DOUBLE", "standard deviation over trials; NULL: one trial", reason),
        Column(f"{key}_n", "BIGINT", "trials with a value"),
    ]
    if ci:
        columns += [
            Column(f"{key}_ci95_{end}", "DOUBLE", f"{end} end of the mean's 95 % CI; NULL: one trial")
            for end in ("low", "high")
        ]
        columns.append(
            Column(
                f"{key}_ci95_method",
                "VARCHAR",
                "method of the CI, such as `student-t` or `bca-bootstrap`",
            )
        )
    return tuple(columns)


def cells(row: Mapping[str, Any], columns: Sequence[Column], of: str) -> list[Cell]:
    """The values of a row in the order of the columns; ``of`` names its result in messages.

    Raises StoreError for a number that does not fit its column, and KeyError for a key without a column, so
    that no value is lost unnoticed.
    """
    unknown = row.keys() - {column.name for column in columns}
    if unknown:
        raise KeyError(f"no column for {', '.join(sorted(unknown))}")
    return [_cell(row.get(column.name), column, of) for column in columns]


def _cell(value: Any, column: Column, of: str) -> Cell:
    if value is None:
        return None
    if column.type == "VARCHAR":
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if column.type == "BOOLEAN":
        return bool(value)
    if column.type == "DOUBLE":
        return float(value)
    if int(value) != value or not -_LARGEST <= value < _LARGEST:
        raise StoreError(f"{of}: {column.name} {value!r:.40} is not a 64-bit integer")
    return int(value)
