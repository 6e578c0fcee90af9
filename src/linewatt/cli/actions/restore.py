# SPDX-License-Identifier: Apache-2.0
"""What a killed campaign left changed on hosts is put back."""

from __future__ import annotations

import typer

from linewatt.cli.output import print_json, say
from linewatt.cli.signals import until_done
from linewatt.engine.undo import Undoer
from linewatt.engine.undo import forget_journal as forget_journal
from linewatt.engine.undo import restore_hosts as restore_all
from linewatt.hosts.journal import state_dir


def restore_hosts(*, force: bool, forget: str | None, wait: bool, as_json: bool) -> None:
    """Undo changes that a killed campaign left on hosts."""
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
        say(f"nothing to restore in {state_dir()}")
    if any(outcome.problems for outcome in outcomes):
        raise typer.Exit(1)
