# SPDX-License-Identifier: Apache-2.0
"""What a mean over a window hides: a step, a time apart, lowest intervals, an oscillation, a slope. Pure.

One event makes several of these look likely: a dip in the middle is half a step, too. So each shape that its
noise does not explain is fitted, and the simplest of those that leave least over is the one that is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linewatt.analysis.statistics.steadiness import (
    FEWEST_INTERVALS,
    SeriesStep,
    Slope,
    chance,
    inflation,
    slope,
    step,
)
from linewatt.findings import LOW_DEPTH_RATIO, MATTERING_RATIO, VISIBLE_CHANGE_RATIO

if TYPE_CHECKING:
    import numpy as np

SEGMENT_CHANCE = 1e-9
"""Two-sided p that a segment must be below: the best of n² is looked at."""
SHORTEST = 2
"""intervals of a segment; a single one is among the lowest"""
LOW_SDS = 6.0
"""of the other intervals: how far the low ones must be from them; the gap between, half of it"""
WAVE_CHANCE = 1e-7
"""p of the amplitude of the best period in AR(1) noise"""
LEAST_CYCLES = 1
MANY = 0.25
"""of the values: so many low ones, and as many others, that a period tells more than their number"""
BETTER = 1.5
"""A shape with more freedom must leave this many times less over than a simpler one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Values ``start`` to ``end`` (from 0, without ``end``) have another mean than those around them."""

    start: int
    end: int
    inside: float
    outside: float


@dataclass(frozen=True, slots=True)
class Lows:
    """``count`` of the values, from number ``start`` to before ``end``, are far below all others."""

    count: int
    start: int
    end: int
    low: float
    others: float

    @property
    def together(self) -> bool:
        """Whether no other value is between them."""
        return self.count == self.end - self.start


@dataclass(frozen=True, slots=True)
class Wave:
    """An oscillation of ``period`` values around ``mean``, by ``amplitude`` to either side."""

    period: float
    amplitude: float
    mean: float


SeriesShape = SeriesStep | Segment | Lows | Wave | Slope


def find_shape(values: Sequence[float]) -> SeriesShape | None:
    """What is told of a series of equal intervals; ``None``: its noise explains it, or it is too short."""
    import numpy as np

    series = np.asarray(values, float)
    if len(series) < FEWEST_INTERVALS or series.mean() <= 0 or series.min() == series.max():
        return None
    best: tuple[float, SeriesShape] | None = None
    wave = _wave(series)
    for candidate in (_step(series), _segment(series), _lows(series, of_wave=wave is not None), wave):
        if candidate is not None and (best is None or candidate[0] * BETTER < best[0]):
            best = candidate
    return best[1] if best else slope(values)


def effect_ratio(series_shape: SeriesShape, length: int) -> float | None:
    """By what part the mean of ``length`` values differs from that of the longer part of a shape.

    Of a slope, from either end. ``None`` for an oscillation, which changes no mean, and of a level that is 0.
    """
    match series_shape:
        case SeriesStep(at, first, last):
            parts = (at, first), (length - at, last)
        case Segment(start, end, inside, outside):
            parts = (end - start, inside), (length - end + start, outside)
        case Lows(count, _, _, low, others):
            parts = (count, low), (length - count, others)
        case Slope(first, last):
            return abs(last - first) / (first + last) if first + last > 0 else None
        case Wave():
            return None
    level = max(parts)[1]
    mean = sum(count * value for count, value in parts) / length
    return mean / level - 1 if level > 0 else None


_Found = tuple[float, SeriesShape] | None
"""what a shape leaves over (sum of squares), and the shape"""


def _step(series: np.ndarray[Any, Any]) -> _Found:
    level_step = step(series.tolist())
    if level_step is None:
        return None
    return _squares(series[: level_step.at]) + _squares(series[level_step.at :]), level_step


def _segment(series: np.ndarray[Any, Any]) -> _Found:
    """The stretch whose mean is furthest from that of all the rest; at an edge of the window it is a step."""
    start, end = _furthest(series, edges=False)
    inside, outside = series[start:end], _without(series, start, end)
    first, last = _furthest(series, edges=True)
    at = last if first == 0 else first
    residual_squares, of_step = (
        _squares(inside) + _squares(outside),
        _squares(series[:at]) + _squares(series[at:]),
    )
    if of_step <= BETTER * residual_squares:
        inside, outside, residual_squares = series[:at], series[at:], of_step
    change = float(inside.mean() - outside.mean())
    few = min(len(inside), len(outside))
    if few < SHORTEST or abs(change) < VISIBLE_CHANGE_RATIO * max(
        abs(float(inside.mean())), abs(float(outside.mean()))
    ):
        return None
    if abs(change) * few < MATTERING_RATIO * float(series.sum()):
        return None
    residuals = _rest(series, 0, at) if residual_squares == of_step else _rest(series, start, end)
    if chance(change, 1 / len(inside) + 1 / len(outside), residuals, parameters=2) > SEGMENT_CHANCE:
        return None
    means = float(inside.mean()), float(outside.mean())
    return residual_squares, SeriesStep(at, *means) if residual_squares == of_step else Segment(
        start, end, *means
    )


def _furthest(series: np.ndarray[Any, Any], *, edges: bool) -> tuple[int, int]:
    """From and to where values are that the sum of squares around two means is least for.

    ``edges``: one end of it is an end of the series; else none is.
    """
    import numpy as np

    n = len(series)
    sums = np.concatenate([[0.0], np.cumsum(series - series.mean())])
    length = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    tried = (length >= SHORTEST) & (length <= n - SHORTEST)
    at_edge = np.zeros_like(tried)
    at_edge[0, :] = at_edge[:, n] = True
    tried &= at_edge if edges else ~at_edge
    gain = np.where(
        tried, (sums[None, :] - sums[:, None]) ** 2 / np.where(tried, length * (n - length), 1), -1.0
    )
    start, end = np.unravel_index(int(gain.argmax()), gain.shape)
    return int(start), int(end)


def _rest(series: np.ndarray[Any, Any], start: int, end: int) -> np.ndarray[Any, Any]:
    """What the means of a stretch, and of all around it, leave over."""
    residuals: np.ndarray[Any, Any] = series - _without(series, start, end).mean()
    residuals[start:end] = series[start:end] - series[start:end].mean()
    return residuals


def _without(series: np.ndarray[Any, Any], start: int, end: int) -> np.ndarray[Any, Any]:
    """All values but those of a stretch."""
    import numpy as np

    around: np.ndarray[Any, Any] = np.concatenate([series[:start], series[end:]])
    return around


def _lows(series: np.ndarray[Any, Any], *, of_wave: bool) -> _Found:
    """The split of the sorted values that leaves least over, if a gap parts them and it moves the mean.

    ``of_wave``: a period was found, and the two halves of a square one are no lowest intervals.
    """
    import numpy as np

    ordered = np.sort(series)
    n = len(ordered)
    sums = np.cumsum(ordered - ordered.mean())[:-1]
    counts = np.arange(1, n)
    count = int(counts[(sums**2 / (counts * (n - counts))).argmax()])
    low, others = ordered[:count], ordered[count:]
    depth = float(others.mean() - low.mean())
    spread = float(others.std(ddof=1)) if len(others) > 1 else math.inf
    gap = float(others[0] - low[-1])
    mean = float(series.mean())
    if depth < max(LOW_DEPTH_RATIO * float(others.mean()), LOW_SDS * spread) or gap < LOW_SDS / 2 * spread:
        return None
    if depth * min(count, n - count) < MATTERING_RATIO * n * mean:
        return None
    places = np.flatnonzero(series <= low[-1])
    lows = Lows(count, int(places[0]), int(places[-1]) + 1, float(low.mean()), float(others.mean()))
    if of_wave and not lows.together and min(count, n - count) >= MANY * n:
        return None
    return _squares(low) + _squares(others), lows


def _wave(series: np.ndarray[Any, Any]) -> _Found:
    """The period that explains most, if its amplitude is beyond AR(1) noise at that period."""
    import numpy as np

    n = len(series)
    deviations = series - series.mean()
    spectrum = np.abs(np.fft.rfft(deviations, 4 * n))
    spectrum[: 4 * LEAST_CYCLES] = 0.0
    rate = float(spectrum.argmax()) / (4 * n)
    angles = 2 * math.pi * rate * np.arange(n)
    columns = [np.cos(angles)] if rate == 0.5 else [np.cos(angles), np.sin(angles)]
    design = np.column_stack(columns)
    weights, *_ = np.linalg.lstsq(design, deviations, rcond=None)
    amplitude = float(np.hypot.reduce(weights))
    mean = float(series.mean())
    if amplitude < VISIBLE_CHANGE_RATIO * mean:
        return None
    residuals = deviations - design @ weights
    if _wave_chance(amplitude, rate, residuals) > WAVE_CHANCE:
        return None
    return float(residuals @ residuals), Wave(1 / rate, amplitude, mean)


def _wave_chance(amplitude: float, rate: float, residuals: np.ndarray[Any, Any]) -> float:
    """How likely AR(1) noise as in ``residuals`` has such an amplitude at the best of its n/2 periods.

    The power of a period in noise of spectral density s (1 for white noise of variance 1) is exponential with
    mean 4 s ÷ n × variance (P. Bloomfield, Fourier Analysis of Time Series, 2000, ch. 9).
    """
    n = len(residuals)
    variance = float(residuals @ residuals) / max(1, n - 3)
    if variance <= 0:
        return 0.0
    more = inflation(residuals, parameters=3)
    r = (more - 1) / (more + 1)
    density = (1 - r * r) / (1 + r * r - 2 * r * math.cos(2 * math.pi * rate))
    ratio = amplitude**2 * n / (4 * variance * density)
    if ratio > 600:
        return 0.0
    return float(min(1.0, n / 2 * (1 + ratio / max(1.0, (n - 3) / 2)) ** (-(n - 3) / 2)))


def _squares(part: np.ndarray[Any, Any]) -> float:
    """What the mean of a part leaves over."""
    deviations = part - part.mean()
    return float(deviations @ deviations)
