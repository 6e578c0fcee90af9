# SPDX-License-Identifier: Apache-2.0
"""Runs that fall into two groups are found, and one group is left alone: rules, power and false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.findings import gather_findings
from linewatt.analysis.statistics.modes import dip, is_beyond_one_mode, modes
from linewatt.model import Case, Trial
from linewatt.report.findings import finding_notes
from linewatt.report.trials.settings.scalability import export_case

MEAN_BPS, CV = 94e9, 0.02
CASE = Case("tcp", "gen", "dut")


def one_mode(cases: int, n: int, seed: int, sigma: float | None = None) -> Any:
    """Runs of CV 2 %; with ``sigma`` those of a lognormal distribution with its tail on the slow side."""
    rng = np.random.default_rng(seed)
    if sigma is None:
        noise = rng.normal(size=(cases, n))
    else:
        drawn = rng.lognormal(0, sigma, size=(cases, n))
        noise = (drawn.mean() - drawn) / drawn.std()
    return MEAN_BPS * (1 + CV * noise)


def trial(number: int, bps: float) -> Trial:
    return Trial(number, number, CASE, CASE.key, "done", 100.0 * number, throughput_bps=bps)


def found(drawn: Any) -> float:
    return float(np.mean([modes(values) is not None for values in drawn.tolist()]))


def test_two_modes_of_70_and_30_percent_ten_percent_apart_are_found_at_twenty_runs() -> None:
    drawn = one_mode(1_000, 20, seed=1)
    slow = np.random.default_rng(2).random(drawn.shape) < 0.3
    assert found(drawn * np.where(slow, 0.9, 1.0)) >= 0.80


@pytest.mark.parametrize("n", [10, 15, 20, 30])
@pytest.mark.parametrize("sigma", [None, 0.2], ids=["normal", "mildly skewed"])
def test_one_mode_is_taken_for_two_in_two_of_a_hundred_cases_at_most(n: int, sigma: float | None) -> None:
    assert found(one_mode(1_500, n, seed=3, sigma=sigma)) <= 0.02


def test_a_clear_gap_gives_both_modes_with_their_own_mean_and_spread() -> None:
    values = [94.0, 94.2, 93.8, 94.1, 93.9, 94.0, 94.3, 84.0, 84.2, 83.8]
    two = modes(values)
    assert two is not None
    assert (two.low.n, two.high.n, two.by) == (3, 7, "a gap")
    assert two.low.mean == pytest.approx(84.0)
    assert two.high.sd == pytest.approx(0.171, abs=0.001)
    assert two.apart_ratio == pytest.approx(0.107, abs=0.001)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([94.0] * 5 + [84.0] * 4, "nine runs are too few"),
        ([94.0] * 9 + [60.0], "a single run is an outlier, not a mode"),
        ([94.0] * 5 + [90.0] * 5, "less than 5 % apart"),
        ([94.0] * 20, "all alike"),
        ([float(value) for value in range(90, 110)], "evenly spread"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_second_mode_is_not_told_as_one(values: list[float], why: str) -> None:
    assert modes(values) is None, why


def test_the_dip_is_that_of_other_programs() -> None:
    """Values as the R package diptest and the Python package of that name give them."""
    normal = [-1.641, -1.608, -0.652, -0.623, -0.175, -0.005, 0.149, 0.235, 0.242, 0.659, 1.576, 1.664]
    assert dip(normal) == pytest.approx(0.08055274688237278, abs=1e-12)
    assert dip([0.0] * 5 + [1.0] * 5) == pytest.approx(0.25)
    assert dip([1.0]) == 0.5


def test_the_dip_alone_exceeds_its_limit_in_one_of_a_hundred_draws_of_one_mode() -> None:
    rng = np.random.default_rng(6)
    beyond = [is_beyond_one_mode(rng.random(20).tolist()) for _ in range(3_000)]
    assert 0.003 <= np.mean(beyond) <= 0.018


@given(st.lists(st.floats(min_value=1, max_value=100), min_size=2, max_size=40))
def test_the_dip_lies_between_its_bounds_and_knows_no_unit_and_no_direction(values: list[float]) -> None:
    one = dip(values)
    assert 1 / (2 * len(values)) <= one <= max(0.25, 1 / (2 * len(values))) + 1e-12
    assert dip([4 * value for value in values]) == pytest.approx(one, abs=1e-9)
    assert dip([-value for value in values]) == pytest.approx(one, abs=1e-9)


def test_a_case_with_two_modes_says_so_with_what_to_do_in_every_view() -> None:
    rates = [94e9, 94.2e9, 83.8e9, 94.1e9, 84e9, 93.9e9, 94e9, 84.2e9, 94.3e9, 93.8e9]
    trials = [trial(number, bps) for number, bps in enumerate(rates, start=1)]
    (summary,) = summarise(trials)
    assert [flag.code for flag in summary.case_flags] == ["two-modes"]
    row = export_case(summary)
    assert (row["throughput_modes"], row["flags"]) == (2, "two-modes")
    assert row["throughput_mode_low_bps_mean"] == pytest.approx(84e9)
    (note,) = finding_notes(gather_findings(trials, [summary]))
    assert (note.count, note.trials, note.mark) == (1, tuple(range(1, 11)), "a")
    assert "7 trials at 94" in note.sightings[0].evidence
    assert "steer: true" in note.advice[0]
    assert "streams: 8" in note.advice[0]


def test_a_case_of_few_runs_does_not_claim_one_mode() -> None:
    (summary,) = summarise([trial(1, 94e9), trial(2, 84e9)])
    assert export_case(summary)["throughput_modes"] is None
