# SPDX-License-Identifier: Apache-2.0
"""What is known of how a meter follows the power, and whether a window is long enough for it. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from linewatt.findings import FEWEST_SAMPLES, LATE_S, LEAST_SEEN_RATIO

POLL_LIMITED = 1.6
"""A refresh that is not longer than this many readings cannot be told from one at every reading."""
TOO_SHORT_WORDS = "is too short for this meter"
SETTLED_AVERAGES = 1.5
"""An exponential response has settled to 95 % after so many times the moving average that is as old."""
T_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""Student's t for 95 % on both sides, by degrees of freedom from 1"""
T_MANY = 2.1


@dataclass(frozen=True, slots=True)
class Dynamics:
    """What is known of a meter. ``None``: not known.

    ``averaging_s`` is the moving average that is as old as what the meter shows; of an exponential response
    twice its time constant. ``settle_s`` bounds how long after a step readings may still show what was before
    it: it holds for every model that explains the steps seen.
    """

    refresh_s: float | None = None
    averaging_s: float | None = None
    delay_s: float | None = None
    settle_s: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether it shows nothing of a load for so long, beyond its refresh, that readers should know."""
        return (self.delay_s or 0.0) >= max(LATE_S, self.refresh_s or 0.0)

    @property
    def age_s(self) -> float:
        """How old, on average, the power is that a reading shows."""
        return (self.delay_s or 0.0) + (self.averaging_s or 0.0) / 2

    @property
    def shows_before_s(self) -> float:
        """How long after a step a meter that is as stated shows what was before; ``settle_s`` at worst."""
        likely_s = (self.delay_s or 0.0) + SETTLED_AVERAGES * (self.averaging_s or 0.0)
        return min(self.settle_s or 0.0, likely_s)

    @property
    def age_error_s(self) -> float:
        """Bound on the error of ``age_s``, where it is not 0."""
        return max(0.0, (self.settle_s or 0.0) - self.age_s) / 2 if self.age_s else 0.0

    def __or__(self, stated: Dynamics) -> Dynamics:
        """Combined with the declared dynamics; of two times, the slower."""
        return Dynamics(
            refresh_s=_slower(self.refresh_s, stated.refresh_s),
            averaging_s=_slower(self.averaging_s, stated.averaging_s),
            delay_s=self.delay_s if self.delay_s is not None else stated.delay_s,
            settle_s=_slower(self.settle_s, stated.settle_s),
        )


def declared_dynamics(refresh_s: float | None, averaging_s: float | None) -> Dynamics:
    """What a campaign file says of a meter."""
    if averaging_s is None:
        return Dynamics(refresh_s=refresh_s)
    return Dynamics(refresh_s, averaging_s, None, averaging_s + (refresh_s or 0.0))


def _slower(first_s: float | None, second_s: float | None) -> float | None:
    stated = [value for value in (first_s, second_s) if value is not None]
    return max(stated, default=None)


def why_too_short(
    window_s: float, cut_s: float, dynamics: Dynamics, read_every_s: float, fewest: int = FEWEST_SAMPLES
) -> str | None:
    """Why a window gives no number with a meter that misses ``cut_s`` of it, and the length that would do."""
    slow = dynamics.refresh_s is not None and dynamics.refresh_s > POLL_LIMITED * read_every_s
    refresh_s = (dynamics.refresh_s or 0.0) if slow else 0.0
    needed_s = max(cut_s / (1 - LEAST_SEEN_RATIO), cut_s + fewest * refresh_s)
    if window_s >= needed_s - 1e-6:
        return None
    parts = [f"refreshed every {refresh_s:.3g} s"] if slow else []
    if dynamics.averaging_s:
        parts.append(f"averages over {dynamics.averaging_s:.3g} s")
    if dynamics.is_late:
        parts.append(f"it is {dynamics.delay_s:.3g} s late")
    elif cut_s and not dynamics.averaging_s:
        parts.append(f"shows a load only {cut_s:.3g} s into the window")
    return (
        f"the window of {window_s:g} s {TOO_SHORT_WORDS} ({', '.join(parts)}); "
        f"window.seconds: {math.ceil(needed_s)} would do"
    )


def student_t(degrees: int) -> float:
    """Student's t for 95 % on both sides."""
    return T_95[degrees - 1] if degrees <= len(T_95) else T_MANY
