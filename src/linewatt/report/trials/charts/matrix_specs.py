# SPDX-License-Identifier: Apache-2.0
"""Charts of matrices and networks as Vega-Lite specifications, in the manner of :mod:`specs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linewatt.report.charts.data import Row, top_of
from linewatt.report.charts.specs import MUTED, Spec, error_bars, room, themed

_STEPS_PX = ((6, 58), (10, 50))
"""most hosts, and the width of a cell up to there"""
_SMALLEST_PX = 42
_PAGE_PX, _LABELS_PX = 1120, 100
"""width of the page, and of what stands beside the cells of a map"""


def panel_columns(hosts: int, panels: int) -> int:
    """How many heat maps of so many hosts stand side by side."""
    return max(1, min(panels, _PAGE_PX // (hosts * _step_px(hosts) + _LABELS_PX)))


def _step_px(hosts: int) -> int:
    return next((px for most, px in _STEPS_PX if hosts <= most), _SMALLEST_PX)


def heat(rows: Sequence[Row], hosts: Sequence[str], panels: Sequence[str], columns: int) -> Spec:
    """Cells by sender (down) and receiver (across) in a map for each of ``panels``, ``columns`` abreast.

    Rows without ``fill`` are outlined only.
    """
    step = _step_px(len(hosts))
    text = {"type": "text", "fontSize": 12 if step > _SMALLEST_PX else 11}
    filled, hollow = [{"filter": "isValid(datum.fill)"}], [{"filter": "!isValid(datum.fill)"}]
    as_is = {"type": "nominal", "scale": None, "legend": None}
    shown = {"text": {"field": "text"}}
    layers = [
        {"transform": filled, "mark": "rect", "encoding": {"fill": {"field": "fill", **as_is}}},
        {"transform": hollow, "mark": _OUTLINE},
        {"transform": filled, "mark": text, "encoding": shown | {"color": {"field": "ink", **as_is}}},
        {"transform": hollow, "mark": text, "encoding": shown | {"color": {"value": MUTED}}},
    ]
    inner: Spec = {
        "width": {"step": step},
        "height": {"step": 34},
        "encoding": _by_hosts(hosts),
        "layer": layers,
    }
    spec: Spec = {"data": {"values": list(rows)}}
    if len(panels) == 1:
        return themed(spec | inner)
    header = _HEADER | {"labelOffset": 4}
    facet = {"field": "panel", "type": "nominal", "sort": list(panels), "title": None, "header": header}
    own_axes = {"resolve": {"axis": {"x": "independent", "y": "independent"}}}
    return themed(spec | {"facet": facet, "columns": columns, "spec": inner} | own_axes)


_OUTLINE: Spec = {"type": "rect", "filled": False, "stroke": MUTED, "strokeDash": [4, 3], "strokeWidth": 1}


def _by_hosts(hosts: Sequence[str]) -> Spec:
    axis: Spec = {"domain": False, "ticks": False, "labelLimit": 130, "titlePadding": 8}
    across = axis | {"orient": "top", "labelAngle": -38, "labelAlign": "left"}
    scale = {"domain": list(hosts), "paddingInner": 0.04, "paddingOuter": 0.02}
    return {
        "x": {"field": "receiver", "type": "nominal", "title": "Receiver", "axis": across, "scale": scale},
        "y": {"field": "sender", "type": "nominal", "title": "Sender", "axis": axis, "scale": scale},
    }


def grouped_bars(
    rows: Sequence[Row], panels: Sequence[str], title: str, field: str, colours: Mapping[str, str]
) -> Spec:
    """Horizontal bars in a panel for each pair of hosts: a bar for each ``bar``, coloured by ``field``.

    Rows of kind ``mean`` are bars with SD, ``run`` dots, ``part`` is stacked in the bar of its ``bar`` and
    takes its place; ``text`` of a mean stands at its end.
    """
    bars = list(dict.fromkeys(row["bar"] for row in rows))
    present = [name for name in colours if any(row.get(field) == name for row in rows)]
    colour = {
        "field": field,
        "type": "nominal",
        "scale": {"domain": present, "range": [colours[name] for name in present]},
        "legend": {"title": None, "columns": 2},
    }
    x = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "axis": {"tickCount": 5},
        "scale": {"domain": [0, 1.25 * (top_of(rows) or 1.0)], "nice": False},
    }
    axis = {"ticks": False, "labelPadding": 8}
    scale = {"domain": bars}
    y = {"field": "bar", "type": "nominal", "title": None, "sort": bars, "axis": axis, "scale": scale}
    inner: Spec = {
        "width": 330,
        "height": {"step": 21},
        "layer": _layers(rows, colour),
        "encoding": {"x": x, "y": y},
    }
    row = {"field": "pair", "type": "nominal", "sort": list(panels), "title": None, "header": _HEADER}
    spec = {"data": {"values": list(rows)}, "facet": {"row": row}, "spec": inner, "spacing": 10}
    return themed(spec | _room(bars))


def _room(labels: Sequence[str]) -> Spec:
    """Room for labels that a phone shows larger than the chart was laid out with (style.css)."""
    padding = room(labels)["padding"]
    return {"padding": padding | {"left": padding["left"] + 2 * max(map(len, labels))}}


_HEADER: Spec = {
    "labelOrient": "top",
    "labelAnchor": "start",
    "labelAngle": 0,
    "labelFontWeight": "bold",
    "labelLimit": 420,
    "labelPadding": 2,
}


def _layers(rows: Sequence[Row], colour: Spec) -> list[Spec]:
    def kind(name: str) -> list[Spec]:
        return [{"filter": {"field": "kind", "equal": name}}]

    stacked = any(row["kind"] == "part" for row in rows)
    if stacked:
        stack = {"x": {"field": "value", "type": "quantitative", "stack": "zero"}}
        order = {"order": {"field": "order", "type": "quantitative"}}
        bar: Spec = {"transform": kind("part"), "mark": "bar", "encoding": stack | order | {"color": colour}}
        ink = {"color": {"value": "currentColor"}}
        layers = [bar, *({**layer, "encoding": layer["encoding"] | ink} for layer in error_bars("x"))]
    else:
        dot = {"type": "point", "filled": True, "size": 18, "opacity": 0.8}
        solid = {"type": "bar", "opacity": 0.5}
        layers = [
            {"transform": kind("mean"), "mark": solid, "encoding": {"color": colour}},
            {"transform": kind("run"), "mark": dot, "encoding": {"color": colour}},
            *({**layer, "encoding": layer["encoding"] | {"color": colour}} for layer in error_bars("x")),
        ]
    edge = {"calculate": "max(datum.value, datum.high || 0)", "as": "edge"}
    text: Spec = {
        "transform": [*kind("mean"), edge],
        "mark": {"type": "text", "align": "left", "dx": 7},
        "encoding": {
            "x": {"field": "edge", "type": "quantitative"},
            "text": {"field": "text"},
            "color": {"value": "currentColor"},
        },
    }
    return [*layers, text]
