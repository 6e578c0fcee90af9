# SPDX-License-Identifier: Apache-2.0
"""Figures of load levels: efficiency and power of one end against load, a line a case.

Whether watts were measured is said in the title and the caption, by the line's dashes and by filled or hollow
points, so that it survives grey paper. A level that missed its target has a point of another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.load_levels import LevelCurve, LevelPoint
from linewatt.analysis.metrics import formulas
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Provenance, Role, Trial
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.series import test_title
from linewatt.report.trials.charts.component_chart import PROVENANCE_WORDS
from linewatt.report.trials.digest import system_power
from linewatt.report.trials.level_table import LevelCases
from linewatt.report.trials.levels import level_name
from linewatt.units import format_significant, mbps_from_bps, percent_from_ratio

_HEADROOM = 1.12
_MOST_PANELS = 12
_GROUND = "var(--ground, #ffffff)"
"""Inside of a hollow point: the page, so that no line runs through it"""

# dashes of the line, and whether its points are hollow
_LOOKS: dict[str, tuple[list[int], bool]] = {
    "measured": ([1, 0], False),
    "from datasheet": ([10, 4], True),
    "estimated": ([5, 3], True),
    "simulated": ([2, 3], True),
}
_MEANING = {
    "measured": "solid line, filled points: measured watts",
    "from datasheet": "long dashes, hollow points: watts from a datasheet",
    "estimated": "dashed line, hollow points: estimated watts",
    "simulated": "dotted line, hollow points: simulated watts",
}


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What a figure shows."""

    name: str
    words: str
    unit: str
    of_point: Callable[[LevelPoint], Estimate | None]
    of_trial: Callable[[Trial, float | None], float | None]
    """from a trial and its watts, SI"""
    from_si: Callable[[float], float]
    remark: str


_EFFICIENCY = _Quantity(
    name="level-efficiency",
    words="efficiency",
    unit="Mbps/W",
    of_point=lambda point: point.system_bps_per_w,
    of_trial=lambda trial, power_w: formulas.bps_per_w(trial.throughput_bps, power_w),
    from_si=mbps_from_bps,
    remark="Throughput ÷ watts of the system; higher is better. Active idle sends nothing and is not drawn.",
)
_POWER = _Quantity(
    name="level-power",
    words="power",
    unit="W",
    of_point=lambda point: point.system_w,
    of_trial=lambda _, power_w: power_w,
    from_si=lambda power_w: power_w,
    remark="Watts of the system; 0 % is active idle: everything is ready and nothing is sent.",
)


def level_figures(tables: Sequence[LevelCases], trials: Sequence[Trial]) -> tuple[Figure, ...]:
    """Efficiency and power of every table that has watts."""
    runs = data.runs_of(trials)
    drawn = [
        _figure(cases, quantity, runs, number)
        for number, cases in enumerate(tables, start=1)
        for quantity in (_EFFICIENCY, _POWER)
    ]
    return tuple(figure for figure in drawn if figure is not None)


def _figure(cases: LevelCases, quantity: _Quantity, runs: Runs, number: int) -> Figure | None:
    named = zip(cases.curves, cases.names, strict=True)
    lines = [(curve, name) for curve, name in named if len(_points(curve, quantity)) > 1]
    if not lines:
        return None
    shown = lines[:_MOST_PANELS]
    rows = [row for curve, name in shown for row in _rows(curve, name, quantity, runs)]
    labels = [name for _, name in shown]
    overlaid = len(labels) <= len(specs.LINES)
    said = f", {cases.provenance}" if cases.provenance else ""
    title = [f"{quantity.words.capitalize()} ({quantity.unit})", cases.provenance]
    encoding = _encoding(rows, [line for line in title if line])
    encoding["color"] = specs.series_colours(labels) if overlaid else {"value": specs.RECEIVER}
    about = f"{test_title(cases.test)}, {cases.role}"
    return Figure(
        name=f"{quantity.name}-{cases.test}-{cases.role}-{number}",
        title=f"{about}: {quantity.words} against load, {cases.scope}{said}",
        caption=_caption(quantity, rows, len(lines) - len(shown)),
        description="; ".join(_words(curve, name, quantity) for curve, name in shown),
        spec=specs.lines(rows, _layers(rows), encoding, [] if overlaid else labels),
        wide=not overlaid,
    )


def _points(curve: LevelCurve, quantity: _Quantity) -> list[tuple[LevelPoint, Estimate]]:
    found = ((point, quantity.of_point(point)) for point in curve.points)
    return [(point, value) for point, value in found if value is not None]


def _rows(curve: LevelCurve, name: str, quantity: _Quantity, runs: Runs) -> list[Row]:
    line = _look(curve.provenance)
    made: list[Row] = []
    for point, value in _points(curve, quantity):
        base = {"series": name, "level_percent": percent_from_ratio(point.level)}
        look = _look(point.provenance)
        mean = {"line": line, "look": look, "hollow": _LOOKS[look][1], "state": _state(point)}
        made.append(base | mean | data.mean_row(value, quantity.from_si))
        made += data.run_rows(base, runs, point.summary, _of_trial(quantity, curve.role), quantity.from_si)
    return made


def _look(provenance: Provenance | None) -> str:
    return PROVENANCE_WORDS[provenance or "measured"]


def _state(point: LevelPoint) -> str:
    return "missed" if point.missed else "met"


def _of_trial(quantity: _Quantity, role: Role) -> Callable[[Trial], float | None]:
    def read(trial: Trial) -> float | None:
        total = system_power(trial.end(role))
        return quantity.of_trial(trial, None if total is None else total.power_w)

    return read


def _encoding(rows: Sequence[Row], title: list[str]) -> Spec:
    levels = sorted({0.0, 100.0} | {row["level_percent"] for row in rows})
    axis = {"values": levels, "labelExpr": "datum.value + ' %'", "grid": False, "labelOverlap": "greedy"}
    return {
        "x": {
            "field": "level_percent",
            "type": "quantitative",
            "title": "Load, % of the calibrated maximum",
            "axis": axis,
            "scale": {"domain": [-3, 105], "nice": False},
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": title,
            "axis": {"tickCount": 5},
            "scale": {"domain": [0, _HEADROOM * data.top_of(rows)], "nice": False},
        },
    }


def _layers(rows: Sequence[Row]) -> list[Spec]:
    """Runs and error bars as in other figures, then the line and its points by their looks."""
    means = [row for row in rows if row["kind"] == "mean"]
    names = [name for name in _LOOKS if any(row["line"] == name for row in means)]
    dashes = {
        "field": "line",
        "type": "nominal",
        "scale": {"domain": names, "range": [_LOOKS[name][0] for name in names]},
        "legend": None,
    }
    shapes = _by_state(["circle", "diamond"])
    sizes = _by_state([64, 120])
    mean = {"filter": {"field": "kind", "equal": "mean"}}
    line: Spec = {
        "transform": [mean],
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {"strokeDash": dashes},
    }
    points: list[Spec] = [
        {
            "transform": [mean, {"filter": {"field": "hollow", "equal": hollow}}],
            "mark": {"type": "point", "filled": not hollow, "opacity": 1, **look},
            "encoding": {"shape": shapes, "size": sizes},
        }
        for hollow, look in ((False, {}), (True, {"fill": _GROUND, "strokeWidth": 1.8}))
        if any(row["hollow"] == hollow for row in means)
    ]
    return [*specs.spread_layers(), line, *points]


def _by_state(met_and_missed: list[str] | list[int]) -> Spec:
    scale = {"domain": ["met", "missed"], "range": met_and_missed}
    return {"field": "state", "type": "nominal", "scale": scale, "legend": None}


def _caption(quantity: _Quantity, rows: Sequence[Row], left: int) -> str:
    """How to read the figure; only the looks that are in it are explained."""
    means = [row for row in rows if row["kind"] == "mean"]
    found = {row[key] for row in means for key in ("look", "line")}
    looks = "; ".join(meaning for name, meaning in _MEANING.items() if name in found)
    parts = [quantity.remark, f"{looks[:1].upper()}{looks[1:]}; bars: standard deviation; dots: every trial."]
    if not any("low" in row for row in means):
        parts[1] = f"{looks[:1].upper()}{looks[1:]}; one trial a level."
    if any(row["state"] == "missed" for row in means):
        parts.append("Diamond: the level missed its target, so the load there is not what the axis says.")
    if left:
        parts.append(f"{left} more cases are not drawn.")
    return " ".join(parts)


def _words(curve: LevelCurve, name: str, quantity: _Quantity) -> str:
    points = [
        f"{level_name(point.level)} {format_significant(quantity.from_si(value.mean), 4)} {quantity.unit}"
        f"{' (missed)' if point.missed else ''}"
        for point, value in _points(curve, quantity)
    ]
    return f"{name}: {', '.join(points)}"
