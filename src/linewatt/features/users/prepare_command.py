# SPDX-License-Identifier: Apache-2.0
"""``linewatt prepare``: install or remove the software for scripted users on client hosts."""

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
        help="Install wheels from this directory, for clients without a package index.",
    ),
    remove: bool = typer.Option(False, "--remove", help="Remove what any version of prepare installed."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Install the software for scripted users on client hosts.

    Exit 1 if a host failed. Files stay in the login user's cache until --remove; docs/users.md lists them.
    """
    from linewatt.features.users.prepare_action import prepare_clients

    prepare_clients(file=file, hosts=hosts, wheelhouse=wheelhouse, remove=remove, as_json=as_json)
