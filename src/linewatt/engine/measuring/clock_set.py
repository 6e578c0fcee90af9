# SPDX-License-Identifier: Apache-2.0
"""Whether the clock of a host was set while a trial ran, by the stamps of its readings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.trial_run import TrialRun
from linewatt.errors import ParseError
from linewatt.findings import CLOCK_SET_S
from linewatt.hosts import DRIFT_RATIO, Offset, set_in_trial
from linewatt.sensors import netcounters_time_s

FEWEST_RECORDS = 3
"""on either side of a step: one that is late by chance is none"""


def clock_was_set(run: TrialRun, readings: Mapping[str, Sequence[Reading]]) -> str | None:
    """Why stamps of a host of a trial are of two clocks; ``None``: they are not."""
    for host in run.planned.case.hosts if run.outputs or run.users else ():
        reading = next(
            (reading for reading in readings.get(host, ()) if reading.source == "netcounters"), None
        )
        if reading is None or host not in run.clocks:
            continue
        step_s = clock_step_s(_late_s(reading, run.clocks[host]), run.ended_s - run.started_s)
        if step_s is not None:
            return set_in_trial(host, step_s)
    return None


def clock_step_s(late_s: Sequence[float], seconds: float) -> float | None:
    """By how much a clock was set in a trial of ``seconds``, by how late each of its records came, in order.

    The quickest record of either side tells of the clock. Records that come later than before may be those of
    a way that got slower, unless those before came earlier than they were stamped.
    """
    splits = range(FEWEST_RECORDS, len(late_s) - FEWEST_RECORDS + 1)
    sides = [(min(late_s[:number]), min(late_s[number:])) for number in splits]
    before_s, after_s = max(sides, key=lambda side: abs(side[0] - side[1]), default=(0.0, 0.0))
    step_s, threshold_s = before_s - after_s, CLOCK_SET_S + DRIFT_RATIO * seconds
    if abs(step_s) < threshold_s or (step_s < 0 and before_s > -threshold_s):
        return None
    return step_s


def _late_s(reading: Reading, clock: Offset) -> list[float]:
    """Arrival minus stamp of each record."""
    late_s = []
    for record in reading.records:
        with suppress(ParseError):
            late_s.append(record.received_s - clock.to_controller(netcounters_time_s(record.text)))
    return late_s
