# SPDX-License-Identifier: Apache-2.0
"""Which columns of anybody's table hold which quantity, and reading them: user units in, SI out.

A quantity is read from the first of its sources whose columns are all there. The choice is made once for
the whole table, never row by row, so that one derived column never mixes two definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from linewatt import units
from linewatt.analysis.metrics import cores_used
from linewatt.delimited import parse_number, quoted, why_no_number

MAX_INSTANCES = 10**9


class BadCell(Exception):
    """A cell, or what is made of several, gives no usable number; the text says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """One way to get a quantity: how to read each column that it takes, and how to combine them into SI.

    A reader takes the cell's text; readers and ``combine`` raise BadCell.
    """

    readers: Mapping[str, Callable[[str], float]]
    combine: Callable[..., float]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.readers)

    def read(self, cells: Mapping[str, str], bad: dict[str, str]) -> float | None:
        """The quantity in SI; ``None`` when there is none, with the reason added to ``bad`` by column."""
        values = []
        for column, reader in self.readers.items():
            try:
                values.append(reader(cells[column]))
            except BadCell as problem:
                bad[column] = str(problem)
        if len(values) < len(self.readers):
            return None
        try:
            return self.combine(*values)
        except BadCell as problem:
            bad[self.columns[-1]] = str(problem)
            return None


def number(cell: str) -> float:
    """A finite number. Raises BadCell."""
    value = parse_number(cell)
    if value is None:
        raise BadCell(why_no_number(cell))
    return value


def positive(cell: str) -> float:
    """A number greater than 0. Raises BadCell."""
    value = number(cell)
    if value <= 0:
        raise BadCell(f"{cell} is not greater than 0")
    return value


def whole(cell: str) -> float:
    """A whole number of instances. Raises BadCell."""
    value = positive(cell)
    if value != int(value) or value > MAX_INSTANCES:
        raise BadCell(f"{cell} is not a whole number of instances")
    return value


def unit(cell: str) -> float:
    """Bit/s in the unit of rate that the cell names. Raises BadCell."""
    scale = units.rate_unit_bps(cell)
    if scale is None:
        what = quoted(cell) if cell else "the empty cell"
        raise BadCell(f"{what} is not a unit of rate such as Gbps, Mbit/s or Gbits/sec")
    return scale


def share(cell: str) -> float:
    """A share 0..1 of CPU time in %. Raises BadCell."""
    value = number(cell)
    if not 0 <= value <= 100:
        raise BadCell(f"{cell} is not between 0 and 100")
    return units.ratio_from_percent(value)


def _used_cores(*idle_ratios: float) -> float:
    cores = cores_used(idle_ratios)
    if not cores:
        raise BadCell("all these CPUs are fully idle")
    return cores


def _same(value: float) -> float:
    return value


def _column(name: str, to_si: Callable[[float], float] = _same) -> Source:
    return Source({name: positive}, to_si)


def _with_unit(name: str, unit_name: str) -> Source:
    return Source({name: positive, unit_name: unit}, lambda value, scale: value * scale)


def _used(app: str, irq: str) -> Source:
    return Source({app: share, irq: share}, _used_cores)


_REMOTE = _column("remote_cpu_pct", units.cores_from_percent)
_BOTH = _column("cpu_pct", units.cores_from_percent)
_GIVEN = _column("cpu_used_pct", units.cores_from_percent)
_SUMMED = (_used("app_cpu_idle_pct", "irq_cpu_idle_pct"), _used("app_idle", "irq_idle"))
_POWER = _column("power_w")
_PSU_OUT = _column("psu_out_w")

SOURCES: Mapping[str, tuple[Source, ...]] = {
    "throughput_bps": (
        _column("throughput_mbps", units.bps_from_mbps),
        _column("throughput_gbps", units.bps_from_gbps),
        _column("throughput_bps"),
        # the unit beside the figure, in the column named like it; the unprinted figure before a printed one
        _with_unit("throughput", "throughput_unit"),
        _with_unit("throughput", "unit"),
        _with_unit("published_throughput", "published_throughput_unit"),
        _with_unit("published_throughput", "published_unit"),
    ),
    "instances": (Source({"instances": whole}, _same),),
    "efficiency_cores": (_REMOTE, _BOTH, _GIVEN, *_SUMMED),
    "cost_cores": (_BOTH, _GIVEN, *_SUMMED, _REMOTE),
    "local_cores": (_column("local_cpu_pct", units.cores_from_percent),),
    "used_cores": _SUMMED,
    "base_frequency_hz": (_column("base_frequency_ghz", units.hz_from_ghz),),
    "power_w": (_POWER, _PSU_OUT),
    "system_w": (_PSU_OUT, _POWER),
    "cpu_w": (_column("cpu_w"),),
    "idle_w": (_column("idle_w"),),
}
"""The sources of each quantity (name and SI unit), best first."""

RECOGNISED = tuple(
    dict.fromkeys(column for sources in SOURCES.values() for source in sources for column in source.columns)
)
"""Every column name that ``derive`` reads."""

NUMERIC = frozenset(
    column
    for sources in SOURCES.values()
    for source in sources
    for column, reader in source.readers.items()
    if reader is not unit
)
"""Those of RECOGNISED that hold numbers."""


def first_source(column: str) -> tuple[str, Source]:
    """The best source that takes ``column``, one of RECOGNISED, and the quantity it is for."""
    return next(
        (quantity, source)
        for quantity, sources in SOURCES.items()
        for source in sources
        if column in source.columns
    )


def resolve(columns: Collection[str]) -> dict[str, Source]:
    """The source of each quantity that the columns give; quantities without one are left out."""
    source_by_quantity: dict[str, Source] = {}
    for quantity, sources in SOURCES.items():
        for source in sources:
            if set(source.columns) <= set(columns):
                source_by_quantity[quantity] = source
                break
    return source_by_quantity
