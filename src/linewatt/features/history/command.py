# SPDX-License-Identifier: Apache-2.0
"""``linewatt history``: follow cases and soaks over many results and find when they changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linewatt.cli.commands.compare import chosen
from linewatt.cli.options import Json, Results
from linewatt.cli.output import print_json, print_rich
from linewatt.errors import InvalidInput

if TYPE_CHECKING:
    from linewatt.features.history.build import Loaded
    from linewatt.report.comparison.sides import Kept

REGRESSION, NOTHING = "regression", "nothing"

_Case = Annotated[
    str | None,
    typer.Option("--case", metavar="KEY", help="Only the case or soak of this key, or its beginning."),
]
_Test = Annotated[
    str | None, typer.Option("--test", metavar="TEST", help="Only cases of this test, such as tcp; or soak.")
]
_Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="WHAT",
        help="throughput (default), efficiency (of soaks client CPU per Gbit), loss, power, latency; "
        "repeatable.",
    ),
]
_Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="ID", help="Only this result and later ones, such as since a known change."
    ),
]
_Factor = Annotated[
    str | None, typer.Option("--factor", metavar="RATIO", help="Ignore smaller changes; default 1 %.")
]
_FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        help="regression: exit 3 where a course stands worse than before; nothing (default).",
    ),
]
_Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Also write an HTML page with charts; needs no network."
    ),
]


def history(  # noqa: PLR0913 - one parameter an option
    results: Results = Path("results"),
    case: _Case = None,
    test: _Test = None,
    metric: _Metric = None,
    since: _Since = None,
    factor: _Factor = None,
    fail_on: _FailOn = NOTHING,
    as_json: Json = False,
    output: _Output = None,
) -> None:
    """Follow each case over all results: where it changed for good.

    A soak is one run: its mean rate over all soaks of the same job, whatever its hosts were called.

    Exit codes with --fail-on regression: 0 no course is worse than before; 3 one is; 4 none is, but of some
    more results must tell; 2 wrong use.
    """
    from linewatt.analysis.comparison.rows import METRICS
    from linewatt.cli.output import checked_target
    from linewatt.features.history import report
    from linewatt.features.history.build import history_of
    from linewatt.features.history.regressions import regressions
    from linewatt.report.comparison.factor import parse_factor
    from linewatt.report.comparison.sides import kept
    from linewatt.store.read import read_each, readable

    metrics = chosen("--metric", metric, METRICS) or ("throughput",)
    if fail_on not in (REGRESSION, NOTHING):
        raise InvalidInput(f"--fail-on {fail_on!r}: must be {REGRESSION} or {NOTHING}")
    matters = None if factor is None else parse_factor(factor)
    target = None if output is None else checked_target(output)
    loaded, damaged = read_each(results, lambda path: (path, kept(path)))
    loaded = _results_since(results, sorted(loaded, key=lambda entry: entry[1].created_s or 0), since)
    with readable(*(path for path, _ in loaded)):
        case_history = history_of(results, loaded, metrics, case, test, matters, damaged)
        if not case_history.courses and not case_history.left_out and not damaged:
            raise InvalidInput(_empty_message(results, loaded, case, test, metrics))
        if fail_on == REGRESSION:
            case_history = replace(case_history, regressions=regressions(case_history.courses))
        if target is not None:
            from linewatt.features.history.page import render
            from linewatt.report.printing.html import write

            write(target, render(case_history))
        if as_json:
            print_json(report.as_document(case_history))
        else:
            print_rich(lambda width: report.show(case_history, width))
    if case_history.regressions is not None and case_history.regressions.exit_code:
        raise typer.Exit(case_history.regressions.exit_code)


def _results_since(results: Path, loaded: Loaded, since: str | None) -> list[tuple[Path, Kept]]:
    """The result ``since`` and all later ones, in time order. Raises InvalidInput, StoreError."""
    if since is None:
        return list(loaded)
    from linewatt.store.read import find

    first = find(results, since).resolve()
    places = [at for at, (path, _) in enumerate(loaded) if path.resolve() == first]
    if not places:
        raise InvalidInput(f"--since {since}: is none of the results below {results} that can be read")
    return list(loaded[places[0] :])


def _empty_message(
    results: Path, loaded: Loaded, case: str | None, test: str | None, metrics: Sequence[str]
) -> str:
    if not loaded:
        return f"no results below {results}; name their directory with --results"
    filters = [f"--case {case}"] if case is not None else []
    filters += [f"--test {test}"] if test is not None else []
    requested = " ".join([*filters, " or ".join(metrics)])
    message = f"none of the {len(loaded)} results below {results} has a case with {requested}"
    searches = any(recorded.searched for _, recorded in loaded)
    return (
        f"{message}; steps of searches are in no history: 'linewatt show' has their rates" * searches
        or message
    )
