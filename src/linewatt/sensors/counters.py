# SPDX-License-Identifier: Apache-2.0
"""What a counter counted in a window, safe against wrap, reset and gaps. Pure.

Counters are read about once a second and a window's edges fall between readings: inside one reading
interval the count is taken as steady (linear interpolation), so an edge costs at most the unevenness of
one interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low

from linewatt.model import Window

MAX_GAP_INTERVALS = 3
"""A longer silence of the sensor is a gap, and a gap is a gap: nothing is interpolated over it."""

WRAP_PART = 16
"""A decrease is a wrap only if it is a step forward of less than 1/16 of the range: 268 million for
32 bits, more than any counter of packets moves in one reading interval. All others are resets."""


@dataclass(frozen=True, slots=True)
class CounterDelta:
    """What was counted, or None and why it cannot be told."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """Two readings in a row."""

    start_s: float
    end_s: float
    before: float
    after: float


def counter_delta(
    values: Sequence[tuple[float, float | None]],
    window: Window,
    bits: int | None = None,
    interval_s: float | None = None,
) -> CounterDelta:
    """What a counter counted in ``window``, from its readings ``(time_s, value)``.

    ``bits``: it wraps at 2**bits; None: it never does. ``interval_s`` is how often it is read; None:
    as often as its readings say. Missing readings (value None) leave a gap. A decrease that is no
    plausible wrap is a reset, of which nothing can be told.
    """
    readings = sorted((time_s, value) for time_s, value in values if value is not None)
    if not readings or readings[0][0] > window.start_s or readings[-1][0] < window.end_s:
        return CounterDelta(None, "its readings do not cover the window")
    if not any(window.start_s <= time_s <= window.end_s for time_s, _ in readings):
        return CounterDelta(None, "no reading inside the window")
    steps = list(_steps(readings))
    usual_s = interval_s or median_low(step.end_s - step.start_s for step in steps)
    total = 0.0
    for step in steps:
        share = _share(step, window)
        if share <= 0:
            continue
        if step.end_s - step.start_s > MAX_GAP_INTERVALS * usual_s:
            return CounterDelta(None, f"no reading for {step.end_s - step.start_s:.1f} s")
        counted = _counted(step, bits)
        if counted is None:
            return CounterDelta(None, f"counter reset: from {step.before:.0f} to {step.after:.0f}")
        total += share * counted
    return CounterDelta(total)


def _steps(readings: Sequence[tuple[float, float]]) -> Iterator[_Step]:
    for (start_s, before), (end_s, after) in pairwise(readings):
        if end_s > start_s:
            yield _Step(start_s, end_s, before, after)


def _share(step: _Step, window: Window) -> float:
    """The part of the step that lies inside the window."""
    inside_s = min(step.end_s, window.end_s) - max(step.start_s, window.start_s)
    return inside_s / (step.end_s - step.start_s)


def _counted(step: _Step, bits: int | None) -> float | None:
    """The increase over the step, through a wrap if that is plausible; None for a reset."""
    increase = step.after - step.before
    if increase >= 0:
        return increase
    if bits is None:
        return None
    forward = increase + 2**bits
    return forward if 0 <= forward < 2**bits / WRAP_PART else None
