# SPDX-License-Identifier: Apache-2.0
"""What idle power drifted by while a campaign ran, of idle windows that stand between its trials. Pure.

Idle is taken to go in straight lines from window to window. That is only done where windows next to one
another are more alike than all of them (J. von Neumann, Annals of Mathematical Statistics 12 (1941) 367-395):
else what differs is the scatter of the windows, and would be put into the trials.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, variance

FEWEST_WINDOWS = 3
"""before, between and after: with fewer nothing is known of what is in between"""
LEAST_RATIO = 5 / 3
"""Variance of all windows by that of neighbours (half of the mean square of their differences). A line
between two windows has at most the variance of one, on average over it two thirds of that: from here on more
is taken out of the trials than is put into them."""


@dataclass(frozen=True, slots=True)
class IdleDrift:
    """Idle windows in the order of time: the middle of each, Unix seconds, and its mean, W."""

    times_s: tuple[float, ...]
    watts: tuple[float, ...]

    @property
    def mean_w(self) -> float:
        return fmean(self.watts)

    def at(self, time_s: float) -> float:
        """By how many W idle is above its mean at a time; before the first and after the last as there."""
        later = bisect.bisect_right(self.times_s, time_s)
        if later == 0:
            return self.watts[0] - self.mean_w
        if later == len(self.times_s):
            return self.watts[-1] - self.mean_w
        (start_s, end_s), (start_w, end_w) = (
            self.times_s[later - 1 : later + 1],
            self.watts[later - 1 : later + 1],
        )
        return start_w + (time_s - start_s) / (end_s - start_s) * (end_w - start_w) - self.mean_w


def drift_of(windows: Sequence[tuple[float, float]]) -> IdleDrift | None:
    """The drift that windows, each (middle, W), show; ``None``: no more than their scatter, or too few."""
    if len(windows) < FEWEST_WINDOWS:
        return None
    ordered = sorted(windows)
    watts = [power_w for _, power_w in ordered]
    of_neighbours = (
        math.fsum((after - before) ** 2 for before, after in pairwise(watts)) / 2 / (len(watts) - 1)
    )
    if variance(watts) <= LEAST_RATIO * of_neighbours:
        return None
    return IdleDrift(tuple(time_s for time_s, _ in ordered), tuple(watts))
