# SPDX-License-Identifier: Apache-2.0
"""Intervals of means: what they are, and how often they cover what they say, by simulation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.analysis.statistics.repeats import Rule
from linewatt.analysis.statistics.stats import Interval, estimate, t_quantile
from linewatt.report.columns import COLUMNS

MEAN_BPS, CV = 94e9, 0.02
SHAPES = ("normal", "skewed")


def runs(shape: str, cases: int, n: int, seed: int, cv: float = CV) -> Any:
    """Throughput of ``n`` runs each of so many cases, bit/s; the skewed ones have a skewness of 0.61."""
    rng = np.random.default_rng(seed)
    if shape == "normal":
        noise = rng.normal(size=(cases, n))
    else:
        drawn = rng.lognormal(0, 0.2, size=(cases, n))
        noise = (drawn - np.exp(0.02)) / np.sqrt((np.exp(0.04) - 1) * np.exp(0.04))
    return MEAN_BPS * (1 + cv * noise)


def student_half_widths(values: Any) -> Any:
    n = values.shape[1]
    return t_quantile(n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n)


def interval(values: Iterable[float | None]) -> Interval | None:
    found = estimate(values)
    return None if found is None else found.interval()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [5, 10])
def test_students_interval_covers_the_mean_as_often_as_it_says(n: int, shape: str) -> None:
    drawn = runs(shape, 20_000, n, seed=n)
    covered = np.abs(drawn.mean(axis=1) - MEAN_BPS) <= student_half_widths(drawn)
    assert 0.93 <= covered.mean() <= 0.97
    one = estimate(drawn[0].tolist())
    assert one is not None
    found = one.interval()
    assert found is not None
    assert found.half_width == pytest.approx(student_half_widths(drawn)[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bootstrap_from_twenty_runs_on_covers_the_mean_as_often_as_it_says(shape: str) -> None:
    covered = 0
    cases = 1_000
    for values in runs(shape, cases, 20, seed=1).tolist():
        found = interval(values)
        assert isinstance(found, Interval)
        assert found.method == "bca-bootstrap"
        covered += found.low <= MEAN_BPS <= found.high
    assert 0.93 <= covered / cases <= 0.97


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cv", [0.01, 0.016, 0.02, 0.03])
def test_looking_at_10_15_20_and_30_runs_leaves_the_interval_93_percent(shape: str, cv: float) -> None:
    drawn = runs(shape, 20_000, 30, seed=8, cv=cv)
    going = np.full(len(drawn), True)
    covered = np.zeros(len(drawn), bool)
    for n in Rule(10, 30, 0.01).looks:
        means, reach = drawn[:, :n].mean(axis=1), student_half_widths(drawn[:, :n])
        stops = going & ((reach <= 0.01 * means) | (n == 30))
        covered[stops] = (np.abs(means - MEAN_BPS) <= reach)[stops]
        going &= ~stops
    assert covered.mean() >= 0.93


def test_the_same_runs_have_the_same_interval_every_time() -> None:
    values = runs("normal", 1, 20, seed=3)[0].tolist()
    assert interval(values) == interval(values)


def test_the_bootstrap_follows_the_skew_of_the_runs() -> None:
    values = [10.0] * 17 + [11.0, 13.0, 16.0]
    found = interval(values)
    mean = sum(values) / len(values)
    assert isinstance(found, Interval)
    assert found.high - mean > 1.2 * (mean - found.low)


def test_the_bootstrap_is_that_of_scipy_at_the_level_it_is_asked_for() -> None:
    from scipy.special import ndtr
    from scipy.stats import bootstrap

    level = 2 * ndtr(np.sqrt(20 / 19) * t_quantile(19)) - 1
    for values in runs("skewed", 5, 20, seed=9):
        ours = interval(values.tolist())
        assert isinstance(ours, Interval)
        theirs = bootstrap(
            (values,),
            np.mean,
            n_resamples=20_000,
            confidence_level=level,
            rng=np.random.default_rng(1),
        ).confidence_interval
        width = theirs.high - theirs.low
        assert ours.low == pytest.approx(theirs.low, abs=0.06 * width)
        assert ours.high == pytest.approx(theirs.high, abs=0.06 * width)


def test_one_run_has_no_interval() -> None:
    assert interval([94e9, None]) is None
    assert interval([None, float("nan")]) is None


@pytest.mark.parametrize("n", [2, 19, 20, 40])
def test_runs_without_spread_have_an_interval_without_width(n: int) -> None:
    found = interval([94e9] * n)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == (94e9, 94e9)


@settings(deadline=None, max_examples=inputs(50))
@given(st.lists(st.floats(min_value=1e-3, max_value=1e12), min_size=2, max_size=25))
def test_an_interval_is_finite_and_ordered_whatever_the_runs(values: list[float]) -> None:
    found = interval(values)
    assert isinstance(found, Interval)
    assert np.isfinite([found.low, found.high]).all()
    assert found.low <= found.high


def test_intervals_import_no_scipy() -> None:
    code = (
        "import sys; from linewatt.analysis.statistics.stats import estimate;"
        "estimate([1.0, 2.0, 3.0] * 7).interval();"
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_throughput_and_efficiency_are_exported_with_their_interval_and_its_method() -> None:
    shown = [column.si_key for column in COLUMNS if column.show_ci]
    assert shown == [
        "throughput_bps",
        "latency_p50_s",
        "latency_p99_s",
        "efficiency_receiver_bps_per_core",
        "efficiency_sender_bps_per_core",
    ]
