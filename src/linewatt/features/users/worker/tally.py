# SPDX-License-Identifier: Apache-2.0
"""What users did, counted: each user's bytes and transfers, times of all of them; added up over workers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from linewatt.errors import ParseError
from linewatt.features.users.worker.base import Action, ByteCount, Failure, Transfer
from linewatt.features.users.worker.percentiles import Times

TIMES = ("login", "get.first_byte", "get.total", "put.first_byte", "put.total", "wait")
"""``wait``: how much later than due a transfer of an open loop began"""
COUNTS = ("done_received_bytes", "done_sent_bytes", "logins", "gets", "puts", "checked", "unfinished")


@dataclass(slots=True)
class UserCounts:
    """One user's. Only that user writes it; ``bytes`` has what passed its data sockets, also in vain.

    ``done_received_bytes`` and ``done_sent_bytes`` are those of transfers that were done. ``failures`` has
    (action, name) → how often.
    """

    bytes: ByteCount = field(default_factory=ByteCount)
    done_received_bytes: int = 0
    done_sent_bytes: int = 0
    logins: int = 0
    gets: int = 0
    puts: int = 0
    checked: int = 0
    unfinished: int = 0
    failures: Counter[tuple[Action, Failure]] = field(default_factory=Counter)

    @property
    def transfers(self) -> int:
        return self.gets + self.puts

    def add(self, counts: UserCounts) -> None:
        self.bytes.received_bytes += counts.bytes.received_bytes
        self.bytes.sent_bytes += counts.bytes.sent_bytes
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(counts, name))
        self.failures.update(dict(counts.failures))  # a copy: users may be at work in other threads

    def clear(self) -> None:
        self.bytes.received_bytes = self.bytes.sent_bytes = 0
        for name in COUNTS:
            setattr(self, name, 0)
        self.failures.clear()


class Tally:
    """All users of one process, or of all of them. ``said`` keeps the first line of each kind of failure."""

    def __init__(self) -> None:
        self.users: dict[int, UserCounts] = {}
        self.times: dict[str, Times] = {name: Times() for name in TIMES}
        self.said: dict[tuple[Action, Failure], str] = {}
        self._lock = threading.Lock()

    def user(self, index: int) -> UserCounts:
        with self._lock:
            return self.users.setdefault(index, UserCounts())

    def logged_in(self, index: int, took_s: float) -> None:
        self.users[index].logins += 1
        self._time({"login": took_s})

    def done(
        self, index: int, action: Literal["get", "put"], transfer: Transfer, wait_s: float | None
    ) -> None:
        """A transfer; ``wait_s`` is how late it began in an open loop, and part of its total."""
        counts = self.users[index]
        if action == "get":
            counts.gets += 1
            counts.done_received_bytes += transfer.transferred_bytes
        else:
            counts.puts += 1
            counts.done_sent_bytes += transfer.transferred_bytes
        counts.checked += transfer.is_checked
        late_s = wait_s or 0.0
        times = {
            f"{action}.first_byte": transfer.first_byte_s + late_s,
            f"{action}.total": transfer.total_s + late_s,
        }
        self._time(times if wait_s is None else {**times, "wait": wait_s})

    def failed(self, index: int, action: Action, failure: Failure, line: str) -> None:
        """Count it; of each kind the first line is kept."""
        self.users[index].failures[action, failure] += 1
        with self._lock:
            self.said.setdefault((action, failure), line)

    def _time(self, values: Mapping[str, float]) -> None:
        with self._lock:
            for name, value_s in values.items():
                self.times[name].add(value_s)

    def total(self) -> UserCounts:
        """Of all users."""
        total = UserCounts()
        for counts in list(self.users.values()):
            total.add(counts)
        return total

    def merge(self, tally: Tally) -> None:
        for index, counts in tally.users.items():
            self.user(index).add(counts)
        with self._lock:
            for name, times in tally.times.items():
                self.times[name].merge(times)
            for kind, line in tally.said.items():
                self.said.setdefault(kind, line)

    def taken(self) -> Tally:
        """What was counted until now, as a tally of its own; this one counts on from zero.

        Users keep their counters, so these are lowered by what was taken and not replaced. To be called
        where users cannot count meanwhile, as between two switches of greenlets.
        """
        part = Tally()
        with self._lock:
            for index, counts in self.users.items():
                part.users[index] = UserCounts()
                part.users[index].add(counts)
                counts.clear()
            part.times, self.times = self.times, part.times
            part.said = dict(self.said)
        return part

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; :meth:`from_dict` makes the same again."""
        with self._lock:
            return {
                "users": {str(index): _plain(counts) for index, counts in self.users.items()},
                "times": {name: times.encoded() for name, times in self.times.items() if times.count},
                "said": [[action, failure, line] for (action, failure), line in self.said.items()],
            }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Tally:
        """Raises ParseError for what :meth:`as_dict` did not make."""
        tally = cls()
        try:
            tally.users = {int(index): _counts(counts) for index, counts in values["users"].items()}
            tally.times |= {name: Times.decoded(text) for name, text in values["times"].items()}
            tally.said = {(action, Failure(name)): line for action, name, line in values["said"]}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParseError(f"what users counted cannot be read: {error!r}") from error
        return tally


def _plain(counts: UserCounts) -> dict[str, Any]:
    return {
        "received_bytes": counts.bytes.received_bytes,
        "sent_bytes": counts.bytes.sent_bytes,
        **{name: getattr(counts, name) for name in COUNTS},
        "failures": [[action, failure, count] for (action, failure), count in counts.failures.items()],
    }


def _counts(values: Mapping[str, Any]) -> UserCounts:
    return UserCounts(
        ByteCount(int(values["received_bytes"]), int(values["sent_bytes"])),
        failures=Counter({(action, Failure(name)): int(times) for action, name, times in values["failures"]}),
        **{name: int(values[name]) for name in COUNTS},
    )


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What the users of one worker did from ``start_s`` to ``end_s`` (Unix seconds of its host's clock).

    Reports of a worker follow each other without a gap, so what they counted adds up. ``cpu_s`` is the CPU
    time of its process, which can fill one CPU: its users share a thread. ``running`` users had begun and
    not ended at ``end_s``.
    """

    worker: str
    start_s: float
    end_s: float
    cpu_s: float
    running: int
    tally: Tally

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; :meth:`from_dict` makes the same again."""
        plain = {
            report_field.name: getattr(self, report_field.name)
            for report_field in fields(self)
            if report_field.name != "tally"
        }
        return {**plain, "tally": self.tally.as_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> WorkerReport:
        """Raises ParseError for what :meth:`as_dict` did not make."""
        try:
            return cls(
                worker=str(values["worker"]),
                start_s=float(values["start_s"]),
                end_s=float(values["end_s"]),
                cpu_s=float(values["cpu_s"]),
                running=int(values["running"]),
                tally=Tally.from_dict(values["tally"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ParseError(f"a worker's report cannot be read: {error!r}") from error
