# SPDX-License-Identifier: Apache-2.0
"""Statistics over trials: the trial, never the second, is the unit (docs/campaign.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean over ``n`` trials with the sample standard deviation, both in the unit of the field it is in.

    ``sd`` is ``None`` at ``n`` = 1: one run says nothing about spread.
    """

    mean: float
    sd: float | None
    n: int


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """Mean and sample SD (divisor n − 1) of the values that are there; ``None`` when none is.

    Missing (``None``) and non-finite values are left out and not counted in ``n``.
    """
    present = [value for value in values if value is not None and math.isfinite(value)]
    if not present:
        return None
    n = len(present)
    # dividing first keeps the sum of large values finite
    mean = math.fsum(value / n for value in present)
    if n == 1:
        return Estimate(mean=present[0], sd=None, n=1)
    # hypot scales by itself, so squares neither overflow nor vanish
    sd = math.hypot(*(value - mean for value in present)) / math.sqrt(n - 1)
    return Estimate(mean=mean, sd=sd, n=n)
