# SPDX-License-Identifier: Apache-2.0
"""What two meters of one host say of each other over a staircase of load. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linewatt.analysis.power import Points
from linewatt.features.calibration import line as lines
from linewatt.features.calibration.course import Course
from linewatt.features.calibration.delay import Delay, delay
from linewatt.features.calibration.line import Line, Step
from linewatt.missing import Missing

SIDES: Mapping[str, str] = {
    "wall": "AC in",
    "psu-in": "AC in",
    "system": "AC in",
    "psu-out": "DC out",
    "cpu": "CPU",
    "package": "CPU",
    "memory": "memory",
    "dram": "memory",
}
"""scope → what can be compared: watts of one side of the supplies, or of one part"""
TOLERANCE_RATIO = 0.05
"""what a BMC was held to by two meters at the plug in the study that linewatt follows"""
FEWEST_READINGS = 20
LEAST_STEP_S = 3.0
LEAST_STEP_RATIO = 0.25
"""of the window, as long must be left of it once both meters have settled"""
SAME_LOAD_RATIO = 0.01
"""A step whose power differs from that of the one before by less has none below it and none above."""


@dataclass(frozen=True, slots=True)
class Load:
    """A stretch of one load, Unix s: since when it ran, and the steady window of it; ``key`` is the same for
    loads that are alike."""

    begun_s: float
    start_s: float
    end_s: float
    key: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Compared:
    """A line and a delay, what they are from, or in ``line`` why there is none; ``delay`` is None where the
    steps do not tell it."""

    line: Line | Missing
    delay: Delay | None = None
    steps: tuple[Step, ...] = ()
    meter_refresh_s: float | None = None
    reference_refresh_s: float | None = None


def compare(
    meter: Points,
    reference: Points,
    loads: Sequence[Load],
    step_w: tuple[float, float] = (0.0, 0.0),
    tolerance_ratio: float = TOLERANCE_RATIO,
    names: tuple[str, str] = ("the meter", "the reference"),
) -> Compared:
    """Fit ``meter`` to ``reference``: (Unix s, W) in order, read all through the ``loads``.

    ``step_w``: the smallest difference that each can show, the meter's first; so are ``names``.
    """
    for name, points in zip(names, (meter, reference), strict=True):
        if len(points) < FEWEST_READINGS:
            return Compared(Missing(f"{name} gave {len(points)} readings; {FEWEST_READINGS} are needed"))
    still = [
        f"{name} stood still at {points[0][1]:.1f} W"
        for name, points in zip(names, (meter, reference), strict=True)
        if len({value for _, value in points}) == 1
    ]
    if still:
        also = "; a load that draws more is needed, or both hang" if len(still) == 2 else ""
        return Compared(Missing(f"{' and '.join(still)} in all windows{also}"))
    ordered = sorted(loads, key=lambda load: load.begun_s)
    meter_course, reference_course = Course(meter), Course(reference)
    late = delay(meter_course, reference_course, [load.begun_s for load in ordered])
    steps = tuple(_steps(meter_course, reference_course, ordered, late))
    if len(steps) < lines.FEWEST_STEPS <= len(ordered) and late is not None:
        why: Line | Missing = Missing(
            f"only {len(steps)} of {len(ordered)} windows are long enough: one meter "
            f"follows the other {late.value_s:.1f} s later and averages over {abs(late.averaging_s):g} s more"
        )
    else:
        why = lines.line(steps, step_w, tolerance_ratio, names)
    told_delay = None if isinstance(why, Missing) else late
    return Compared(why, told_delay, steps, meter_course.refresh_s, reference_course.refresh_s)


def _steps(meter: Course, reference: Course, loads: Sequence[Load], late: Delay | None) -> list[Step]:
    """Both means over each load once both have settled: that of the later one as much later as it is."""
    import numpy as np

    late_s, averaging_s = (late.value_s, abs(late.averaging_s)) if late else (0.0, 0.0)
    # how much later the slower one is than the quicker one, which may be late itself
    behind_s = late_s if late is not None and late.averaging_s >= 0 else -late_s
    settle_s = max(averaging_s / 2, averaging_s - behind_s)
    settle_s += max(course.sample_every_s for course in (meter, reference))
    steps: list[Step] = []
    before_w: float | None = None
    for load in loads:
        start_s, end_s = max(load.start_s, load.begun_s + settle_s), load.end_s - averaging_s / 2
        if end_s - start_s < max(LEAST_STEP_S, LEAST_STEP_RATIO * (load.end_s - load.start_s)):
            continue
        span = np.array([start_s, end_s])
        reference_w, meter_w = (
            float(course.means(*np.split(span + max(0.0, later_s), 2))[0])
            for course, later_s in ((reference, -late_s), (meter, late_s))
        )
        if np.isfinite(reference_w) and np.isfinite(meter_w):
            steps.append(Step(reference_w, meter_w, load.key, _rises(before_w, reference_w), load.number))
            before_w = reference_w
    return steps


def _rises(before_w: float | None, now_w: float) -> bool | None:
    if before_w is None or abs(now_w - before_w) <= SAME_LOAD_RATIO * before_w:
        return None
    return now_w > before_w
