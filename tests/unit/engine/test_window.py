# SPDX-License-Identifier: Apache-2.0
"""The steady window: placed on one time line, cut in proportion, refused when it is not covered."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.checks.window import edges
from linewatt.engine.measuring.window import common_window, count_in_window, mean_over, place_load, rates_over
from linewatt.errors import ParseError
from linewatt.loads.base import LoadEnd, LoadInterval, whole_intervals
from linewatt.model import Sample, Window


def load(rates_bps: list[float], interval_s: float = 1.0) -> LoadEnd:
    intervals = tuple(
        LoadInterval(
            i * interval_s,
            (i + 1) * interval_s,
            round(rate * interval_s / 8),
            retransmits=i,
            packets=100,
            lost_packets=10,
        )
        for i, rate in enumerate(rates_bps)
    )
    return LoadEnd(True, "3.12", intervals, len(rates_bps) * interval_s, 0.5)


def test_a_start_lies_in_the_middle_of_what_is_known_of_it() -> None:
    run = place_load(load([8e6] * 10), earliest_start_s=100.0, ended_s=110.04)
    assert run.start_s == pytest.approx(100.02)
    assert run.start_uncertainty_s == pytest.approx(0.02)


def test_a_load_that_ended_too_early_for_its_duration_is_placed_at_its_earliest_start() -> None:
    run = place_load(load([8e6] * 10), earliest_start_s=100.0, ended_s=109.9)
    assert (run.start_s, run.start_uncertainty_s) == (100.0, 0.0)


def test_the_window_begins_after_the_last_start_plus_the_omitted_time() -> None:
    early, late = place_load(load([1e6] * 10), 100.0, 110.0), place_load(load([1e6] * 10), 100.5, 110.5)
    window = common_window([early, late], omit_s=2, seconds=5)
    assert (window.start_s, window.end_s) == (102.5, 107.5)


def test_a_load_that_ends_before_the_window_does_makes_no_window() -> None:
    with pytest.raises(ParseError, match=r"ended 2\.00 s before the window of 5 s did$"):
        common_window([place_load(load([1e6] * 5), 100.0, 105.0)], omit_s=2, seconds=5)


def test_loads_that_began_too_far_apart_want_a_longer_tail() -> None:
    early, late = place_load(load([1e6] * 8), 100.0, 108.0), place_load(load([1e6] * 8), 102.5, 110.5)
    with pytest.raises(
        ParseError, match=r"ended 1\.50 s before .*: the last one began 2\.50 s after .*window\.tail"
    ):
        common_window([early, late], omit_s=2, seconds=5)


def test_warm_up_before_the_window_does_not_count() -> None:
    run = place_load(load([0, 0, 8e9, 8e9, 8e9, 0]), 100.0, 106.0)
    assert count_in_window(run, Window(102.0, 105.0)).rate_bps == pytest.approx(8e9)


def test_an_interval_across_the_edge_counts_in_proportion() -> None:
    run = place_load(load([8e6, 24e6]), 100.0, 102.0)
    counted = count_in_window(run, Window(100.5, 101.5))
    assert counted.rate_bps == pytest.approx(16e6)
    assert counted.packets == 100
    assert counted.lost_packets == 10


def test_late_datagrams_are_taken_off_the_loss_and_leave_no_less_than_none() -> None:
    whole = load([8e6] * 4)
    lost = (10, 4, -3, 0)
    late = tuple(replace(one, lost_packets=n) for one, n in zip(whole.intervals, lost, strict=True))
    run = place_load(replace(whole, intervals=late), 100.0, 104.0)
    assert count_in_window(run, Window(100.0, 104.0)).lost_packets == 11
    assert count_in_window(run, Window(101.0, 104.0)).lost_packets == 1
    assert count_in_window(run, Window(102.0, 104.0)).lost_packets == 0, "they were lost before the window"


def test_a_gap_in_the_intervals_is_refused_and_never_counted_as_zero() -> None:
    whole = load([8e6] * 6)
    gappy = LoadEnd(True, "3.12", whole.intervals[:2] + whole.intervals[3:], 6.0, None)
    with pytest.raises(ParseError, match=r"cover 3\.00 s of the window of 4\.00 s"):
        count_in_window(place_load(gappy, 100.0, 106.0), Window(101.0, 105.0))


def test_counts_that_one_interval_lacks_are_none() -> None:
    intervals = (LoadInterval(0, 1, 100, retransmits=3), LoadInterval(1, 2, 100))
    run = place_load(LoadEnd(True, "3.12", intervals, 2.0, None), 100.0, 102.0)
    counted = count_in_window(run, Window(100.0, 102.0))
    assert counted.retransmits is None
    assert counted.packets is None


@given(
    rates=st.lists(st.floats(1e3, 1e11), min_size=4, max_size=20),
    offset=st.floats(0, 1),
)
def test_the_window_rate_lies_between_the_slowest_and_the_fastest_interval(
    rates: list[float], offset: float
) -> None:
    run = place_load(load(rates), 0.0, float(len(rates)))
    window = Window(offset, len(rates) - 1 + offset)
    rate = count_in_window(run, window).rate_bps
    assert min(rates) * 0.99 - 8 <= rate <= max(rates) * 1.01 + 8


@given(shift=st.floats(-1e6, 1e6))
def test_moving_everything_in_time_changes_nothing(shift: float) -> None:
    rates = [1e9, 2e9, 3e9, 4e9]
    here = count_in_window(place_load(load(rates), 0.0, 4.0), Window(0.5, 3.5)).rate_bps
    there = count_in_window(
        place_load(load(rates), shift, 4.0 + shift), Window(0.5 + shift, 3.5 + shift)
    ).rate_bps
    assert there == pytest.approx(here, rel=1e-6)


def test_means_are_weighted_by_what_each_sample_shares_with_the_window() -> None:
    samples = [Sample(1.0, "c", 0.2, 1.0), Sample(2.0, "c", 0.8, 1.0), Sample(3.0, "c", 0.5, 1.0)]
    assert mean_over(samples, Window(0.5, 2.5)) == pytest.approx((0.5 * 0.2 + 0.8 + 0.5 * 0.5) / 2)


def test_a_missing_sample_lowers_the_coverage_and_not_the_mean() -> None:
    samples = [Sample(1.0, "c", 0.4, 1.0), Sample(2.0, "c", None, 1.0, "stalled")]
    assert mean_over(samples, Window(0.0, 2.0)) is None
    assert mean_over(samples, Window(0.0, 1.01)) == 0.4
    assert mean_over([], Window(0.0, 1.0)) is None


def test_only_intervals_wholly_inside_the_window_are_its_series() -> None:
    run = place_load(load([1e6, 2e6, 3e6, 4e6]), 0.0, 4.0)
    assert rates_over(run, Window(0.5, 3.5)) == pytest.approx([2e6, 3e6])


def counted(*lengths_and_bytes: tuple[float, int], apart_s: float = 0.0) -> tuple[LoadInterval, ...]:
    intervals, start_s = [], 0.0
    for length_s, moved in lengths_and_bytes:
        intervals.append(LoadInterval(start_s, start_s + length_s, moved, packets=moved // 1000))
        start_s += length_s + apart_s
    return tuple(intervals)


SECOND = (1.0, 1_170_000_000)


@pytest.mark.parametrize(
    ("lengths", "ends_s", "last_bytes"),
    [
        ([SECOND] * 3 + [(0.01, 35_000_000)], [1.0, 2.0, 3.01], 1_205_000_000),
        ([(0.01, 35_000_000)] + [SECOND] * 3, [1.01, 2.01, 3.01], 1_170_000_000),
        ([SECOND, (0.0, 5), SECOND], [1.0, 2.0], 1_170_000_000),
        ([SECOND] * 3 + [(0.6, 700_000_000)], [1.0, 2.0, 3.0, 3.6], 700_000_000),
        ([SECOND], [1.0], 1_170_000_000),
    ],
    ids=["last", "first", "of no time", "long enough", "alone"],
)
def test_a_short_interval_is_part_of_its_neighbour_and_no_count_is_lost(
    lengths: list[tuple[float, int]], ends_s: list[float], last_bytes: int
) -> None:
    given = counted(*lengths)
    whole = whole_intervals(given)
    assert [one.end_s for one in whole] == pytest.approx(ends_s)
    assert whole[-1].transferred_bytes == last_bytes
    assert sum(one.transferred_bytes for one in whole) == sum(one.transferred_bytes for one in given)
    rates = [8 * one.transferred_bytes / (one.end_s - one.start_s) for one in whole]
    assert max(rates) < 9.7e9


def test_a_short_last_interval_gives_the_rtt_at_the_end_of_both() -> None:
    full, short = counted(SECOND, (0.01, 35_000_000))
    (joined,) = whole_intervals([replace(full, rtt_s=2e-4), replace(short, rtt_s=3e-4)])
    assert (joined.end_s, joined.rtt_s) == (1.01, 3e-4)
    (joined,) = whole_intervals([replace(full, rtt_s=2e-4), short])
    assert joined.rtt_s is None


def test_a_short_interval_apart_from_its_neighbours_is_left_out() -> None:
    whole = whole_intervals(counted(SECOND, SECOND, (0.01, 35_000_000), apart_s=0.5))
    assert [one.end_s for one in whole] == pytest.approx([1.0, 2.5])


def test_a_last_interval_of_10_ms_is_no_rate_of_the_window() -> None:
    own = LoadEnd(False, "", counted(*[SECOND] * 3, (0.01, 35_000_000)), 3.01, None)
    rates = rates_over(place_load(own, 0.0, 3.01), Window(0.0, 3.01))
    assert rates == pytest.approx([9.36e9, 9.36e9, 9.64e9 / 1.01])


def readings(*ends_s: float) -> list[Reading]:
    spans = [after - before for before, after in pairwise(ends_s)]
    records = tuple(Record(end_s, span_s, "") for end_s, span_s in zip(ends_s[1:], spans, strict=True))
    return [Reading("h1", "mpstat", records)]


def test_readings_that_reach_beyond_the_load_are_told_with_their_share_and_what_would_do() -> None:
    own, full = Window(100.5, 110.5), Window(100.0, 111.0)
    (flag,) = edges("h1", readings(*(99.75 + second for second in range(14))), own, full)
    assert flag.code == "window-edges-contaminated"
    # a quarter of a second of the window has the mean of a second of which a quarter came before the load
    assert "up to 0.6 % too low" in flag.evidence
    assert flag.advice == "set window.omit to at least 1.0 s, window.tail to at least 1.3 s"
    assert "at the window's edge begins before the load" in flag.evidence
    (late,) = edges("h1", readings(*(99.9 + second for second in range(14))), own, Window(99.0, 110.7))
    assert "at the window's edge ends after the load" in late.evidence


def test_readings_within_the_load_are_not_told_however_they_lie() -> None:
    for step in range(20):
        ends_s = [98.0 + step / 20 + second for second in range(16)]
        assert list(edges("h1", readings(*ends_s), Window(101.0, 110.0), Window(100.0, 111.0))) == []
    hardly = readings(*(99.87 + second for second in range(14)))
    assert list(edges("h1", hardly, Window(100.5, 110.5), Window(100.0, 111.0))) == [], "less than 0.5 %"
    optional = replace(readings(99.5, 100.5, 111.5)[0], optional=True)
    assert list(edges("h1", [optional], Window(100.0, 110.0), Window(100.0, 110.0))) == []
