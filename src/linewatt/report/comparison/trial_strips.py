# SPDX-License-Identifier: Apache-2.0
"""The throughput of every trial of both sides on one scale: a dot a trial, the mean and its 95 % CI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from linewatt.analysis.metrics import Unit
from linewatt.foreign import one_line
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.charts.time_series import Points, thinned
from linewatt.report.comparison.drawn_cases import SIDE_COLOURS, DrawnCase, DrawnSide
from linewatt.report.series import plural

_SIZE_PX = (400, 116)
_MARGIN_RATIO = 0.06
_NARROWEST_RATIO = 0.002
"""no panel is drawn finer than this part of its values"""
MOST_DOTS = 120
_HALF_HEIGHT = 0.4
"""of a side; sides are 1 apart"""
SHAPES = ("circle", "square")


def strip_figure(drawn: DrawnCase, number: int) -> Figure:
    """Of one case; ``number`` is its place on the page."""
    labels = [f"{side.name}: {_text(side.throughput_bps.mean, drawn.unit)}" for side in drawn.sides]
    rows = [
        row
        for place, (side, label) in enumerate(zip(drawn.sides, labels, strict=True))
        for row in side_rows(side, label, place, drawn.unit)
    ]
    means = [_mean_words(side, drawn.unit) for side in drawn.sides]
    verdict = f"{drawn.verdict[:1].upper()}{drawn.verdict[1:]}"
    extremes = [_extremes_words(side, drawn.unit) for side in drawn.sides]
    return Figure(
        name=f"every-trial-{number}",
        title=drawn.name,
        caption=f"{verdict}. {' '.join(means)}{_cut_words(rows)}{_omitted_words(rows, drawn.sides)}",
        description=" ".join(
            ("Throughput of each trial.", *means, *extremes, _overlap_words(drawn.sides))
        ).strip(),
        spec=_spec(rows, labels, drawn.unit),
    )


def side_rows(side: DrawnSide, label: str, place: int, unit: Unit) -> Iterator[Row]:
    """The mean with its CI, and a row for each trial: from top to bottom in the order they ran."""
    base: Row = {"side": label}
    mean = base | {"kind": "mean", "value": unit.from_si(side.throughput_bps.mean)}
    interval = side.throughput_bps.interval()
    if interval is not None:
        mean |= {"low": unit.from_si(interval.low), "high": unit.from_si(interval.high)}
    yield mean | {"top": place - _HALF_HEIGHT, "bottom": place + _HALF_HEIGHT}
    values = side.throughput_bps.values
    spacing = 2 * _HALF_HEIGHT / (len(values) + 1)
    ordered: Points = [(float(at), value_bps) for at, value_bps in enumerate(values, start=1)]
    for at, value_bps in thinned(ordered, MOST_DOTS):
        if value_bps is not None:
            height = round(place - _HALF_HEIGHT + at * spacing, 3)
            yield base | {"kind": "run", "place": height, "value": unit.from_si(value_bps)}


def _mean_words(side: DrawnSide, unit: Unit) -> str:
    """``A: mean 93.9 Gbps (95 % CI 93.7 to 94.2), 10 trials.``"""
    throughput = side.throughput_bps
    interval = throughput.interval()
    confidence = (
        "" if interval is None else f" (95 % CI {_text(interval.low, unit)} to {_text(interval.high, unit)})"
    )
    mean = f"{_text(throughput.mean, unit)} {unit.name}{confidence}"
    return f"{side.name}: mean {mean}, {plural(throughput.n, 'trial')}."


def _extremes_words(side: DrawnSide, unit: Unit) -> str:
    """``Trials of A from 93.2 to 94.5 Gbps.``"""
    values = side.throughput_bps.values
    if len(values) < 2:
        return ""
    return f"Trials of {side.name} from {_text(min(values), unit)} to {_text(max(values), unit)} {unit.name}."


def _text(throughput_bps: float, unit: Unit) -> str:
    return unit.text(unit.from_si(throughput_bps))


def _overlap_words(sides: Sequence[DrawnSide]) -> str:
    base, compared = (side.throughput_bps.values for side in sides)
    if not base or not compared:
        return ""
    names = f"{sides[0].name} and {sides[1].name}"
    if max(base) < min(compared) or max(compared) < min(base):
        return f"The trials of {names} do not overlap."
    return f"The trials of {names} overlap."


def _omitted_words(rows: Sequence[Row], sides: Sequence[DrawnSide]) -> str:
    dots = sum(row["kind"] == "run" for row in rows)
    trials = sum(len(side.throughput_bps.values) for side in sides)
    return f" Drawn are {dots} of {trials} trials, with the slowest and the fastest." if dots < trials else ""


def _cut_words(rows: Sequence[Row]) -> str:
    start, end = _domain(rows)
    is_cut = any(row["low"] < start or row["high"] > end for row in rows if "low" in row)
    return " A band that reaches an edge of the chart goes on beyond it." if is_cut else ""


def _domain(rows: Sequence[Row]) -> list[float]:
    """All trials and means. A CI of few trials that is much wider than they are runs out of the panel."""
    values = [row["value"] for row in rows]
    low, high = min(values), max(values)
    reach = max(high - low, _NARROWEST_RATIO * high) or 1.0
    low_ci = min([low, *(row["low"] for row in rows if "low" in row)])
    high_ci = max([high, *(row["high"] for row in rows if "high" in row)])
    start, end = max(low_ci, low - reach), min(high_ci, high + reach)
    margin = _MARGIN_RATIO * max(end - start, reach)
    return [max(0.0, start - margin), end + margin]


def _spec(rows: Sequence[Row], labels: Sequence[str], unit: Unit) -> Spec:
    width, height = _SIZE_PX
    x = specs.amount("value", f"Throughput ({unit.name})", _domain(rows), labelOverlap="greedy")
    names = json.dumps([one_line(label) for label in labels])  # escaped, so that no name is an expression
    y = specs.amount(
        "place",
        None,
        (1.5, -0.5),
        values=[0, 1],
        labelExpr=f"{names}[datum.value]",
        labelPadding=8,
        ticks=False,
        grid=False,
    )
    colour = specs.looks("side", dict(zip(labels, SIDE_COLOURS, strict=True)))
    shape = specs.looks("side", dict(zip(labels, SHAPES, strict=True)))
    row_height = {"y": y | {"field": "top"}, "y2": {"field": "bottom"}, "color": colour}
    layers: list[Spec] = [
        {
            "transform": [*specs.only(kind="mean"), {"filter": "isValid(datum.high)"}],
            "mark": {"type": "rect", "opacity": 0.25, "clip": True},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, **row_height},
        },
        {
            "transform": specs.only(kind="mean"),
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": x, **row_height},
        },
        {
            "transform": specs.only(kind="run"),
            "mark": {"type": "point", "filled": True, "size": 34, "opacity": 0.85},
            "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
        },
    ]
    spec: Spec = {"data": {"values": list(rows)}, "width": width, "height": height, "layer": layers}
    return specs.themed(spec | specs.room(labels))
