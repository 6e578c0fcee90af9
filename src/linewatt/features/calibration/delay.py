# SPDX-License-Identifier: Apache-2.0
"""How much later one meter shows what another does, by least squares over all of their time. Pure.

Each sample of one meter is held against what the other showed a while before, or the mean of what it showed:
one of the two may average over seconds. Of all delays and averaging times on a grid the one is taken whose
line between the two leaves the least. How sure it is follows from leaving out one step of the load after the
other (jackknife): a delay shows at steps only, so those are what there is of evidence, not samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linewatt.features.calibration.course import Course
from linewatt.sensors.power import student_t

AVERAGING_S = (0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
MOST_S = 60.0
"""A delay either way that is looked for; PDUs that average over a minute are half of it late."""
COARSE_S, FINE_S = 1.0, 0.05
NEAR_S = 15.0
"""around the best delay without averaging, in which others are looked for"""
AROUND_S = 3.0
"""what is tried finely, on both sides of the best coarse delay"""
CLEARLY = 0.9
"""Averaging is stated where it leaves less than this part of what is left without it."""
FEWEST_RATIO = 0.6
"""A delay counts with which so much of all samples can be compared."""
FEWEST_STEPS = 4


@dataclass(frozen=True, slots=True)
class Delay:
    """How much later than the reference the middle of what a meter shows is, with its 95 % CI, in s.

    ``averaging_s`` is the moving average by which the meter is slower; below 0 the reference is.
    """

    value_s: float
    low_s: float
    high_s: float
    averaging_s: float


class _Fit(NamedTuple):
    """What is left per sample, as a part of how the samples vary, with one delay and averaging."""

    left: float
    delay_s: float
    averaging_s: float


def delay(meter: Course, reference: Course, steps_s: Sequence[float]) -> Delay | None:
    """The delay of ``meter``; ``steps_s`` are when the load was changed. ``None``: it cannot be told."""
    forward = _best(meter, reference, steps_s)
    backward = _best(reference, meter, steps_s)
    if forward is None or backward is None:
        return None
    if backward.averaging_s > 0 and backward.left < CLEARLY * forward.left:
        reversed_delay = _exactly(reference, meter, steps_s, backward)
        return reversed_delay and Delay(
            -reversed_delay.value_s,
            -reversed_delay.high_s,
            -reversed_delay.low_s,
            -reversed_delay.averaging_s,
        )
    return _exactly(meter, reference, steps_s, forward)


def _best(slower: Course, quicker: Course, steps_s: Sequence[float]) -> _Fit | None:
    """The best on the coarse grid; of averaging times the shortest that no longer one clearly beats."""
    import numpy as np

    delays = np.arange(-MOST_S, MOST_S + COARSE_S, COARSE_S)
    best: _Fit | None = None
    for averaging_s in AVERAGING_S:
        if best is not None and averaging_s > 0:  # what averages is not elsewhere than what does not
            delays = delays[abs(delays - best.delay_s) <= NEAR_S]
        sums = _sums(slower, quicker, steps_s, delays - averaging_s / 2, averaging_s)
        residuals = _left(sums.sum(axis=1))
        if not np.isfinite(residuals).any():
            continue
        at = int(np.nanargmin(np.where(np.isfinite(residuals), residuals, np.inf)))
        fit = _Fit(float(residuals[at]), float(delays[at]), averaging_s)
        if best is None or fit.left < (CLEARLY if best.averaging_s == 0 else 1.0) * best.left:
            best = fit
    return best


def _exactly(slower: Course, quicker: Course, steps_s: Sequence[float], near: _Fit) -> Delay | None:
    """The delay on the fine grid, and how it moves when one step is left out after the other."""
    import numpy as np

    delays = near.delay_s + np.arange(-AROUND_S, AROUND_S + FINE_S / 2, FINE_S)
    sums = _sums(slower, quicker, steps_s, delays - near.averaging_s / 2, near.averaging_s)
    step_numbers = [number for number in range(sums.shape[1]) if sums[:, number, 0].any()]
    if len(step_numbers) < FEWEST_STEPS:
        return None
    total = sums.sum(axis=1)
    delay_s = _lowest(delays, _left(total))
    without = [_lowest(delays, _left(total - sums[:, number])) for number in step_numbers]
    if delay_s is None or None in without:
        return None
    values = [value_s for value_s in without if value_s is not None]
    count, mean = len(values), math.fsum(values) / len(values)
    squares = math.fsum((value_s - mean) ** 2 for value_s in values)
    spread_s = math.sqrt((count - 1) / count * squares)
    half_s = student_t(count - 1) * math.hypot(spread_s, FINE_S) + slower.phase_s + quicker.phase_s
    return Delay(delay_s, delay_s - half_s, delay_s + half_s, near.averaging_s)


def _sums(slower: Course, quicker: Course, steps_s: Sequence[float], delays: Any, averaging_s: float) -> Any:
    """[delay, step of the load] → count, x, y, xx, xy, yy of the samples that follow it."""
    import numpy as np

    times, y = slower.times_s, slower.watts - slower.watts.mean()
    ends = times[None, :] - np.asarray(delays)[:, None]
    x = quicker.means(ends - averaging_s, ends) - quicker.watts.mean()
    is_finite = np.isfinite(x)
    x, y = np.where(is_finite, x, 0.0), np.where(is_finite, y, 0.0)
    number = np.searchsorted(np.asarray(steps_s), times, side="right")
    own_step = np.eye(len(steps_s) + 1)[number]
    sums = np.stack([term @ own_step for term in (is_finite * 1.0, x, y, x * x, x * y, y * y)], axis=-1)
    sums[sums[:, :, 0].sum(axis=1) < FEWEST_RATIO * len(times)] = np.nan
    return sums


def _left(sums: Any) -> Any:
    """What a line leaves of how y varies, 0 to 1, for each delay; NaN where there is no rising line."""
    import numpy as np

    count, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        sxx, sxy, syy = xx - x * x / count, xy - x * y / count, yy - y * y / count
        return np.where((sxx > 0) & (syy > 0) & (sxy > 0), 1 - sxy * sxy / (sxx * syy), np.nan)


def _lowest(delays: Any, residuals: Any) -> float | None:
    """The delay of the least that is left, between points of the grid; ``None`` at the grid's ends."""
    import numpy as np

    if not np.isfinite(residuals).all():
        return None
    at = int(np.argmin(residuals))
    if not 0 < at < len(residuals) - 1:
        return None
    before, centre, after = (float(residuals[at + by]) for by in (-1, 0, 1))
    bend = before - 2 * centre + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(delays[at]) + shift * FINE_S
