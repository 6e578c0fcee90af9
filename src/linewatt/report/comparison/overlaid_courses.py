# SPDX-License-Identifier: Apache-2.0
"""Goodput of the trials of both sides over the seconds since their load began, as lines over each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from linewatt.analysis.metrics import Unit
from linewatt.errors import StoreError
from linewatt.missing import Missing
from linewatt.model import Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, spread_labels
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.charts.time_series import Points, thinned, throughput_points
from linewatt.report.comparison.drawn_cases import SIDE_COLOURS, DrawnCase, DrawnSide
from linewatt.report.series import plural
from linewatt.store import load_result, read_courses, trial_dir
from linewatt.units import first_of

MOST_TRIALS = 10
"""of a side of a case"""
_MOST_POINTS = 1440
"""of a figure"""
_FEWEST_POINTS = 45
"""of a line"""
_SIZE_PX = (430, 180)
_NAME_PX = 110
_FAR_ABOVE_ZERO_RATIO, _MARGIN_RATIO = 0.4, 0.08
_DASHES = ([1, 0], [4, 2])

ResultPaths = tuple[Path, Path]
"""the results of A and of B; twice the same where levels of one are compared"""


@dataclass(frozen=True, slots=True)
class TrialCourse:
    """Goodput of a trial, bit/s at seconds since its load began, and its window on that time line."""

    number: int
    points: Points
    window_s: tuple[float, float]


def overlaid_figures(
    cases: Sequence[DrawnCase], paths: ResultPaths
) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """A figure for each case with samples on both sides, and a sentence on each other case."""
    trials = [_trials(path, [case.sides[at] for case in cases]) for at, path in enumerate(paths)]
    figures: list[Figure] = []
    missing_by_reason: dict[str, list[str]] = {}
    for number, drawn in enumerate(cases, start=1):
        courses = [
            _courses(path, side, trials_by_number)
            for path, side, trials_by_number in zip(paths, drawn.sides, trials, strict=True)
        ]
        reasons = [str(side_courses) for side_courses in courses if isinstance(side_courses, Missing)]
        if reasons:
            missing_by_reason.setdefault("; ".join(dict.fromkeys(reasons)), []).append(drawn.name)
        else:
            present = [side_courses for side_courses in courses if not isinstance(side_courses, Missing)]
            figures.append(_figure(drawn, present, number))
    sentences = [
        f"{first_of(names, 3, between='; ')}: not drawn over time, because {reason}."
        for reason, names in missing_by_reason.items()
    ]
    return tuple(figures), tuple(sentences)


def _trials(path: Path, sides: Iterable[DrawnSide]) -> dict[int, Trial]:
    """The trials of the drawn cases alone, by number."""
    numbers = {number for side in sides if side.case.flow_of is None for number in side.numbers}
    return {trial.number: trial for trial in load_result(path, only=numbers).trials} if numbers else {}


def _courses(
    path: Path, side: DrawnSide, trials_by_number: Mapping[int, Trial]
) -> list[TrialCourse] | Missing:
    """Of at most MOST_TRIALS trials, evenly chosen from the slowest to the fastest."""
    if side.case.flow_of is not None:
        return Missing(f"samples of {side.name} are of all pairs of hosts that ran at the same time")
    trials = [trials_by_number[number] for number in side.numbers if number in trials_by_number]
    courses = []
    for trial in evenly_chosen(trials):
        try:
            course = _course(path, trial)
        except StoreError as error:
            return Missing(f"samples of {side.name} cannot be read: {error}")
        if course is not None:
            courses.append(course)
    return courses or Missing(f"{side.name} has no stored samples of throughput")


def evenly_chosen(trials: Sequence[Trial]) -> list[Trial]:
    """At most MOST_TRIALS, the slowest and the fastest among them, in the order they ran."""
    if len(trials) <= MOST_TRIALS:
        return list(trials)
    by_rate = sorted(trials, key=lambda trial: trial.throughput_bps or 0.0)
    ranks = {round(at * (len(trials) - 1) / (MOST_TRIALS - 1)) for at in range(MOST_TRIALS)}
    return sorted((by_rate[rank] for rank in ranks), key=lambda trial: trial.number)


def _course(path: Path, trial: Trial) -> TrialCourse | None:
    window = trial.window
    if window is None:
        return None
    courses = read_courses(trial_dir(path, trial.number) / "samples.parquet", {})
    points = throughput_points(courses, trial, "receiver")
    if len(points) < 2:
        return None
    begun_s = trial.started_s
    since_load_s = [(time_s - begun_s, value) for time_s, value in points]
    window_s = (window.start_s - begun_s, window.end_s - begun_s)
    return TrialCourse(trial.number, _from_interval_start(since_load_s), window_s)


def _from_interval_start(points: Points) -> Points:
    """Readings are means since the reading before: the first one begins an interval earlier."""
    interval_s = median(after - before for (before, _), (after, _) in pairwise(points))
    first_s, first_value = points[0]
    return [(max(0.0, first_s - interval_s), first_value), *points]


def _figure(drawn: DrawnCase, courses: Sequence[Sequence[TrialCourse]], number: int) -> Figure:
    unit = drawn.unit
    most_points = max(_FEWEST_POINTS, _MOST_POINTS // sum(map(len, courses)))
    is_thinned = any(len(course.points) > most_points for side_courses in courses for course in side_courses)
    rows = list(_rows(drawn, courses, most_points))
    sides = list(zip(drawn.sides, courses, strict=True))
    counts = " and ".join(_count_words(side, side_courses) for side, side_courses in sides)
    remarks = list(_omitted_words(sides))
    if is_thinned:
        remarks.append(f"A line has at most {most_points} points, its peaks and dips among them.")
    ranges = "; ".join(_range_words(side, rows, unit) for side in drawn.sides)
    return Figure(
        name=f"courses-{number}",
        title=drawn.name,
        caption=" ".join((f"{counts}.", *remarks)),
        description=f"Goodput over time of {counts}. {ranges}.",
        spec=_spec(rows, [side.name for side in drawn.sides], unit, stepped=not is_thinned),
        over_time=True,
    )


def _count_words(side: DrawnSide, courses: Sequence[TrialCourse]) -> str:
    """``10 trials of A``, ``10 of 30 trials of A``."""
    trials = plural(len(side.numbers), "trial")
    drawn_words = trials if len(courses) == len(side.numbers) else f"{len(courses)} of {trials}"
    return f"{drawn_words} of {side.name}"


def _omitted_words(sides: Iterable[tuple[DrawnSide, Sequence[TrialCourse]]]) -> Iterator[str]:
    """Why trials are not drawn."""
    sides = list(sides)
    if any(len(side.numbers) > MOST_TRIALS for side, _ in sides):
        count = MOST_TRIALS
        yield f"Of more than {count} trials, {count} are chosen evenly from the slowest to the fastest."
    for side, courses in sides:
        without_samples = min(len(side.numbers), MOST_TRIALS) - len(courses)
        if without_samples:
            yield f"Without stored samples of throughput: {plural(without_samples, 'trial')} of {side.name}."


def _rows(drawn: DrawnCase, courses: Sequence[Sequence[TrialCourse]], most_points: int) -> Iterator[Row]:
    """The window of each side, and the readings of its trials."""
    for side, side_courses in zip(drawn.sides, courses, strict=True):
        base: Row = {"side": side.name}
        starts_s, ends_s = zip(*(course.window_s for course in side_courses), strict=True)
        yield base | {
            "kind": "window",
            "time_s": round(median(starts_s), 3),
            "until_s": round(median(ends_s), 3),
        }
        for course in side_courses:
            for time_s, value_bps in thinned(course.points, most_points):
                value = None if value_bps is None else float(f"{drawn.unit.from_si(value_bps):.5g}")
                yield base | {
                    "kind": "reading",
                    "trial": course.number,
                    "time_s": round(time_s, 3),
                    "value": value,
                }


def _values(side_name: str, rows: Sequence[Row]) -> list[float]:
    return [
        row["value"]
        for row in rows
        if row["kind"] == "reading" and row["side"] == side_name and row["value"] is not None
    ]


def _range_words(side: DrawnSide, rows: Sequence[Row], unit: Unit) -> str:
    values = _values(side.name, rows)
    if not values:
        return f"{side.name}: no reading"
    return f"{side.name} from {unit.text(min(values))} to {unit.text(max(values))} {unit.name}"


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """From 0, or from near the lowest reading where all are far above 0."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low < _FAR_ABOVE_ZERO_RATIO * high:
        return 0.0, specs.HEADROOM * high or 1.0
    margin = _MARGIN_RATIO * (high - low) or _MARGIN_RATIO * high or 1.0
    return max(0.0, low - margin), high + margin


def _spec(rows: Sequence[Row], names: Sequence[str], unit: Unit, *, stepped: bool) -> Spec:
    width, height = _SIZE_PX
    low, high = _domain([value for name in names for value in _values(name, rows)])
    end_s = max(row["time_s"] for row in rows if row["kind"] == "reading")
    x = specs.amount("time_s", "s since the load began", (0, end_s), ticks=6, grid=False)
    y = specs.amount("value", f"Goodput ({unit.name})", (low, high), ticks=4)
    interpolate = "step-before" if stepped else "linear"
    colour = specs.looks("side", dict(zip(names, SIDE_COLOURS, strict=True)))
    dashes = specs.looks("side", dict(zip(names, _DASHES, strict=True)))
    layers: list[Spec] = [
        {
            "transform": specs.only(kind="window"),
            "mark": {"type": "rect", "fill": specs.MUTED, "opacity": 0.1, "clip": True},
            "encoding": {"x": x, "x2": {"field": "until_s"}},
        },
        {
            "transform": specs.only(kind="reading"),
            "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.75, "interpolate": interpolate},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "strokeDash": dashes,
                "detail": {"field": "trial", "type": "nominal"},
            },
        },
        {
            "transform": specs.only(kind="name"),
            "mark": {"type": "text", "align": "left", "dx": 6, "fontWeight": "bold", "limit": _NAME_PX},
            "encoding": {"x": x, "y": y, "text": {"field": "side"}, "color": colour},
        },
    ]
    spec: Spec = {
        "data": {"values": [*rows, *_name_rows(rows, names, end_s, height / (high - low))]},
        "width": width,
        "height": height,
        "layer": layers,
    }
    return specs.themed(spec | {"padding": {"left": 5, "top": 5, "bottom": 5, "right": 24}})


def _name_rows(rows: Sequence[Row], names: Collection[str], end_s: float, px_per_unit: float) -> list[Row]:
    """The name of each side behind its lines, apart from each other."""
    levels = sorted((median(values), name) for name in names if (values := _values(name, rows)))
    places = spread_labels([(level, 1) for level, _ in levels], px_per_unit)
    return [
        {"kind": "name", "side": name, "time_s": end_s, "value": place}
        for (_, name), place in zip(levels, places, strict=True)
    ]
