# SPDX-License-Identifier: Apache-2.0
"""Student's t of our own gives what scipy gives."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.analysis.statistics.student import critical_t, two_sided_p

REL = 1e-10
DFS = (1, 1.5, 2, 2.3, 3, 4, 7.7, 10, 30, 99.5, 199, 200, 201, 1e3, 12345.6, 1e5, 1e6)
TS = (1e-3, 0.1, 0.5, 1.0, 1.6, 1.72, 1.73, 1.74, 2.0, 2.8, 4.0, 7.0, 12.0, 40.0, 1e3, 1e6)
PS = (1.0, 0.999, 0.5, 0.1, 0.05, 0.01, 1e-3, 1e-5, 1e-7, 2e-9, 1e-12)

degrees = st.one_of(st.integers(1, 1_000_000), st.floats(1, 1e6))


def scipy_p(t: float, df: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def scipy_t(p: float, df: float) -> float:
    from scipy.special import stdtrit

    return -float(stdtrit(df, p / 2))


@pytest.mark.parametrize("df", DFS)
def test_p_is_that_of_scipy_over_a_grid(df: float) -> None:
    for t in TS:
        assert two_sided_p(t, df) == pytest.approx(scipy_p(t, df), rel=REL, abs=1e-290), t


@settings(deadline=None, max_examples=inputs(300))
@given(st.floats(1e-3, 50), degrees)
def test_p_is_that_of_scipy(t: float, df: float) -> None:
    assert two_sided_p(t, df) == pytest.approx(scipy_p(t, df), rel=REL, abs=1e-290)


@pytest.mark.parametrize("df", DFS)
def test_the_critical_value_is_that_of_scipy_over_a_grid(df: float) -> None:
    for p in PS:
        assert critical_t(p, df) == pytest.approx(scipy_t(p, df), rel=REL, abs=1e-15), p


@settings(deadline=None, max_examples=inputs(200))
@given(st.floats(-12, -0.001).map(lambda power: 10**power), degrees)  # scipy's p is wrong at t = 1e-8, df = 1
def test_the_p_of_a_critical_value_is_the_one_asked_for(p: float, df: float) -> None:
    t = critical_t(p, df)
    assert two_sided_p(t, df) == pytest.approx(p, rel=REL)
    assert scipy_p(t, df) == pytest.approx(p, rel=REL)


@pytest.mark.parametrize("t", [1e-12, 1e-8, 1e-4, 0.3, 1.0, 5.0, 1e5, 1e12])
def test_one_and_two_degrees_of_freedom_have_their_closed_forms(t: float) -> None:
    assert two_sided_p(t, 1) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-13)
    root = math.sqrt(2 + t * t)
    assert two_sided_p(t, 2) == pytest.approx(2 / (root * (root + t)), rel=1e-13)


def test_the_sign_of_t_does_not_matter_and_at_its_ends_p_is_1_and_0() -> None:
    assert two_sided_p(-2.5, 7) == two_sided_p(2.5, 7)
    assert (two_sided_p(0.0, 7), two_sided_p(math.inf, 7), critical_t(1.0, 7)) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("df", [1e9, 1e12, 1e15, 1e300, math.inf])
def test_with_ever_more_degrees_of_freedom_it_is_the_normal_distribution(df: float) -> None:
    for t in (0.5, 1.7, 2.0, 6.0):
        assert two_sided_p(t, df) == pytest.approx(scipy_p(t, df), rel=REL), t
    assert critical_t(0.05, df) == pytest.approx(1.959963984540054, rel=1e-8)


def test_what_is_not_a_number_stays_so() -> None:
    assert math.isnan(two_sided_p(math.nan, 5))
    assert math.isnan(two_sided_p(2.0, math.nan))
    assert math.isnan(critical_t(math.nan, 5))
    assert math.isnan(critical_t(0.05, math.nan))
