# SPDX-License-Identifier: Apache-2.0
"""Mbps/core against Mbps/W: the points that no other beats at both, as a line through them."""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.features.advice.fleet.advice import FleetAdvice
from linewatt.features.advice.fleet.points import OperatingPoint, Reading
from linewatt.report import plural, provenance_words
from linewatt.report.charts import Figure, Row, Spec, largest_drawn, specs
from linewatt.units import format_significant, mbps_from_bps

_SIZE_PX = (520, 320)


def trade_off(advice: FleetAdvice) -> Figure | None:
    """The picture; ``None`` where fewer than two points have both, or their watts are not of one kind."""
    if advice.front is None:
        return None
    points = [fleet.point for fleet in advice.fleets if fleet.point.bps_per_core and fleet.point.bps_per_w]
    best = advice.choice.cheapest
    cheapest = None if best is None else best.point.instances
    rows = [
        row
        for point in points
        for row in _rows(point, point.instances in advice.front, point.instances == cheapest)
    ]
    bars = " Bars: 95 % CI, and the meter's error." if any("high" in row for row in rows) else ""
    kinds = provenance_words([point.provenance for point in points])
    return Figure(
        name="fleet-front",
        title="More work of a core against more work of a watt",
        caption="Up and to the right is better. Filled and on the line: no other point is better at both. "
        f"Hollow: another is. Ringed: the cheapest. Numbers are instances a server.{bars}"
        f"{f' Watts are {kinds}.' if kinds else ''}",
        description="; ".join(_described(point, advice.front) for point in points),
        spec=_spec(rows),
    )


def _rows(point: OperatingPoint, on_front: bool, cheapest: bool) -> list[Row]:
    core, watt = _ends(point.bps_per_core, 0.0), _ends(point.bps_per_w, _meter(point))
    if core is None or watt is None:
        return []
    row: Row = {
        "kind": "mean",
        "x": core[0],
        "value": watt[0],
        "front": "yes" if on_front else "no",
        "cheapest": "yes" if cheapest else "no",
        "text": f"{point.instances}",
    }
    if len(core) > 1:
        row |= {"left": core[1], "right": core[2]}
    if len(watt) > 1:
        row |= {"low": watt[1], "high": watt[2]}
    return [row]


def _meter(point: OperatingPoint) -> float:
    """By which part the watts may be off for all runs alike."""
    power = point.power_w
    return 0.0 if power is None or power.bound is None or power.mean <= 0 else power.bound / power.mean


def _ends(reading: Reading | None, off: float) -> tuple[float, ...] | None:
    if reading is None:
        return None
    ends = reading.ends()
    values = (reading.mean,) if ends is None else (reading.mean, ends[0] * (1 - off), ends[1] * (1 + off))
    return tuple(map(mbps_from_bps, values))


def _described(point: OperatingPoint, front: Sequence[int]) -> str:
    core, watt = (
        format_significant(mbps_from_bps(reading.mean), 4) if reading else "–"
        for reading in (point.bps_per_core, point.bps_per_w)
    )
    on = "on the front" if point.instances in front else "beaten by another"
    return f"{plural(point.instances, 'instance')}: {core} Mbps/core, {watt} Mbps/W, {on}"


def _spec(rows: Sequence[Row]) -> Spec:
    top = largest_drawn(rows)
    right = max((max(row["x"], row.get("right", 0.0)) for row in rows), default=0.0)
    x = specs.amount("x", "Mbps per core", (0, right * specs.HEADROOM))
    y = specs.amount("value", "Mbps per W", (0, top * specs.HEADROOM))
    line = {"type": "line", "strokeWidth": 2, "color": specs.RECEIVER}
    point = {"type": "point", "size": 80, "stroke": specs.RECEIVER, "strokeWidth": 1.8, "opacity": 1}
    across = {"type": "rule", "strokeWidth": 1.5, "color": specs.MUTED}
    fill = {"fill": specs.looks("front", {"yes": specs.RECEIVER, "no": specs.GROUND})}
    name = {"type": "text", "align": "left", "baseline": "bottom", "dx": 9, "dy": -8}
    ends = {"x": {"field": "left", "type": "quantitative"}, "x2": {"field": "right"}}
    ring = {"type": "point", "size": 330, "stroke": specs.SENDER, "strokeWidth": 2, "opacity": 1}
    layers: list[Spec] = [
        {"transform": specs.only(cheapest="yes"), "mark": ring},
        {
            "transform": specs.only(front="yes"),
            "mark": line,
            "encoding": {"order": {"field": "x", "type": "quantitative"}},
        },
        {"transform": [{"filter": "isValid(datum.right)"}], "mark": across, "encoding": ends},
        *specs.error_bars("y", color=specs.MUTED),
        {"mark": point, "encoding": fill},
        {"mark": name, "encoding": {"text": {"field": "text"}, "color": {"value": "currentColor"}}},
    ]
    size = {"width": _SIZE_PX[0], "height": _SIZE_PX[1]}
    return specs.themed(
        {"data": {"values": list(rows)}, **size, "encoding": {"x": x, "y": y}, "layer": layers}
    )
