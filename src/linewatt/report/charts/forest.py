# SPDX-License-Identifier: Apache-2.0
"""Changes with their confidence intervals as a chart: a row each, the zero line, a panel a quantity.

A change that counts has a filled point. A CI that would leave no room for the others runs out of the panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.specs import Spec

_MARGIN = 1.25
_LEAST = 1.0
"""no panel is drawn finer than ± this many % or points"""
_WIDEST = 3.0
"""CIs are cut where they reach this many times the largest change"""


def panel(
    title: Sequence[str], unit: str, rows: Sequence[Row], labels: Sequence[str], width_px: int, *, first: bool
) -> Spec:
    """Rows (``level``, ``change``, ``low``, ``high``, ``doubtless``, ``kind``) as one panel.

    Rows of kind ``unknown`` say so in the place of a point. Only the ``first`` panel has labels.
    """
    x = {
        "type": "quantitative",
        "title": f"Change ({unit})",
        "axis": {"tickCount": 4, "labelOverlap": "greedy", "labelSeparation": 8},
        "scale": {"domain": _domain(rows), "nice": False},
    }
    shown = {"ticks": False, "labelPadding": 8}
    y = {
        "field": "level",
        "type": "nominal",
        "title": None,
        "axis": shown if first else shown | {"labels": False},
        "scale": {"domain": list(labels)},
    }
    return {
        "title": {
            "text": list(title),
            "fontSize": 12,
            "fontWeight": "normal",
            "color": "currentColor",
        },
        "width": width_px,
        "height": {"step": 26},
        "data": {"values": rows},
        "layer": [
            _zero_line(x),
            *(layer | {"encoding": {"y": y} | layer["encoding"]} for layer in _row_layers(x)),
        ],
    }


def _domain(rows: Sequence[Row]) -> list[float]:
    """The scale of a panel: all CIs, but none far beyond the changes; the zero line is always in it."""
    drawn = [row for row in rows if row["kind"] == "effect"]
    largest = max((abs(row["change"]) for row in drawn), default=0.0)
    reach = max(_LEAST, _WIDEST * largest)
    low = min((row["low"] for row in drawn), default=0.0)
    high = max((row["high"] for row in drawn), default=0.0)
    return [
        _MARGIN * min(-_LEAST, max(low, -reach)),
        _MARGIN * max(_LEAST, min(high, reach)),
    ]


def _only(kind: str) -> list[Spec]:
    return [{"filter": {"field": "kind", "equal": kind}}]


def _zero_line(x: dict[str, Any]) -> Spec:
    return {
        "data": {"values": [{"zero": 0}]},
        "mark": {"type": "rule", "strokeWidth": 1.5, "color": specs.SHARE_COLOURS["other"]},
        "encoding": {"x": x | {"field": "zero"}},
    }


def _row_layers(x: dict[str, Any]) -> list[Spec]:
    return [*_whiskers(x), _point(x), _unknown()]


def _whiskers(x: dict[str, Any]) -> list[Spec]:
    rule: Spec = {
        "transform": _only("effect"),
        "mark": {"type": "rule", "strokeWidth": 1.5, "color": specs.RECEIVER, "clip": True},
        "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
    }
    tick = {"type": "tick", "orient": "vertical", "size": 8, "thickness": 1.5, "clip": True}
    caps = [
        {
            "transform": _only("effect"),
            "mark": tick | {"color": specs.RECEIVER},
            "encoding": {"x": x | {"field": side}},
        }
        for side in ("low", "high")
    ]
    return [rule, *caps]


def _point(x: dict[str, Any]) -> Spec:
    """Filled where the effect is one, else hollow."""
    filling = {"domain": ["yes", "no"], "range": [1, 0]}
    look = {"stroke": specs.RECEIVER, "fill": specs.RECEIVER, "strokeWidth": 1.5, "opacity": 1}
    return {
        "transform": _only("effect"),
        "mark": {"type": "point", "size": 60} | look,
        "encoding": {
            "x": x | {"field": "change"},
            "fillOpacity": {"field": "doubtless", "type": "nominal", "legend": None, "scale": filling},
        },
    }


def _unknown() -> Spec:
    return {
        "transform": _only("unknown"),
        "mark": {"type": "text", "align": "left", "fontStyle": "italic", "text": "not enough runs"},
        "encoding": {"x": {"value": 4}, "color": {"value": specs.SHARE_COLOURS["other"]}},
    }
