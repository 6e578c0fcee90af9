# SPDX-License-Identifier: Apache-2.0
"""``linewatt prepare``: the environment that scripted users need on client hosts, put there or taken away."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import File, Hosts


def prepare_command(
    file: File,
    hosts: Hosts = None,
    wheelhouse: Path | None = typer.Option(
        None,
        "--wheelhouse",
        metavar="DIR",
        help="Install from wheels of this directory: for clients that reach no package index.",
    ),
    remove: bool = typer.Option(
        False, "--remove", help="Take away all that prepare ever put on these hosts, of any version."
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Put what scripted users need on client hosts that lack it.

    Exit 1 if one failed. It is one folder in the login user's cache and stays until --remove. docs/users.md
    says what is in it.
    """
    from linewatt.features.users.prepare_action import prepare_clients

    prepare_clients(file=file, hosts=hosts, wheelhouse=wheelhouse, remove=remove, as_json=as_json)
