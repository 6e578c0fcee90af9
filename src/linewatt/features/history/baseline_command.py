# SPDX-License-Identifier: Apache-2.0
"""``linewatt baseline``: name results to compare other results with."""

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
    name: _Name, result_id: Wanted, results: Results = Path("results"), as_json: Json = False
) -> None:
    """Have a name stand for a result.

    Wherever an ID is asked for, baseline:NAME is that result from then on. The name stays with it: 'last' is
    the result that is the newest now.
    """
    from linewatt.features.history import baselines
    from linewatt.store.read import find

    before = None
    with suppress(StoreError):  # a damaged file is replaced
        before = baselines.get(results, name)
    new = baselines.put(results, name, find(results, result_id), time.time())
    if before is not None and before.id != new.id:
        say(f"{name} was {before.id}")
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **_baseline_document(new)})
        return
    put(new.id)


@baseline_app.command("list", cls=Command)
def list_baselines(results: Results = Path("results"), as_json: Json = False) -> None:
    """List the names, and what each stands for.

    Exit 1 if a result that one stands for is not there any more.
    """
    from linewatt.features.history import baselines
    from linewatt.foreign import one_line
    from linewatt.units import when

    results_there(results)
    listed = [
        stored for name in baselines.names(results) if (stored := baselines.get(results, name)) is not None
    ]
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "baselines": [_baseline_document(baseline) for baseline in listed],
            }
        )
    else:
        for baseline in listed:
            gone = "" if baseline.is_there else "  is not there any more: deleted or moved"
            put(one_line(f"{baseline.name}  {baseline.id}  set {when(baseline.set_s)}{gone}"))
        if not listed:
            say(f"no baseline below {results}; 'linewatt baseline set NAME ID' names one")
    if not all(baseline.is_there for baseline in listed):
        raise typer.Exit(1)


@baseline_app.command("remove", cls=Command)
def remove_baseline(name: _Name, results: Results = Path("results")) -> None:
    """Take a name away; the result stays."""
    from linewatt.features.history import baselines

    baselines.remove(results, name)
    say(f"{name}: removed; its result is as it was")


def _baseline_document(baseline: Baseline) -> dict[str, Any]:
    return {"name": baseline.name, "id": baseline.id, "set_s": baseline.set_s, "is_there": baseline.is_there}
