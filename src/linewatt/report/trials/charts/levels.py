# SPDX-License-Identifier: Apache-2.0
"""Figures of load levels: efficiency and power of one end against load, a line a case.

Whether watts were measured is said in the title and the caption, by the line's dashes and by filled or hollow
points, so that it survives grey paper. A level that missed its target has a point of another shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from linewatt.analysis.cases.load_levels import LevelCurve
from linewatt.analysis.statistics.stats import Estimate
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import PROVENANCE_WORDS
from linewatt.report.series import test_title
from linewatt.report.trials.charts.lines import Line, LineChart, Point
from linewatt.report.trials.charts.power import PER_WATT, POWER, PowerQuantity, read_system
from linewatt.report.trials.level_table import LevelCases
from linewatt.report.trials.levels import level_name
from linewatt.units import percent_from_ratio

_GROUND = "var(--ground, #ffffff)"
"""Inside of a hollow point: the page, so that no line runs through it"""

# dashes of the line, whether its points are hollow, and what that means
_LOOKS: dict[str, tuple[list[int], bool, str]] = {
    "measured": ([1, 0], False, "solid line, filled points: measured watts"),
    "from datasheet": ([10, 4], True, "long dashes, hollow points: watts from a datasheet"),
    "estimated": ([5, 3], True, "dashed line, hollow points: estimated watts"),
    "simulated": ([2, 3], True, "dotted line, hollow points: simulated watts"),
}
_REMARKS = {
    "power": "Watts of the system; 0 % is active idle: everything is ready and nothing is sent.",
    "power-efficiency": "Throughput ÷ watts of the system; higher is better. Active idle sends nothing and "
    "is not drawn.",
}


def level_figures(tables: Sequence[LevelCases], runs: Runs) -> tuple[Figure, ...]:
    """Efficiency and power of every table that has watts."""
    drawn = (
        _chart(cases, quantity, number).figure(runs)
        for number, cases in enumerate(tables, start=1)
        for quantity in (PER_WATT, POWER)
    )
    return tuple(figure for figure in drawn if figure is not None)


def _chart(cases: LevelCases, quantity: PowerQuantity, number: int) -> LineChart:
    named = zip(cases.curves, cases.names, strict=True)
    lines = [Line(name, tuple(_points(curve, quantity))) for curve, name in named]
    lines = [line for line in lines if len(line.points) > 1]
    sure = f", {cases.provenance}" if cases.provenance else ""
    words = quantity.shown.words
    return LineChart(
        name=f"level-{quantity.name}-{cases.test}-{cases.role}-{number}",
        title=f"{test_title(cases.test)}, {cases.role}: {words} against load, {cases.scope}{sure}",
        quantity=quantity.shown,
        lines=lines,
        caption=_caption(quantity, [point.look for line in lines for point in line.points]),
        axis=_axis,
        axis_note=cases.provenance,
        layers=_layers,
    )


def _points(curve: LevelCurve, quantity: PowerQuantity) -> Iterator[Point]:
    dashes = PROVENANCE_WORDS[curve.provenance or "measured"]
    for point in curve.points:
        value: Estimate | None = getattr(point, quantity.system)
        if value is None:
            continue
        look = PROVENANCE_WORDS[point.provenance or "measured"]
        state = "missed" if point.missed else "met"
        yield Point(
            x=percent_from_ratio(point.level),
            place=level_name(point.level),
            case=point.summary.case,
            value=value,
            read=partial(read_system, quantity, curve.role),
            look={"line": dashes, "look": look, "hollow": _LOOKS[look][1], "state": state},
            remark=" (missed)" if point.missed else "",
        )


def _axis(levels: Sequence[float]) -> Spec:
    axis: Spec = {
        "values": sorted({0.0, 100.0, *levels}),
        "labelExpr": "datum.value + ' %'",
        "grid": False,
        "labelOverlap": "greedy",
    }
    return specs.amount("x", "Load, % of the calibrated maximum", (-3, 105), **axis)


def _layers(rows: Sequence[Row]) -> list[Spec]:
    """Runs and error bars as in other figures, then the line and its points by their looks."""
    means = [row for row in rows if row["kind"] == "mean"]
    dashes = {name: look[0] for name, look in _LOOKS.items() if any(row["line"] == name for row in means)}
    line: Spec = {
        "transform": specs.only(kind="mean"),
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {"strokeDash": specs.looks("line", dashes)},
    }
    met_or_missed = {
        "shape": specs.looks("state", {"met": "circle", "missed": "diamond"}),
        "size": specs.looks("state", {"met": 64, "missed": 120}),
    }
    points: list[Spec] = [
        {
            "transform": specs.only(kind="mean", hollow=hollow),
            "mark": {"type": "point", "filled": not hollow, "opacity": 1, **look},
            "encoding": met_or_missed,
        }
        for hollow, look in ((False, {}), (True, {"fill": _GROUND, "strokeWidth": 1.8}))
        if any(row["hollow"] == hollow for row in means)
    ]
    return [*specs.spread_layers(), line, *points]


def _caption(quantity: PowerQuantity, shown: Sequence[Mapping[str, object]]) -> str:
    """How to read the figure; only the looks that are in it are explained."""
    present = {look[key] for look in shown for key in ("look", "line")}
    meanings = "; ".join(meaning for name, (_, _, meaning) in _LOOKS.items() if name in present)
    missed = any(look["state"] == "missed" for look in shown)
    diamond = " Diamond: the level missed its target, so the load there is not what the axis says."
    return f"{_REMARKS[quantity.name]} {meanings[:1].upper()}{meanings[1:]}.{diamond if missed else ''}"
