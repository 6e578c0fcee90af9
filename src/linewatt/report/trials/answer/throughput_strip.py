# SPDX-License-Identifier: Apache-2.0
"""Throughput over time on the first screen: a line of marks below the result, of one trial of one case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from linewatt.analysis.cases import with_flows
from linewatt.errors import StoreError
from linewatt.report.charts.time_series import sum_if_complete
from linewatt.report.printing.screen import Line, Screen, sparkline
from linewatt.report.trials.answer.answer import RESULT, fastest_best
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.readings import median_trial, read_throughput
from linewatt.units import format_rate, format_seconds

_MOST_MARKS = 40
_FEWEST_MARKS = 3
"""of fewer a line of marks shows no course"""
_GAP = "·"
"""where a reading is missing: a blank would let the line break there"""


def first_screen_with_strip(view: Digest) -> Screen | None:
    """The first screen of a result for a terminal; None where there is nothing to say."""
    screen = first_screen_of_trials(view)
    return screen and with_throughput_strip(screen, view)


def with_throughput_strip(screen: Screen, view: Digest) -> Screen:
    """The screen with the strip below its result, if it has that block and samples are stored.

    Damaged samples leave it out: ``linewatt verify`` names them.
    """
    if not any(block.title == RESULT for block in screen.blocks):
        return screen
    strip = None
    with suppress(StoreError):
        strip = throughput_strip(view)
    blocks = (replace(block, picture=strip) if block.title == RESULT else block for block in screen.blocks)
    return replace(screen, blocks=tuple(blocks))


def throughput_strip(view: Digest) -> Line | None:
    """Throughput of the fastest case over the window of its median trial, from 0.

    None where no samples of that trial are stored. Reads no others. Raises StoreError for damaged ones.
    """
    best = next((best for best in fastest_best(view) if best.summary.case.flow_of is None), None)
    if best is None:
        return None
    runs = [
        trial
        for trial in with_flows(view.result.trials)
        if trial.case == best.summary.case and trial.status == "done"
    ]
    trial = median_trial(runs)
    course = None if trial is None else read_throughput(view.result, trial)
    if trial is None or course is None:
        return None
    values = _means(course.in_window)
    top = max((value for value in values if value is not None), default=0.0)
    if len(values) < _FEWEST_MARKS or top <= 0:
        return None
    marks = sparkline(values, top).replace(" ", _GAP)
    several = sum(len(group.series) for group in view.groups) > 1
    which = f", the median of {len(runs)}" if len(runs) > 1 else ""
    words = (
        f"scale 0 to {format_rate(top, 4)}; {format_seconds(course.window_s)} of trial {trial.number}{which}"
    )
    return Line(best.name if several else "", prose=f"{marks} {words}", drawn=True)


def _means(values: Sequence[float | None]) -> list[float | None]:
    """At most ``_MOST_MARKS`` means of equally many values; none where one is missing."""
    size = math.ceil(len(values) / _MOST_MARKS) or 1
    portions = [values[at : at + size] for at in range(0, len(values), size)]
    return [None if (total := sum_if_complete(part)) is None else total / len(part) for part in portions]
