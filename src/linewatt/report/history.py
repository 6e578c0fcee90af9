# SPDX-License-Identifier: Apache-2.0
"""Cases over many results, as JSON and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis.history import Change, Course, Point
from linewatt.analysis.responses import Response
from linewatt.document import one_line
from linewatt.report.columns import Unit
from linewatt.report.comparison import difference_text, mean_text, unit_of
from linewatt.report.effects import numbers
from linewatt.report.series import case_labels, plural, test_title
from linewatt.report.text_table import TextColumn
from linewatt.report.text_table import tables as text_tables
from linewatt.report.words import when

SCHEMA_VERSION = 1
_MOST_DIFFERENCES = 8
_MOST_NAMED = 4
"""cases without a course that are named; JSON has all"""


def course_names(courses: Sequence[Course]) -> list[str]:
    """``TCP, h1 → h2, 4 instances`` of each."""
    labels = case_labels(dict.fromkeys(replace(one.case, instances=1) for one in courses))
    return [
        f"{test_title(one.case.test)}, {labels[replace(one.case, instances=1)]}, "
        f"{plural(one.case.instances, 'instance')}"
        for one in courses
    ]


def show(
    courses: Sequence[Course], response: Response, results: int, width: int | None = None
) -> RenderableType:
    """The whole of ``linewatt history``: a table a case, and what changed."""
    unit = unit_of(response, [point.mean.mean for one in courses for point in one.points])
    head = f"{response.title} ({unit.name}) over {plural(results, 'result')}"
    parts: list[RenderableType] = [Text(head, style="bold")]
    alone = []
    for name, one in zip(course_names(courses), courses, strict=True):
        if len(one.points) > 1:
            parts.append(_course(name, one, unit, width))
        else:
            alone.append(name)
    if alone:
        said = f"In one result only, so that there is nothing to follow: {plural(len(alone), 'case')}"
        more = ", …" if len(alone) > _MOST_NAMED else ""
        parts.append(Text(one_line(f"{said} ({'; '.join(alone[:_MOST_NAMED])}{more})")))
    return Group(*(part for each in parts for part in (each, Text())))


def _course(name: str, course: Course, unit: Unit, width: int | None) -> RenderableType:
    marks = {change.at: change for change in course.changes}
    columns = [
        TextColumn("Result", tuple(one_line(point.side.id) for point in course.points), key=True, left=True),
        TextColumn("When", tuple(when(point.side.created_s) for point in course.points), left=True),
        TextColumn("Mean ± SD (n)", tuple(mean_text(point.mean, unit) for point in course.points)),
        TextColumn("Change", tuple(_mark(marks.get(at)) for at in range(len(course.points))), left=True),
    ]
    lines = [line for change in course.changes for line in _surroundings(course, change)]
    return Group(
        Text(one_line(f"{name} [{course.case.key}]: {course.words}"), style="bold"),
        text_tables(columns, width),
        *(Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in lines),
    )


def _mark(change: Change | None) -> str:
    return "" if change is None else f"◀ {change.verdict.words}"


def _surroundings(course: Course, change: Change) -> list[str]:
    """What else changed at a change point: what matters, and how much more there is."""
    at = course.points[change.at].side.id
    if not change.environment:
        return [f"{at}: nothing on record of the hosts changed with it"]
    shown = [one for one in change.environment if one.rank is not None][:_MOST_DIFFERENCES]
    left = len(change.environment) - len(shown)
    more = [f"{at}: and {plural(left, 'other difference')}, which --json has"] if left else []
    return [*(f"{at}: {difference_text(one)}" for one in shown), *more]


def as_document(courses: Sequence[Course], response: Response) -> dict[str, Any]:
    """The document of ``history --json``; values are in the unit that the response's name ends with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "response": response.name,
        "cases": [_document(one, response) for one in courses],
    }


def _document(course: Course, response: Response) -> dict[str, Any]:
    case = course.case
    return {
        "case_key": case.key,
        "sender": case.sender,
        "receiver": case.receiver,
        **case.parameters,
        "load_level": case.load_level,
        "results": [_point(point) for point in course.points],
        "changes": [
            {
                "id": course.points[change.at].side.id,
                **numbers(response, change.verdict),
                "differences": [asdict(one) for one in change.environment],
            }
            for change in course.changes
        ],
        "summary": course.words,
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "id": point.side.id,
        "created_s": point.side.created_s,
        "mean": point.mean.mean,
        "sd": point.mean.sd,
        "n": point.mean.n,
    }
