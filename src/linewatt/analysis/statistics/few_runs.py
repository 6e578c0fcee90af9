# SPDX-License-Identifier: Apache-2.0
"""Runs that are too few to tell two modes from spread, and that noise within a run does not explain. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from linewatt.analysis.statistics.modes import A_SIDE, FEWEST_RUNS, PART_APART, SDS_APART
from linewatt.findings import FAR_ERRORS, FAR_PART

FEWEST_TO_SPLIT = 2 * A_SIDE


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Runs between which modes cannot be told apart. ``values`` are sorted.

    ``error`` is how well a run by itself is known (the RMS of their standard errors); ``None``: not known.
    """

    values: tuple[float, ...]
    by: Literal["far apart", "two levels", "in turn"]
    error: float | None

    @property
    def range(self) -> float:
        """From the lowest run to the highest."""
        return self.values[-1] - self.values[0]

    @property
    def range_ratio(self) -> float:
        """The range, in parts of the mean."""
        return self.range * len(self.values) / math.fsum(self.values)


def unresolved(values: Sequence[float], errors: Sequence[float | None]) -> Unresolved | None:
    """What makes the mean of fewer than 10 runs one that may be of two modes; ``None``: nothing does.

    ``values`` are in the order in which they ran, above 0, ``errors`` their standard errors. Runs count where
    they are far apart, or on two levels, and their SD is many times the error of each; or where they change
    from one level to the other in turn, whatever is known of their errors.
    """
    n = len(values)
    if not 2 <= n < FEWEST_RUNS or min(values) <= 0:
        return None
    ordered, mean = tuple(sorted(values)), math.fsum(values) / n
    standard_errors = [error for error in errors if error is not None]
    error = (
        math.sqrt(math.fsum(standard_error**2 for standard_error in standard_errors) / n)
        if len(standard_errors) == n
        else None
    )
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    is_beyond_errors = error is not None and sd > FAR_ERRORS * error
    lowest_above = _upper_level(ordered, mean)
    if lowest_above is not None and _takes_turns([value >= lowest_above for value in values]):
        return Unresolved(ordered, "in turn", error)
    if not is_beyond_errors:
        return None
    if lowest_above is not None:
        return Unresolved(ordered, "two levels", error)
    return Unresolved(ordered, "far apart", error) if ordered[-1] - ordered[0] > FAR_PART * mean else None


def _upper_level(ordered: Sequence[float], mean: float) -> float | None:
    """The lowest run of the upper of two levels; ``None`` where no gap parts the runs."""
    n = len(ordered)
    if n < FEWEST_TO_SPLIT:
        return None
    at = max(range(A_SIDE, n - A_SIDE + 1), key=lambda at: ordered[at] - ordered[at - 1])
    levels = ordered[:at], ordered[at:]
    squares = math.fsum((value - math.fsum(level) / len(level)) ** 2 for level in levels for value in level)
    gap = ordered[at] - ordered[at - 1]
    is_clear = gap > SDS_APART * math.sqrt(squares / (n - 2)) and gap > PART_APART * mean
    return ordered[at] if is_clear else None


def _takes_turns(upper: Sequence[bool]) -> bool:
    return all(before != after for before, after in pairwise(upper))
