# SPDX-License-Identifier: Apache-2.0
"""The breakdown of a host's power as a chart: parts one after the other, up to the system.

Whether a part was measured is said three times: in words behind it, by its colour, and by its outline and
filling, so that it survives grey paper and eyes that tell no colours.
"""

from __future__ import annotations

from linewatt.analysis.power.components import Breakdown, Part
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import Provenance
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.specs import Spec

PROVENANCE_WORDS: dict[Provenance, str] = {
    "measured": "measured",
    "datasheet": "from datasheet",
    "estimate": "estimated",
    "simulated": "simulated",
}
REST_WORDS = "what is left"

# colour, opacity of the filling, dashes of the outline
_LOOKS: dict[str, tuple[str, float, list[int]]] = {
    "measured": (specs.LINES[0], 0.85, [1, 0]),
    "from datasheet": (specs.LINES[2], 0.4, [1, 0]),
    "estimated": (specs.SHARE_COLOURS["other"], 0.12, [4, 3]),
    "simulated": (specs.LINES[3], 0.12, [1, 3]),
}
_MEANING = {
    "measured": "Filled: measured.",
    "from datasheet": "Pale: from a datasheet.",
    "estimated": "Dashed: estimated, or what is left of the system.",
    "simulated": "Dotted: simulated.",
}


def component_caption(breakdown: Breakdown) -> str:
    """How to read the chart; only the looks that are in it are explained."""
    found = {row["provenance"] for row in component_rows(breakdown)}
    looks = [meaning for name, meaning in _MEANING.items() if name in found]
    return " ".join(["Each part begins where the one above it ends; together they are the system.", *looks])


def component_rows(breakdown: Breakdown) -> list[Row]:
    """A row a part, from ``low`` to ``high`` in W, and one for the system. A negative rest draws no bar."""
    rows: list[Row] = []
    at_w = 0.0
    for part in breakdown.parts:
        drawn_w = max(part.power_w, 0.0)
        rows.append(_row(part.name, at_w, at_w + drawn_w, _text(part), PROVENANCE_WORDS[part.provenance]))
        at_w += drawn_w
    if breakdown.system_w is not None and breakdown.system_provenance is not None:
        said = PROVENANCE_WORDS[breakdown.system_provenance]
        scope = SCOPE_WORDS.get(breakdown.system_scope or "", "system")
        text = f"{_watts(breakdown.system_w)}, {scope}, {said}"
        rows.append(_row("System", 0.0, breakdown.system_w, text, said))
    return _distinct(rows)


def component_spec(breakdown: Breakdown) -> Spec | None:
    """The chart, ``None`` where there is nothing to draw."""
    rows = component_rows(breakdown)
    if not rows:
        return None
    names = [row["part"] for row in rows]
    top = max(row["high"] for row in rows)
    x = {
        "field": "low",
        "type": "quantitative",
        "title": "Power (W)",
        "axis": {"tickCount": 5},
        "scale": {"domain": [0, 1.6 * top], "nice": False},  # room for the words behind a bar
    }
    y = {
        "field": "part",
        "type": "nominal",
        "sort": names,
        "title": None,
        "axis": {"ticks": False, "labelPadding": 8},
    }
    bar: Spec = {
        "mark": {"type": "bar", "strokeWidth": 1.2},
        "encoding": {"x2": {"field": "high"}, **_looks({row["provenance"] for row in rows})},
    }
    words: Spec = {
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {
            "x": {"field": "high", "type": "quantitative"},
            "text": {"field": "text"},
            "color": {"value": "currentColor"},
        },
    }
    spec: Spec = {"data": {"values": rows}, "width": 460, "height": {"step": 28}, "layer": [bar, words]}
    return specs.themed(spec | {"encoding": {"x": x, "y": y}} | specs.room(names))


def component_words(breakdown: Breakdown) -> str:
    """What the chart shows, for whoever cannot see it."""
    return "; ".join(f"{row['part']} {row['text']}" for row in component_rows(breakdown))


def _distinct(rows: list[Row]) -> list[Row]:
    """The rows with names of their own, since a name is a place in the chart: ``CPU``, ``CPU (2)``."""
    names = [row["part"] for row in rows]
    return [
        row
        if (before := names[:at].count(row["part"])) == 0
        else row | {"part": f"{row['part']} ({before + 1})"}
        for at, row in enumerate(rows)
    ]


def _row(part: str, low: float, high: float, text: str, provenance: str) -> Row:
    return {"part": part, "low": low, "high": high, "text": text, "provenance": provenance}


def _text(part: Part) -> str:
    if part.kind == "rest":
        if part.power_w < 0:
            return f"{_watts(part.power_w)}: the parts exceed the system"
        marked = f", {PROVENANCE_WORDS['simulated']}" if part.provenance == "simulated" else ""
        return f"{_watts(part.power_w)}, {REST_WORDS}{marked}"
    return f"{_watts(part.power_w)}, {PROVENANCE_WORDS[part.provenance]}"


def _watts(power_w: float) -> str:
    """``136 W``, ``2.5 W``, ``−11 W``: three digits, whole watts never cut."""
    shown = f"{power_w:.0f}" if abs(power_w) >= 100 else f"{power_w:.3g}"
    return f"{shown.replace('-', '−')} W"


def _looks(found: set[str]) -> Spec:
    """Colour, filling and outline by provenance. Without a legend: the words are behind each bar."""
    names = [name for name in _LOOKS if name in found]
    colours, filling, dashes = ([_LOOKS[name][at] for name in names] for at in range(3))

    def channel(values: list[str | float | list[int]]) -> Spec:
        scale = {"domain": names, "range": values}
        return {"field": "provenance", "type": "nominal", "scale": scale, "legend": None}

    return {
        "fill": channel(colours),
        "stroke": channel(colours),
        "fillOpacity": channel(filling),
        "strokeDash": channel(dashes),
    }
