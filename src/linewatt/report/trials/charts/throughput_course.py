# SPDX-License-Identifier: Apache-2.0
"""Throughput over time beside the answer: the best case of the first series, one trial each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.metrics import METRIC_BY_NAME, Unit
from linewatt.model import Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.charts.time_series import thinned
from linewatt.report.series import instances_words
from linewatt.report.trials.answer.answer import best_cases
from linewatt.report.trials.answer.trust import Best
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.readings import ThroughputCourse, median_trial, read_throughput

MOST_SERIES = 3
_WIDTHS_PX = {1: 1120, 2: 530, 3: 330}
"""by how many stand side by side"""
_HEIGHT_PX = 96


def throughput_figures(view: Digest, runs: Runs) -> tuple[Figure, ...]:
    """A figure for each of the first series whose median trial has samples. Raises StoreError."""
    best = [case for case in best_cases(view) if case.summary.case.flow_of is None][:MOST_SERIES]
    drawn = [
        (case, trial, course)
        for case in best
        if (trial := median_trial(runs.get(case.summary.case, ()))) is not None
        and (course := read_throughput(view.result, trial)) is not None
    ]
    return tuple(
        _figure(case, course, which_trial(trial, len(runs[trial.case])), len(drawn))
        for case, trial, course in drawn
    )


def which_trial(trial: Trial, run_count: int) -> str:
    """``Trial 7, the median of 3 by throughput.``"""
    of = f", the median of {run_count} by throughput" if run_count > 1 else ""
    return f"Trial {trial.number}{of}."


def _figure(best: Best, course: ThroughputCourse, which: str, abreast: int) -> Figure:
    unit = METRIC_BY_NAME["throughput_bps"].unit([best.summary])
    rows = list(_rows(course, unit))
    values = [row["value"] for row in rows if row.get("value") is not None]
    range_words = f"{min(values):.4g} to {max(values):.4g} {unit.name}" if values else "no reading"
    case = best.summary.case
    name = best.name if case.of_users else f"{best.name}, {instances_words(case)}"
    return Figure(
        name=f"course-{case.key}-{case.sender}-{case.receiver}".replace(" ", ""),
        title=f"{name}: throughput over time",
        caption=f"{which} Shaded: the window that figures are from.",
        description=f"{range_words} over {course.points[-1][0] - course.points[0][0]:.0f} s",
        spec=_spec(rows, unit, _WIDTHS_PX[abreast]),
        wide=abreast == 1,
        over_time=True,
    )


def _rows(course: ThroughputCourse, unit: Unit) -> Iterator[Row]:
    yield {"kind": "window", "time_s": 0.0, "until_s": course.window_s}
    for time_s, value in thinned(list(course.points)):
        number = None if value is None else float(f"{unit.from_si(value):.5g}")
        yield {"kind": "reading", "time_s": round(time_s, 3), "value": number}


def _spec(rows: Sequence[Row], unit: Unit, width_px: int) -> Spec:
    readings = [row for row in rows if row["kind"] == "reading"]
    times_s = [row["time_s"] for row in readings]
    top = specs.HEADROOM * max((row["value"] or 0.0 for row in readings), default=0.0) or 1.0
    x = specs.amount("time_s", "s from the window's start", (min(times_s), max(times_s)), grid=False)
    y = specs.amount("value", unit.name, (0, top), ticks=3, minExtent=30)
    shade = {"type": "rect", "fill": specs.MUTED, "opacity": 0.16, "clip": True}
    line = {"type": "line", "strokeWidth": 1.6, "interpolate": "step-before", "stroke": specs.RECEIVER}
    layers = [
        {
            "transform": specs.only(kind="window"),
            "mark": shade,
            "encoding": {"x": x, "x2": {"field": "until_s"}},
        },
        {"transform": specs.only(kind="reading"), "mark": line, "encoding": {"x": x, "y": y}},
    ]
    return specs.themed(
        {"data": {"values": list(rows)}, "width": width_px, "height": _HEIGHT_PX, "layer": layers}
    )
