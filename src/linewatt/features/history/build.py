# SPDX-License-Identifier: Apache-2.0
"""Build the history of cases and soaks from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linewatt.analysis.comparison import (
    METRICS_OF_ROWS,
    OF_CASES,
    Series,
    Side,
    Surroundings,
    series_of_cases,
    series_of_tasks,
)
from linewatt.analysis.metrics import Response
from linewatt.errors import StoreError
from linewatt.features.history.courses import judge
from linewatt.features.history.report import History
from linewatt.model import Case
from linewatt.records import Campaign
from linewatt.report import ResultKind, result_kinds
from linewatt.report.comparison import Kept, with_surroundings
from linewatt.store import Damaged, load_result, reading_results

Loaded = Sequence[tuple[Path, Kept]]


def history_of(
    results: Path,
    loaded: Loaded,
    metrics: Sequence[str],
    case: str | None,
    test: str | None,
    matters: float | None,
    damaged: Sequence[Damaged] = (),
) -> History:
    """Courses of cases and of results that are one run, by each metric, all judged together.

    ``case`` is a key or its beginning, ``test`` the only test or kind of such results; ``damaged`` are
    results that cannot be read.
    """

    def is_wanted(candidate: Case) -> bool:
        return (case is None or candidate.key.startswith(case)) and (test is None or candidate.test == test)

    sides = [recorded.side(path.name) for path, recorded in loaded if not recorded.kind]
    is_any_single_run = any(recorded.kind for _, recorded in loaded)
    kinds = result_kinds() if is_any_single_run else []  # whose import takes longer than most histories
    with_shared = _cached_surroundings(results, shared=True)
    series: list[Series] = []
    left_out: dict[str, str] = {}
    for metric in metrics:
        for response in METRICS_OF_ROWS[metric]:
            if response in OF_CASES:
                series += series_of_cases(sides, response, is_wanted, with_shared)
        for kind in kinds:
            followed = None if kind.run_kind is None else kind.run_kind.followed.get(metric)
            if followed is not None and test in (None, kind.name):
                paths = [path for path, recorded in loaded if recorded.kind == kind.name]
                runs, reasons = _single_runs(kind, paths, followed, case)
                series += series_of_tasks(runs, followed, with_shared)
                left_out |= reasons
    courses = judge(series, matters, with_shared, _cached_surroundings(results, shared=False))
    hosts_by_course = [with_shared(course.points[-1].side).hosts for course in courses]
    everything = case is None and test is None
    return History(
        courses,
        len(sides),
        damaged=tuple(damaged),
        left_out=tuple(left_out.items()),
        searched=tuple(
            (path.name, recorded.searched) for path, recorded in loaded if recorded.searched and everything
        ),
        hosts={name: host for hosts in hosts_by_course for name, host in hosts.items()},
        lab_courses=tuple(
            course
            for course, hosts in zip(courses, hosts_by_course, strict=True)
            if any(host.lab for host in hosts.values())
        ),
    )


def _cached_surroundings(results: Path, *, shared: bool) -> Surroundings:
    """A function that adds host records to a side, cached.

    ``shared``: results whose environments do not differ in what matters share the records of the first.
    """
    cache: dict[str, Side] = {}

    def add_surroundings(side: Side) -> Side:
        if side.hosts:
            return side
        key = side.environment if shared else side.id
        if key not in cache:
            cache[key] = with_surroundings(side, results / side.id)
        recorded = cache[key]
        return replace(side, campaign=recorded.campaign, hosts=recorded.hosts)

    return add_surroundings


def _single_runs(
    kind: ResultKind, paths: Sequence[Path], response: Response, case: str | None
) -> tuple[list[Side], dict[str, str]]:
    """The requested results of a kind as one run each, and the reasons of those that are left out."""
    runs: list[Side] = []
    left_out: dict[str, str] = {}
    for path in paths:
        try:
            with reading_results(path):
                stored = load_result(path)
                if case is not None and not _has_key(kind, stored.manifest.asked, case):
                    continue
                side = with_surroundings(Kept(stored.created_s, kind.name, ()).side(stored.id), path)
                runs.append(replace(side, single_run=kind.followed_run(stored, response)))
        except StoreError as error:
            left_out[path.name] = str(error)
    return runs, left_out


def _has_key(kind: ResultKind, campaign: Campaign, beginning: str) -> bool:
    """Whether the key of what a campaign asks begins so."""
    return kind.run_kind is not None and kind.run_kind.task_of(campaign).key.startswith(beginning)
