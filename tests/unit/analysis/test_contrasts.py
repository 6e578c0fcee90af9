# SPDX-License-Identifier: Apache-2.0
"""Welch's comparison and Holm's correction, against published figures and against simulation."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.analysis.statistics.contrasts import Contrast, beyond_drift, holm_adjusted, welch
from linewatt.missing import Missing

# "Welch's t-test", Wikipedia, example 1: t = −2.46, 24.99 degrees of freedom, p = 0.021
A1 = (27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4)
A2 = (27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4)
SIMULATED = 2000


def compared(base: tuple[float, ...], other: tuple[float, ...]) -> Contrast:
    found = welch(base, other)
    assert isinstance(found, Contrast)
    return found


def test_a_published_comparison_comes_out() -> None:
    found = compared(A2, A1)
    assert found.value / found.se == pytest.approx(-2.46, abs=0.005)
    assert found.df == pytest.approx(25.0, abs=0.05)
    assert found.p == pytest.approx(0.021, abs=0.0005)
    low, high = found.interval
    assert low < found.value < high < 0


def test_scipys_own_test_agrees_where_spread_and_runs_differ() -> None:
    from scipy import stats

    base, other = A1[:4], A2[:11]
    theirs = stats.ttest_ind(other, base, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    found = compared(base, other)
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.df == pytest.approx(theirs.df)
    assert found.interval == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("ratio", [1.0, 1.03])
def test_95_percent_intervals_of_a_ratio_hold_it_in_95_percent_of_experiments(ratio: float) -> None:
    draw = random.Random(20)  # noqa: S311
    held = 0
    for _ in range(SIMULATED):
        # CV 2 % at the base and 3 % at the level, 5 runs each
        base = tuple(draw.gauss(math.log(94e9), 0.02) for _ in range(5))
        other = tuple(draw.gauss(math.log(94e9 * ratio), 0.03) for _ in range(5))
        low, high = compared(base, other).interval
        held += low <= math.log(ratio) <= high
    assert 0.93 <= held / SIMULATED <= 0.97


@pytest.mark.parametrize(("base", "other"), [(2, 5), (5, 2), (0, 5), (3, 0)])
def test_fewer_than_three_runs_are_not_compared(base: int, other: int) -> None:
    assert welch(A1[:base], A2[:other]) == Missing(f"{base} and {other}; take 4 or more on each side")


def test_three_runs_on_each_side_are() -> None:
    assert isinstance(welch(A1[:3], A2[:3]), Contrast)


def test_runs_without_any_spread_are_the_same_or_differ() -> None:
    rate = 25.1  # three of it, added and divided by three, are a little more
    same, other = compared((rate,) * 3, (rate,) * 4), compared((rate,) * 3, (2.0,) * 3)
    assert (same.value, same.p, same.interval) == (0, 1, (0, 0))
    assert (other.p, other.interval) == (0, (other.value, other.value))


def test_one_side_without_spread_still_has_the_spread_of_the_other() -> None:
    found = compared((1.0, 1.0, 1.0), (1.0, 1.1, 1.2))
    assert found.df == pytest.approx(2)
    assert found.se == pytest.approx(0.1 / math.sqrt(3))


def test_holm_gives_published_figures() -> None:
    # "Holm–Bonferroni method", Wikipedia: at 0.05 the first and the last are rejected, the others not
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_keeps_their_order_and_stays_a_probability(ps: list[float]) -> None:
    adjusted = holm_adjusted(ps)
    assert all(p <= own <= 1 for p, own in zip(ps, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1.0, len(ps) * min(ps)))
    for one, first in zip(ps, adjusted, strict=True):
        for other, second in zip(ps, adjusted, strict=True):
            assert one > other or first <= second


def test_beyond_drift_takes_a_straight_trend_out() -> None:
    base, other = [float(at) for at in range(6)], [float(at) for at in range(6, 12)]
    step = beyond_drift(base, other)
    assert step is not None
    assert step.value == pytest.approx(0.0, abs=1e-9)
    stepped = beyond_drift(base, [value + 2 for value in other])
    assert stepped is not None
    assert stepped.value == pytest.approx(2.0)
    assert beyond_drift(base[:2], other) is None


def test_with_drift_the_interval_covers_both_and_p_is_the_larger() -> None:
    base, other = [0.0, 1.1, 1.9, 3.2, 3.9], [5.1, 5.9, 7.2, 8.0, 8.9]
    plain = welch(base, other)
    assert isinstance(plain, Contrast)
    step = beyond_drift(base, other)
    assert step is not None
    drifting = replace(plain, beyond_drift=step)
    assert plain.p < 0.01 < 0.3 < drifting.p == step.p
    assert drifting.p_of_means == plain.p
    assert drifting.interval == (min(plain.interval[0], step.interval[0]), plain.interval[1])
    assert replace(plain, beyond_drift=replace(step, value=-1.0)).p == 1.0
