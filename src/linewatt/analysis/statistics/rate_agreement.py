# SPDX-License-Identifier: Apache-2.0
"""Whether a stated rate can be the mean of a total over a time. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

AGREES = 0.01


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A stated rate that a total cannot have been made at, in bit/s; ``ratio`` is stated over mean."""

    stated_bps: float
    mean_bps: float
    ratio: float


def rate_disagrees(total_bits: float, duration_s: float, rate_bps: float) -> Disagreement | None:
    """Whether a total of bits in a time cannot be of a rate, which is then no mean; None where they agree.

    Raises ValueError where the time is not positive.
    """
    if duration_s <= 0:
        raise ValueError(f"a duration must be positive, got {duration_s}")
    mean_bps = total_bits / duration_s
    if mean_bps > 0 and abs(rate_bps / mean_bps - 1) <= AGREES:
        return None
    return Disagreement(rate_bps, mean_bps, rate_bps / mean_bps if mean_bps else math.inf)
