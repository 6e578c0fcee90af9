# SPDX-License-Identifier: Apache-2.0
"""The linear model of factorial experiments, against published worked examples and against simulation."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from linewatt.analysis.statistics.factorial import Cell, Model, fit
from linewatt.missing import Missing

# D. C. Montgomery, Design and Analysis of Experiments, problem 6.1: life of a tool, 2³, three replicates.
# A: cutting speed, B: tool geometry, C: cutting angle
TOOL_LIFE: dict[Cell, tuple[float, ...]] = {
    (0, 0, 0): (22, 31, 25),
    (1, 0, 0): (32, 43, 29),
    (0, 1, 0): (35, 34, 50),
    (1, 1, 0): (55, 47, 46),
    (0, 0, 1): (44, 45, 38),
    (1, 0, 1): (40, 37, 36),
    (0, 1, 1): (60, 50, 54),
    (1, 1, 1): (39, 41, 47),
}
# the same, example 8.1: filtration rate, 2⁽⁴⁻¹⁾ of resolution IV with D = ABC
FILTRATION: dict[Cell, float] = {
    (0, 0, 0, 0): 45,
    (1, 0, 0, 1): 100,
    (0, 1, 0, 1): 45,
    (1, 1, 0, 0): 65,
    (0, 0, 1, 1): 75,
    (1, 0, 1, 0): 60,
    (0, 1, 1, 0): 80,
    (1, 1, 1, 1): 96,
}
SIMULATED = 1200


def fitted(runs: Mapping[Cell, Sequence[float]]) -> Model:
    found = fit(runs)
    assert isinstance(found, Model), found
    return found


def test_a_published_replicated_factorial_comes_out() -> None:
    model = fitted(TOOL_LIFE)
    # the book's coefficients are half an effect: 0.1667 A + 5.6667 B + 3.4167 C − 4.4167 AC
    mains = [model.main(at, 1) for at in range(3)]
    assert [one.value / 2 for one in mains] == pytest.approx([0.16667, 5.66667, 3.41667], abs=1e-5)
    assert [one.p for one in mains] == pytest.approx([0.8837, 0.0001, 0.0077], abs=0.0001)
    assert model.sd**2 == pytest.approx(30.17, abs=0.005)
    assert model.df == 16
    joints = {one.factors: one for one in model.joint()}
    # from both low to both high, an interaction of coefficient b departs by 4 b
    assert joints[0, 2].departure.value / 4 == pytest.approx(-4.41667, abs=1e-5)
    assert {pair: one.p < 0.05 for pair, one in joints.items()} == {
        (0, 1): False,
        (0, 2): True,
        (1, 2): False,
    }
    assert joints[0, 2].p == pytest.approx(0.0012, abs=0.0001)


def test_a_published_fraction_comes_out_and_keeps_silent_on_mixed_up_interactions() -> None:
    model = fitted({cell: (value - 1, value + 1) for cell, value in FILTRATION.items()})
    assert [model.main(at, 1).value for at in range(4)] == pytest.approx([19.0, 1.5, 14.0, 16.5])
    assert model.joint() == []
    assert model.df == 8


def test_interactions_that_are_mixed_up_with_nothing_are_in_the_model_of_a_fraction() -> None:
    # D = AB: A, B and D are each mixed up with the other two together, pairs with C are not
    runs: dict[Cell, tuple[float, ...]] = {
        (a, b, c, int(a != b)): (100.0 - 1 + 6 * a * c, 100.0 + 1 + 6 * a * c)
        for a, b, c in product((0, 1), repeat=3)
    }
    joints = {one.factors: one for one in fitted(runs).joint()}
    assert list(joints) == [(0, 2), (1, 2), (2, 3)]
    assert joints[0, 2].departure.value == pytest.approx(6)
    assert joints[1, 2].departure.value == pytest.approx(0, abs=1e-9)


def test_without_repeats_the_error_is_what_the_model_leaves_over() -> None:
    cells = list(product((0, 1), repeat=3))
    model = fitted({cell: (10 + 2 * cell[0] + (1 if sum(cell) % 2 else -1),) for cell in cells})
    assert model.df == 4
    assert model.joint() == []
    assert model.main(0, 1).value == pytest.approx(2)
    assert model.sd == pytest.approx(math.sqrt(8 / 4))


def test_a_fraction_without_repeats_has_nothing_to_tell_effects_from_chance() -> None:
    assert fit({cell: (value,) for cell, value in FILTRATION.items()}) == Missing(
        "8 trials leave fewer than 4 degrees of freedom to separate effects from chance"
    )


def test_levels_count_against_the_base_in_the_mean_over_other_factors() -> None:
    at = {cell: 100 + (0, 5, -3)[cell[0]] + (0, 7)[cell[1]] for cell in product(range(3), range(2))}
    model = fitted({cell: (value - 1, value, value + 1) for cell, value in at.items()})
    assert [model.main(0, 1).value, model.main(0, 2).value, model.main(1, 1).value] == pytest.approx(
        [5, -3, 7]
    )
    assert [one.departure.value for one in model.joint()] == pytest.approx([0], abs=1e-9)


@pytest.mark.parametrize("departure", [6, -6])
def test_the_interaction_of_many_levels_names_where_it_is_largest(departure: int) -> None:
    runs: dict[Cell, tuple[float, ...]] = dict.fromkeys(product(range(3), range(3)), (9.0, 10.0, 11.0))
    runs[2, 1] = (9.0 + departure, 10.0 + departure, 11.0 + departure)
    (joint,) = fitted(runs).joint()
    assert (joint.factors, joint.levels) == ((0, 1), (2, 1))
    assert joint.departure.value == pytest.approx(departure)
    # by hand: sums of squares 3 · 6² · (2/3)² over 4 degrees of freedom, error 1 over 18
    from scipy import stats

    assert joint.p == pytest.approx(stats.f.sf(48 / 4, 4, 18))


def test_lost_runs_do_not_let_one_factor_pass_for_another() -> None:
    runs = {
        cell: tuple(100 + 10 * cell[0] + noise for noise in (-1.0, 0.0, 1.0))
        for cell in product((0, 1), repeat=2)
    }
    runs[1, 1] = runs[1, 1][:1]
    runs[0, 1] = runs[0, 1][:2]
    model = fitted(runs)
    assert model.main(0, 1).value == pytest.approx((10 + 9.5) / 2)
    assert model.main(1, 1).value == pytest.approx((-0.5 - 1) / 2)


def test_a_lost_setting_leaves_main_effects_as_far_as_they_can_be_told() -> None:
    whole = {cell: (100 + 10 * cell[0] - 1, 100 + 10 * cell[0] + 1.0) for cell in product((0, 1), repeat=2)}
    lost = {cell: values + values for cell, values in whole.items() if cell != (1, 1)}
    model = fitted(lost)
    assert model.joint() == []
    assert model.main(0, 1).value == pytest.approx(10)
    only: dict[Cell, tuple[float, ...]] = {
        cell: values * 3 for cell, values in whole.items() if cell in ((0, 0), (1, 1))
    }
    assert fit(only) == Missing("too many settings have no trial: effects cannot be told apart")
    assert fit({}) == Missing("no trial has a value")


def test_95_percent_intervals_of_main_effects_hold_in_95_percent_of_experiments() -> None:
    draw = random.Random(8)  # noqa: S311
    cells = list(product((0, 1), repeat=3))
    true = (math.log(1.031), math.log(0.8), 0.0)
    held = 0
    for _ in range(SIMULATED):
        runs = {
            cell: [
                draw.gauss(24 + sum(c * t for c, t in zip(cell, true, strict=True)), 0.02) for _ in range(3)
            ]
            for cell in cells
        }
        model = fitted(runs)
        for at, effect in enumerate(true):
            low, high = model.main(at, 1).interval
            held += low <= effect <= high
    assert 0.93 <= held / (3 * SIMULATED) <= 0.97


def test_two_settings_compare_by_their_own_runs_and_the_error_of_all() -> None:
    found = fitted(TOOL_LIFE).between((0, 0, 0), (1, 1, 1))
    assert found.value == pytest.approx(127 / 3 - 26)
    assert found.se == pytest.approx(math.sqrt(30.1667 * 2 / 3), abs=1e-3)
    assert found.df == 16


def test_runs_without_spread_differ_or_are_the_same() -> None:
    model = fitted({cell: (float(cell[0]),) * 3 for cell in product((0, 1), repeat=2)})
    assert (model.main(0, 1).p, model.sd) == (0, 0)
    assert model.main(1, 1).p == 1


def test_a_large_design_leaves_interactions_out_and_stays_quick() -> None:
    cells = list(product(range(10), repeat=3))
    model = fitted({cell: (float(sum(cell)), sum(cell) + 0.5) for cell in cells})
    assert len(model.blocks) == 6
    many = fit({(at,): (1.0, 1.1) for at in range(402)})
    assert many == Missing("more than 400 effects")
