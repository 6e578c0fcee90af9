# SPDX-License-Identifier: Apache-2.0
"""Where the level of a series changes for good, when single values may be far off. Pure.

Segments have the least sum of bounded squares and penalties: P. Fearnhead, G. Rigaill, "Changepoint Detection
in the Presence of Outliers", J. American Statistical Association 114, 2019, 169–183. A value further from its
segment's level than the bound costs the bound, however far it is: it neither hides a step nor makes one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

FEWEST = 3
"""values near its level that a segment needs: two bad nights in a row are no level"""
PENALTY = 5.0
"""times the logarithm of the number of values: what a change must explain, in variances of a value"""
BOUND = 0.7
"""of the penalty, what a far value costs: three that agree are then a level of their own, at the end and
between others"""
LEAST_BOUND = 9.0
"""the same for few values: three standard deviations"""
_STEPS = 13
_REACH = 3.0
_MOST_LEVELS = 2000
_FINE = 0.02
"""standard deviations between the levels that are tried where values are many: what that costs a thousand of
them is a tenth of a variance, and a change must explain thirty"""


def penalty(count: int) -> float:
    """What a change among ``count`` values must explain, in variances of a value."""
    return PENALTY * math.log(count)


def bound(count: int) -> float:
    """From how many variances on a value of ``count`` counts as far from its segment."""
    return max(LEAST_BOUND, BOUND * penalty(count))


def change_points(levels: Sequence[float], variances: Sequence[float]) -> list[int]:
    """Where segments begin after the first; ``variances`` (above 0) are those of each value."""
    import numpy as np

    count = len(levels)
    if count < 2 * FEWEST:
        return []
    price, most = penalty(count), bound(count)
    grid = _grid(levels, variances)
    # by how many near values the running segment has (0, 1, 2, FEWEST or more) and its level on the grid
    cost = np.full((FEWEST + 1, len(grid)), np.inf)
    cost[0] = 0.0
    begun = np.zeros(cost.shape, dtype=int)
    ends: list[tuple[float, int]] = []
    for at, (level, variance) in enumerate(zip(levels, variances, strict=True)):
        if ends:
            _begin(cost, begun, ends[-1][0] + price, at)
        squares = (level - grid) ** 2 / variance
        cost, begun = _with_value(cost, begun, squares, most)
        best = int(cost[-1].argmin())
        ends.append((float(cost[-1][best]), int(begun[-1][best])))
    points = []
    at = count
    while (at := ends[at - 1][1]) > 0:
        points.append(at)
    return points[::-1]


def _grid(levels: Sequence[float], variances: Sequence[float]) -> Any:
    """Levels that a segment may have: around every value, as it is certain."""
    import numpy as np

    reach = np.linspace(-_REACH, _REACH, _STEPS)
    sds = np.sqrt(np.asarray(variances))
    every = np.unique((np.asarray(levels)[:, None] + sds[:, None] * reach).ravel())
    if len(every) <= _MOST_LEVELS:
        return every
    _, apart = np.unique(np.round(every / (_FINE * sds.min())), return_index=True)
    return every[apart]


def _begin(cost: Any, begun: Any, price: float, at: int) -> None:
    """A segment may begin at ``at``, where those before it cost ``price``."""
    better = price < cost[0]
    cost[0][better] = price
    begun[0][better] = at


def _with_value(cost: Any, begun: Any, squares: Any, most: float) -> tuple[Any, Any]:
    """A value near a level is one more of its segment; a far one costs the bound and leaves it as it is."""
    import numpy as np

    near = squares < most
    grown, since = np.where(near, np.inf, cost + most), begun.copy()
    for state in range(FEWEST):
        grown[state + 1] = np.where(near, cost[state] + squares, grown[state + 1])
        since[state + 1] = np.where(near, begun[state], since[state + 1])
    stays = cost[FEWEST] + squares
    better = near & (stays < grown[FEWEST])
    np.copyto(grown[FEWEST], stays, where=better)
    np.copyto(since[FEWEST], begun[FEWEST], where=better)
    return grown, since
