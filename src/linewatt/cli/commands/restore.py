# SPDX-License-Identifier: Apache-2.0
"""``linewatt restore``: what a killed campaign left changed on hosts is put back."""

from __future__ import annotations

import typer

from linewatt.cli.options import WAIT_OPTION


def restore(
    force: bool = typer.Option(False, "--force", help="Also put back what others have changed since."),
    forget: str | None = typer.Option(
        None, "--forget", metavar="ID", help="Drop the journal of a campaign whose hosts no longer exist."
    ),
    wait: bool = WAIT_OPTION,
    as_json: bool = typer.Option(False, "--json", help="What was put back, as JSON."),
) -> None:
    """Undo on every host what a killed campaign left changed."""
    from linewatt.cli.actions.restore import restore_hosts

    restore_hosts(force=force, forget=forget, wait=wait, as_json=as_json)
