# SPDX-License-Identifier: Apache-2.0
"""What a meter took over a campaign as a course in time, and its mean over any part of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from linewatt.analysis.power import meters
from linewatt.sensors.power import POLL_LIMITED

GAP_READINGS, GAP_S = 4.0, 3.0
"""A silence that is longer than both is a gap, over which no mean is made."""


class Course:
    """Samples of a meter with straight lines between them.

    A meter that is refreshed more slowly than it is read shows a sample first at some reading after it was
    taken: half the time between readings later, on average, which is taken off. Where refreshes keep step
    with readings it is always as late, and nobody knows by how much: ``phase_s`` either way.
    """

    def __init__(self, readings: Sequence[tuple[float, float]]) -> None:
        """``readings`` are (Unix s, W), two at least, of different times in order."""
        import numpy as np

        times = [time_s for time_s, _ in readings]
        self.read_every_s = meters.interval_s(times)
        moved = meters.changes(readings)
        self.refresh_s = meters.refresh(
            [after - before for before, after in pairwise(moved)], self.read_every_s
        )
        slow = self.refresh_s is not None and self.refresh_s > POLL_LIMITED * self.read_every_s
        taken = meters.samples(readings, self.refresh_s)
        late_s = self.phase_s = self.read_every_s / 2 if slow else 0.0
        self.sample_every_s = (self.refresh_s or self.read_every_s) if slow else self.read_every_s
        self.times_s = np.array([time_s for time_s, _ in taken]) - late_s
        self.watts = np.array([value for _, value in taken])
        steps_s = np.diff(self.times_s)
        self._slopes = np.diff(self.watts) / steps_s
        self._energy_j = np.concatenate([[0.0], np.cumsum(steps_s * (self.watts[1:] + self.watts[:-1]) / 2)])
        gaps = steps_s > max(GAP_S, GAP_READINGS * self.sample_every_s)
        self._gaps = np.concatenate([[0], np.cumsum(gaps)])

    def _energy_until(self, times_s: Any) -> Any:
        """J since its first sample."""
        at = self._segments(times_s)
        since_s = times_s - self.times_s[at]
        return self._energy_j[at] + since_s * (self.watts[at] + self._slopes[at] * since_s / 2)

    def _segments(self, times_s: Any) -> Any:
        import numpy as np

        return np.clip(np.searchsorted(self.times_s, times_s, side="right") - 1, 0, len(self._slopes) - 1)

    def means(self, starts_s: Any, ends_s: Any) -> Any:
        """Mean W from each start to its end; NaN where that is not covered. Of no time: the power then."""
        import numpy as np

        first, last = self._segments(starts_s), self._segments(ends_s)
        covered = (starts_s >= self.times_s[0]) & (ends_s <= self.times_s[-1])
        covered &= self._gaps[last + 1] == self._gaps[first]
        spans_s = np.maximum(ends_s - starts_s, 1e-9)
        means_w = (self._energy_until(ends_s) - self._energy_until(starts_s)) / spans_s
        moments = self.watts[last] + self._slopes[last] * (ends_s - self.times_s[last])
        return np.where(covered, np.where(ends_s - starts_s < 1e-6, moments, means_w), np.nan)
