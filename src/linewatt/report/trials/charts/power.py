# SPDX-License-Identifier: Apache-2.0
"""Figures of power: watts and throughput per watt against instances and against load.

A figure is of one table, so that the watts of a line have one scope; legends name it, and say where watts
were not measured. Against load the line's dashes and filled or hollow points say so, too, so that it survives
grey paper; a level that missed its target has a point of another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from linewatt.analysis.cases import LevelCurve
from linewatt.analysis.metrics import bps_per_w
from linewatt.analysis.power import Total
from linewatt.analysis.statistics import Estimate
from linewatt.model import EndResult, Role, Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import PROVENANCE_WORDS
from linewatt.report.series import plural, test_title
from linewatt.report.trials.charts.lines import Line, LineChart, Point, Quantity
from linewatt.report.trials.digest import cpu_power, system_power
from linewatt.report.trials.power.power_table import PowerCase, PowerCases
from linewatt.report.trials.settings.levels import LevelCases, level_name
from linewatt.units import mbps_from_bps, percent_from_ratio

# dashes of the line, whether its points are hollow, and what that means
_LOOKS: dict[str, tuple[list[int], bool, str]] = {
    "measured": ([1, 0], False, "solid line, filled points: measured watts"),
    "corrected": ([14, 2], False, "longest dashes, filled points: watts corrected by a calibration"),
    "from datasheet": ([10, 4], True, "long dashes, hollow points: watts from a datasheet"),
    "estimated": ([5, 3], True, "dashed line, hollow points: estimated watts"),
    "simulated": ([2, 3], True, "dotted line, hollow points: simulated watts"),
}
_REMARKS = {
    "power": "Watts of the system; 0 % is active idle: everything is ready and nothing is sent.",
    "power-efficiency": "Throughput ÷ watts of the system; higher is better. Active idle sends nothing and "
    "is not drawn.",
}


@dataclass(frozen=True, slots=True)
class PowerQuantity:
    """What a figure shows of the watts of the system and of the CPU; both are fields of ``EndPower``."""

    name: str
    shown: Quantity
    system: str
    cpu: str
    of_end: Callable[[float | None, float], float | None]
    """from the throughput of an end of a trial and its watts, SI"""


PER_WATT = PowerQuantity(
    "power-efficiency",
    Quantity("throughput per watt", "Mbps/W", mbps_from_bps),
    "system_bps_per_w",
    "cpu_bps_per_w",
    bps_per_w,
)
POWER = PowerQuantity(
    "power", Quantity("power", "W", float), "system_w", "cpu_w", lambda rate_bps, power_w: power_w
)


def power_figures(tables: Sequence[PowerCases], runs: Runs) -> tuple[Figure, ...]:
    """All figures of power of a result, those of a table together."""
    drawn: list[Figure | None] = []
    for number, cases in enumerate(tables, start=1):
        drawn += [_chart(cases, quantity, number).figure(runs) for quantity in (PER_WATT, POWER)]
    return tuple(figure for figure in drawn if figure is not None)


def _chart(cases: PowerCases, quantity: PowerQuantity, number: int) -> LineChart:
    lines = [
        Line(series_cases[0].series.label, points)
        for _, series_cases in cases.by_series
        if len(series_cases) > 1 and (points := tuple(_points(series_cases, cases, quantity)))
    ]
    sure = f", {cases.provenance}" if cases.provenance else ""
    return LineChart(
        name=f"{quantity.name}-{cases.group.test}-{cases.role}-{number}",
        title=f"{cases.group.title}, {cases.role}: {quantity.shown.words} against instances{sure}",
        quantity=quantity.shown,
        lines=lines,
        caption=f"The watts are {cases.provenance}." if cases.provenance else "",
    )


def _points(power_cases: Sequence[PowerCase], cases: PowerCases, quantity: PowerQuantity) -> Iterator[Point]:
    """Of the system and of the CPU: ``System: PSU DC out (simulated)``."""
    cpu = cases.cpu_words or ""
    named = (
        (f"System: {cases.system_words}", quantity.system, system_power, cases.system_words),
        (cpu if cpu.startswith("CPU") else f"CPU: {cpu}", quantity.cpu, cpu_power, cpu),
    )
    for power_case in power_cases:
        count = power_case.summary.case.instances
        for name, field, total_of, scope_words in named:
            value = power_case.power.values.get(field) if scope_words else None
            if value is not None:
                of_trial = partial(read_power, quantity, total_of, cases.role)
                yield Point(count, plural(count, "instance"), power_case.summary.case, value, of_trial, name)


def read_power(
    quantity: PowerQuantity, total_of: Callable[[EndResult | None], Total | None], role: Role, trial: Trial
) -> float | None:
    """What a trial has of a quantity, by the watts of the system, or of the CPUs, at one end."""
    total = total_of(trial.end(role))
    return None if total is None else quantity.of_end(trial.end_bps(role), total.power_w)


def level_figures(tables: Sequence[LevelCases], runs: Runs) -> tuple[Figure, ...]:
    """Efficiency and power of every table that has watts."""
    drawn = (
        _level_chart(cases, quantity, number).figure(runs)
        for number, cases in enumerate(tables, start=1)
        for quantity in (PER_WATT, POWER)
    )
    return tuple(figure for figure in drawn if figure is not None)


def _level_chart(cases: LevelCases, quantity: PowerQuantity, number: int) -> LineChart:
    named = zip(cases.curves, cases.names, strict=True)
    lines = [Line(name, tuple(_level_points(curve, quantity))) for curve, name in named]
    lines = [line for line in lines if len(line.points) > 1]
    sure = f", {cases.provenance}" if cases.provenance else ""
    words = quantity.shown.words
    return LineChart(
        name=f"level-{quantity.name}-{cases.test}-{cases.role}-{number}",
        title=f"{test_title(cases.test)}, {cases.role}: {words} against load, {cases.scope}{sure}",
        quantity=quantity.shown,
        lines=lines,
        caption=_looks_words(quantity, [point.look for line in lines for point in line.points]),
        axis=_load_axis,
        axis_note=cases.provenance,
        layers=_look_layers,
    )


def _level_points(curve: LevelCurve, quantity: PowerQuantity) -> Iterator[Point]:
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
            read=partial(read_power, quantity, system_power, curve.role),
            look={"line": dashes, "look": look, "hollow": _LOOKS[look][1], "state": state},
            remark=" (missed)" if point.missed else "",
        )


def _load_axis(levels: Sequence[float]) -> Spec:
    axis: Spec = {
        "values": sorted({0.0, 100.0, *levels}),
        "labelExpr": "datum.value + ' %'",
        "grid": False,
        "labelOverlap": "greedy",
    }
    return specs.amount("x", "Load, % of the calibrated maximum", (-3, 105), **axis)


def _look_layers(rows: Sequence[Row]) -> list[Spec]:
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
        for hollow, look in ((False, {}), (True, {"fill": specs.GROUND, "strokeWidth": 1.8}))
        if any(row["hollow"] == hollow for row in means)
    ]
    return [*specs.spread_layers(), line, *points]


def _looks_words(quantity: PowerQuantity, shown: Sequence[Mapping[str, object]]) -> str:
    """How to read the figure; only the looks that are in it are explained."""
    present = {look[key] for look in shown for key in ("look", "line")}
    meanings = "; ".join(meaning for name, (_, _, meaning) in _LOOKS.items() if name in present)
    missed = any(look["state"] == "missed" for look in shown)
    diamond = " Diamond: the level missed its target, so the load there is not what the axis says."
    return f"{_REMARKS[quantity.name]} {meanings[:1].upper()}{meanings[1:]}.{diamond if missed else ''}"
