# SPDX-License-Identifier: Apache-2.0
"""The metrics of docs/metrics.md from anybody's raw columns: a table in, the table with more columns out.

Nothing is guessed. A cell that cannot be used leaves the cells derived from it empty and gives a warning
that names row and column. A column of the input is never changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linewatt import units
from linewatt.analysis.metrics import formulas
from linewatt.delimited import Row, Table, TableWarning
from linewatt.errors import InvalidInput
from linewatt.features.tables import groups, inputs
from linewatt.features.tables.columns import COLUMNS, DerivedColumn, Readings
from linewatt.features.tables.inputs import Source

SIGNIFICANT_DIGITS = 12
"""Derived figures are rounded to this many digits, so that 197.01 is not shown as 197.01000000000002."""


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """The input table, the names of the added columns, and their values per row (``None`` is empty)."""

    table: Table
    added: tuple[str, ...]
    values: tuple[Mapping[str, float | None], ...]
    warnings: tuple[TableWarning, ...]


def derive(table: Table) -> DerivedTable:
    """Add every column of COLUMNS whose inputs are there. Source: docs/metrics.md.

    Raises InvalidInput when no column of the table is one that is recognised.
    """
    if not set(table.columns) & set(inputs.RECOGNISED):
        raise InvalidInput(f"no column is one that derive knows; it knows {', '.join(inputs.RECOGNISED)}")
    sources = inputs.resolve(table.columns)
    possible = [column for column in COLUMNS if _possible(column, table, sources)]
    columns = tuple(column for column in possible if column.name not in table.columns)
    plan = _Plan(sources, columns)
    warnings = [*_source_warnings(table, sources), *_column_warnings(table, possible)]
    values = plan.run(table, warnings)
    # by row; what is about the whole table comes first
    warnings.sort(key=lambda warning: warning.row or 0)
    return DerivedTable(table, tuple(column.name for column in columns), values, tuple(warnings))


def _possible(column: DerivedColumn, table: Table, sources: Mapping[str, Source]) -> bool:
    if not column.made_from <= sources.keys():
        return False
    return not column.per_mbps or any(_in_mbps(row, sources) for row in table.rows)


def _in_mbps(row: Row, sources: Mapping[str, Source]) -> bool:
    """Whether the row says by itself, in its unit cell, that its rate is in Mbit/s."""
    _, *unit = sources["throughput_bps"].columns
    return bool(unit) and units.rate_unit_bps(row.cells[unit[0]]) == units.BPS_PER_MBPS


def _source_warnings(table: Table, sources: Mapping[str, Source]) -> Iterator[TableWarning]:
    """Where the choice of columns is not what a reader may expect."""
    used = {column for source in sources.values() for column in source.columns}
    for column in table.columns:
        if column.startswith("published_") and column in used & inputs.NUMERIC:
            yield TableWarning("read as the throughput, as the table has no other", column=column)
        elif column in inputs.NUMERIC - used and not column.startswith("published_"):
            quantity, source = inputs.first_source(column)
            if quantity in sources:
                others = " and ".join(sources[quantity].columns)
                yield TableWarning(f"not read: {others} is read in its place", column=column)
            else:
                lacking = next(name for name in source.columns if name not in table.columns)
                yield TableWarning(f"not read: there is no column {lacking} beside it", column=column)


def _column_warnings(table: Table, possible: Sequence[DerivedColumn]) -> Iterator[TableWarning]:
    if not possible:
        yield TableWarning("nothing can be derived: a throughput, CPU use and watts are needed in pairs")
    for column in possible:
        if column.name in table.columns:
            yield TableWarning("already in the table: kept as it is, not derived", column=column.name)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where each quantity is read, and the columns to add."""

    sources: Mapping[str, Source]
    columns: tuple[DerivedColumn, ...]

    def run(self, table: Table, warnings: list[TableWarning]) -> tuple[dict[str, float | None], ...]:
        readings = [self._read(row, warnings) for row in table.rows]
        if any("instances" in column.made_from for column in self.columns):
            self._add_references(table, readings, warnings)
        rows = zip(table.rows, readings, strict=True)
        return tuple(self._compute(row, read, warnings) for row, read in rows)

    def _read(self, row: Row, warnings: list[TableWarning]) -> dict[str, float]:
        if not row.aligned:  # has its warning already
            return {}
        bad: dict[str, str] = {}
        values = {quantity: source.read(row.cells, bad) for quantity, source in self.sources.items()}
        for column, why in bad.items():
            quantities = {quantity for quantity, source in self.sources.items() if column in source.columns}
            self._warn(row, column, why, self._affected(row, quantities), warnings)
        readings = {quantity: value for quantity, value in values.items() if value is not None}
        self._check_idle(row, readings, warnings)
        return readings

    def _check_idle(self, row: Row, readings: dict[str, float], warnings: list[TableWarning]) -> None:
        """Drop an idle power that the load's does not exceed: no cost can be read from the two."""
        power_w, idle_w = readings.get("power_w"), readings.get("idle_w")
        if power_w is None or idle_w is None or formulas.dynamic_w(power_w, idle_w) is not None:
            return
        del readings["idle_w"]
        why = f"{power_w:g} W under load is not above the {idle_w:g} W of idle_w"
        (column,) = self.sources["power_w"].columns
        self._warn(row, column, why, self._affected(row, {"idle_w"}), warnings)

    def _affected(self, row: Row, quantities: set[str]) -> list[str]:
        columns = [column for column in self.columns if self._applies(column, row)]
        return [column.name for column in columns if column.made_from & quantities]

    def _applies(self, column: DerivedColumn, row: Row) -> bool:
        return not column.per_mbps or _in_mbps(row, self.sources)

    def _add_references(
        self, table: Table, readings: Sequence[dict[str, float]], warnings: list[TableWarning]
    ) -> None:
        """Add the figures of each row's reference to its readings."""
        known_columns = {*inputs.RECOGNISED, *(column.name for column in COLUMNS)}
        agree = groups.group_columns(table, known_columns)
        references = groups.find_references(table.rows, [read.get("instances") for read in readings], agree)
        for row, read, reference in zip(table.rows, readings, references, strict=True):
            if isinstance(reference, int):
                why = f"its reference, row {table.rows[reference].number}, lacks a usable figure"
                self._add_reference(read, readings[reference])
            else:
                why = reference.why if reference else ""
            lacking = [column.name for column in self.columns if _lacks_reference(column, read)]
            self._warn(row, "instances", why, lacking, warnings)

    @staticmethod
    def _add_reference(read: dict[str, float], reference: Readings) -> None:
        throughput_bps = reference.get("throughput_bps")
        efficiency = formulas.efficiency_bps_per_core(throughput_bps, reference.get("efficiency_cores"))
        if throughput_bps is not None:
            read["single_throughput_bps"] = throughput_bps
        if efficiency is not None:
            read["single_efficiency_bps_per_core"] = efficiency

    def _compute(self, row: Row, read: Readings, warnings: list[TableWarning]) -> dict[str, float | None]:
        values: dict[str, float | None] = dict.fromkeys(column.name for column in self.columns)
        for column in self.columns:
            if self._applies(column, row) and read.keys() >= set(column.needs):
                value = _tidy(column.compute(read))
                if value is None:
                    why = "the figures of the row are too large or too small together; left empty"
                    warnings.append(TableWarning(why, row.number, row.line, column.name))
                values[column.name] = value
        return values

    @staticmethod
    def _warn(row: Row, column: str, why: str, empty: Sequence[str], warnings: list[TableWarning]) -> None:
        if empty:
            message = f"{why}; left empty: {', '.join(empty)}"
            warnings.append(TableWarning(message, row.number, row.line, column))


def _lacks_reference(column: DerivedColumn, read: Readings) -> bool:
    """Whether the row has all of its own that ``column`` needs, but not its reference's."""
    return column.made_from <= read.keys() and not read.keys() >= set(column.needs)


def _tidy(value: float | None) -> float | None:
    """``value`` without the noise of binary fractions; ``None`` for what is not a finite number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") or None
