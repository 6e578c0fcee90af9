# SPDX-License-Identifier: Apache-2.0
"""``linewatt baseline``: name results to compare other results with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli import Command, Group, Json, Results, Wanted, baseline_names

baseline_app = typer.Typer(
    cls=Group, help="Name results to compare other results with: baseline:NAME.", no_args_is_help=True
)
_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Letters, digits, dots, underscores, dashes.", autocompletion=baseline_names
    ),
]


@baseline_app.command("set", cls=Command)
def set_baseline(
    name: _Name, result_id: Wanted, results: Results = Path("results"), as_json: Json = False
) -> None:
    """Give a result a name.

    Commands then accept baseline:NAME as an ID. The result of a name stays the same: 'last' means the newest
    result now.
    """
    from linewatt.features.history.baseline_action import store_baseline

    store_baseline(name=name, result_id=result_id, results=results, as_json=as_json)


@baseline_app.command("list", cls=Command)
def list_baselines(results: Results = Path("results"), as_json: Json = False) -> None:
    """List baselines and their results.

    Exit 1 if any of these results no longer exists.
    """
    from linewatt.features.history.baseline_action import print_baselines

    print_baselines(results=results, as_json=as_json)


@baseline_app.command("remove", cls=Command)
def remove_baseline(name: _Name, results: Results = Path("results")) -> None:
    """Remove a name; the result stays."""
    from linewatt.features.history.baseline_action import delete_baseline

    delete_baseline(name=name, results=results)
