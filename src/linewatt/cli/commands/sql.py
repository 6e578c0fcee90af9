# SPDX-License-Identifier: Apache-2.0
"""``linewatt sql``: run one read-only SELECT over stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Json, Read

LIMIT = 1000
TIMEOUT_S = 60.0


def sql(
    query: Annotated[
        str, typer.Argument(metavar="SELECT", help="The query; '-' reads it from standard input.")
    ],
    results: Read = Path("results"),
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Rows as CSV.")] = False,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=1, help="Maximum rows; a message says if more exist."),
    ] = LIMIT,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Stop the query after this time."),
    ] = TIMEOUT_S,
) -> None:
    """Query results with SQL.

    Views: results, cases, trials, ends, samples, findings. 'DESCRIBE cases' lists the columns of a view;
    docs/sql.md lists all. Only one SELECT is allowed; it cannot change results.
    """
    from linewatt.cli.actions.sql import ask_results

    ask_results(query=query, results=results, as_json=as_json, as_csv=as_csv, limit=limit, timeout=timeout)
