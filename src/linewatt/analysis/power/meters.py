# SPDX-License-Identifier: Apache-2.0
"""How a meter follows the power: how often it is refreshed, over how long it averages, how late it is. Pure.

A reading is what the meter took at some moment (a sample), held until the next one and read several times, or
not at all, by whoever polls it. Both are told from the readings alone:

- refresh: the usual distance of *distinct* values. Power that stands still hides a refresh, so distances are
  multiples of it: the cluster of the shortest is taken, and believed only if enough of them agree;
- averaging and delay: what readings do after a step of the power at a known time (the start of a load). Two
  shapes are tried, a moving average and a first-order (exponential) one, on a grid of averaging times and
  delays; the errors of all steps are added. Averaging is stated only where no meter without it explains them,
  and of quick ones that do the one that settles first: a load's uneven beginning looks like a slower meter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise, permutations
from statistics import median
from typing import Any, Literal, NamedTuple

from linewatt.findings import LATE_S
from linewatt.sensors.power import POLL_LIMITED, Dynamics

Points = Sequence[tuple[float, float]]
"""(time in s, W) in order"""

FEWEST_DISTANCES = 4
CLUSTER = 1.35
"""distances up to so many times the shortest are of one refresh"""
FEWEST_IN_CLUSTER = 3
CLUSTER_SHARE = 0.4
"""so many of all distances must be one refresh long, for it to be the usual one"""

AVERAGING_S = (0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0)
DELAY_S = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
MIN_STEPS_OF_METER = 4
"""A step of the power must be so many of the meter's steps high, and of the noise, to be fitted."""
MIN_STEP_RATIO = 0.06
"""and so much of the power"""
MAX_FIT_S = 120.0
MAX_FIT_SAMPLES = 40
FEWEST_AFTER_STEP = 3
LIKELY = 8.0
"""Models whose squared errors (in units of the noise) exceed the best one's by no more may be true."""
MOST_PER_STEP = 60.0
"""One odd step, such as a fan's that sped up later, does not outvote all others."""
FEWEST_BEFORE_LOADS = 3
BURST_HEIGHT = 6.0
BURST_RATIO = 0.25
"""Power that is up by so much of the noise, for less than so much of the shortest load, is of none: it was
drawn to get ready for them."""
EXPLAINED_RATIO = 0.6
"""of how readings vary over a course, for it to be taken for that of its loads.

Simulated: over two loads of 15 W beside steps of 10 W that the host makes by itself, 70 of 100 meters that
are 20 s late are found late so, and 47 with 0.8; of quick ones 4 are called late with either. Power that
rises once by itself, over loads that draw nothing, looks like a late meter in 88 of 100 courses, and in 86
with 0.8: watts are withheld then.
"""
MAX_COURSE_SAMPLES = 200
PEAK_S = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
MIN_PEAK_S = 2.0
PEAK_LIKELY = 3 * 8.0
"""By so much more than a peak every average and delay must fail to explain a course."""
UNLIKELY = 3 * 8.0
"""By so much better than all others a model must explain a course where loads draw what their CPU use does
not: CPUs may be busy with what others do, and other parts of a host draw power, too."""
HALF_SHOWN = 0.5
"""Of a load that shows less its height is not known."""
CONCAVE_RATIO = 0.5
"""What a load draws, to what its CPU use lets expect at least."""
LEAST_RATIO = 0.2
"""Where it seems to draw no more than this of that, another one is shown."""
ANYBODYS_CORES = 0.1
"""CPU use that tells no load from another: a host uses as much by itself."""
SETTLED_RATIO = 0.05
"""An exponential response has settled when so little of the step is missing."""

VAGUE_S = 3.0
VAGUE_REFRESHES = 2.0
"""Steps that a meter which has settled before so long, and so many of its own refreshes, explains as well as
one that needs longer tell neither."""

Shape = Literal["window", "exponential"]


class Model(NamedTuple):
    """One way in which a meter may follow: its averaging time and delay in s."""

    shape: Shape
    averaging_s: float
    delay_s: float

    @property
    def settle_s(self) -> float:
        """How long after a step a reading still shows what was before."""
        spans = 1.0 if self.shape == "window" else -math.log(SETTLED_RATIO)
        return self.delay_s + spans * self.averaging_s

    @property
    def window_s(self) -> float:
        """The moving average that is as old."""
        return self.averaging_s * (1 if self.shape == "window" else 2)


@cache
def models() -> tuple[Model, ...]:
    """The grid that steps are fitted on."""
    shapes: tuple[Shape, ...] = ("window", "exponential")
    return tuple(
        Model(shape, averaging_s, delay_s)
        for delay_s in DELAY_S
        for averaging_s in AVERAGING_S
        for shape in shapes
        if averaging_s > 0 or shape == "window"
    )


def shown(among: Sequence[Model], after_s: Any) -> Any:
    """[model, time] → the part of a step that shows so long after it, 0 to 1."""
    import numpy as np

    delays_s = np.array([[model.delay_s] for model in among])
    spans_s = np.array([[model.averaging_s] for model in among])
    is_window = np.array([[model.shape == "window"] for model in among])
    since_s = np.maximum(np.asarray(after_s) - delays_s, 0.0)
    spans = since_s / np.where(spans_s > 0, spans_s, 1.0)
    averaged = np.where(is_window, np.minimum(1.0, spans), -np.expm1(-spans))
    return np.where(spans_s > 0, averaged, since_s > 0)


def interval_s(times_s: Sequence[float]) -> float:
    """How often a meter was read."""
    return median(after - before for before, after in pairwise(times_s)) if len(times_s) > 1 else 1.0


def changes(readings: Points) -> list[float]:
    """When a reading first had another value than the one before."""
    return [after[0] for before, after in pairwise(readings) if after[1] != before[1]]


def refresh(distances_s: Sequence[float], read_every_s: float) -> float | None:
    """The usual time between refreshes, from distances of distinct values; ``None``: it cannot be told.

    A refresh that is not slower than the readings is told as the time between these.
    """
    if len(distances_s) < FEWEST_DISTANCES:
        return None
    ordered = sorted(distances_s)
    shortest_s = ordered[len(ordered) // 10]
    cluster = [
        distance_s
        for distance_s in ordered
        if distance_s <= max(CLUSTER * shortest_s, shortest_s + read_every_s)
    ]
    if len(cluster) < FEWEST_IN_CLUSTER or len(cluster) < CLUSTER_SHARE * len(ordered):
        return None
    usual_s = math.fsum(cluster) / len(cluster)
    return read_every_s if usual_s <= POLL_LIMITED * read_every_s else usual_s


def longest_refresh(readings: Points) -> float | None:
    """The most that the time between refreshes can be, from one stretch of readings; ``None``: they stand
    still. For a meter of which nothing was learned yet.
    """
    moved = changes(readings)
    if len(moved) > 1:
        return min(after - before for before, after in pairwise(moved))
    return moved[0] - readings[0][0] if moved else None


def samples(readings: Points, refresh_s: float | None) -> list[tuple[float, float]]:
    """What a meter took, each at the latest time at which it can have been taken.

    A held value that is read again is no sample; one that is held for several refreshes was taken as often.
    Where it is not known how often the meter is refreshed every reading is one.
    """
    if len(readings) < 2 or refresh_s is None:
        return list(readings)
    if refresh_s <= POLL_LIMITED * interval_s([time_s for time_s, _ in readings]):
        return list(readings)
    first_s, last_s = readings[0][0], readings[-1][0]
    moved = [after for before, after in pairwise(readings) if after[1] != before[1]]
    anchor_s = moved[0][0] if moved else last_s
    before = math.ceil((anchor_s - first_s) / refresh_s)
    taken = [(anchor_s - number * refresh_s, readings[0][1]) for number in range(before, 0, -1)]
    ends = [*(time_s for time_s, _ in moved[1:]), last_s + refresh_s / 2]
    for (time_s, value), end_s in zip(moved, ends, strict=False):  # of none that moved there is one end
        held = max(1, round((end_s - time_s) / refresh_s))
        taken += [(time_s + number * refresh_s, value) for number in range(held)]
    return taken


@dataclass(frozen=True, slots=True)
class Step:
    """How badly each model explains what readings did after a step of the power, in units of the noise."""

    errors: tuple[float, ...]
    watched_s: float = math.inf
    """how long after it readings were taken"""


def fit_step(
    readings: Points,
    step_at_s: float,
    refresh_s: float | None,
    step_w: float | None = None,
    *,
    from_idle: bool = False,
) -> Step | None:
    """The errors of all models over one step; ``None`` where there is no clear one.

    ``readings`` begin before the step. ``from_idle``: no load ran before, so that power cannot have fallen
    because one begins.
    """
    taken = samples(readings, refresh_s)
    before = [value for time_s, value in taken if time_s <= step_at_s]
    after = [sample for sample in taken if step_at_s < sample[0] <= step_at_s + MAX_FIT_S]
    after = _thinned(after)
    if not before or len(after) < FEWEST_AFTER_STEP:
        return None
    level_w = median(before[-5:])
    noise = max(_noise_w(after[len(after) // 2 :]), (step_w or 0.0) / 2, 1e-3 * abs(level_w), 1e-6)
    reached_w = median(value for _, value in after[len(after) // 2 :]) - level_w
    rise_w = reached_w if from_idle else abs(reached_w)
    if rise_w < max(MIN_STEPS_OF_METER * noise, MIN_STEP_RATIO * abs(level_w)):
        return None
    noise = math.hypot(noise, 0.02 * reached_w)
    read_every_s = interval_s([time_s for time_s, _ in readings])
    response = [(time_s - step_at_s, value - level_w) for time_s, value in after]
    errors: list[float] = _misfits(response, read_every_s, noise).tolist()
    smallest_error = min(errors)
    scale = max(1.0, smallest_error / len(response))  # power that no model explains is noise to all of them
    return Step(
        tuple(min(MOST_PER_STEP, (error - smallest_error) / scale) for error in errors), response[-1][0]
    )


class Load(NamedTuple):
    """When a load ran, s, and how many cores its host used meanwhile; None: not known."""

    start_s: float
    end_s: float
    cores: float | None


class _Course(NamedTuple):
    """What a meter took from before the first load on, and by how much that varies by itself."""

    times_s: Any
    values_w: Any
    level_w: float
    """before the first load"""
    noise_w: float
    read_every_s: float


def _course(
    readings: Points, loads: Sequence[Load], refresh_s: float | None, step_w: float | None
) -> _Course | None:
    """``None``: nothing was read before the loads, or the readings vary too little."""
    import numpy as np

    taken = samples(readings, refresh_s)
    taken = taken[:: math.ceil(len(taken) / MAX_COURSE_SAMPLES) or 1]
    first_s = loads[0].start_s
    if sum(time_s <= first_s for time_s, _ in taken) < FEWEST_BEFORE_LOADS:
        return None
    times_s, values_w = np.array(taken).T
    level_w, range_w = float(np.median(values_w[times_s <= first_s])), float(np.ptp(values_w))
    jumps_w = float(np.median(np.abs(np.diff(values_w))))
    noise_w = max(jumps_w, (step_w or 0.0) / 2, 1e-3 * abs(level_w), 1e-6)
    if range_w < max(MIN_STEPS_OF_METER * noise_w, MIN_STEP_RATIO * abs(level_w)):
        return None
    noise_w = math.hypot(noise_w, 0.02 * range_w)
    return _Course(times_s, values_w, level_w, noise_w, interval_s([time_s for time_s, _ in readings]))


def _smoothed(course: _Course, loads: Sequence[Load]) -> Any:
    """Running medians of what was read: they keep the edges of all that lasts longer than a burst."""
    import numpy as np

    longest_s = BURST_RATIO * min(load.end_s - load.start_s for load in loads)
    reach = int(longest_s / float(np.median(np.diff(course.times_s))))
    padded = np.pad(course.values_w, reach, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1), axis=-1)


def _rests(course: _Course, smoothed_w: Any, loads: Sequence[Load]) -> bool:
    """Whether power is down again for longer than loads are that may draw little, while they go on.

    However late a meter is, and however long it averages: once it shows loads, it shows all that draw much.
    """
    import numpy as np

    cores = [load.cores for load in loads if load.cores is not None]
    if len(cores) < len(loads):
        return False
    least_cores = LEAST_RATIO / CONCAVE_RATIO * (max(cores) + ANYBODYS_CORES)
    much = [load for load in loads if (load.cores or 0.0) + ANYBODYS_CORES >= least_cores]
    starts_s, ends_s = [*(load.start_s for load in much[1:]), loads[-1].end_s], [load.end_s for load in much]
    between_s = max(start_s - end_s for start_s, end_s in zip(starts_s, ends_s, strict=True))
    risen_w = smoothed_w - course.level_w
    up_s = course.times_s[risen_w > LEAST_RATIO * risen_w.max()]
    allowed_s = between_s + min(load.end_s - load.start_s for load in loads) / 2
    return bool(np.diff([*up_s, course.times_s[-1]]).max(initial=0.0) > allowed_s)


def fit_course(
    readings: Points, loads: Sequence[Load], refresh_s: float | None, step_w: float | None = None
) -> Step | None:
    """The errors of all models over a course of loads, with idle before the first.

    A meter that is later than a load is long shows that load when it is over: no single step tells that. Of
    each load the height of its power is free, as far as its CPU use allows. ``None``: the loads do not
    explain how the readings vary.
    """
    import numpy as np

    course = _course(readings, loads, refresh_s, step_w)
    if course is None:
        return None
    smoothed_w = _smoothed(course, loads)
    if _rests(course, smoothed_w, loads):
        return None
    in_no_burst = course.values_w - smoothed_w <= BURST_HEIGHT * course.noise_w
    course = course._replace(times_s=course.times_s[in_no_burst], values_w=course.values_w[in_no_burst])
    errors = _course_errors(course, loads)
    smallest_error, number = float(errors.min()), len(course.times_s)
    if not _explains(course, smallest_error):
        return None
    scaled = np.minimum((errors - smallest_error) / max(1.0, smallest_error / number), MOST_PER_STEP)
    return Step(tuple(scaled.tolist()), float(course.times_s[-1]) - loads[0].start_s)


def _explains(course: _Course, error: float) -> bool:
    left_w2 = error * course.noise_w**2 / len(course.times_s)
    return left_w2 <= (1 - EXPLAINED_RATIO) * float(course.values_w.var())


def _course_errors(course: _Course, loads: Sequence[Load]) -> Any:
    """Of each model the squared errors, in units of the noise; infinite for one that is impossible."""
    import numpy as np

    low, high = (_pulses(course.times_s - late_s, loads) for late_s in (course.read_every_s, 0.0))
    middle, rises_w = (low + high) / 2, course.values_w - course.level_w
    squares = middle.swapaxes(1, 2) @ middle + 1e-6 * np.eye(len(loads))
    heights_w = np.linalg.solve(squares, middle.swapaxes(1, 2) @ rises_w[:, None])
    errors = _beyond(course.noise_w, rises_w, (low @ heights_w)[..., 0], (high @ heights_w)[..., 0])
    are_shown = middle.max(axis=1) > HALF_SHOWN
    unsure_w = MIN_STEPS_OF_METER * course.noise_w
    fall_short = partial(_fall_short, heights_w[..., 0], are_shown, loads, unsure_w)
    errors[(are_shown & (heights_w[..., 0] < -unsure_w)).any(axis=1)] = math.inf  # none takes power away
    errors[fall_short(LEAST_RATIO)] = math.inf
    errors[fall_short(CONCAVE_RATIO)] += UNLIKELY * max(1.0, float(errors.min()) / len(rises_w))
    return errors


def _beyond(noise_w: float, rises_w: Any, some_w: Any, others_w: Any) -> Any:
    """The squared errors beyond what not knowing a sample's time to the interval of readings explains."""
    import numpy as np

    beyond_w = np.maximum(np.minimum(some_w, others_w) - rises_w, rises_w - np.maximum(some_w, others_w))
    return ((np.maximum(beyond_w, 0.0) / noise_w) ** 2).sum(axis=-1)


def fit_peak(
    readings: Points, loads: Sequence[Load], refresh_s: float | None, step_w: float | None = None
) -> float | None:
    """Of a meter that shows the highest power of some time past, that time in s; ``None``: it does not.

    It rises as soon as a load begins, and shows the load for that time after its end: no average and no
    delay does both.
    """
    course = _course(readings, loads, refresh_s, step_w)
    if course is None:
        return None
    shortest_s = max(MIN_PEAK_S, 2 * course.read_every_s, (refresh_s or 0.0) + course.read_every_s)
    behind_s = float(course.times_s[-1]) - loads[-1].end_s - FEWEST_AFTER_STEP * course.read_every_s
    errors = {
        hold_s: _peak_error(course, loads, hold_s) for hold_s in PEAK_S if shortest_s <= hold_s <= behind_s
    }
    if not errors:
        return None
    hold_s, error = min(errors.items(), key=lambda pair: pair[1])
    scale = max(1.0, error / len(course.times_s))
    others = float(_course_errors(course, loads).min())
    return hold_s if _explains(course, error) and (others - error) / scale > PEAK_LIKELY else None


def _peak_error(course: _Course, loads: Sequence[Load], hold_s: float) -> float:
    import numpy as np

    rises_w = course.values_w - course.level_w
    shown_w = []
    for times_s in (course.times_s - course.read_every_s, course.times_s):
        highest_w = np.zeros_like(rises_w)
        for load in loads:
            during = (course.times_s > load.start_s + course.read_every_s) & (course.times_s <= load.end_s)
            if during.any():
                is_shown = (times_s > load.start_s) & (times_s <= load.end_s + hold_s)
                height_w = float(np.median(rises_w[during]))
                highest_w = np.where(is_shown, np.maximum(highest_w, height_w), highest_w)
        shown_w.append(highest_w)
    return float(_beyond(course.noise_w, rises_w, *shown_w))


def _pulses(times_s: Any, loads: Sequence[Load]) -> Any:
    """[model, time, load] → the part of a load's power that shows at a time."""
    import numpy as np

    parts = [
        shown(models(), times_s - load.start_s) * 1.0 - shown(models(), times_s - load.end_s)
        for load in loads
    ]
    return np.stack(parts, axis=-1)


def _fall_short(
    heights_w: Any, are_shown: Any, loads: Sequence[Load], unsure_w: float, least_ratio: float
) -> Any:
    """[model] → whether a load draws less than so much of what its CPU use lets expect.

    Power rises with CPU use, and the more slowly the more is used: a load of half the cores draws half of
    what the other does, or more.
    """
    import numpy as np

    fall_short = np.zeros(len(heights_w), dtype=bool)
    for smaller, larger in permutations(range(len(loads)), 2):
        few_cores, many_cores = loads[smaller].cores, loads[larger].cores
        if few_cores is not None and many_cores is not None:
            ratio = min(1.0, max(few_cores, 1e-3) / max(many_cores, 1e-3))
            needed_w = least_ratio * ratio * heights_w[:, larger] - unsure_w
            pair_shown = are_shown[:, smaller] & are_shown[:, larger]
            fall_short |= pair_shown & (heights_w[:, smaller] < needed_w)
    return fall_short


def is_late(course: Step) -> bool:
    """Whether a course over loads excludes every meter that is not late."""
    return all(
        model.delay_s >= LATE_S
        for model, error in zip(models(), course.errors, strict=True)
        if error <= LIKELY
    )


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first ones all, later ones at most so many."""
    head, tail = points[: MAX_FIT_SAMPLES // 2], points[MAX_FIT_SAMPLES // 2 :]
    stride = max(1, math.ceil(len(tail) / (MAX_FIT_SAMPLES // 2)))
    return [*head, *tail[::stride]]


def _misfits(rises: Points, read_every_s: float, noise_w: float) -> Any:
    """Of each model the squared errors over one step, in units of the noise."""
    import numpy as np

    after_s, rises_w = np.array(rises).T
    low, high = shown(models(), after_s - read_every_s), shown(models(), after_s)
    middle = (low + high) / 2
    weights = (middle * middle).sum(axis=1)
    heights_w = middle @ rises_w / np.where(weights > 0, weights, 1.0)  # 0 where nothing shows
    return _beyond(noise_w, rises_w, low * heights_w[:, None], high * heights_w[:, None])


def _noise_w(points: Points) -> float:
    """How power varies from one sample to the next, without its course (von Neumann)."""
    squares = [(after[1] - before[1]) ** 2 / 2 for before, after in pairwise(points)]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else 0.0


def follow(steps: Sequence[Step], refresh_s: float | None = None) -> Dynamics:
    """What all steps say of averaging and delay; nothing where a quick meter and a slow one explain them."""
    if not steps:
        return Dynamics(refresh_s)
    totals = [math.fsum(errors) for errors in zip(*(step.errors for step in steps), strict=True)]
    smallest_total = min(totals)
    likely = [
        model for model, total in zip(models(), totals, strict=True) if total <= smallest_total + LIKELY
    ]
    best = _best(totals, likely, max(step.watched_s for step in steps))
    quickest = min(likely, key=lambda model: (model.averaging_s > 0, model.settle_s, model.averaging_s))
    stated = quickest if quickest.averaging_s == 0 or best.settle_s <= VAGUE_S else best
    settle_s = max(model.settle_s for model in likely)
    vague_s = max(VAGUE_S, VAGUE_REFRESHES * (refresh_s or 0.0))
    if quickest.settle_s < vague_s < settle_s:
        return Dynamics(refresh_s)
    return Dynamics(refresh_s, averaging_s=stated.window_s, delay_s=stated.delay_s, settle_s=settle_s)


def _best(totals: Sequence[float], likely: Sequence[Model], watched_s: float) -> Model:
    """The one with the least error, of those that had settled while they were watched, if any had.

    Of one that needs longer only the beginning was seen, which looks alike for each of them: how high it
    would have risen is a free guess.
    """
    settled = [model for model in likely if model.settle_s <= watched_s]
    errors = dict(zip(models(), totals, strict=True))
    return min(settled or likely, key=lambda model: (errors[model], model.settle_s))


def dynamics(
    distances_s: Sequence[float],
    read_every_s: float,
    steps: Sequence[Step],
    course: Step | None = None,
    peak_s: float | None = None,
) -> Dynamics:
    """All that is known of a meter. Of a late one, steps are of other loads than it shows.

    One that shows peaks follows a load at once, and may show a higher one before it for ``peak_s``.
    """
    if peak_s is not None:
        return Dynamics(refresh(distances_s, read_every_s), averaging_s=0.0, delay_s=0.0, settle_s=peak_s)
    if course is not None and is_late(course):
        steps = [course]
    return follow(steps, refresh(distances_s, read_every_s))
