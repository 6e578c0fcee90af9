# SPDX-License-Identifier: Apache-2.0
"""Other traffic is told only where the readings that close the window are of the load alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.wiring import OMIT_S, SECONDS, WINDOW_S, Change, both, counters, sensor, setup, story, told

from linewatt.engine.feed import Reading

NEIGHBOUR = counters("h2", "nic.rx_bytes", 3e9 / 8 * WINDOW_S)
TO_THE_END = setup(window_s=SECONDS - OMIT_S)


def last_reading(later_s: float) -> Change:
    """The reading behind the load comes later."""

    def change(reading: Reading) -> Reading:
        *own, last = reading.records
        return replace(reading, records=(*own, replace(last, received_s=last.received_s + later_s)))

    return sensor("h2", "netcounters", change)


@pytest.mark.parametrize(
    ("change", "told_of"),
    [
        (story(), True),
        (both(setup(omit_s=0.3), story(start_delay_s=0.05)), False),
        (both(setup(omit_s=0.3), story(start_delay_s=0.0)), True),
        (TO_THE_END, True),
        (both(TO_THE_END, last_reading(0.8)), False),
    ],
    ids=["well within", "begins before the load", "begins with it", "ends with it", "ends after the load"],
)
def test_a_neighbour_is_told_where_the_readings_of_the_window_are_of_the_load(
    change: Change, told_of: bool
) -> None:
    found = told(both(NEIGHBOUR, change)).trial()
    assert any(flag.code == "neighbour-traffic" for flag in found.flags) == told_of
    assert found.receiver is not None
    assert found.receiver.counters["nic.rx_bytes"] is not None, "it is not for want of a number"
