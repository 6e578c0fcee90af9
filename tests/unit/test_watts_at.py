# SPDX-License-Identifier: Apache-2.0
"""Watts at a throughput that somebody asks for: measured, between two cases, or withheld with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report_factories import failed, level_trials, result, scaling_trials, trial, watts
from tests.report_factories import powered as powered_by_instances
from tests.report_factories import stored as stored_result
from tests.unit.conftest import Run

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.power.at_rate import WattsAt, watts_at
from linewatt.model import Case, PowerResult, Trial

CASE = Case("tcp", "h1", "h2", instances=2)
Law = Callable[[float], float]


def powered(
    law: Law,
    levels: Sequence[float],
    runs: int = 3,
    changed: Callable[[PowerResult], PowerResult] = lambda one: one,
) -> list[Trial]:
    """Trials at levels of 10 Gbps, and the watts of the receiver by Gbps; ± 1 % of a meter."""
    made: list[Trial] = []
    for level in levels:
        for run in range(runs):
            one = trial(len(made) + 1, replace(CASE, load_level=level), level * 10e9, 1.0)
            power_w = law(level * 10) + 0.1 * (run - (runs - 1) / 2)
            own = changed(watts("system", power_w, energy_uncertainty_j=60 * power_w * 0.01))
            assert one.receiver is not None
            made.append(replace(one, receiver=replace(one.receiver, power=(own,))))
    return made


def at(bps: float, trials: Sequence[Trial]) -> WattsAt:
    (one,) = watts_at(summarise(trials), bps)
    return one


def line(gbps: float) -> float:
    return 100 + 4 * gbps


def test_a_throughput_that_a_case_carried_has_its_watts_as_they_were_measured() -> None:
    one = at(5.02e9, powered(line, (1.0, 0.5, 0.0)))
    assert one.power_w == pytest.approx(120)
    assert (one.bend_w, len(one.points)) == (None, 1)
    assert one.reach_w == pytest.approx(1.2, rel=0.1)
    assert (one.role, one.host, one.scope, one.provenance) == ("receiver", "h2", "system", "measured")


@pytest.mark.parametrize("gbps", [1.0, 3.3, 6.0, 9.0])
def test_between_two_cases_power_is_on_the_line_and_its_bound_holds_what_a_curve_does(gbps: float) -> None:
    levels = (1.0, 0.75, 0.5, 0.25, 0.0)
    straight = at(gbps * 1e9, powered(line, levels))
    assert straight.power_w == pytest.approx(line(gbps))
    assert straight.bend_w == pytest.approx(0, abs=1e-6)

    def curved(rate: float) -> float:
        return 100 + 0.9 * rate**2

    bent = at(gbps * 1e9, powered(curved, levels))
    assert bent.power_w is not None
    assert bent.bend_w is not None
    assert abs(bent.power_w - curved(gbps)) <= bent.bend_w * (1 + 1e-9)
    assert bent.reach_w is not None
    assert bent.reach_w > bent.bend_w > 0.4


@pytest.mark.parametrize(
    ("levels", "bps", "why"),
    [
        ((1.0, 0.5, 0.0), 12e9, "no watts above 10.00 Gbps are known"),
        ((1.0, 0.5, 0.2), 1e9, "no watts below 2.000 Gbps are known"),
        ((1.0, 0.0), 5e9, "0 bit/s and 10.00 Gbps alone do not say how power bends between them"),
    ],
)
def test_what_the_rates_cannot_carry_is_withheld_with_the_reason(
    levels: Sequence[float], bps: float, why: str
) -> None:
    one = at(bps, powered(line, levels))
    assert (one.power_w, one.reach_w) == (None, None)
    assert one.reason is not None
    assert why in one.reason


def test_watts_that_the_meter_did_not_read_are_no_part_of_it_and_that_is_said() -> None:
    def unread(one: PowerResult) -> PowerResult:
        silent = one.power_w is not None and one.power_w < 130
        return watts("system", None) if silent else one

    one = at(3e9, powered(line, (1.0, 0.75, 0.5, 0.0), changed=unread))
    assert one.power_w is None
    assert one.reason is not None
    assert "no case has watts" not in one.reason
    assert "no watts below 7.500 Gbps are known" in one.reason
    assert "watts at 5.00 Gbps cannot be used: bmc system: no answer within 5 s" in one.reason


def test_a_meter_without_a_bound_and_a_single_trial_have_no_reach() -> None:
    def unbound(one: PowerResult) -> PowerResult:
        return replace(one, energy_uncertainty_j=None)

    one = at(5e9, powered(line, (1.0, 0.5, 0.0), runs=1, changed=unbound))
    assert one.power_w == pytest.approx(120)
    assert one.reach_w is None


def test_full_rate_beside_a_level_of_it_is_no_slope() -> None:
    trials = powered(line, (1.0, 0.5, 0.0))
    full = [replace(one, number=90 + one.number) for one in trials if one.case.load_level == 1.0]
    free = [replace(one, case=replace(CASE), throughput_bps=10.05e9, receiver=one.receiver) for one in full]
    one = at(7.5e9, [*trials, *free])
    assert one.power_w == pytest.approx(130, rel=0.001)
    assert {point.summary.case.load_level for point in one.points} == {0.5, 1.0}


def test_rates_that_were_named_are_points_like_levels_are() -> None:
    trials = [
        replace(one, case=replace(CASE, load_level=None, rate_bps=(one.throughput_bps or 0) / 2))
        for one in powered(line, (1.0, 0.6, 0.2))
    ]
    assert at(4e9, trials).power_w == pytest.approx(116)


def test_show_has_a_row_an_end_and_json_what_it_was_made_of(run: Run) -> None:
    stored_result(Path("results"), result(level_trials(CASE)))
    code, out, err = run("show", "last", "--at", "5G", "--at", "6 Gbit/s", "--at", "20G")
    assert code == 0, err
    said = " ".join(out.split())
    assert "measured at 5.000 Gbps (50 %); watts: system" in said
    assert "between 5.000 Gbps (50 %) and" in said
    assert "no watts above 10.00 Gbps are known" in said
    document = json.loads(run("show", "last", "--at", "6G", "--json")[1])
    (row,) = document["watts_at"]
    assert row["at_bps"] == 6e9
    assert (row["measured"], row["host"], len(row["of"])) == (False, "h2", 2)
    assert row["system_w_half_width"] > row["bend_w"]
    assert "watts_at" not in json.loads(run("show", "last", "--json")[1])


def test_a_result_without_watts_says_so(run: Run) -> None:
    stored_result(Path("results"), result([*level_trials(CASE, provenance=None), failed(99, CASE, "gone")]))
    code, _, said = run("show", "last", "--at", "5G")
    assert code == 2
    assert "--at: no source of power was named" in said


def test_cases_that_differ_in_instances_are_no_curve(run: Run) -> None:
    stored_result(Path("results"), result(powered_by_instances(scaling_trials())))
    code, _, said = run("show", "last", "--at", "3G")
    assert code == 2
    assert "no case with watts carried as much, and none was sent at several rates or load levels" in said
    assert json.loads(run("show", "last", "--at", "3G", "--json")[1])["watts_at"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "5"), "--at '5': must be a rate above 0 with its unit"),
        (("--at", "fast"), "--at 'fast': "),
        (("--at", "0G"), "--at '0G': "),
        (("--at", "5G", "--csv"), "--at: goes with --json alone"),
        (("--at", "5G", "--full"), "--at: goes with --json alone"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(run: Run, words: tuple[str, ...], said: str) -> None:
    stored_result(Path("results"), result(level_trials(CASE)))
    code, _, err = run("show", "last", *words)
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
