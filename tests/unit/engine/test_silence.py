# SPDX-License-Identifier: Apache-2.0
"""How long nothing must arrive of what TCP has sent before a trial has failed."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.wiring import told

from linewatt.engine.measuring.cut import InstanceRun
from linewatt.engine.measuring.link import silence_reason
from linewatt.engine.measuring.window import EndRun
from linewatt.loads.base import LoadEnd, LoadInterval
from linewatt.model import Window

RUN = told().run
START_S = 2.0


def end_of(
    start_s: float, interval_s: float, seconds: float, quiet_s: tuple[float, float] = (0.0, 0.0)
) -> EndRun:
    """A megabyte an interval from a start on, but for those within the quiet time."""
    spans = [(at * interval_s, (at + 1) * interval_s) for at in range(round(seconds / interval_s))]
    intervals = tuple(
        LoadInterval(begin_s, end_s, 0 if quiet_s[0] <= (begin_s + end_s) / 2 < quiet_s[1] else 10**6)
        for begin_s, end_s in spans
    )
    return EndRun(LoadEnd(False, "3.12", intervals, seconds, None), start_s, 0.001)


@pytest.mark.parametrize(
    ("interval_s", "window_s", "quiet_s", "is_silence"),
    [
        (0.1, 5.0, 0.9, False),
        (0.1, 5.0, 1.2, True),
        (1.0, 8.0, 2.0, False),
        (1.0, 8.0, 4.0, True),
        (0.1, 40.0, 3.8, False),
        (0.1, 40.0, 4.2, True),
    ],
    ids=["a second", "more", "three intervals", "more of them", "a tenth of the window", "more of it"],
)
def test_silence_is_a_second_three_intervals_of_the_load_and_a_tenth_of_the_window(
    interval_s: float, window_s: float, quiet_s: float, is_silence: bool
) -> None:
    whole_s = window_s + 2 * START_S
    sender = end_of(-0.1, interval_s, whole_s)
    receiver = end_of(0.0, interval_s, whole_s, (START_S + 1.0, START_S + 1.0 + quiet_s))
    runs = [InstanceRun(cast(Any, None), sender, receiver)]
    found = silence_reason(RUN, runs, Window(START_S, START_S + window_s))
    assert (found is not None) is is_silence
