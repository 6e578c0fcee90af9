# SPDX-License-Identifier: Apache-2.0
"""A campaign run to its end, with progress on the terminal, and what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar

import typer

from linewatt.campaign import Campaign
from linewatt.campaign.planning import Plan
from linewatt.cli.answer_imports import answer_modules
from linewatt.cli.commands.show import show
from linewatt.cli.output import can_be_made, say
from linewatt.cli.progress import PlainProgress, choose_progress, tell
from linewatt.cli.signals import until_done
from linewatt.engine import (
    CampaignRun,
    Ended,
    Event,
    KindPlan,
    LeftChanged,
    OnEvent,
    Places,
    Started,
    TrialStored,
)
from linewatt.engine.live import notes_on_open_files
from linewatt.errors import LinewattError, StoreError
from linewatt.hosts.journal import state_dir
from linewatt.store import Result

T = TypeVar("T")


def can_be_stored(results: Path) -> None:
    """Whether there is room for what a run writes on this machine, before any host is touched."""
    can_be_made("--results", results)
    can_be_made("LINEWATT_STATE", state_dir())


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
    with choose_progress(as_json, passing=campaign.is_passing) as progress:
        if not as_json:
            for note in (*planned.notes, *notes_on_open_files(campaign)):
                tell(f"note: {note}")
        ask = _asked if sys.stdin is not None and sys.stdin.isatty() else None
        heard = _Heard(progress, passing=campaign.is_passing)
        places = Places(results, state or state_dir())
        later = () if as_json else answer_modules()
        campaign_run = CampaignRun(campaign, planned, places, heard, ask, waits=wait, later=later)
        ended = heard.until_done(campaign_run.start() if result is None else campaign_run.resume(result))
        return ended, heard.left_changed


def check_plan(planned: dict[str, Any], result: Result) -> None:
    if planned != result.manifest.plan:
        raise StoreError(
            f"{result.id}: linewatt {result.manifest.linewatt_version} planned it otherwise than this one "
            "does; resume it with that version"
        )


def run_kind(
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

    if result is not None:
        check_plan(json.loads(json.dumps(planned.document())), result)
    with choose_progress(as_json) as progress:
        if not as_json:
            for note in (*planned.notes(), *notes_on_open_files(campaign)):
                tell(f"note: {note}")
        heard = _Heard(progress)
        run_of_plan = planned.run(Places(results, state_dir()), heard, waits=wait)
        ended = heard.until_done(run_of_plan.start() if result is None else run_of_plan.resume(result))
    if not as_json:
        show(ended.id, results)
    if not ended.is_complete or heard.left_changed:
        raise typer.Exit(1)


def finish(ended: Ended, left_changed: bool, results: Path, as_json: bool) -> None:
    """The table, and an exit code that tells whether all is well."""
    if not as_json and ended.done:
        show(ended.id, results)
    if not ended.is_complete or left_changed:
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


def _ignore(_: Event) -> None:
    """For events that nobody can read."""


def _discard(stream: TextIO) -> None:
    """Have nothing come of what is written to a stream whose reader is gone, now and at the end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _Heard:
    """Passes events on, and remembers whether hosts were left changed, and what is stored.

    Where nobody reads them any more (``| head``), the work ends as it does with Ctrl-C, and what comes after
    that is said on stderr.
    """

    def __init__(self, on_event: OnEvent, *, passing: bool = False) -> None:
        """``passing``: its hosts go with this command."""
        self._on_event = on_event
        self._passing = passing
        self.left_changed = False
        self._started: Started | None = None
        self._stored = 0
        self._unread = False
        self._cancel: Callable[[], object] = lambda: None

    def __call__(self, event: Event) -> None:
        self.left_changed = self.left_changed or isinstance(event, LeftChanged)
        if isinstance(event, Started):
            self._started, self._stored = event, event.trials_stored
        self._stored += isinstance(event, TrialStored)
        try:
            self._on_event(event)
        except BrokenPipeError:
            self._stop_unread(event)

    def _stop_unread(self, event: Event) -> None:
        """Cancel the work: an exception from here could come up while a host is just being changed."""
        self._unread = True
        _discard(sys.stdout)
        self._on_event = PlainProgress(passing=self._passing)
        try:
            tell("nobody reads the output any more: stopping the load and undoing every change")
            self._on_event(event)
        except BrokenPipeError:
            _discard(sys.stderr)
            self._on_event = _ignore
        self._cancel()

    @property
    def how_to_go_on(self) -> str:
        """For who ended it; nothing where nothing is stored."""
        if self._started is None or not self._stored:
            return ""
        stored_words = f"; {self._stored} of {self._started.trials} trials kept"
        if self._passing:
            show_it = f"linewatt show {self._started.id}"
            return f"{stored_words}; see: {show_it} (the lab's hosts are gone with this command)"
        return f"{stored_words}; continue with: linewatt resume {self._started.id}"

    def until_done(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end. Hosts that are left changed are worse news than whatever else ended the work."""
        try:
            return until_done(self._cancellable(work))
        except KeyboardInterrupt as error:
            if self._unread:
                say(f"linewatt: stopped, because the reader of its output is gone{self.how_to_go_on}")
                raise typer.Exit(1) from error
            say(f"linewatt: interrupted{self.how_to_go_on}")
            raise typer.Exit(1 if self.left_changed else 130) from error
        except LinewattError as error:
            if not self.left_changed:
                raise
            say(f"linewatt: {error}")
            raise typer.Exit(1) from error

    async def _cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        import asyncio

        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        self._cancel = lambda: task.cancelling() or task.cancel()
        return await work
