# SPDX-License-Identifier: Apache-2.0
"""``linewatt history``: follow cases and soaks over many results and find when they changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli import Json, Results

REGRESSION, NOTHING = "regression", "nothing"
_Case = Annotated[
    str | None,
    typer.Option("--case", metavar="KEY", help="Only the case or soak with this key or prefix."),
]
_Test = Annotated[
    str | None, typer.Option("--test", metavar="TEST", help="Only cases of this test, such as tcp; or soak.")
]
_Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="WHAT",
        help="throughput (default), efficiency (soaks: client CPU per Gbit), loss, power, latency; "
        "repeatable.",
    ),
]
_Since = Annotated[
    str | None,
    typer.Option("--since", metavar="ID", help="Only this result and later ones, e.g. after a known change."),
]
_Factor = Annotated[
    str | None, typer.Option("--factor", metavar="RATIO", help="Ignore smaller changes; default 1 %.")
]
_FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        help="regression: exit 3 if a case is now worse than before; nothing: exit 0.",
    ),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Also write an offline HTML page with charts."),
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
    """Follow each case over all results and find lasting changes.

    Soaks of the same job count as one case, by their mean rate; host names do not matter.

    Exit codes with --fail-on regression: 0 no case is worse than before; 3 at least one is; 4 none is, but
    some need more results; 2 wrong use.
    """
    from linewatt.features.history.action import print_history

    print_history(
        results=results,
        case=case,
        test=test,
        metric=metric,
        since=since,
        factor=factor,
        fail_on=fail_on,
        as_json=as_json,
        output=output,
    )
