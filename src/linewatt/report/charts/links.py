# SPDX-License-Identifier: Apache-2.0
"""How machines are joined: groups of clients, what is between, a server with its ports, and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec

MOST_LINKS = 24
_LEFT, _SWITCH, _SERVER = (0.0, 2.6), (3.9, 5.9), (7.9, 10.2)
_HALF = 0.36


@dataclass(frozen=True, slots=True)
class Link:
    """A group of clients and the server's port that they use; ``rate`` in words.

    ``switch`` joins the two, where that is on record.
    """

    clients: str
    port: str
    rate: str = ""
    switch: str = ""


def link_diagram(links: Sequence[Link], between: str, server: str, rate: str, note: str) -> Figure:
    """Groups at the left, what joins them, the server's ports at the right.

    Each switch has a box, beside all groups that it joins. ``between`` joins those without a switch.
    """
    switches = list(dict.fromkeys(link.switch for link in links))
    drawn = sorted(links, key=lambda link: switches.index(link.switch))[:MOST_LINKS]
    more = f" {len(links) - len(drawn)} more groups are not drawn." if len(drawn) < len(links) else ""
    links_text = "; ".join(
        " – ".join(part for part in (link.clients, link.switch, link.port, link.rate) if part)
        for link in links
    )
    return Figure(
        name="diagram",
        title="Clients, ports and rates",
        caption=f"{note}{more}",
        description=f"{links_text}; {server}{f': {rate}' if rate else ''}",
        spec=_spec(_rows(drawn, between, server, rate), len(drawn)),
        wide=True,
    )


def _rows(links: Sequence[Link], between: str, server: str, rate: str) -> list[Row]:
    rows: list[Row] = []
    count = len(links)
    for at, link in enumerate(links):
        y = count - at - 0.5
        rows.append(_box(_LEFT, y - _HALF, y + _HALF, link.clients))
        rows.append({"kind": "wire", "x": _LEFT[1], "x2": _SWITCH[0], "y": y})
        rows.append({"kind": "wire", "x": _SWITCH[1], "x2": _SERVER[0], "y": y})
        rows.append({"kind": "label", "x": (_SWITCH[1] + _SERVER[0]) / 2, "y": y + 0.22, "text": link.port})
        rows.append({"kind": "label", "x": (_SWITCH[1] + _SERVER[0]) / 2, "y": y - 0.26, "text": link.rate})
    first = 0
    for switch, joined in groupby(links, lambda link: link.switch):
        end = first + len(list(joined))
        rows.append(_box(_SWITCH, count - end + 0.1, count - first - 0.1, switch or between))
        first = end
    rows.append(_box(_SERVER, 0.1, count - 0.1, [server, *filter(None, rate.split(", "))]))
    return rows


def _box(across: tuple[float, float], low: float, high: float, text: str | list[str]) -> Row:
    middle = {"xm": sum(across) / 2, "ym": (low + high) / 2}
    return {"kind": "box", "x": across[0], "x2": across[1], "y": low, "y2": high, "text": text, **middle}


def _spec(rows: Sequence[Row], count: int) -> Spec:
    x = {"type": "quantitative", "axis": None, "scale": {"domain": [0, _SERVER[1]], "nice": False}}
    y = {"type": "quantitative", "axis": None, "scale": {"domain": [0, count], "nice": False}}
    boxes: Spec = {
        "transform": specs.only(kind="box"),
        "mark": {"type": "rect", "fill": specs.RECEIVER, "fillOpacity": 0.12, "stroke": specs.RECEIVER},
        "encoding": {
            "x": x | {"field": "x"},
            "x2": {"field": "x2"},
            "y": y | {"field": "y"},
            "y2": {"field": "y2"},
        },
    }
    wires: Spec = {
        "transform": specs.only(kind="wire"),
        "mark": {"type": "rule", "strokeWidth": 1.5, "color": specs.MUTED},
        "encoding": {"x": x | {"field": "x"}, "x2": {"field": "x2"}, "y": y | {"field": "y"}},
    }
    return specs.themed(
        {
            "data": {"values": list(rows)},
            "width": 640,
            "height": max(60, 46 * count),
            "layer": [wires, boxes, _words("box", x, y, "xm", "ym"), _words("label", x, y, "x", "y")],
        }
    )


def _words(kind: str, x: Spec, y: Spec, across: str, up: str) -> Spec:
    size = {"fontSize": 11} if kind == "label" else {}
    return {
        "transform": specs.only(kind=kind),
        "mark": {"type": "text", "align": "center", "baseline": "middle", "color": "currentColor", **size},
        "encoding": {"x": x | {"field": across}, "y": y | {"field": up}, "text": {"field": "text"}},
    }
