# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of how slow a host may be: ``limits: {silence: 5 s, answer: 5 s}``.

Its keys are the fields of :class:`linewatt.hosts.limits.Limits` without their unit.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from linewatt.campaign.entries.quantities import Duration
from linewatt.document import Part
from linewatt.hosts import HEARTBEAT_S, LEAST_BEATS, LEAST_LIMITS_S, MOST_LIMITS_S, SILENCE_S, Limits


def _within(name: str) -> AfterValidator:
    least_s, most_s = LEAST_LIMITS_S[name], MOST_LIMITS_S[name]

    def check(seconds: float) -> float:
        if not least_s <= seconds <= most_s:
            raise ValueError(f"must be from {least_s:g} s to {most_s:g} s")
        return seconds

    return AfterValidator(check)


class LimitsEntry(Part):
    """How slow a host may be: what is stated is used; what is left out is learned upward from its answers."""

    heartbeat: Annotated[Duration, _within("heartbeat")] | None = Field(
        default=None, description="Time between heartbeats to it; left out: 0.3 s.", examples=["300 ms"]
    )
    silence: Annotated[Duration, _within("silence")] | None = Field(
        default=None,
        description="How long it hears no heartbeat before it ends all that runs on it; left out: 1.5 s, and "
        "up to 10 s where it answers slowly. At least three heartbeats.",
        examples=["5 s"],
    )
    answer: Annotated[Duration, _within("answer")] | None = Field(
        default=None,
        description="How long it may take to answer a heartbeat before it counts as lost; left out: 3 s, and "
        "up to 20 s where it answers slowly.",
        examples=["5 s"],
    )
    command: Annotated[Duration, _within("command")] | None = Field(
        default=None,
        description="What every short command may take at least; left out: each has a limit of its own, 5 s "
        "to 60 s as a rule, and up to 120 s where it answers slowly.",
        examples=["30 s"],
    )
    login: Annotated[Duration, _within("login")] | None = Field(
        default=None,
        description="How long a login may take, and the first command after it; left out: 10 s until its "
        "port answers, then 30 s, or ten times what that took.",
        examples=["30 s"],
    )

    @model_validator(mode="after")
    def _some_heartbeats(self) -> LimitsEntry:
        heartbeat_s = HEARTBEAT_S if self.heartbeat is None else self.heartbeat
        silence_s = SILENCE_S if self.silence is None else self.silence
        if silence_s < LEAST_BEATS * heartbeat_s * (1 - 1e-9):
            raise ValueError(
                f"a silence of {silence_s:g} s is less than {LEAST_BEATS} heartbeats of {heartbeat_s:g} s, "
                f"and one that is late would end all: write silence: {LEAST_BEATS * heartbeat_s:g} s or more"
            )
        return self


def limits_of(entry: LimitsEntry | None) -> Limits:
    """As a host's specification has them."""
    if entry is None:
        return Limits()
    return Limits(entry.heartbeat, entry.silence, entry.answer, entry.command, entry.login)
