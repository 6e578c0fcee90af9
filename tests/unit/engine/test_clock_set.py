# SPDX-License-Identifier: Apache-2.0
"""A clock that was set in mid-trial, and ways to a host that are slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.engine.measuring.clock_set import clock_step_s

DELAYS_S = st.lists(st.floats(0, 0.05), min_size=12, max_size=40)


@given(DELAYS_S, st.floats(0.6, 1e4), st.sampled_from([1, -1]), st.integers(3, 9))
def test_a_step_is_told_within_the_delays_of_the_way(
    delays_s: list[float], size_s: float, sign: int, number: int
) -> None:
    """Stamps of before the step lie so much earlier on the line of the clock as it is now."""
    late_s = [delay_s + (sign * size_s if at < number else 0.0) for at, delay_s in enumerate(delays_s)]
    assert clock_step_s(late_s, 24.0) == pytest.approx(sign * size_s, abs=0.1)


@given(DELAYS_S, st.floats(0.6, 20), st.integers(3, 40), st.integers(1, 40))
def test_a_way_that_gets_slow_is_no_step(
    delays_s: list[float], slow_s: float, first: int, length: int
) -> None:
    """Records may come late from some time on, or for a while: nothing is stamped after it came."""
    slow = range(first, first + length)
    late_s = [delay_s + (slow_s if at in slow else 0.0) for at, delay_s in enumerate(delays_s)]
    assert clock_step_s(late_s, 24.0) is None


def test_a_way_that_gets_a_little_quicker_is_no_step() -> None:
    """Records may wait for 0.3 s and no longer: less than half a second is the way's."""
    assert clock_step_s([0.3] * 6 + [0.0] * 6, 24.0) is None


def test_a_clock_that_is_slewed_is_not_called_set() -> None:
    """500 ppm over an hour are 1.8 s."""
    late_s = [0.02 + 5e-4 * (3600 - at) for at in range(0, 3600, 10)]
    assert clock_step_s(late_s, 3600.0) is None
