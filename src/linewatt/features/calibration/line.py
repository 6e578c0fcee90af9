# SPDX-License-Identifier: Apache-2.0
"""One meter against another: the line between their means over the steps of a staircase of load. Pure.

A step of the load is one pair of means: what the meters differ by within one is the same power looked at in
other moments, which would pull the gain towards 0, and no evidence of its own. The interval is that of least
squares over the steps (Student's t), never narrower than what rounding by both meters makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from linewatt.analysis.statistics import two_sided_p
from linewatt.features.calibration.documents import Bounded
from linewatt.missing import Missing
from linewatt.sensors.power import student_t

FEWEST_STEPS = 5
MOST_GAIN_HALF = 0.05
"""A gain that is less sure is not told apart from an offset."""
STILL_RATIO = 0.1
"""A meter that moved by so small a part of what the other did stood still."""
LEAST_SPAN_RATIO = 0.05
"""of the power: below it nothing moved that could be compared"""
LEAST_BULGE_RATIO = 0.01
LEAST_LEGS_RATIO = 0.005
FEWEST_PAIRS = 3
CHANCE = 0.01
"""How often a straight line may be called bent."""
GRID = 200


class Step(NamedTuple):
    """Means over one step of the load, W; ``key`` is the same for steps of one load, ``rises``: whether
    the load before it was lower, None: as high."""

    reference_w: float
    meter_w: float
    key: str = ""
    rises: bool | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """``meter = (1 + gain) · reference + offset_w``, where the steps let them be told apart.

    ``difference_w`` is that of their means. ``left_w`` is the most that a step is off the line. ``bulge_w``
    is by how much the middle lies above the line through a bend, where there is one; ``legs_w`` how much
    more the meter reads at the same load after a higher one.
    """

    low_w: float
    high_w: float
    difference_w: Bounded
    gain: Bounded | None = None
    offset_w: Bounded | None = None
    left_w: float | None = None
    bulge_w: float | None = None
    legs_w: Bounded | None = None
    within: tuple[tuple[float, float], ...] = ()
    """powers of the reference (W, from and to) where the meter as it reads is surely within the tolerance"""
    withheld: str | None = None
    """why gain and offset are not told"""


def line(
    steps: Sequence[Step],
    step_w: tuple[float, float],
    tolerance_ratio: float,
    names: tuple[str, str] = ("the meter", "the reference"),
) -> Line | Missing:
    """The line, or why there is none. ``step_w``: the smallest difference that each can show, the meter's
    first; so are ``names``."""
    if len(steps) < FEWEST_STEPS:
        return Missing(f"only {len(steps)} steps of the load to compare; {FEWEST_STEPS} are needed")
    x, y = [step.reference_w for step in steps], [step.meter_w for step in steps]
    if still := _stands_still(x, y, step_w, names):
        return Missing(still)
    count = len(steps)
    mean_x, mean_y = math.fsum(x) / count, math.fsum(y) / count
    sxx = math.fsum((x_w - mean_x) ** 2 for x_w in x)
    slope = math.fsum((x_w - mean_x) * (y_w - mean_y) for x_w, y_w in zip(x, y, strict=True)) / sxx
    residuals_w = [y_w - mean_y - slope * (x_w - mean_x) for x_w, y_w in zip(x, y, strict=True)]
    rounding_w = math.hypot(step_w[0], slope * step_w[1]) / math.sqrt(12)
    scatter_w = max(
        math.sqrt(math.fsum(residual_w * residual_w for residual_w in residuals_w) / (count - 2)), rounding_w
    )
    t = student_t(count - 2)
    half_gain = t * scatter_w / math.sqrt(sxx)
    difference = _difference([y_w - x_w for x_w, y_w in zip(x, y, strict=True)], rounding_w)
    partial_line = Line(min(x), max(x), difference)
    if half_gain > MOST_GAIN_HALF:
        why = (
            f"{max(x) - min(x):.3g} W between the lowest and the highest load tell no gain from an offset "
            f"as the windows scatter: the gain would be known to ± {100 * half_gain:.1f} % only"
        )
        return replace(partial_line, withheld=why)
    half_offset = t * scatter_w * math.sqrt(1 / count + mean_x**2 / sxx)
    offset_w = mean_y - slope * mean_x

    def bound_w(at_w: float) -> float:
        return t * scatter_w * math.sqrt(1 / count + (at_w - mean_x) ** 2 / sxx)

    return replace(
        partial_line,
        gain=_around(slope - 1, half_gain),
        offset_w=_around(offset_w, half_offset),
        left_w=max(map(abs, residuals_w)),
        bulge_w=_bulge(x, residuals_w, max(step_w[0], LEAST_BULGE_RATIO * mean_x)),
        legs_w=_legs(steps, residuals_w, max(step_w[0], LEAST_LEGS_RATIO * mean_x)),
        within=_within(partial_line, slope, offset_w, bound_w, tolerance_ratio),
    )


def _around(value: float, half: float) -> Bounded:
    return Bounded(value=value, low=value - half, high=value + half)


def _difference(values: Sequence[float], rounding_w: float) -> Bounded:
    count = len(values)
    mean = math.fsum(values) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return _around(mean, student_t(count - 1) * max(spread, rounding_w) / math.sqrt(count))


def _stands_still(
    x: Sequence[float], y: Sequence[float], step_w: tuple[float, float], names: tuple[str, str]
) -> str | None:
    span_y, span_x = max(y) - min(y), max(x) - min(x)
    meter, reference = names
    span_words = (
        f"{reference} went from {min(x):.1f} to {max(x):.1f} W, {meter} from {min(y):.1f} to {max(y):.1f} W"
    )
    if span_x <= max(step_w[1], LEAST_SPAN_RATIO * max(x)):
        if span_y > 1 / STILL_RATIO * span_x and span_y > 2 * step_w[0]:
            return f"{reference} stood still: {span_words}"
        return f"the power hardly moved: {span_words}; a load that draws more is needed"
    if span_y <= max(STILL_RATIO * span_x, min(step_w[0], span_x / 2)):
        return f"{meter} stood still: {span_words}"
    return None


def _bulge(x: Sequence[float], residuals_w: Sequence[float], least_w: float) -> float | None:
    """By how much the middle of the steps lies above a straight line, where they surely bend."""
    import numpy as np

    if len(x) < FEWEST_STEPS + 1 or len(set(x)) < FEWEST_STEPS:
        return None
    low, half = min(x), (max(x) - min(x)) / 2
    u = (np.array(x) - low - half) / half
    design = np.column_stack([np.ones_like(u), u, u * u])
    solution, squares, rank, _ = np.linalg.lstsq(design, np.array(residuals_w), rcond=None)
    degrees = len(x) - 3
    if rank < 3 or not len(squares):
        return None
    variance = max(float(squares[0]) / degrees, 1e-18) * np.linalg.inv(design.T @ design)[2, 2]
    p = two_sided_p(float(solution[2]) / math.sqrt(variance), degrees)
    bulge_w = -float(solution[2])
    return bulge_w if p < CHANCE and abs(bulge_w) > least_w else None


def _legs(steps: Sequence[Step], residuals_w: Sequence[float], least_w: float) -> Bounded | None:
    """How much more the meter reads at the same load after a higher one than after a lower one, if surely."""
    means: dict[tuple[str, bool], list[float]] = {}
    for step, off in zip(steps, residuals_w, strict=True):
        if step.key and step.rises is not None:
            means.setdefault((step.key, step.rises), []).append(off)
    pairs = [
        math.fsum(values) / len(values) - math.fsum(rising) / len(rising)
        for (key, rises), values in means.items()
        if not rises and (rising := means.get((key, True)))
    ]
    if len(pairs) < FEWEST_PAIRS:
        return None
    difference = _difference(pairs, 0.0)
    return None if difference.is_zero or abs(difference.value) <= least_w else difference


def _within(
    partial_line: Line,
    slope: float,
    offset_w: float,
    bound_w: Callable[[float], float],
    tolerance_ratio: float,
) -> tuple[tuple[float, float], ...]:
    """Where the meter, as it reads, is surely within the tolerance of the reference."""
    ranges: list[tuple[float, float]] = []
    inside = False
    for at in range(GRID + 1):
        at_w = partial_line.low_w + (partial_line.high_w - partial_line.low_w) * at / GRID
        off_w = abs(offset_w + (slope - 1) * at_w) + bound_w(at_w)
        was_inside, inside = inside, off_w <= tolerance_ratio * at_w
        if inside:
            ranges = [*ranges[:-1], (ranges[-1][0], at_w)] if was_inside else [*ranges, (at_w, at_w)]
    return tuple(ranges)
