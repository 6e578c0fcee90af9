# SPDX-License-Identifier: Apache-2.0
"""Published tables that hold no runs: means with their SD, parts of a machine, watts of a router. Pure.

What is read of each is a value; a cell that cannot be right ends reading with its row and column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import get_args

from linewatt.analysis.power.components import Part
from linewatt.analysis.power.packet_energy import PacketEnergy, Reading, packet_energy
from linewatt.analysis.tables import inputs
from linewatt.analysis.tables.derive import derive
from linewatt.analysis.tables.groups import CASE_COLUMNS
from linewatt.analysis.tables.imported import Reader, one_of, same_words
from linewatt.analysis.tables.table import Table, TableWarning, parse_number
from linewatt.errors import InvalidInput
from linewatt.model import Provenance
from linewatt.units import bps_from_gbps

MEANS, PACKET_POWER, COMPONENTS, SOAK = "mean ± SD", "packet power", "components", "soak"
PACKET_POWER_COLUMNS = ("ports", "header_bytes", "packet_size_bytes", "rate_gbps", "power_w")
COMPONENT_COLUMNS = ("component", "power_w", "provenance")
_SD = "_sd"
_RUNS = ("runs", "n", "trials")
_LARGEST = 1e30
_NO_FIGURE = "{} is too large or too small for a figure"
"""Beyond it squares of figures are no numbers any more."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean as it was published; ``sd`` is ``None`` where its cell is empty. Texts are as printed."""

    value: float
    sd: float | None
    text: str
    sd_text: str


@dataclass(frozen=True, slots=True)
class MeanRow:
    """What a row is, in words by column; its means; what follows; what else was published, as printed.

    ``runs`` is over how many runs the means are; ``None``: the table does not say.
    """

    names: Mapping[str, str]
    means: Mapping[str, Mean | None]
    derived: Mapping[str, float | None]
    printed: Mapping[str, str]
    runs: int | None


@dataclass(frozen=True, slots=True)
class Means:
    """A table of means with SDs."""

    names: tuple[str, ...]
    figures: tuple[str, ...]
    derived: tuple[str, ...]
    printed: tuple[str, ...]
    rows: tuple[MeanRow, ...]
    warnings: tuple[TableWarning, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PacketPower:
    """Watts of a router over packet sizes and rates, and what a bit and a packet cost."""

    readings: tuple[Reading, ...]
    model: PacketEnergy | None
    reason: str | None
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Components:
    """Parts of a machine and what each draws."""

    parts: tuple[Part, ...]
    unread: tuple[str, ...]

    @property
    def total_w(self) -> float:
        """W of all of them."""
        return sum(one.power_w for one in self.parts)


def with_sd(columns: Collection[str]) -> tuple[str, ...]:
    """The columns beside which stands their SD."""
    return tuple(name for name in columns if f"{name}{_SD}" in columns)


def means(table: Table, source: str) -> Means:
    """Read a table of means. Raises InvalidInput."""
    figures = with_sd(table.columns)
    runs = next((name for name in _RUNS if name in table.columns), None)
    others = [
        name for name in table.columns if name not in figures and not name.endswith(_SD) and name != runs
    ]
    names = tuple(name for name in others if not name.startswith("published_") and _is_name(table, name))
    derived = derive(table) if set(table.columns) & set(inputs.RECOGNISED) else None
    added = [{}] * len(table.rows) if derived is None else derived.values
    printed = tuple(name for name in others if name not in names)
    rows = tuple(
        MeanRow(
            {name: row.cells[name] for name in names},
            {name: _mean(Reader(row, source), name) for name in figures},
            values,
            {name: row.cells[name] for name in printed},
            None if runs is None else Reader(row, source).optional(runs, _runs, None),
        )
        for row, values in zip(_aligned(table, source).rows, added, strict=True)
    )
    return Means(
        names,
        figures,
        ()
        if derived is None
        else tuple(name for name in derived.added if any(row[name] is not None for row in added)),
        printed,
        rows,
        () if derived is None else derived.warnings,
    )


def packet_power(table: Table, source: str) -> PacketPower:
    """Read a table of a router's watts. Raises InvalidInput."""
    readings, boxes = [], set()
    for row in _aligned(table, source).rows:
        read = Reader(row, source)
        ports, header, size, rate, watts = (read.cell(name, _positive) for name in PACKET_POWER_COLUMNS)
        boxes.add((ports, header))
        readings.append(Reading(size, bps_from_gbps(rate), watts))
    if len(boxes) > 1:
        raise InvalidInput(
            f"{source}: ports and header_bytes vary; import each combination as a table of its own"
        )
    found = packet_energy(readings, *boxes.pop())
    model, reason = (None, found) if isinstance(found, str) else (found, None)
    return PacketPower(tuple(readings), model, reason, _unread(table, PACKET_POWER_COLUMNS))


def components(table: Table, source: str) -> Components:
    """Read a table of parts. Raises InvalidInput."""
    known: Mapping[str, Provenance] = same_words(*get_args(Provenance))
    parts = []
    for row in _aligned(table, source).rows:
        read = Reader(row, source)
        watts = read.cell("power_w", _positive)
        provenance = read.cell("provenance", lambda cell: one_of(cell, known))
        parts.append(Part(read.cell("component", _named), "other", watts, provenance))
    return Components(tuple(parts), _unread(table, COMPONENT_COLUMNS))


def _mean(read: Reader, name: str) -> Mean | None:
    value = read.optional(name, _figure, None)
    sd = read.optional(f"{name}{_SD}", _not_negative, None)
    cells = read.row.cells
    return None if value is None else Mean(value, sd, cells[name], cells[f"{name}{_SD}"])


def is_figure(value: float) -> bool:
    """Whether what is made of it stays a number."""
    return value == 0 or 1 / _LARGEST <= abs(value) <= _LARGEST


def refuse_no_figures(table: Table, source: str) -> None:
    """Raises InvalidInput for the first number that is none of a table."""
    for row in table.rows:
        for name, cell in row.cells.items():
            value = None if name in CASE_COLUMNS else parse_number(cell)
            if value is not None and not is_figure(value):
                place = f"row {row.number} (line {row.line}), column {name}"
                raise InvalidInput(f"{source}: {place}: {_NO_FIGURE.format(cell)}")


def _figure(cell: str) -> float:
    value = inputs.number(cell)
    if not is_figure(value):
        raise inputs.BadCell(_NO_FIGURE.format(cell))
    return value


def _positive(cell: str) -> float:
    inputs.positive(cell)
    return _figure(cell)


def _not_negative(cell: str) -> float:
    value = _figure(cell)
    if value < 0:
        raise inputs.BadCell(f"{cell} is below 0")
    return value


def _runs(cell: str) -> int:
    return int(inputs.whole(cell))


def _named(cell: str) -> str:
    if not cell:
        raise inputs.BadCell("the cell is empty")
    return cell


def _is_name(table: Table, name: str) -> bool:
    """Whether a column says what a row is: a kernel is a name, also where it reads like a number."""
    return name in CASE_COLUMNS or any(
        row.cells[name] and parse_number(row.cells[name]) is None for row in table.rows
    )


def _aligned(table: Table, source: str) -> Table:
    for row in table.rows:
        if not row.aligned:
            raise InvalidInput(
                f"{source}: row {row.number} (line {row.line}): its cells are not as many as the header has"
            )
    return table


def _unread(table: Table, read: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in read)
