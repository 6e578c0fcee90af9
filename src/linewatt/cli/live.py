# SPDX-License-Identifier: Apache-2.0
"""What moves at the foot of a terminal while a campaign runs.

The controller may be a host that is measured: the display is drawn once a second at most, by the loop that
runs the campaign, without a thread; and whatever it needs is imported before the first load.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from linewatt.analysis.power import SCOPE_WORDS
from linewatt.cli.output import console
from linewatt.cli.progress import PlainProgress
from linewatt.engine import describe_case, events, is_worth_telling
from linewatt.findings import kind_of
from linewatt.foreign import one_line
from linewatt.model import Trial
from linewatt.report import provenance_mark
from linewatt.units import format_rate, format_seconds

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

DRAWN_EVERY_S = 1.0
NOW_S = 3.0
"""after which a throughput is not of now"""
MOST_FINDINGS = 3
MOST_HOSTS = 2
"""whose watts stand alone; of more, the sum of those of one scope and provenance"""
_BAR = 24


class Seen:
    """What the events so far say of how far a campaign is, what runs, and what was found."""

    def __init__(self) -> None:
        self.findings: dict[str, str] = {}
        """by what was found: the newest last"""
        self._started: events.Started | None = None
        self._stored = 0
        self._phase = ""
        self._running: dict[int, tuple[float, events.TrialStarted]] = {}
        self._now: tuple[float, events.Throughput | events.Soaking] | None = None
        self._left: tuple[float, float] | None = None
        """when it was said, and the seconds that were left"""

    def take(self, event: events.Event, at_s: float) -> None:
        match event:
            case events.Started():
                self._started, self._stored = event, event.trials_stored
                self._left = at_s, event.duration_s
            case events.Phase():
                self._phase = event.text
                self._running.clear()  # one that was cut off, too
                self._over()
            case events.TrialStarted():
                self._running[event.number] = at_s, event
                self._left = at_s, event.remaining_s
            case events.Throughput() | events.Soaking():
                self._now = at_s, event
                self._left = at_s, event.remaining_s
            case events.TrialStored():
                self._running.pop(event.trial.number, None)
                self._stored += 1
                self._over()
                self._find(event.trial)
            case events.Warned():
                self._add(event.text, event.text)
            case _:
                pass

    def _over(self) -> None:
        """What was told of a load is not of now once it has ended."""
        if not self._running and self._now is not None and isinstance(self._now[1], events.Throughput):
            self._now = None

    def _find(self, trial: Trial) -> None:
        """Why it failed, or what makes its figures doubtful: of the same kind the newest."""
        if trial.status == "failed" and trial.reason is not None:
            self._add(trial.reason, f"trial {trial.number}, {describe_case(trial.case)}: {trial.reason}")
        for flag in trial.flags:
            if is_worth_telling(flag):
                title = kind_of(flag.code).title
                where = f"trial {trial.number}, {describe_case(trial.case)}"
                self._add(title, f"{title} ({where}): {flag.evidence}")

    def _add(self, what: str, sentence: str) -> None:
        self.findings.pop(what, None)
        self.findings[what] = sentence
        for older in list(self.findings)[:-MOST_FINDINGS]:
            del self.findings[older]

    def done(self, at_s: float) -> float | None:
        """The part of it that is done, 0..1: trials, or seconds of a soak; None: not known yet."""
        if self._now is not None and isinstance(self._now[1], events.Soaking):
            since_s = at_s - self._now[0]
            elapsed_s, left_s = self._now[1].elapsed_s + since_s, self._now[1].remaining_s - since_s
            return elapsed_s / (elapsed_s + max(0.0, left_s)) if elapsed_s > 0 else 0.0
        if self._started is None or not self._started.trials:
            return None
        parts = (
            min(1.0, (at_s - began_s) / max(1e-9, event.load_s)) for began_s, event in self._running.values()
        )
        return min(1.0, (self._stored + sum(parts)) / self._started.trials)

    def progress(self, at_s: float) -> str:
        """``6 of 15 trials, 1 min 20 s left``."""
        words = []
        if self._now is not None and isinstance(self._now[1], events.Soaking):
            words.append(f"{format_seconds(self._now[1].elapsed_s)} run")
        elif self._started is not None and self._started.trials:
            words.append(f"{self._stored} of {self._started.trials} trials")
        remaining_s = self.left_s(at_s)
        if remaining_s is not None:
            bound = "at most " if self._started is not None and self._started.at_most else ""
            words.append(
                f"{bound}{f'{remaining_s:.0f} s' if remaining_s < 60 else format_seconds(remaining_s)} left"
            )
        return ", ".join(words)

    def left_s(self, at_s: float) -> float | None:
        """Seconds until its end, as it was last said; None: unknown, or longer ago than was left."""
        if self._left is None:
            return None
        said_s, left_s = self._left
        left_s -= at_s - said_s
        return left_s if left_s >= 0 else None

    def what(self) -> str:
        """Which case runs, or what else happens."""
        if not self._running:
            return self._phase
        first, *others = (event for _, event in self._running.values())
        more = f" and {len(others)} more" if others else ""
        return f"trial {first.number} of {first.trials}: {describe_case(first.case)}{more}"

    def now(self, at_s: float) -> str:
        """Throughput and watts as they are now, as far as anything tells them."""
        if self._now is None or at_s - self._now[0] > NOW_S:
            return ""
        event = self._now[1]
        # with headers, and with what the host then loses
        where = " at the interface" if isinstance(event, events.Throughput) else ""
        rate = [] if event.throughput_bps is None else [f"{format_rate(event.throughput_bps)} now{where}"]
        users = (
            [f"{event.users} users"] if isinstance(event, events.Soaking) and event.users is not None else []
        )
        return ", ".join([*rate, *users, *_watts(event.watts)])


def _watts(host_watts: Sequence[events.Watts]) -> Iterable[str]:
    """``h1 229 W sim``; of many hosts the sum of those whose watts are alike, and how many they are.

    Of several scopes each says its own: AC in holds the losses that DC out does not.
    """
    alike: dict[object, list[events.Watts]] = {}
    for watts in host_watts:
        what = (watts.scope, watts.provenance) if len(host_watts) > MOST_HOSTS else watts.host
        alike.setdefault(what, []).append(watts)
    scopes = {watts.scope for watts in host_watts}
    for group in alike.values():
        first = group[0]
        whose = first.host if len(group) == 1 else f"{len(group)} hosts"
        words = [f"{whose} {sum(watts.power_w for watts in group):,.0f} W", provenance_mark(first.provenance)]
        words += [SCOPE_WORDS.get(first.scope, first.scope)] if len(scopes) > 1 else []
        yield " ".join(filter(None, words))


class LiveProgress(PlainProgress):
    """The same lines above a display: bar, case, throughput and watts now, time left, what was found."""

    def __init__(self, *, passing: bool = False) -> None:
        super().__init__(passing=passing)
        self.seen = Seen()
        self._live: Live | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> LiveProgress:
        import rich.progress_bar
        import rich.table
        import rich.text  # noqa: F401  all that drawing needs, before any load
        from rich.live import Live

        screen = console(stderr=True)
        self._live = Live("", console=screen, auto_refresh=False, transient=True)
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def __call__(self, event: events.Event) -> None:
        self.seen.take(event, time.monotonic())
        if not isinstance(event, events.Soaking):
            super().__call__(event)
        if self._timer is None:
            self._draw()

    def _draw(self) -> None:
        """Draw it now, and again each second while the loop runs."""
        if self._live is not None:
            self._live.update(self.frame(time.monotonic()), refresh=True)
        with suppress(RuntimeError):  # no loop: nothing runs
            self._timer = asyncio.get_running_loop().call_later(DRAWN_EVERY_S, self._draw)

    def frame(self, at_s: float) -> RenderableType:
        """The display at a time."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        seen = self.seen
        done = seen.done(at_s)
        lines = [line for line in (seen.what(), seen.now(at_s)) if line]
        parts: list[RenderableType] = [
            Text(one_line(line), no_wrap=True, overflow="ellipsis") for line in lines
        ]
        if seen.findings:
            findings = Table.grid(padding=(0, 1))
            for finding in seen.findings.values():
                findings.add_row(Text("!", "yellow"), Text(one_line(finding), "yellow", overflow="fold"))
            parts.append(findings)
        if done is not None:
            row = Table.grid(padding=(0, 1))
            row.add_row(
                ProgressBar(total=1.0, completed=done, width=_BAR),
                Text(seen.progress(at_s), no_wrap=True, overflow="ellipsis"),
            )
            parts.insert(0, row)
        return Group(*parts)
