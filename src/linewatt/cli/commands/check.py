# SPDX-License-Identifier: Apache-2.0
"""``linewatt check``: whether the hosts of a campaign are ready, host by host, and what to do where not."""

from __future__ import annotations

import typer

from linewatt.cli.options import File, Hosts, Results
from linewatt.cli.output import RESULTS_FOLDER


def check_command(
    file: File,
    hosts: Hosts = None,
    results: Results = RESULTS_FOLDER,
    fix: bool = typer.Option(
        False, "--fix", help="Make the changes that are safe; linewatt restore takes them back."
    ),
    allow_commands: bool = typer.Option(
        False, "--allow-commands", help="Also run programs that sources of power name, to read them once."
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Say whether hosts are ready, and what would spoil a result.

    Exit 1 if something would. Nothing is changed without --fix. docs/check.md says what each check looks at.
    """
    from linewatt.cli.actions.check import check_hosts

    check_hosts(
        file=file, hosts=hosts, results=results, fix=fix, allow_commands=allow_commands, as_json=as_json
    )
