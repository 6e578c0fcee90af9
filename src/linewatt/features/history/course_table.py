# SPDX-License-Identifier: Apache-2.0
"""A course as a table with one row per result, and notes about it as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from linewatt.analysis.comparison import Difference, signed_change, unit_of_change
from linewatt.analysis.metrics import Unit
from linewatt.analysis.statistics import Estimate
from linewatt.features.history.courses import Change, Course, Label, Unlike
from linewatt.model import Case
from linewatt.report import (
    Cell,
    Head,
    Row,
    RowGroup,
    Table,
    legend_notes,
    plural,
    provenance_legend,
    provenance_mark,
    text_cells,
)
from linewatt.report import provenance_words as sources
from linewatt.report.comparison import mean_cell, where_and_what
from linewatt.units import first_of, format_time_utc

MOST_ROWS = 30
"""with more results, consecutive results without a note share one row"""
_BESIDE = 1
"""neighbours on each side of a result with a note that also get a row"""
_NEWEST = 5
MOST_LABELS = 12
"""labels shown per course, in addition to those where a step may be"""
_MOST_FACTS = 2
_MOST_DIFFERENCES = 8
_MOST_DOUBTS = 2


@dataclass(frozen=True, slots=True)
class NamedCourse:
    """A course with its display name and unit."""

    name: str
    course: Course
    unit: Unit

    @property
    def title(self) -> str:
        return f"{self.name} [{self.course.case.key}]: {self.course.words}"


def table(named: NamedCourse, *, folded: bool) -> Table:
    """One row per result; ``folded``: of many, those with a note, their neighbours and the newest."""
    course, marks = named.course, marks_of(named.course)
    shown = _shown_places(course, marks) if folded else set(range(len(course.points)))
    rows = []
    for is_shown, places in groupby(range(len(course.points)), key=shown.__contains__):
        if is_shown:
            rows += [_row_of_result(named, at, marks.get(at, "")) for at in places]
        else:
            rows.append(_row_of_gap(named, list(places)))
    mean = (
        Head("One run", named.unit.name, lines="One run,")
        if not isinstance(course.case, Case)
        else Head("Mean ± SD (n)", named.unit.name)
    )
    kinds = [point.provenance for point in course.points]
    return Table(
        named.title,
        (Head("Result", kind="text"),),
        (Head("When", kind="text"), replace(mean, show_sd=True), Head("Change", kind="text")),
        (RowGroup("", tuple(rows)),),
        notes=legend_notes(provenance_legend(kinds)),
        provenance=sources(kinds),
    )


def _row_of_result(named: NamedCourse, at: int, note: str) -> Row:
    point = named.course.points[at]
    mean = mean_cell(point.mean, named.unit, provenance_mark(point.provenance))
    if not isinstance(named.course.case, Case):
        mean = replace(mean, note=None)
    return Row(text_cells(point.side.id), (Cell(format_time_utc(point.side.created_s)), mean, Cell(note)))


def _row_of_gap(named: NamedCourse, places: Sequence[int]) -> Row:
    means = [named.course.points[at].mean.mean for at in places]
    low, high = (mean_cell(Estimate(mean, None, 1), named.unit).text for mean in (min(means), max(means)))
    span = low if low == high else f"{low} to {high}"
    return Row(text_cells("…"), (Cell(plural(len(places), "result")), Cell(span), Cell("")))


def _shown_places(course: Course, marks: dict[int, str]) -> set[int]:
    count = len(course.points)
    if count <= MOST_ROWS:
        return set(range(count))
    marked = {*marks, *(at for change in course.changes for at in (change.first, change.last))}
    near = {at + by for at in marked for by in range(-_BESIDE, _BESIDE + 1)}
    return ({0} | near | set(range(count - _NEWEST, count))) & set(range(count))


def marks_of(course: Course) -> dict[int, str]:
    """Notes for the Change column, by the place of the result."""
    marks: dict[int, list[str]] = {}
    for change in course.changes:
        marks.setdefault(change.at, []).append(f"◀ {change.verdict.words}")
    for outlier in course.unlike:
        marks.setdefault(outlier.at, []).append(
            f"unlike the rest: {format_deviation(outlier, course)}, in no mean"
        )
    for label in shown_labels(course):
        marks.setdefault(label.at, []).append(f"△ {format_facts(label.differences)}")
    for at, point in enumerate(course.points):
        if point.doubts:
            marks.setdefault(at, []).append(_format_doubts(point.doubts))
    return {at: "; ".join(notes) for at, notes in marks.items()}


def shown_labels(course: Course) -> list[Label]:
    """Labels where a step may be, and the newest: if facts change with every result, not all are shown."""
    near = {at for change in course.changes for at in range(change.first, change.last + 1)}
    newest = {label.at for label in course.labels[-MOST_LABELS:]}
    return [label for label in course.labels if label.at in near | newest]


def format_deviation(outlier: Unlike, course: Course) -> str:
    """``−40.0 %``: how far an outlier is from the results around it."""
    return f"{signed_change(outlier.change, course.response)} {unit_of_change(course.response)}"


def format_facts(differences: Sequence[Difference]) -> str:
    """``kernel.release, nic.firmware and 3 more``: the facts that changed, each once."""
    return first_of(
        list(dict.fromkeys(difference.fact for difference in differences)), _MOST_FACTS, between=", "
    )


def _format_doubts(doubts: Sequence[tuple[str, int]]) -> str:
    named = [f"{code} ×{trials}" if trials > 1 else code for code, trials in doubts]
    return f"doubtful: {first_of(named, _MOST_DOUBTS, between=', ')}"


def note_lines(named: NamedCourse) -> Iterator[str]:
    """Notes of a course: possible places of each step, what changed with it, and what changed elsewhere."""
    course = named.course
    if course.apart:
        yield f"not one course with earlier results: {course.apart}"
    for change in course.changes:
        yield from _change_lines(course, change)
    stepped = {change.at for change in course.changes}
    labels = shown_labels(course)
    for label in labels:
        if label.at not in stepped:
            yield from _lines_between(course, label.at, label.differences)
    unshown = len(course.labels) - len(labels)
    if unshown:
        yield f"{plural(unshown, 'earlier result')} before which something changed, too; --json has what"
    if course.without:
        names = first_of(list(course.without), _MOST_FACTS, between=", ")
        yield f"{plural(len(course.without), 'result')} with the case and without this figure: {names}"


def _change_lines(course: Course, change: Change) -> Iterator[str]:
    at = course.points[change.at].side.id
    if change.first < change.last:
        ends = (course.points[place].side.id for place in (change.first, change.last))
        yield f"{at}: the step may as well be at any result from {' to '.join(ends)}"
    if change.doubts:
        yield f"{at}: every result before or after it has {', '.join(change.doubts)}, so that it is doubtful"
    shown = [difference for difference in change.environment if difference.rank is not None]
    if not change.environment:
        yield f"{_format_ends(course, change.at)}: nothing on record of the hosts changed"
    yield from _lines_between(course, change.at, shown, unranked=len(change.environment) - len(shown))


def _lines_between(
    course: Course, at: int, differences: Sequence[Difference], unranked: int = 0
) -> Iterator[str]:
    """Changes between two results that matter, and how many more there are. The text names no cause."""
    where = _format_ends(course, at)
    hosts: dict[str, list[str]] = {}
    for host, what in where_and_what(differences):
        hosts.setdefault(what, []).append(host)
    changes = [f"{', '.join(names)}: {what}" for what, names in hosts.items()]
    yield from (f"{where}: {line}" for line in changes[:_MOST_DIFFERENCES])
    unranked += max(0, len(changes) - _MOST_DIFFERENCES)
    if unranked:
        yield f"{where}: {plural(unranked, 'other difference')}, which --json has"


def _format_ends(course: Course, at: int) -> str:
    """``between A and B``: the result and the last one before it that belongs to a level."""
    unlike = {outlier.at for outlier in course.unlike}
    stepped = {change.at for change in course.changes}
    before = at - 1
    while at in stepped and before in unlike:
        before -= 1
    return f"between {course.points[before].side.id} and {course.points[at].side.id}"
