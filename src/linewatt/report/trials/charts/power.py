# SPDX-License-Identifier: Apache-2.0
"""Figures of power: watts and throughput per watt against instances, and power over time.

A figure is of one power table, so that the watts of a line have one scope; legends name it, and say where
watts were not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linewatt.analysis.metrics import formulas
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Role, Trial
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.provenance import words
from linewatt.report.series import plural
from linewatt.report.trials.digest import cpu_power, system_power
from linewatt.report.trials.power import PowerCase, PowerCases
from linewatt.store.read import Result
from linewatt.store.samples import read_power
from linewatt.units import format_significant, mbps_from_bps

_HEADROOM = 1.12
_RUNS_AND_MEANS = "Line: mean of the trials; bars: standard deviation; small dots: every trial."
_MOST_PANELS = 12
_MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What a figure shows of the system and of the CPU."""

    name: str
    words: str
    unit: str
    system: Callable[[EndPower], Estimate | None]
    cpu: Callable[[EndPower], Estimate | None]
    of_trial: Callable[[Trial, float | None], float | None]
    """from a trial and its watts, SI"""
    from_si: Callable[[float], float]


_EFFICIENCY = _Quantity(
    name="power-efficiency",
    words="throughput per watt",
    unit="Mbps/W",
    system=lambda power: power.system_bps_per_w,
    cpu=lambda power: power.cpu_bps_per_w,
    of_trial=lambda trial, power_w: formulas.bps_per_w(trial.throughput_bps, power_w),
    from_si=mbps_from_bps,
)
_POWER = _Quantity(
    name="power",
    words="power",
    unit="W",
    system=lambda power: power.system_w,
    cpu=lambda power: power.cpu_w,
    of_trial=lambda _, power_w: power_w,
    from_si=lambda power_w: power_w,
)


def power_figures(tables: Sequence[PowerCases], result: Result) -> tuple[Figure, ...]:
    """All figures of power of a result, those of a table together."""
    runs = data.runs_of(result.trials)
    drawn: list[Figure | None] = []
    for number, cases in enumerate(tables, start=1):
        drawn += [_against_instances(cases, quantity, runs, number) for quantity in (_EFFICIENCY, _POWER)]
        drawn.append(_over_time(cases, runs, result, number))
    return tuple(figure for figure in drawn if figure is not None)


def _against_instances(cases: PowerCases, quantity: _Quantity, runs: Runs, number: int) -> Figure | None:
    parts = _parts(cases, quantity)
    lines = [rows for _, rows in cases.by_series if len(rows) > 1]
    drawn = [row for line in lines for each in line for row in _rows(each, cases, quantity, parts, runs)]
    names = [name for name, _ in parts if any(row["part"] == name for row in drawn)]
    if not names:
        return None
    encoding = specs.line_encoding(drawn, f"{quantity.words.capitalize()} ({quantity.unit})", _top(drawn))
    encoding["color"] = specs.pair_colours("part", names)
    labels = list(dict.fromkeys(row["series"] for row in drawn))
    said = cases.provenance
    return Figure(
        name=f"{quantity.name}-{cases.group.test}-{cases.role}-{number}",
        title=f"{_about(cases)}: {quantity.words} against instances{f', {said}' if said else ''}",
        caption=f"{_RUNS_AND_MEANS}{_legend(cases)}",
        description="; ".join(_words(line, quantity, parts) for line in lines),
        spec=specs.lines(
            drawn, specs.pair_layers("part", names), encoding, labels if len(labels) > 1 else []
        ),
        wide=len(labels) > 1,
    )


_Part = tuple[str, Callable[[EndPower], Estimate | None]]


def _parts(cases: PowerCases, quantity: _Quantity) -> list[_Part]:
    """The lines of a figure by name: ``System: PSU DC out (simulated)``."""
    named: list[_Part] = []
    if cases.system_words:
        named.append((f"System: {cases.system_words}", quantity.system))
    if cases.cpu_words:
        cpu = cases.cpu_words
        named.append((cpu if cpu.startswith("CPU") else f"CPU: {cpu}", quantity.cpu))
    return named


def _rows(
    row: PowerCase, cases: PowerCases, quantity: _Quantity, parts: Sequence[_Part], runs: Runs
) -> list[Row]:
    made: list[Row] = []
    for name, read in parts:
        value = read(row.power)
        if value is None:
            continue
        base = {"series": row.series.label, "instances": row.summary.case.instances, "part": name}
        made.append(base | data.mean_row(value, quantity.from_si))
        of_trial = _of_trial(quantity, cases.role, system=name.startswith("System"))
        made += data.run_rows(base, runs, row.summary, of_trial, quantity.from_si)
    return made


def _of_trial(quantity: _Quantity, role: Role, *, system: bool) -> Callable[[Trial], float | None]:
    def read(trial: Trial) -> float | None:
        total = (system_power if system else cpu_power)(trial.end(role))
        return quantity.of_trial(trial, None if total is None else total.power_w)

    return read


def _top(rows: Sequence[Row]) -> float:
    return _HEADROOM * data.top_of(rows)


def _about(cases: PowerCases) -> str:
    return f"{cases.group.title}, {cases.role}"


def _legend(cases: PowerCases) -> str:
    return f" The watts are {cases.provenance}." if cases.provenance else ""


def _words(line: Sequence[PowerCase], quantity: _Quantity, parts: Sequence[_Part]) -> str:
    points = []
    for row in line:
        values = [
            f"{name} {format_significant(quantity.from_si(value.mean), 4)} {quantity.unit}"
            for name, read in parts
            if (value := read(row.power)) is not None
        ]
        if values:
            points.append(f"{plural(row.summary.case.instances, 'instance')} {' and '.join(values)}")
    return f"{line[0].series.label}: {', '.join(points)}"


def _over_time(cases: PowerCases, runs: Runs, result: Result, number: int) -> Figure | None:
    """Power of the system's and the CPU's channels in every trial, a panel a case."""
    rows: list[Row] = []
    panels: dict[str, None] = {}
    shown = cases.members[:_MOST_PANELS]
    for row in shown:
        label = _panel(cases, row)
        own = [
            made for trial in runs.get(row.summary.case, ()) for made in _course(trial, cases, result, label)
        ]
        if own:
            panels[label] = None
            longest_s = max(t.window.seconds for t in runs[row.summary.case] if t.window)
            rows += [{"kind": "window", "case": label, "time_s": 0.0, "until_s": longest_s}, *own]
    if not panels:
        return None
    names = list(dict.fromkeys(row["channel"] for row in rows if row["kind"] == "reading"))
    values = [row["value"] for row in rows if row["kind"] == "reading"]
    left = len(cases.members) - len(shown)
    said = cases.provenance
    return Figure(
        name=f"power-time-{cases.group.test}-{cases.role}-{number}",
        title=f"{_about(cases)}: power over time{f', {said}' if said else ''}",
        caption="A line is one channel in one trial, as read; shaded: the window that figures are from."
        f"{f' {left} more cases are not drawn.' if left else ''}{_legend(cases)}",
        description=f"{', '.join(panels)}: {', '.join(names)}, from {min(values):.1f} to {max(values):.1f} W",
        spec=specs.courses(rows, list(panels), names, _HEADROOM * max(values) or 1.0),
        wide=len(panels) > 1,
    )


def _panel(cases: PowerCases, row: PowerCase) -> str:
    count = plural(row.summary.case.instances, "instance")
    return count if len(cases.by_series) == 1 else f"{row.series.label}, {count}"


def _course(trial: Trial, cases: PowerCases, result: Result, label: str) -> list[Row]:
    end = trial.end(cases.role)
    if trial.window is None or end is None:
        return []
    totals = [one for one in (system_power(end), cpu_power(end)) if one is not None]
    samples = result.path / "trials" / f"{trial.number:05d}" / "samples.parquet"
    readings = read_power(samples, end.host)
    rows: list[Row] = []
    for source, channel in [(one.source, channel) for one in totals for channel in one.channels]:
        own = [one for one in readings if (one.source, one.channel) == (source, channel)]
        said = words(one.provenance for one in own)
        name = f"{source} {channel}{f' ({said})' if said else ''}"
        points = [(one.time_s - trial.window.start_s, one.value_w) for one in own]
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
