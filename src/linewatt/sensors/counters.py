# SPDX-License-Identifier: Apache-2.0
"""What a counter counted in a window, safe against wrap, reset and gaps. Pure.

Counters are read about once a second and a window's edges fall between readings: inside one reading
interval the count is taken as steady (linear interpolation), so an edge costs at most the unevenness of
one interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from linewatt.missing import Missing
from linewatt.model import Window

MAX_GAP_INTERVALS = 3
"""A longer silence of the sensor is a gap, and a gap is a gap: nothing is interpolated over it."""

WRAP_PART = 16
"""A decrease is a wrap only if it is a step forward of less than 1/16 of the range: 268 million for
32 bits, more than any counter of packets moves in one reading interval. All others are resets."""


@dataclass(frozen=True, slots=True)
class CounterDelta:
    """What was counted in a window, or None and why that is not known.

    ``lower_bound`` and ``upper_bound`` hold for any distribution of the counts between two readings: all of
    them may lie inside the window or outside.
    """

    value: float | None
    reason: str | None = None
    lower_bound: float = 0.0
    upper_bound: float = 0.0


class _Step(NamedTuple):
    """Two readings in a row, by the number of the first, and the part of the step that lies in the window."""

    number: int
    share: float


def counter_delta(
    values: Sequence[tuple[float, float | None]],
    window: Window,
    bits: int | None = None,
    interval_s: float | None = None,
    wraps_at: float | None = None,
) -> CounterDelta:
    """What a counter counted in ``window``, from its readings ``(time_s, value)``.

    ``bits``: it wraps at 2**bits; None: it never does. ``interval_s`` is how often it is read; None:
    as often as its readings say. Missing readings (value None) leave a gap. A decrease that is no
    plausible wrap is a reset, of which nothing can be told.

    ``wraps_at`` is for counters of any range that are not reset while their host is up (energy): then every
    decrease is one wrap. Readings must come sooner than it wraps: a whole turn between two of them cannot
    be seen.
    """
    readings = sorted((time_s, value) for time_s, value in values if value is not None)
    steps = _steps(tuple(time_s for time_s, _ in readings), window, interval_s)
    if isinstance(steps, Missing):
        return CounterDelta(None, steps.reason)
    total = lower_bound = upper_bound = 0.0
    for number, share in steps:
        before, after = readings[number][1], readings[number + 1][1]
        counted = _counted(before, after, bits) if wraps_at is None else _turned(before, after, wraps_at)
        if counted is None:
            return CounterDelta(None, f"counter reset: from {before:.0f} to {after:.0f}")
        total += share * counted
        lower_bound += counted if share == 1 else 0.0
        upper_bound += counted
    return CounterDelta(total, None, lower_bound, upper_bound)


@lru_cache(maxsize=256)  # all counters of a record have their times in common
def _steps(
    times_s: tuple[float, ...], window: Window, interval_s: float | None
) -> tuple[_Step, ...] | Missing:
    """The steps between readings that touch the window, or why the window is not covered by them."""
    if not times_s or times_s[0] > window.start_s or times_s[-1] < window.end_s:
        return Missing("its readings do not cover the window")
    if not any(window.start_s <= time_s <= window.end_s for time_s in times_s):
        return Missing("no reading inside the window")
    lengths_s = [end_s - start_s for start_s, end_s in pairwise(times_s)]
    usual_s = interval_s or median_low(length_s for length_s in lengths_s if length_s > 0)
    steps = []
    for number, length_s in enumerate(lengths_s):
        inside_s = min(times_s[number + 1], window.end_s) - max(times_s[number], window.start_s)
        if length_s > 0 and inside_s > 0:
            if length_s > MAX_GAP_INTERVALS * usual_s:
                return Missing(f"no reading for {length_s:.1f} s")
            steps.append(_Step(number, inside_s / length_s))
    return tuple(steps)


def _counted(before: float, after: float, bits: int | None) -> float | None:
    """The increase over a step, through a wrap if that is plausible; None for a reset."""
    increase = after - before
    if increase >= 0:
        return increase
    if bits is None:
        return None
    forward = increase + 2**bits
    return forward if 0 <= forward < 2**bits / WRAP_PART else None


def _turned(before: float, after: float, wraps_at: float) -> float | None:
    """The increase over a step, through one wrap if it went back; None for what is beyond the range."""
    if not (0 <= before <= wraps_at and 0 <= after <= wraps_at):
        return None
    return after - before if after >= before else after + wraps_at - before
