# SPDX-License-Identifier: Apache-2.0
"""``linewatt rehearse``: try a campaign on virtual machines like its hosts."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import File, Hosts, Json, print_json, put_lines

REFUSED = 3
"""exit code if a change was refused, or did not work as requested"""


def rehearse(
    file: File,
    hosts: Hosts = None,
    facts: Path | None = typer.Option(
        None, "--facts", metavar="FILE", help="Host facts: a stored result, or its manifest.json."
    ),
    connect: bool = typer.Option(
        True, "--connect/--no-connect", help="Read facts from the hosts, without changing them."
    ),
    as_json: Json = False,
) -> None:
    """Try a campaign's changes on virtual machines like its hosts.

    Virtual machines on this machine replace the hosts. The hosts are only read. Needs root.

    Exit codes: 0 all worked; 3 a change was refused, rounded, ignored or not undone, or a load failed;
    2 wrong use.
    """
    from linewatt.features.rehearse.document import lines
    from linewatt.features.rehearse.rehearsal import rehearsal_of

    rehearsal = rehearsal_of(file, hosts, facts, connect=connect)
    if as_json:
        print_json(rehearsal)
    else:
        put_lines(lines(rehearsal))
    if not rehearsal["as_asked"]:
        raise typer.Exit(REFUSED)
