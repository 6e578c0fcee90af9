# SPDX-License-Identifier: Apache-2.0
"""What a soak did over time: rate, CPU, power, drops, users; bands from least to greatest, gaps as gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from linewatt.features.soak.cpus import cpus_used
from linewatt.features.soak.diagram import soak_diagram
from linewatt.features.soak.digest import Cells, Soak
from linewatt.features.soak.figures import downsample
from linewatt.features.soak.ledger import CLIENTS, SERVER
from linewatt.features.soak.ledger_tables import stamp
from linewatt.features.soak.series import OTHERS
from linewatt.report import provenance_words as sources
from linewatt.report.charts import LETTER_PX, Figure, Row, Spec, specs, spread_labels
from linewatt.sensors import DROP_CAUSES
from linewatt.units import (
    BPS_PER_GBPS,
    BPS_PER_MBPS,
    format_rate,
    format_seconds,
    format_significant,
    format_time_utc,
)

MOST_POINTS = 500
_SIZE_PX = (900, 190)
_WIDER = 0.25
"""a reader's letters, and those on a phone (style.css), may be wider by this part"""
_STAMP_PX = 100
"""from one time above the chart to the next"""
_MOST_MARKS = 40
_SIDES = {SERVER: "Server", CLIENTS: "Clients", OTHERS: "Others"}
_TIMES = ((3 * 86_400.0, 86_400.0, "Days"), (3 * 3600.0, 3600.0, "Hours"), (180.0, 60.0, "Minutes"))
_BAND = (
    "Line: mean; band: least and greatest slice of {slice}. Grey: nothing was read; a gap in a line: not all "
    "that it is the sum of."
)
_DOTTED = " Dotted: {events}, with the time by which they are listed; of those close together, the first."
_RETRANSMITS = "nstat.TcpRetransSegs"


def figures(soak: Soak) -> tuple[Figure, ...]:
    """All charts that there are readings for."""
    drawn = (soak_diagram(soak), _rate(soak), _cpu(soak), _power(soak), _drops(soak), _users(soak))
    return tuple(figure for figure in drawn if figure is not None)


def _rate(soak: Soak) -> Figure | None:
    series = {
        "Received": soak.load_rate("clients|users.received_bytes", scale=8.0),
        "Sent": soak.load_rate("clients|users.sent_bytes", scale=8.0),
        soak.load: soak.load_rate(*(f"{side}|load.received_bytes" for side in _SIDES), scale=8.0),
    }
    known_bps = [value for cells in series.values() for value in cells if value is not None]
    unit, scale = (
        ("Gbps", BPS_PER_GBPS) if max(known_bps, default=0.0) >= BPS_PER_GBPS else ("Mbps", BPS_PER_MBPS)
    )
    scaled = {name: _scaled(cells, 1 / scale) for name, cells in series.items()}
    channels = ("users.received_bytes", "users.sent_bytes", "load.received_bytes")
    captions = {
        name: f"mean {format_rate(_mean_bps(soak, channel))}, peak {format_rate(_peak(cells))}"
        for (name, cells), channel in zip(series.items(), channels, strict=True)
        if cells
    }
    return _figure(soak, "rate", "Payload over time", f"Rate ({unit})", scaled, captions)


def _mean_bps(soak: Soak, channel: str) -> float | None:
    """Over the time in which loads ran, as in the summary: slices at the ends are shorter than others."""
    counted_per_s = soak.mean_of(channel)
    return None if counted_per_s is None else 8 * counted_per_s


def _cpu(soak: Soak) -> Figure | None:
    series, captions = {}, {}
    for side, title in _SIDES.items():
        cpu_use = cpus_used(soak, side)
        if cpu_use is not None:
            series[title] = cpu_use.cores
            captions[title] = f"mean {format_significant(_mean(cpu_use.cores))} of {cpu_use.cpus} CPUs"
    return _figure(soak, "cpu", "CPU used over time", "CPU used (cores)", series, captions)


def _power(soak: Soak) -> Figure | None:
    """Of each side the system's power of its hosts together, in the scopes that the summary has."""
    chosen: dict[str, dict[str, None]] = {}
    for host_power in soak.power:
        if host_power.total is None:
            continue
        side = soak.roles.side(host_power.host)
        extent = "whole" if _is_whole(soak, host_power.host, host_power.total) else "part"
        beginning = f"{side}|power|{host_power.total.source}|{host_power.total.scope}|{extent}|"
        for name in soak.scan.tracks:
            if name.startswith(beginning):
                chosen.setdefault(side, {})[name] = None
    series = {_SIDES[side]: soak.level(*names) for side, names in chosen.items()}
    captions = {name: f"mean {_mean(cells):,.1f} W" for name, cells in series.items()}
    sure = sources(soak.power_provenances)
    title = f"Power over time ({sure})" if sure else "Power over time"
    return _figure(soak, "power", title, "Power (W)", series, captions)


def _is_whole(soak: Soak, host: str, total: Any) -> bool:
    return any(
        series_info.host == host
        and series_info.source == total.source
        and series_info.channel in total.channels
        and ":" not in series_info.scope
        for series_info in soak.series
    )


def _drops(soak: Soak) -> Figure | None:
    groups: dict[str, list[str]] = {"TCP retransmits": [_RETRANSMITS]}
    for cause in DROP_CAUSES:
        if cause.is_drop and cause.is_packets:
            groups.setdefault(cause.layer, []).extend(cause.channels)
    series = {}
    for title, channels in groups.items():
        names = [f"{side}|{channel}" for side in (CLIENTS, SERVER) for channel in channels]
        cells = soak.rate(*names, inside=False)
        if any(cells):
            series[title] = cells
    captions = {
        name: f"{sum(value or 0.0 for value in cells) * soak.scan.cell_s:,.0f}"
        for name, cells in series.items()
    }
    return _figure(soak, "drops", "Drops and retransmits over time", "Packets a second", series, captions)


def _users(soak: Soak) -> Figure | None:
    cells = soak.level("clients|users.running")
    captions = {"Users": f"most {_peak(cells):,.0f}"} if cells else {}
    return _figure(soak, "users", "Users that ran", "Users", {"Users": cells}, captions)


def _figure(
    soak: Soak, name: str, title: str, axis: str, series: Mapping[str, Cells], captions: Mapping[str, str]
) -> Figure | None:
    shown_series = {
        label: cells for label, cells in series.items() if any(value is not None for value in cells)
    }
    if not shown_series:
        return None
    return Figure(
        name=name,
        title=title,
        caption=_BAND.format(slice=format_seconds(soak.scan.cell_s)) + _dotted(soak),
        description="; ".join(
            f"{label}: {words}" for label, words in captions.items() if label in shown_series
        ),
        spec=_spec(soak, axis, shown_series),
        wide=True,
        over_time=True,
    )


def _dotted(soak: Soak) -> str:
    """Which events are drawn; nothing where there is none."""
    count = len(_event_times_s(soak))
    if not count:
        return ""
    events = "events" if count <= _MOST_MARKS else f"the first {_MOST_MARKS} of {count:,} events"
    return _DOTTED.format(events=events)


def _spec(soak: Soak, axis: str, series: Mapping[str, Cells]) -> Spec:
    unit_s, unit = _unit(soak)
    cell = soak.scan.cell_s / unit_s
    rows: list[Row] = [
        {
            "kind": "mean",
            "series": name,
            "x": (point.first + point.end) / 2 * cell,
            "least": point.least,
            "value": point.mean,
            "greatest": point.greatest,
        }
        for name, cells in series.items()
        for point in downsample(cells, MOST_POINTS)
    ]
    span_s = max(part.ended_s for part in soak.parts) - soak.scan.start_s
    x = specs.amount(
        "x", f"{unit} from {format_time_utc(soak.scan.start_s)}", (0, span_s / unit_s), ticks=8, grid=False
    )
    top = max((row["greatest"] or 0.0 for row in rows), default=0.0) or 1.0
    y = specs.amount("value", axis, (0, 1.08 * float(top)))
    names = list(series)
    labels = _labels(rows, names, _SIZE_PX[1] / (1.08 * float(top)))
    named_px = max((LETTER_PX * len(row["text"]) + 20 for row in labels), default=0.0)
    size = {"width": round(_SIZE_PX[0] - named_px), "height": _SIZE_PX[1]}
    padding = {"left": 5, "top": 5, "bottom": 5, "right": 5 + round(_WIDER * named_px)}
    colours = {name: specs.LINES[at % len(specs.LINES)] for at, name in enumerate(names)}
    dashes = {name: specs.DASHES[at // len(specs.LINES) % len(specs.DASHES)] for at, name in enumerate(names)}
    across = {"x": x, "y": y, "color": specs.looks("series", colours)}
    means = specs.only(kind="mean")
    reach = {"y": y | {"field": "least"}, "y2": {"field": "greatest"}}
    layers = [
        *_gaps(soak, unit_s, x),
        {"transform": means, "mark": {"type": "area", "opacity": 0.3}, "encoding": across | reach},
        {
            "transform": means,
            "mark": {"type": "line", "strokeWidth": 1.5},
            "encoding": across | {"strokeDash": specs.looks("series", dashes)},
        },
        *_marks(soak, unit_s, x, size["width"] * unit_s / span_s),
        *(layer | {"encoding": across | layer["encoding"]} for layer in specs.end_label_layers() if labels),
    ]
    return specs.themed({"data": {"values": [*rows, *labels]}, "padding": padding, **size, "layer": layers})


def _labels(rows: Sequence[Row], names: Sequence[str], px_per_unit: float) -> list[Row]:
    """The name of each line behind its end; none of a lone line."""
    last = {row["series"]: row for row in rows if row["value"] is not None}
    ends = sorted((last[name] for name in names), key=lambda row: row["value"]) if len(names) > 1 else []
    places = spread_labels([(row["value"], 1) for row in ends], px_per_unit)
    return [
        row | {"kind": "label", "end": row["value"], "value": at, "text": row["series"]}
        for row, at in zip(ends, places, strict=True)
    ]


def _gaps(soak: Soak, unit_s: float, x: Spec) -> list[Spec]:
    """The time between parts."""
    between = [
        {
            "from": (before.ended_s - soak.scan.start_s) / unit_s,
            "to": (after.started_s - soak.scan.start_s) / unit_s,
        }
        for before, after in zip(soak.parts, soak.parts[1:], strict=False)
    ]
    if not between:
        return []
    return [
        {
            "data": {"values": between},
            "mark": {"type": "rect", "fill": specs.MUTED, "opacity": 0.3},
            "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}},
        }
    ]


def _marks(soak: Soak, unit_s: float, x: Spec, px_per_unit: float) -> list[Spec]:
    """Events as dotted rules, with their time above where there is room for it."""
    times: list[Row] = []
    free = -math.inf
    for time_s in _event_times_s(soak)[:_MOST_MARKS]:
        at = (time_s - soak.scan.start_s) / unit_s
        fits = at >= free
        times.append({"at": at, "text": stamp(time_s) if fits else ""})
        free = at + _STAMP_PX / px_per_unit if fits else free
    if not times:
        return []
    places = {"x": {**x, "field": "at"}}
    above = {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11}
    return [
        {
            "data": {"values": times},
            "mark": {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 1},
            "encoding": places | {"color": {"value": specs.SENDER}},
        },
        {
            "data": {"values": times},
            "mark": above,
            "encoding": places
            | {"y": {"value": 0}, "text": {"field": "text"}, "color": {"value": "currentColor"}},
        },
    ]


def _event_times_s(soak: Soak) -> list[float]:
    """When something happened while loads ran; what was before that is in the list of events alone."""
    times = (event.time_s for event in soak.events if event.kind != "first-failure")
    return [time_s for time_s in times if time_s >= soak.scan.start_s]


def _unit(soak: Soak) -> tuple[float, str]:
    span_s = max(part.ended_s for part in soak.parts) - soak.scan.start_s
    return next(((unit_s, name) for least_s, unit_s, name in _TIMES if span_s >= least_s), (1.0, "Seconds"))


def _scaled(cells: Cells, factor: float) -> Cells:
    return [None if value is None else value * factor for value in cells]


def _mean(cells: Cells) -> float:
    known_values = [value for value in cells if value is not None]
    return sum(known_values) / len(known_values) if known_values else 0.0


def _peak(cells: Cells) -> float:
    return max((value for value in cells if value is not None), default=0.0)
