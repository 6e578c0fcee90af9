# SPDX-License-Identifier: Apache-2.0
"""Where the course of a case changes for good, and where it only varies."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.compare_factories import (
    TCP,
    UDP,
    courses_of,
    courses_of_sides,
    made,
    numbered,
    runs,
    side,
    with_facts,
)
from tests.report_factories import stored
from tests.unit.conftest import Run

from linewatt.analysis.cases.responses import OF_CASE, THROUGHPUT
from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.comparison.points import Point, Series
from linewatt.analysis.statistics.stats import Estimate
from linewatt.features.history import steps
from linewatt.features.history.courses import (
    FALSE_ALARMS,
    FEWEST_RESULTS,
    Course,
)
from linewatt.features.history.page import _chart_rows as rows_of
from linewatt.features.history.page import render
from linewatt.features.history.report import History, name_courses
from linewatt.features.history.time_axis import time_axis
from linewatt.model import Case

LOSS = OF_CASE["lost_ratio"]


def sides(ratios: Sequence[float], **manifests: dict[str, Any]) -> list[Side]:
    """A result a day; ``manifests`` by the day as ``day3``."""
    found = []
    for day, ratio in enumerate(ratios, start=1):
        given = manifests.get(f"day{day}", {})
        found.append(side(f"r{day}", made("r", runs(ratio=ratio, seed=day), day=day, **given)))
    return found


def the(ratios: Sequence[float], **manifests: dict[str, Any]) -> Course:
    (course,) = courses_of_sides(sides(ratios, **manifests), THROUGHPUT)
    return course


def test_a_step_is_found_where_it_is_and_the_last_segment_is_compared_with_the_one_before() -> None:
    course = the([1, 1, 1, 1, 0.95, 0.95, 0.95])
    (change,) = course.changes
    assert (change.at, change.verdict.kind) == (4, "worse")
    assert course.words.startswith("slower by ")
    assert course.words.endswith(f"since {course.points[4].side.id} (3 results)")


def test_what_else_changed_at_the_step_is_named() -> None:
    newer = {name: with_facts(name, kernel={"release": "6.12"}) for name in ("h1", "h2")}
    after: dict[str, Any] = {"hosts": newer}
    course = the([1, 1, 1, 0.9, 0.9, 0.9], day4=after, day5=after, day6=after)
    (change,) = course.changes
    assert [(one.where, one.fact, one.other) for one in change.environment] == [
        ("h1", "kernel.release", "6.12"),
        ("h2", "kernel.release", "6.12"),
    ]


def test_a_change_that_went_back_is_two_changes() -> None:
    course = the([1, 1, 1, 0.9, 0.9, 0.9, 1, 1, 1])
    assert [(change.at, change.verdict.kind) for change in course.changes] == [(3, "worse"), (6, "better")]


def test_one_bad_result_is_no_segment() -> None:
    assert the([1, 1, 1, 0.9, 1, 1, 1]).changes == ()


def test_three_results_after_a_step_are_enough_where_results_agree_and_two_may_be_bad_nights() -> None:
    assert at_of(the([1, 1, 1, 0.95, 0.95, 0.95])) == [3]
    course = the([1, 1, 1, 1, 1, 1, 0.95, 0.95])
    assert course.changes == ()
    assert course.is_open
    assert course.words.endswith(
        "; the newest 2 are unlike those before: a step or bad nights, which takes at least 1 more to tell"
    )


def test_two_bad_nights_in_a_row_are_no_level_wherever_they_are() -> None:
    for at in (0, 4, 8):
        ratios = [1.0] * 10
        ratios[at : at + 2] = [0.9, 0.9]
        course = the(ratios)
        assert course.changes == ()
        assert [one.at for one in course.unlike] == [at, at + 1]


def test_results_that_differ_from_day_to_day_need_a_larger_step_than_their_runs_do() -> None:
    """Each result's own runs spread by 0.4 %, the days by far more."""
    assert the([1, 1.03, 0.98, 1.02, 0.97, 0.99, 0.96, 1.0]).changes == ()


@pytest.mark.parametrize("ratios", [[1.0] * 4 + [0.95] * 4, [1 - 0.005 * day for day in range(12)]])
def test_a_step_or_a_drift_below_the_factor_is_none_and_what_would_be_found_is_said(
    ratios: list[float],
) -> None:
    (course,) = courses_of_sides(sides(ratios), THROUGHPUT, matters=0.10)
    assert (course.changes, course.drift) == ((), None)
    count = len(ratios)
    assert course.words == (
        f"no change found over {count} results; a lasting one of 10.0 % would most likely have been found"
    )


@pytest.mark.parametrize("count", [1, 3, 5])
def test_few_results_are_not_enough_and_it_is_said_how_many_more_are(count: int) -> None:
    course = the([1, 0.5, 1, 1, 1][:count])
    assert (course.changes, course.unlike) == ((), ())
    more = FEWEST_RESULTS - count
    assert course.words == (
        f"too few results ({count} of 6): a step needs 3 before and 3 after it, so {more} more"
    )


def page_of(*followed: Course) -> str:
    return render(History(tuple(followed), results=max(len(one.points) for one in followed)))


def level_rows(one: Course) -> list[Any]:
    (named_course,) = name_courses(THROUGHPUT, [one])
    axis = time_axis([point.side.created_s for point in one.points])
    return [row for row in rows_of(named_course, axis) if row["kind"] in ("level", "step")]


def test_three_falling_results_have_no_level_line_and_are_no_course_without_a_change() -> None:
    few, five, enough = the([1, 0.9, 0.8]), the([1, 0.9, 0.8, 0.7, 0.6]), the([1.0] * 6)
    assert level_rows(few) == []
    assert level_rows(five) == []
    (level,) = level_rows(enough)
    assert level["value"] == pytest.approx(94.0, rel=0.002)
    page = page_of(few, five, enough)
    assert "1 course without a change" in page
    assert "1 course: too few results (3 of 6)" in page
    assert "1 course: too few results (5 of 6)" in page
    assert "without a change" not in page_of(few)


def test_results_that_differ_too_much_to_show_a_change_are_not_without_one() -> None:
    (own,) = sides([1.0])
    levels = [0.0, 2.5, -1.0, 1.5, -2.5, 0.5]
    points = [Point(own, TCP, (one,), Estimate(math.exp(one), None, 1)) for one in levels]
    (rough,) = courses_of([Series(THROUGHPUT, points)])
    assert "differ too much to show one" in rough.words
    page = page_of(rough)
    assert "1 course whose results differ too much to show a change" in page
    assert "without a change" not in page


def at(levels: Sequence[float]) -> list[int]:
    return [one.at for one in steps.find_steps(levels, [0.0] * len(levels), FALSE_ALARMS).steps]


def test_equal_results_without_any_spread_have_no_change_and_a_step_between_equal_ones_is_one() -> None:
    assert at([1.0] * 6) == []
    assert at([1.0] * 12 + [0.95] * 8) == [12]
    assert at([1.0] * 3 + [0.95] * 3) == []  # six of two values: one of 20 orders of them is this one


def test_levels_further_apart_than_a_float_holds_are_no_error() -> None:
    own = sides([1.0])[0]
    far = [-700.0, -699.0, -700.0, -701.0, -700.0, -699.0, 700.0, 701.0, 700.0, 700.0]
    points = [Point(own, TCP, (one,), Estimate(1, None, 1)) for one in far]
    (course,) = courses_of([Series(THROUGHPUT, points)])
    assert at_of(course) == [6]
    (shorter,) = courses_of([Series(THROUGHPUT, [*points[:6], points[6]])])
    assert [one.at for one in shorter.unlike] == [6]


def test_of_values_that_are_rounded_most_are_equal_and_the_others_are_no_steps() -> None:
    draw = np.random.default_rng(3)
    for _ in range(40):
        rounded = [round(one, 2) for one in draw.normal(1, 0.004, 20)]
        assert at(rounded) == []
    assert at([1.0, 1.01] * 6 + [0.95, 0.95, 0.96, 0.95] * 2) == [12]


def test_a_slow_drift_is_told_as_one_and_not_as_steps() -> None:
    course = the([1 - 0.005 * day for day in range(20)])
    assert course.changes == ()
    assert course.drift is not None
    assert course.drift.kind == "worse"
    assert course.words.startswith("drifts, in no step: slower by 9.")
    assert course.is_worse


def told(levels: Sequence[float], draw: np.random.Generator, between: float = 0.0) -> Course:
    """The course of ten runs of CV 2 % a result whose days differ by ``between``; levels are logarithms."""
    found = []
    for day, level in enumerate(levels, start=1):
        ratio = math.exp(level + draw.normal(0, between))
        found.append(
            side(f"r{day}", made("r", runs(ratio=ratio, cv=0.02, seed=int(draw.integers(2**31))), day=day))
        )
    (course,) = courses_of_sides(found, THROUGHPUT)
    return course


def at_of(course: Course) -> list[int]:
    return [change.at for change in course.changes]


@pytest.mark.parametrize("loss", [0.05, 0.4, 3.0])
def test_one_bad_night_does_not_hide_a_step_of_5_percent(loss: float) -> None:
    draw = np.random.default_rng(5)
    found = 0
    for _ in range(20):
        levels = [0.0] * 6 + [-0.049] * 4
        levels[3] -= loss
        found += at_of(told(levels, draw)) == [6]
    assert found >= 15


@pytest.mark.parametrize("place", [0, 7, 18, 19])
def test_one_bad_night_among_twenty_is_named_and_is_no_change(place: int) -> None:
    levels = [0.0] * 20
    levels[place] = math.log(1 - 0.87)
    for seed in range(3):
        course = told(levels, np.random.default_rng(seed))
        assert course.changes == ()
        assert [one.at for one in course.unlike] == [place]
        assert course.unlike[0].change == pytest.approx(-0.87, abs=0.01)
        assert "faster" not in course.words
        assert course.words.startswith("no change found over 20 results, 1 of them unlike the rest; ")


@pytest.mark.parametrize(("bad", "changes", "more"), [(1, [], 2), (2, [], 1), (3, [10], 0)])
def test_three_results_at_the_end_that_agree_are_a_step_and_fewer_are_none_yet(
    bad: int, changes: list[int], more: int
) -> None:
    course = told([*[0.0] * 10, *[-0.3] * bad], np.random.default_rng(2))
    assert at_of(course) == changes
    assert (f"at least {more} more" in course.words) == (more > 0)
    assert (course.is_open, course.is_worse) == (more > 0, more == 0)


def test_what_changed_is_named_between_the_results_that_belong_to_their_segments() -> None:
    """The night of the step itself was a bad one."""
    newer = {name: with_facts(name, kernel={"release": "6.12"}) for name in ("h1", "h2")}
    odd = {name: with_facts(name, kernel={"release": "odd"}) for name in ("h1", "h2")}
    after = {f"day{day}": {"hosts": newer} for day in range(7, 11)}
    course = the([1, 1, 1, 1, 1, 0.4, 0.9, 0.9, 0.9, 0.9], day6={"hosts": odd}, **after)
    (change,) = course.changes
    assert (change.at, [one.at for one in course.unlike]) == (6, [5])
    assert {one.other for one in change.environment} == {"6.12"}


def test_no_change_says_what_would_have_been_found_and_most_of_those_are() -> None:
    draw = np.random.default_rng(8)
    quiet = told([0.0] * 10, draw)
    assert quiet.words.startswith("no change found over 10 results; a lasting one of ")
    level, variances = [one.level for one in quiet.points], [one.variance / 10 for one in quiet.points]
    step = steps.find_steps(level, variances, FALSE_ALARMS).visible
    assert 0.015 < step < 0.045
    found = sum(bool(told([0.0] * 5 + [-step] * 5, draw).changes) for _ in range(20))
    assert found >= 14


def test_cases_are_followed_by_key_and_hosts_and_may_be_absent_between() -> None:
    results = [
        side(
            f"r{day}",
            made("r", numbered(runs(seed=day), runs(UDP, seed=day)) if day != 2 else runs(), day=day),
        )
        for day in range(1, 5)
    ]
    found = courses_of_sides(results, THROUGHPUT)
    lengths = [(one.case.test, len(one.points)) for one in found if isinstance(one.case, Case)]
    assert lengths == [("tcp", 4), ("udp-1500", 3)]
    (udp,) = courses_of_sides(results, LOSS)
    assert udp.case == UDP


def keep(ratios: Sequence[float]) -> None:
    # ids are not in time order: the manifest's time counts
    for day, ratio in enumerate(ratios, start=1):
        name = f"r{len(ratios) - day}"
        stored(Path("results"), made(name, runs(ratio=ratio, seed=day), day=day, id=name))


def test_history_shows_means_in_time_order_and_the_change(run: Run) -> None:
    keep([1, 1, 1, 0.95, 0.95, 0.95])
    code, out, err = run("history")
    assert (code, err) == (0, "")
    rows = [line for line in out.splitlines() if " UTC " in line]
    assert [row.split()[0] for row in rows] == ["r5", "r4", "r3", "r2", "r1", "r0"]
    assert ["◀" in row for row in rows] == [False, False, False, True, False, False]
    assert "between r3 and r2: nothing on record of the hosts changed" in out
    assert f"[{TCP.key}]: slower by" in out


def test_cases_of_one_result_have_no_table_and_are_counted(run: Run) -> None:
    keep([1])
    code, out, _ = run("history")
    assert code == 0
    assert "In one result only, so that there is nothing to follow: 1 case (TCP, h1 → h2" in out
    assert not [line for line in out.splitlines() if " UTC " in line]


def test_history_as_json_has_units_and_what_changed(run: Run) -> None:
    keep([1, 1, 1, 0.95, 0.95, 0.95])
    document = json.loads(run("history", "--case", TCP.key[:6], "--json")[1])
    (case,) = document["cases"]
    assert (case["response"], document["schema_version"]) == ("throughput_bps", 2)
    assert len(case["results"]) == 6
    (change,) = case["changes"]
    assert change["id"] == "r2"
    assert change["ratio_low"] < change["ratio"] < change["ratio_high"] < 1


def test_a_result_unlike_the_rest_stands_in_the_table_and_in_json(run: Run) -> None:
    keep([1, 1, 1, 0.3, 1, 1, 1, 1])
    _, out, _ = run("history")
    (row,) = [line for line in out.splitlines() if "unlike the rest: " in line and " UTC " in line]
    assert "unlike the rest: −70." in row
    assert "in no mean" in row
    (case,) = json.loads(run("history", "--json")[1])["cases"]
    (one,) = case["unlike"]
    assert one["ratio"] == pytest.approx(0.3, rel=0.02)
    assert case["changes"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--test", "udp-60"],
            "none of the 2 results below results has a case with --test udp-60 throughput",
        ),
        (
            ["--metric", "watts"],
            "--metric 'watts': must be one of throughput, efficiency, loss, power, latency",
        ),
        (["--fail-on", "slower"], "--fail-on 'slower': must be regression or nothing"),
        (["--results", "none"], "no results below none"),
    ],
)
def test_wrong_use_is_one_line_and_2(run: Run, arguments: list[str], said: str) -> None:
    keep([1, 1])
    code, out, err = run("history", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_the_variance_of_runs_is_the_exact_one() -> None:
    draw = np.random.default_rng(5)
    for count in (2, 3, 7):
        values = tuple(map(float, draw.normal(25.2, 0.02, count) * 10.0 ** draw.integers(-9, 9, count)))
        point = Point(sides([1.0])[0], Case("tcp", "a", "b"), values, Estimate(0, None, count))
        assert point.variance == statistics.variance(values)
