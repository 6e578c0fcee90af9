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
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.soak.job import Job
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
from linewatt.features.history.course_table import Named, lines, table
from linewatt.features.history.courses import Change, Course, Unlike
from linewatt.features.history.regressions import Regressions
from linewatt.foreign import one_line
from linewatt.model import Case, Provenance
from linewatt.records import Host
from linewatt.report.comparison.document import job_keys, job_schema
from linewatt.report.comparison.tables import unit_of
from linewatt.report.comparison.terminal import COLOURS, ENDS
from linewatt.report.comparison.words import lab_words_of, names_of
from linewatt.report.printing.export import keyed_case, keyed_case_schema, numbers, numbers_schema
from linewatt.report.printing.text_table import render, titled
from linewatt.report.series import plural
from linewatt.store.read import Damaged
from linewatt.units import first_of

SCHEMA_VERSION = 2
_MOST_NAMED = 4
"""cases without a course that are named; JSON has all"""
_MOST_WORSE = 3


@dataclass(frozen=True, slots=True)
class History:
    """All that is followed: courses of cases and of soaks, over ``results`` and ``soaks`` of them.

    ``left_out`` has (id, why) of soaks that are no run, ``searched`` (id, rates that its searches found).
    """

    courses: tuple[Course, ...]
    results: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    damaged: tuple[Damaged, ...] = ()
    searched: tuple[tuple[str, Sequence[str]], ...] = ()
    regressions: Regressions | None = None
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """those of the newest result of each course"""

    @property
    def cases(self) -> tuple[Course, ...]:
        return tuple(one for one in self.courses if not isinstance(one.case, Job))

    @property
    def soaks(self) -> tuple[Course, ...]:
        return tuple(one for one in self.courses if isinstance(one.case, Job))

    def by_response(self) -> Iterator[tuple[Response, list[Course]]]:
        """Courses of cases, then of soaks, response by response."""
        for courses in (self.cases, self.soaks):
            for response in dict.fromkeys(one.response for one in courses):
                yield response, [one for one in courses if one.response == response]


def heading(found: History, response: Response, courses: Sequence[Course]) -> str:
    """``Throughput (Gbps) over 20 results``; ``Mean rate of soaks over 6 soaks``."""
    if isinstance(courses[0].case, Job):
        soaks = {point.side.id for one in courses for point in one.points}
        return f"{response.title} of soaks over {plural(len(soaks), 'soak')}"
    unit = unit_of(response, _means(courses)).name
    return f"{response.title}{f' ({unit})' if unit else ''} over {plural(found.results, 'result')}"


def named(response: Response, courses: Sequence[Course]) -> list[Named]:
    """Courses with their names; those of cases have one unit, soaks each their own."""
    units: list[Unit] = [
        unit_of(response, _means([one] if isinstance(one.case, Job) else courses)) for one in courses
    ]
    names = names_of([one.case for one in courses])
    return [Named(*each) for each in zip(names, courses, units, strict=True)]


def _means(courses: Sequence[Course]) -> list[float]:
    return [point.mean.mean for one in courses for point in one.points]


def alone(every: Sequence[Named]) -> str:
    """What is in one result only, in words; empty where nothing is."""
    names = [one.name for one in every if len(one.course.points) == 1]
    if not names:
        return ""
    noun = "job" if isinstance(every[0].course.case, Job) else "case"
    said = f"In one result only, so that there is nothing to follow: {plural(len(names), noun)}"
    return f"{said} ({'; '.join(names[:_MOST_NAMED])}{', …' if len(names) > _MOST_NAMED else ''})"


def show(found: History, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt history``: a table a case or job, and what changed; then what is in none."""
    parts: list[RenderableType] = []
    if lab_words_of(found.hosts):
        parts.append(titled("History", lab_words_of(found.hosts)))
    for response, courses in found.by_response():
        every = named(response, courses)
        parts.append(Text(heading(found, response, courses), style="bold"))
        for one in every:
            if len(one.course.points) > 1:
                shown = (Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in lines(one))
                parts.append(Group(render(table(one, folded=True), width), *shown))
        if alone(every):
            parts.append(Text(one_line(alone(every))))
    parts += [titled(title, said) for title, said in asides(found)]
    if found.regressions is not None:
        code = found.regressions.exit_code
        said = f"{ENDS[code]}: {finding_words(found.regressions)}."
        parts.append(Text(one_line(said), style=COLOURS[code]))
    return Group(*(part for each in parts for part in (each, Text())))


def asides(found: History) -> Iterator[tuple[str, list[str]]]:
    """What is in no course, under its title."""
    if found.left_out:
        yield (
            f"Left out: {plural(len(found.left_out), 'soak')}",
            [f"{name}: {why}" for name, why in found.left_out],
        )
    if found.searched:
        yield (
            "Rates of searches, in no course: each was searched once",
            [f"{name}: {'; '.join(words)}" for name, words in found.searched],
        )
    if found.damaged:
        yield (
            f"Damaged, in no course: {plural(len(found.damaged), 'result')}",
            [f"{one.id}: {one.reason}" for one in found.damaged],
        )


def finding_words(found: Regressions) -> str:
    """What was asked with --fail-on: which courses are worse, or cannot be told."""
    if found.worse:
        which = f"{len(found.worse)} of {plural(found.asked, 'course')} worse than before"
        return f"{which}: {first_of(_told(found.worse), _MOST_WORSE, between='; ')}"
    if found.open:
        which = f"none is worse, but {len(found.open)} of {plural(found.asked, 'course')} cannot be told yet"
        return f"{which}: {first_of(_told(found.open), _MOST_WORSE, between='; ')}"
    if not found.asked:
        return "nothing is in two results or more"
    return f"{plural(found.asked, 'course')} followed, none worse than before"


def _told(courses: Sequence[Course]) -> list[str]:
    names = names_of([one.case for one in courses])
    return [
        f"{name}, {one.response.title.lower()} {one.words}" for name, one in zip(names, courses, strict=True)
    ]


def as_document(found: History) -> dict[str, Any]:
    """The document of ``history --json``; values are in the unit that their response's name ends with."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "caveats": lab_words_of(found.hosts),
        "cases": [{**_case(one.case), **_document(one)} for one in found.cases],
        "soaks": [{**_case(one.case), **_document(one)} for one in found.soaks],
        "left_out": [{"id": name, "reason": why} for name, why in found.left_out],
        "damaged": [{"id": one.id, "reason": one.reason} for one in found.damaged],
    }
    if found.searched:
        document["searched_rates"] = [{"id": name, "rates": [*words]} for name, words in found.searched]
    if found.regressions is not None:
        code = found.regressions.exit_code
        document |= {"exit_code": code, "finding": finding_words(found.regressions)}
    return document


def _case(case: Case | Job) -> dict[str, Any]:
    return job_keys(case) if isinstance(case, Job) else keyed_case(case)


def _document(course: Course) -> dict[str, Any]:
    drift = None if course.drift is None else numbers(course.response, course.drift)
    return {
        "response": course.response.name,
        "results": [_point(point) for point in course.points],
        "changes": [_change(course, change) for change in course.changes],
        "drift": drift,
        "unlike": [_unlike(course, one) for one in course.unlike],
        "labels": [
            {
                "after": course.points[one.at - 1].side.id,
                "id": course.points[one.at].side.id,
                "differences": [asdict(each) for each in one.differences],
            }
            for one in course.labels
        ],
        "without_value": list(course.without),
        "apart": course.apart or None,
        "is_worse": course.is_worse,
        "is_open": course.is_open,
        "summary": course.words,
    }


def _change(course: Course, change: Change) -> dict[str, Any]:
    return {
        "id": course.points[change.at].side.id,
        "first_id": course.points[change.first].side.id,
        "last_id": course.points[change.last].side.id,
        **numbers(course.response, change.verdict),
        "stands": change.stands,
        "gradual": change.gradual,
        "doubts": list(change.doubts),
        "differences": [asdict(one) for one in change.environment],
    }


def _unlike(course: Course, one: Unlike) -> dict[str, Any]:
    relative = course.response.relative
    return {
        "id": course.points[one.at].side.id,
        "ratio": 1 + one.change if relative else None,
        "difference": None if relative else one.change,
    }


def _point(point: Point) -> dict[str, Any]:
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
    """Of :func:`as_document`."""
    left_out = record({"id": TEXT, "reason": TEXT})
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "caveats": listing(TEXT, "What keeps it from being one of hardware."),
        "cases": listing(record({**keyed_case_schema(), **_course_schema()})),
        "soaks": listing(record({**job_schema(), **_course_schema()})),
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
