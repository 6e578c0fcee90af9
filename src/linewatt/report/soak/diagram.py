# SPDX-License-Identifier: Apache-2.0
"""Clients, switch and server with its ports, and the rate of each: how the machines of a soak are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.soak.published_summary import Published
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.series import plural
from linewatt.report.soak.digest import Soak
from linewatt.units import format_rate

MOST_LINKS = 24
_MOST_GROUPS = 1000
_LEFT, _SWITCH, _SERVER = (0.0, 2.6), (4.6, 5.8), (8.2, 10.0)
_HALF = 0.36


@dataclass(frozen=True, slots=True)
class Link:
    """A group of clients and the server's port that they use; ``rate`` in words."""

    clients: str
    port: str
    rate: str = ""


def soak_diagram(soak: Soak) -> Figure | None:
    """Of a soak that ran; ``None`` where no groups of clients are named."""
    ports = {one.name: one.server or "" for one in soak.asked.groups}
    links = [
        Link(
            f"{one.name}: {plural(one.clients, 'client')}",
            ports.get(one.name, ""),
            "rate not read" if (rate := soak.rate_of(one).value) is None else format_rate(rate),
        )
        for one in soak.groups
    ]
    server = soak.asked.server.host or "server"
    note = "Rates: payload both ways, mean over the time that loads ran. Switches are not on record."
    total = "rate not read" if soak.mean_bps is None else format_rate(soak.mean_bps)
    return diagram(links, "network", server, total, note) if links else None


def published_diagram(found: Published) -> Figure | None:
    """Of a published summary that counts clients, groups and ports; ``None`` where it does not."""
    groups, ports = (
        int(count) if count and count.is_integer() else 0 for count in (found.groups, found.ports)
    )
    if not (found.clients and 0 < groups <= _MOST_GROUPS and ports > 0):
        return None
    each = found.clients / groups
    clients = f": {plural(int(each), 'client')}" if each.is_integer() else ""
    paired = groups == ports
    links = [
        Link(f"Group {at}{clients}", f"port {at}" if paired else "", found.port_words)
        for at in range(1, groups + 1)
    ]
    rates = ((found.mean_bps, "mean"), (found.rate_bps, "as stated"))
    rates_text = ", ".join(f"{format_rate(bps)} {what}" for bps, what in rates if bps is not None)
    unknown = ["the rate of each group", "how many switches there are"]
    unknown += [] if clients else [f"how {found.clients:g} clients are in groups"]
    unknown += [] if paired else [f"which of {plural(ports, 'port')} a group uses"]
    return diagram(links, "switches", "server", rates_text, f"Not published: {', '.join(unknown)}.")


def diagram(links: Sequence[Link], between: str, server: str, rate: str, note: str) -> Figure:
    """Groups at the left, what joins them, the server's ports at the right."""
    drawn = list(links)[:MOST_LINKS]
    more = f" {len(links) - len(drawn)} more groups are not drawn." if len(drawn) < len(links) else ""
    links_text = "; ".join(
        " – ".join(part for part in (one.clients, one.port, one.rate) if part) for one in links
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
    for at, one in enumerate(links):
        y = count - at - 0.5
        rows.append(_box(_LEFT, y - _HALF, y + _HALF, one.clients))
        rows.append({"kind": "wire", "x": _LEFT[1], "x2": _SWITCH[0], "y": y})
        rows.append({"kind": "wire", "x": _SWITCH[1], "x2": _SERVER[0], "y": y})
        rows.append({"kind": "label", "x": (_SWITCH[1] + _SERVER[0]) / 2, "y": y + 0.22, "text": one.port})
        rows.append({"kind": "label", "x": (_SWITCH[1] + _SERVER[0]) / 2, "y": y - 0.26, "text": one.rate})
    rows.append(_box(_SWITCH, 0.1, count - 0.1, between))
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
