# SPDX-License-Identifier: Apache-2.0
"""``linewatt history``: how cases went over many results, and when that changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.compare import parse_factor, side_of, uncollected
from linewatt.cli.output import print_json, print_rich
from linewatt.errors import InvalidInput
from linewatt.model import Case

_METRICS = ("throughput", "efficiency", "loss")


def register(app: typer.Typer) -> None:
    """Add ``history`` to the program."""
    app.command("history")(history)


def history(
    results: Annotated[
        Path,
        typer.Option(
            "--results", envvar="LINEWATT_RESULTS", help="Directory that holds the results.", metavar="DIR"
        ),
    ] = Path("results"),
    case: Annotated[
        str | None, typer.Option("--case", metavar="KEY", help="Only the case of this key, or its beginning.")
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="TEST", help="Only cases of this test, such as tcp.")
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", metavar="WHAT", help="throughput, efficiency (receiver) or loss.")
    ] = "throughput",
    factor: Annotated[
        str | None, typer.Option("--factor", metavar="RATIO", help="A smaller change is none; default 1 %.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document, units in key names.")] = False,
) -> None:
    """Show the means of each case over all results in time order, and where they changed for good."""
    from linewatt.analysis.compare import METRICS
    from linewatt.analysis.history import courses
    from linewatt.store.brief import load_all_brief

    if metric not in _METRICS:
        raise InvalidInput(f"--metric {metric!r}: must be one of {', '.join(_METRICS)}")
    response = METRICS[metric][0]
    matters = None if factor is None else parse_factor(factor)

    def wanted(one: Case) -> bool:
        return (case is None or one.key.startswith(case)) and (test is None or one.test == test)

    with uncollected():
        sides = [side_of(result.id, result) for result in load_all_brief(results)]
        found = courses(sides, response, wanted, matters if response.relative else None)
    if not found:
        raise InvalidInput(_nothing(results, len(sides), case, test, metric))
    if as_json:
        from linewatt.report.history import as_document

        print_json(as_document(found, response))
    else:
        from linewatt.report.history import show

        print_rich(lambda width: show(found, response, len(sides), width))


def _nothing(results: Path, count: int, case: str | None, test: str | None, metric: str) -> str:
    if not count:
        return f"no results below {results}; name their directory with --results"
    asked = [f"--case {case}"] if case is not None else []
    asked += [f"--test {test}"] if test is not None else []
    return f"none of the {count} results below {results} has a case with {' '.join([*asked, metric])}"
