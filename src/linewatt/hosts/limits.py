# SPDX-License-Identifier: Apache-2.0
"""How long a host may be silent and take to answer: as its campaign says, else learned from its answers.

A limit that the campaign states is used as it is stated and never raised: how long what runs on a host may
outlive its controller is its owner's word. One that is left out begins with its default and follows the
slowest answer to a heartbeat upward, to a bound. Only answers that came are learned from: silence that ended
a connection may have been a cable. Pure.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields

from linewatt.declare import SELDOM

HEARTBEAT_S = 0.3
SILENCE_S = 1.5
ANSWER_S = 3.0
REACH_S = 10.0
LOGIN_S = 30.0
"""of a host whose port answers: about seven exchanges, which a load can make slow"""
NO_COMMAND_S = 0.0
"""each command has a limit of its own"""
LEAST_BEATS = 3
"""heartbeats that fit into a silence: one may be late, and one lost"""

SLOW_S = 0.5
"""of an answer, from which on a host is slow"""
MOST_SILENCE_S = 10.0
MOST_ANSWER_S = 20.0
MOST_COMMAND_S = 120.0
"""up to which limits are learned"""
SLOW_START_S = 2.0
"""from which on a login shell is slow to begin a command, as with a ~/.bashrc that asks the network"""
MARGIN = 2.0
"""between the slowest answer that came and the limit of the next: it may stand still once more meanwhile"""
COMMAND_ANSWERS = 10.0
"""a heartbeat wakes one process that is there; a command is some processes more"""
LOGIN_ANSWERS = 10.0
"""a login is about seven exchanges after that of TCP (RFC 4253, RFC 4252)"""
STEP_S = 0.5
ANSWER_STEP_S = 0.25
"""limits change seldom, and are read by people"""

LEAST_LIMITS_S = {"heartbeat": 0.05, "silence": 0.5, "answer": 0.5, "command": 1.0, "login": 1.0}
MOST_LIMITS_S = {"heartbeat": 20.0, "silence": 60.0, "answer": 60.0, "command": 3600.0, "login": 600.0}
"""what may be stated"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a campaign says of a host's limits; ``None``: left out."""

    heartbeat_s: float | None = field(default=None, metadata=SELDOM)
    silence_s: float | None = field(default=None, metadata=SELDOM)
    answer_s: float | None = field(default=None, metadata=SELDOM)
    command_s: float | None = field(default=None, metadata=SELDOM)
    login_s: float | None = field(default=None, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class LimitsUsed:
    """The limits in force; ``late_s``: how much later than others what such a host says may come.

    ``start_s``: how long it takes to begin a command, where that is long.
    """

    heartbeat_s: float = HEARTBEAT_S
    silence_s: float = SILENCE_S
    answer_s: float = ANSWER_S
    command_s: float = NO_COMMAND_S
    login_s: float = REACH_S
    late_s: float = 0.0
    start_s: float = 0.0

    def of_command(self, own_s: float) -> float:
        """The limit of a command that has one of its own."""
        return max(own_s, self.command_s)


NOT_RAISED = (
    "raise_session: its SSH session is of the ordinary class (no chrt there, or no right to SCHED_RR), and "
    "competes with the load"
)
LIMIT_NAMES = tuple(field_info.name for field_info in fields(Limits))


class Pace:
    """How slowly a host answers, as far as it was seen, and the limits that follow from it."""

    def __init__(self, stated: Limits, slowest_s: float = 0.0, *, raises: bool = False) -> None:
        """``slowest_s``: of a connection before this one; ``raises``: the session's class is to be raised."""
        self.raises = raises
        self.is_raised: bool | None = None
        """as it was read back; ``None``: not asked for, or not known yet"""
        self.stated = stated
        self.slowest_s = slowest_s
        self._login_s = REACH_S
        self._start_s = 0.0
        self.used = used(stated, slowest_s, self._login_s)

    @property
    def reach_s(self) -> float:
        """How long its port may take to answer, however often it was reached before."""
        return REACH_S if self.stated.login_s is None else self.stated.login_s

    def answered(self, seconds: float) -> None:
        """A heartbeat was answered after so long, what the controller itself was late not among it."""
        if seconds > self.slowest_s:
            self.slowest_s = seconds
            self.used = used(self.stated, seconds, self._login_s, self._start_s)

    def started(self, seconds: float) -> None:
        """The first command after a login began so long after it had been asked for."""
        self._start_s = seconds if seconds >= SLOW_START_S else 0.0
        self.used = used(self.stated, self.slowest_s, self._login_s, self._start_s)

    def reached(self, seconds: float) -> None:
        """The connection to its port took so long, before the login began."""
        self._login_s = max(LOGIN_S, LOGIN_ANSWERS * seconds)
        self.used = used(self.stated, self.slowest_s, self._login_s, self._start_s)

    def document(self) -> dict[str, float | list[str] | None]:
        """The limits in force for a result: in seconds, and which of them are stated, which were learned."""
        return {
            "slowest_answer_s": round(self.slowest_s, 3),
            **{name: getattr(self.used, name) for name in LIMIT_NAMES if name != "command_s"},
            "command_s": self.used.command_s or None,
            "stated": [name for name in LIMIT_NAMES if getattr(self.stated, name) is not None],
            "learned": self.learned,
            "is_raised": self.is_raised,
        }

    @property
    def is_ordinary(self) -> bool:
        """Whether its limits are those of any host: none is stated, none was learned."""
        return self.stated == Limits() and not self.learned and not self.raises

    def said(self) -> str:
        """Limits that were raised, and short ones kept as stated, for a message."""
        short = [name for name in self._stated_names if getattr(self.used, name) < MARGIN * self.slowest_s]
        parts = [("its limits are now ", self.learned), ("kept as stated: ", short)]
        description = "; ".join(
            before + ", ".join(f"{name.removesuffix('_s')} {getattr(self.used, name):g} s" for name in names)
            for before, names in parts
            if names
        )
        slow = f"an answer to a heartbeat took {self.slowest_s:.1f} s; {description}" if description else ""
        return "; ".join(filter(None, (slow, NOT_RAISED if self.is_raised is False else "")))

    @property
    def _stated_names(self) -> list[str]:
        return [name for name in ("silence_s", "answer_s") if getattr(self.stated, name) is not None]

    @property
    def learned(self) -> list[str]:
        """The limits that were raised; that of logging in is over by then."""
        names = [name for name in LIMIT_NAMES if name != "login_s" and getattr(self.stated, name) is None]
        return [name for name in names if getattr(self.used, name) != getattr(LimitsUsed(), name)]


def used(stated: Limits, slowest_s: float, login_s: float, start_s: float = 0.0) -> LimitsUsed:
    """The limits of a host that took ``slowest_s`` for an answer and needs ``login_s`` to log in.

    ``start_s``: what it needs to begin a command.
    """
    slow_s = stepped(slowest_s, ANSWER_STEP_S) if slowest_s >= SLOW_S else 0.0
    learned = {
        "silence_s": _between(SILENCE_S, MARGIN * slow_s, MOST_SILENCE_S),
        "answer_s": _between(ANSWER_S, MARGIN * slow_s, MOST_ANSWER_S),
        "command_s": _between(NO_COMMAND_S, COMMAND_ANSWERS * slow_s, MOST_COMMAND_S),
        "login_s": login_s,
    }
    stated_limits = {name: value for name, value in asdict(stated).items() if value is not None}
    chosen = {**learned, **stated_limits}
    late_s = max(min(slow_s, chosen["answer_s"]), chosen["answer_s"] - ANSWER_S)
    return LimitsUsed(**chosen, late_s=late_s + MARGIN * start_s, start_s=start_s)


def _between(least_s: float, wanted_s: float, most_s: float) -> float:
    return min(max(least_s, wanted_s), most_s)


def stepped(seconds: float, step_s: float = STEP_S) -> float:
    """Up to a round number."""
    return math.ceil(round(seconds / step_s, 6)) * step_s


def slow_to_answer(name: str, seconds: float) -> str:
    """What to do about a host that was seen to take so long for a heartbeat, or to stand still."""
    longer_s = min(stepped(MARGIN * seconds), MOST_LIMITS_S["silence"])
    written = f"limits: {{silence: {longer_s:g} s, answer: {longer_s:g} s}}"
    return f"if {name}, or the way to it, stands still under load, say so there: {written}"


def slow_command(name: str, limit_s: float) -> str:
    """What to do where a command of a host may take longer."""
    longer_s = min(stepped(MARGIN * limit_s), MOST_LIMITS_S["command"])
    return f"if {name} is that slow, say so there: limits: {{command: {longer_s:g} s}}"


def slow_start(seconds: float) -> str:
    """What to do where each command begins late, though the host itself answers."""
    return (
        f"its login takes {seconds:.1f} s before each command; look there for what ~/.bashrc does, or begin "
        "it with: [[ $- == *i* ]] || return"
    )


def slow_login(limit_s: float) -> str:
    """What to do where a login may take longer."""
    longer_s = min(stepped(MARGIN * limit_s), MOST_LIMITS_S["login"])
    return f"if it is that slow, say so: limits: {{login: {longer_s:g} s}}"
