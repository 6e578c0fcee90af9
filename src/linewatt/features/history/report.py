# SPDX-License-Identifier: Apache-2.0
"""Cases and soaks over many results, as JSON and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis.comparison import Difference, Point
from linewatt.analysis.metrics import Response, Unit
from linewatt.declare import FLAT, TEXT, Schema, keys_of, listing, record, said, version
from linewatt.features.history.course_table import NamedCourse, note_lines, table
from linewatt.features.history.courses import Change, Course, Unlike
from linewatt.features.history.regressions import Regressions
from linewatt.foreign import one_line
from linewatt.json_document import document_of, fill, of_class
from linewatt.model import Case, Provenance
from linewatt.records import Count, Host
from linewatt.report import plural, run_kinds
from linewatt.report.comparison import (
    COLOUR_BY_EXIT_CODE,
    ENDING_BY_EXIT_CODE,
    lab_words_of,
    names_of_cases,
    unit_of_response,
)
from linewatt.report.printing import LeveledCase, Numbers, keyed_case, render_table, titled, verdict_numbers
from linewatt.store import Damaged
from linewatt.units import first_of

SCHEMA_VERSION = 2
_MOST_NAMED = 4
"""cases in one result only that are listed; JSON has all"""
_MOST_WORSE = 3


@dataclass(frozen=True, slots=True)
class History:
    """Courses of cases and of soaks; ``results`` is the number of results without soaks.

    ``left_out`` has (id, reason) of soaks that cannot be used, ``searched`` (id, rates that its searches
    found).
    """

    courses: tuple[Course, ...]
    results: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    damaged: tuple[Damaged, ...] = ()
    searched: tuple[tuple[str, Sequence[str]], ...] = ()
    regressions: Regressions | None = None
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """hosts of the newest result of each course"""
    lab_courses: tuple[Course, ...] = ()
    """those whose newest result was measured in a lab"""

    @property
    def cases(self) -> tuple[Course, ...]:
        return tuple(course for course in self.courses if isinstance(course.case, Case))

    @property
    def tasks(self) -> tuple[Course, ...]:
        """Those of results that are one run each."""
        return tuple(course for course in self.courses if not isinstance(course.case, Case))

    def by_response(self) -> Iterator[tuple[Response, list[Course]]]:
        """Courses of cases, then of tasks, response by response."""
        for courses in (self.cases, self.tasks):
            for response in dict.fromkeys(course.response for course in courses):
                yield response, [course for course in courses if course.response == response]


def heading(history: History, response: Response, courses: Sequence[Course]) -> str:
    """``Throughput (Gbps) over 20 results``; ``Mean rate of soaks over 6 soaks``."""
    task = courses[0].case
    if not isinstance(task, Case):
        results = {point.side.id for course in courses for point in course.points}
        return f"{response.title} of {task.test}s over {plural(len(results), task.test)}"
    unit = unit_of_response(response, _means(courses)).name
    return f"{response.title}{f' ({unit})' if unit else ''} over {plural(history.results, 'result')}"


def name_courses(response: Response, courses: Sequence[Course]) -> list[NamedCourse]:
    """Courses with their names; cases share one unit, each task has its own."""
    units: list[Unit] = [
        unit_of_response(response, _means(courses if isinstance(course.case, Case) else [course]))
        for course in courses
    ]
    names = names_of_cases([course.case for course in courses])
    return [NamedCourse(*fields) for fields in zip(names, courses, units, strict=True)]


def _means(courses: Sequence[Course]) -> list[float]:
    return [point.mean.mean for course in courses for point in course.points]


def single_result_note(listed_courses: Sequence[NamedCourse]) -> str:
    """A note that lists courses of one result only; empty if there are none."""
    names = [named.name for named in listed_courses if len(named.course.points) == 1]
    if not names:
        return ""
    noun = "case" if isinstance(listed_courses[0].course.case, Case) else "job"
    note = f"In one result only, so that there is nothing to follow: {plural(len(names), noun)}"
    return f"{note} ({'; '.join(names[:_MOST_NAMED])}{', …' if len(names) > _MOST_NAMED else ''})"


def show(history: History, width: int | None = None) -> RenderableType:
    """Output of ``linewatt history``: a table per course with its notes, then results in no course."""
    parts: list[RenderableType] = []
    if lab_words_of(history.hosts):
        parts.append(titled("History", lab_words_of(history.hosts)))
    for response, courses in history.by_response():
        listed_courses = name_courses(response, courses)
        parts.append(Text(heading(history, response, courses), style="bold"))
        for named in listed_courses:
            if len(named.course.points) > 1:
                shown = (Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in note_lines(named))
                parts.append(Group(render_table(table(named, folded=True), width), *shown))
        if single_result_note(listed_courses):
            parts.append(Text(one_line(single_result_note(listed_courses))))
    parts += [titled(title, notes) for title, notes in asides(history)]
    if history.regressions is not None:
        code = history.regressions.exit_code
        verdict = f"{ENDING_BY_EXIT_CODE[code]}: {finding_words(history.regressions)}."
        parts.append(Text(one_line(verdict), style=COLOUR_BY_EXIT_CODE[code]))
    return Group(*(renderable for part in parts for renderable in (part, Text())))


def asides(history: History) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of each kind of result that is in no course."""
    if history.left_out:
        yield (
            f"Left out: {plural(len(history.left_out), 'soak')}",
            [f"{name}: {why}" for name, why in history.left_out],
        )
    if history.searched:
        yield (
            "Rates of searches, in no course: each was searched once",
            [f"{name}: {'; '.join(words)}" for name, words in history.searched],
        )
    if history.damaged:
        yield (
            f"Damaged, in no course: {plural(len(history.damaged), 'result')}",
            [f"{result.id}: {result.reason}" for result in history.damaged],
        )


def finding_words(regressions: Regressions) -> str:
    """Answer to --fail-on: which courses are worse or open."""
    courses = regressions.worse or regressions.open
    listed = f": {first_of(_summaries(courses), _MOST_WORSE, between='; ')}" if courses else ""
    return f"{count_words(regressions)}{listed}"


def count_words(regressions: Regressions) -> str:
    """The same without the names of courses."""
    among = plural(regressions.followed, "course")
    if regressions.worse:
        return f"{len(regressions.worse)} of {among} worse than before"
    if regressions.open:
        return f"none is worse, but {len(regressions.open)} of {among} cannot be told yet"
    if not regressions.followed:
        return "nothing is in two results or more"
    return f"{among} followed, none worse than before"


def _summaries(courses: Sequence[Course]) -> list[str]:
    names = names_of_cases([course.case for course in courses])
    return [
        f"{name}, {course.response.title.lower()} {course.words}"
        for name, course in zip(names, courses, strict=True)
    ]


def as_document(history: History) -> dict[str, Any]:
    """The document of ``history --json``; the name of a response ends with the unit of its values."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "caveats": lab_words_of(history.hosts),
        "cases": [_course_document(course) for course in history.cases],
        **{f"{kind.name}s": _task_documents(history, kind.name) for kind in run_kinds()},
        "left_out": [{"id": name, "reason": why} for name, why in history.left_out],
        "damaged": [{"id": result.id, "reason": result.reason} for result in history.damaged],
    }
    if history.searched:
        document["searched_rates"] = [{"id": name, "rates": [*words]} for name, words in history.searched]
    if history.regressions is not None:
        code = history.regressions.exit_code
        document |= {"exit_code": code, "finding": finding_words(history.regressions)}
    return document


def _task_documents(history: History, kind: str) -> list[dict[str, Any]]:
    return [_course_document(course) for course in history.tasks if course.case.test == kind]


@dataclass(frozen=True, slots=True)
class DoubtDocument:
    code: str
    trials: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class PointDocument:
    id: str
    created_s: float | None
    mean: float
    sd: float | None
    n: Count
    provenance: Provenance | None
    doubts: list[DoubtDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDocument:
    id: str
    """The first result after it."""
    first_id: str
    last_id: str
    numbers: Numbers = field(metadata=FLAT)
    stands: bool
    """For the worse, and the newest results are still worse."""
    gradual: bool
    """A drift explains the course nearly as well."""
    doubts: tuple[str, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class UnlikeDocument:
    id: str
    ratio: float | None
    difference: float | None


@dataclass(frozen=True, slots=True)
class LabelDocument:
    after: str
    id: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseKeys:
    """What a course has behind its case."""

    response: str
    """What is followed; its name ends with its unit."""
    results: list[PointDocument]
    """In the order of time."""
    changes: list[ChangeDocument]
    drift: Numbers | None
    unlike: list[UnlikeDocument]
    """Results that are part of no mean."""
    labels: list[LabelDocument]
    without_value: tuple[str, ...]
    apart: str | None
    """Why it is not one with an earlier course of the same case."""
    is_worse: bool
    is_open: bool
    """More results would have to say how it stands."""
    summary: str


def _course_document(course: Course) -> dict[str, Any]:
    ids = [point.side.id for point in course.points]
    course_keys = fill(
        CourseKeys,
        course,
        response=course.response.name,
        results=[_point_document(point) for point in course.points],
        changes=[_change_document(course, ids, change) for change in course.changes],
        drift=None if course.drift is None else verdict_numbers(course.response, course.drift),
        unlike=[_unlike_document(course, ids, outlier) for outlier in course.unlike],
        labels=[
            LabelDocument(ids[label.at - 1], ids[label.at], tuple(label.differences))
            for label in course.labels
        ],
        without_value=tuple(course.without),
        apart=course.apart or None,
        summary=course.words,
    )
    case_keys = keyed_case(course.case) if isinstance(course.case, Case) else course.case.document()
    return {**case_keys, **document_of(course_keys)}


def _change_document(course: Course, ids: Sequence[str], change: Change) -> ChangeDocument:
    return fill(
        ChangeDocument,
        change,
        id=ids[change.at],
        first_id=ids[change.first],
        last_id=ids[change.last],
        numbers=verdict_numbers(course.response, change.verdict),
        differences=tuple(change.environment),
    )


def _unlike_document(course: Course, ids: Sequence[str], outlier: Unlike) -> UnlikeDocument:
    if course.response.relative:
        return UnlikeDocument(ids[outlier.at], 1 + outlier.change, None)
    return UnlikeDocument(ids[outlier.at], None, outlier.change)


def _point_document(point: Point) -> PointDocument:
    return PointDocument(
        id=point.side.id,
        created_s=point.side.created_s,
        mean=point.mean.mean,
        sd=point.mean.sd,
        n=point.mean.n,
        provenance=point.provenance,
        doubts=[DoubtDocument(code, trials) for code, trials in point.doubts],
    )


def schema() -> Schema:
    """Schema of :func:`as_document`."""
    course = keys_of(of_class(CourseKeys))
    left_out = record({"id": TEXT, "reason": TEXT})
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "caveats": listing(TEXT, "What keeps it from being one of hardware."),
        "cases": listing(record({**keys_of(of_class(LeveledCase)), **course})),
        **{f"{kind.name}s": listing(record({**kind.task_keys(), **course})) for kind in run_kinds()},
        "left_out": listing(left_out, "Soaks that are not runs."),
        "damaged": listing(left_out, "Results that cannot be read."),
        "searched_rates?": listing(record({"id": TEXT, "rates": listing(TEXT)})),
        "exit_code?": {
            "enum": [0, 3, 4],
            "description": "With `--fail-on`: 3 stands worse, 4 cannot be told.",
        },
        "finding?": said(TEXT, "Why, in words."),
    }
    return record(keys, "Cases and soaks over many results; units are those that responses end with.")
