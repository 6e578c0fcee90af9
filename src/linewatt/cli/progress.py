# SPDX-License-Identifier: Apache-2.0
"""How a running campaign is shown: plain lines, above a display on a terminal; NDJSON for programs."""

from __future__ import annotations

import json
import os
import sys
from types import TracebackType

from linewatt.cli.output import say
from linewatt.engine import events
from linewatt.findings import kind_of
from linewatt.foreign import one_line
from linewatt.model import Case, Trial
from linewatt.report.series import plural
from linewatt.units import format_percent, format_rate, format_seconds

SAY_EVERY_S = 600.0


def tell(text: str) -> None:
    """An event in a line, whatever it quotes: nothing of it can pass for another line."""
    say(one_line(text))


def describe(case: Case) -> str:
    """A case in a few words: what is not usual is said."""
    words = [case.test, case.way]
    if not case.of_users:
        words.append(f"{case.instances} inst.")
    elif case.user_count is not None:
        words.append(plural(case.user_count, "user"))
    if case.streams > 1:
        words.append(f"{case.streams} streams")
    if case.direction != "forward":
        words.append(case.direction)
    if case.family != "ipv4":
        words.append(case.family)
    if case.network != "bare":
        words.append(case.network)
    if case.load_level is not None:
        words.append(f"load {format_percent(case.load_level, 0)}")
    if case.rate_bps is not None:
        words.append(f"{format_rate(case.rate_bps)} each")
    if case.zerocopy:
        words.append("zerocopy")
    words += [f"{name}={level}" for name, level in case.factors]
    return ", ".join(words)


def tells(code: str) -> bool:
    """Whether a finding is worth a word at each trial: one that makes its figures doubtful, and only its."""
    kind = kind_of(code)
    return kind.rank != "note" and kind.scope in ("case", "trial")


def outcome(trial: Trial) -> str:
    """A stored trial in a line."""
    if trial.status == "failed" or trial.throughput_bps is None:
        return f"FAILED: {trial.reason}"
    words = [format_rate(trial.throughput_bps)]
    if trial.lost_ratio is not None:
        words.append(f"{100 * trial.lost_ratio:.2f} % lost")
    for end in trial.ends:
        why = end.reasons.get("cpu_cores")
        unknown = f"not measured ({why})" if why else "not measured"
        cores = unknown if end.cpu_cores is None else f"{100 * end.cpu_cores:.0f} %"
        words.append(f"{end.host if trial.flows else end.role} CPU {cores}")
    doubts = dict.fromkeys(one.code for one in trial.flags if tells(one.code))
    if doubts:
        words.append(f"doubtful: {', '.join(doubts)}")
    return ", ".join(words)


class PlainProgress:
    """A line an event on stderr; of what goes on without an end, one every ten minutes."""

    def __init__(self, *, passing: bool = False) -> None:
        """``passing``: its hosts go with this command, so that nothing can be done about them later."""
        self._next_said_s = SAY_EVERY_S
        self._passing = passing

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
                    ", and these hosts go with this command" if self._passing else "; run `linewatt restore`"
                )
                tell(f"warning: not everything could be put back{then}")
            case events.TrialStored():
                trial = event.trial
                tell(
                    f"[{trial.number}/{event.trials}] {describe(trial.case)}, "
                    f"trial {trial.repetition}: {outcome(trial)}"
                )
            case events.Soaking():
                self._say_seldom(event)
            case events.SoakEnded():
                tell(soak_ended(event))
            case events.Ended():
                tell(ended(event, passing=self._passing))
            case _:
                pass

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
    left = ""
    if event.remaining_s:
        left = f", {format_seconds(event.remaining_s)} not run (linewatt resume {event.id})"
    return f"{event.id}: {format_seconds(event.elapsed_s)} run{left}; results in {event.path}"


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
        how = "its hosts go with this command" if passing else f"linewatt resume {event.id}"
        words.append(f"{event.pending} not run ({how})")
    return ", ".join(words) + f"; results in {event.path}"


def chosen(as_json: bool, *, passing: bool = False) -> PlainProgress:
    """NDJSON if asked for; a live display on a terminal that can have one; plain lines anywhere else."""
    if as_json:
        return JsonProgress()
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return PlainProgress(passing=passing)
    from linewatt.cli.live import LiveProgress

    return LiveProgress(passing=passing)
