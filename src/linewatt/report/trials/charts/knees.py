# SPDX-License-Identifier: Apache-2.0
"""The curve of a search of instances: throughput by instances, and the two lines that meet at the knee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.cases import InstanceSearch, fit_knee
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, mean_row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.trials.searches.knees import answer_words
from linewatt.report.trials.searches.searches import named
from linewatt.units import format_rate, mbps_from_bps

_SIZE_PX = (520, 260)


def knee_figures(instance_searches: Sequence[InstanceSearch]) -> Iterator[Figure]:
    """One for each search with more than one step that has a number."""
    for number, (search, name) in enumerate(named(instance_searches), start=1):
        instance_means = [
            (step.case.instances, step.throughput_bps) for step in search.steps if step.throughput_bps
        ]
        if len(instance_means) > 1:
            answer = answer_words(search)
            points = "; ".join(f"{format_rate(mean.mean, 4)} at {count}" for count, mean in instance_means)
            lines = " Dashed: the two lines fitted; shaded: the 95 % CI of where they meet."
            yield Figure(
                name=f"knee-{number}",
                title=f"{name}: throughput by instances",
                caption=f"{answer[:1].upper()}{answer[1:]}. Points are means, bars one standard deviation "
                f"over trials.{lines if search.knee else ''}",
                description=f"Throughput: {points} instances. {answer}.",
                spec=_spec(search),
            )


def _spec(search: InstanceSearch) -> Spec:
    rows: list[Row] = [
        {"x": step.case.instances} | mean_row(step.throughput_bps, mbps_from_bps)
        for step in search.steps
        if step.throughput_bps is not None
    ]
    rows += _fitted(search)
    x = specs.amount("x", "instances", ticks=8, format="d") | {"scale": {"domainMin": 0, "nice": False}}
    y = specs.amount("value", "throughput (Mbps)") | {"scale": {"zero": True}}
    fit: Spec = {"transform": specs.only(kind="fit")}
    layers: list[Spec] = [
        {
            "transform": specs.only(kind="ci"),
            "mark": {"type": "rect", "opacity": 0.15},
            "encoding": {"x": x, "x2": {"field": "x2"}, "color": {"value": specs.SENDER}},
        },
        fit
        | {
            "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y, "detail": {"field": "line"}, "color": {"value": specs.SENDER}},
        },
        *(
            layer | {"encoding": layer["encoding"] | {"x": x, "color": {"value": specs.RECEIVER}}}
            for layer in specs.error_bars("y")
        ),
        {
            "transform": specs.only(kind="mean"),
            "mark": {"type": "point", "filled": True, "size": 52, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": {"value": specs.RECEIVER}},
        },
    ]
    width, height = _SIZE_PX
    return specs.themed({"data": {"values": rows}, "width": width, "height": height, "layer": layers})


def _fitted(search: InstanceSearch) -> Iterator[Row]:
    """The lines fitted on either side of the knee, and the interval of where they meet."""
    bend, lines = search.knee, fit_knee(search)
    if bend is None or lines is None:
        return
    first, last = search.tried[0], search.tried[-1]
    for (level, slope), (start, end) in zip(
        lines, ((first, bend.instances), (bend.instances, last)), strict=True
    ):
        for at in (start, end):
            yield {"kind": "fit", "x": at, "value": mbps_from_bps(level + slope * at), "line": start}
    yield {"kind": "ci", "x": bend.low, "x2": bend.high}
