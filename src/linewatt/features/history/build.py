# SPDX-License-Identifier: Apache-2.0
"""Build the history of cases and soaks from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.comparison.points import Series, Surroundings, series_of_cases, series_of_soaks
from linewatt.analysis.comparison.rows import METRICS, OF_CASES
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.of_soak import FOLLOWED
from linewatt.analysis.soak.job import job_of
from linewatt.errors import StoreError
from linewatt.features.history.courses import judge
from linewatt.features.history.report import History
from linewatt.model import Case
from linewatt.report.comparison.sides import Kept, with_surroundings
from linewatt.store.read import Damaged, load, readable

Loaded = Sequence[tuple[Path, Kept]]
SOAK = "soak"
"""value of ``test`` that selects soaks"""


def history_of(
    results: Path,
    loaded: Loaded,
    metrics: Sequence[str],
    case: str | None,
    test: str | None,
    matters: float | None,
    damaged: Sequence[Damaged] = (),
) -> History:
    """Courses of cases and of soaks by each metric, all judged together.

    ``case`` is a key or its beginning, ``test`` the only test; ``damaged`` are results that cannot be read.
    """

    def is_wanted(candidate: Case) -> bool:
        return (case is None or candidate.key.startswith(case)) and (test is None or candidate.test == test)

    sides = [recorded.side(path.name) for path, recorded in loaded if not recorded.is_soak]
    soaks = [path for path, recorded in loaded if recorded.is_soak]
    with_shared = _cached_surroundings(results, shared=True)
    series: list[Series] = []
    left_out: dict[str, str] = {}
    for metric in metrics:
        for response in METRICS[metric]:
            if response in OF_CASES:
                series += series_of_cases(sides, response, is_wanted, with_shared)
        if metric in FOLLOWED and test in (None, SOAK):
            runs, reasons = _soak_runs(soaks, FOLLOWED[metric], case)
            series += series_of_soaks(runs, FOLLOWED[metric], with_shared)
            left_out |= reasons
    courses = judge(series, matters, with_shared, _cached_surroundings(results, shared=False))
    hosts = {
        name: host for course in courses for name, host in with_shared(course.points[-1].side).hosts.items()
    }
    everything = case is None and test is None
    return History(
        courses,
        len(sides),
        damaged=tuple(damaged),
        left_out=tuple(left_out.items()),
        searched=tuple(
            (path.name, recorded.searched) for path, recorded in loaded if recorded.searched and everything
        ),
        hosts=hosts,
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


def _soak_runs(
    paths: Sequence[Path], response: Response, case: str | None
) -> tuple[list[Side], dict[str, str]]:
    """The requested soaks as one run each, and the reasons of those that are left out."""
    runs: list[Side] = []
    left_out: dict[str, str] = {}
    for path in paths:
        from linewatt.report.soak.runs import followed  # imports the soak reader: only if there is a soak

        try:
            with readable(path):
                stored = load(path)
                side = with_surroundings(Kept(stored.created_s, stored.is_soak, ()).side(stored.id), path)
                if case is not None and not job_of(side.campaign).key.startswith(case):
                    continue
                run: Side | str = followed(stored, side, response)
        except StoreError as error:
            run = str(error)
        if isinstance(run, str):
            left_out[path.name] = run
        else:
            runs.append(run)
    return runs, left_out
