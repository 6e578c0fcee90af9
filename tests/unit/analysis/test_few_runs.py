# SPDX-License-Identifier: Apache-2.0
"""Fewer than 10 runs that may be of two modes are told, and healthy runs are not: rules and false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.report_factories import result, trial
from tests.unit.analysis.test_steadiness import noise
from tests.wiring import GOODPUT_BPS, rates, story, told

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.metrics.of_trial import METRIC_BY_NAME
from linewatt.analysis.statistics.few_runs import Unresolved, unresolved
from linewatt.analysis.statistics.steadiness import standard_error
from linewatt.model import Case, Trial
from linewatt.report.columns import case_cell
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.settings.scalability import scalability_table
from linewatt.units import format_rates

CASE = Case("tcp", "h1", "h2")
MEAN_BPS = 94e9


def runs(*bps: float, error_bps: float | None = 5e6) -> list[Trial]:
    return [
        trial(number, CASE, one, 0.9, throughput_se_bps=error_bps) for number, one in enumerate(bps, start=1)
    ]


def codes_of(trials: list[Trial]) -> list[str]:
    (summary,) = summarise(trials)
    return [flag.code for flag in summary.case_flags]


def healthy(cases: int, n: int, cv: float, seed: int) -> tuple[Any, Any]:
    """Runs, and their standard errors, of 30 intervals with a CV of 2 % whose neighbours are alike."""
    rng = np.random.default_rng(seed)
    within = noise(cases * n, 30, 0.3, 0.02, seed=seed + 1).reshape(cases, n, 30)
    intervals = within * (1 + cv * rng.normal(size=(cases, n)))[:, :, None]
    errors = [[standard_error(run.tolist()) for run in case] for case in intervals]
    return intervals.mean(axis=2), errors


@pytest.mark.parametrize("cv", [0.02, 0.002])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 9])
def test_healthy_runs_are_told_in_less_than_one_of_a_hundred_cases(n: int, cv: float) -> None:
    means, errors = healthy(1_000, n, cv, seed=n)
    found = [unresolved(case, own) is not None for case, own in zip(means.tolist(), errors, strict=True)]
    blind = [unresolved(case, [None] * n) is not None for case in means.tolist()]
    assert np.mean(found) < 0.01
    assert np.mean(blind) < 0.01


@pytest.mark.parametrize("n", [3, 5, 9])
def test_runs_that_noise_within_them_explains_are_not_told(n: int) -> None:
    """30 % from interval to interval, and nothing from run to run."""
    rng = np.random.default_rng(n)
    intervals = MEAN_BPS * (1 + 0.3 * rng.normal(size=(500, n, 6)))
    found = [
        unresolved([float(run.mean()) for run in case], [standard_error(run.tolist()) for run in case])
        for case in intervals
    ]
    assert np.mean([one is not None and one.by != "in turn" for one in found]) < 0.01


@pytest.mark.parametrize("n", [3, 5, 9])
def test_two_levels_a_fifth_apart_are_told_wherever_runs_are_of_both(n: int) -> None:
    means, errors = healthy(400, n, 0.002, seed=n)
    slow = np.random.default_rng(n).random(means.shape) < 0.5
    mixed = slow.any(axis=1) & ~slow.all(axis=1)
    found = [
        unresolved(case, own) is not None
        for case, own in zip((means * np.where(slow, 0.8, 1.0)).tolist(), errors, strict=True)
    ]
    assert np.mean(np.array(found)[mixed]) >= 0.99
    assert not np.array(found)[~mixed].any()


@pytest.mark.parametrize(
    ("values", "error", "by"),
    [
        ([2.95e9, 2.4e9, 2.38e9], 5e6, "far apart"),
        ([3e9, 2.4e9], 5e6, "far apart"),
        ([3e9, 2.8e9, 3.001e9, 2.801e9, 3.002e9], None, "in turn"),
        ([3e9, 3.001e9, 2.8e9, 2.801e9, 3.002e9], 5e6, "two levels"),
        ([3e9, 3.001e9, 2.8e9, 2.801e9, 3.002e9], None, None),
        ([2.95e9, 2.4e9, 2.38e9], None, None),
        ([2.95e9, 2.4e9, 2.38e9], 1e8, None),
        ([3e9, 2.9e9, 2.95e9], 5e6, None),
        ([3e9, 2.4e9] * 5, 5e6, None),
        ([3e9], 5e6, None),
    ],
)
def test_what_is_told_of_few_runs(values: list[float], error: float | None, by: str | None) -> None:
    found = unresolved(values, [error] * len(values))
    assert (found.by if found else None) == by


def test_a_first_run_or_a_drift_that_is_told_explains_the_spread() -> None:
    assert codes_of(runs(7e9, 9.4e9, 9.41e9, 9.39e9, 9.4e9)) == ["first-trial-differs"]
    assert codes_of(runs(*(9.4e9 * (1 - 0.03 * at) for at in range(8)))) == ["drifts-over-trials"]
    assert codes_of(runs(9.4e9, 7e9, 9.41e9, 9.39e9, 9.4e9)) == ["modes-unresolved"]


def test_all_that_a_first_run_has_otherwise_is_told() -> None:
    trials = [
        trial(number, CASE, bps, 0.6 if number == 1 else 0.9 + 0.001 * (number % 3))
        for number, bps in enumerate((7e9, 9.4e9, 9.41e9, 9.39e9, 9.4e9), start=1)
    ]
    (summary,) = summarise(trials)
    (flag,) = [flag for flag in summary.case_flags if flag.code == "first-trial-differs"]
    assert flag.evidence == (
        "trial 1, the first: throughput 7.00 Gbps, mean of the 4 later trials 9.40 Gbps (−25.5 %); "
        "sender's CPU use 0.36 cores, mean of the 4 later trials 0.54 cores (−33.4 %); "
        "receiver's CPU use 0.60 cores, mean of the 4 later trials 0.90 cores (−33.4 %)"
    )


def test_each_run_stands_beside_its_mean_in_the_table_and_on_the_first_screen() -> None:
    view = digest_of(result(runs(2.951e9, 2.402e9, 2.38e9)))
    (summary,) = view.summaries
    speed = METRIC_BY_NAME["throughput_bps"]
    assert summary.unresolved == Unresolved((2.38e9, 2.402e9, 2.951e9), "far apart", 5e6)
    assert case_cell(speed, summary, speed.units[0]).note == "trials 2.380 to 2.951"
    (group,) = view.groups
    notes = [note for note in scalability_table(group, view.marks).notes if note.lead.startswith("Trials of")]
    assert [note.sentence for note in notes] == [
        "Trials of 1 instance: 2.380, 2.402, 2.951 Gbps, 571 Mbps apart: perhaps of two modes"
    ]
    screen = first_screen_of_trials(view)
    assert screen is not None
    assert "2.578 Gbps (trials 2.380, 2.402, 2.951) (a)" in screen.sentence
    assert "throughput, CPU: doubtful (a)" in screen.trust
    (flag,) = summary.case_flags
    assert "3 trials: 2.380, 2.402, 2.951 Gbps, range 22 % of the mean" in flag.evidence
    assert "standard error of one trial ± 5.00 Mbps" in flag.evidence


def test_runs_of_one_mode_have_nothing_beside_their_mean() -> None:
    view = digest_of(result(runs(9.4e9, 9.41e9, 9.39e9)))
    (summary,) = view.summaries
    assert summary.unresolved is None
    assert (
        case_cell(METRIC_BY_NAME["throughput_bps"], summary, METRIC_BY_NAME["throughput_bps"].units[0]).note
        is None
    )


def test_a_trial_stores_how_well_its_mean_is_known() -> None:
    steady = told().trial()
    assert steady.throughput_se_bps is not None
    assert 0 < steady.throughput_se_bps < 0.001 * GOODPUT_BPS
    swings = told(rates([GOODPUT_BPS * 0.99, GOODPUT_BPS * 0.9] * 12)).trial()
    assert swings.throughput_se_bps == pytest.approx(0.045 * GOODPUT_BPS / 20**0.5, rel=0.1)
    assert told(story(placed=())).trial().throughput_se_bps is None


def test_the_error_of_a_mean_knows_that_neighbours_are_alike() -> None:
    windows = noise(400, 60, 0.6, 0.02)
    errors = [standard_error(window) or 0.0 for window in windows.tolist()]
    assert np.mean(errors) == pytest.approx(float(windows.mean(axis=1).std()), rel=0.15)
    assert standard_error([1.0, 2.0, 1.0, 2.0]) is None


def test_rates_in_a_row_have_the_unit_of_the_largest() -> None:
    assert format_rates([9.994e8, 2.402e9, 1.2951e10]) == "1.00, 2.40, 12.95 Gbps"
    assert format_rates([9.5e5, 9.5e6]) == "0.950, 9.500 Mbps"
