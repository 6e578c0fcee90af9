# SPDX-License-Identifier: Apache-2.0
"""How often a history is right, on simulated results; the table of docs/history.md has the same numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.compare_factories import courses_of

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.comparison.points import Point, Series
from linewatt.analysis.statistics.stats import Estimate
from linewatt.features.history.change_points import FEWEST
from linewatt.features.soak.job import Job
from linewatt.records import Campaign

COURSES = 100
CV = 0.02
ALIKE = 0.3
"""correlation of neighbours, where they are alike"""
MOST_FALSE = 2
_JOB = Job({"users": 4}, "dut", ("dut", "c1"))
_SIDE = Side("s", "s", Campaign(written={}), {}, {}, environment="the same")
_ROW = re.compile(
    r"\| (\d+) \| (\d+) \| (\d+) %(, [a-z ]+)? \| ([\d.]+) % \| (none|\d+ %) "
    r"\| (\d+) % \| (\d+) % \| (\d+ %|–) \|"
)
_OPTIMUM = re.compile(r"\| (\d+) \| (\d) % \| ([\d.]+) % \| (\d+) \((\d+)\) \|")
_TABLE = _ROW.findall(Path("docs/history.md").read_text())


def noise(draw: Any, kind: str, count: int) -> Any:
    """Of SD 1: normal, with heavy tails (Student's t, 3 degrees of freedom), or with neighbours alike."""
    if kind == ", heavy tails":
        return draw.standard_t(3, count) / math.sqrt(3)
    fresh = draw.normal(0, 1, count)
    if kind == ", neighbours alike":
        for at in range(1, count):
            fresh[at] = ALIKE * fresh[at - 1] + math.sqrt(1 - ALIKE**2) * fresh[at]
    return fresh


def points(draw: Any, levels: Sequence[float], runs: int) -> list[Point]:
    return [
        Point(_SIDE, _JOB, tuple(map(float, draw.normal(level, CV, runs))), Estimate(1, 0, runs))
        for level in levels
    ]


def simulated(
    runs: int, results: int, between: float, kind: str, step: float, bad: float | None
) -> tuple[int, int, int]:
    """Of 100 courses: right ones, those with a change that is none, and those that name the bad night.

    The step is after six of ten results, the bad night is the first of the second third. A step counts as at
    its place where that is among those that it may as well be at.
    """
    draw = np.random.default_rng(5)
    step_at, bad_at = math.ceil(0.6 * results), results // 3
    right = wrong = named = 0
    for _ in range(COURSES):
        levels = between * noise(draw, kind, results)
        levels[step_at:] += math.log(1 - step)
        if bad is not None:
            levels[bad_at] += math.log(1 - bad)
        (found,) = courses_of([Series(THROUGHPUT, points(draw, levels, runs))])
        covered = [change.first <= step_at <= change.last for change in found.changes]
        right += covered == ([True] if step else []) and found.drift is None
        wrong += found.drift is not None or covered.count(False) > 0 or len(covered) > 1
        named += bad_at in [one.at for one in found.unlike]
    return right, wrong, named


def test_the_document_has_a_table_of_them() -> None:
    assert len(_TABLE) >= 20


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=pytest.mark.full if at % 3 else (), id=" ".join(row))
        for at, row in enumerate(_TABLE)
    ],
)
def test_the_document_says_how_often_a_history_is_right(row: tuple[str, ...]) -> None:
    runs, results, between, kind, step, bad, right, wrong, named = row
    share = None if bad == "none" else int(bad.removesuffix(" %")) / 100
    found = simulated(int(runs), int(results), int(between) / 100, kind, float(step) / 100, share)
    assert found[0] == pytest.approx(int(right), abs=2)
    assert found[1] == pytest.approx(int(wrong), abs=2)
    if float(step) == 0:
        assert found[1] <= MOST_FALSE
    if named != "–":
        assert found[2] == pytest.approx(int(named.removesuffix(" %")), abs=2)


def likelihood_ratios(courses: Any) -> Any:
    """Of one step at any place against none, the spread unknown: as the square of the largest t."""
    count = courses.shape[1]
    rest = courses - courses.mean(axis=1, keepdims=True)
    before = np.arange(FEWEST, count - FEWEST + 1)
    explained = rest.cumsum(axis=1)[:, before - 1] ** 2 * count / (before * (count - before))
    most = explained.max(axis=1)
    return most / ((rest**2).sum(axis=1) - most)


def test_the_document_says_what_the_results_allow_at_all() -> None:
    rows = _OPTIMUM.findall(Path("docs/history.md").read_text())
    assert len(rows) == 3
    for runs, between, step, usual, rare in rows:
        draw = np.random.default_rng(5)
        sd = math.hypot(int(between) / 100, CV / math.sqrt(int(runs)))
        steady, stepped = draw.normal(0, sd, (2, 4000, 19))
        stepped[:, 11:] += math.log(1 - float(step) / 100)
        needed = np.quantile(likelihood_ratios(steady), (0.98, 0.995))
        found = [100 * (likelihood_ratios(stepped) > one).mean() for one in needed]
        assert found == pytest.approx([int(usual), int(rare)], abs=1)


def test_of_many_cases_that_only_vary_hardly_one_is_said_to_change() -> None:
    """30 cases over 20 results: all of them are one look, and a false alarm in any of them is one of it."""
    draw = np.random.default_rng(7)
    false_alarms = 0
    for _ in range(12):
        cases = [Series(THROUGHPUT, points(draw, 0.01 * noise(draw, "", 20), 3)) for _ in range(30)]
        found = courses_of(cases)
        false_alarms += any(one.changes or one.drift for one in found)
    assert false_alarms == 0


@pytest.mark.parametrize("has_runs", [True, False])
def test_of_steady_courses_with_nights_strongly_alike_hardly_any_has_a_change(*, has_runs: bool) -> None:
    """Of 50 courses of 20 results with a correlation of 0.8, more than ten had one."""
    from scripts.simulate import Nights

    step, drift = Nights(20, 0.8, has_runs=has_runs).shares(50)
    assert step + drift <= 0.06


def test_a_step_of_ten_percent_is_found_in_nights_that_are_alike_or_not() -> None:
    from scripts.simulate import Nights

    assert Nights(20, 0.8).shares(30, step=0.1)[0] >= 0.95
    assert Nights(20, 0.0).shares(30, step=0.1)[0] >= 0.95


def test_a_drift_is_told_as_one_and_not_as_a_step() -> None:
    from scripts.simulate import Nights

    step, drift = Nights(20, 0.0).shares(30, drift=0.1)
    assert drift >= 0.9
    assert step <= 0.05
