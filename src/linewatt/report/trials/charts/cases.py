# SPDX-License-Identifier: Apache-2.0
"""Throughput, efficiency and CPU by role of all cases: lines where instances vary, else bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.analysis.metrics.unit import MBPS_PER_CORE
from linewatt.model import Case, CpuShares, Role, Trial
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import END_NAMES, Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.columns import ROLES
from linewatt.report.series import Series, TestGroup, plural
from linewatt.report.trials.charts.lines import Line, LineChart, Point, Quantity
from linewatt.units import format_percent, format_rate, mbps_from_bps, percent_from_ratio

_MOST_ROWS = 24
MOST_BARS = 40
"""in one figure; of more the highest and the lowest"""
_BUSY_SHARES = ("usr", "sys", "irq", "soft", "other")
_EFFICIENCY = Quantity("efficiency", MBPS_PER_CORE.name, mbps_from_bps)
_PER_CORE = "Throughput for each core of CPU used at either end; higher is better."
_BARS = "Bar: mean of the trials; line: standard deviation; small dots: every trial."


def figures(groups: Sequence[TestGroup], runs: Runs) -> tuple[Figure, ...]:
    """All figures of a result: lines where instances vary, bars where they do not, then CPU by role."""
    drawn: list[Figure | None] = []
    for group in groups:
        series = [one for one in group.series if _measured(one) > 1]
        drawn += [chart.figure(runs) for chart in _line_charts(group, series)]
    single = [series for group in groups for series in group.series if _measured(series) == 1]
    bars = data.few(single, _rate, MOST_BARS, 10)
    left = data.few_words(bars, single, "series")
    drawn += [_throughput_bars(bars, runs, left), _efficiency_bars(bars, runs, left)]
    cases = sum(len(group.summaries) for group in groups)
    parts = [tuple(groups)] if cases <= _MOST_ROWS else [(group,) for group in groups]
    drawn += map(_role_figure, parts)
    return tuple(figure for figure in drawn if figure)


def _measured(series: Series) -> int:
    return sum(summary.throughput_bps is not None for summary in series.summaries)


def _rate(series: Series) -> float:
    return max(one.throughput_bps.mean for one in series.summaries if one.throughput_bps)


def _line_charts(group: TestGroup, series: Sequence[Series]) -> Iterator[LineChart]:
    """Throughput with linear growth from one instance, and efficiency of both ends."""
    unit = data.rate_unit(series)
    for name, quantity, read, caption in (
        (
            "throughput",
            Quantity("throughput", unit.name, unit.from_si),
            _throughput,
            "Dashed: ideal linear scaling.",
        ),
        ("efficiency", _EFFICIENCY, _efficiency, _PER_CORE),
    ):
        lines = [Line(one.label, points) for one in series if (points := tuple(read(one)))]
        if lines:
            title = f"{group.title}: {name} against instances"
            ideal = name == "throughput"
            yield LineChart(f"{name}-{group.test}", title, quantity, lines, caption, ideal)


def _throughput(series: Series) -> Iterator[Point]:
    for summary in series.summaries:
        if summary.throughput_bps is not None:
            yield Point(*_place(summary), summary.throughput_bps, _throughput_of)


def _efficiency(series: Series) -> Iterator[Point]:
    for summary in series.summaries:
        for role, name in END_NAMES.items():
            value = summary.values.get(f"efficiency_{role}_bps_per_core")
            if value is not None:
                yield Point(*_place(summary), value, partial(_efficiency_of, role), name)


def _place(summary: CaseSummary) -> tuple[int, str, Case]:
    count = summary.case.instances
    return count, plural(count, "instance"), summary.case


def _throughput_of(trial: Trial) -> float | None:
    return trial.throughput_bps


def _efficiency_of(role: Role, trial: Trial) -> float | None:
    read = BY_NAME[f"efficiency_{role}_bps_per_core"].read
    return read(trial)[0] if read else None


def _throughput_bars(single: Sequence[Series], runs: Runs, left: str) -> Figure | None:
    """Throughput of the series with one instance count: a bar each, with its value."""
    unit = data.rate_unit(single)
    rows = [
        row | {"text": format_rate(point.value.mean, 4)}
        for series in single
        for point in _throughput(series)
        for row in _bar_rows(series, point, unit.from_si, runs)
    ]
    if not rows:
        return None
    return Figure(
        name="throughput-tests",
        title="Throughput of tests with one instance count",
        caption=f"{_BARS}{left}",
        description="; ".join(f"{row['series']}: {row['text']}" for row in rows if row["kind"] == "mean"),
        spec=specs.bars(rows, f"Throughput ({unit.name})", {"color": {"value": specs.RECEIVER}}),
    )


def _efficiency_bars(single: Sequence[Series], runs: Runs, left: str) -> Figure | None:
    """Efficiency of both ends of the series with one instance count."""
    rows = [
        row | {"text": MBPS_PER_CORE.text(row["value"]), "part": point.part}
        for series in single
        for point in _efficiency(series)
        for row in _bar_rows(series, point, mbps_from_bps, runs)
    ]
    if not rows:
        return None
    ends = list(END_NAMES.values())
    beside = {"yOffset": {"field": "part", "type": "nominal", "sort": None}}
    lines = (Line(series.title, tuple(_efficiency(series))) for series in single)
    return Figure(
        name="efficiency-tests",
        title="Efficiency of tests with one instance count",
        caption=f"{_PER_CORE} {_BARS}{left}",
        description="; ".join(line.words(_EFFICIENCY) for line in lines),
        spec=specs.bars(rows, _EFFICIENCY.title, {"color": specs.colours("part", ends)} | beside),
    )


def _bar_rows(series: Series, point: Point, from_si: Callable[[float], float], runs: Runs) -> list[Row]:
    """Of a series of one case: complete, and with its instances unless there is one."""
    label = series.title if point.x == 1 else f"{series.title}, {point.place}"
    return data.value_rows({"series": label}, point.value, from_si, runs.get(point.case, ()), point.read)


def _role_figure(groups: Sequence[TestGroup]) -> Figure | None:
    """How the CPUs of each role spent the window, stacked, a row a case."""
    every = [(_case_label(g, line, s), s) for g in groups for line in g.series for s in line.summaries]
    cases = data.few(every, _busiest, MOST_BARS, 10)
    rows = [row for label, summary in cases for row in _share_rows(label, summary)]
    names = {row["share"] for row in rows if row["kind"] == "share"}
    if not names:
        return None
    labels = [label for label, _ in cases]
    places = {"field": "case", "type": "nominal", "title": None, "scale": {"domain": labels}}
    unknown = {"type": "text", "align": "left", "fontStyle": "italic", "text": "not measured"}
    at_left = {"x": {"value": 4}, "color": {"value": specs.MUTED}}
    panel: Spec = {
        "width": 190,
        "height": {"step": 22},
        "layer": [
            _share_layer([name for name in specs.SHARE_COLOURS if name in names]),
            {"transform": specs.only(kind="unknown"), "mark": unknown, "encoding": at_left},
        ],
        "encoding": {"y": places},
    }
    facet = {"column": specs.panels("role", [title for _, title in ROLES])}
    spec: Spec = {"data": {"values": rows}, "facet": facet, "spec": panel, "spacing": 14}
    group = groups[0] if len(groups) == 1 else None
    return Figure(
        name=f"roles-{group.test}" if group else "roles",
        title=f"{group.title + ': w' if group else 'W'}here the CPU went, by role",
        caption="Mean share of the window on the CPUs that ran the load (app) and on those that served its "
        "interrupts (IRQ), each per CPU; the rest to 100 % is idle." + data.few_words(cases, every, "cases"),
        description=f"Busy. {'; '.join(_share_words(*case) for case in cases)}",
        spec=specs.themed(spec | specs.room(labels)),
        wide=True,
    )


def _busiest(case: tuple[str, CaseSummary]) -> float:
    """How busy the busiest CPUs of a case were."""
    return max((one.busy_ratio for one in _shares(case[1]).values() if one), default=0.0)


def _shares(summary: CaseSummary) -> dict[str, CpuShares | None]:
    """Of each role's CPUs, by its name for people."""
    return {title: getattr(summary, field) for field, title in ROLES}


def _case_label(group: TestGroup, series: Series, summary: CaseSummary) -> str:
    """A case among those of all tests: ``TCP, 4 instances``, with its series where the test has several."""
    name = group.title if len(group.series) == 1 else series.title
    return f"{name}, {plural(summary.case.instances, 'instance')}"


def _share_rows(label: str, summary: CaseSummary) -> Iterator[Row]:
    """Shares of each role's CPUs in percent, a row a share above 0; an ``unknown`` row for none."""
    for role, shares in _shares(summary).items():
        base = {"case": label, "role": role}
        if shares is None:
            yield base | {"kind": "unknown"}
            continue
        for order, name in enumerate(_BUSY_SHARES):
            value = percent_from_ratio(getattr(shares, f"{name}_ratio"))
            if value > 0:
                yield base | {"kind": "share", "share": name, "percent": value, "order": order}


def _share_words(label: str, summary: CaseSummary) -> str:
    """How busy each role's CPUs were in a case, for whoever cannot see it."""
    busy = [
        f"{role} {format_percent(1 - shares.idle_ratio, 0)}"
        for role, shares in _shares(summary).items()
        if shares is not None
    ]
    return f"{label}: {', '.join(busy) or 'not measured'}"


def _share_layer(names: Sequence[str]) -> Spec:
    axis: Spec = {"values": [0, 50, 100], "labelExpr": "datum.value + ' %'", "labelFlush": True}
    shown = {name: specs.SHARE_COLOURS[name] for name in names}
    return {
        "transform": specs.only(kind="share"),
        "mark": specs.SHARE_BAR,
        "encoding": {
            "x": specs.amount("percent", None, (0, 100), **axis) | {"stack": "zero"},
            "color": specs.looks("share", shown, {"title": None}),
            "order": {"field": "order", "type": "quantitative"},
        },
    }
