# SPDX-License-Identifier: Apache-2.0
"""Charts as Vega-Lite specifications, and their way to SVG.

The specifications are plain dictionaries: altair would add a dependency and its import time for what is a
page of data here, and a dictionary compares in a test. Colours are CSS custom properties with a fallback,
text is ``currentColor``: the page that holds an SVG decides on light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.model import Trial
from linewatt.report import chart_data as data
from linewatt.report.chart_data import Row, Runs
from linewatt.report.series import Series, TestGroup
from linewatt.report.table import MBPS_PER_CORE, ROLES
from linewatt.units import format_rate

Spec = dict[str, Any]

VEGA_LITE = "5.20"
"""The version the specifications are written for; vl-convert carries several."""

RECEIVER = "var(--chart-receiver, #1a5fb4)"
SENDER = "var(--chart-sender, #c64600)"
LINES = (RECEIVER, SENDER, "var(--chart-third, #26794e)", "var(--chart-fourth, #813d9c)")
SHARE_COLOURS = {
    "usr": "var(--chart-usr, #3584e4)",
    "sys": "var(--chart-sys, #e66100)",
    "irq": "var(--chart-irq, #813d9c)",
    "soft": "var(--chart-soft, #d4a017)",
    "other": "var(--chart-other, #77767b)",
}
_MUTED = "var(--chart-muted, #77767b)"
_GRID = "var(--chart-grid, #deddda)"
_HEADROOM = 1.12
_MOST_ROWS = 24
_SHORT_LABEL = 26
_RUNS_AND_MEANS = "Line: mean of the trials; bars: standard deviation; dots: every trial."


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart: ``title`` and ``caption`` for the page, ``description`` for whoever cannot see it."""

    name: str
    title: str
    caption: str
    description: str
    spec: Spec
    wide: bool = False
    """several panels side by side"""


def render_svg(spec: Spec) -> str:
    """The chart as SVG text. Nothing is ever loaded from elsewhere."""
    import vl_convert  # starts a JavaScript engine: only whoever draws pays for it

    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    return svg


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
    encoding = _line_encoding(rows, f"Throughput ({unit.name})", top)
    rows += [row for line in lines for row in data.ideal_rows(line, unit, top)]
    labels = [line.label for line in lines]
    overlaid = len(labels) <= len(LINES)
    encoding["color"] = _series_colours(labels) if overlaid else {"value": RECEIVER}
    layers = [_ideal_line(), _ideal_label(), *_line_layers()]
    return Figure(
        name=f"throughput-{group.test}",
        title=f"{group.title}: throughput against instances",
        caption=f"{_RUNS_AND_MEANS} Dashed: as many times the throughput of one instance.",
        description="; ".join(data.throughput_words(line) for line in lines),
        spec=_lines(rows, layers, encoding, [] if overlaid else labels),
        wide=not overlaid,
    )


def efficiency_lines(group: TestGroup, lines: Sequence[Series], runs: Runs) -> Figure | None:
    """Efficiency of both ends against instances."""
    rows = [row for line in lines for row in data.efficiency_rows(line, runs)]
    if not rows:
        return None
    encoding = _line_encoding(rows, "Efficiency (Mbps/core)", _HEADROOM * data.top_of(rows))
    encoding |= {"color": _end_colours(), "shape": _end_shapes()}
    labels = list(dict.fromkeys(row["series"] for row in rows))
    return Figure(
        name=f"efficiency-{group.test}",
        title=f"{group.title}: efficiency against instances",
        caption=f"Throughput for each core of CPU used at either end; higher is better. {_RUNS_AND_MEANS}",
        description="; ".join(data.efficiency_words(line) for line in lines),
        spec=_lines(rows, _line_layers(), encoding, labels if len(labels) > 1 else []),
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
        caption="Bar: mean of the trials; line: standard deviation; dots: every trial.",
        description="; ".join(f"{row['series']}: {row['text']}" for row in rows if row["kind"] == "mean"),
        spec=_bars(rows, f"Throughput ({unit.name})", {"color": {"value": RECEIVER}}),
    )


def efficiency_bars(single: Sequence[Series], runs: Runs) -> Figure | None:
    """Efficiency of both ends of the series with one instance count."""
    rows = [row | {"series": data.bar_label(s)} for s in single for row in data.efficiency_rows(s, runs)]
    if not rows:
        return None
    for row in rows:
        if row["kind"] == "mean":
            row["text"] = MBPS_PER_CORE.text(row["value"])
    encoding = {"color": _end_colours(), "yOffset": {"field": "end", "type": "nominal", "sort": None}}
    return Figure(
        name="efficiency-tests",
        title="Efficiency of tests with one instance count",
        caption="Throughput for each core of CPU used at either end; higher is better. Bar: mean of the trials; "
        "line: standard deviation; dots: every trial.",
        description="; ".join(data.efficiency_words(s, complete=True) for s in single),
        spec=_bars(rows, "Efficiency (Mbps/core)", encoding),
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
        "layer": [_share_layer([name for name in SHARE_COLOURS if name in names]), _unknown_layer()],
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
        spec=_themed(spec | _room(labels)),
        wide=True,
    )


def _room(labels: Sequence[str]) -> Spec:
    """Room left of axis labels: a reader's sans-serif may be wider than the one the layout was made with."""
    longest = max(map(len, labels), default=0)
    return {"padding": {"left": 8 + min(longest, 45), "top": 5, "right": 24, "bottom": 5}}


def _of_kind(*kinds: str) -> list[Spec]:
    return [{"filter": {"field": "kind", "oneOf": list(kinds)}}]


def _line_encoding(rows: Sequence[Row], title: str, top: float) -> Spec:
    counts = sorted({row["instances"] for row in rows})
    axis = {"values": counts, "format": "d", "grid": False, "labelOverlap": "greedy"}
    return {
        "x": {
            "field": "instances",
            "type": "quantitative",
            "title": "Instances",
            "axis": axis,
            "scale": {"domain": [0, counts[-1] * 1.04], "nice": False},
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": title,
            "axis": {"tickCount": 5},
            "scale": {"domain": [0, top], "nice": False},
        },
    }


def _line_layers() -> list[Spec]:
    """Runs behind, then error bars, then the line of means."""
    return [
        {"transform": _of_kind("run"), "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.45}},
        *_error_bars("y"),
        {
            "transform": _of_kind("mean"),
            "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 52, "opacity": 1}},
        },
    ]


def _error_bars(along: str) -> list[Spec]:
    """One SD to either side, with caps; nothing where there is one trial."""
    transform = [*_of_kind("mean"), {"filter": "isValid(datum.high)"}]
    tick_orient = "horizontal" if along == "y" else "vertical"
    caps = [
        {
            "transform": transform,
            "mark": {"type": "tick", "orient": tick_orient, "size": 8, "thickness": 1.5},
            "encoding": {along: {"field": side, "type": "quantitative"}},
        }
        for side in ("low", "high")
    ]
    rule = {
        "transform": transform,
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {along: {"field": "low", "type": "quantitative"}, f"{along}2": {"field": "high"}},
    }
    return [rule, *caps]


def _ideal_line() -> Spec:
    return {
        "transform": _of_kind("ideal"),
        "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 0.7},
    }


def _ideal_label() -> Spec:
    return {
        "transform": [*_of_kind("ideal"), {"filter": "datum.end"}],
        "mark": {"type": "text", "align": "right", "baseline": "bottom", "text": "linear", "fontStyle": "italic"},
        "encoding": {"color": {"value": _MUTED}},
    }


def _series_colours(labels: Sequence[str]) -> Spec:
    if len(labels) == 1:
        return {"value": RECEIVER}
    columns = 2 if max(map(len, labels)) <= _SHORT_LABEL else 1
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(labels), "range": list(LINES[: len(labels)])},
        "legend": {"title": None, "symbolType": "circle", "columns": columns},
    }


def _end_colours() -> Spec:
    names = [name for _, name in data.ENDS]
    scale = {"domain": names, "range": [RECEIVER, SENDER]}
    return {"field": "end", "type": "nominal", "scale": scale, "legend": {"title": None}}


def _end_shapes() -> Spec:
    names = [name for _, name in data.ENDS]
    return {"field": "end", "type": "nominal", "scale": {"domain": names, "range": ["circle", "square"]}}


def _lines(rows: list[Row], layers: list[Spec], encoding: Spec, panels: Sequence[str]) -> Spec:
    """One chart, or one panel for each of ``panels`` on common scales."""
    spec: Spec = {"encoding": encoding, "layer": layers}
    if not panels:
        return _themed({"data": {"values": rows}, "width": 460, "height": 260, **spec})
    facet = {"field": "series", "type": "nominal", "sort": list(panels), "title": None}
    inner = {"width": 400, "height": 200, **spec}
    return _themed({"data": {"values": rows}, "facet": facet, "columns": 2, "spec": inner})


def _bars(rows: list[Row], title: str, encoding: Spec) -> Spec:
    """Horizontal bars from zero, with room at the end for the value in words."""
    labels = list(dict.fromkeys(row["series"] for row in rows))
    x = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "axis": {"tickCount": 5},
        "scale": {"domain": [0, 1.3 * data.top_of(rows)], "nice": False},
    }
    y = {"field": "series", "type": "nominal", "sort": labels, "title": None, "axis": {"ticks": False}}
    after = {"transform": [*_of_kind("mean"), {"calculate": "max(datum.value, datum.high || 0)", "as": "edge"}]}
    value: Spec = {
        **after,
        "mark": {"type": "text", "align": "left", "dx": 8},
        "encoding": {
            "x": {"field": "edge", "type": "quantitative"},
            "text": {"field": "text"},
            "color": {"value": "currentColor"},
        },
    }
    dot = {"type": "point", "filled": True, "size": 20, "opacity": 0.8}
    layers: list[Spec] = [
        {"transform": _of_kind("mean"), "mark": {"type": "bar", "opacity": 0.45}},
        {"transform": _of_kind("run"), "mark": dot},
        *_error_bars("x"),
        value,
    ]
    step = 22 if "yOffset" in encoding else 34
    height = {"step": step, "for": "offset" if "yOffset" in encoding else "position"}
    spec: Spec = {"data": {"values": rows}, "width": 360, "height": height, "layer": layers}
    return _themed(spec | {"encoding": {"x": x, "y": y} | encoding} | _room(labels))


def _share_layer(names: Sequence[str]) -> Spec:
    scale = {"domain": list(names), "range": [SHARE_COLOURS[name] for name in names]}
    axis = {"values": [0, 50, 100], "labelExpr": "datum.value + ' %'", "labelFlush": True}
    return {
        "transform": _of_kind("share"),
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "percent",
                "type": "quantitative",
                "stack": "zero",
                "title": None,
                "axis": axis,
                "scale": {"domain": [0, 100], "nice": False},
            },
            "color": {"field": "share", "type": "nominal", "scale": scale, "legend": {"title": None}},
            "order": {"field": "order", "type": "quantitative"},
        },
    }


def _unknown_layer() -> Spec:
    return {
        "transform": _of_kind("unknown"),
        "mark": {"type": "text", "align": "left", "fontStyle": "italic", "text": "not measured"},
        "encoding": {"x": {"value": 4}, "color": {"value": _MUTED}},
    }


def _themed(spec: Spec) -> Spec:
    """The spec with the house's fonts and colours: generic font, transparent ground, no marks' ARIA noise."""
    text = {"labelColor": "currentColor", "labelFontSize": 12, "labelLimit": 260}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": None,
        **spec,
        "config": {
            "aria": False,
            "font": "sans-serif",
            "view": {"stroke": None},
            "text": {"fontSize": 12},
            "axis": text
            | {
                "titleColor": "currentColor",
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "titlePadding": 8,
                "gridColor": _GRID,
                "domainColor": _MUTED,
                "tickColor": _MUTED,
            },
            "legend": text | {"orient": "top", "symbolOpacity": 1, "offset": 8, "columnPadding": 28},
            "header": text,
        },
    }
