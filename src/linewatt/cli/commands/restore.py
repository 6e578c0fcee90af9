# SPDX-License-Identifier: Apache-2.0
"""``linewatt restore``: undo changes that a killed campaign left on hosts."""

from __future__ import annotations

import typer

from linewatt.cli.options import WAIT_OPTION


def restore(
    force: bool = typer.Option(False, "--force", help="Also restore settings changed by others."),
    forget: str | None = typer.Option(
        None, "--forget", metavar="ID", help="Drop the journal of a campaign whose hosts no longer exist."
    ),
    wait: bool = WAIT_OPTION,
    as_json: bool = typer.Option(False, "--json", help="Print the outcome as JSON."),
) -> None:
    """Undo changes that a killed campaign left on hosts."""
    from linewatt.cli.actions.restore import restore_hosts

    restore_hosts(force=force, forget=forget, wait=wait, as_json=as_json)
