# SPDX-License-Identifier: Apache-2.0
"""``linewatt sql``: one SELECT over stored results, which are only read."""

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
        typer.Option("--limit", metavar="N", min=1, help="At most so many rows; more are said to be there."),
    ] = LIMIT,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Give up a query that takes longer."),
    ] = TIMEOUT_S,
) -> None:
    """Ask stored results in SQL.

    Views: results, cases, trials, ends, samples, findings; docs/sql.md has every column, and 'DESCRIBE cases'
    lists those of one. Results are only read: whatever is not one SELECT is refused.
    """
    from linewatt.cli.actions.sql import ask_results

    ask_results(query=query, results=results, as_json=as_json, as_csv=as_csv, limit=limit, timeout=timeout)
