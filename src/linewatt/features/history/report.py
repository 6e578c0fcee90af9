# SPDX-License-Identifier: Apache-2.0
"""Cases and soaks over many results, as JSON and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis.comparison.differences import Difference
from linewatt.analysis.comparison.points import Point
from linewatt.analysis.comparison.side import Task
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.unit import Unit
from linewatt.declare import (
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    choice,
    listing,
    maybe,
    of_class,
    record,
    said,
    version,
)
from linewatt.features.history.course_table import NamedCourse, note_lines, table
from linewatt.features.history.courses import Change, Course, Unlike
from linewatt.features.history.regressions import Regressions
from linewatt.foreign import one_line
from linewatt.model import Case, Provenance
from linewatt.records import Host
from linewatt.report.comparison.remarks import lab_words_of, names_of
from linewatt.report.comparison.tables import unit_of
from linewatt.report.comparison.terminal import COLOURS, ENDS
from linewatt.report.kinds import run_kinds
from linewatt.report.printing.export import keyed_case, keyed_case_schema, numbers, numbers_schema
from linewatt.report.printing.text_table import render, titled
from linewatt.report.series import plural
from linewatt.store.read import Damaged
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
    unit = unit_of(response, _means(courses)).name
    return f"{response.title}{f' ({unit})' if unit else ''} over {plural(history.results, 'result')}"


def name_courses(response: Response, courses: Sequence[Course]) -> list[NamedCourse]:
    """Courses with their names; cases share one unit, each task has its own."""
    units: list[Unit] = [
        unit_of(response, _means(courses if isinstance(course.case, Case) else [course]))
        for course in courses
    ]
    names = names_of([course.case for course in courses])
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
                parts.append(Group(render(table(named, folded=True), width), *shown))
        if single_result_note(listed_courses):
            parts.append(Text(one_line(single_result_note(listed_courses))))
    parts += [titled(title, notes) for title, notes in asides(history)]
    if history.regressions is not None:
        code = history.regressions.exit_code
        verdict = f"{ENDS[code]}: {finding_words(history.regressions)}."
        parts.append(Text(one_line(verdict), style=COLOURS[code]))
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
    names = names_of([course.case for course in courses])
    return [
        f"{name}, {course.response.title.lower()} {course.words}"
        for name, course in zip(names, courses, strict=True)
    ]


def as_document(history: History) -> dict[str, Any]:
    """The document of ``history --json``; the name of a response ends with the unit of its values."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "caveats": lab_words_of(history.hosts),
        "cases": [{**_case_document(course.case), **_course_document(course)} for course in history.cases],
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


def _case_document(case: Case | Task) -> dict[str, Any]:
    return keyed_case(case) if isinstance(case, Case) else case.document()


def _task_documents(history: History, kind: str) -> list[dict[str, Any]]:
    return [
        {**_case_document(course.case), **_course_document(course)}
        for course in history.tasks
        if not isinstance(course.case, Case) and course.case.test == kind
    ]


def _course_document(course: Course) -> dict[str, Any]:
    drift = None if course.drift is None else numbers(course.response, course.drift)
    return {
        "response": course.response.name,
        "results": [_point_document(point) for point in course.points],
        "changes": [_change_document(course, change) for change in course.changes],
        "drift": drift,
        "unlike": [_unlike_document(course, outlier) for outlier in course.unlike],
        "labels": [
            {
                "after": course.points[label.at - 1].side.id,
                "id": course.points[label.at].side.id,
                "differences": [asdict(difference) for difference in label.differences],
            }
            for label in course.labels
        ],
        "without_value": list(course.without),
        "apart": course.apart or None,
        "is_worse": course.is_worse,
        "is_open": course.is_open,
        "summary": course.words,
    }


def _change_document(course: Course, change: Change) -> dict[str, Any]:
    return {
        "id": course.points[change.at].side.id,
        "first_id": course.points[change.first].side.id,
        "last_id": course.points[change.last].side.id,
        **numbers(course.response, change.verdict),
        "stands": change.stands,
        "gradual": change.gradual,
        "doubts": list(change.doubts),
        "differences": [asdict(difference) for difference in change.environment],
    }


def _unlike_document(course: Course, outlier: Unlike) -> dict[str, Any]:
    relative = course.response.relative
    return {
        "id": course.points[outlier.at].side.id,
        "ratio": 1 + outlier.change if relative else None,
        "difference": None if relative else outlier.change,
    }


def _point_document(point: Point) -> dict[str, Any]:
    return {
        "id": point.side.id,
        "created_s": point.side.created_s,
        "mean": point.mean.mean,
        "sd": point.mean.sd,
        "n": point.mean.n,
        "provenance": point.provenance,
        "doubts": [{"code": code, "trials": trials} for code, trials in point.doubts],
    }


def schema() -> Schema:
    """Schema of :func:`as_document`."""
    left_out = record({"id": TEXT, "reason": TEXT})
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "caveats": listing(TEXT, "What keeps it from being one of hardware."),
        "cases": listing(record({**keyed_case_schema(), **_course_schema()})),
        **{
            f"{kind.name}s": listing(record({**kind.task_keys(), **_course_schema()})) for kind in run_kinds()
        },
        "left_out": listing(left_out, "Soaks that are no run."),
        "damaged": listing(left_out, "Results that cannot be read."),
        "searched_rates?": listing(record({"id": TEXT, "rates": listing(TEXT)})),
        "exit_code?": {
            "enum": [0, 3, 4],
            "description": "With `--fail-on`: 3 stands worse, 4 cannot be told.",
        },
        "finding?": said(TEXT, "Why, in words."),
    }
    return record(keys, "Cases and soaks over many results; units are those that responses end with.")


def _course_schema() -> Keys:
    differences = listing(of_class(Difference))
    doubt = record({"code": TEXT, "trials": COUNT})
    point = {
        "id": TEXT,
        "created_s": maybe(NUMBER),
        "mean": NUMBER,
        "sd": maybe(NUMBER),
        "n": COUNT,
        "provenance": maybe(choice(*get_args(Provenance))),
        "doubts": listing(doubt),
    }
    change = {
        "id": said(TEXT, "The first result after it."),
        "first_id": TEXT,
        "last_id": TEXT,
        **numbers_schema(),
        "stands": said(BOOLEAN, "For the worse, and the newest results are still worse."),
        "gradual": said(BOOLEAN, "A drift explains the course nearly as well."),
        "doubts": listing(TEXT),
        "differences": differences,
    }
    unlike = {"id": TEXT, "ratio": maybe(NUMBER), "difference": maybe(NUMBER)}
    return {
        "response": said(TEXT, "What is followed; its name ends with its unit."),
        "results": listing(record(point), "In the order of time."),
        "changes": listing(record(change)),
        "drift": maybe(record(numbers_schema())),
        "unlike": listing(record(unlike), "Results that are part of no mean."),
        "labels": listing(record({"after": TEXT, "id": TEXT, "differences": differences})),
        "without_value": listing(TEXT),
        "apart": said(maybe(TEXT), "Why it is not one with an earlier course of the same case."),
        "is_worse": BOOLEAN,
        "is_open": said(BOOLEAN, "More results would have to say how it stands."),
        "summary": TEXT,
    }
