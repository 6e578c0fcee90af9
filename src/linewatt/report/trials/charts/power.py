# SPDX-License-Identifier: Apache-2.0
"""Figures of power: watts and throughput per watt against instances and against load, and power over time.

A figure is of one table, so that the watts of a line have one scope; legends name it, and say where watts
were not measured. Against load the line's dashes and filled or hollow points say so, too, so that it survives
grey paper; a level that missed its target has a point of another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from linewatt.analysis.cases.load_levels import LevelCurve
from linewatt.analysis.metrics import formulas
from linewatt.analysis.power.totals import Total
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Role, Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import PROVENANCE_WORDS, words
from linewatt.report.series import plural, test_title
from linewatt.report.trials.charts.lines import Line, LineChart, Point, Quantity
from linewatt.report.trials.digest import cpu_power, system_power
from linewatt.report.trials.levels import LevelCases, level_name
from linewatt.report.trials.power import PowerCase, PowerCases
from linewatt.store.read import Result
from linewatt.store.samples import read_power
from linewatt.units import mbps_from_bps, percent_from_ratio

_MOST_PANELS = 12
_MOST_POINTS = 200

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


@dataclass(frozen=True, slots=True)
class PowerQuantity:
    """What a figure shows of the watts of the system and of the CPU; both are fields of ``EndPower``."""

    name: str
    shown: Quantity
    system: str
    cpu: str
    of_trial: Callable[[Trial, float], float | None]
    """from a trial and its watts, SI"""


PER_WATT = PowerQuantity(
    "power-efficiency",
    Quantity("throughput per watt", "Mbps/W", mbps_from_bps),
    "system_bps_per_w",
    "cpu_bps_per_w",
    lambda trial, power_w: formulas.bps_per_w(trial.throughput_bps, power_w),
)
POWER = PowerQuantity(
    "power", Quantity("power", "W", float), "system_w", "cpu_w", lambda trial, power_w: power_w
)


def power_figures(tables: Sequence[PowerCases], result: Result, runs: Runs) -> tuple[Figure, ...]:
    """All figures of power of a result, those of a table together."""
    drawn: list[Figure | None] = []
    for number, cases in enumerate(tables, start=1):
        drawn += [_chart(cases, quantity, number).figure(runs) for quantity in (PER_WATT, POWER)]
        drawn.append(_over_time(cases, runs, result, number))
    return tuple(figure for figure in drawn if figure is not None)


def _chart(cases: PowerCases, quantity: PowerQuantity, number: int) -> LineChart:
    lines = [
        Line(own[0].series.label, points)
        for _, own in cases.by_series
        if len(own) > 1 and (points := tuple(_points(own, cases, quantity)))
    ]
    sure = f", {cases.provenance}" if cases.provenance else ""
    return LineChart(
        name=f"{quantity.name}-{cases.group.test}-{cases.role}-{number}",
        title=f"{_about(cases)}: {quantity.shown.words} against instances{sure}",
        quantity=quantity.shown,
        lines=lines,
        caption=_legend(cases),
    )


def _points(own: Sequence[PowerCase], cases: PowerCases, quantity: PowerQuantity) -> Iterator[Point]:
    """Of the system and of the CPU: ``System: PSU DC out (simulated)``."""
    cpu = cases.cpu_words or ""
    named = (
        (f"System: {cases.system_words}", quantity.system, read_system, cases.system_words),
        (cpu if cpu.startswith("CPU") else f"CPU: {cpu}", quantity.cpu, read_cpu, cpu),
    )
    for one in own:
        count = one.summary.case.instances
        for name, field, read, known in named:
            value = one.power.values.get(field) if known else None
            if value is not None:
                of_trial = partial(read, quantity, cases.role)
                yield Point(count, plural(count, "instance"), one.summary.case, value, of_trial, name)


def read_system(quantity: PowerQuantity, role: Role, trial: Trial) -> float | None:
    """What a trial has of a quantity, by the system's watts at one end."""
    return _read(quantity, trial, system_power(trial.end(role)))


def read_cpu(quantity: PowerQuantity, role: Role, trial: Trial) -> float | None:
    """The same by the CPUs' watts."""
    return _read(quantity, trial, cpu_power(trial.end(role)))


def _read(quantity: PowerQuantity, trial: Trial, total: Total | None) -> float | None:
    return None if total is None else quantity.of_trial(trial, total.power_w)


def _about(cases: PowerCases) -> str:
    return f"{cases.group.title}, {cases.role}"


def _legend(cases: PowerCases) -> str:
    return f"The watts are {cases.provenance}." if cases.provenance else ""


def _over_time(cases: PowerCases, runs: Runs, result: Result, number: int) -> Figure | None:
    """Power of the system's and the CPU's channels in every trial, a panel a case."""
    rows: list[Row] = []
    panels: dict[str, None] = {}
    shown = cases.members[:_MOST_PANELS]
    for row in shown:
        label = _panel(cases, row)
        trials = runs.get(row.summary.case, ())
        readings = [made for trial in trials for made in _course(trial, cases, result, label)]
        if readings:
            panels[label] = None
            longest_s = max(trial.window.seconds for trial in trials if trial.window)
            rows += [{"kind": "window", "case": label, "time_s": 0.0, "until_s": longest_s}, *readings]
    if not panels:
        return None
    names = list(dict.fromkeys(row["channel"] for row in rows if row["kind"] == "reading"))
    values = [row["value"] for row in rows if row["kind"] == "reading"]
    left = len(cases.members) - len(shown)
    sure = f", {cases.provenance}" if cases.provenance else ""
    return Figure(
        name=f"power-time-{cases.group.test}-{cases.role}-{number}",
        title=f"{_about(cases)}: power over time{sure}",
        caption="A line is one channel in one trial, as read; shaded: the window that figures are from."
        f"{f' {left} more cases are not drawn.' if left else ''} {_legend(cases)}".rstrip(),
        description=f"{', '.join(panels)}: {', '.join(names)}, from {min(values):.1f} to {max(values):.1f} W",
        spec=_courses(rows, list(panels), names, specs.HEADROOM * max(values) or 1.0),
        wide=len(panels) > 1,
    )


def _panel(cases: PowerCases, row: PowerCase) -> str:
    count = plural(row.summary.case.instances, "instance")
    return count if len(cases.by_series) == 1 else f"{row.series.label}, {count}"


def _course(trial: Trial, cases: PowerCases, result: Result, label: str) -> list[Row]:
    end = trial.end(cases.role)
    if trial.window is None or end is None:
        return []
    totals = [total for total in (system_power(end), cpu_power(end)) if total is not None]
    samples = result.path / "trials" / f"{trial.number:05d}" / "samples.parquet"
    readings = read_power(samples, end.host)
    rows: list[Row] = []
    for source, channel in [(total.source, channel) for total in totals for channel in total.channels]:
        course = [read for read in readings if (read.source, read.channel) == (source, channel)]
        sure = words(read.provenance for read in course)
        name = f"{source} {channel}{f' ({sure})' if sure else ''}"
        points = [(read.time_s - trial.window.start_s, read.value_w) for read in course]
        rows += [
            {
                "kind": "reading",
                "case": label,
                "channel": name,
                "trial": trial.number,
                "time_s": round(time_s, 3),
                "value": value,
            }
            for time_s, value in thinned(points)
        ]
    return rows


def _courses(rows: Sequence[Row], cases: Sequence[str], names: Sequence[str], top: float) -> Spec:
    """A panel a case, a line a trial and channel, the window shaded."""
    x = specs.amount("time_s", "Seconds from the start of the window", ticks=6, grid=False)
    shade = {"type": "rect", "fill": specs.MUTED, "opacity": 0.16}
    line = {
        "x": x,
        "y": specs.amount("value", "Power (W)", (0, top)),
        "color": specs.colours("channel", names, {"symbolType": "stroke"}),
        "strokeDash": specs.looks(
            "channel", {name: specs.DASHES[at % len(specs.DASHES)] for at, name in enumerate(names)}
        ),
        "detail": {"field": "trial", "type": "nominal"},
    }
    layers = [
        {
            "transform": specs.only(kind="window"),
            "mark": shade,
            "encoding": {"x": x, "x2": {"field": "until_s"}},
        },
        {
            "transform": specs.only(kind="reading"),
            "mark": {"type": "line", "strokeWidth": 1.4, "opacity": 0.85},
            "encoding": line,
        },
    ]
    inner = {"width": 400, "height": 150, "layer": layers}
    facet = specs.panels("case", cases)
    return specs.themed({"data": {"values": list(rows)}, "facet": facet, "columns": 2, "spec": inner})


def thinned(points: Sequence[tuple[float, float]], most: int = _MOST_POINTS) -> list[tuple[float, float]]:
    """At most ``most`` points that keep every peak and dip: the lowest and the highest of equal portions."""
    if len(points) <= most:
        return list(points)
    portions = most // 2
    kept: list[tuple[float, float]] = []
    for at in range(portions):
        portion = points[at * len(points) // portions : (at + 1) * len(points) // portions]
        ends = {min(portion, key=lambda point: point[1]), max(portion, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept


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
            read=partial(read_system, quantity, curve.role),
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
