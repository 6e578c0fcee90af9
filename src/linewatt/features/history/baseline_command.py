# SPDX-License-Identifier: Apache-2.0
"""``linewatt baseline``: names of results that others are compared with."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linewatt.cli.help import Command, Group
from linewatt.cli.options import Json, Results, Wanted, baseline_names
from linewatt.cli.output import print_json, put, results_there, say
from linewatt.errors import StoreError

if TYPE_CHECKING:
    from linewatt.features.history.baselines import Baseline

SCHEMA_VERSION = 1
baseline_app = typer.Typer(
    cls=Group, help="Names of results that others are compared with: baseline:NAME.", no_args_is_help=True
)
_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Letters, digits, dots, underscores, dashes.", autocompletion=baseline_names
    ),
]


@baseline_app.command("set", cls=Command)
def set_baseline(
    name: _Name, wanted: Wanted, results: Results = Path("results"), as_json: Json = False
) -> None:
    """Have a name stand for a result.

    Wherever an ID is asked for, baseline:NAME is that result from then on. The name stays with it: 'last' is
    the result that is the newest now.
    """
    from linewatt.features.history import baselines
    from linewatt.store.read import find

    before = None
    with suppress(StoreError):  # what is damaged is written anew
        before = baselines.get(results, name)
    made = baselines.put(results, name, find(results, wanted), time.time())
    if before is not None and before.id != made.id:
        say(f"{name} was {before.id}")
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **_document(made)})
        return
    put(made.id)


@baseline_app.command("list", cls=Command)
def list_baselines(results: Results = Path("results"), as_json: Json = False) -> None:
    """List the names, and what each stands for.

    Exit 1 if a result that one stands for is not there any more.
    """
    from linewatt.features.history import baselines
    from linewatt.foreign import one_line
    from linewatt.units import when

    results_there(results)
    every = [found for name in baselines.each(results) if (found := baselines.get(results, name)) is not None]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "baselines": [_document(one) for one in every]})
    else:
        for one in every:
            gone = "" if one.is_there else "  is not there any more: deleted or moved"
            put(one_line(f"{one.name}  {one.id}  set {when(one.set_s)}{gone}"))
        if not every:
            say(f"no baseline below {results}; 'linewatt baseline set NAME ID' names one")
    if not all(one.is_there for one in every):
        raise typer.Exit(1)


@baseline_app.command("remove", cls=Command)
def remove_baseline(name: _Name, results: Results = Path("results")) -> None:
    """Take a name away; the result stays."""
    from linewatt.features.history import baselines

    baselines.remove(results, name)
    say(f"{name}: removed; its result is as it was")


def _document(one: Baseline) -> dict[str, Any]:
    return {"name": one.name, "id": one.id, "set_s": one.set_s, "is_there": one.is_there}
