# SPDX-License-Identifier: Apache-2.0
"""What was read of a trial over time, put together of what is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linewatt.model import Trial
from linewatt.report.charts.time_series import throughput_points, usual_distance_s
from linewatt.store import Result, read_rates, trial_dir


def median_trial(trials: Iterable[Trial]) -> Trial | None:
    """The trial that stands for its case: the one with the median throughput, of an even number the lower."""
    measured = [trial for trial in trials if trial.throughput_bps is not None and trial.window is not None]
    ordered = sorted(measured, key=lambda trial: (trial.throughput_bps, trial.number))
    return ordered[(len(ordered) - 1) // 2] if ordered else None


@dataclass(frozen=True, slots=True)
class ThroughputCourse:
    """Throughput of all instances over a trial: ``points`` are means since the one before, bit/s.

    Times are seconds from the start of the window, which is ``window_s`` long.
    """

    points: tuple[tuple[float, float | None], ...]
    window_s: float

    @property
    def in_window(self) -> tuple[float | None, ...]:
        """The means of which at least half is of the window."""
        half_s = usual_distance_s(self.points) / 2
        return tuple(value for time_s, value in self.points if 0 <= time_s - half_s <= self.window_s)


def read_throughput(result: Result, trial: Trial) -> ThroughputCourse | None:
    """What the throughput of one trial did; None where it is not stored. Raises StoreError."""
    if trial.window is None:
        return None
    courses = read_rates(trial_dir(result.path, trial.number) / "samples.parquet")
    points = throughput_points(courses, trial, "receiver")
    start_s = trial.window.start_s
    from_start = tuple((time_s - start_s, value) for time_s, value in points)
    return ThroughputCourse(from_start, trial.window.seconds) if from_start else None
