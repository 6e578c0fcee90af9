# SPDX-License-Identifier: Apache-2.0
"""The controller's time line, and each host's offset to it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

_TRIES = 5
DRIFT_RATIO = 1e-3
"""Clocks that are slewed run off by 500 ppm at most (adjtimex(2)): that much of the host's, and of ours."""
STAMP_STEP_S = 1e-5
"""a stamp is cut to a microsecond, on either side"""


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


def best_offset(exchanges: Iterable[Exchange]) -> Offset | None:
    """The offset from the quickest exchange (Cristian 1989): the shorter the trip, the less it can hide.

    Those from before the host's clock was set say nothing of it any more.
    """
    since = since_step(exchanges)
    if not since:
        return None
    quickest = min(since, key=lambda exchange: exchange.round_trip_s)
    return Offset(quickest.offset_s, quickest.round_trip_s / 2)


def since_step(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """The newest exchanges that one clock can have given, the newest first.

    Half a round trip bounds the error of each, so bounds that have nothing in common, by more than clocks
    drift meanwhile, are of a clock that was set in between.
    """
    since: list[Exchange] = []
    least_s, most_s = -math.inf, math.inf
    newest_s = -math.inf
    for current in sorted(exchanges, key=lambda exchange: exchange.answered_s, reverse=True):
        newest_s = max(newest_s, current.answered_s)
        reach_s = current.round_trip_s / 2 + DRIFT_RATIO * (newest_s - current.answered_s) + STAMP_STEP_S
        if current.offset_s - reach_s > most_s or current.offset_s + reach_s < least_s:
            break
        least_s, most_s = max(least_s, current.offset_s - reach_s), min(most_s, current.offset_s + reach_s)
        since.append(current)
    return since


def clock_set_s(before: Offset, after: Offset, seconds: float) -> float | None:
    """By how much a clock was set between two looks at it, ``seconds`` apart; None: it only drifted."""
    step_s = after.offset_s - before.offset_s
    bound_s = before.uncertainty_s + after.uncertainty_s + DRIFT_RATIO * seconds + STAMP_STEP_S
    return step_s if abs(step_s) > bound_s else None


def set_in_trial(host: str, step_s: float) -> str:
    """Why stamps of a trial cannot be put on one time line."""
    return (
        f"{host}: its clock was set by {step_s:+.3f} s in mid-trial, so that its stamps are of two clocks; "
        "find what sets it (chronyd, ntpd, a hypervisor), and have it slewed while measuring"
    )
