# SPDX-License-Identifier: Apache-2.0
"""``linewatt rederive``: recompute a stored result from its raw files by the current method."""

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
        typer.Option("--write", help="Store the new figures beside the unchanged original."),
    ] = False,
    trials: Annotated[bool, typer.Option("--trials", help="List changes of every trial.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute a result from raw files by the current method.

    Lists changed figures, with reasons. After --write, show uses the new ones.
    """
    from linewatt.cli.actions.rederive import rederive_result

    rederive_result(result_id=wanted, results=results, write=write, trials=trials, as_json=as_json)
