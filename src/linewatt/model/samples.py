# SPDX-License-Identifier: Apache-2.0
"""What sources deliver while a load runs, the window of its figures, and what makes them doubtful."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from linewatt.declare import SELDOM

Provenance = Literal["measured", "corrected", "datasheet", "estimate", "simulated"]
"""``corrected``: measured, and corrected by a calibration of its meter; what was read stands beside it"""
ChannelKind = Literal["gauge", "mean", "counter"]


@dataclass(frozen=True, slots=True)
class Channel:
    """A named quantity that a source delivers.

    ``kind``: ``gauge`` is an instantaneous reading, ``mean`` an average over the sample's span,
    ``counter`` a running total (differences mean something, values do not); a counter wraps at
    2**``bits`` or at ``wraps_at`` when one is given. ``method`` is how it is measured, in words. In the
    channel's unit: ``step`` is the smallest difference a reading can show, ``maximum`` the largest value it
    can show. ``tolerance_ratio`` is the accuracy of a reading (0.05: ± 5 % of it). ``None``: not known.
    """

    name: str
    unit: str
    kind: ChannelKind
    scope: str
    provenance: Provenance = "measured"
    bits: int | None = None
    wraps_at: float | None = None
    method: str = ""
    step: float | None = None
    tolerance_ratio: float | None = None
    maximum: float | None = None


class Sample(NamedTuple):
    """One reading. ``time_s`` is on the controller's time line (Unix seconds), at the end of ``span_s``."""

    time_s: float
    channel: str
    value: float | None
    span_s: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The steady part of a trial on the controller's time line, Unix seconds."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that makes a number doubtful: what was seen (evidence) and what to do (advice).

    ``code`` is a stable kebab-case word, for example ``cpu-accounting-disagrees``; ``where`` names the
    host, channel or instance it is about. ``effect_ratio`` is by what part of itself it changed a figure of
    the trial, with its sign; ``None``: not known.
    """

    code: str
    where: str
    evidence: str
    advice: str
    effect_ratio: float | None = field(default=None, metadata=SELDOM)

    @property
    def hosts(self) -> tuple[str, ...]:
        return hosts_in(self.where)


def hosts_in(where: str) -> tuple[str, ...]:
    """What a flag's ``where`` names before its colon: ``h1, h2: mpstat`` is about both hosts."""
    return tuple(name.strip() for name in where.partition(":")[0].split(","))
