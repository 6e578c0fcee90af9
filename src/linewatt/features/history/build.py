# SPDX-License-Identifier: Apache-2.0
"""Cases and soaks followed over stored results."""

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
from linewatt.features.history.courses import judged
from linewatt.features.history.report import History
from linewatt.model import Case
from linewatt.report.comparison.sides import Kept, with_surroundings
from linewatt.store.read import Damaged, load, readable

Loaded = Sequence[tuple[Path, Kept]]
SOAK = "soak"
"""what a test of soaks is called"""


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

    def wanted(one: Case) -> bool:
        return (case is None or one.key.startswith(case)) and (test is None or one.test == test)

    sides = [found.side(path.name) for path, found in loaded if not found.is_soak]
    soaks = [path for path, found in loaded if found.is_soak]
    whole = _surroundings(results, shared=True)
    series: list[Series] = []
    left_out: dict[str, str] = {}
    for metric in metrics:
        for response in METRICS[metric]:
            if response in OF_CASES:
                series += series_of_cases(sides, response, wanted, whole)
        if metric in FOLLOWED and test in (None, SOAK):
            runs, reasons = _soaks(soaks, FOLLOWED[metric], case)
            series += series_of_soaks(runs, FOLLOWED[metric], whole)
            left_out |= reasons
    courses = judged(series, matters, whole, _surroundings(results, shared=False))
    hosts = {name: host for one in courses for name, host in whole(one.points[-1].side).hosts.items()}
    everything = case is None and test is None
    return History(
        courses,
        len(sides),
        damaged=tuple(damaged),
        left_out=tuple(left_out.items()),
        searched=tuple((path.name, one.searched) for path, one in loaded if one.searched and everything),
        hosts=hosts,
    )


def _surroundings(results: Path, *, shared: bool) -> Surroundings:
    """What is on record around results; ``shared``: of those between which nothing that matters differs, the
    first's."""
    known: dict[str, Side] = {}

    def whole(side: Side) -> Side:
        if side.hosts:
            return side
        key = side.environment if shared else side.id
        if key not in known:
            known[key] = with_surroundings(side, results / side.id)
        one = known[key]
        return replace(side, campaign=one.campaign, hosts=one.hosts)

    return whole


def _soaks(paths: Sequence[Path], response: Response, case: str | None) -> tuple[list[Side], dict[str, str]]:
    """Soaks that are asked for, as one run each, and the reason of those that are none."""
    runs: list[Side] = []
    left_out: dict[str, str] = {}
    for path in paths:
        from linewatt.report.soak.runs import followed  # with all that reads soaks: only where there is one

        try:
            with readable(path):
                one = load(path)
                side = with_surroundings(Kept(one.created_s, one.is_soak, ()).side(one.id), path)
                if case is not None and not job_of(side.campaign).key.startswith(case):
                    continue
                run: Side | str = followed(one, side, response)
        except StoreError as error:
            run = str(error)
        if isinstance(run, str):
            left_out[path.name] = run
        else:
            runs.append(run)
    return runs, left_out
