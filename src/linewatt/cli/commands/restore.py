# SPDX-License-Identifier: Apache-2.0
"""``linewatt restore``: what a killed campaign left changed on hosts is put back."""

from __future__ import annotations

import typer

from linewatt.cli.options import WAIT
from linewatt.cli.output import print_json, say
from linewatt.cli.signals import until_done


def restore(
    force: bool = typer.Option(False, "--force", help="Also put back what others have changed since."),
    forget: str | None = typer.Option(
        None, "--forget", metavar="ID", help="Drop the journal of a campaign whose hosts no longer exist."
    ),
    wait: bool = WAIT,
    as_json: bool = typer.Option(False, "--json", help="What was put back, as JSON."),
) -> None:
    """Undo on every host what a killed campaign left changed."""
    from linewatt.engine.undo.restore import Undoer
    from linewatt.engine.undo.restore import forget as forget_journal
    from linewatt.engine.undo.restore import restore as restore_all
    from linewatt.hosts.journal.journal import state_dir

    if forget is not None:
        say(f"{forget}: dropped its journal with {forget_journal(state_dir(), forget)} changes")
        return
    outcomes = until_done(restore_all(state_dir(), Undoer(say=say, waits=wait), force=force))
    if as_json:
        rows = [
            {"id": outcome.id, "undone": outcome.undone, "problems": list(outcome.problems)}
            for outcome in outcomes
        ]
        print_json({"schema_version": 1, "restored": rows})
    for outcome in outcomes:
        say(f"{outcome.id}: put back {outcome.undone} settings")
        for problem in outcome.problems:
            say(f"  {problem}")
    if not outcomes:
        say("nothing to restore")
    if any(outcome.problems for outcome in outcomes):
        raise typer.Exit(1)
