# SPDX-License-Identifier: Apache-2.0
"""A history as one HTML file with a chart of each course; no script, nothing loaded from anywhere."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jinja2 import Environment

from linewatt import __version__
from linewatt.analysis.comparison.verdicts import signed, unit_of_change
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.soak.job import Job
from linewatt.analysis.statistics.stats import Estimate
from linewatt.features.history.course_table import Named, apart, facts, labels_told, lines, table
from linewatt.features.history.courses import Course, too_few
from linewatt.features.history.report import History, alone, asides, finding_words, heading, named
from linewatt.report.charts import course as chart
from linewatt.report.charts.data import Row, mean_row
from linewatt.report.charts.figure import DrawnFigure, Figure, drawn
from linewatt.report.comparison.tables import mean_cell
from linewatt.report.comparison.terminal import ENDS
from linewatt.report.comparison.words import lab_words_of
from linewatt.report.printing.export import when
from linewatt.report.printing.html import pages_of_files
from linewatt.report.section import Lines, Section, listed
from linewatt.report.series import plural
from linewatt.report.table import Table

MOST_CHARTS = 60
"""of more courses, those that changed are drawn first"""
_LEGEND = (
    "A point is the mean of one result with its SD; a line is a level, where results are enough to test for "
    "one. Orange: unlike the rest, in no level; at the edge, beyond the scale. Hollow: findings make it "
    "doubtful. Dashed: between two results something on record of the hosts or the campaign changed, which "
    "says when and not why. The scale does not begin at 0."
)


def render(found: History, pages: Environment | None = None) -> str:
    """The whole page; ``pages`` are templates of a server in place of those of a file."""
    page = (pages or pages_of_files()).get_template("history.html.j2")
    return page.render(
        version=__version__,
        kind="history",
        name=_title(found),
        complete=True,
        verdict=_verdict(found),
        summary=list(_summary(found)),
        parts=list(_parts(found)),
        sections=[_asides(found)],
        caveats=lab_words_of(found.hosts),
        lab=any(host.lab for host in found.hosts.values()),
        elsewhere=None,
    )


def _title(found: History) -> str:
    ids = [point.side.id for one in found.courses for point in one.points]
    return f"{plural(len(set(ids)), 'result')}" if ids else "No results"


def _verdict(found: History) -> str:
    if found.regressions is None:
        return ""
    words = finding_words(found.regressions).partition(": ")[0]  # which ones stands below
    return f"{ENDS[found.regressions.exit_code]}: {words}."


def _summary(found: History) -> Iterator[str]:
    """A line a course that changed or cannot be told, worst news first; then how many did not."""
    told = [
        (one.course.is_worse, f"{one.name}, {response.title.lower()}: {one.course.words}")
        for response, courses in found.by_response()
        for one in named(response, courses)
        if len(one.course.points) > 1 and _has_news(one.course)
    ]
    yield from (line for _, line in sorted(told, key=lambda one: not one[0]))
    quiet = [one for one in found.courses if len(one.points) > 1 and not _has_news(one)]
    yield from _quiet_words(quiet)


def _quiet_words(quiet: Sequence[Course]) -> Iterator[str]:
    """How many courses have no change, as far as they were tested; of the others why they were not."""
    tested = [one for one in quiet if one.has_enough]
    seen = sum(not one.is_blind for one in tested)
    if seen:
        yield f"{plural(seen, 'course')} without a change"
    if len(tested) > seen:
        yield f"{plural(len(tested) - seen, 'course')} whose results differ too much to show a change"
    counts = Counter(too_few(one.points) for one in quiet if not one.has_enough)
    yield from (f"{plural(count, 'course')}: {words}" for words, count in counts.items())


def _has_news(course: Course) -> bool:
    return bool(course.changes or course.drift or course.newest_unlike)


@dataclass(frozen=True, slots=True)
class Block:
    """One course on the page: its chart, what is to be known of it, and its results, folded."""

    notes: Lines
    table: Table
    chart: DrawnFigure | None


@dataclass(frozen=True, slots=True)
class Part:
    """All courses of one response."""

    title: str
    anchor: str
    intro: tuple[str, ...]
    blocks: tuple[Block, ...]


def _parts(found: History) -> Iterator[Part]:
    followed = [one for one in found.courses if len(one.points) > 1]
    charted = sorted(followed, key=lambda one: not _has_news(one))[:MOST_CHARTS]
    for number, (response, courses) in enumerate(found.by_response(), start=1):
        every = named(response, courses)
        own = [one for one in every if len(one.course.points) > 1]
        figures = {
            id(one.course): _figure(one, response, f"{number}-{at}")
            for at, one in enumerate(own, start=1)
            if any(one.course is each for each in charted)
        }
        charts = dict(zip(figures, drawn(list(figures.values()), f"history-{number}"), strict=True))
        intro = [_LEGEND] if figures and number == 1 else []
        intro += [alone(every)] if alone(every) else []
        blocks = tuple(_block(one, charts.get(id(one.course))) for one in own)
        yield Part(heading(found, response, courses), f"history-{number}", tuple(intro), blocks)


def _block(one: Named, chart: DrawnFigure | None) -> Block:
    """Without a chart its table's title says what it is."""
    results = plural(len(one.course.points), "result")
    folded = results if chart else f"{one.title} ({results})"
    return Block(listed("", lines(one)), replace(table(one, folded=False), folded=folded), chart)


def _asides(found: History) -> Section:
    return Section("In no course", "asides", notes=tuple(listed(*one) for one in asides(found)))


def _figure(one: Named, response: Response, name: str) -> Figure:
    course = one.course
    days = [when(point.side.created_s)[:10] for point in course.points]
    axis = f"{response.title}{f' ({one.unit.name})' if one.unit.name else ''}"
    return Figure(
        name=f"history-{name}",
        title=one.name,
        caption=f"{course.words[:1].upper()}{course.words[1:]}.",
        description=f"{one.name}: {course.words}",
        spec=chart.spec(list(_rows(one)), axis, days),
        wide=True,
    )


def _rows(one: Named) -> Iterator[Row]:
    course, from_si = one.course, one.unit.from_si
    unlike = {each.at: each for each in course.unlike}
    for at, point in enumerate(course.points):
        if at in unlike:
            text = f"{mean_cell(point.mean, one.unit).text} ({apart(unlike[at], course)})"
            base = {"x": at, "result": point.side.id}
            yield base | {"kind": "unlike", "value": from_si(point.mean.mean), "text": text}
        else:
            mean = point.mean if not isinstance(course.case, Job) else Estimate(point.mean.mean, None, 1)
            base = {"x": at, "result": point.side.id, "doubtful": bool(point.doubts)}
            yield base | mean_row(mean, from_si)
    if course.drift is not None:
        yield from _drift(one, set(unlike))
    elif course.has_enough:
        yield from _levels(one)
    for label in labels_told(course):
        yield {"kind": "label", "x": label.at - 0.5, "text": chart.short(facts(label.differences))}


def _drift(one: Named, unlike: set[int]) -> Iterator[Row]:
    """The straight line through results that are not unlike it."""
    means = {at: point.mean.mean for at, point in enumerate(one.course.points) if at not in unlike}
    slope, base = statistics.linear_regression(list(means), list(means.values()))
    for at in (0, len(one.course.points) - 1):
        yield {"kind": "drift", "x": at, "value": one.unit.from_si(base + slope * at)}


def _levels(one: Named) -> Iterator[Row]:
    """Levels as means of the results' means as people read them, and the steps between."""
    course = one.course
    apart_at = {each.at for each in course.unlike}
    changes = {change.at: change for change in course.changes}
    for first, last, _ in course.levels:
        means = [course.points[at].mean.mean for at in range(first, last + 1) if at not in apart_at]
        value = one.unit.from_si(sum(means) / len(means))
        yield {"kind": "level", "x": first - 0.4, "x2": last + 0.4, "value": value}
        change = changes[first].verdict.change if first in changes else None
        if change is not None:
            text = f"{signed(change.value, course.response)} {unit_of_change(course.response)}"
            yield {"kind": "step", "x": first - 0.4, "value": value, "text": text}
