# SPDX-License-Identifier: Apache-2.0
"""Trials over time: throughput, CPU and the system's watts of both ends, the window shaded; a figure a case.

A column is one trial. Fans and frequencies are there where they were read, retransmits where there were any:
those of all TCP of the sender's host. RTT is of the load's connections, where they reported it. The watts are
the sum of the channels that the case's watts are made of, each with its last reading; while one is missing so
is the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linewatt.analysis.cases import CaseSummary, fastest_case, mean_bps
from linewatt.analysis.metrics import METRIC_BY_NAME
from linewatt.model import ENDS, Role, Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs, spread_labels
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.charts.time_series import (
    Points,
    of_usual_length,
    rtt_points,
    sum_if_complete,
    thinned,
    throughput_points,
)
from linewatt.report.provenance import provenance_words
from linewatt.report.series import plural
from linewatt.report.trials.digest import Digest, system_power
from linewatt.store import Course, read_courses, trial_dir
from linewatt.units import ghz_from_hz, ms_from_s, percent_from_cores

MOST_FIGURES = 12
MOST_TRIALS = 4
_RETRANSMITS = "Retransmits"
_RTT = "RTT"
_COLUMNS_ARE = (
    "A column is one trial; shaded: the window that figures are from. Rates and CPU are means since the "
    "reading before, watts as read."
)
_TCP_ROWS_ARE = {
    _RETRANSMITS: " Retransmits are of all TCP of the sender's host.",
    _RTT: " RTT is the smoothed RTT of the sender's kernel (tcp_info), as read; mean of the load's streams.",
}
"""what a row of TCP covers, by its quantity"""


@dataclass(frozen=True, slots=True)
class _Track:
    """One row of a figure: what is read of a trial's courses at an end, SI, and how it is shown."""

    quantity: str
    unit: str
    read: Callable[[Sequence[Course], Trial, Role], Points]
    from_si: Callable[[float], float]
    ends: tuple[Role, ...] = ENDS
    stepped: bool = False
    """whether a reading is the mean since the one before"""
    always: bool = True
    """whether it is said where it was not read"""

    @property
    def name(self) -> str:
        return f"{self.quantity} ({self.unit})"


def over_time_figures(view: Digest, runs: Runs) -> tuple[Figure, ...]:
    """A figure for each case with stored samples, of many cases for the best one of each series."""
    series = [case_series for group in view.groups for case_series in group.series]
    cases = [
        summary for case_series in series for summary in case_series.summaries if summary.case.flow_of is None
    ]
    if len(cases) > MOST_FIGURES:
        best = [
            fastest for case_series in series if (fastest := fastest_case(case_series.summaries)) is not None
        ]
        cases = sorted(best, key=mean_bps, reverse=True)[:MOST_FIGURES]
    drawn = (_figure(view, summary, runs.get(summary.case, ())) for summary in cases)
    return tuple(figure for figure in drawn if figure is not None)


def _figure(view: Digest, summary: CaseSummary, runs: Sequence[Trial]) -> Figure | None:
    shown = _telling([trial for trial in runs if trial.window is not None])
    cpus = {name: host.cpus for name, host in view.hosts.items()}
    courses = {
        trial.number: read_courses(trial_dir(view.result.path, trial.number) / "samples.parquet", cpus)
        for trial in shown
    }
    if not any(courses.values()):
        return None
    labels = {trial.number: _label(view, trial) for trial in shown}
    rows: dict[_Track, list[Row]] = {}
    absent = []
    for track in _tracks(summary):
        track_rows = [row for trial in shown for row in _rows(track, trial, courses[trial.number], labels)]
        if track.quantity == _RETRANSMITS and not any(row.get("value") for row in track_rows):
            absent += _none_sent_again(track_rows)
        elif any(row["kind"] == "reading" for row in track_rows):
            rows[track] = track_rows
        elif track.always:
            absent.append(f" {track.quantity}: no reading is stored.")
    if not rows:
        return None
    some = f" Drawn are {len(shown)} of {plural(len(runs), 'trial')}: those with findings, then the slowest "
    omitted_words = f"{some}and the fastest." if len(shown) < len(runs) else ""
    return Figure(
        name=f"time-{summary.case.key}-{summary.case.sender}-{summary.case.receiver}".replace(" ", ""),
        title=f"{view.describe(summary.case)}: over time",
        caption=f"{_COLUMNS_ARE}{_source(shown)}{_tcp_words(rows)}{omitted_words}{''.join(absent)}",
        description="; ".join(_range(track.name, row) for track, row in rows.items()),
        spec=_spec(rows, list(labels.values())),
        wide=len(shown) > 2,
        over_time=True,
    )


def _tcp_words(tracks: Iterable[_Track]) -> str:
    """What retransmits and RTT are of, where they are drawn."""
    return "".join(_TCP_ROWS_ARE.get(track.quantity, "") for track in tracks)


def _telling(trials: Sequence[Trial]) -> list[Trial]:
    """At most MOST_TRIALS: those with findings, then the slowest and the fastest; in the order they ran."""
    if len(trials) <= MOST_TRIALS:
        return list(trials)
    by_rate = sorted(trials, key=lambda trial: trial.throughput_bps or 0.0)
    extremes = [by_rate[at // 2 if at % 2 == 0 else -1 - at // 2] for at in range(len(by_rate))]
    ordered = [*(trial for trial in trials if trial.flags), *(trial for trial in extremes if not trial.flags)]
    return sorted(ordered[:MOST_TRIALS], key=lambda trial: trial.number)


def _label(view: Digest, trial: Trial) -> str:
    marks = ", ".join(view.marks.of(flag.code for flag in trial.flags))
    return f"trial {trial.number}{f', see {marks}' if marks else ''}"


def _source(shown: Sequence[Trial]) -> str:
    """Where the watts are from, unless they were measured."""
    totals = [system_power(trial.end(role)) for trial in shown for role in ENDS]
    source = provenance_words([total.provenance for total in totals if total is not None])
    return f" The watts are {source}." if source else ""


def _tracks(summary: CaseSummary) -> tuple[_Track, ...]:
    unit = METRIC_BY_NAME["throughput_bps"].unit([summary])
    of_tcp = (
        _Track(_RETRANSMITS, "/s", _retransmits, float, ("sender",), stepped=True, always=False),
        _Track(_RTT, "ms", rtt_points, ms_from_s, ("sender",), always=False),
    )
    return (
        _Track("Throughput", unit.name, throughput_points, unit.from_si, ("receiver",), stepped=True),
        _Track("CPU", "%", _of_host("cpu", "cores"), percent_from_cores, stepped=True),
        *(of_tcp if summary.case.test == "tcp" else ()),
        _Track("System power", "W", _system, float),
        _Track("Frequency", "GHz", _of_host("frequency", "Hz"), ghz_from_hz, always=False),
        _Track("Fastest fan", "rpm", _of_host("fan", "rpm"), float, always=False),
    )


def _of_host(name: str, unit: str) -> Callable[[Sequence[Course], Trial, Role], Points]:
    def read(courses: Sequence[Course], trial: Trial, role: Role) -> Points:
        host = trial.case.host(role)
        points = next(
            (
                course.points
                for course in courses
                if (course.host, course.name, course.unit) == (host, name, unit)
            ),
            (),
        )
        return of_usual_length(points) if name == "cpu" else list(points)

    return read


def _retransmits(courses: Sequence[Course], trial: Trial, role: Role) -> Points:
    """TCP segments that the host sent again, per second since the reading before."""
    host = trial.case.host(role)
    counts = next(
        (course.points for course in courses if (course.host, course.name) == (host, "retransmits")), ()
    )
    return [
        (
            time_s,
            None
            if before is None or after is None or after < before
            else (after - before) / (time_s - since_s),
        )
        for (since_s, before), (time_s, after) in pairwise(counts)
    ]


def _none_sent_again(rows: Sequence[Row]) -> list[str]:
    """What a caption says in place of a row of zeros; nothing where any count is missing."""
    values = [row["value"] for row in rows if row["kind"] == "reading"]
    return [" No TCP segment was retransmitted."] if values and None not in values else []


def _system(courses: Sequence[Course], trial: Trial, role: Role) -> Points:
    """The sum of the channels that the metric counts, each with its last reading."""
    total = system_power(trial.end(role))
    if total is None:
        return []
    channels = [
        course
        for course in courses
        if (course.host, course.source, course.unit) == (trial.case.host(role), total.source, "W")
        and course.name in total.channels
    ]
    if len(channels) < len(total.channels):
        return []
    last: dict[str, float | None] = {}
    points: Points = []
    readings = sorted(
        ((time_s, course.name, value) for course in channels for time_s, value in course.points),
        key=lambda read: read[0],
    )
    for at, (time_s, name, value) in enumerate(readings):
        last[name] = value
        complete = at + 1 == len(readings) or readings[at + 1][0] > time_s
        if complete and len(last) == len(channels):
            points.append((time_s, sum_if_complete(last.values())))
    return points


def _rows(track: _Track, trial: Trial, courses: Sequence[Course], labels: Mapping[int, str]) -> Iterator[Row]:
    window = trial.window
    if window is None:
        return
    base: Row = {"trial": labels[trial.number]}
    yield base | {"kind": "window", "time_s": 0.0, "until_s": window.seconds}
    for role in track.ends:
        points = [
            (time_s - window.start_s, None if value is None else track.from_si(value))
            for time_s, value in track.read(courses, trial, role)
        ]
        for time_s, value in thinned(points):
            yield base | {
                "kind": "reading",
                "end": role,
                "time_s": round(time_s, 3),
                "value": None if value is None else float(f"{value:.5g}"),
                "stepped": track.stepped,
            }


def _range(name: str, rows: Sequence[Row]) -> str:
    values = [row["value"] for row in rows if row["kind"] == "reading" and row["value"] is not None]
    return f"{name} from {min(values):.4g} to {max(values):.4g}" if values else f"{name}: no reading"


_SIZE_PX = (205, 74)


def _spec(tracks: Mapping[_Track, Sequence[Row]], trials: Sequence[str]) -> Spec:
    """A row a track on a scale from 0, a column a trial; ends named behind the last one."""
    times_s = [row["time_s"] for rows in tracks.values() for row in rows if row["kind"] == "reading"]
    span = (min(times_s, default=0.0), max(times_s, default=1.0))
    shown = [
        _row(track, rows, trials, span, first=at == 0, last=at + 1 == len(tracks))
        for at, (track, rows) in enumerate(tracks.items())
    ]
    return specs.themed({"vconcat": shown, "spacing": 6})


def _row(
    track: _Track,
    rows: Sequence[Row],
    trials: Sequence[str],
    span: tuple[float, float],
    *,
    first: bool,
    last: bool,
) -> Spec:
    values = [row["value"] for row in rows if row["kind"] == "reading" and row["value"] is not None]
    top = specs.HEADROOM * max(values, default=0.0) or 1.0
    bare = {} if last else {"labels": False, "tickSize": 0}
    title = "s from the window's start" if last else None
    x = specs.amount("time_s", title, span, ticks=5, grid=False, **bare)
    y = specs.amount("value", [track.quantity, f"({track.unit})"], (0, top), ticks=3, minExtent=44)
    stepped = any(row.get("stepped") for row in rows)
    ends = [end for end in ENDS if any(row.get("end") == end for row in rows)]
    course: Spec = {
        "transform": specs.only(kind="reading"),
        "mark": {"type": "line", "strokeWidth": 1.3, "interpolate": "step-before" if stepped else "linear"},
        "encoding": {"x": x, "y": y, "color": _COLOURS},
    }
    shade = {"type": "rect", "fill": specs.MUTED, "opacity": 0.16}
    layers: list[Spec] = [
        {
            "transform": specs.only(kind="window"),
            "mark": shade,
            "encoding": {"x": x, "x2": {"field": "until_s"}},
        },
        course,
    ]
    names = _names(rows, trials, _SIZE_PX[1] / top) if len(ends) > 1 else []
    if names:
        layers.append(
            {
                "transform": specs.only(kind="name"),
                "mark": {"type": "text", "align": "left", "dx": 6},
                "encoding": {"x": x, "y": y, "text": {"field": "end"}, "color": _COLOURS},
            }
        )
    header: Spec = {} if first else {"header": {"labels": False}}
    return {
        "data": {"values": [*rows, *names]},
        "facet": {"column": specs.panels("trial", trials) | header},
        "spec": {"width": _SIZE_PX[0], "height": _SIZE_PX[1], "layer": layers},
        "spacing": 16,
        "bounds": "flush",
    }


_COLOURS = specs.looks("end", {"receiver": specs.RECEIVER, "sender": specs.SENDER})


def _names(rows: Sequence[Row], trials: Sequence[str], px_per_unit: float) -> list[Row]:
    """The names of both ends behind the last trial's courses, apart from each other."""
    lasts = {
        row["end"]: row
        for row in rows
        if row["kind"] == "reading" and row["trial"] == trials[-1] and row["value"] is not None
    }
    ordered = sorted(lasts.values(), key=lambda row: row["value"])
    places = spread_labels([(row["value"], 1) for row in ordered], px_per_unit)
    return [row | {"kind": "name", "value": at} for row, at in zip(ordered, places, strict=True)]
