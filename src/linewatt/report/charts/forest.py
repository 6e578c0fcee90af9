# SPDX-License-Identifier: Apache-2.0
"""Changes with their confidence intervals as a chart: a row each, the zero line, a panel a quantity.

A change that counts has a filled point. A CI that would leave no room for the others runs out of the panel,
and an arrow at the edge says how far.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    domain = _domain(rows)
    x = specs.amount("change", f"Change ({unit})", domain, 4, labelOverlap="greedy", labelSeparation=8)
    places = {"field": "level", "type": "nominal", "title": None, "scale": {"domain": list(labels)}}
    axis = {"ticks": False, "labelPadding": 8} | ({} if first else {"labels": False})
    zero = {"type": "rule", "strokeWidth": 1.5, "color": specs.MUTED}
    inside = {"color": specs.RECEIVER, "clip": True}
    layers = [*specs.error_bars("x", specs.only(kind="effect"), x, **inside), _point(x), _unknown()]
    layers += [_arrows(cut_ends, align, x) for align, cut_ends in _cut_ends(rows, domain).items() if cut_ends]
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
            {"data": {"values": [{"zero": 0}]}, "mark": zero, "encoding": {"x": x | {"field": "zero"}}},
            *(layer | {"encoding": {"y": places | {"axis": axis}} | layer["encoding"]} for layer in layers),
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


def _cut_ends(rows: Sequence[Row], domain: Sequence[float]) -> dict[str, list[Row]]:
    """By the side on which it lies, each end of a CI outside the scale: where it is cut, and its words."""
    drawn = [row for row in rows if row["kind"] == "effect"]
    return {
        "left": [
            {"level": row["level"], "edge": domain[0], "words": f"◂ from {_signed(row['low'])}"}
            for row in drawn
            if row["low"] < domain[0]
        ],
        "right": [
            {"level": row["level"], "edge": domain[1], "words": f"to {_signed(row['high'])} ▸"}
            for row in drawn
            if row["high"] > domain[1]
        ],
    }


def _signed(change: float) -> str:
    return f"{change:+.3g}".replace("-", "−")


def _arrows(cut_ends: Sequence[Row], align: str, x: Spec) -> Spec:
    """Words above the line, at the edge of the panel that it runs out of."""
    return {
        "data": {"values": list(cut_ends)},
        "mark": {"type": "text", "align": align, "dy": -8, "fontSize": 10, "color": specs.MUTED},
        "encoding": {"x": x | {"field": "edge"}, "text": {"field": "words"}},
    }


def _point(x: Spec) -> Spec:
    """Filled where the effect is one, else hollow."""
    look = {"stroke": specs.RECEIVER, "fill": specs.RECEIVER, "strokeWidth": 1.5, "opacity": 1}
    return {
        "transform": specs.only(kind="effect"),
        "mark": {"type": "point", "size": 60} | look,
        "encoding": {
            "x": x,
            "fillOpacity": specs.looks("doubtless", {"yes": 1, "no": 0}),
        },
    }


def _unknown() -> Spec:
    return {
        "transform": specs.only(kind="unknown"),
        "mark": {"type": "text", "align": "left", "fontStyle": "italic", "text": "not enough trials"},
        "encoding": {"x": {"value": 4}, "color": {"value": specs.MUTED}},
    }
