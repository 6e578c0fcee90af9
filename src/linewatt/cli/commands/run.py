# SPDX-License-Identifier: Apache-2.0
"""``run``, ``resume``, ``restore``: the commands that touch hosts."""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from linewatt.cli.commands.plan import with_stored
from linewatt.cli.options import File, Hosts, Results, Wanted
from linewatt.cli.output import RESULTS, can_be_made, print_json, results_there, say

if TYPE_CHECKING:
    from linewatt.campaign.campaign import Campaign
    from linewatt.campaign.planning.plan import Plan
    from linewatt.engine.events import Ended, Event, OnEvent, Started
    from linewatt.engine.plan_kinds import KindPlan
    from linewatt.store.read import Result

T = TypeVar("T")

JSON = typer.Option(False, "--json", help="One JSON event per line on stdout.")
ALLOW = typer.Option(
    False,
    "--allow-commands",
    help="Run programs that an inventory or a stored campaign names (sources of power, hooks).",
)
WAIT = typer.Option(False, "--wait", help="Wait for other controllers that work on the hosts, until Ctrl-C.")


def run(
    file: File,
    hosts: Hosts = None,
    results: Results = RESULTS,
    wait: bool = WAIT,
    as_json: bool = JSON,
    allow_commands: bool = ALLOW,
) -> None:
    """Run a campaign: each trial is stored before the next begins.

    Ctrl-C undoes every change and keeps what was measured; resume continues it.
    """
    import random

    from linewatt.campaign.planning.plan import plan
    from linewatt.campaign.planning.programs import refuse_listed
    from linewatt.campaign.reading.file import load
    from linewatt.engine.plan_kinds import plan_kind

    campaign = with_stored(load(file, hosts, will_connect=True), results)
    if not allow_commands:
        refuse_listed(campaign)
    can_be_stored(results)
    if kind := plan_kind(campaign):
        _run_kind(campaign, kind.plan(campaign), None, results, as_json, wait=wait)
        return
    seed = random.SystemRandom().getrandbits(32) if campaign.seed is None else campaign.seed
    _finish(*execute(campaign, plan(campaign, seed), None, results, as_json, wait=wait), results, as_json)


def can_be_stored(results: Path) -> None:
    """Whether there is room for what a run writes on this machine, before any host is touched."""
    from linewatt.hosts.journal.journal import state_dir

    can_be_made("--results", results)
    can_be_made("LINEWATT_STATE", state_dir())


def resume(
    result_id: Wanted,
    results: Results = RESULTS,
    wait: bool = WAIT,
    as_json: bool = JSON,
    allow_commands: bool = ALLOW,
) -> None:
    """Continue an interrupted campaign or soak.

    Trials that it lacks are run, none is lost or repeated; of a soak, what is left of its time.
    """
    from linewatt.campaign import stored
    from linewatt.campaign.planning.plain import as_dict
    from linewatt.campaign.planning.plan import plan
    from linewatt.campaign.planning.programs import programs, refuse
    from linewatt.engine.further import lacking
    from linewatt.engine.plan_kinds import plan_kind
    from linewatt.errors import StoreError
    from linewatt.store.read import find, load, readable

    results_there(results)
    path = find(results, result_id)
    with readable(path):
        result = load(path)
        if result.imported_from is not None:
            raise StoreError(
                f"{result.id}: imported from {result.imported_from}, so there is nothing to resume"
            )
        if result.is_passing and not result.complete:
            raise StoreError(
                f"{result.id}: its hosts were those of a lab that goes with the command that ran it, so "
                "nothing can continue it; give that command again"
            )
        campaign = stored.from_dict(result.manifest.asked.written)
        if not allow_commands:
            refuse(programs(campaign), f"{result.id}: its stored campaign")
        campaign = _with_edits(campaign, result, results)
        kind = plan_kind(campaign)
        if kind is None:
            planned = plan(campaign, result.manifest.seed or 0)
            _check_plan(as_dict(planned), result)
    if kind is not None:
        _run_kind(campaign, kind.plan(campaign), result, results, as_json, wait=wait)
        return
    if result.complete and not lacking(result.path, planned.further):
        say(f"{result.id}: nothing to do, all {len(result.trials)} trials are stored")
        return
    _finish(*execute(campaign, planned, result, results, as_json, wait=wait), results, as_json)


MOST_DIFFERENCES = 5
"""of a campaign file from the stored campaign that are told"""


def _with_edits(campaign: Campaign, result: Result, results: Path) -> Campaign:
    """The stored campaign as it is gone on with: hosts have the limits that its file says by now.

    What else that says otherwise is told.
    """
    from linewatt.campaign import stored
    from linewatt.campaign.reading.file import load
    from linewatt.campaign.resolving import resolved
    from linewatt.errors import InvalidInput
    from linewatt.foreign import one_line

    if not campaign.path.is_file():
        return campaign
    used = f"{result.id} continues the campaign as it was stored; linewatt run begins one with the file"
    written = result.manifest.asked.written
    try:
        now = resolved(load(campaign.path, campaign.inventory), results, written)
    except InvalidInput as error:
        say(f"note: {error}; {used}")
        return campaign
    going_on = stored.with_limits(campaign, now)
    if changed_hosts := [name for name, spec in going_on.hosts.items() if spec != campaign.hosts[name]]:
        say(one_line(f"note: limits of {', '.join(changed_hosts)} are those that {campaign.path} has now"))
    edits = stored.differences(written, stored.with_limits(now, campaign))
    if not result.complete:
        _refuse_other_searches(result, campaign.path, edits)
    if edits:
        more = len(edits) - MOST_DIFFERENCES
        edit_words = "; ".join(edits[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        say(one_line(f"note: {campaign.path} was edited ({edit_words}); {used}"))
    return going_on


def _refuse_other_searches(result: Result, path: Path, edits: Sequence[str]) -> None:
    """What was searched until now would be no part of what the file asks for. Raises StoreError."""
    from linewatt.errors import StoreError
    from linewatt.foreign import one_line

    search_edits = [edit for edit in edits if edit.startswith(_OF_SEARCHES)]
    if search_edits:
        edit_words = "; ".join(search_edits[:MOST_DIFFERENCES])
        raise StoreError(
            one_line(
                f"{result.id}: its searches go on from stored steps, and {path} asks otherwise by now "
                f"({edit_words}); put that back to resume, or begin anew with linewatt run"
            )
        )


_OF_SEARCHES = ("search.", "search:", "instance_search.", "instance_search:")


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


class _Heard:
    """Passes events on, and remembers whether hosts were left changed, and what is stored."""

    def __init__(self, show: OnEvent, *, passing: bool = False) -> None:
        """``passing``: its hosts go with this command."""
        self._show = show
        self._passing = passing
        self.left_changed = False
        self._started: Started | None = None
        self._stored = 0

    def __call__(self, event: Event) -> None:
        from linewatt.engine.events import LeftChanged, Started, TrialStored

        self.left_changed = self.left_changed or isinstance(event, LeftChanged)
        if isinstance(event, Started):
            self._started, self._stored = event, event.trials_stored
        self._stored += isinstance(event, TrialStored)
        self._show(event)

    @property
    def how_to_go_on(self) -> str:
        """For who ended it; nothing where nothing is stored."""
        if self._started is None or not self._stored:
            return ""
        stored_words = f"{self._stored} of {self._started.trials} trials stored"
        if self._passing:
            return f"; {stored_words}, see: linewatt show {self._started.id}; its hosts go with this command"
        return f"; {stored_words}, go on with: linewatt resume {self._started.id}"

    def until_done(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end. Hosts that are left changed are worse news than whatever else ended the work."""
        from linewatt.errors import LinewattError

        try:
            return until_done(work)
        except KeyboardInterrupt as error:
            say(f"linewatt: interrupted{self.how_to_go_on}")
            raise typer.Exit(1 if self.left_changed else 130) from error
        except LinewattError as error:
            if not self.left_changed:
                raise
            say(f"linewatt: {error}")
            raise typer.Exit(1) from error


def execute(
    campaign: Campaign,
    planned: Plan,
    result: Result | None,
    results: Path,
    as_json: bool,
    *,
    wait: bool = False,
    state: Path | None = None,
) -> tuple[Ended, bool]:
    """Run what a result still lacks (``None``: everything), with progress on the terminal.

    How it ended, and whether hosts were left changed. ``state``: where the undo journal is, if not in the
    user's own directory.
    """
    from linewatt.cli.commands.show import answer_modules
    from linewatt.cli.progress import chosen
    from linewatt.engine.campaign import CampaignRun
    from linewatt.engine.live.secrets import open_files
    from linewatt.engine.run import Places
    from linewatt.hosts.journal.journal import state_dir

    with chosen(as_json, passing=campaign.is_passing) as progress:
        if not as_json:
            for note in (*planned.notes, *open_files(campaign)):
                say(f"note: {note}")
        ask = _asked if sys.stdin is not None and sys.stdin.isatty() else None
        heard = _Heard(progress, passing=campaign.is_passing)
        places = Places(results, state or state_dir())
        later = () if as_json else answer_modules()
        campaign_run = CampaignRun(campaign, planned, places, heard, ask, waits=wait, later=later)
        ended = heard.until_done(campaign_run.start() if result is None else campaign_run.resume(result))
        return ended, heard.left_changed


def _check_plan(planned: dict[str, Any], result: Result) -> None:
    from linewatt.errors import StoreError

    if planned != result.manifest.plan:
        raise StoreError(
            f"{result.id}: linewatt {result.manifest.linewatt_version} planned it otherwise than this one "
            "does; resume it with that version"
        )


def _run_kind(
    campaign: Campaign,
    planned: KindPlan,
    result: Result | None,
    results: Path,
    as_json: bool,
    *,
    wait: bool,
) -> None:
    """Run a plan that is none of trials, or what is left of it, and show what came of it."""
    import json

    from linewatt.cli.commands.show import show
    from linewatt.cli.progress import chosen
    from linewatt.engine.live.secrets import open_files
    from linewatt.engine.run import Places
    from linewatt.hosts.journal.journal import state_dir

    if result is not None:
        _check_plan(json.loads(json.dumps(planned.document())), result)
    with chosen(as_json) as progress:
        if not as_json:
            for note in (*planned.notes(), *open_files(campaign)):
                say(f"note: {note}")
        heard = _Heard(progress)
        run_of_plan = planned.run(Places(results, state_dir()), heard, waits=wait)
        ended = heard.until_done(run_of_plan.start() if result is None else run_of_plan.resume(result))
    if not as_json:
        show(ended.id, results)
    if not ended.is_complete or heard.left_changed:
        raise typer.Exit(1)


async def _asked(text: str) -> None:
    """Show what somebody is to do, and wait for Enter; Ctrl-C ends the wait as it ends all else."""
    import asyncio

    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    say(text)
    loop.add_reader(sys.stdin, done.set)
    try:
        await done.wait()
        sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin)


def _finish(ended: Ended, left_changed: bool, results: Path, as_json: bool) -> None:
    """The table, and an exit code that tells whether all is well."""
    if not as_json and ended.done:
        from linewatt.cli.commands.show import show

        show(ended.id, results)
    if not ended.is_complete or left_changed:
        raise typer.Exit(1)


def until_done(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; the first Ctrl-C, TERM or HUP cancels and cleans up, further ones only say so.

    A HUP that is ignored already (nohup(1)) stays so.
    """
    import asyncio
    import signal

    async def guarded() -> T:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            if task.cancelling():
                say("still cleaning up; give it a moment")
            else:
                say("interrupted: stopping the load and undoing every change")
                task.cancel()

        hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hangs_up else [])):
            loop.add_signal_handler(number, interrupt)
        return await task

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)  # what the loop leaves behind is to be killed by TERM
