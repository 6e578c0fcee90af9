# SPDX-License-Identifier: Apache-2.0
"""A course of results as a chart: a point a result, levels, steps between them, and what changed beside."""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.features.history.time_axis import TimeAxis
from linewatt.report.charts import Row, Spec, specs

WIDTH_PX, HEIGHT_PX = 720, 260
_EDGE = 0.08
"""of the range of means, left free below them, and thrice above them for what is written there"""
_LABEL = 30
"""characters of a label beside its line"""
_HALO: Spec = {"stroke": specs.GROUND, "strokeWidth": 4}


def domain(rows: Sequence[Row]) -> tuple[float, float]:
    """The scale: results that are part of a level, with their SD. Those unlike them stand at its edge."""
    near = [row for row in rows if row["kind"] in ("mean", "level")]
    low = float(min(row["low"] if "low" in row else row["value"] for row in near))
    high = float(max(row["high"] if "high" in row else row["value"] for row in near))
    free = _EDGE * (high - low) or 0.02 * abs(high) or 1.0
    return low - free, high + 3 * free


def spec(rows: Sequence[Row], title: str, time_axis: TimeAxis) -> Spec:
    """Rows by kind: ``mean`` (``x``, ``value``, ``low``, ``high``, ``doubtful``), ``unlike`` (``x``,
    ``value``, ``text``), ``level`` (``x``, ``x2``, ``value``), ``step`` (``x``, ``value``, ``text``),
    ``drift`` and ``label`` (``x``, ``text``). ``x`` is a place on ``time_axis``."""
    low, high = domain(rows)
    drawn = [_inside(row, low, high) for row in rows]
    axis = {
        "values": list(time_axis.texts),
        "labelExpr": f"{_names(time_axis)}[datum.value]",
        "grid": False,
        "labelOverlap": "greedy",
    }
    x = specs.amount("x", None, time_axis.reach_s) | {"axis": axis}
    y = specs.amount("value", title, (low, high))
    return specs.themed(
        {
            "data": {"values": drawn},
            "width": WIDTH_PX,
            "height": HEIGHT_PX,
            "padding": {"left": 5, "top": 5, "right": 24, "bottom": 5},
            "encoding": {"x": x, "y": y},
            "layer": [*_labels(), *_levels(), *_points(y), *_steps()],
        }
    )


def _inside(row: Row, low: float, high: float) -> Row:
    if row["kind"] != "unlike":
        return row
    beyond = "below" if row["value"] < low else "above" if row["value"] > high else ""
    inner = _EDGE / 3 * (high - low)
    return row | {"value": min(max(row["value"], low + inner), high - inner), "beyond": beyond}


def _names(time_axis: TimeAxis) -> str:
    """An object of Vega's expressions, lines of text by place; dates are digits, hyphens and colons."""
    return "{" + ", ".join(f"{place_s}: {list(lines)}" for place_s, lines in time_axis.texts.items()) + "}"


def _labels() -> list[Spec]:
    """Lines between two results, with what changed there along them."""
    rule = {"type": "rule", "strokeDash": [3, 3], "strokeWidth": 1.2}
    text = {"type": "text", "angle": 270, "align": "right", "baseline": "bottom", "dy": -3, "fontSize": 11}
    muted: Spec = {"color": {"value": specs.MUTED}}
    across: Spec = {"y": {"value": 0}, "y2": {"value": "height"}}
    named: Spec = {"y": {"value": 2}, "text": {"field": "text"}}
    return [
        {"transform": specs.only(kind="label"), "mark": rule, "encoding": muted | across},
        *(
            {"transform": specs.only(kind="label"), "mark": text | look, "encoding": muted | named}
            for look in (_HALO, {})
        ),
    ]


def _levels() -> list[Spec]:
    colour = {"color": {"value": specs.RECEIVER}}
    flat = {"x2": {"field": "x2"}}
    return [
        {
            "transform": specs.only(kind="level"),
            "mark": {"type": "rule", "strokeWidth": 2.2, "opacity": 0.85},
            "encoding": colour | flat,
        },
        {
            "transform": specs.only(kind="drift"),
            "mark": {"type": "line", "strokeWidth": 2.2},
            "encoding": colour,
        },
    ]


def _points(y: Spec) -> list[Spec]:
    point = {"type": "point", "size": 46, "opacity": 1, "strokeWidth": 1.6}
    sure = {"color": {"value": specs.RECEIVER}}
    odd = {"color": {"value": specs.SENDER}}
    shape = {"shape": specs.looks("beyond", {"": "circle", "below": "triangle-down", "above": "triangle-up"})}
    means = specs.only(kind="mean")
    bars = specs.error_bars("y", [*means, {"filter": "isValid(datum.high)"}], y, opacity=0.45)
    name = {"type": "text", "align": "center", "baseline": "bottom", "dy": -8}
    return [
        *({**layer, "encoding": layer["encoding"] | sure} for layer in bars),
        {
            "transform": specs.only(kind="mean", doubtful=False),
            "mark": point | {"filled": True},
            "encoding": sure,
        },
        {
            "transform": specs.only(kind="mean", doubtful=True),
            "mark": point | {"filled": False, "fill": specs.GROUND},
            "encoding": sure,
        },
        {
            "transform": specs.only(kind="unlike"),
            "mark": point | {"size": 70, "filled": False},
            "encoding": odd | shape,
        },
        *(
            {
                "transform": specs.only(kind="unlike"),
                "mark": name | look,
                "encoding": odd | {"text": {"field": "text"}},
            }
            for look in (_HALO, {})
        ),
    ]


def _steps() -> list[Spec]:
    """How far the new level is, at its beginning."""
    name = {"type": "text", "align": "left", "baseline": "bottom", "dy": -5, "fontWeight": "bold"}
    return [
        {
            "transform": specs.only(kind="step"),
            "mark": name | look,
            "encoding": {"text": {"field": "text"}, "color": {"value": "currentColor"}},
        }
        for look in (_HALO, {})
    ]


def short(text: str) -> str:
    """A label that is not longer than the chart is high."""
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"
