# SPDX-License-Identifier: Apache-2.0
"""A column of the views that ``linewatt sql`` and Parquet files have: name, type, unit, meaning. Pure.

Names, types and units are a contract: :data:`VIEWS_SCHEMA_VERSION` counts up when one of them changes or
goes. New columns may come at the end of a view at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linewatt.errors import StoreError

VIEWS_SCHEMA_VERSION = 1

Type = Literal["VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN"]
Cell = str | float | int | bool | None
_LARGEST = 1 << 63
"""the first whole number that is no BIGINT"""

_UNITS = (
    ("_bps_per_core", "bit/s per core"),
    ("_packets_per_core_s", "packets/s per core"),
    ("_cores_per_bps", "cores per bit/s"),
    ("_mbps_per_w", "Mbit/s per W"),
    ("_w_per_gbps", "W per Gbit/s"),
    ("_pj_per_bit", "pJ/bit"),
    ("_nj_per_packet", "nJ/packet"),
    ("_packets_per_j", "packets/J"),
    ("_packets_per_s", "packets/s"),
    ("_bits_per_cycle", "bit/cycle"),
    ("_per_trial", "per trial"),
    ("_load_level", "0 to 1"),
    ("_per_s", "1/s"),
    ("_bps", "bit/s"),
    ("_hz", "Hz"),
    ("_ratio", "0 to 1, or times"),
    ("_pct", "%"),
    ("_cores", "cores"),
    ("_w", "W"),
    ("_s", "s"),
)
"""how a name ends → the unit of its values, the longest ending first"""
_PARTS = ("_mean", "_sd", "_ci95_low", "_ci95_high", "_uncertainty", "_as_read")
"""what follows the unit in a name"""
_COUNTS = ("_n", "_count")


@dataclass(frozen=True, slots=True)
class Column:
    """``reason`` is where it stands why a value is missing: a column, or a key of one that holds JSON."""

    name: str
    type: Type = "VARCHAR"
    meaning: str = ""
    reason: str = ""

    @property
    def unit(self) -> str:
        """In words, as the name says it; nothing for what has none."""
        if self.type not in ("DOUBLE", "BIGINT") or self.name.endswith(_COUNTS):
            return ""
        stem = self.name
        for part in _PARTS:
            stem = stem.removesuffix(part)
        return next((unit for ending, unit in _UNITS if f"_{stem}".endswith(ending)), "")


def mean_columns(key: str, meaning: str, reason: str, *, ci: bool = False) -> tuple[Column, ...]:
    """Those of a mean over trials, as :func:`linewatt.report.printing.export.mean_keys` names them."""
    columns = [
        Column(f"{key}_mean", "DOUBLE", meaning, reason),
        Column(f"{key}_sd", "DOUBLE", "standard deviation over trials; NULL of one trial", reason),
        Column(f"{key}_n", "BIGINT", "how many trials have it"),
    ]
    if ci:
        columns += [
            Column(f"{key}_ci95_{end}", "DOUBLE", f"{end} end of the mean's 95 % interval; NULL of one trial")
            for end in ("low", "high")
        ]
        columns.append(
            Column(
                f"{key}_ci95_method",
                "VARCHAR",
                "student-t, bca-bootstrap, or Student's with a longer arm, on a scale or cut",
            )
        )
    return tuple(columns)


def cells(row: Mapping[str, Any], columns: Sequence[Column], of: str) -> list[Cell]:
    """The values of a row in the order of the columns; ``of`` names its result in messages.

    Raises StoreError for a number that no column can hold, and KeyError for a key without a column: nothing
    is left out in silence.
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
        raise StoreError(f"{of}: {column.name} {value!r:.40} is no count that a table can hold")
    return int(value)
