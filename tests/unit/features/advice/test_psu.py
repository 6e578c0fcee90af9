# SPDX-License-Identifier: Apache-2.0
"""Power supplies: load, certified efficiency, measured efficiency, and advice. Numbers are by hand."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.features.advice.psu.advice import LEAST_SAVED_W, Advice, Option, Question, advise, carries
from linewatt.features.advice.psu.supplies import (
    MODES,
    Mode,
    Operation,
    Supply,
    measured,
    operate,
    redundancy_warning,
)
from linewatt.features.advice.psu.tables import (
    CERTIFIED,
    LEVELS,
    EfficiencyTable,
    Mains,
    certified,
    read_efficiency_table,
)
from linewatt.missing import Missing

PLATINUM = certified("platinum")
GOLD = certified("gold")
TITANIUM = certified("titanium")


def ask(supply: Supply, load_w: float, table: EfficiencyTable | None = None, **more: float) -> Advice:
    return advise(Question(supply, load_w, more.pop("peak_w", load_w), table, **more))  # type: ignore[arg-type]


def option(advice: Advice, change: str) -> Option:
    (found,) = [one for one in advice.options if one.change == change]
    return found


@pytest.mark.parametrize("mains", get_args(Mains))
@pytest.mark.parametrize("level", LEVELS)
def test_every_certified_point_comes_out_as_it_is_printed(mains: Mains, level: str) -> None:
    table = certified(level, mains)
    for load, efficiency in CERTIFIED[mains][level].items():
        assert table.efficiency_ratio(load / 100) == pytest.approx(efficiency / 100, rel=1e-12)


def test_the_certified_figures_are_those_of_the_programme() -> None:
    printed = {
        ("bronze", "230"): (81, 85, 81),
        ("silver", "230"): (85, 89, 85),
        ("gold", "230"): (88, 92, 88),
        ("platinum", "230"): (90, 94, 91),
        ("titanium", "230"): (94, 96, 91),
        ("bronze", "115"): (82, 85, 82),
        ("silver", "115"): (85, 88, 85),
        ("gold", "115"): (87, 90, 87),
        ("platinum", "115"): (90, 92, 89),
        ("titanium", "115"): (92, 94, 90),
    }
    found = {
        (level, mains): tuple(CERTIFIED[mains][level][load] for load in (20, 50, 100))  # type: ignore[index]
        for level, mains in printed
    }
    assert found == printed
    assert {mains: CERTIFIED[mains]["titanium"][10] for mains in get_args(Mains)} == {"230": 90, "115": 90}


@pytest.mark.parametrize(("load_ratio", "wanted"), [(0.35, 0.92), (0.75, 0.925), (0.2, 0.9), (1.0, 0.91)])
def test_between_points_is_a_straight_line(load_ratio: float, wanted: float) -> None:
    assert PLATINUM.efficiency_ratio(load_ratio) == pytest.approx(wanted, rel=1e-12)


def test_below_the_first_point_there_is_a_reason_and_no_number() -> None:
    assert PLATINUM.efficiency_ratio(0.199) == Missing(
        "19.9 % of the rating is below the table, which begins at 20 %"
    )
    assert TITANIUM.efficiency_ratio(0.15) == pytest.approx(0.92)
    assert "begins at 10 %" in str(TITANIUM.efficiency_ratio(0.05))


@given(st.sampled_from(LEVELS), st.floats(0.001, 0.2))
def test_below_the_first_point_efficiency_and_loss_are_at_most_those_of_that_point(
    level: str, load_ratio: float
) -> None:
    table = certified(level)
    first, at_first = table.points[0]
    bounds = table.bounds_below(load_ratio)
    if load_ratio >= first:
        assert bounds is None
        return
    assume(load_ratio < 0.999 * first)
    assert bounds is not None
    low, high = bounds
    assert 0 < low < high == at_first
    assert load_ratio / low - load_ratio == pytest.approx(first / at_first - first)


def test_bounds_of_titanium_hold_for_what_it_certifies_below_20_percent() -> None:
    above = EfficiencyTable("from 20 %", TITANIUM.points[1:], certified=True)
    bounds = above.bounds_below(0.1)
    assert bounds is not None
    assert bounds[0] < 0.9 < bounds[1]


@pytest.mark.parametrize("text", ["20,92\n50,90\n", "20,50\n25,90\n"])
def test_where_efficiency_or_loss_falls_at_the_start_of_a_table_there_are_no_bounds(text: str) -> None:
    table = read_efficiency_table(f"load_percent,efficiency_percent\n{text}".encode(), "own.csv")
    assert table.bounds_below(0.1) is None


def test_a_change_that_may_cost_energy_has_no_bounds() -> None:
    advice = ask(Supply(2, 3000), 120, GOLD)
    smaller, both = option(advice, "smaller"), option(advice, "smaller-standby")
    assert advice.operation.input_bounds_w is not None
    assert smaller.operation.input_bounds_w is not None
    assert smaller.saved_bounds_w is None, "both inputs may be 136.4 W"
    assert both.saved_bounds_w is not None
    assert both.saved_bounds_w[0] > 0


def test_above_the_last_point_there_is_a_reason_and_no_number() -> None:
    table = read_efficiency_table(b"load_percent,efficiency_percent\n80,91\n20,90\n", "own.csv")
    assert table.efficiency_ratio(0.81) == Missing(
        "81 % of the rating is above the table, which ends at 80 %"
    )


def test_two_800_w_units_need_320_w_to_reach_20_percent() -> None:
    operation = operate(Supply(2, 800), 320, PLATINUM)
    assert operation.good_from_w == 320
    assert operation.load_ratio == 0.2
    assert operation.efficiency_ratio == 0.9
    assert operation.input_w == pytest.approx(355.556, abs=0.001)


def test_72_w_from_one_400_w_unit_is_18_percent_and_out_of_range() -> None:
    operation = operate(Supply(1, 400), 72, GOLD)
    assert operation.load_ratio == pytest.approx(0.18)
    assert (operation.efficiency_ratio, operation.input_w, operation.loss_w) == (None, None, None)
    assert operation.reason == "18 % of the rating is below the table, which begins at 20 %"


def test_a_unit_on_standby_leaves_the_load_to_the_others() -> None:
    shared, standby = operate(Supply(3, 500), 300, None), operate(Supply(3, 500, "standby"), 300, None)
    assert (shared.active, shared.unit_w, shared.load_ratio) == (3, 100, 0.2)
    assert (standby.active, standby.unit_w, standby.load_ratio) == (2, 150, 0.3)


def test_a_unit_on_standby_wakes_for_what_the_others_cannot_carry_and_that_is_said() -> None:
    supply = Supply(2, 800, "standby")
    assert operate(supply, 800, None).active == 1
    assert operate(supply, 801, None).active == 2
    assert redundancy_warning(supply, 800) is None
    assert redundancy_warning(supply, 801) == (
        "not redundant: one 800 W unit cannot carry 801 W when another fails; "
        "the unit on standby has to carry part of it"
    )


def test_more_than_all_units_carry_is_refused() -> None:
    with pytest.raises(InvalidInput, match="two 800 W units cannot carry 1601 W, only 1600"):
        operate(Supply(2, 800), 1601, None)


def test_a_single_unit_cannot_be_on_standby() -> None:
    with pytest.raises(InvalidInput, match="a single unit cannot be on standby"):
        operate(Supply(1, 800, "standby"), 10, None)


def test_an_in_out_difference_above_the_error_is_an_efficiency_with_bounds() -> None:
    found = measured(Supply(2, 400), in_w=300, out_w=270)  # 33.75 % load: ± 5 %
    assert found.tolerance_ratio == 0.05
    assert found.error_w == pytest.approx(28.5)
    assert found.loss_w == 30
    assert found.efficiency_ratio == pytest.approx(0.9)
    assert found.lowest_ratio == pytest.approx(256.5 / 315)
    assert found.highest_ratio == pytest.approx(283.5 / 285)


def test_below_20_percent_load_readings_are_worth_less_and_72_of_88_w_says_nothing() -> None:
    found = measured(Supply(1, 400), in_w=88, out_w=72)
    assert found.tolerance_ratio == 0.15
    assert (found.loss_w, found.efficiency_ratio, found.lowest_ratio, found.highest_ratio) == (None,) * 4
    assert found.reason == (
        "in − out is 16.0 W and may be off by 24.0 W, as each reading is good to ± 15 %: "
        "the efficiency cannot be told from these readings"
    )
    better = measured(Supply(1, 400), in_w=88, out_w=72, tolerance_ratio=0.01)
    assert better.efficiency_ratio == pytest.approx(72 / 88)


def test_more_out_than_in_is_called_a_contradiction() -> None:
    assert "check that both" in str(measured(Supply(2, 400), in_w=200, out_w=300).reason)
    assert "cannot be told" in str(measured(Supply(2, 400), in_w=300, out_w=301).reason)


def test_hot_standby_saves_what_the_two_minimums_differ_by() -> None:
    advice = ask(Supply(2, 800), 320, GOLD, price_per_kwh=0.30)
    standby = option(advice, "standby")
    assert advice.operation.input_w == pytest.approx(320 / 0.88)
    assert standby.operation.input_w == pytest.approx(320 / (0.88 + 0.04 * 0.2 / 0.3))
    assert standby.saved_w == pytest.approx(10.695, abs=0.001)
    assert standby.saved_kwh_per_year == pytest.approx(93.69, abs=0.01)
    assert standby.saved_cost_per_year == pytest.approx(28.11, abs=0.01)


def test_without_a_price_there_is_no_money() -> None:
    assert option(ask(Supply(2, 800), 320, GOLD), "standby").saved_cost_per_year is None


def test_out_of_range_advice_has_loads_and_a_reason_but_no_watts() -> None:
    advice = ask(Supply(2, 800), 249, PLATINUM, price_per_kwh=0.30)
    assert {one.change for one in advice.options} == {"standby", "smaller", "smaller-standby"}
    for one in advice.options:
        assert one.operation.load_ratio > 0.2
        assert (one.saved_w, one.saved_kwh_per_year, one.saved_cost_per_year) == (None, None, None)
        assert one.reason == "now, 15.6 % of the rating is below the table, which begins at 20 %"
        assert one.saved_bounds_w is not None
        low_w, high_w = one.saved_bounds_w
        assert one.operation.input_w is not None
        assert low_w == pytest.approx(249 / 0.9 - one.operation.input_w)
        assert high_w == pytest.approx(249 + 2 * (160 / 0.9 - 160) - one.operation.input_w)
    assert option(advice, "standby").operation.load_ratio == pytest.approx(249 / 800)


def test_good_readings_say_what_a_change_saves_where_the_certificate_is_silent() -> None:
    supply = Supply(2, 800)
    readings = measured(supply, in_w=305, out_w=249, tolerance_ratio=0.01)
    standby = option(advise(Question(supply, 249, 249, PLATINUM, readings)), "standby")
    assert standby.saved_w == pytest.approx(305 - 249 / (0.9 + 0.04 * 0.11125 / 0.3))
    poor = measured(supply, in_w=305, out_w=249)  # ± 15 % at 15.6 % load
    assert poor.efficiency_ratio is None
    silent = option(advise(Question(supply, 249, 249, PLATINUM, poor)), "standby")
    assert silent.saved_w is None


def test_a_saving_smaller_than_the_error_of_the_reading_is_none() -> None:
    supply = Supply(2, 800)
    readings = measured(supply, in_w=275, out_w=249, tolerance_ratio=0.04)
    assert readings.efficiency_ratio is not None
    standby = option(advise(Question(supply, 249, 249, PLATINUM, readings)), "standby")
    assert standby.saved_w is None
    assert standby.reason == "2.8 W less would go in, but 275 W may be off by 11.0 W"


def test_where_the_table_covers_both_loads_its_two_minimums_are_compared_and_no_reading() -> None:
    supply = Supply(2, 800)
    readings = measured(supply, in_w=500, out_w=320)
    assert readings.efficiency_ratio is not None
    compared = option(advise(Question(supply, 320, 320, GOLD, readings)), "standby")
    assert compared.saved_w == pytest.approx(10.695, abs=0.001)


def test_readings_at_another_load_say_nothing_about_this_one() -> None:
    supply = Supply(2, 800)
    readings = measured(supply, in_w=305, out_w=240, tolerance_ratio=0.01)
    assert option(advise(Question(supply, 249, 249, PLATINUM, readings)), "standby").saved_w is None


def test_fewer_units_are_proposed_only_as_long_as_one_may_fail() -> None:
    advice = ask(Supply(4, 1600), 1300, GOLD)
    fewer = option(advice, "fewer").operation.supply
    assert fewer.count == 2
    assert option(ask(Supply(4, 1600), 1300, GOLD, peak_w=2000), "fewer").operation.supply.count == 3
    assert not [one for one in ask(Supply(2, 1600), 500, GOLD).options if one.change == "fewer"]


def test_the_highest_load_decides_how_small_units_may_be() -> None:
    small = option(ask(Supply(2, 1600), 400, GOLD), "smaller").operation.supply
    large = option(ask(Supply(2, 1600), 400, GOLD, peak_w=900), "smaller").operation.supply
    assert small.rating_w == 450
    assert large.rating_w == 1000  # 900 W is 90 % of what is left when one of two fails


def test_smaller_units_with_one_on_standby_are_proposed_where_that_beats_either_change() -> None:
    advice = ask(Supply(2, 800), 249, TITANIUM)
    both, *single = advice.options
    assert both.change == "smaller-standby"
    assert both.operation.supply == Supply(2, 500, "standby")
    assert both.operation.load_ratio == pytest.approx(0.498)
    saved = {one.change: one.saved_w or 0.0 for one in single}
    assert saved.keys() == {"standby", "smaller"}
    assert both.saved_w is not None
    assert both.saved_w > max(saved.values()) + 1
    assert carries(both.operation.supply, 249)
    higher = option(ask(Supply(2, 800), 249, TITANIUM, peak_w=600), "standby")
    assert higher.operation.supply.rating_w == 800
    changes = {one.change for one in ask(Supply(2, 800), 249, TITANIUM, peak_w=700).options}
    assert "smaller-standby" not in changes  # no smaller unit alone carries 700 W
    assert "smaller-standby" not in {
        one.change for one in ask(Supply(2, 800, "standby"), 249, TITANIUM).options
    }


def test_sharing_is_proposed_to_units_on_standby_when_one_alone_is_loaded_too_high() -> None:
    advice = ask(Supply(2, 800, "standby"), 700, PLATINUM)
    share = option(advice, "share")
    assert share.operation.active == 2
    assert share.saved_w is not None
    assert share.saved_w == pytest.approx(
        700 / (0.94 - 0.03 * 0.375 / 0.5) - 700 / (0.9 + 0.04 * 0.2375 / 0.3)
    )


def test_a_highest_load_below_the_load_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the most it draws, 100 W, is less than the load, 200 W"):
        ask(Supply(2, 800), 200, peak_w=100)


def test_a_table_of_ones_own_is_read_in_any_order_and_with_other_columns() -> None:
    data = b"\xef\xbb\xbfnote;efficiency_percent;load_percent\r\nx;93,\r\n".replace(b"93,", b"93;50")
    data += b";88.5;10\r\n"
    table = read_efficiency_table(data, "own.csv")
    assert not table.certified
    assert table.points == ((0.1, 0.885), (0.5, 0.93))


HEADER = "load_percent,efficiency_percent\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "load,efficiency\n10,90\n",
            "own.csv:1: there is no column load_percent; needed are load_percent and",
        ),
        ("load_percent,eff\n10,90\n", "own.csv:1: there is no column efficiency_percent"),
        (HEADER + "10,90\n20,n/a\n", "own.csv:3: efficiency_percent: 'n/a' is not a number"),
        (HEADER + "10,90\n,91\n", "own.csv:3: load_percent: the cell is empty"),
        (
            HEADER + '10,90\n20,"91,5"\n',
            "own.csv:3: efficiency_percent: '91,5' is not a number: write a decimal",
        ),
        (
            HEADER + "10,90\n20,101\n",
            "own.csv:3: efficiency_percent must be above 0 and at most 100, got 101",
        ),
        (HEADER + "0,90\n20,91\n", "own.csv:2: load_percent must be above 0 and at most 100, got 0"),
        (HEADER + "-10,90\n20,91\n", "own.csv:2: load_percent must be above 0"),
        (HEADER + "10,90\n\n20,91\n10,92\n", "own.csv:5: load_percent 10 is there twice"),
        (HEADER + "10,90\n20\n", "own.csv:3: more or fewer cells than the header has"),
        (HEADER + "10,90\n20,91,92\n", "own.csv:3: more or fewer cells than the header has"),
        (HEADER + "10,90\n", "own.csv: a single row; at least two loads are needed"),
        (HEADER, "own.csv: the file has a header but no rows"),
        ("", "own.csv: the file is empty"),
        (HEADER + "10,nan\n", "own.csv:2: efficiency_percent: 'nan' is not a number"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(said)}"):
        read_efficiency_table(text.encode(), "own.csv")


tables = st.sampled_from([certified(level, mains) for mains in get_args(Mains) for level in LEVELS])


@st.composite
def supplies(draw: st.DrawFn) -> Supply:
    count = draw(st.integers(1, 6))
    mode: Mode = draw(st.sampled_from(MODES)) if count > 1 else "shared"
    return Supply(count, draw(st.floats(50, 4000)), mode)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    supply = draw(supplies())
    peak_w = supply.capacity_w * draw(st.floats(0.001, 1))
    table = draw(st.one_of(st.none(), tables))
    return Question(supply, peak_w * draw(st.floats(0.01, 1)), peak_w, table, None, draw(st.floats(0.01, 2)))


@given(questions())
def test_no_proposal_lacks_room_or_gives_up_redundancy(question: Question) -> None:
    for one in advise(question).options:
        supply = one.operation.supply
        if question.supply.count == 1:
            assert supply.count == 1
            assert question.peak_w <= 0.9 * supply.rating_w
        else:
            assert supply.count >= 2
            assert question.peak_w <= 0.9 * (supply.count - 1) * supply.rating_w
        assert supply.count <= question.supply.count
        assert supply.rating_w <= question.supply.rating_w
        assert supply != question.supply


@given(questions())
def test_a_saving_is_real_or_none_with_a_reason(question: Question) -> None:
    advice = advise(question)
    for one in advice.options:
        if one.saved_w is None:
            assert one.reason
            continue
        assert one.reason is None
        assert one.saved_w >= LEAST_SAVED_W
        assert one.saved_w == pytest.approx(_in_w(advice.operation) - _in_w(one.operation))
        assert one.saved_w < _in_w(advice.operation) - question.load_w, "no more than is lost now"


def _in_w(operation: Operation) -> float:
    assert operation.input_w is not None
    return operation.input_w


@given(tables, st.floats(0, 1))
def test_an_efficiency_lies_within_the_table_or_is_none_at_all(table: EfficiencyTable, load: float) -> None:
    found = table.efficiency_ratio(load)
    inside = table.points[0][0] <= load <= table.points[-1][0]
    values = [efficiency for _, efficiency in table.points]
    if isinstance(found, float):
        assert min(values) <= found <= max(values) + 1e-12
    else:
        assert not inside


@given(supplies(), tables, st.floats(0.001, 1), st.floats(0.001, 1))
def test_more_load_is_never_less_input(
    supply: Supply, table: EfficiencyTable, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assume(high - low > 1e-9)
    bearing_w = supply.capacity_w if supply.mode == "shared" else supply.surviving_w
    less, more = (operate(supply, part * bearing_w, table) for part in (low, high))
    assert less.load_ratio < more.load_ratio <= 1 + 1e-12
    if less.input_w is not None and more.input_w is not None:
        assert less.load_w < less.input_w < more.input_w


@given(st.floats(1, 2000), st.floats(1, 1600), st.one_of(st.none(), st.floats(0.0001, 1.5)))
def test_an_efficiency_from_readings_is_below_1_with_its_bounds(
    in_w: float, out_w: float, tolerance_ratio: float | None
) -> None:
    found = measured(Supply(2, 800), in_w, out_w, tolerance_ratio)
    if found.efficiency_ratio is None:
        assert found.reason
        assert in_w - out_w <= found.error_w
    else:
        assert found.lowest_ratio is not None
        assert found.highest_ratio is not None
        assert 0 < found.lowest_ratio < found.efficiency_ratio < found.highest_ratio < 1 + 1e-9
