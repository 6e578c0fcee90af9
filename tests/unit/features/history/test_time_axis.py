# SPDX-License-Identifier: Apache-2.0
"""Charts of a history space results by their times, and their dates never overlap."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.features.history.test_history import the

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.features.history.course_chart import spec
from linewatt.features.history.page import _chart_rows
from linewatt.features.history.report import name_courses
from linewatt.features.history.time_axis import TimeAxis, time_axis

DAY_S, HOUR_S = 86_400.0, 3600.0
FIRST_S = datetime(2026, 1, 1, 9, 30, tzinfo=UTC).timestamp()
WIDTH_OF_DATE = 0.15
"""a date of ten characters of 11 px, on a chart of 720 px, enlarged by half on a phone"""


def axis_of(*days: float) -> TimeAxis:
    return time_axis([FIRST_S + day * DAY_S for day in days])


def test_a_pause_of_a_month_is_thirty_times_as_wide_as_one_of_a_day() -> None:
    axis = axis_of(0, 1, 31)
    first_s, second_s, third_s = axis.places_s
    assert (third_s - second_s) / (second_s - first_s) == 30


def test_results_of_one_day_have_their_times_of_day_and_others_have_none() -> None:
    axis = axis_of(0, 0.25, 1)
    assert axis.texts == {
        0: ("2026-01-01", "09:30"),
        6 * 3600: ("2026-01-01", "15:30"),
        86_400: ("2026-01-02",),
    }


@pytest.mark.parametrize(
    "days",
    [
        [day / 24 for day in range(40)],
        [0, *(30 + at / 100 for at in range(30))],
        [*(at / 100 for at in range(30)), 30],
        [0, 0.01, 10, 10.01, 20, 20.01],
        list(range(100)),
    ],
)
def test_dates_never_overlap_and_both_ends_have_one(days: list[float]) -> None:
    axis = axis_of(*days)
    low_s, high_s = axis.reach_s
    gaps = [(after - before) / (high_s - low_s) for before, after in itertools.pairwise(axis.texts)]
    assert min(gaps) > WIDTH_OF_DATE
    assert 0 in axis.texts
    assert axis.places_s[-1] in axis.texts


def test_results_without_a_time_are_evenly_spaced() -> None:
    axis = time_axis([FIRST_S, None, FIRST_S + DAY_S])
    assert axis.places_s == (0, 1, 2)
    assert axis.texts[1] == ("–",)
    assert time_axis([FIRST_S] * 3).places_s == (0, 1, 2)
    assert time_axis([FIRST_S]).reach_s == (-0.5, 0.5)


def test_what_begins_with_a_result_starts_at_most_halfway_from_the_one_before() -> None:
    axis = axis_of(0, 0.01, 50)
    assert axis.end_s(0) == pytest.approx(0.005 * DAY_S)
    assert axis.start_s(1) == axis.end_s(0) == axis.between_s(1)
    assert axis.start_s(2) == axis.places_s[2] - axis.margin_s
    assert (axis.start_s(0), axis.end_s(2)) == axis.reach_s


def test_a_course_is_drawn_over_time_with_its_level_and_step() -> None:
    (named,) = name_courses(THROUGHPUT, [the([1, 1, 1, 0.9, 0.9, 0.9])])
    axis = axis_of(0, 1, 2, 30, 31, 31.1)
    rows = list(_chart_rows(named, axis))
    assert [row["x"] for row in rows if row["kind"] == "mean"] == list(axis.places_s)
    levels = [(row["x"], row["x2"]) for row in rows if row["kind"] == "level"]
    assert levels == [(axis.start_s(0), axis.end_s(2)), (axis.start_s(3), axis.end_s(5))]
    (step,) = [row for row in rows if row["kind"] == "step"]
    assert step["x"] == axis.start_s(3)
    drawn: Any = spec(rows, "Throughput", axis)["encoding"]["x"]
    assert drawn["scale"]["domain"] == list(axis.reach_s)
    assert drawn["axis"]["values"] == list(axis.texts)
    assert "{0: ['2026-01-01'], 2687040: ['2026-02-01', '11:54']}" in drawn["axis"]["labelExpr"]


def test_labels_of_changes_that_are_close_in_time_do_not_overprint() -> None:
    axis = axis_of(0, 1, 1.1, 1.2, 60)
    assert axis.fit([axis.between_s(at) for at in (1, 2, 3, 4)], 0.025) == [True, False, False, True]
