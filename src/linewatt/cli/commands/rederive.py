# SPDX-License-Identifier: Apache-2.0
"""``linewatt rederive``: a stored result made again from its raw files by today's method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Json, Results, Wanted


def rederive(
    wanted: Wanted = "last",
    results: Results = Path("results"),
    write: Annotated[
        bool,
        typer.Option("--write", help="Store what is made again beside the original, which stays as it is."),
    ] = False,
    trials: Annotated[bool, typer.Option("--trials", help="List each figure of every trial.")] = False,
    as_json: Json = False,
) -> None:
    """Make a result again from its raw files by today's method.

    What changes is listed with its reason; --write keeps it beside the original.
    """
    from linewatt.cli.actions.rederive import rederive_result

    rederive_result(result_id=wanted, results=results, write=write, trials=trials, as_json=as_json)
