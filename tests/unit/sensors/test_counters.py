# SPDX-License-Identifier: Apache-2.0
"""Counting in a window: exact between readings, never wrong through wrap, reset or gap."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linewatt.model import Window
from linewatt.sensors.counters import WRAP_PART, counter_delta

Readings = list[tuple[float, float | None]]

increases = st.lists(st.integers(0, 2**26), min_size=4, max_size=12)
starts = st.integers(0, 2**32 - 1)


def readings(increases: list[int], start: int = 0, first_s: float = 0.0) -> Readings:
    totals = accumulate(increases, initial=start)
    return [(first_s + second, float(total)) for second, total in enumerate(totals)]


def wrapped(values: Readings, bits: int) -> Readings:
    return [(time_s, None if value is None else value % 2**bits) for time_s, value in values]


@given(increases, starts)
def test_a_window_on_readings_counts_exactly_what_lies_between_them(steps: list[int], start: int) -> None:
    delta = counter_delta(readings(steps, start), Window(1.0, len(steps) - 1.0), 64)
    assert delta.value == sum(steps[1:-1])
    assert delta.reason is None


@given(increases, *2 * [st.integers(0, 16).map(lambda number: number / 16)])
def test_what_is_counted_between_two_readings_may_lie_in_the_window_or_beside_it(
    steps: list[int], begin: float, end: float
) -> None:
    window = Window(begin, len(steps) - end)
    delta = counter_delta(readings(steps), window, 64)
    assert delta.value is not None
    assert delta.lower_bound <= delta.value * (1 + 1e-9)
    assert delta.value <= delta.upper_bound * (1 + 1e-9)
    assert delta.lower_bound == sum(steps[1 if begin else 0 : len(steps) - (1 if end else 0)])
    assert delta.upper_bound == sum(steps[1 if begin == 1 else 0 : len(steps) - (1 if end == 1 else 0)])


@given(increases, starts)
def test_a_wrapped_counter_gives_the_same_positive_count(steps: list[int], start: int) -> None:
    values = readings(steps, start)
    window = Window(0.5, len(steps) - 0.5)
    plain = counter_delta(values, window, 64)
    assert counter_delta(wrapped(values, 32), window, 32).value == pytest.approx(plain.value)
    assert plain.value is not None
    assert plain.value >= 0


@given(increases, starts, st.integers(-10_000, 10_000))
def test_neither_the_clock_nor_the_counters_zero_matters(steps: list[int], start: int, shift: int) -> None:
    here = counter_delta(readings(steps), Window(0.5, len(steps) - 0.5), 64)
    there = counter_delta(
        readings(steps, start, first_s=float(shift)), Window(shift + 0.5, shift + len(steps) - 0.5), 64
    )
    assert there.value == pytest.approx(here.value)


@given(increases, st.integers(0, 2**31), st.integers(1, 2), st.sampled_from([None, 32, 64]))
def test_a_reset_is_never_a_number(steps: list[int], after: int, at: int, bits: int | None) -> None:
    values = readings(steps, 2**31 + 2**29)
    restarted: Readings = [
        *values[: at + 1],
        *((at + 1.0 + n, float(after + n)) for n in range(len(steps) - at)),
    ]
    last = restarted[at][1]
    assume(last is not None and after < last)
    assume(bits != 32 or after + 2**32 - (last or 0) >= 2**32 / WRAP_PART)
    delta = counter_delta(restarted, Window(0.5, len(steps) - 0.5), bits)
    assert delta.value is None
    assert delta.reason is not None
    assert delta.reason.startswith("counter reset")


def test_a_reset_outside_the_window_does_no_harm() -> None:
    values: Readings = [(0.0, 900.0), (1.0, 5.0), (2.0, 15.0), (3.0, 25.0), (4.0, 35.0)]
    assert counter_delta(values, Window(1.0, 4.0), 64).value == 30.0


def test_an_edge_between_readings_takes_its_part_of_their_count() -> None:
    values: Readings = [(0.0, 0.0), (1.0, 100.0), (2.0, 100.0), (3.0, 300.0)]
    assert counter_delta(values, Window(0.75, 2.25), 64).value == pytest.approx(25 + 0 + 50)


@given(increases, st.floats(0.1, 0.9), st.floats(1.1, 2.9))
def test_two_halves_of_a_window_count_what_the_whole_does(steps: list[int], start: float, cut: float) -> None:
    values = readings(steps)
    end = len(steps) - 0.1
    parts = [
        counter_delta(values, Window(*edges), 64).value for edges in ((start, cut), (cut, end), (start, end))
    ]
    assert None not in parts
    assert sum(part or 0 for part in parts[:2]) == pytest.approx(parts[2])


@pytest.mark.parametrize("window", [Window(-0.1, 2.0), Window(1.0, 4.1), Window(10.0, 12.0)])
def test_a_window_beyond_the_readings_is_not_guessed(window: Window) -> None:
    delta = counter_delta(readings([1, 1, 1, 1]), window, 64)
    assert (delta.value, delta.reason) == (None, "its readings do not cover the window")


def test_no_readings_are_no_count() -> None:
    assert counter_delta([], Window(0.0, 1.0), 64).value is None
    assert counter_delta([(0.0, None), (1.0, None)], Window(0.0, 1.0), 64).value is None


def test_a_window_between_two_readings_is_not_guessed() -> None:
    delta = counter_delta([(0.0, 0.0), (12.0, 100.0)], Window(1.0, 11.0), 64)
    assert (delta.value, delta.reason) == (None, "no reading inside the window")


def test_a_gap_is_a_gap() -> None:
    values = [reading for reading in readings([1] * 12) if not 4 < reading[0] < 8]
    delta = counter_delta(values, Window(0.5, 11.5), 64)
    assert (delta.value, delta.reason) == (None, "no reading for 4.0 s")
    assert counter_delta(values, Window(8.0, 11.5), 64).value == pytest.approx(3.5)


def test_readings_that_could_not_be_taken_are_a_gap_too() -> None:
    values: Readings = [(time_s, None if 4 < time_s < 8 else value) for time_s, value in readings([1] * 12)]
    assert counter_delta(values, Window(0.5, 11.5), 64).reason == "no reading for 4.0 s"


def test_one_missed_reading_is_bridged() -> None:
    values = [reading for reading in readings([2] * 10) if reading[0] != 5]
    assert counter_delta(values, Window(1.0, 9.0), 64).value == pytest.approx(16)


def test_a_regular_but_slow_sensor_is_judged_by_its_own_interval() -> None:
    values: Readings = [(0.0, 0.0), (6.0, 6.0), (12.0, 12.0), (18.0, 18.0)]
    assert counter_delta(values, Window(1.0, 17.0), 64).value == pytest.approx(16)
    assert counter_delta(values, Window(1.0, 17.0), 64, interval_s=1.0).reason == "no reading for 6.0 s"


ranges = st.floats(1e3, 2**40, allow_nan=False) | st.integers(1, 2**40).map(float)


@given(ranges, st.floats(0, 1), st.lists(st.floats(0, 0.999), min_size=3, max_size=12))
def test_a_counter_of_any_range_is_counted_through_its_wraps(
    wraps_at: float, start: float, parts: list[float]
) -> None:
    """Each step is less than the range, so there is one wrap between two readings at most."""
    steps = [part * wraps_at for part in parts]
    totals = list(accumulate(steps, initial=start * wraps_at))
    values: Readings = [(float(second), total % wraps_at) for second, total in enumerate(totals)]
    delta = counter_delta(values, Window(0.0, float(len(steps))), wraps_at=wraps_at)
    assert delta.value == pytest.approx(sum(steps), abs=1e-6 * wraps_at)


def test_one_wrap_is_right_to_the_last_unit_even_just_short_of_a_whole_turn() -> None:
    """RAPL of many servers: 65 532.610 987 J; no power of two, and no part of it is too much for one step."""
    values: Readings = [(0.0, 65_000.0), (1.0, 64_999.0), (2.0, 64_999.0)]
    delta = counter_delta(values, Window(0.0, 2.0), wraps_at=65_532.610987)
    assert delta.value == pytest.approx(65_531.610987)


def test_a_turn_that_was_slept_through_is_not_seen() -> None:
    """Why rapl is read every 30 s at least: 400 W for 300 s are 120 kJ, in a range of 65 kJ."""
    totals = [0.0, 120_000.0, 240_000.0]
    values: Readings = [(300.0 * n, total % 65_532.61) for n, total in enumerate(totals)]
    delta = counter_delta(values, Window(0.0, 600.0), wraps_at=65_532.61)
    assert delta.value == pytest.approx(240_000 - 2 * 65_532.61)


@pytest.mark.parametrize("wrong", [-1.0, 70_000.0])
def test_a_reading_beyond_the_range_is_never_a_number(wrong: float) -> None:
    values: Readings = [(0.0, 10.0), (1.0, wrong), (2.0, 30.0)]
    delta = counter_delta(values, Window(0.0, 2.0), wraps_at=65_532.61)
    assert delta.value is None
    assert delta.reason is not None
