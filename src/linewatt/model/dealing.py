# SPDX-License-Identifier: Apache-2.0
"""Over which data port each instance goes: dealt by weight. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache


@lru_cache(1 << 10)
def dealt(weights: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The port of each of ``count`` instances, from 0; of equal weights in turn.

    However many there are, every port has less than one more or fewer than its exact share. The k-th instance
    of a port may be dealt once its share reaches above k − 1, and must be before it passes k; of those
    that may, the one that is due first is (Pfair: S. K. Baruah et al., Proportionate Progress, 1996).
    """
    total = sum(weights)
    counts = [0] * len(weights)
    ports = []
    for number in range(1, count + 1):
        due = min(
            (-(-(counts[port] + 1) * total // weight), counts[port], port)
            for port, weight in enumerate(weights)
            if counts[port] * total < number * weight
        )
        counts[due[2]] += 1
        ports.append(due[2])
    return tuple(ports)


def lowest_terms(weights: Sequence[int]) -> tuple[int, ...]:
    """Weights of the same shares in the smallest whole numbers; none where all are alike."""
    divisor = math.gcd(*weights)
    return () if len(set(weights)) < 2 else tuple(weight // divisor for weight in weights)
