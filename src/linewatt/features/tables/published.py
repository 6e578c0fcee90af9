# SPDX-License-Identifier: Apache-2.0
"""Published tables that hold no runs: means with their SD, parts of a machine, watts of a router. Pure.

What is read of each is a value; a cell that cannot be right ends reading with its row and column.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from linewatt.analysis.metrics import significant_digits
from linewatt.analysis.power import (
    BASE_POWER,
    EnergyFit,
    PacketEnergy,
    Part,
    Reading,
    fit_energy,
    fit_packet_energy,
)
from linewatt.analysis.power import Row as EnergyRow
from linewatt.delimited import Row, Table, TableWarning, is_figure, parse_number
from linewatt.errors import InvalidInput
from linewatt.features.tables import inputs
from linewatt.features.tables.derive import derive
from linewatt.features.tables.groups import CASE_COLUMNS
from linewatt.features.tables.imported import Reader, aligned, one_of, same_words
from linewatt.features.tables.inputs import Source
from linewatt.missing import Missing
from linewatt.model import Provenance
from linewatt.records import Component, ComponentKind
from linewatt.units import bps_from_gbps, format_rate

MEANS, PACKET_POWER, COMPONENTS, SOAK = "mean ± SD", "packet power", "components", "soak"
PACKET_POWER_COLUMNS = ("ports", "header_bytes", "packet_size_bytes", "rate_gbps", "power_w")
COMPONENT_COLUMNS = ("component", "power_w", "provenance")
KIND_OF_PART = "kind"
"""the column that says which kind of part a row is; without it a name such as CPU says so"""
_KINDS_OF_PARTS: Mapping[str, ComponentKind] = same_words(*get_args(ComponentKind))
MOST_PORT_BPS, LEAST_DEVICE_W = 1.6e12, 1.0
"""beyond what any port carries, and below what any device with ports draws"""
_SD, _FOUR = "_sd", significant_digits(4)
THROUGHPUT_SD = f"throughput{_SD}"
"""SD of the throughput, however its column is named; in the unit of the throughput"""
_RATE_UNITS = {"throughput_mbps": "Mbps", "throughput_gbps": "Gbps", "throughput_bps": "bit/s"}
_RUNS = ("runs", "n", "trials")
_NO_FIGURE = "{} is too large or too small for a figure"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean as it was published; ``sd`` is ``None`` where its cell is empty. Texts are as printed.

    ``is_derived``: it is made of published ones, and ``sd`` is the largest that is possible.
    """

    value: float
    sd: float | None
    text: str
    sd_text: str
    is_derived: bool = False


@dataclass(frozen=True, slots=True)
class Throughput:
    """The throughput of a row as it was published, and the column that has it.

    ``has_unit_column``: its unit stands in a column, and may be another in each row.
    """

    column: str
    mean: Mean
    unit: str
    has_unit_column: bool

    @property
    def label(self) -> str:
        return f"{self.column} {self.unit}" if self.has_unit_column else self.column


@dataclass(frozen=True, slots=True)
class MeanRow:
    """What a row is, in words by column; its means; what follows; what else was published, as printed.

    ``runs`` is over how many runs the means are; ``None``: the table does not say. ``costs`` are throughput,
    CPU used and CPU per throughput, where the table does not have them as means; their SD is a bound.
    """

    names: Mapping[str, str]
    means: Mapping[str, Mean | None]
    derived: Mapping[str, float | None]
    printed: Mapping[str, str]
    runs: int | None
    costs: Mapping[str, Mean]
    rate_bps: float | None
    throughput: Throughput | None


@dataclass(frozen=True, slots=True)
class Means:
    """A table of means with SDs."""

    names: tuple[str, ...]
    figures: tuple[str, ...]
    derived: tuple[str, ...]
    printed: tuple[str, ...]
    rows: tuple[MeanRow, ...]
    warnings: tuple[TableWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class PacketPower:
    """Watts of a router over packet sizes and rates, and what a bit and a packet cost."""

    readings: tuple[Reading, ...]
    model: PacketEnergy | None
    reason: str | None
    ports: float
    header_bytes: float


@dataclass(frozen=True, slots=True)
class Components:
    """Parts of a machine and what each draws."""

    parts: tuple[Part, ...]

    @property
    def total_w(self) -> float:
        """W of all of them."""
        return sum(part.power_w for part in self.parts)

    @property
    def declared(self) -> list[Component]:
        """As a campaign declares those of a host."""
        return [
            Component(part.name, part.power_w, part.provenance, kind=part.kind)
            for part in self.parts
            if part.kind != "rest"
        ]


def with_sd(columns: Collection[str]) -> dict[str, str]:
    """The columns beside which stands their SD → the column of that."""
    sd_columns = {name: f"{name}{_SD}" for name in columns if f"{name}{_SD}" in columns}
    if THROUGHPUT_SD in columns and THROUGHPUT_SD not in sd_columns.values():
        source = inputs.resolve(columns).get("throughput_bps")
        if source is not None:
            sd_columns.setdefault(source.columns[0], THROUGHPUT_SD)
    return {name: sd_columns[name] for name in columns if name in sd_columns}


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
    sources = inputs.resolve(table.columns)
    means_by_row = [
        {
            name: _mean(Reader(aligned(row, source), source), name, sd_name)
            for name, sd_name in figures.items()
        }
        for row in table.rows
    ]
    rows = tuple(
        MeanRow(
            {name: row.cells[name] for name in names},
            row_means,
            values,
            {name: row.cells[name] for name in printed},
            None if runs is None else Reader(row, source).optional(runs, _runs, None),
            dict(_costs(row, sources, row_means, values)),
            sources["throughput_bps"].read(row.cells, {}) if "throughput_bps" in sources else None,
            _throughput(row, sources.get("throughput_bps"), row_means),
        )
        for row, values, row_means in zip(table.rows, added, means_by_row, strict=True)
    )
    return Means(
        names,
        tuple(figures),
        ()
        if derived is None
        else tuple(name for name in derived.added if any(row[name] is not None for row in added)),
        printed,
        rows,
        () if derived is None else derived.warnings,
    )


def packet_power(table: Table, source: str) -> PacketPower:
    """Read a table of a router's watts. Raises InvalidInput."""
    return _packet_power([_reading(row, source) for row in table.rows], source)


def _packet_power(read: Sequence[tuple[float, float, Reading]], source: str) -> PacketPower:
    boxes = {(ports, header) for ports, header, _ in read}
    if len(boxes) > 1:
        raise InvalidInput(
            f"{source}: ports and header_bytes vary; import each combination as a table of its own"
        )
    ports, header = boxes.pop()
    readings = tuple(reading for _, _, reading in read)
    energy = fit_packet_energy(readings, ports, header)
    model, reason = (None, energy.reason) if isinstance(energy, Missing) else (energy, None)
    return PacketPower(readings, model, reason, ports, header)


def _reading(row: Row, source: str) -> tuple[float, float, Reading]:
    """Ports, bytes of headers, and what was read of a row of watts. Raises InvalidInput."""
    read = Reader(aligned(row, source), source)
    ports, size = (read.cell(name, _positive) for name in ("ports", "packet_size_bytes"))
    header = read.cell("header_bytes", _not_negative)
    rate, watts = read.cell("rate_gbps", _not_negative), read.cell("power_w", _positive)
    return ports, header, Reading(size, bps_from_gbps(rate), watts)


def packet_energy_fit(table: Table, source: str) -> EnergyFit:
    """What a bit and a packet cost a router, of the rows that can be read. Raises InvalidInput."""
    lacking = [name for name in PACKET_POWER_COLUMNS if name not in table.columns]
    if lacking:
        needed = ", ".join(PACKET_POWER_COLUMNS)
        raise InvalidInput(f"{source}: the table lacks {', '.join(lacking)}; it needs {needed}")
    read, names, unread = [], [], []
    for row in table.rows:
        try:
            read.append(_reading(row, source))
            names.append(f"row {row.number} (line {row.line})")
        except InvalidInput as error:
            unread.append(error.without(source))
    if not read:
        raise InvalidInput(f"{source}: no row can be read: {unread[0]}")
    power = _packet_power(read, source)
    step_w = _step_w(power.readings)
    rows = [
        EnergyRow(
            power.ports * reading.rate_bps,
            power.ports * reading.rate_bps / 8 / (reading.size_bytes + power.header_bytes),
            reading.power_w,
            name,
            (step_w or 0.0) / 2,
        )
        for reading, name in zip(power.readings, names, strict=True)
    ]
    published = power.model if power.reason is None else Missing(power.reason)
    fit = fit_energy(rows, step_w, published)
    fit = fit.warned(*_units_doubt(power.readings, fit))
    if not unread:
        return fit
    more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
    cut = f"{len(unread)} of {len(table.rows)} rows left out, and more may be missing: {unread[0]}{more}"
    return replace(fit, warnings=(cut, *fit.warnings))


def _units_doubt(readings: Sequence[Reading], fit: EnergyFit) -> Iterator[str]:
    """Where a column seems to be in another unit than its name says."""
    most_bps = max(reading.rate_bps for reading in readings)
    if most_bps > MOST_PORT_BPS:
        yield f"{format_rate(most_bps)} on one port is more than any has: is rate_gbps in Mbit/s?"
    least_w = min(reading.power_w for reading in readings)
    base_w = fit.figures[BASE_POWER.key].value
    if (least_w if base_w is None else base_w) < LEAST_DEVICE_W:
        what = "power without traffic" if base_w is not None else "the least power"
        yield f"{what} is below {LEAST_DEVICE_W:g} W: is power_w in kW, or without idle?"


def _step_w(readings: Sequence[Reading]) -> float | None:
    """The largest step of which all differences of the watts are multiples; None where all are the same."""
    watts = [round(reading.power_w * 1e6) for reading in readings]
    return math.gcd(*(power_uw - watts[0] for power_uw in watts)) / 1e6 or None


def components(table: Table, source: str) -> Components:
    """Read a table of parts. Raises InvalidInput."""
    provenances: Mapping[str, Provenance] = same_words(*get_args(Provenance))
    parts = []
    for row in table.rows:
        read = Reader(aligned(row, source), source)
        watts = read.cell("power_w", _positive)
        provenance = read.cell("provenance", lambda cell: one_of(cell, provenances))
        name = read.cell("component", _named)
        kind = read.optional("kind", lambda cell: one_of(cell, _KINDS_OF_PARTS), None)
        parts.append(Part(name, kind or _KINDS_OF_PARTS.get(name.casefold(), "other"), watts, provenance))
    return Components(tuple(parts))


def _mean(read: Reader, name: str, sd_name: str) -> Mean | None:
    value = read.optional(name, _figure, None)
    sd = read.optional(sd_name, _not_negative, None)
    cells = read.row.cells
    return None if value is None else Mean(value, sd, cells[name], cells[sd_name])


def _throughput(row: Row, source: Source | None, row_means: Mapping[str, Mean | None]) -> Throughput | None:
    if source is None:
        return None
    column, *unit_columns = source.columns
    value = parse_number(row.cells[column])
    mean = row_means.get(column) or (None if value is None else Mean(value, None, row.cells[column], ""))
    unit = row.cells[unit_columns[0]] if unit_columns else _RATE_UNITS[column]
    return None if mean is None else Throughput(column, mean, unit, bool(unit_columns))


def _costs(
    row: Row,
    sources: Mapping[str, Source],
    row_means: Mapping[str, Mean | None],
    derived: Mapping[str, float | None],
) -> Iterator[tuple[str, Mean]]:
    """Throughput, CPU used and CPU per throughput that are no means of the table, by what they are called.

    The SD of a sum is at most the sum of the SDs, and the relative SD of a quotient at most the sum of the
    relative SDs (to first order): without the runs nothing is known of how the parts vary together.
    """
    rate_source, cpu_source = sources.get("throughput_bps"), sources.get("cost_cores")
    if rate_source is None:
        return
    column, *unit_columns = rate_source.columns
    rate = row_means.get(column)
    rate_value = parse_number(row.cells[column])
    if rate is None and rate_value:
        rate = Mean(rate_value, None, row.cells[column], "")
        yield " ".join((column, *(row.cells[name] for name in unit_columns))), rate
    used_pct = derived.get("cpu_used_pct")
    if rate is None or cpu_source is None:
        return
    parts = [row_means.get(name) for name in cpu_source.columns]
    used_sd = _sum([None if part is None else part.sd for part in parts])
    if used_pct is not None:
        yield "cpu_used_pct", _bounded(used_pct, used_sd)
    elif len(parts) == 1 and parts[0] is not None:
        used_pct = parts[0].value
    for name in ("cpu_pct_per_mbps", "cpu_pct_per_gbps"):
        cost = derived.get(name)
        if cost is not None:
            ratios = [
                None if sd is None or not value else sd / value
                for sd, value in ((used_sd, used_pct), (rate.sd, rate.value))
            ]
            relative = _sum(ratios)
            yield name, _bounded(cost, None if relative is None else relative * cost)
            return


def _bounded(value: float, sd: float | None) -> Mean:
    return Mean(value, sd, _FOUR(value), "" if sd is None else f"{sd:.2g}", is_derived=True)


def _sum(values: Sequence[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return sum(known_values) if len(known_values) == len(values) else None


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
