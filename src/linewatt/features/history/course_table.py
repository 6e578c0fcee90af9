# SPDX-License-Identifier: Apache-2.0
"""One course as a table with a row a result, and what is to be known of it in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from linewatt.analysis.comparison.differences import Difference
from linewatt.analysis.comparison.verdicts import signed, unit_of_change
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.soak.job import Job
from linewatt.analysis.statistics.stats import Estimate
from linewatt.features.history.courses import Change, Course, Label, Unlike
from linewatt.report.comparison.tables import mean_cell
from linewatt.report.comparison.words import difference_lines
from linewatt.report.printing.export import when
from linewatt.report.provenance import legend, mark
from linewatt.report.provenance import words as sources
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, legend_notes, texts
from linewatt.units import first_of

MOST_ROWS = 30
"""of more results those that nothing is said of stand in one row"""
_BESIDE = 1
"""results beside one of which something is said, that have a row"""
_NEWEST = 5
MOST_LABELS = 12
"""that are told of a course, beside those where a step may be"""
_MOST_FACTS = 2
_MOST_DIFFERENCES = 8
_MOST_DOUBTS = 2


@dataclass(frozen=True, slots=True)
class Named:
    """A course as people read it: what it is called, and its unit."""

    name: str
    course: Course
    unit: Unit

    @property
    def title(self) -> str:
        return f"{self.name} [{self.course.case.key}]: {self.course.words}"


def table(one: Named, *, folded: bool) -> Table:
    """A row a result; ``folded``: of many those of which something is said, and the newest."""
    course, marks = one.course, marks_of(one.course)
    shown = _shown(course, marks) if folded else set(range(len(course.points)))
    rows = []
    for is_shown, places in groupby(range(len(course.points)), key=shown.__contains__):
        if is_shown:
            rows += [_row(one, at, marks.get(at, "")) for at in places]
        else:
            rows.append(_left_out(one, list(places)))
    is_soak = isinstance(course.case, Job)
    mean = (
        Head("One run", one.unit.name, lines="One run,") if is_soak else Head("Mean ± SD (n)", one.unit.name)
    )
    kinds = [point.provenance for point in course.points]
    return Table(
        one.title,
        (Head("Result", kind="text"),),
        (Head("When", kind="text"), replace(mean, show_sd=True), Head("Change", kind="text")),
        (RowGroup("", tuple(rows)),),
        notes=legend_notes(legend(kinds)),
        provenance=sources(kinds),
    )


def _row(one: Named, at: int, said: str) -> Row:
    point = one.course.points[at]
    mean = mean_cell(point.mean, one.unit, mark(point.provenance))
    if isinstance(one.course.case, Job):
        mean = replace(mean, note=None)
    return Row(texts(point.side.id), (Cell(when(point.side.created_s)), mean, Cell(said)))


def _left_out(one: Named, places: Sequence[int]) -> Row:
    means = [one.course.points[at].mean.mean for at in places]
    low, high = (mean_cell(Estimate(each, None, 1), one.unit).text for each in (min(means), max(means)))
    span = low if low == high else f"{low} to {high}"
    return Row(texts("…"), (Cell(plural(len(places), "result")), Cell(span), Cell("")))


def _shown(course: Course, marks: dict[int, str]) -> set[int]:
    count = len(course.points)
    if count <= MOST_ROWS:
        return set(range(count))
    told = {*marks, *(at for each in course.changes for at in (each.first, each.last))}
    near = {at + by for at in told for by in range(-_BESIDE, _BESIDE + 1)}
    return ({0} | near | set(range(count - _NEWEST, count))) & set(range(count))


def marks_of(course: Course) -> dict[int, str]:
    """What stands beside a result, by its place."""
    marks: dict[int, list[str]] = {}
    for change in course.changes:
        marks.setdefault(change.at, []).append(f"◀ {change.verdict.words}")
    for one in course.unlike:
        marks.setdefault(one.at, []).append(f"unlike the rest: {apart(one, course)}, in no mean")
    for label in labels_told(course):
        marks.setdefault(label.at, []).append(f"△ {facts(label.differences)}")
    for at, point in enumerate(course.points):
        if point.doubts:
            marks.setdefault(at, []).append(_doubts(point.doubts))
    return {at: "; ".join(said) for at, said in marks.items()}


def labels_told(course: Course) -> list[Label]:
    """Where a step may be, and the newest: where facts change with every result, all would say nothing."""
    near = {at for change in course.changes for at in range(change.first, change.last + 1)}
    newest = {label.at for label in course.labels[-MOST_LABELS:]}
    return [label for label in course.labels if label.at in near | newest]


def apart(one: Unlike, course: Course) -> str:
    """``−40.0 %``: how far a result is from those around it."""
    return f"{signed(one.change, course.response)} {unit_of_change(course.response)}"


def facts(differences: Sequence[Difference]) -> str:
    """``kernel.release, nic.firmware and 3 more``: what changed, each fact once."""
    return first_of(list(dict.fromkeys(one.fact for one in differences)), _MOST_FACTS, between=", ")


def _doubts(doubts: Sequence[tuple[str, int]]) -> str:
    named = [f"{code} ×{trials}" if trials > 1 else code for code, trials in doubts]
    return f"doubtful: {first_of(named, _MOST_DOUBTS, between=', ')}"


def lines(one: Named) -> Iterator[str]:
    """What else is to be known: where a step may as well be, what changed with it and elsewhere."""
    course = one.course
    if course.apart:
        yield f"not one course with earlier results: {course.apart}"
    for change in course.changes:
        yield from _of_change(course, change)
    stepped = {change.at for change in course.changes}
    told = labels_told(course)
    for label in told:
        if label.at not in stepped:
            yield from _between(course, label.at, label.differences)
    left = len(course.labels) - len(told)
    if left:
        yield f"{plural(left, 'earlier result')} before which something changed, too; --json has what"
    if course.without:
        named = first_of(list(course.without), _MOST_FACTS, between=", ")
        yield f"{plural(len(course.without), 'result')} with the case and without this figure: {named}"


def _of_change(course: Course, change: Change) -> Iterator[str]:
    at = course.points[change.at].side.id
    if change.first < change.last:
        ends = (course.points[each].side.id for each in (change.first, change.last))
        yield f"{at}: the step may as well be at any result from {' to '.join(ends)}"
    if change.doubts:
        yield f"{at}: every result before or after it has {', '.join(change.doubts)}, so that it is doubtful"
    shown = [each for each in change.environment if each.rank is not None]
    if not change.environment:
        yield f"{_ends(course, change.at)}: nothing on record of the hosts changed"
    yield from _between(course, change.at, shown, left=len(change.environment) - len(shown))


def _between(course: Course, at: int, differences: Sequence[Difference], left: int = 0) -> Iterator[str]:
    """What changed between two results: what matters, and how much more there is. No word says why."""
    where = _ends(course, at)
    hosts: dict[str, list[str]] = {}
    for line in difference_lines(differences):
        host, _, what = line.partition(": ")
        hosts.setdefault(what, []).append(host)
    told = [f"{', '.join(names)}: {what}" for what, names in hosts.items()]
    yield from (f"{where}: {line}" for line in told[:_MOST_DIFFERENCES])
    left += max(0, len(told) - _MOST_DIFFERENCES)
    if left:
        yield f"{where}: {plural(left, 'other difference')}, which --json has"


def _ends(course: Course, at: int) -> str:
    """The result and the one before it that belongs to a level."""
    unlike = {one.at for one in course.unlike}
    stepped = {one.at for one in course.changes}
    before = at - 1
    while at in stepped and before in unlike:
        before -= 1
    return f"between {course.points[before].side.id} and {course.points[at].side.id}"
