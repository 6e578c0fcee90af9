# SPDX-License-Identifier: Apache-2.0
"""The controller's time line, and each host's offset to it."""

from __future__ import annotations

import time
from dataclasses import dataclass

_TRIES = 5


def _anchor_s() -> float:
    """Unix seconds when monotonic time was 0: of several tries the one with least time between the clocks."""
    tries = []
    for _ in range(_TRIES):
        before_s, wall_s, after_s = time.monotonic(), time.time(), time.monotonic()
        tries.append((after_s - before_s, wall_s - (before_s + after_s) / 2))
    return min(tries)[1]


_ANCHOR_S = _anchor_s()


def now_s() -> float:
    """Unix seconds that never jump: the wall clock at start plus monotonic time since."""
    return _ANCHOR_S + time.monotonic()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question to a host's clock: sent and answered on the controller's line, read on the host's."""

    sent_s: float
    host_s: float
    answered_s: float

    @property
    def round_trip_s(self) -> float:
        return self.answered_s - self.sent_s

    @property
    def offset_s(self) -> float:
        """Host minus controller, if both ways took equally long; off by half the round trip at most."""
        return self.host_s - (self.sent_s + self.answered_s) / 2


@dataclass(frozen=True, slots=True)
class Offset:
    """Host clock minus controller clock, with the largest error it can have."""

    offset_s: float
    uncertainty_s: float

    def to_controller(self, host_s: float) -> float:
        return host_s - self.offset_s


def best_offset(exchanges: list[Exchange]) -> Offset | None:
    """The offset from the quickest exchange (Cristian 1989): the shorter the trip, the less it can hide."""
    if not exchanges:
        return None
    quickest = min(exchanges, key=lambda exchange: exchange.round_trip_s)
    return Offset(quickest.offset_s, quickest.round_trip_s / 2)
