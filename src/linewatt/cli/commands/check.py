# SPDX-License-Identifier: Apache-2.0
"""``linewatt check``: whether the hosts of a campaign are ready, and what to do if not."""

from __future__ import annotations

import typer

from linewatt.cli.options import File, Hosts, Results
from linewatt.cli.output import RESULTS_FOLDER


def check_command(
    file: File,
    hosts: Hosts = None,
    results: Results = RESULTS_FOLDER,
    fix: bool = typer.Option(False, "--fix", help="Make the safe changes; linewatt restore undoes them."),
    allow_commands: bool = typer.Option(
        False, "--allow-commands", help="Also run programs of driver: command, to read watts once."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Check hosts for anything that would spoil a result.

    Exit 1 if a check or fix fails. Without --fix, nothing is changed. docs/check.md lists all checks.
    """
    from linewatt.cli.actions.check import check_hosts

    check_hosts(
        file=file, hosts=hosts, results=results, fix=fix, allow_commands=allow_commands, as_json=as_json
    )
