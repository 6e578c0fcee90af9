# SPDX-License-Identifier: Apache-2.0
"""How a running campaign is shown: plain lines, above a display on a terminal; NDJSON for programs."""

from __future__ import annotations

import json
import os
import sys
from types import TracebackType

from linewatt.cli.output import HANG, columns_of_messages, say, wrapped
from linewatt.engine import describe_case, events, outcome_of_trial
from linewatt.foreign import one_line
from linewatt.units import format_rate, format_seconds

SAY_EVERY_S = 600.0


def tell(text: str) -> None:
    """An event in a line, whatever it quotes: nothing of it can pass for another line.

    Where lines have an end, what goes on is indented.
    """
    width = columns_of_messages()
    line = one_line(text)
    say(line if width is None else "\n".join(wrapped(line, width)))


class PlainProgress:
    """A line an event on stderr; of what goes on without an end, one every ten minutes."""

    def __init__(self, *, passing: bool = False) -> None:
        """``passing``: its hosts go with this command, so that nothing can be done about them later."""
        self._next_said_s = SAY_EVERY_S
        self._passing = passing
        self._first_failed: dict[str, int] = {}
        """by why it failed, the number of the first trial that did"""

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Started():
                sure = "at most" if event.at_most else "about"
                tell(
                    f"{event.id}: {event.trials - event.trials_stored} of {event.trials} trials to run, "
                    f"{sure} {format_seconds(event.duration_s)}"
                )
            case events.Phase():
                tell(event.text)
            case events.Warned():
                tell(f"warning: {event.text}")
            case events.LeftChanged():
                for problem in event.problems:
                    tell(f"warning: {problem}")
                then = (
                    "; these hosts are gone with this command"
                    if self._passing
                    else "; run `linewatt restore`"
                )
                tell(f"warning: not everything could be put back{then}")
            case events.TrialStored():
                tell(self._trial(event))
            case events.Soaking():
                self._say_seldom(event)
            case events.SoakEnded():
                tell(soak_ended(event))
            case events.Ended():
                tell(ended(event, passing=self._passing))
            case _:
                pass

    def _trial(self, event: events.TrialStored) -> str:
        """A stored trial in a line; of several that failed for one reason, only the first says it."""
        trial = event.trial
        head = f"trial {trial.number} of {event.trials}: {describe_case(trial.case)}: "
        if trial.status == "failed" and trial.reason is not None:
            first_number = self._first_failed.setdefault(trial.reason, trial.number)
            if first_number != trial.number:
                return f"{head}FAILED for the same reason as trial {first_number}"
        width = columns_of_messages()
        if width is None:
            return head + outcome_of_trial(trial)
        outcome = outcome_of_trial(trial, width - len(head))
        fits = len(head + outcome) <= width
        return head + (outcome if fits else outcome_of_trial(trial, width - HANG))

    def _say_seldom(self, event: events.Soaking) -> None:
        if event.elapsed_s >= self._next_said_s:
            self._next_said_s += SAY_EVERY_S
            tell(soaking(event))


def soaking(event: events.Soaking) -> str:
    """How a soak goes on, in a line."""
    now = "…" if event.throughput_bps is None else format_rate(event.throughput_bps)
    users = "" if event.users is None else f", {event.users} users"
    return (
        f"{now} now{users}, {format_seconds(event.elapsed_s)} run, {format_seconds(event.remaining_s)} left"
    )


def soak_ended(event: events.SoakEnded) -> str:
    """How a soak ended, and what to do next."""
    remainder = ""
    if event.remaining_s:
        remainder = f", {format_seconds(event.remaining_s)} not run (linewatt resume {event.id})"
    return f"{event.id}: {format_seconds(event.elapsed_s)} run{remainder}; results in {event.path}"


class JsonProgress(PlainProgress):
    """An event a line on stdout, for programs; every one says its kind and schema."""

    def __call__(self, event: events.Event) -> None:
        sys.stdout.write(json.dumps(events.as_document(event), allow_nan=False) + "\n")
        sys.stdout.flush()


def ended(event: events.Ended, *, passing: bool = False) -> str:
    """How a campaign ended, and what to do next; nothing where its hosts are ``passing``."""
    words = [f"{event.id}: {event.done} trials done"]
    if event.failed:
        words.append(f"{event.failed} failed")
    if event.pending:
        how = "the lab's hosts are gone with this command" if passing else f"linewatt resume {event.id}"
        words.append(f"{event.pending} not run ({how})")
    return ", ".join(words) + f"; results in {event.path}"


def choose_progress(as_json: bool, *, passing: bool = False) -> PlainProgress:
    """NDJSON if asked for; a live display on a terminal that can have one; plain lines anywhere else."""
    if as_json:
        return JsonProgress()
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return PlainProgress(passing=passing)
    from linewatt.cli.live import LiveProgress

    return LiveProgress(passing=passing)
