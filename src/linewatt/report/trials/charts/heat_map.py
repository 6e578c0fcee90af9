# SPDX-License-Identifier: Apache-2.0
"""Heat maps of a host matrix: sender × receiver, every value printed in its cell.

Colours are seven steps of one hue that differ in lightness, so that they are told apart without colour vision
and on grey paper; each is a CSS custom property with a text colour of its own, so that the page decides on
light or dark. Steps begin at 0, so that small differences look small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.matrix import Matrix
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.analysis.metrics.unit import Unit, significant
from linewatt.report.charts import data
from linewatt.report.charts.figure import Figure
from linewatt.report.series import test_title
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, texts
from linewatt.report.trials.charts.matrix_specs import heat, panel_columns
from linewatt.report.trials.matrix import NO_TRIAL, PairCases
from linewatt.units import MISSING

STEPS = (
    ("#e3eefb", "#10233d"),
    ("#c2dbf5", "#10233d"),
    ("#98c1ec", "#10233d"),
    ("#6aa3de", "#06101d"),
    ("#2f6fb8", "#ffffff"),
    ("#1d5192", "#ffffff"),
    ("#0d3468", "#ffffff"),
)
"""ground and text of each step in the light scheme; style.css has both schemes"""
_SHORT = significant(3)
_WIDE_FROM = 7
"""hosts from which a map takes the width of the page"""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One ordered pair: ``step`` is that of its colour; without a value ``reason`` says why."""

    sender: str
    receiver: str
    text: str
    step: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One quantity of one matrix; pairs of a host with itself have no cell.

    ``label`` tells it apart from others of its test, if there are any; those have the same ``name``.
    """

    title: str
    label: str
    unit: str
    hosts: tuple[str, ...]
    cells: tuple[HeatCell, ...]
    remark: str
    name: str

    def row(self, sender: str) -> list[str]:
        """Texts of one sender by receiver; empty for itself."""
        by_receiver = {cell.receiver: cell.text for cell in self.cells if cell.sender == sender}
        return [by_receiver.get(receiver, "") for receiver in self.hosts]


def grid(one: HeatMap) -> Table:
    """The values of a map as a table: rows send, columns receive."""
    return Table(
        f"{one.title}{f', {one.label}' if one.label else ''} ({one.unit})",
        (Head("sender ↓ receiver →", kind="text"),),
        tuple(map(Head, one.hosts)),
        (RowGroup("", tuple(Row((Cell(sender),), texts(*one.row(sender))) for sender in one.hosts)),),
    )


@dataclass(frozen=True, slots=True)
class _Quantity:
    field: str
    title: str
    remark: str


_QUANTITIES = (
    _Quantity("throughput_bps", "throughput", "Mean of the trials; more is better."),
    _Quantity(
        "receiver_cpu_cores_per_bps",
        "CPU per throughput at the receiver",
        "App and IRQ CPUs, 100 % is one core; less is better.",
    ),
)


def heat_maps(tests: Iterable[PairCases]) -> tuple[HeatMap, ...]:
    """Throughput and receiver CPU of every matrix; maps of one test share their scale."""
    made = []
    for cases in tests:
        drawn = cases.drawn
        for quantity in _QUANTITIES:
            summaries = [one for _, matrix in drawn for one in matrix.cells.values()]
            unit = BY_NAME[quantity.field].unit(summaries)
            values = [value for one in summaries if (value := _value(quantity, one)) is not None]
            if values:
                made += [_map(label, matrix, quantity, unit, max(values)) for label, matrix in drawn]
    return tuple(made)


def _value(quantity: _Quantity, summary: CaseSummary) -> float | None:
    found = summary.values.get(quantity.field)
    return None if found is None else float(found.mean)


def _map(label: str, matrix: Matrix, quantity: _Quantity, unit: Unit, top: float) -> HeatMap:
    test = matrix.case.test
    cells = [
        _cell(sender, receiver, matrix.cells.get((sender, receiver)), quantity, unit, top)
        for sender in matrix.hosts
        for receiver in matrix.hosts
        if sender != receiver
    ]
    return HeatMap(
        title=f"{test_title(test)}: {quantity.title}",
        label=label,
        unit=unit.name,
        hosts=matrix.hosts,
        cells=tuple(cells),
        remark=quantity.remark,
        name=f"{quantity.field}-{test}",
    )


def _cell(
    sender: str,
    receiver: str,
    summary: CaseSummary | None,
    quantity: _Quantity,
    unit: Unit,
    top: float,
) -> HeatCell:
    if summary is None:
        return HeatCell(sender, receiver, MISSING, None, NO_TRIAL)
    value = _value(quantity, summary)
    if value is None:
        return HeatCell(sender, receiver, MISSING, None, summary.reasons.get(quantity.field, "not recorded"))
    step = min(len(STEPS) - 1, int(len(STEPS) * value / top)) if top > 0 else 0
    return HeatCell(sender, receiver, _SHORT(unit.from_si(value)), step)


def heat_figures(maps: Sequence[HeatMap]) -> tuple[Figure, ...]:
    """The maps as charts: those of one test and quantity are panels of one figure."""
    alike: dict[str, list[HeatMap]] = {}
    for one in maps:
        alike.setdefault(one.name, []).append(one)
    return tuple(_figure(panels) for panels in alike.values())


def _figure(panels: Sequence[HeatMap]) -> Figure:
    first = panels[0]
    caption = f"{first.unit}; rows send, columns receive. {first.remark} Colour steps begin at 0."
    missing = sorted({cell.reason or "" for one in panels for cell in one.cells if cell.step is None})
    if missing:
        caption += f" Dashed, {MISSING}: {'; '.join(missing)}."
    columns = panel_columns(len(first.hosts), len(panels))
    rows = [row for one in panels for row in _rows(one)]
    return Figure(
        name=f"matrix-{first.name}",
        title=first.title,
        caption=caption,
        description="; ".join(_words(one) for one in panels),
        spec=heat(rows, first.hosts, [one.label for one in panels], columns),
        wide=columns > 1 or len(first.hosts) >= _WIDE_FROM,
    )


def _rows(one: HeatMap) -> list[data.Row]:
    return [
        {
            "panel": one.label,
            "sender": cell.sender,
            "receiver": cell.receiver,
            "text": cell.text,
        }
        | ({} if cell.step is None else {"fill": _colour(cell.step, 0), "ink": _colour(cell.step, 1)})
        for cell in one.cells
    ]


def _words(one: HeatMap) -> str:
    """What a map shows, for whoever cannot see it; a large one only how it ranges."""
    values = [cell for cell in one.cells if cell.step is not None]
    lead = f"{one.label}: " if one.label else ""
    if len(one.hosts) <= _WIDE_FROM:
        said = [f"{cell.sender} → {cell.receiver} {cell.text}" for cell in one.cells]
        return f"{lead}{', '.join(said)} ({one.unit})"
    return f"{lead}{len(values)} of {len(one.cells)} pairs have a value; the table above has them"


def _colour(step: int, which: int) -> str:
    name = ("heat", "heat-ink")[which]
    return f"var(--{name}-{step + 1}, {STEPS[step][which]})"
