# SPDX-License-Identifier: Apache-2.0
"""Cases and soaks over many results, as JSON and for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis.comparison.history import Change, Course, Point, Unlike
from linewatt.analysis.comparison.verdicts import signed, unit_of_change
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.soak.job import Job
from linewatt.foreign import one_line
from linewatt.model import Case
from linewatt.report.comparison.document import job_keys
from linewatt.report.comparison.tables import mean_cell, unit_of
from linewatt.report.comparison.words import difference_lines, names_of
from linewatt.report.printing.export import keyed_case, numbers, when
from linewatt.report.printing.text_table import render, titled
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, texts
from linewatt.store.read import Damaged

SCHEMA_VERSION = 1
_MOST_DIFFERENCES = 8
_MOST_NAMED = 4
"""cases without a course that are named; JSON has all"""


@dataclass(frozen=True, slots=True)
class Soaks:
    """Courses of soaks; ``left_out`` has (id, why) of those that are no run."""

    courses: tuple[Course, ...]
    response: Response
    left_out: tuple[tuple[str, str], ...] = ()


def show(
    courses: Sequence[Course],
    response: Response,
    results: int,
    width: int | None = None,
    soaks: Soaks | None = None,
    damaged: Sequence[Damaged] = (),
    searched: Sequence[tuple[str, Sequence[str]]] = (),
) -> RenderableType:
    """The whole of ``linewatt history``: a table a case or job, and what changed; then damaged results.

    ``searched``: a result's id and the rates that its searches found, in words.
    """
    parts: list[RenderableType] = []
    if courses or soaks is None:
        unit = unit_of(response, _means(courses))
        head = f"{response.title} ({unit.name}) over {plural(results, 'result')}"
        parts += _block(head, courses, response, lambda _: unit, "case", width)
    if soaks is not None and soaks.courses:
        count = len({point.side.id for one in soaks.courses for point in one.points})
        head = f"{soaks.response.title} of soaks over {plural(count, 'soak')}"
        own = soaks.response
        parts += _block(head, soaks.courses, own, lambda one: unit_of(own, _means([one])), "job", width)
    if soaks is not None and soaks.left_out:
        left_out = (f"{name}: {why}" for name, why in soaks.left_out)
        parts.append(titled(f"Left out: {plural(len(soaks.left_out), 'soak')}", left_out))
    if searched:
        rates = (f"{name}: {'; '.join(words)}" for name, words in searched)
        parts.append(titled("Rates of searches, in no course: each was searched once", rates))
    if damaged:
        reasons = (f"{one.id}: {one.reason}" for one in damaged)
        parts.append(titled(f"Damaged, in no course: {plural(len(damaged), 'result')}", reasons))
    return Group(*parts)


def _means(courses: Sequence[Course]) -> list[float]:
    return [point.mean.mean for one in courses for point in one.points]


def _block(
    head: str,
    courses: Sequence[Course],
    response: Response,
    unit: Callable[[Course], Unit],
    noun: str,
    width: int | None,
) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(head, style="bold")]
    alone = []
    for name, one in zip(names_of([one.case for one in courses]), courses, strict=True):
        if len(one.points) > 1:
            parts.append(_course(name, one, response, unit(one), width))
        else:
            alone.append(name)
    if alone:
        said = f"In one result only, so that there is nothing to follow: {plural(len(alone), noun)}"
        more = ", …" if len(alone) > _MOST_NAMED else ""
        parts.append(Text(one_line(f"{said} ({'; '.join(alone[:_MOST_NAMED])}{more})")))
    return [part for each in parts for part in (each, Text())]


def _course(name: str, course: Course, response: Response, unit: Unit, width: int | None) -> RenderableType:
    marks = {change.at: f"◀ {change.verdict.words}" for change in course.changes}
    marks |= {one.at: f"unlike the rest: {_apart(one, response)}" for one in course.unlike}
    is_soak = isinstance(course.case, Job)
    means = [mean_cell(point.mean, unit) for point in course.points]
    if is_soak:
        means = [replace(cell, note=None) for cell in means]
    rows = [
        Row(texts(point.side.id), (Cell(when(point.side.created_s)), mean, Cell(marks.get(at, ""))))
        for at, (point, mean) in enumerate(zip(course.points, means, strict=True))
    ]
    mean = Head("One run", unit.name, lines="One run,") if is_soak else Head("Mean ± SD (n)")
    table = Table(
        f"{name} [{course.case.key}]: {course.words}",
        (Head("Result", kind="text"),),
        (Head("When", kind="text"), replace(mean, show_sd=True), Head("Change", kind="text")),
        (RowGroup("", tuple(rows)),),
    )
    lines = [line for change in course.changes for line in _surroundings(course, change)]
    return Group(render(table, width), *(Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in lines))


def _apart(one: Unlike, response: Response) -> str:
    return f"{signed(one.change, response)} {unit_of_change(response)}, in no mean"


def _surroundings(course: Course, change: Change) -> list[str]:
    """What else changed at a change point: what matters, and how much more there is."""
    at = course.points[change.at].side.id
    if not change.environment:
        return [f"{at}: nothing on record of the hosts changed with it"]
    shown = [one for one in change.environment if one.rank is not None][:_MOST_DIFFERENCES]
    left = len(change.environment) - len(shown)
    more = [f"{at}: and {plural(left, 'other difference')}, which --json has"] if left else []
    return [*(f"{at}: {line}" for line in difference_lines(shown)), *more]


def as_document(
    courses: Sequence[Course],
    response: Response,
    soaks: Soaks | None = None,
    damaged: Sequence[Damaged] = (),
    searched: Sequence[tuple[str, Sequence[str]]] = (),
) -> dict[str, Any]:
    """The document of ``history --json``; values are in the unit that the response's name ends with."""
    followed = () if soaks is None else soaks.courses
    return {
        "schema_version": SCHEMA_VERSION,
        "response": response.name,
        "cases": [{**_case(one.case), **_document(one, response)} for one in courses],
        "soaks_response": None if soaks is None else soaks.response.name,
        "soaks": [{**_case(one.case), **_document(one, soaks.response)} for one in followed if soaks],
        "left_out": [{"id": name, "reason": why} for name, why in (soaks.left_out if soaks else ())],
        "damaged": [{"id": one.id, "reason": one.reason} for one in damaged],
        **(
            {"searched_rates": [{"id": name, "rates": [*words]} for name, words in searched]}
            if searched
            else {}
        ),
    }


def _case(case: Case | Job) -> dict[str, Any]:
    return job_keys(case) if isinstance(case, Job) else keyed_case(case)


def _document(course: Course, response: Response) -> dict[str, Any]:
    return {
        "results": [_point(point) for point in course.points],
        "changes": [
            {
                "id": course.points[change.at].side.id,
                **numbers(response, change.verdict),
                "differences": [asdict(one) for one in change.environment],
            }
            for change in course.changes
        ],
        "unlike": [
            {
                "id": course.points[one.at].side.id,
                "ratio": 1 + one.change if response.relative else None,
                "difference": None if response.relative else one.change,
            }
            for one in course.unlike
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
