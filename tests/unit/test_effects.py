# SPDX-License-Identifier: Apache-2.0
"""Main effects, verdicts in words and the best setting, of experiments whose effects are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.effect_factories import SWEEP, experiment_trials
from tests.report_factories import failed, powered, renumbered, scaling_trials, watts

from linewatt.analysis.cases.responses import EFFICIENCY, OF_CASE, PER_WATT, THROUGHPUT
from linewatt.analysis.comparison.effects import (
    GroupEffects,
    MainEffect,
    ResponseEffects,
    best_doubts,
    effects,
)
from linewatt.analysis.comparison.verdicts import Verdict, verdicts
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.statistics.contrasts import Contrast
from linewatt.analysis.statistics.factorial import Model, fit
from linewatt.campaign.design import Design
from linewatt.model import Case, Trial

LOSS = OF_CASE["lost_ratio"]

DESIGNS: tuple[Design, ...] = ("one-at-a-time", "full")
BASE = (("gro", "on"), ("mtu", "1500"), ("rps", "off"))


def group_of(
    trials: Sequence[Trial], design: str, factors: Mapping[str, Sequence[str]] = SWEEP
) -> GroupEffects:
    (group,) = effects(trials, factors, design)
    return group


def of(group: GroupEffects, response: Response = THROUGHPUT) -> ResponseEffects:
    (found,) = [one for one in group.responses if one.response == response]
    return found


def rows(found: ResponseEffects) -> dict[str, MainEffect]:
    return {f"{row.factor}={row.level}": row for row in found.rows}


def value(row: MainEffect) -> float:
    assert row.verdict.change is not None
    return row.verdict.change.value


def one(response: Response, contrast: Contrast | str) -> Verdict:
    (verdict,) = verdicts(response, [contrast])
    return verdict


# --- Effects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["one-at-a-time", "full"])
def test_known_effects_come_out_of_each_design(design: str) -> None:
    group = group_of(experiment_trials(design), design)  # type: ignore[arg-type]
    found = rows(of(group))
    assert list(found) == ["mtu=9000", "gro=off", "rps=irq"]
    assert group.base == BASE
    assert [value(row) for row in found.values()] == pytest.approx([0.06, -0.2, 0.0], abs=1e-9)
    assert [row.verdict.kind for row in found.values()] == ["better", "worse", "same"]
    assert found["gro=off"].verdict.words.startswith("slower by 20.0 % (CI 19.")
    for row in found.values():
        change = row.verdict.change
        assert change is not None
        assert change.low < change.value < change.high


def test_one_at_a_time_compares_runs_at_the_base_with_runs_at_the_level_only() -> None:
    found = rows(of(group_of(experiment_trials(trials=4), "one-at-a-time")))
    assert {(row.runs, row.base_runs) for row in found.values()} == {(4, 4)}


def test_a_full_design_uses_all_runs_for_each_effect() -> None:
    found = rows(of(group_of(experiment_trials("full"), "full")))
    assert {(row.runs, row.base_runs) for row in found.values()} == {(12, 12)}


def test_factors_that_act_together_are_found_and_their_effects_say_so() -> None:
    def joint(levels: Mapping[str, str]) -> float:
        return 1.1 if levels["mtu"] == "9000" and levels["gro"] == "off" else 1.0

    found = of(group_of(experiment_trials("full", effect=joint), "full"))
    (together,) = [one for one in found.interactions if one.found]
    assert (together.factors, together.levels) == (("mtu", "gro"), ("9000", "off"))
    change = together.verdict.change
    assert change is not None
    assert change.value == pytest.approx(0.1, abs=1e-9)
    assert {name: row.depends_on for name, row in rows(found).items()} == {
        "mtu=9000": ("gro",),
        "gro=off": ("mtu",),
        "rps=irq": (),
    }
    # without GRO the large MTU gains 10 %, with it nothing: √1.1 in the mean
    assert value(rows(found)["mtu=9000"]) == pytest.approx(math.sqrt(1.1) - 1, abs=1e-9)


def test_the_p_of_factors_together_is_that_of_all_their_levels() -> None:
    factors = {"mtu": ("1500", "4000", "9000"), "gro": ("on", "off")}

    def joint(levels: Mapping[str, str]) -> float:
        return 1.005 if (levels["mtu"], levels["gro"]) == ("4000", "off") else 1.0

    trials = experiment_trials("full", factors=factors, effect=joint)
    (together,) = of(group_of(trials, "full", factors)).interactions
    cells: dict[tuple[int, ...], list[float]] = {}
    for trial in trials:
        at = dict(trial.case.factors)
        cell = tuple(factors[name].index(at[name]) for name in factors)
        cells.setdefault(cell, []).append(math.log(trial.throughput_bps or 0))
    model = fit(cells)
    assert isinstance(model, Model)
    change = together.verdict.change
    assert change is not None
    assert change.p == pytest.approx(model.joint()[0].p)
    assert change.p != pytest.approx(model.joint()[0].departure.p, rel=0.05)


def test_factors_that_do_not_act_together_are_not_said_to() -> None:
    found = of(group_of(experiment_trials("full"), "full"))
    assert len(found.interactions) == 3
    assert not any(one.found for one in found.interactions)
    assert not any(row.depends_on for row in found.rows)


def test_a_fraction_gives_main_effects_of_factors_that_do_not_act_together() -> None:
    found = of(group_of(experiment_trials("fractional"), "fractional"))
    assert [value(row) for row in found.rows] == pytest.approx([0.06, -0.2, 0.0], abs=1e-9)
    assert found.interactions == ()


def test_cases_that_differ_in_more_than_factors_are_apart() -> None:
    trials = renumbered(
        experiment_trials(), experiment_trials(instances=4), experiment_trials(test="udp-1500")
    )
    groups = effects(trials, SWEEP, "one-at-a-time")
    assert [(group.case.test, group.case.instances) for group in groups] == [
        ("tcp", 1),
        ("tcp", 4),
        ("udp-1500", 1),
    ]
    assert all(group.case.factors == () for group in groups)


def test_zero_copy_as_a_factor_does_not_split_the_cases() -> None:
    factors = {"zerocopy": ("off", "on")}
    made = experiment_trials(factors=factors)
    trials = [
        replace(each, case=replace(each.case, zerocopy=dict(each.case.factors)["zerocopy"] == "on"))
        for each in made
    ]
    group = group_of(trials, "one-at-a-time", factors)
    assert list(rows(of(group))) == ["zerocopy=on"]
    assert group.case == Case("tcp", "h1", "h2")


def test_levels_that_no_trial_has_are_named_and_have_no_effect() -> None:
    trials = [each for each in experiment_trials() if dict(each.case.factors)["rps"] == "off"]
    group = group_of(trials, "one-at-a-time")
    assert group.absent == (("rps", "irq"),)
    assert list(rows(of(group))) == ["mtu=9000", "gro=off"]


def test_levels_stand_in_the_order_of_the_campaign_also_after_a_random_order() -> None:
    factors = {"mtu": ("9000", "1500", "4000")}
    trials = experiment_trials(factors=factors)
    group = group_of(trials[::-1], "one-at-a-time", factors)
    assert group.base == (("mtu", "9000"),)
    assert [row.level for row in of(group).rows] == ["1500", "4000"]


def test_without_factors_there_are_no_effects() -> None:
    assert effects(scaling_trials(), {}, "one-at-a-time") == ()


def test_active_idle_has_no_effects_and_a_load_level_none_on_the_throughput_that_was_asked_for() -> None:
    idle = [replace(each, case=replace(each.case, load_level=0.0)) for each in experiment_trials()]
    assert effects(idle, SWEEP, "one-at-a-time") == ()
    half = [replace(each, case=replace(each.case, load_level=0.5)) for each in experiment_trials()]
    assert [found.response for found in group_of(half, "one-at-a-time").responses] == [EFFICIENCY]


@pytest.mark.parametrize(
    ("users", "varied", "told"),
    [
        ((("arrival_rate", "5"),), (), False),
        ((), (("users.arrival_rate", "5"),), False),
        ((("arrival_rate", "none"),), (), True),
        ((), (), True),
    ],
)
def test_an_open_loop_has_no_effects_on_the_throughput_that_was_asked_for(
    users: tuple[tuple[str, str], ...], varied: tuple[tuple[str, str], ...], told: bool
) -> None:
    trials = [
        replace(one, case=replace(one.case, users=users, factors=tuple(sorted((*one.case.factors, *varied)))))
        for one in experiment_trials()
    ]
    found = [one.response for one in group_of(trials, "one-at-a-time").responses]
    assert (THROUGHPUT in found) == told
    assert EFFICIENCY in found


# --- Missing runs -----------------------------------------------------------------------------------


def test_failed_trials_are_no_runs() -> None:
    trials = list(experiment_trials())
    lost = next(at for at, each in enumerate(trials) if dict(each.case.factors)["gro"] == "off")
    trials[lost] = failed(trials[lost].number, trials[lost].case, "no route")
    found = rows(of(group_of(trials, "one-at-a-time")))
    assert found["gro=off"].verdict == Verdict(
        "undecided", "not enough runs: 3 and 2 runs, and each side needs 3", None
    )
    assert (found["gro=off"].runs, found["gro=off"].base_runs) == (2, 3)
    assert found["mtu=9000"].verdict.kind == "better"


@pytest.mark.parametrize("design", ["one-at-a-time", "full", "fractional"])
def test_one_run_of_a_setting_is_not_enough(design: str) -> None:
    trials = experiment_trials(design, factors={"gro": ("on", "off"), "mtu": ("1500", "9000")}, trials=1)  # type: ignore[arg-type]
    found = of(group_of(trials, design, {"gro": ("on", "off"), "mtu": ("1500", "9000")}))
    assert {row.verdict.kind for row in found.rows} == {"undecided"}
    assert all(row.verdict.words.startswith("not enough runs: ") for row in found.rows)
    assert found.best.setting is None
    assert found.best.words.startswith("the base is kept: not enough runs")


def test_a_number_that_a_failed_trial_left_behind_is_no_run() -> None:
    first, *rest = powered(experiment_trials())
    for found in group_of((replace(first, status="failed"), *rest), "one-at-a-time").responses:
        assert {row.base_runs for row in found.rows} == {2}


def test_a_setting_with_one_run_is_not_the_best_whatever_it_reached() -> None:
    quick = (("gro", "on"), ("mtu", "9000"), ("rps", "irq"))
    trials = [
        replace(each, throughput_bps=40e9) if each.case.factors == quick else each
        for each in experiment_trials("full")
        if each.case.factors != quick or each.repetition == 1
    ]
    best = of(group_of(trials, "full")).best
    assert best.setting == (("gro", "on"), ("mtu", "9000"), ("rps", "off"))
    assert best.compared == 6


def test_a_level_whose_runs_all_failed_says_so_and_spoils_no_other() -> None:
    trials = [
        failed(each.number, each.case, "no route") if dict(each.case.factors)["gro"] == "off" else each
        for each in experiment_trials("full")
    ]
    found = rows(of(group_of(trials, "full")))
    assert found["gro=off"].verdict.words == "not enough runs: gro=off: no run has a value"
    assert value(found["mtu=9000"]) == pytest.approx(0.06, abs=1e-9)
    base = [
        failed(each.number, each.case, "no route") if dict(each.case.factors)["gro"] == "on" else each
        for each in experiment_trials("full")
    ]
    assert rows(of(group_of(base, "full")))["gro=off"].verdict.words == (
        "not enough runs: gro=on: no run has a value"
    )


def test_all_trials_failed_gives_no_number() -> None:
    trials = [failed(each.number, each.case, "no route") for each in experiment_trials()]
    assert group_of(trials, "one-at-a-time").responses == ()


# --- Responses --------------------------------------------------------------------------------------


def test_efficiency_and_watts_are_responses_of_their_own() -> None:
    trials = powered(experiment_trials(), ends=("receiver", "sender"))
    group = group_of(trials, "one-at-a-time")
    assert [found.response for found in group.responses] == [
        THROUGHPUT,
        EFFICIENCY,
        PER_WATT["receiver"],
        PER_WATT["sender"],
    ]
    per_watt = of(group, PER_WATT["receiver"])
    assert (per_watt.scope, per_watt.provenance) == ("psu-out", "measured")
    assert value(rows(per_watt)["mtu=9000"]) == pytest.approx(0.06, abs=1e-9)
    assert rows(per_watt)["mtu=9000"].verdict.words.startswith("more per watt by 6.0 %")


def test_one_simulated_watt_makes_the_effect_a_simulated_one() -> None:
    trials = list(powered(experiment_trials()))
    trials[0] = powered(trials[:1], provenance="simulated")[0]
    assert of(group_of(trials, "one-at-a-time"), PER_WATT["receiver"]).provenance == "simulated"


def test_watts_of_another_scope_are_not_compared() -> None:
    trials = list(powered(experiment_trials()))
    for at, each in enumerate(trials):
        if dict(each.case.factors)["gro"] == "off":
            assert each.receiver is not None
            trials[at] = replace(each, receiver=replace(each.receiver, power=(watts("wall", 300.0),)))
    found = of(group_of(trials, "one-at-a-time"), PER_WATT["receiver"])
    assert found.scope == "psu-out"
    assert (rows(found)["gro=off"].runs, rows(found)["gro=off"].verdict.kind) == (0, "undecided")


def test_loss_is_a_difference_and_less_of_it_is_better() -> None:
    losses = iter([0.010, 0.002, 0.006, 0.010] * 3)
    trials = [
        replace(each, lost_ratio=next(losses) * (1 + 0.002 * (each.repetition - 2)))
        for each in experiment_trials(test="udp-1500")
    ]
    found = of(group_of(trials, "one-at-a-time"), LOSS)
    assert [row.verdict.kind for row in found.rows] == ["better", "better", "same"]
    assert found.rows[0].verdict.words.startswith("less loss by 0.8 points (CI 0.8 to 0.8 points)")
    assert found.rows[2].verdict.words == "no measurable effect (within ± 0.00 points)"
    assert found.best.setting == (("gro", "on"), ("mtu", "9000"), ("rps", "off"))


def test_no_loss_anywhere_is_no_effect_and_no_error() -> None:
    trials = experiment_trials(test="udp-1500", lost_ratio=0.0)
    assert {row.verdict.kind for row in of(group_of(trials, "one-at-a-time"), LOSS).rows} == {"same"}


def test_tcp_has_no_loss_to_speak_of() -> None:
    assert LOSS not in [found.response for found in group_of(experiment_trials(), "one-at-a-time").responses]


# --- The best setting -------------------------------------------------------------------------------


def test_the_best_setting_is_the_one_with_the_best_response() -> None:
    def both(levels: Mapping[str, str]) -> float:
        gain = 1.06 if levels["mtu"] == "9000" else 1.0
        return gain * (1.04 if levels["rps"] == "irq" else 1.0) * (0.95 if levels["gro"] == "off" else 1.0)

    found = of(group_of(experiment_trials("full", effect=both), "full"))
    assert found.best.setting == (("gro", "on"), ("mtu", "9000"), ("rps", "irq"))
    assert found.best.words.startswith("faster by 10.2 % (CI ")
    assert found.best.compared == 7


@pytest.mark.parametrize("design", ["one-at-a-time", "full"])
def test_the_base_is_kept_where_nothing_is_better_beyond_doubt(design: str) -> None:
    trials = experiment_trials(design, effect=lambda levels: 0.9 if levels["gro"] == "off" else 1.0)  # type: ignore[arg-type]
    best = of(group_of(trials, design)).best
    count = 3 if design == "one-at-a-time" else 7
    assert best.setting is None
    assert best.words == f"the base is kept: of {count} other settings none is better beyond doubt"


def test_a_setting_that_was_best_by_chance_only_is_not_chosen() -> None:
    trials = experiment_trials(effect=lambda levels: 1.02 if levels["mtu"] == "9000" else 1.0, cv=0.03)
    assert of(group_of(trials, "one-at-a-time")).best.setting is None


@pytest.mark.parametrize("design", ["one-at-a-time", "full"])
def test_settings_that_are_not_told_from_the_best_one_are_named(design: str) -> None:
    factors = {"mtu": ("1500", "4000", "9000")}
    at = {"1500": 1.0, "4000": 2.0, "9000": 2.001}
    trials = experiment_trials(design, factors=factors, effect=lambda one: at[one["mtu"]], cv=0.05, trials=5)  # type: ignore[arg-type]
    group = group_of(trials, design, factors)
    best = of(group).best
    assert best.setting == (("mtu", "9000"),)
    assert best.not_told == ((("mtu", "4000"),),)
    assert list(best_doubts(group.base, best)) == ["not told from mtu=4000"]


def test_levels_that_are_better_and_never_ran_together_are_named() -> None:
    def both(levels: Mapping[str, str]) -> float:
        return (1.06 if levels["mtu"] == "9000" else 1.0) * (1.04 if levels["rps"] == "irq" else 1.0)

    alone, every = (of(group_of(experiment_trials(one, effect=both), one)).best for one in DESIGNS)
    assert alone.not_run == (("gro", "on"), ("mtu", "9000"), ("rps", "irq"))
    assert list(best_doubts(BASE, alone)) == ["never run: mtu=9000 rps=irq together"]
    assert every.not_run is None


# --- Verdicts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value_pct", "se_pct", "kind", "words"),
    [
        (3.1, 0.4, "better", "faster by 3.1 % (CI 2.2 to 4.0 %)"),
        (-3.1, 0.4, "worse", "slower by 3.1 % (CI 2.3 to 3.9 %)"),
        (0.4, 0.05, "small", "less than 1.0 %: faster by 0.4 % (CI 0.3 to 0.5 %)"),
        (0.1, 0.5, "same", "no measurable effect (within ± 1.1 %)"),
        (0.5, 4.0, "undecided", "not enough runs: anything from −7.5 to +9.2 %"),
    ],
)
def test_a_verdict_says_what_is_known(value_pct: float, se_pct: float, kind: str, words: str) -> None:
    contrast = Contrast(math.log1p(value_pct / 100), se_pct / 100, 20)
    found = one(THROUGHPUT, contrast)
    assert (found.kind, found.words) == (kind, words)


def test_the_factor_beyond_which_an_effect_counts_can_be_stated() -> None:
    contrast = Contrast(math.log(1.03), 0.002, 20)
    assert [verdicts(THROUGHPUT, [contrast], limit)[0].kind for limit in (0.01, 0.05)] == ["better", "small"]


def test_among_many_effects_one_that_chance_would_give_is_not_claimed() -> None:
    doubtful = Contrast(math.log(1.03), math.log(1.03) / 2.3, 20)  # p 0.03
    none = Contrast(0.0, 0.001, 20)
    assert one(THROUGHPUT, doubtful).kind == "better"
    many = verdicts(THROUGHPUT, [doubtful, none, none])
    assert [each.kind for each in many] == ["undecided", "same", "same"]
    assert many[0].words.startswith(
        "not enough runs to tell it from chance among 3 effects: faster by 3.0 % (CI 0."
    )
    change = many[0].change
    assert change is not None
    assert change.p_holm == pytest.approx(3 * change.p)


def test_effects_without_enough_runs_do_not_count_as_looked_at() -> None:
    doubtful = Contrast(math.log(1.03), math.log(1.03) / 2.3, 20)
    assert verdicts(THROUGHPUT, [doubtful, "2 and 3 runs"])[0].kind == "better"


def test_the_sense_of_a_change_follows_the_response_not_its_sign() -> None:
    more = Contrast(0.02, 0.001, 20)
    assert (one(THROUGHPUT, more).kind, one(LOSS, more).kind) == ("better", "worse")
    assert one(LOSS, more).words == "more loss by 2.0 points (CI 1.8 to 2.2 points)"


def test_a_change_too_large_for_a_float_is_still_one() -> None:
    found = one(THROUGHPUT, Contrast(2.0, 500.0, 4))
    assert found.kind == "undecided"
    assert found.change is not None
    assert math.isfinite(found.change.high)
