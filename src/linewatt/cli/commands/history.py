# SPDX-License-Identifier: Apache-2.0
"""``linewatt history``: how cases and soaks went over many results, and when that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linewatt.cli.commands.compare import parse_factor
from linewatt.cli.options import Json, Results
from linewatt.cli.output import print_json, print_rich
from linewatt.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from linewatt.analysis.comparison.history import Course
    from linewatt.analysis.comparison.matching import Side
    from linewatt.analysis.metrics.metric import Response
    from linewatt.model import Case
    from linewatt.report.comparison.history import Soaks
    from linewatt.report.comparison.sides import Kept

SOAK = "soak"
"""what ``--test`` calls soaks"""
_METRICS = ("throughput", "efficiency", "loss")


def history(
    results: Results = Path("results"),
    case: Annotated[
        str | None,
        typer.Option("--case", metavar="KEY", help="Only the case or soak of this key, or its beginning."),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="TEST", help="Only cases of this test, such as tcp; or soak."),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="WHAT",
            help="throughput, efficiency (receiver; of soaks client CPU per Gbit) or loss.",
        ),
    ] = "throughput",
    factor: Annotated[
        str | None, typer.Option("--factor", metavar="RATIO", help="Ignore smaller changes; default 1 %.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Follow each case over all results: where it changed for good.

    A soak is one run: its mean rate over all soaks of the same job, whatever its hosts were called.
    """
    from linewatt.analysis.comparison.rows import METRICS
    from linewatt.report.comparison.sides import kept
    from linewatt.store.read import read_each, readable

    if metric not in _METRICS:
        raise InvalidInput(f"--metric {metric!r}: must be one of {', '.join(_METRICS)}")
    response = METRICS[metric][0]
    matters = None if factor is None else parse_factor(factor)

    def wanted(one: Case) -> bool:
        return (case is None or one.key.startswith(case)) and (test is None or one.test == test)

    loaded, damaged = read_each(results, lambda path: (path, kept(path)))
    loaded.sort(key=lambda one: one[1].created_s or 0)
    sides = [found.side(path.name) for path, found in loaded if not found.is_soak]
    soaks, left_out = _soaks([path for path, found in loaded if found.is_soak], metric, case, test)
    with readable(*(path for path, _ in loaded)):
        found, of_soaks = _followed(results, sides, response, wanted, matters, soaks, metric)
        if not found and not soaks and not left_out and not damaged:
            raise InvalidInput(_nothing(results, [one for _, one in loaded], case, test, metric))
        from linewatt.report.comparison import history as report

        told = _told(of_soaks, left_out, metric)
        everything = case is None and test is None
        searched = [(path.name, one.searched) for path, one in loaded if one.searched and everything]
        if as_json:
            print_json(report.as_document(found, response, told, damaged, searched))
        else:
            print_rich(lambda width: report.show(found, response, len(sides), width, told, damaged, searched))


def _soaks(
    paths: Sequence[Path], metric: str, case: str | None, test: str | None
) -> tuple[list[Side], list[tuple[str, str]]]:
    """Soaks that are asked for, as one run each, and those that are none, with the reason."""
    from linewatt.analysis.metrics.of_soak import FOLLOWED
    from linewatt.analysis.soak.job import job_of
    from linewatt.report.comparison.sides import Kept, with_surroundings
    from linewatt.store.read import load, readable

    runs: list[Side] = []
    left_out: list[tuple[str, str]] = []
    if metric not in FOLLOWED or test not in (None, SOAK):
        return runs, left_out
    for path in paths:
        from linewatt.report.soak.runs import followed  # with all that reads soaks: only where there is one

        try:
            with readable(path):
                one = load(path)
                side = with_surroundings(Kept(one.created_s, one.is_soak, ()).side(one.id), path)
                if case is not None and not job_of(side.campaign).key.startswith(case):
                    continue
                run: Side | str = followed(one, side, FOLLOWED[metric])
        except StoreError as error:
            run = str(error)
        if isinstance(run, str):
            left_out.append((path.name, run))
        else:
            runs.append(run)
    return runs, left_out


def _followed(
    results: Path,
    sides: Sequence[Side],
    response: Response,
    wanted: Callable[[Case], bool],
    matters: float | None,
    soaks: Sequence[Side],
    metric: str,
) -> tuple[tuple[Course, ...], tuple[Course, ...]]:
    """Courses of cases and of soaks: what is one quantity in both is judged together."""
    from linewatt.analysis.comparison.history import courses
    from linewatt.analysis.metrics.of_soak import FOLLOWED
    from linewatt.analysis.soak.job import Job
    from linewatt.report.comparison.sides import with_surroundings

    def surroundings(side: Side) -> Side:
        return side if side.hosts else with_surroundings(side, results / side.id)

    limit = matters if response.relative else None
    own = FOLLOWED.get(metric, response)
    together = own.name == response.name
    found = courses(sides, response, wanted, limit, soaks if together else (), surroundings)
    if not together:
        found = (*found, *courses((), own, wanted, matters, soaks, surroundings))
    cases = tuple(one for one in found if not isinstance(one.case, Job))
    return cases, tuple(one for one in found if isinstance(one.case, Job))


def _told(courses: tuple[Course, ...], left_out: list[tuple[str, str]], metric: str) -> Soaks | None:
    from linewatt.analysis.metrics.of_soak import FOLLOWED
    from linewatt.report.comparison.history import Soaks

    if not courses and not left_out:
        return None
    return Soaks(courses, FOLLOWED[metric], tuple(left_out))


def _nothing(results: Path, loaded: Sequence[Kept], case: str | None, test: str | None, metric: str) -> str:
    if not loaded:
        return f"no results below {results}; name their directory with --results"
    asked = [f"--case {case}"] if case is not None else []
    asked += [f"--test {test}"] if test is not None else []
    none = f"none of the {len(loaded)} results below {results} has a case with {' '.join([*asked, metric])}"
    searches = any(one.searched for one in loaded)
    return f"{none}; steps of searches are in no history: 'linewatt show' has their rates" * searches or none
