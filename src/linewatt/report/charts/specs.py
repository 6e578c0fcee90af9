# SPDX-License-Identifier: Apache-2.0
"""Charts as Vega-Lite specifications: pure functions from rows to plain data.

The specifications are plain dictionaries: altair would add a dependency and its import time for what is a
page of data here, and a dictionary compares in a test. Colours are CSS custom properties with a fallback,
text is ``currentColor``: the page that holds an SVG decides on light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linewatt.report.charts.data import Row, largest_drawn

Spec = dict[str, Any]

VEGA_LITE = "5.20"
"""The version the specifications are written for; vl-convert carries several."""

RECEIVER = "var(--chart-receiver, #1a5fb4)"
SENDER = "var(--chart-sender, #e06a1b)"
LINES = (RECEIVER, SENDER, "var(--chart-third, #26794e)", "var(--chart-fourth, #813d9c)")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
SHARE_COLOURS = {
    "usr": "var(--chart-usr, #2c78d0)",
    "sys": "var(--chart-sys, #5e2000)",
    "irq": "var(--chart-irq, #763a94)",
    "soft": "var(--chart-soft, #f6d45c)",
    "other": "var(--chart-other, #92919a)",
}
MUTED = "var(--chart-muted, #6f6e73)"
GROUND = "var(--ground, #ffffff)"
"""the page: inside a hollow point and around a name, so that no line runs through"""
SHARE_BAR: Spec = {"type": "bar", "stroke": MUTED, "strokeWidth": 0.7}
"""with an outline: the lightest of the shares is near the ground"""
HEADROOM = 1.12
"""a scale goes on so far beyond what is drawn on it"""
HEADER: Spec = {
    "labelOrient": "top",
    "labelAnchor": "start",
    "labelAngle": 0,
    "labelFontWeight": "bold",
    "labelLimit": 420,
    "labelPadding": 2,
}
"""of panels below each other"""
_GRID = "var(--chart-grid, #deddda)"
_SHORT_LABEL = 26


def only(**values_by_field: Any) -> list[Spec]:
    """The transform that leaves rows with these values, of several any."""
    return [
        {"filter": {"field": field, "oneOf": list(value) if isinstance(value, tuple) else [value]}}
        for field, value in values_by_field.items()
    ]


def amount(
    field: str, title: str | list[str] | None, reach: Sequence[float] = (), ticks: int = 5, **axis: Any
) -> Spec:
    """A number along an axis, on a scale from and to ``reach``."""
    scale = {"scale": {"domain": list(reach), "nice": False}} if reach else {}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "axis": {"tickCount": ticks} | axis,
        **scale,
    }


def labels_down(field: str, labels: Sequence[str]) -> Spec:
    """A row for each label, in their order."""
    axis = {"ticks": False, "labelPadding": 8}
    return {"field": field, "type": "nominal", "sort": list(labels), "title": None, "axis": axis}


def looks(field: str, by_name: Mapping[str, Any], legend: Spec | None = None) -> Spec:
    """What each name in ``field`` looks like: its colour, dashes, shape or size."""
    scale = {"domain": list(by_name), "range": list(by_name.values())}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def colours(field: str, names: Sequence[str], legend: Spec | None) -> Spec:
    """A colour for each name, with a legend as wide as the names allow, unless names stand at the lines."""
    columns = 2 if max(map(len, names), default=0) <= _SHORT_LABEL else 1
    named = {name: LINES[at % len(LINES)] for at, name in enumerate(names)}
    shown = None if legend is None else {"title": None, "columns": columns} | legend
    return looks(field, named, shown)


def panels(field: str, names: Sequence[str], header: Spec | None = None) -> Spec:
    """A panel for each name."""
    shown = {} if header is None else {"header": header}
    return {"field": field, "type": "nominal", "sort": list(names), "title": None, **shown}


def room(labels: Iterable[str], times: int = 1) -> Spec:
    """Room left of axis labels: a reader's sans-serif may be wider than the one the layout was made with.

    ``times``: on a phone labels are larger than the chart was laid out with (style.css).
    """
    longest = max(map(len, labels), default=0)
    left_px = 8 + min(longest, 45) + (times - 1) * longest
    return {"padding": {"left": left_px, "top": 5, "right": 24, "bottom": 5}}


def line_layers(offset_px: int = 0, aside_px: int = 7) -> list[Spec]:
    """Runs, ``aside_px`` beside their case so that error bars do not hide them, error bars, line of means."""
    mark = {"type": "point", "filled": True, "size": 52, "opacity": 1, "xOffset": offset_px}
    return [
        *spread_layers(offset_px, aside_px),
        {"transform": only(kind="mean"), "mark": {"type": "line", "strokeWidth": 2, "xOffset": offset_px}},
        {"transform": only(kind="mean"), "mark": mark},
    ]


def spread_layers(offset_px: int = 0, aside_px: int = 7) -> list[Spec]:
    """Runs, ``aside_px`` beside their case, and error bars."""
    run = {"type": "point", "filled": True, "size": 26, "opacity": 0.5, "xOffset": offset_px + aside_px}
    return [{"transform": only(kind="run"), "mark": run}, *error_bars("y", xOffset=offset_px)]


def pair_layers(field: str, names: Sequence[str]) -> list[Spec]:
    """The lines of up to two ``names`` in ``field``, a few pixels apart so that neither hides the other."""
    scale = {"domain": list(names), "range": ["circle", "square"][: len(names)]}
    shapes = {"shape": {"field": field, "type": "nominal", "scale": scale}}
    return [
        layer
        | {"transform": [*only(**{field: name}), *layer["transform"]]}
        # only where points are drawn: given a shape, Vega-Lite draws error bars' lower ends as points too
        | ({"encoding": shapes} if layer["mark"]["type"] == "point" else {})
        for name, offsets_px in zip(names, ((-4, -7), (4, 7)), strict=False)
        for layer in line_layers(*offsets_px)
    ]


def error_bars(
    along: str, transform: Sequence[Spec] = (), base: Spec | None = None, **mark: Any
) -> list[Spec]:
    """From ``low`` to ``high`` with caps: one SD around means, nothing where there is one trial."""
    shown = list(transform) or [*only(kind="mean"), {"filter": "isValid(datum.high)"}]
    at = {"type": "quantitative"} if base is None else base
    tick = {"type": "tick", "orient": "horizontal" if along == "y" else "vertical", "size": 8}
    ends = {along: at | {"field": "low"}, f"{along}2": {"field": "high"}}
    return [
        {"transform": shown, "mark": {"type": "rule", "strokeWidth": 1.5} | mark, "encoding": ends},
        *(
            {
                "transform": shown,
                "mark": tick | {"thickness": 1.5} | mark,
                "encoding": {along: at | {"field": side}},
            }
            for side in ("low", "high")
        ),
    ]


def ideal_layers() -> list[Spec]:
    """Linear growth as a dashed line, named at its end."""
    dashed = {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 0.7}
    name = {"type": "text", "align": "right", "baseline": "bottom", "text": "linear", "fontStyle": "italic"}
    return [
        {"transform": only(kind="ideal"), "mark": dashed},
        {
            "transform": only(kind="ideal", end=True),
            "mark": name,
            "encoding": {"color": {"value": MUTED}},
        },
    ]


def reference_layers() -> list[Spec]:
    """What a line carries as a rule through the chart, what was offered as dots, both named at their end."""
    muted = {"color": {"value": MUTED}}
    rule = {"type": "rule", "strokeDash": [10, 4], "strokeWidth": 1.4}
    dots = {"type": "line", "strokeDash": [2, 3], "strokeWidth": 1.8}
    name = {"type": "text", "baseline": "bottom", "dy": -3, "fontStyle": "italic"}
    spec: Spec = {"transform": only(kind="reference")}
    across = {"x": {"value": 0}, "x2": {"value": "width"}}
    names: list[Spec] = [
        spec | {"mark": name | {"align": "left"}, "encoding": {"x": {"value": 4}, "text": {"field": "text"}}},
        {"transform": only(kind="offered", end=True), "mark": name | {"align": "right", "text": "offered"}},
    ]
    halo = {"stroke": GROUND, "strokeWidth": 4}
    return [
        spec | {"mark": rule, "encoding": muted | across},
        {"transform": only(kind="offered"), "mark": dots, "encoding": muted},
        *(
            layer | {"mark": layer["mark"] | look, "encoding": layer.get("encoding", {}) | muted}
            for look in (halo, {})
            for layer in names
        ),
    ]


def end_label_layers() -> list[Spec]:
    """The name of a line behind its end, with a stroke of its colour in between."""
    to = {"y": {"field": "end", "type": "quantitative"}, "y2": {"field": "value"}, "x2": {"field": "x"}}
    stroke = {"type": "rule", "xOffset": 8, "x2Offset": 18, "strokeWidth": 2}
    name = {"type": "text", "align": "left", "baseline": "middle", "dx": 22}
    text = {"text": {"field": "text"}, "color": {"value": "currentColor"}}
    labels = {"transform": only(kind="label")}
    return [labels | {"mark": stroke, "encoding": to}, labels | {"mark": name, "encoding": text}]


def lines(
    rows: Sequence[Row],
    layers: Sequence[Spec],
    encoding: Spec,
    names: Sequence[str],
    size_px: tuple[int, int],
    right_px: int,
) -> Spec:
    """One chart with some room to its right, or one panel for each series of ``names`` on common scales."""
    spec: Spec = {"encoding": encoding, "layer": list(layers)}
    inner = {"width": size_px[0], "height": size_px[1], **spec}
    padding = {"left": 5, "top": 5, "bottom": 5, "right": 5 + right_px}
    if not names:
        return themed({"data": {"values": list(rows)}, "padding": padding, **inner})
    facet = panels("series", names, {"labelLimit": 400})  # what tells panels apart stands at the end
    return themed({"data": {"values": list(rows)}, "facet": facet, "columns": 2, "spec": inner})


def text_behind(field: str = "edge", dx: int = 8) -> Spec:
    """The value in words behind the end of a bar: behind that of a mean, or at ``field``."""
    edge = {"calculate": "max(datum.value, datum.high || 0)", "as": "edge"}
    return {
        "transform": [*only(kind="mean"), edge] if field == "edge" else [],
        "mark": {"type": "text", "align": "left", "dx": dx},
        "encoding": {
            "x": {"field": field, "type": "quantitative"},
            "text": {"field": "text"},
            "color": {"value": "currentColor"},
        },
    }


def bars(rows: Sequence[Row], titles: Mapping[str, str], encoding: Spec) -> Spec:
    """Horizontal bars from zero, with room at the end for the value in words.

    A panel for each ``panel`` of rows, with an axis of its own that has its title.
    """
    labels = list(dict.fromkeys(row["series"] for row in rows))
    dot = {"type": "point", "filled": True, "size": 20, "opacity": 0.8}
    layers: list[Spec] = [
        {"transform": only(kind="mean"), "mark": {"type": "bar", "opacity": 0.45}},
        {"transform": only(kind="run"), "mark": dot},
        *error_bars("x"),
        text_behind(),
    ]
    is_grouped = "yOffset" in encoding
    height = {"step": 22 if is_grouped else 34, "for": "offset" if is_grouped else "position"}
    shown: list[Spec] = []
    for name, title in titles.items():
        panel_rows = [row for row in rows if row["panel"] == name]
        down = labels_down("series", list(dict.fromkeys(row["series"] for row in panel_rows)))
        down["axis"] |= {"minExtent": min(260, 6 * max(map(len, labels)))}
        places = {"x": amount("value", title, (0, 1.3 * (largest_drawn(panel_rows) or 1.0))), "y": down}
        colour = encoding["color"] if not shown else encoding["color"] | {"legend": None}
        looked = encoding | ({"color": colour} if "field" in colour else {})
        panel = {"width": 360, "height": height, "layer": layers, "encoding": places | looked}
        shown.append({"transform": only(panel=name), **panel})
    return themed({"data": {"values": list(rows)}, "vconcat": shown, "spacing": 18} | room(labels, times=2))


def grouped_bars(
    rows: Sequence[Row], pairs: Sequence[str], title: str, field: str, by_name: Mapping[str, str]
) -> Spec:
    """Horizontal bars in a panel for each of ``pairs``: a bar for each ``bar``, coloured by ``field``.

    Rows of kind ``mean`` are bars with SD, ``run`` dots, ``part`` is stacked in the bar of its ``bar`` and
    takes its place; ``text`` of a mean stands at its end.
    """
    labels = list(dict.fromkeys(row["bar"] for row in rows))
    present = {name: look for name, look in by_name.items() if any(row.get(field) == name for row in rows)}
    colour = {"color": looks(field, present, {"title": None, "columns": 2})}
    places = {
        "x": amount("value", title, (0, 1.25 * (largest_drawn(rows) or 1.0))),
        "y": labels_down("bar", labels),
    }
    stacked = any(row["kind"] == "part" for row in rows)
    inner: Spec = {
        "width": 330,
        "height": {"step": 21},
        "layer": [*(_stacked(colour) if stacked else _beside(colour)), text_behind(dx=7)],
        "encoding": places,
    }
    facet = {"row": panels("pair", pairs, HEADER)}
    spec: Spec = {"data": {"values": list(rows)}, "facet": facet, "spec": inner, "spacing": 10}
    independent_bars = {"resolve": {"scale": {"y": "independent"}}}
    return themed(spec | independent_bars | room(labels, times=3))


def _stacked(colour: Spec) -> list[Spec]:
    stack = {"x": {"field": "value", "type": "quantitative", "stack": "zero"}}
    order = {"order": {"field": "order", "type": "quantitative"}}
    ink = {"color": {"value": "currentColor"}}
    part = {"transform": only(kind="part"), "mark": SHARE_BAR, "encoding": stack | order | colour}
    return [part, *(layer | {"encoding": layer["encoding"] | ink} for layer in error_bars("x"))]


def _beside(colour: Spec) -> list[Spec]:
    dot = {"type": "point", "filled": True, "size": 18, "opacity": 0.8}
    return [
        {"transform": only(kind="mean"), "mark": {"type": "bar", "opacity": 0.5}, "encoding": colour},
        {"transform": only(kind="run"), "mark": dot, "encoding": colour},
        *(layer | {"encoding": layer["encoding"] | colour} for layer in error_bars("x")),
    ]


def themed(spec: Spec) -> Spec:
    """The spec with the house's fonts and colours: generic font, transparent ground, no marks' ARIA noise."""
    text = {"labelColor": "currentColor", "labelFontSize": 12, "labelLimit": 260}
    title = {"titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 14}
    lines = {"gridColor": _GRID, "domainColor": MUTED, "tickColor": MUTED}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": None,
        **spec,
        "config": {
            "aria": False,
            "font": "sans-serif",
            "view": {"stroke": None},
            "text": {"fontSize": 12},
            "axis": text | lines | title | {"titleColor": "currentColor"},
            "legend": text | {"orient": "top", "symbolOpacity": 1, "offset": 8, "columnPadding": 40},
            "header": text,
        },
    }
