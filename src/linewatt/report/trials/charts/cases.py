# SPDX-License-Identifier: Apache-2.0
"""The figures of a report: data from :mod:`data` in a specification from :mod:`specs`, with its words."""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.analysis.metrics.unit import MBPS_PER_CORE
from linewatt.model import Trial
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.columns import ROLES
from linewatt.report.series import Series, TestGroup
from linewatt.units import format_rate

_HEADROOM = 1.12
_MOST_ROWS = 24
_RUNS_AND_MEANS = "Line: mean of the trials; bars: standard deviation; small dots: every trial."


def figures(groups: Sequence[TestGroup], trials: Sequence[Trial]) -> tuple[Figure, ...]:
    """All figures of a result: lines where instances vary, bars where they do not, then CPU by role."""
    runs = data.runs_of(trials)
    drawn: list[Figure | None] = []
    for group in groups:
        lines = [series for series in group.series if len(_measured(series)) > 1]
        drawn += [throughput_lines(group, lines, runs), efficiency_lines(group, lines, runs)]
    single = [series for group in groups for series in group.series if len(_measured(series)) == 1]
    drawn += [throughput_bars(single, runs), efficiency_bars(single, runs)]
    drawn += role_bars(groups)
    return tuple(figure for figure in drawn if figure)


def _measured(series: Series) -> list[int]:
    return [summary.case.instances for summary in series.summaries if summary.throughput_bps]


def throughput_lines(group: TestGroup, lines: Sequence[Series], runs: Runs) -> Figure | None:
    """Throughput against instances: means with SD, every run, and linear growth from one instance."""
    if not lines:
        return None
    unit = data.rate_unit(lines)
    rows = [row for line in lines for row in data.throughput_rows(line, runs, unit)]
    top = _HEADROOM * data.top_of(rows)
    encoding = specs.line_encoding(rows, f"Throughput ({unit.name})", top)
    rows += [row for line in lines for row in data.ideal_rows(line, unit, top)]
    labels = [line.label for line in lines]
    overlaid = len(labels) <= len(specs.LINES)
    encoding["color"] = specs.series_colours(labels) if overlaid else {"value": specs.RECEIVER}
    layers = [specs.ideal_line(), specs.ideal_label(), *specs.line_layers()]
    return Figure(
        name=f"throughput-{group.test}",
        title=f"{group.title}: throughput against instances",
        caption=f"{_RUNS_AND_MEANS} Dashed: ideal linear scaling.",
        description="; ".join(data.throughput_words(line) for line in lines),
        spec=specs.lines(rows, layers, encoding, [] if overlaid else labels),
        wide=not overlaid,
    )


def efficiency_lines(group: TestGroup, lines: Sequence[Series], runs: Runs) -> Figure | None:
    """Efficiency of both ends against instances."""
    rows = [row for line in lines for row in data.efficiency_rows(line, runs)]
    if not rows:
        return None
    encoding = specs.line_encoding(rows, "Efficiency (Mbps/core)", _HEADROOM * data.top_of(rows))
    encoding["color"] = specs.end_colours()
    labels = list(dict.fromkeys(row["series"] for row in rows))
    return Figure(
        name=f"efficiency-{group.test}",
        title=f"{group.title}: efficiency against instances",
        caption=f"Throughput for each core of CPU used at either end; higher is better. {_RUNS_AND_MEANS}",
        description="; ".join(data.efficiency_words(line) for line in lines),
        spec=specs.lines(rows, specs.end_layers(), encoding, labels if len(labels) > 1 else []),
        wide=len(labels) > 1,
    )


def throughput_bars(single: Sequence[Series], runs: Runs) -> Figure | None:
    """Throughput of the series with one instance count: a bar each, with its value."""
    if not single:
        return None
    unit = data.rate_unit(single)
    rows: list[Row] = []
    for series in single:
        means = [s.throughput_bps.mean for s in series.summaries if s.throughput_bps]
        words = {"series": data.bar_label(series), "text": format_rate(means[0], 4)}
        rows += [row | words for row in data.throughput_rows(series, runs, unit)]
    return Figure(
        name="throughput-tests",
        title="Throughput of tests with one instance count",
        caption="Bar: mean of the trials; line: standard deviation; small dots: every trial.",
        description="; ".join(f"{row['series']}: {row['text']}" for row in rows if row["kind"] == "mean"),
        spec=specs.bars(rows, f"Throughput ({unit.name})", {"color": {"value": specs.RECEIVER}}),
    )


def efficiency_bars(single: Sequence[Series], runs: Runs) -> Figure | None:
    """Efficiency of both ends of the series with one instance count."""
    rows = [row | {"series": data.bar_label(s)} for s in single for row in data.efficiency_rows(s, runs)]
    if not rows:
        return None
    for row in rows:
        if row["kind"] == "mean":
            row["text"] = MBPS_PER_CORE.text(row["value"])
    encoding = {"color": specs.end_colours(), "yOffset": {"field": "end", "type": "nominal", "sort": None}}
    return Figure(
        name="efficiency-tests",
        title="Efficiency of tests with one instance count",
        caption="Throughput for each core of CPU used at either end; higher is better. "
        "Bar: mean of the trials; line: standard deviation; small dots: every trial.",
        description="; ".join(data.efficiency_words(s, complete=True) for s in single),
        spec=specs.bars(rows, "Efficiency (Mbps/core)", encoding),
    )


def role_bars(groups: Sequence[TestGroup]) -> list[Figure]:
    """CPU by role: one figure for all tests while that stays readable, else one a test."""
    cases = sum(len(group.summaries) for group in groups)
    parts = [tuple(groups)] if cases <= _MOST_ROWS else [(group,) for group in groups]
    return [figure for part in parts if (figure := _role_figure(part)) is not None]


def _role_figure(groups: Sequence[TestGroup]) -> Figure | None:
    """How the CPUs of each role spent the window, stacked, a row a case."""
    cases = [(data.case_label(g, line, s), s) for g in groups for line in g.series for s in line.summaries]
    rows = [row for label, summary in cases for row in data.share_rows(label, summary)]
    names = {row["share"] for row in rows if row["kind"] == "share"}
    if not names:
        return None
    labels = [label for label, _ in cases]
    panel: Spec = {
        "width": 190,
        "height": {"step": 22},
        "layer": [
            specs.share_layer([name for name in specs.SHARE_COLOURS if name in names]),
            specs.unknown_layer(),
        ],
        "encoding": {"y": {"field": "case", "type": "nominal", "title": None, "scale": {"domain": labels}}},
    }
    facet = {"field": "role", "type": "nominal", "sort": [title for _, title in ROLES], "title": None}
    spec: Spec = {"data": {"values": rows}, "facet": {"column": facet}, "spec": panel, "spacing": 14}
    one = groups[0] if len(groups) == 1 else None
    return Figure(
        name=f"roles-{one.test}" if one else "roles",
        title=f"{one.title + ': w' if one else 'W'}here the CPU went, by role",
        caption="Mean share of the window on the CPUs that ran the load (app) and on those that served its "
        "interrupts (IRQ), each per CPU; the rest to 100 % is idle.",
        description=f"Busy. {'; '.join(data.share_words(*case) for case in cases)}",
        spec=specs.themed(spec | specs.room(labels)),
        wide=True,
    )
