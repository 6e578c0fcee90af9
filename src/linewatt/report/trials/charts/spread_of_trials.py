# SPDX-License-Identifier: Apache-2.0
"""How the trials of a case differ: a dot a trial and a box, for cases with enough trials for quartiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from linewatt.model import Case
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.series import plural
from linewatt.report.trials.digest import Digest
from linewatt.units import format_rate

FEWEST_TRIALS = 5
MOST_CASES = 20
_WIDTH_PX, _ROW_PX, _TEXT_PX = 780, 46, 150


@dataclass(frozen=True, slots=True)
class Spread:
    """The throughput of a case's trials, bit/s, with their numbers."""

    label: str
    runs: tuple[tuple[int, float], ...]

    @property
    def median_bps(self) -> float:
        return median(bps for _, bps in self.runs)

    @property
    def range_ratio(self) -> float:
        """The slowest to the fastest, of the median."""
        values = [bps for _, bps in self.runs]
        return (max(values) - min(values)) / self.median_bps

    def percent(self, bps: float) -> float:
        """The difference from the median."""
        return round(100 * (bps / self.median_bps - 1), 4)


def spread_figures(view: Digest, runs: Runs) -> tuple[Figure, ...]:
    """One figure of all cases with enough trials, of many those whose trials differ most; else none."""
    spreads = [
        Spread(view.describe(summary.case), measured)
        for group in view.groups
        for summary in group.summaries
        if len(measured := _measured(runs, summary.case)) >= FEWEST_TRIALS
    ]
    spreads = [spread for spread in spreads if spread.median_bps > 0]
    widest = sorted(spreads, key=lambda spread: -spread.range_ratio)[:MOST_CASES]
    shown = [spread for spread in spreads if spread in widest]
    return (_figure(shown, len(spreads)),) if shown else ()


def _measured(runs: Runs, case: Case) -> tuple[tuple[int, float], ...]:
    return tuple(
        (trial.number, trial.throughput_bps)
        for trial in runs.get(case, ())
        if trial.throughput_bps is not None
    )


def _figure(shown: Sequence[Spread], case_count: int) -> Figure:
    omitted_words = (
        f" Drawn are the {len(shown)} of {case_count} cases whose trials differ most."
        if len(shown) < case_count
        else ""
    )
    return Figure(
        name="spread-of-trials",
        title="Throughput of each trial",
        caption="A dot is a trial. The box has the middle half of the trials, with a line at the median; the "
        "thin line goes from the slowest to the fastest. The axis is the difference from the median of the "
        f"case.{omitted_words}",
        description="; ".join(_words(spread) for spread in shown),
        spec=_spec(shown),
        wide=True,
    )


def _words(spread: Spread) -> str:
    values = [bps for _, bps in spread.runs]
    ends = f"{format_rate(min(values), 4)} to {format_rate(max(values), 4)}"
    return (
        f"{spread.label}: {plural(len(values), 'trial')}, {ends}, median {format_rate(spread.median_bps, 4)}"
    )


def _rows(spread: Spread) -> Iterator[Row]:
    values = [bps for _, bps in spread.runs]
    lower_bps, middle_bps, upper_bps = quantiles(values, n=4, method="inclusive")
    yield {
        "kind": "box",
        "case": spread.label,
        "low": spread.percent(min(values)),
        "lower": spread.percent(lower_bps),
        "median": spread.percent(middle_bps),
        "upper": spread.percent(upper_bps),
        "high": spread.percent(max(values)),
        "text": f"median {format_rate(spread.median_bps, 4)}",
    }
    for number, bps in spread.runs:
        yield {"kind": "run", "case": spread.label, "value": spread.percent(bps), "trial": number}


def _spec(shown: Sequence[Spread]) -> Spec:
    rows = [row for spread in shown for row in _rows(spread)]
    boxes = [row for row in rows if row["kind"] == "box"]
    low, high = min(row["low"] for row in boxes), max(row["high"] for row in boxes)
    margin = 0.05 * (high - low) or 0.5
    labels = [spread.label for spread in shown]
    domain = (low - margin, high + margin)

    def x(field: str) -> Spec:
        return specs.amount(field, "% from the median of the case", domain, ticks=8)

    box = {"transform": specs.only(kind="box")}
    thin = {"type": "rule", "strokeWidth": 1.3, "stroke": specs.MUTED}
    bar = {"type": "bar", "height": 16, "fill": specs.RECEIVER, "fillOpacity": 0.35, "stroke": specs.RECEIVER}
    middle = {"type": "tick", "orient": "vertical", "size": 16, "thickness": 2.5, "color": "currentColor"}
    dot = {
        "type": "point",
        "filled": True,
        "size": 30,
        "opacity": 0.75,
        "yOffset": 16,
        "color": specs.RECEIVER,
    }
    text = {"type": "text", "align": "left", "dx": 10, "color": "currentColor"}
    down = specs.labels_down("case", labels)
    spec: Spec = {
        "data": {"values": rows},
        "width": _WIDTH_PX,
        "height": {"step": _ROW_PX},
        "encoding": {"y": down | {"scale": {"domain": labels}}},
        "layer": [
            box | {"mark": thin, "encoding": {"x": x("low"), "x2": {"field": "high"}}},
            box | {"mark": bar, "encoding": {"x": x("lower"), "x2": {"field": "upper"}}},
            box | {"mark": middle, "encoding": {"x": x("median")}},
            {"transform": specs.only(kind="run"), "mark": dot, "encoding": {"x": x("value")}},
            box | {"mark": text, "encoding": {"x": {"value": _WIDTH_PX}, "text": {"field": "text"}}},
        ],
    }
    room = specs.room(labels)
    room["padding"]["right"] = _TEXT_PX - 60
    return specs.themed(spec | room)
