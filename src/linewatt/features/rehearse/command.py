# SPDX-License-Identifier: Apache-2.0
"""``linewatt rehearse``: a campaign's changes, placement and loads on guests shaped like its hosts."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import File, Hosts, Json, print_json, put

REFUSED = 3
"""exit code if a change was refused, or did not work as requested"""


def rehearse(
    file: File,
    hosts: Hosts = None,
    facts: Path | None = typer.Option(
        None, "--facts", metavar="FILE", help="A stored result, or its manifest.json: what hosts were like."
    ),
    connect: bool = typer.Option(
        True, "--connect/--no-connect", help="Ask the hosts what they are like; nothing on them is changed."
    ),
    as_json: Json = False,
) -> None:
    """Try a campaign's changes on guests shaped like its hosts.

    Guests on this machine stand in; the hosts are asked what they are like, and never changed. Needs root.

    Exit codes: 0 nothing was refused; 3 something was, or was not taken as asked, or was not put back, or a
    load failed; 2 wrong use.
    """
    from linewatt.features.rehearse.document import lines
    from linewatt.features.rehearse.rehearsal import rehearsal_of

    rehearsal = rehearsal_of(file, hosts, facts, connect=connect)
    if as_json:
        print_json(rehearsal)
    else:
        put("\n".join(lines(rehearsal)))
    if not rehearsal["as_asked"]:
        raise typer.Exit(REFUSED)
