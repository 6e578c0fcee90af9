# SPDX-License-Identifier: Apache-2.0
"""Figures of power: watts and throughput per watt against instances, and power over time.

A figure is of one power table, so that the watts of a line have one scope; legends name it, and say where
watts were not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from linewatt.analysis.metrics import formulas
from linewatt.analysis.power.totals import Total
from linewatt.model import Role, Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import words
from linewatt.report.series import plural
from linewatt.report.trials.charts.lines import Line, LineChart, Point, Quantity
from linewatt.report.trials.digest import cpu_power, system_power
from linewatt.report.trials.power import PowerCase, PowerCases
from linewatt.store.read import Result
from linewatt.store.samples import read_power
from linewatt.units import mbps_from_bps

_MOST_PANELS = 12
_MOST_POINTS = 200


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
        "color": specs.colours("channel", names, symbolType="stroke"),
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
