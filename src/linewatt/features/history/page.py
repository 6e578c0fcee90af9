# SPDX-License-Identifier: Apache-2.0
"""A history as one HTML file with a chart of each course; no script, nothing loaded from anywhere."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jinja2 import Environment

from linewatt import __version__
from linewatt.analysis.comparison import signed_change, unit_of_change
from linewatt.analysis.metrics import Response
from linewatt.analysis.statistics import Estimate
from linewatt.features.history import course_chart as chart
from linewatt.features.history.course_table import (
    NamedCourse,
    format_deviation,
    format_facts,
    note_lines,
    shown_labels,
    table,
)
from linewatt.features.history.courses import Course, too_few
from linewatt.features.history.report import (
    History,
    asides,
    count_words,
    heading,
    name_courses,
    single_result_note,
)
from linewatt.features.history.time_axis import TimeAxis, time_axis
from linewatt.model import Case
from linewatt.report import Lines, Section, Table, plural, text_lines
from linewatt.report.charts import DrawnFigure, Figure, Row, draw_figures, mean_row
from linewatt.report.comparison import ENDING_BY_EXIT_CODE, lab_words_of, mean_cell
from linewatt.report.printing import pages_of_files

_LABEL_WIDTH = 0.025
"""of the width of a chart: the height of a line of text, which stands upright there"""
MOST_CHARTS = 60
"""with more courses, those that changed are drawn first"""
_LEGEND = (
    "A point is the mean of one result with its SD; a line is a level, where results are enough to test for "
    "one. Orange: unlike the rest, in no level; at the edge, beyond the scale. Hollow: findings make it "
    "doubtful. Dashed: between two results something on record of the hosts or the campaign changed, which "
    "says when and not why; names that do not fit are only below the chart. Results are spaced by time "
    "(UTC). The scale does not begin at 0."
)


def render(history: History, pages: Environment | None = None) -> str:
    """The whole page; ``pages`` replaces the templates of a file by those of a server."""
    page = (pages or pages_of_files()).get_template("history.html.j2")
    return page.render(
        version=__version__,
        kind="history",
        name=_title(history),
        complete=True,
        verdict=_verdict(history),
        summary=list(_summary(history)),
        parts=list(_parts(history)),
        sections=[_asides_section(history)],
        caveats=lab_words_of(history.hosts),
        lab=bool(history.lab_courses) and len(history.lab_courses) == len(history.courses),
        elsewhere=None,
    )


def _title(history: History) -> str:
    ids = [point.side.id for course in history.courses for point in course.points]
    return f"{plural(len(set(ids)), 'result')}" if ids else "No results"


def _verdict(history: History) -> str:
    if history.regressions is None:
        return ""
    return f"{ENDING_BY_EXIT_CODE[history.regressions.exit_code]}: {count_words(history.regressions)}."


def _summary(history: History) -> Iterator[str]:
    """One line per course that changed or is open, worse ones first; then how many did not change."""
    changed = [
        (named.course.is_worse, f"{named.name}, {response.title.lower()}: {named.course.words}")
        for response, courses in history.by_response()
        for named in name_courses(response, courses)
        if len(named.course.points) > 1 and _has_news(named.course)
    ]
    yield from (line for _, line in sorted(changed, key=lambda line: not line[0]))
    quiet = [course for course in history.courses if len(course.points) > 1 and not _has_news(course)]
    yield from _quiet_words(quiet)


def _quiet_words(quiet: Sequence[Course]) -> Iterator[str]:
    """How many tested courses have no change, and why the others were not tested."""
    tested = [course for course in quiet if course.has_enough]
    seen = sum(not course.is_blind for course in tested)
    if seen:
        yield f"{plural(seen, 'course')} without a change"
    if len(tested) > seen:
        yield f"{plural(len(tested) - seen, 'course')} whose results differ too much to show a change"
    counts = Counter(too_few(course.points) for course in quiet if not course.has_enough)
    yield from (f"{plural(count, 'course')}: {words}" for words, count in counts.items())


def _has_news(course: Course) -> bool:
    return bool(course.changes or course.drift or course.newest_unlike)


@dataclass(frozen=True, slots=True)
class Block:
    """One course on the page: its chart, its notes, and its results, folded."""

    notes: Lines
    table: Table
    chart: DrawnFigure | None
    is_lab: bool


@dataclass(frozen=True, slots=True)
class Part:
    """All courses of one response."""

    title: str
    anchor: str
    intro: tuple[str, ...]
    blocks: tuple[Block, ...]


def _parts(history: History) -> Iterator[Part]:
    followed = [course for course in history.courses if len(course.points) > 1]
    charted = sorted(followed, key=lambda course: not _has_news(course))[:MOST_CHARTS]
    for number, (response, courses) in enumerate(history.by_response(), start=1):
        listed_courses = name_courses(response, courses)
        drawable = [named for named in listed_courses if len(named.course.points) > 1]
        figures = {
            id(named.course): _figure(named, response, f"{number}-{at}")
            for at, named in enumerate(drawable, start=1)
            if any(named.course is course for course in charted)
        }
        charts = dict(zip(figures, draw_figures(list(figures.values()), f"history-{number}"), strict=True))
        intro = [_LEGEND] if figures and number == 1 else []
        intro += [single_result_note(listed_courses)] if single_result_note(listed_courses) else []
        blocks = tuple(
            _block_of_course(
                named,
                charts.get(id(named.course)),
                is_lab=any(named.course is course for course in history.lab_courses),
            )
            for named in drawable
        )
        yield Part(heading(history, response, courses), f"history-{number}", tuple(intro), blocks)


def _block_of_course(named: NamedCourse, drawn_chart: DrawnFigure | None, *, is_lab: bool) -> Block:
    """A course; without a chart the title of the table names it."""
    results = plural(len(named.course.points), "result")
    folded = results if drawn_chart else f"{named.title} ({results})"
    folded_table = replace(table(named, folded=False), folded=folded)
    return Block(text_lines("", note_lines(named)), folded_table, drawn_chart, is_lab)


def _asides_section(history: History) -> Section:
    return Section("In no course", "asides", notes=tuple(text_lines(*aside) for aside in asides(history)))


def _figure(named: NamedCourse, response: Response, name: str) -> Figure:
    course = named.course
    x_axis = time_axis([point.side.created_s for point in course.points])
    axis = f"{response.title}{f' ({named.unit.name})' if named.unit.name else ''}"
    return Figure(
        name=f"history-{name}",
        title=named.name,
        caption=f"{course.words[:1].upper()}{course.words[1:]}.",
        description=f"{named.name}: {course.words}",
        spec=chart.spec(list(_chart_rows(named, x_axis)), axis, x_axis),
        wide=True,
    )


def _chart_rows(named: NamedCourse, x_axis: TimeAxis) -> Iterator[Row]:
    course, from_si = named.course, named.unit.from_si
    unlike = {outlier.at: outlier for outlier in course.unlike}
    for at, point in enumerate(course.points):
        if at in unlike:
            text = f"{mean_cell(point.mean, named.unit).text} ({format_deviation(unlike[at], course)})"
            base = {"x": x_axis.places_s[at], "result": point.side.id}
            yield base | {"kind": "unlike", "value": from_si(point.mean.mean), "text": text}
        else:
            mean = point.mean if isinstance(course.case, Case) else Estimate(point.mean.mean, None, 1)
            base = {"x": x_axis.places_s[at], "result": point.side.id, "doubtful": bool(point.doubts)}
            yield base | mean_row(mean, from_si)
    if course.drift is not None:
        yield from _drift_rows(named, x_axis, set(unlike))
    elif course.has_enough:
        yield from _level_rows(named, x_axis)
    labels = sorted(shown_labels(course), key=lambda label: label.at)
    fits = x_axis.fit([x_axis.between_s(label.at) for label in labels], _LABEL_WIDTH)
    for label, fits_beside in zip(labels, fits, strict=True):
        text = chart.short(format_facts(label.differences)) if fits_beside else ""
        yield {"kind": "label", "x": x_axis.between_s(label.at), "text": text}


def _drift_rows(named: NamedCourse, x_axis: TimeAxis, unlike: set[int]) -> Iterator[Row]:
    """The drift at each result: a straight line over the order of results, which statistics are about."""
    means = {at: point.mean.mean for at, point in enumerate(named.course.points) if at not in unlike}
    slope, base = statistics.linear_regression(list(means), list(means.values()))
    for at, place_s in enumerate(x_axis.places_s):
        yield {"kind": "drift", "x": place_s, "value": named.unit.from_si(base + slope * at)}


def _level_rows(named: NamedCourse, x_axis: TimeAxis) -> Iterator[Row]:
    """Levels as means of the results' means in display units, and the steps between them."""
    course = named.course
    apart_at = {outlier.at for outlier in course.unlike}
    changes = {change.at: change for change in course.changes}
    for first, last, _ in course.levels:
        means = [course.points[at].mean.mean for at in range(first, last + 1) if at not in apart_at]
        value = named.unit.from_si(sum(means) / len(means))
        start_s = x_axis.start_s(first)
        yield {"kind": "level", "x": start_s, "x2": x_axis.end_s(last), "value": value}
        change = changes[first].verdict.change if first in changes else None
        if change is not None:
            text = f"{signed_change(change.value, course.response)} {unit_of_change(course.response)}"
            yield {"kind": "step", "x": start_s, "value": value, "text": text}
