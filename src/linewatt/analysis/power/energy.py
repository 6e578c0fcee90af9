# SPDX-License-Identifier: Apache-2.0
"""Energy and mean power over a window from readings of power, or of a running total of energy. Pure.

Power is integrated by trapezoids over what the meter took (:func:`linewatt.analysis.power.meters.samples`),
clipped to the window. Of a load only samples count that show nothing of what was before it or after it, if
the meter is as stated: the window is cut to what it has seen. The uncertainty is a bound, made of what is
known of the meter:

- step: whether a sensor rounds or cuts is not known, so a whole step over all of the window;
- lag: a sample may be as old as the time between readings, so the course of power may be shifted by it:
  the difference between the window's ends times that time;
- jumps: between two samples the power may have jumped at any moment, independently of other jumps: half of
  each difference times their distance, added in squares;
- few samples: of power that varies quicker than the meter is refreshed they are a random choice: Student's t
  times what differs from one to the next;
- edges: what the samples leave uncovered at the ends of the window, times all that power varied by; and what
  averaging mixes across the window's ends;
- what was before: what lies on the side of what was read before the load, as if the meter had only begun to
  show the load, until the slowest meter has settled that explains its readings; where nothing is known of it
  as long as that side lasts;
- tolerance: ± this part of the energy, if known, added in squares to the sum of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from statistics import median

from linewatt.analysis.power import meters
from linewatt.findings import FEWEST_SAMPLES
from linewatt.missing import Missing
from linewatt.model import Window
from linewatt.sensors.power import POLL_LIMITED, Dynamics, student_t, why_too_short

MAX_GAP_READINGS = 3
"""A longer silence is a gap, and nothing is interpolated over it."""

SAME_WAY = 3
"""jumps of power whose errors may all have one sign"""

FEWEST_UNPROVEN = 2
"""As :data:`FEWEST_SAMPLES` where a refresh is only guessed from the window itself: its bound is wide."""
STILL_STEPS, STILL_RATIO = 1.5, 0.02
"""A reading that varies by less stands still: by steps of the meter, and of its power."""

Readings = Sequence[tuple[float, float | None]]
Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Energy:
    """What a window used, its mean, a bound of the error, and from how many distinct updates it is.

    ``spread_w`` is by how much the meter's samples in the window differ.
    """

    energy_j: float
    power_w: float
    uncertainty_j: float
    updates: int
    spread_w: float | None = None


@dataclass(frozen=True, slots=True)
class Meter:
    """What is known of a sensor: update interval (s), step (W; of a total J), tolerance (0.05: ± 5 %)."""

    update_s: float
    step_w: float | None = None
    tolerance_ratio: float | None = None
    step_j: float | None = None
    dynamics: Dynamics = field(default_factory=Dynamics)


def energy_from_power(
    readings: Readings, window: Window, meter: Meter, load: Window | None = None
) -> Energy | Missing:
    """Integrate readings of power ``(time_s, W)`` over the window, or say why that cannot be done.

    ``load`` is when the power was that of the window's load; before and after it was another.
    """
    points = sorted((time_s, value) for time_s, value in readings if value is not None)
    missing = _uncovered([time_s for time_s, _ in points], window)
    if missing:
        return Missing(missing)
    learned = meter.dynamics.refresh_s is not None
    meter = _with_refresh(meter, points, window, load)
    course = _course(points, window, meter, load)
    fewest = FEWEST_SAMPLES if learned else FEWEST_UNPROVEN
    refused = why_too_short(window.seconds, course.cut_s, meter.dynamics, course.read_every_s, fewest)
    if refused:
        return Missing(refused)
    if not course.points:
        return Missing("it drew no energy while the load ran")
    clipped = _clip(course.points, window)
    energy_j = sum((t1 - t0) * (p0 + p1) / 2 for (t0, p0), (t1, p1) in pairwise(clipped))
    bound_j = _bound_j(course, clipped, window, meter)
    return replace(_energy(energy_j, window, meter, bound_j, course.updates), spread_w=course.spread_w)


def _with_refresh(meter: Meter, points: Points, window: Window, load: Window | None) -> Meter:
    """A meter of which it is not known how often it is refreshed: as these readings say at worst.

    Of one that stays within a step nothing can be told, and little can be wrong.
    """
    if meter.dynamics.refresh_s is not None:
        return meter
    first_s, last_s = (window.start_s, window.end_s) if load is None else (load.start_s, load.end_s)
    load_points = [point for point in points if first_s <= point[0] <= last_s]
    values = [value for _, value in load_points]
    still_w = max(STILL_STEPS * (meter.step_w or 0.0), STILL_RATIO * max(values, default=0.0))
    if not load_points or max(values) - min(values) <= still_w:
        return meter
    return replace(meter, dynamics=replace(meter.dynamics, refresh_s=meters.longest_refresh(load_points)))


@dataclass(frozen=True, slots=True)
class _Course:
    """What a meter saw of a window: its samples at the times they are about, and how much it missed."""

    points: Points
    cut_s: float
    read_every_s: float
    updates: int
    spread_w: float
    noise_w: float
    before_w: float | None
    settled_s: float
    """from when on samples show nothing of before the load, whichever likely meter it is"""


def _course(points: Points, window: Window, meter: Meter, load: Window | None) -> _Course:
    dynamics = meter.dynamics
    every_s = meters.interval_s([time_s for time_s, _ in points])
    until_end = points if load is None else [point for point in points if point[0] <= load.end_s]
    taken = meters.samples(until_end, dynamics.refresh_s)
    clean_s = settled_s = -math.inf
    if load is not None:
        late_s = min(every_s, meter.update_s) if dynamics.refresh_s is None else every_s
        clean_s, settled_s = (
            load.start_s + max(late_s, after_s or 0.0)
            for after_s in (dynamics.shows_before_s, dynamics.settle_s)
        )
    clean_samples = [sample for sample in taken if sample[0] >= clean_s]
    inside = [sample for sample in clean_samples if window.start_s <= sample[0] <= window.end_s]
    values = [value for _, value in inside] or [value for _, value in clean_samples]
    before = [value for time_s, value in points if load is not None and time_s <= load.start_s]
    return _Course(
        points=[(time_s - dynamics.age_s, value) for time_s, value in clean_samples],
        cut_s=max(0.0, settled_s - window.start_s),
        read_every_s=every_s,
        updates=_updates(inside, dynamics, every_s),
        spread_w=max(values, default=0.0) - min(values, default=0.0),
        noise_w=_from_one_to_the_next(inside),
        before_w=before[-1] if before else None,
        settled_s=math.inf if dynamics.settle_s is None else settled_s,
    )


def _updates(inside: Points, dynamics: Dynamics, every_s: float) -> int:
    """Samples where they are told from readings; else values that differ from the one before."""
    refresh_s = dynamics.refresh_s
    if refresh_s is not None and refresh_s > POLL_LIMITED * every_s:
        return len(inside)
    return min(len(inside), 1 + len(meters.changes(inside)))


def _from_one_to_the_next(points: Points) -> float:
    """Bound on the mean of random power, from samples of it (von Neumann's differences), W."""
    squares = [(after[1] - before[1]) ** 2 / 2 for before, after in pairwise(points)]
    if not squares:
        return 0.0
    return student_t(len(squares)) * math.sqrt(math.fsum(squares) / len(squares) / len(points))


def _bound_j(course: _Course, clipped: Points, window: Window, meter: Meter) -> float:
    """Bound on what the times of samples leave open, J."""
    dynamics = meter.dynamics
    jumps_j = _timing_j([(t1 - t0) * abs(p1 - p0) / 2 for (t0, p0), (t1, p1) in pairwise(clipped)])
    sampled_j = course.noise_w * window.seconds
    late_s = min(meter.update_s, course.read_every_s) + dynamics.age_error_s
    lag_j = late_s * abs(clipped[-1][1] - clipped[0][1])
    first_s, last_s = course.points[0][0], course.points[-1][0]
    open_s = max(0.0, first_s - window.start_s) + max(0.0, window.end_s - last_s - course.read_every_s)
    varied_w = max(course.spread_w, course.noise_w)
    mixed_s = (dynamics.averaging_s or 0.0) / 4
    left_j = _left_of_before_j(clipped, course, dynamics)
    return math.hypot(jumps_j, sampled_j) + lag_j + (open_s + mixed_s) * varied_w + left_j


def _left_of_before_j(clipped: Points, course: _Course, dynamics: Dynamics) -> float:
    """What the window may still show of the power before the load, J."""
    if course.before_w is None:
        return 0.0
    settled_s = course.settled_s - dynamics.age_s
    settled = [value for time_s, value in clipped if time_s >= settled_s]
    level_w = median(settled or [value for _, value in clipped[-len(clipped) // 4 :]])
    side = math.copysign(1.0, course.before_w - level_w)
    heights = [
        (time_s, max(0.0, side * (value - level_w))) for time_s, value in clipped if time_s < settled_s
    ]
    beginning = list(takewhile(lambda point: point[1] > 0, heights))
    left_j = sum((t1 - t0) * (h0 + h1) / 2 for (t0, h0), (t1, h1) in pairwise(beginning))
    if dynamics.settle_s is None:
        return left_j
    rest_w = abs(clipped[0][1] - course.before_w)
    return left_j + meters.SETTLED_RATIO * rest_w * (dynamics.averaging_s or 0.0)


def _timing_j(jumps_j: Sequence[float]) -> float:
    """Error from not knowing when power changed between two updates, J.

    Many small ones fall either way and add as squares; the few largest may all fall the same way.
    """
    ordered = sorted(jumps_j, reverse=True)
    return math.fsum(ordered[:SAME_WAY]) + math.hypot(*ordered[SAME_WAY:])


def energy_from_total(readings: Readings, window: Window, meter: Meter, counted_j: float) -> Energy | Missing:
    """Energy that a running total counted in the window (``counted_j``, free of wraps), or why it tells none.

    The window's edges fall between updates: there the power is known no better than the steps around it. Of
    one that holds its value over several readings each edge may be late by a whole update, and the other by
    none. A total that did not move is of a meter too coarse for the window, or of one that stands: never 0 W;
    nor does one that stood still for a part of it, and did not make up for that, tell anything.
    """
    if counted_j <= 0:
        steps = f", in steps of {meter.step_j:g} J" if meter.step_j else ""
        return Missing(f"its total did not move in the window{steps}")
    ordered = sorted((time_s, value) for time_s, value in readings if value is not None)
    moves = [after for before, after in pairwise(ordered) if after[1] != before[1]]
    stood_s = None if meter.step_j else _stood_still_s([ordered[0], *moves, ordered[-1]], window)
    if stood_s is not None:
        return Missing(f"its total did not change for {stood_s:.1f} s of the window")
    times = [time_s for time_s, _ in (ordered[0], *moves, ordered[-1])]
    longest_s = max((after - before for before, after in pairwise(times)), default=0.0)
    edges_j = 2 * counted_j / window.seconds * longest_s / 4
    read_every_s = meters.interval_s([time_s for time_s, _ in ordered])
    is_held = longest_s > POLL_LIMITED * read_every_s
    coarse_j = max(edges_j + (meter.step_j or 0.0), _largest_update_j(ordered) if is_held else 0.0)
    stepless_meter = Meter(meter.update_s, None, meter.tolerance_ratio)
    return _energy(counted_j, window, stepless_meter, coarse_j, _inside(moves, window))


def _stood_still_s(updates: Points, window: Window) -> float | None:
    """How long a total, of which every move is given, stood in the window with joules that it never counted.

    What comes after a long time holds all that was drawn meanwhile, unless the meter hung.
    """
    steps = [(t0, t1, e1 - e0) for (t0, e0), (t1, e1) in pairwise(updates)]
    usual_s = median(t1 - t0 for t0, t1, _ in steps)
    usual_w = median(moved_j / (t1 - t0) for t0, t1, moved_j in steps if t1 > t0)
    for t0, t1, moved_j in steps:
        inside_s = min(t1, window.end_s) - max(t0, window.start_s)
        is_lost = 0 <= moved_j < usual_w * (t1 - t0) / MAX_GAP_READINGS  # below 0 it wrapped
        if inside_s > MAX_GAP_READINGS * usual_s and is_lost:
            return inside_s
    return None


def _largest_update_j(ordered: Points) -> float:
    """The most that a total moved by at once, J; a step back, through a wrap, does not say by how much."""
    return max((after[1] - before[1] for before, after in pairwise(ordered)), default=0.0)


def _energy(energy_j: float, window: Window, meter: Meter, timing_j: float, updates: int) -> Energy:
    tolerance_j = (meter.tolerance_ratio or 0.0) * abs(energy_j)
    step_j = (meter.step_w or 0.0) * window.seconds
    uncertainty_j = math.hypot(tolerance_j, step_j + timing_j)
    return Energy(energy_j, energy_j / window.seconds, uncertainty_j, updates)


def _uncovered(times_s: Sequence[float], window: Window) -> str | None:
    """Whether somebody read the meter all through the window, whatever it said."""
    if len(times_s) < 2 or times_s[0] > window.start_s or times_s[-1] < window.end_s:
        return "its readings do not cover the window"
    usual_s = meters.interval_s(times_s)
    for before, after in pairwise(times_s):
        touches = after > window.start_s and before < window.end_s
        if touches and after - before > MAX_GAP_READINGS * usual_s:
            return f"no reading for {after - before:.1f} s"
    return None


def _inside(updates: Sequence[tuple[float, float]], window: Window) -> int:
    return sum(window.start_s <= time_s <= window.end_s for time_s, _ in updates)


def _clip(points: Points, window: Window) -> Points:
    """The course of power in the window; beyond the first and the last sample it is held."""
    inside = [point for point in points if window.start_s < point[0] < window.end_s]
    return [
        (window.start_s, _at(points, window.start_s)),
        *inside,
        (window.end_s, _at(points, window.end_s)),
    ]


def _at(points: Points, time_s: float) -> float:
    if time_s <= points[0][0]:
        return points[0][1]
    for (t0, p0), (t1, p1) in pairwise(points):
        if t0 <= time_s <= t1:
            return p0 if t1 == t0 else p0 + (p1 - p0) * (time_s - t0) / (t1 - t0)
    return points[-1][1]
