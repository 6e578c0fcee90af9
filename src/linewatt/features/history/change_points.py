# SPDX-License-Identifier: Apache-2.0
"""Change points: where the level of a series changes for good, robust to single outliers. Pure.

The segments minimise the sum of bounded squares and penalties: P. Fearnhead, G. Rigaill, "Changepoint
Detection in the Presence of Outliers", J. American Statistical Association 114, 2019, 169–183. A value
further from its segment's level than the bound costs the bound, however far it is: an outlier neither hides
nor makes a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

FEWEST = 3
"""values near its level that a segment needs: two outliers in a row are not a level"""
PENALTY = 5.0
"""times the logarithm of the number of values: what a change must explain, in variances of a value"""
BOUND = 0.7
"""cost of an outlier as a share of the penalty: three outliers that agree become a level, also at the end"""
LEAST_BOUND = 9.0
"""lower limit of an outlier's cost, for few values: three standard deviations, squared"""
_STEPS = 13
_REACH = 3.0
_MOST_LEVELS = 2000
_FINE = 0.02
"""standard deviations between candidate levels of a long series: over a thousand values the rounding costs a
tenth of a variance, while a change must explain thirty"""


def penalty(count: int) -> float:
    """Squares that a change among ``count`` values must explain, in variances of a value."""
    return PENALTY * math.log(count)


def bound(count: int) -> float:
    """Squared distance, in variances, from which one of ``count`` values is an outlier of its segment."""
    return max(LEAST_BOUND, BOUND * penalty(count))


def change_points(levels: Sequence[float], variances: Sequence[float]) -> list[int]:
    """Start index of each segment after the first; ``variances`` (above 0) has one entry per value."""
    import numpy as np

    count = len(levels)
    if count < 2 * FEWEST:
        return []
    price, cost_limit = penalty(count), bound(count)
    grid = _level_grid(levels, variances)
    # rows: near values in the current segment (0, 1, 2, FEWEST or more); columns: its level on the grid
    cost = np.full((FEWEST + 1, len(grid)), np.inf)
    cost[0] = 0.0
    begun = np.zeros(cost.shape, dtype=int)
    ends: list[tuple[float, int]] = []
    for at, (level, variance) in enumerate(zip(levels, variances, strict=True)):
        if ends:
            _start_segment(cost, begun, ends[-1][0] + price, at)
        squares = (level - grid) ** 2 / variance
        cost, begun = _add_value(cost, begun, squares, cost_limit)
        best = int(cost[-1].argmin())
        ends.append((float(cost[-1][best]), int(begun[-1][best])))
    points = []
    at = count
    while (at := ends[at - 1][1]) > 0:
        points.append(at)
    return points[::-1]


def _level_grid(levels: Sequence[float], variances: Sequence[float]) -> Any:
    """Candidate levels of a segment: around each value, within its standard deviation."""
    import numpy as np

    reach = np.linspace(-_REACH, _REACH, _STEPS)
    sds = np.sqrt(np.asarray(variances))
    candidates = np.unique((np.asarray(levels)[:, None] + sds[:, None] * reach).ravel())
    if len(candidates) <= _MOST_LEVELS:
        return candidates
    _, distinct = np.unique(np.round(candidates / (_FINE * sds.min())), return_index=True)
    return candidates[distinct]


def _start_segment(cost: Any, begun: Any, price: float, at: int) -> None:
    """Allow a segment to start at ``at``; the segments before it and its penalty cost ``price``."""
    better = price < cost[0]
    cost[0][better] = price
    begun[0][better] = at


def _add_value(cost: Any, begun: Any, squares: Any, cost_limit: float) -> tuple[Any, Any]:
    """Add a value: near the level it joins the segment, otherwise it costs ``cost_limit``."""
    import numpy as np

    near = squares < cost_limit
    grown, since = np.where(near, np.inf, cost + cost_limit), begun.copy()
    for state in range(FEWEST):
        grown[state + 1] = np.where(near, cost[state] + squares, grown[state + 1])
        since[state + 1] = np.where(near, begun[state], since[state + 1])
    stays = cost[FEWEST] + squares
    better = near & (stays < grown[FEWEST])
    np.copyto(grown[FEWEST], stays, where=better)
    np.copyto(since[FEWEST], begun[FEWEST], where=better)
    return grown, since
