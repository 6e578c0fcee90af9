# SPDX-License-Identifier: Apache-2.0
"""``linewatt plan``: what a campaign will do."""

from __future__ import annotations

import typer

from linewatt.cli.options import File, Hosts, Results
from linewatt.cli.output import RESULTS_FOLDER

_JSON = typer.Option(False, "--json", help="Print one JSON document.")
_TRIALS = typer.Option(False, "--trials", help="List every trial, with its ports and CPUs.")


def plan_command(
    file: File,
    hosts: Hosts = None,
    results: Results = RESULTS_FOLDER,
    as_json: bool = _JSON,
    trials: bool = _TRIALS,
) -> None:
    """Print what a campaign would do; touches no host.

    Lists cases, CPUs, ports, changes to hosts, and the duration.
    """
    from linewatt.cli.actions.plan import print_plan

    print_plan(file=file, hosts=hosts, results=results, as_json=as_json, trials=trials)
