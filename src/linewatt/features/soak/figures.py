# SPDX-License-Identifier: Apache-2.0
"""What days of one load say: rates, stalls, drift, and whether a total and a rate agree. Pure.

Rates are given by cells, slices of time of one length; None where nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linewatt.findings import FULL_RATIO
from linewatt.missing import Missing
from linewatt.units import format_seconds

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

STALL_SHARE = 0.1
"""of the median rate: below it users stall"""
FEWEST_FOR_DRIFT = 24
LEAST_DRIFT_S = 3600.0
MOST_FOR_DRIFT = 200
"""means of so many slices: the test looks at every pair, and neighbouring cells are alike"""
ALIKE = 0.3
"""correlation of neighbouring slices above which they are made twice as long, as far as enough are left"""
MOST_ALIKE = 0.9
"""correlation above which none is believed: with more the interval would have no end"""
STEP_SHARE = 0.5
"""of what a line leaves: where one step leaves less, slices are alike as they are about the step, for a rate
that fell once does not wander"""
STEP_ENDS = 0.1
"""of the slices, on either side of a step at least"""
VISIBLE_DRIFT = 0.02
"""of the median rate over the whole soak: less is told, but no reason for a flag"""
SATURATED_TIME = 0.05
"""of the time that a client may be saturated without a word about it"""
DAY_S = 86_400.0
POINTS = (1.0, 5.0, 50.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates over the cells that have one, bit/s. ``percentiles_bps`` by point; ``peak_at`` is a cell.

    ``peak_at`` is None where the peak was in time without cells: then ``peak_bps`` is the least it was.
    """

    mean_bps: float
    peak_bps: float
    peak_at: int | None
    least_bps: float
    percentiles_bps: dict[str, float]
    cells: int


@dataclass(frozen=True, slots=True)
class Stall:
    """Cells ``first`` to before ``end`` with less than :data:`STALL_SHARE` of the median rate."""

    first: int
    end: int
    least_bps: float


@dataclass(frozen=True, slots=True)
class Drift:
    """Theil–Sen slope as part of the median rate a day, with its 95 % interval, and over the whole soak."""

    per_day: float
    low_per_day: float
    high_per_day: float
    over_all: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low_per_day > 0 or self.high_per_day < 0

    @property
    def matters(self) -> bool:
        return self.is_sure and abs(self.over_all) >= VISIBLE_DRIFT


@dataclass(frozen=True, slots=True)
class Point:
    """Cells ``first`` to before ``end`` in one: least, mean and greatest of those known; None: a gap."""

    first: int
    end: int
    least: float | None
    mean: float | None
    greatest: float | None


def rates(cells: Sequence[float | None], mean_bps: float | None = None) -> Rates | None:
    """Mean, peak and percentiles (linear interpolation) of the cells that are known; None without any.

    ``mean_bps`` is that of all the time, also of that without cells: a peak is never below it.
    """
    import numpy as np

    rated_cells = [(value, at) for at, value in enumerate(cells) if value is not None]
    if not rated_cells:
        return None
    values = np.array([value for value, _ in rated_cells])
    peak = int(values.argmax())
    hidden = mean_bps is not None and mean_bps > values[peak]
    percentiles = np.percentile(values, POINTS)
    return Rates(
        mean_bps=float(values.mean()),
        peak_bps=mean_bps if hidden and mean_bps is not None else float(values[peak]),
        peak_at=None if hidden else rated_cells[peak][1],
        least_bps=float(values.min()),
        percentiles_bps={
            f"p{point:g}": float(percentile) for point, percentile in zip(POINTS, percentiles, strict=True)
        },
        cells=len(rated_cells),
    )


def stalls(cells: Sequence[float | None], running: Sequence[float | None] | None = None) -> list[Stall]:
    """Where the rate fell below :data:`STALL_SHARE` of its median while users ran.

    Without ``running`` users run from the first to the last cell with a rate. Gaps are no stalls.
    """
    moving = [at for at, value in enumerate(cells) if value]
    if not moving:
        return []
    middle = sorted(value for value in cells if value)[len(moving) // 2]
    falls: list[Stall] = []
    for at in range(moving[0], moving[-1] + 1):
        value = cells[at]
        users = None if running is None else running[at]
        if value is None or value >= STALL_SHARE * middle or (running is not None and not users):
            continue
        if falls and falls[-1].end == at:
            falls[-1] = Stall(falls[-1].first, at + 1, min(falls[-1].least_bps, value))
        else:
            falls.append(Stall(at, at + 1, value))
    return falls


def drift(cells: Sequence[float | None], cell_s: float) -> Drift | Missing:
    """The slow change of the rate, or why it is not known.

    Theil–Sen slope with its interval: H. Theil (1950), P. K. Sen, JASA 63 (1968) 1379–1389. Where
    neighbouring slices are alike it is as wide as so many fewer slices would make it: its variance is
    multiplied by (1 + r) / (1 − r), r their correlation (S. Yue, C. Y. Wang, Water Resources Management 18
    (2004) 201–218).
    """
    rated_cells = [(at, value) for at, value in enumerate(cells) if value is not None]
    if not rated_cells:
        return Missing("no slice of time has a rate")
    span_s = (rated_cells[-1][0] + 1 - rated_cells[0][0]) * cell_s
    if span_s < LEAST_DRIFT_S:
        return Missing(f"less than {format_seconds(LEAST_DRIFT_S)} of readings")
    if len(rated_cells) < FEWEST_FOR_DRIFT:
        return Missing(f"fewer than {FEWEST_FOR_DRIFT} slices of time have a rate")
    size = -(-len(rated_cells) // MOST_FOR_DRIFT)
    trend = _slope(rated_cells, size, cell_s)
    while trend.alike > ALIKE and len(rated_cells) // (2 * size) >= FEWEST_FOR_DRIFT:
        size *= 2
        trend = _slope(rated_cells, size, cell_s)
    if trend.middle <= 0:
        return Missing("the median of the rate is 0")
    scale, wider = DAY_S / trend.middle, math.sqrt((1 + trend.alike) / (1 - trend.alike))
    low, high = (trend.slope + wider * (end - trend.slope) for end in (trend.low, trend.high))
    return Drift(trend.slope * scale, low * scale, high * scale, trend.slope * span_s / trend.middle)


@dataclass(frozen=True, slots=True)
class _Slope:
    """Theil–Sen slope with its 95 % interval as if slices were independent, bit/s a second; the median of the
    slices, and the correlation of neighbours about the line or a step, 0 to :data:`MOST_ALIKE`."""

    slope: float
    low: float
    high: float
    middle: float
    alike: float


def _slope(rated_cells: Sequence[tuple[int, float]], size: int, cell_s: float) -> _Slope:
    """Of slices of ``size`` cells."""
    import numpy as np
    from scipy.stats import theilslopes

    parts = [rated_cells[start : start + size] for start in range(0, len(rated_cells), size)]
    times_s = np.array([np.mean([at for at, _ in part]) * cell_s for part in parts])
    values = np.array([np.mean([value for _, value in part]) for part in parts])
    slope, level, low, high = (float(number) for number in theilslopes(values, times_s, 0.95))
    line, step = values - level - slope * times_s, _about_step(values)
    is_step = float(step @ step) < STEP_SHARE * float(line @ line)
    alike = _alike(step, 3) if is_step else _alike(line, 2)
    return _Slope(slope, low, high, float(np.median(values)), min(max(0.0, alike), MOST_ALIKE))


def _about_step(values: Array) -> Array:
    """What the one step that explains the most leaves of values."""
    import numpy as np

    count = len(values)
    before = np.arange(1, count)
    explained = np.cumsum(values - values.mean())[:-1] ** 2 / (before * (count - before))
    ends = math.ceil(STEP_ENDS * count)
    at = ends + int(explained[ends - 1 : count - ends].argmax())
    return np.concatenate([values[:at] - values[:at].mean(), values[at:] - values[at:].mean()])


def _alike(residuals: Array, parameters: int) -> float:
    """The correlation of neighbours, without what fitting so many parameters takes from it.

    F. H. C. Marriott, J. A. Pope, Biometrika 41 (1954) 390-402.
    """
    squares = float(residuals @ residuals)
    seen = float(residuals[1:] @ residuals[:-1]) / squares if squares else 0.0
    return seen + parameters * (1 + 3 * max(0.0, seen)) / len(residuals)


def downsample(cells: Sequence[float | None], max_points: int = 1000) -> list[Point]:
    """At most ``max_points`` points, each least, mean and greatest of as many cells."""
    size = max(1, -(-len(cells) // max_points))
    points = []
    for first in range(0, len(cells), size):
        values = [value for value in cells[first : first + size] if value is not None]
        end = min(first + size, len(cells))
        if values:
            points.append(Point(first, end, min(values), math.fsum(values) / len(values), max(values)))
        else:
            points.append(Point(first, end, None, None, None))
    return points


def saturated_share(cores: Sequence[float | None]) -> float | None:
    """The part of the known time that a client's process used up a core, which is all that its users have."""
    used_cores = [value for value in cores if value is not None]
    return sum(value >= FULL_RATIO for value in used_cores) / len(used_cores) if used_cores else None


def per_gbit(cpu_s: float, total_bytes: float) -> float | None:
    """CPU seconds for each Gbit of payload; None where nothing was moved."""
    return cpu_s / (total_bytes * 8 / 1e9) if total_bytes > 0 else None


def j_per_gb(energy_j: float, total_bytes: float) -> float | None:
    """Energy for each GB (10⁹ bytes) of payload, J; None where nothing was moved."""
    return energy_j / (total_bytes / 1e9) if total_bytes > 0 else None
