# SPDX-License-Identifier: Apache-2.0
"""What the users of a soak did, added up from what is stored with its chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from linewatt.errors import InvalidInput, ParseError
from linewatt.features.users.worker.percentiles import Summary, Times
from linewatt.foreign import contained
from linewatt.records import UsersTally

TITLES = {
    "login": "Login",
    "get.first_byte": "Get, first byte",
    "get.total": "Get, whole",
    "put.first_byte": "Put, first byte",
    "put.total": "Put, whole",
    "wait": "Late against the schedule",
}


@dataclass(slots=True)
class UsersDone:
    """All users over the soak.

    ``bytes_by_user`` has both ways together; ``times`` is empty where histograms could not be read, and
    ``reason`` says why. ``first_lines``: kind of failure (``get file-short``) → its first line.
    """

    bytes_by_user: Counter[str] = field(default_factory=Counter)
    times: dict[str, Summary] = field(default_factory=dict)
    first_lines: dict[str, str] = field(default_factory=dict)
    reason: str | None = None

    def sustained(self, least_bps: float, duration_s: float) -> int:
        """Users that moved at least ``least_bps`` on average over ``duration_s``."""
        least_bytes = least_bps * duration_s / 8
        return sum(moved >= least_bytes for moved in self.bytes_by_user.values())


def users_done(tallies: Iterable[tuple[Path, UsersTally]], damaged: dict[Path, str]) -> UsersDone:
    """Add up what ``Tally.as_dict`` said from chunk to chunk; times that are none are put down as damaged."""
    done = UsersDone()
    times = {name: Times() for name in TITLES}
    for path, tally in tallies:
        try:
            with contained("what users counted"):
                for user, counts in tally.users.items():
                    done.bytes_by_user[user] += counts.received_bytes + counts.sent_bytes
                for action, failure, line in tally.said:
                    done.first_lines.setdefault(f"{action} {failure}", line)
                done.reason = done.reason or _add_times(times, tally.times)
        except ParseError as error:
            damaged[path] = str(error)
    if done.reason is None:
        done.times = {name: time.summary() for name, time in times.items() if time.count}
    return done


def _add_times(times: Mapping[str, Times], encoded: Mapping[str, str]) -> str | None:
    """Add histograms; why they could not be, where their library is not there."""
    try:
        for name, text in encoded.items():
            if name in times:
                times[name].add_encoded(text)
    except InvalidInput as error:
        return str(error)
    return None
