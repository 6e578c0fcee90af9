# SPDX-License-Identifier: Apache-2.0
"""How often verdicts are right, on simulated runs: 94 Gbps, CV 2 %, as throughput of a busy link spreads."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.comparison.verdicts import COMPARISON, verdicts_of_family
from linewatt.analysis.statistics import permutation
from linewatt.analysis.statistics.contrasts import Contrast, welch
from linewatt.analysis.statistics.permutation import DRAWS, permutation_ps, smallest_p, strata_p

EXPERIMENTS = 2000
CV = 0.02
Runs = list[float]


@cache
def experiments(ratio: float, n: int, other_n: int | None = None) -> list[tuple[Runs, Runs]]:
    """Logarithms of runs of A and of B at ``ratio`` of it."""
    draw = np.random.default_rng(7)
    spread = math.sqrt(math.log1p(CV**2))
    base = draw.normal(math.log(94e9), spread, (EXPERIMENTS, n))
    other = draw.normal(math.log(94e9 * ratio), spread, (EXPERIMENTS, other_n or n))
    return [(list(map(float, one)), list(map(float, two))) for one, two in zip(base, other, strict=True)]


def contrasts(pairs: list[tuple[Runs, Runs]]) -> list[Contrast]:
    found = [welch(*pair) for pair in pairs]
    return [one for one in found if isinstance(one, Contrast)]


@cache
def outcomes(ratio: float, n: int = 10, matters: float | None = None) -> Counter[str]:
    """How many experiments of one case end with which verdict."""
    pairs = experiments(ratio, n)
    shuffled = permutation_ps(pairs, 1)
    judged = (
        verdicts_of_family(THROUGHPUT, [replace(one, permutation_p=p)], matters, COMPARISON)[0].kind
        for one, p in zip(contrasts(pairs), shuffled, strict=True)
    )
    return Counter(judged)


def share(found: Counter[str], *kinds: str) -> float:
    return sum(found[kind] for kind in kinds) / EXPERIMENTS


def test_equal_sides_are_seldom_said_to_differ() -> None:
    found = outcomes(1.0)
    assert share(found, "worse") <= 0.03
    assert share(found, "better", "worse") <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / EXPERIMENTS)
    assert share(found, "undecided") <= 0.01


def test_a_loss_of_3_percent_is_found_with_ten_runs_a_side() -> None:
    assert share(outcomes(0.97), "worse") >= 0.85


def test_a_loss_of_5_percent_is_found_with_five_runs_a_side() -> None:
    assert share(outcomes(0.95, 5), "worse") >= 0.88


def test_with_a_factor_of_3_percent_a_loss_of_3_percent_is_found_half_of_the_time() -> None:
    """The estimate itself must be beyond the factor: who wants 3 % found asks for less."""
    assert 0.45 <= share(outcomes(0.97, matters=0.03), "worse") <= 0.55


def test_a_loss_below_the_factor_is_not_said_to_be_one() -> None:
    assert share(outcomes(0.995, 10, 0.03), "better", "worse") <= 0.005


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("ratio", [1.0, 0.97])
def test_intervals_of_the_ratio_hold_it_in_95_percent_of_experiments(n: int, ratio: float) -> None:
    intervals = [one.interval for one in contrasts(experiments(ratio, n))]
    held = sum(low <= math.log(ratio) <= high for low, high in intervals)
    assert 0.93 <= held / EXPERIMENTS <= 0.97


@pytest.mark.parametrize(("n", "other_n"), [(5, 5), (10, 10), (5, 8), (10, 20)])
def test_p_of_shuffled_runs_is_uniform_where_nothing_differs(n: int, other_n: int) -> None:
    from scipy import stats

    pairs = experiments(1.0, n, other_n)
    ps = np.array(permutation_ps(pairs if n == other_n else pairs[:500], 3))
    for level in (0.05, 0.1, 0.5):
        # exact p have steps: at most level, and at least level less a step
        step = smallest_p(n, other_n)
        sure = 3.3 * math.sqrt(level * (1 - level) / len(ps))
        assert level - step - sure <= (ps <= level).mean() <= level + sure
    if (n, other_n) == (10, 10):
        assert stats.kstest(ps, "uniform").pvalue > 0.01


def test_sides_of_unequal_spread_and_runs_do_not_differ_for_that() -> None:
    draw = np.random.default_rng(5)
    pairs = [(list(draw.normal(0, 0.01, 20)), list(draw.normal(0, 0.05, 6))) for _ in range(500)]
    ps = np.array(permutation_ps(pairs, 2))
    # differences of means alone would give 0.31; Welch's test, which must agree, gives 0.05
    assert (ps < 0.05).mean() <= 0.11


def test_all_deals_of_few_runs_are_counted() -> None:
    base, other = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.5]
    assert permutation_ps([(base, other), (other, base)], 1) == pytest.approx([2 / 70, 2 / 70])
    assert smallest_p(4, 4) == pytest.approx(2 / 70)
    assert smallest_p(3, 3) == pytest.approx(0.1)


def test_random_deals_give_the_same_p_each_time_and_never_zero() -> None:
    apart = [(list(np.arange(20.0)), list(np.arange(20.0) + 100))]
    assert permutation_ps(apart, 1) == permutation_ps(apart, 1) == pytest.approx([1 / (DRAWS + 1)])


def test_a_p_does_not_depend_on_what_else_is_compared() -> None:
    pairs = experiments(1.0, 10)[:3]
    assert permutation_ps(pairs, 4)[1:2] == permutation_ps(pairs[1:2], 4)


def test_cached_deals_give_the_p_of_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [*experiments(1.0, 4)[:2], *experiments(1.0, 4, 5)[:2], *experiments(1.0, 10, 12)[:2]]
    cached_ps = [permutation_ps(pairs, seed) for seed in (1, 2, 1)]
    overall = strata_p(pairs, 1)
    monkeypatch.setattr(permutation, "_CACHED_RUNS", 0)
    assert [permutation_ps(pairs, seed) for seed in (1, 2, 1)] == cached_ps
    assert cached_ps[0][-2:] != cached_ps[1][-2:], "random deals differ by their seed"
    assert strata_p(pairs, 1) == overall


@pytest.mark.parametrize(("base", "other"), [([2.0] * 5, [2.0] * 5), ([2.0] * 5, [2.0] * 7)])
def test_runs_without_spread_are_no_difference(base: Runs, other: Runs) -> None:
    assert permutation_ps([(base, other)], 1) == [1.0]


def test_runs_without_spread_that_differ_are_as_extreme_as_can_be() -> None:
    assert permutation_ps([([1.0] * 4, [2.0] * 6)], 1) == pytest.approx([1 / 210])


@given(
    st.lists(st.floats(1, 1e12), min_size=3, max_size=6),
    st.lists(st.floats(1, 1e12), min_size=3, max_size=6),
    st.floats(0.5, 2.0),
)
def test_p_is_a_probability_that_neither_sides_nor_unit_change(one: Runs, two: Runs, unit: float) -> None:
    logs, others = [math.log(value) for value in one], [math.log(value) for value in two]
    (p,) = permutation_ps([(logs, others)], 1)
    (swapped,) = permutation_ps([(others, logs)], 1)
    assert 0 < p <= 1
    assert swapped == pytest.approx(p)
    (shifted,) = permutation_ps([([v + unit for v in logs], [v + unit for v in others])], 1)
    assert shifted == pytest.approx(p)
