# SPDX-License-Identifier: Apache-2.0
"""Charts as Vega-Lite specifications: pure functions from rows to plain data.

The specifications are plain dictionaries: altair would add a dependency and its import time for what is a
page of data here, and a dictionary compares in a test. Colours are CSS custom properties with a fallback,
text is ``currentColor``: the page that holds an SVG decides on light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linewatt.report.charts import data
from linewatt.report.charts.data import Row

Spec = dict[str, Any]

VEGA_LITE = "5.20"
"""The version the specifications are written for; vl-convert carries several."""

RECEIVER = "var(--chart-receiver, #1a5fb4)"
SENDER = "var(--chart-sender, #c64600)"
LINES = (RECEIVER, SENDER, "var(--chart-third, #26794e)", "var(--chart-fourth, #813d9c)")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
SHARE_COLOURS = {
    "usr": "var(--chart-usr, #3584e4)",
    "sys": "var(--chart-sys, #e66100)",
    "irq": "var(--chart-irq, #813d9c)",
    "soft": "var(--chart-soft, #d4a017)",
    "other": "var(--chart-other, #77767b)",
}
MUTED = "var(--chart-muted, #77767b)"
_GRID = "var(--chart-grid, #deddda)"
_SHORT_LABEL = 26


def room(labels: Sequence[str]) -> Spec:
    """Room left of axis labels: a reader's sans-serif may be wider than the one the layout was made with."""
    longest = max(map(len, labels), default=0)
    return {"padding": {"left": 8 + min(longest, 45), "top": 5, "right": 24, "bottom": 5}}


def _of_kind(*kinds: str) -> list[Spec]:
    return [{"filter": {"field": "kind", "oneOf": list(kinds)}}]


def line_encoding(rows: Sequence[Row], title: str, top: float) -> Spec:
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


def line_layers(offset_px: int = 0, aside_px: int = 7) -> list[Spec]:
    """Runs, ``aside_px`` beside their case so that error bars do not hide them, error bars, line of means."""
    mean = _of_kind("mean")
    mark = {"type": "point", "filled": True, "size": 52, "opacity": 1, "xOffset": offset_px}
    return [
        *spread_layers(offset_px, aside_px),
        {"transform": mean, "mark": {"type": "line", "strokeWidth": 2, "xOffset": offset_px}},
        {"transform": mean, "mark": mark},
    ]


def spread_layers(offset_px: int = 0, aside_px: int = 7) -> list[Spec]:
    """Runs, ``aside_px`` beside their case, and error bars."""
    run = {"type": "point", "filled": True, "size": 26, "opacity": 0.5, "xOffset": offset_px + aside_px}
    bars = [layer | {"mark": layer["mark"] | {"xOffset": offset_px}} for layer in error_bars("y")]
    return [{"transform": _of_kind("run"), "mark": run}, *bars]


def end_layers() -> list[Spec]:
    """The line of each end, a few pixels apart so that neither hides the other."""
    return pair_layers("end", [name for _, name in data.ENDS])


def pair_layers(field: str, names: Sequence[str]) -> list[Spec]:
    """The lines of up to two ``names`` in ``field``, a few pixels apart so that neither hides the other."""
    beside = ((-4, -7), (4, 7))
    return [
        _only(field, name, names, layer)
        for name, where in zip(names, beside, strict=False)
        for layer in line_layers(*where)
    ]


def _only(field: str, name: str, names: Sequence[str], layer: Spec) -> Spec:
    only = [{"filter": {"field": field, "equal": name}}, *layer["transform"]]
    # only where points are drawn: given a shape, Vega-Lite draws error bars' lower ends as points too
    shape = {"encoding": {"shape": pair_shapes(field, names)}} if layer["mark"]["type"] == "point" else {}
    return layer | {"transform": only} | shape


def error_bars(along: str) -> list[Spec]:
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


def ideal_line() -> Spec:
    return {
        "transform": _of_kind("ideal"),
        "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 0.7},
    }


def ideal_label() -> Spec:
    return {
        "transform": [*_of_kind("ideal"), {"filter": "datum.end"}],
        "mark": {
            "type": "text",
            "align": "right",
            "baseline": "bottom",
            "text": "linear",
            "fontStyle": "italic",
        },
        "encoding": {"color": {"value": MUTED}},
    }


def series_colours(labels: Sequence[str]) -> Spec:
    if len(labels) == 1:
        return {"value": RECEIVER}
    columns = 2 if max(map(len, labels)) <= _SHORT_LABEL else 1
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(labels), "range": list(LINES[: len(labels)])},
        "legend": {"title": None, "symbolType": "circle", "columns": columns},
    }


def end_colours() -> Spec:
    return pair_colours("end", [name for _, name in data.ENDS])


def pair_colours(field: str, names: Sequence[str]) -> Spec:
    scale = {"domain": list(names), "range": [RECEIVER, SENDER][: len(names)]}
    legend = {"title": None, "columns": 1 if max(map(len, names)) > _SHORT_LABEL else 2}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def pair_shapes(field: str, names: Sequence[str]) -> Spec:
    scale = {"domain": list(names), "range": ["circle", "square"][: len(names)]}
    return {"field": field, "type": "nominal", "scale": scale}


def lines(rows: list[Row], layers: list[Spec], encoding: Spec, panels: Sequence[str]) -> Spec:
    """One chart, or one panel for each of ``panels`` on common scales."""
    spec: Spec = {"encoding": encoding, "layer": layers}
    if not panels:
        return themed({"data": {"values": rows}, "width": 460, "height": 260, **spec})
    header = {"labelLimit": 400}  # all of a panel's width: what tells panels apart stands at the end
    facet = {"field": "series", "type": "nominal", "sort": list(panels), "title": None, "header": header}
    inner = {"width": 400, "height": 200, **spec}
    return themed({"data": {"values": rows}, "facet": facet, "columns": 2, "spec": inner})


def courses(rows: list[Row], panels: Sequence[str], names: Sequence[str], top: float) -> Spec:
    """Power over time: a panel a case, a line a trial and channel, the window shaded."""
    several = max((len(name) for name in names), default=0) > _SHORT_LABEL
    legend = {"title": None, "symbolType": "stroke", "columns": 1 if several else 2}
    colour = {
        "field": "channel",
        "type": "nominal",
        "scale": {"domain": list(names), "range": [LINES[at % len(LINES)] for at in range(len(names))]},
        "legend": legend,
    }
    x = {
        "field": "time_s",
        "type": "quantitative",
        "title": "Seconds from the start of the window",
        "axis": {"tickCount": 6, "grid": False},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "title": "Power (W)",
        "axis": {"tickCount": 5},
        "scale": {"domain": [0, top], "nice": False},
    }
    window = {
        "transform": _of_kind("window"),
        "mark": {"type": "rect", "fill": MUTED, "opacity": 0.16},
        "encoding": {"x": x, "x2": {"field": "until_s"}},
    }
    dashes = {
        "field": "channel",
        "type": "nominal",
        "scale": {"domain": list(names), "range": [DASHES[at % len(DASHES)] for at in range(len(names))]},
        "legend": None,
    }
    line = {
        "transform": _of_kind("reading"),
        "mark": {"type": "line", "strokeWidth": 1.4, "opacity": 0.85},
        "encoding": {
            "x": x,
            "y": y,
            "color": colour,
            "strokeDash": dashes,
            "detail": {"field": "trial", "type": "nominal"},
        },
    }
    facet = {"field": "case", "type": "nominal", "sort": list(panels), "title": None}
    inner = {"width": 400, "height": 150, "layer": [window, line]}
    return themed({"data": {"values": rows}, "facet": facet, "columns": 2, "spec": inner})


def bars(rows: list[Row], title: str, encoding: Spec) -> Spec:
    """Horizontal bars from zero, with room at the end for the value in words."""
    labels = list(dict.fromkeys(row["series"] for row in rows))
    x = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "axis": {"tickCount": 5},
        "scale": {"domain": [0, 1.3 * data.top_of(rows)], "nice": False},
    }
    y = {
        "field": "series",
        "type": "nominal",
        "sort": labels,
        "title": None,
        "axis": {"ticks": False, "labelPadding": 8},
    }
    after = {
        "transform": [*_of_kind("mean"), {"calculate": "max(datum.value, datum.high || 0)", "as": "edge"}]
    }
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
        *error_bars("x"),
        value,
    ]
    step = 22 if "yOffset" in encoding else 34
    height = {"step": step, "for": "offset" if "yOffset" in encoding else "position"}
    spec: Spec = {"data": {"values": rows}, "width": 360, "height": height, "layer": layers}
    return themed(spec | {"encoding": {"x": x, "y": y} | encoding} | room(labels))


def share_layer(names: Sequence[str]) -> Spec:
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


def unknown_layer() -> Spec:
    return {
        "transform": _of_kind("unknown"),
        "mark": {"type": "text", "align": "left", "fontStyle": "italic", "text": "not measured"},
        "encoding": {"x": {"value": 4}, "color": {"value": MUTED}},
    }


def themed(spec: Spec) -> Spec:
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
                "titlePadding": 14,
                "gridColor": _GRID,
                "domainColor": MUTED,
                "tickColor": MUTED,
            },
            "legend": text | {"orient": "top", "symbolOpacity": 1, "offset": 8, "columnPadding": 40},
            "header": text,
        },
    }
