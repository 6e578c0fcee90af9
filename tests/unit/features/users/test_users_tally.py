# SPDX-License-Identifier: Apache-2.0
"""Counting: what workers counted adds up to what one would have counted, and survives the way as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.errors import ParseError
from linewatt.features.users.worker.base import Failure, Transfer
from linewatt.features.users.worker.percentiles import Times
from linewatt.features.users.worker.tally import Tally

DURATIONS = st.lists(st.floats(2e-6, 3000), min_size=1, max_size=60)


def times_of(durations: list[float]) -> Times:
    times = Times()
    for duration in durations:
        times.add(duration)
    return times


def tally_of(durations: list[float], index: int = 0) -> Tally:
    tally = Tally()
    counts = tally.user(index)
    for duration in durations:
        counts.bytes.received_bytes += 1000
        tally.done(index, "get", Transfer(1000, duration / 2, duration, is_checked=True), None)
    return tally


@given(DURATIONS, st.sampled_from([50.0, 90.0, 99.0]))
@settings(max_examples=inputs(30), deadline=None)
def test_a_percentile_is_within_a_thousandth_of_the_value_of_that_rank(
    durations: list[float], point: float
) -> None:
    rank = max(1, int(point / 100 * len(durations) + 0.5))  # the nearest, as HdrHistogram counts
    exact = sorted(durations)[rank - 1]
    assert times_of(durations).percentiles_s((point,))[0] == pytest.approx(exact, rel=1.5e-3, abs=1.1e-6)


@given(DURATIONS, DURATIONS)
@settings(max_examples=20, deadline=None)
def test_two_workers_added_are_one_that_saw_all(first: list[float], second: list[float]) -> None:
    added = tally_of(first)
    added.merge(Tally.from_dict(json.loads(json.dumps(tally_of(second, index=1).as_dict()))))
    alone = times_of(first + second)
    assert added.times["get.total"].summary() == alone.summary()
    assert added.total().gets == len(first + second)
    assert added.total().bytes.received_bytes == 1000 * len(first + second)
    assert len(added.users) == 2


def test_no_times_have_no_percentile() -> None:
    summary = Times().summary()
    assert summary.count == 0
    assert {summary.mean_s, summary.max_s, *summary.percentiles_s.values()} == {None}


def test_failures_are_counted_by_action_and_name_and_said_once() -> None:
    tally = Tally()
    for index in (0, 1):
        tally.user(index)
    tally.failed(0, "login", Failure.SERVER_FULL, "the first line")
    tally.failed(1, "login", Failure.SERVER_FULL, "another line")
    tally.failed(1, "put", Failure.DISK_FULL, "full")
    again = Tally.from_dict(json.loads(json.dumps(tally.as_dict())))
    assert again.total().failures == {
        ("login", Failure.SERVER_FULL): 2,
        ("put", Failure.DISK_FULL): 1,
    }
    assert again.said["login", Failure.SERVER_FULL] == "the first line"


def test_in_an_open_loop_the_wait_is_part_of_the_time() -> None:
    tally = Tally()
    tally.user(0)
    tally.done(0, "get", Transfer(1, 0.1, 0.2), 3.0)
    assert tally.times["get.total"].percentiles_s((50,))[0] == pytest.approx(3.2, rel=1e-3)
    assert tally.times["wait"].percentiles_s((50,))[0] == pytest.approx(3.0, rel=1e-3)


@pytest.mark.parametrize("values", [{}, {"users": {"0": {}}, "times": {}, "said": []}])
def test_what_is_no_tally_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        Tally.from_dict(values)


@pytest.mark.parametrize("text", ["", "nonsense", "SElTVA=="])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="histogram"):
        Times.decoded(text)
