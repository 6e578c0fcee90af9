# SPDX-License-Identifier: Apache-2.0
"""Heat maps of a host matrix: sender × receiver, every value printed in its cell.

Colours are seven steps of one hue that differ in lightness, so that they are told apart without colour vision
and on grey paper; each is a CSS custom property with a text colour of its own, so that the page decides on
light or dark. Steps begin at 0, so that small differences look small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from linewatt.analysis.cases import CaseSummary, Matrix
from linewatt.analysis.metrics import METRIC_BY_NAME, POWER_BY_NAME, Unit, significant_digits
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.analysis.statistics import Estimate
from linewatt.model import ENDS, Role
from linewatt.report.charts import data, specs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import provenance_words
from linewatt.report.series import test_title
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, text_cells
from linewatt.report.trials.settings.matrix import NO_TRIAL, PairCases, w_per_rate
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
_SHORT = significant_digits(3)
_WIDE_FROM = 7
"""hosts from which a map takes the width of the page"""
_STEPS_PX = ((6, 58), (10, 50))
"""most hosts, and the width of a cell up to there"""
_SMALLEST_PX = 42
_PAGE_PX, _LABELS_PX = 1120, 100
"""width of the page, and of what stands beside the cells of a map"""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One ordered pair: ``step`` is that of its colour; without a value ``reason`` says why."""

    sender: str
    receiver: str
    text: str
    step: int | None
    reason: str | None = None
    best: bool = False
    """of its map, as far as its figures tell"""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One quantity of one matrix; pairs of a host with itself have no cell.

    ``label`` tells it apart from others of its test, if there are any; those have the same ``name``.
    """

    title: str
    label: str
    unit: str
    matrix: Matrix
    cells: tuple[HeatCell, ...]
    remark: str
    name: str


def grid(heat_map: HeatMap) -> Table:
    """The values of a map as a table: rows send, columns receive; a host has none for itself."""
    texts = {(cell.sender, cell.receiver): cell.text for cell in heat_map.cells}
    hosts = heat_map.matrix.hosts
    rows = (
        Row((Cell(sender),), text_cells(*(texts.get((sender, receiver), "") for receiver in hosts)))
        for sender in hosts
    )
    return Table(
        f"{heat_map.title}{f', {heat_map.label}' if heat_map.label else ''} ({heat_map.unit})",
        (Head("sender ↓ receiver →", kind="text"),),
        tuple(map(Head, hosts)),
        (RowGroup("", tuple(rows)),),
    )


_Best = Callable[[Iterable[float]], float]


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What a map is of: its words, how it is read from a case, in which unit, and which value is the best."""

    name: str
    words: str
    remark: str
    best: _Best
    unit: Unit
    read: Callable[[CaseSummary], Estimate | None]
    why_missing: Callable[[CaseSummary], str]


def _quantities(summaries: Sequence[CaseSummary]) -> Iterator[_Quantity]:
    """Throughput, then what it costs each end in CPU and in watts above idle."""
    yield _of_metric("throughput_bps", "throughput", "Mean of the trials; more is better.", max, summaries)
    for role in ENDS:
        words = f"CPU per throughput at the {role}"
        remark = "App and IRQ CPUs, 100 % is one core; less is better."
        yield _of_metric(f"{role}_cpu_cores_per_bps", words, remark, min, summaries)
    for role in ENDS:
        yield from _of_watts(role, summaries)


def _of_metric(
    name: str, words: str, remark: str, best: _Best, summaries: Sequence[CaseSummary]
) -> _Quantity:
    def read(summary: CaseSummary) -> Estimate | None:
        return summary.values.get(name)

    def why_missing(summary: CaseSummary) -> str:
        return summary.reasons.get(name, "not recorded")

    return _Quantity(name, words, remark, best, METRIC_BY_NAME[name].unit(summaries), read, why_missing)


def _of_watts(role: Role, summaries: Sequence[CaseSummary]) -> Iterator[_Quantity]:
    """Watts above idle per throughput; none where hosts have watts of several scopes."""
    metric = POWER_BY_NAME["dynamic_w_per_bps"]
    powers = [power for summary in summaries if (power := summary.power(role)) is not None]
    scopes = {power.system_scope for power in powers if power.system_scope}
    if len(scopes) != 1:
        return
    (scope,) = scopes
    sure = provenance_words([power.system_provenance for power in powers])
    kind = f"{SCOPE_WORDS.get(scope, scope)}{f' ({sure})' if sure else ''}"

    def read(summary: CaseSummary) -> Estimate | None:
        power = summary.power(role)
        return None if power is None else power.values.get(metric.name)

    def why_missing(summary: CaseSummary) -> str:
        power = summary.power(role)
        return "no watts are known" if power is None else power.reasons.get(metric.name, "not recorded")

    yield _Quantity(
        f"{role}_{metric.name}",
        f"power above idle per throughput at the {role}, {kind}",
        "Less is better.",
        min,
        w_per_rate(summaries),
        read,
        why_missing,
    )


def heat_maps(tests: Iterable[PairCases]) -> tuple[HeatMap, ...]:
    """Throughput and the costs of both ends of every matrix; maps of one test share their scale."""
    maps = []
    for cases in tests:
        summaries = [cell for _, matrix in cases.drawn for cell in matrix.cells.values()]
        for quantity in _quantities(summaries):
            values = [value.mean for summary in summaries if (value := quantity.read(summary)) is not None]
            for label, matrix in cases.drawn if values else ():
                maps.append(
                    HeatMap(
                        title=f"{test_title(cases.test)}: {quantity.words}",
                        label=label,
                        unit=quantity.unit.name,
                        matrix=matrix,
                        cells=_marked(_cells(matrix, quantity, max(values)), quantity.best),
                        remark=quantity.remark,
                        name=f"{quantity.name}-{cases.test}",
                    )
                )
    return tuple(maps)


def _marked(cells: Iterable[tuple[HeatCell, float | None]], best: _Best) -> tuple[HeatCell, ...]:
    """The cells, with those marked whose figure is the best one; none where all have the same."""
    valued = list(cells)
    text_by_value = {value: cell.text for cell, value in valued if value is not None}
    text = text_by_value[best(text_by_value)] if len(set(text_by_value.values())) > 1 else None
    return tuple(replace(cell, best=value is not None and cell.text == text) for cell, value in valued)


def _cells(matrix: Matrix, quantity: _Quantity, top: float) -> Iterator[tuple[HeatCell, float | None]]:
    """The cell of each ordered pair, and its value, SI."""
    for sender, receiver in permutations(matrix.hosts, 2):
        summary = matrix.cells.get((sender, receiver))
        value = None if summary is None else quantity.read(summary)
        if value is not None:
            step = min(len(STEPS) - 1, int(len(STEPS) * value.mean / top)) if top > 0 else 0
            yield HeatCell(sender, receiver, _SHORT(quantity.unit.from_si(value.mean)), step), value.mean
        else:
            why = NO_TRIAL if summary is None else quantity.why_missing(summary)
            yield HeatCell(sender, receiver, MISSING, None, why), None


def heat_figures(maps: Sequence[HeatMap]) -> tuple[Figure, ...]:
    """The maps as charts: those of one test and quantity are panels of one figure."""
    alike: dict[str, list[HeatMap]] = {}
    for heat_map in maps:
        alike.setdefault(heat_map.name, []).append(heat_map)
    return tuple(_figure(panels) for panels in alike.values())


def _figure(panels: Sequence[HeatMap]) -> Figure:
    first = panels[0]
    caption = f"{first.unit}; rows send, columns receive. {first.remark} Colour steps begin at 0."
    missing = sorted({cell.reason or "" for panel in panels for cell in panel.cells if cell.step is None})
    if missing:
        caption += f" Dashed, {MISSING}: {'; '.join(missing)}."
    if any(cell.best for panel in panels for cell in panel.cells):
        caption += f" Outlined: the best{' of each map' if len(panels) > 1 else ''}."
    columns = panel_columns(len(first.matrix.hosts), len(panels))
    rows = [row for panel in panels for row in _rows(panel)]
    return Figure(
        name=f"matrix-{first.name}",
        title=first.title,
        caption=caption,
        description="; ".join(_words(panel) for panel in panels),
        spec=_spec(rows, first.matrix.hosts, [panel.label for panel in panels], columns),
        wide=columns > 1 or len(first.matrix.hosts) >= _WIDE_FROM,
    )


def _rows(heat_map: HeatMap) -> Iterator[data.Row]:
    for cell in heat_map.cells:
        row: data.Row = {"panel": heat_map.label, "sender": cell.sender, "receiver": cell.receiver}
        row |= {"text": cell.text, "best": cell.best}
        if cell.step is not None:
            ground, ink = STEPS[cell.step]
            row["fill"] = f"var(--heat-{cell.step + 1}, {ground})"
            row["ink"] = f"var(--heat-ink-{cell.step + 1}, {ink})"
        yield row


def _words(heat_map: HeatMap) -> str:
    """What a map shows, for whoever cannot see it; a large one only how it ranges."""
    values = [cell for cell in heat_map.cells if cell.step is not None]
    lead = f"{heat_map.label}: " if heat_map.label else ""
    if len(heat_map.matrix.hosts) <= _WIDE_FROM:
        cell_texts = [f"{cell.sender} → {cell.receiver} {cell.text}" for cell in heat_map.cells]
        return f"{lead}{', '.join(cell_texts)} ({heat_map.unit})"
    return f"{lead}{len(values)} of {len(heat_map.cells)} pairs have a value; the table above has them"


def panel_columns(hosts: int, panels: int) -> int:
    """How many heat maps of so many hosts stand side by side."""
    return max(1, min(panels, _PAGE_PX // (hosts * _step_px(hosts) + _LABELS_PX)))


def _step_px(hosts: int) -> int:
    return next((px for most_hosts, px in _STEPS_PX if hosts <= most_hosts), _SMALLEST_PX)


def _spec(rows: Sequence[data.Row], hosts: Sequence[str], panels: Sequence[str], columns: int) -> Spec:
    """Cells by sender (down) and receiver (across) in a map for each of ``panels``, ``columns`` abreast.

    Rows without ``fill`` are outlined only.
    """
    step = _step_px(len(hosts))
    text = {"type": "text", "fontSize": 12 if step > _SMALLEST_PX else 11}
    filled, hollow = [{"filter": "isValid(datum.fill)"}], [{"filter": "!isValid(datum.fill)"}]
    as_is = {"type": "nominal", "scale": None, "legend": None}
    shown = {"text": {"field": "text"}}
    layers = [
        {"transform": filled, "mark": "rect", "encoding": {"fill": {"field": "fill", **as_is}}},
        {"transform": hollow, "mark": _OUTLINE},
        {"transform": specs.only(best=True), "mark": _BEST},
        {"transform": filled, "mark": text, "encoding": shown | {"color": {"field": "ink", **as_is}}},
        {"transform": hollow, "mark": text, "encoding": shown | {"color": {"value": specs.MUTED}}},
    ]
    inner: Spec = {
        "width": {"step": step},
        "height": {"step": 34},
        "encoding": _by_hosts(hosts),
        "layer": layers,
    }
    room = {"left": 5, "top": 5, "right": 12, "bottom": 5}  # slanted labels end beyond their column
    spec: Spec = {"data": {"values": list(rows)}, "padding": room}
    if len(panels) == 1:
        return specs.themed(spec | inner)
    facet = specs.panels("panel", panels, specs.HEADER | {"labelOffset": 4})
    own_axes = {"resolve": {"axis": {"x": "independent", "y": "independent"}}}
    return specs.themed(spec | {"facet": facet, "columns": columns, "spec": inner} | own_axes)


_OUTLINE: Spec = {
    "type": "rect",
    "filled": False,
    "stroke": specs.MUTED,
    "strokeDash": [4, 3],
    "strokeWidth": 1,
}
_BEST: Spec = {"type": "rect", "filled": False, "stroke": "currentColor", "strokeWidth": 3}


def _by_hosts(hosts: Sequence[str]) -> Spec:
    axis: Spec = {"domain": False, "ticks": False, "labelLimit": 130, "titlePadding": 8}
    across = axis | {"orient": "top", "labelAngle": -38, "labelAlign": "left"}
    scale = {"domain": list(hosts), "paddingInner": 0.04, "paddingOuter": 0.02}
    return {
        "x": {"field": "receiver", "type": "nominal", "title": "Receiver", "axis": across, "scale": scale},
        "y": {"field": "sender", "type": "nominal", "title": "Sender", "axis": axis, "scale": scale},
    }
