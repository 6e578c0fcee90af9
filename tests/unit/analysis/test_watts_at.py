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
    assert (one.ends_w, len(one.points)) == (None, 1)
    assert one.reach_w == pytest.approx(1.2, rel=0.1)
    assert (one.role, one.host, one.scope, one.provenance) == ("receiver", "h2", "system", "measured")


def test_what_stands_behind_the_plus_minus_is_the_longer_arm_of_skewed_runs() -> None:
    runs_w = iter([120.0, 120.0, 120.0, 120.0, 130.0])
    at_rate = at(5e9, powered(lambda _: next(runs_w), [0.5], runs=5))
    power = at_rate.points[0].summary.power("receiver")
    assert power is not None
    assert power.system_w is not None
    assert power.uncertainty_w is not None
    spread = power.system_w.interval()
    assert spread is not None
    assert at_rate.reach_w is not None
    longer_w = spread.high - power.system_w.mean
    assert longer_w > 1.5 * (power.system_w.mean - spread.low)
    assert at_rate.reach_w == pytest.approx((longer_w**2 + power.uncertainty_w.mean**2) ** 0.5)


LEVELS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
LAWS: dict[str, Law] = {
    "straight": line,
    "curved": lambda gbps: 100 + 0.9 * gbps**2,
    "a second socket wakes": lambda gbps: 100 + 2 * gbps + 10 * max(0.0, gbps - 5),
    "fans step": lambda gbps: 100 + 2 * gbps + 30 * (gbps >= 5.5),
}


@pytest.mark.parametrize("gbps", [2.5, 3.3, 5.0, 5.2, 9.0])
@pytest.mark.parametrize("law", LAWS)
def test_between_two_cases_power_is_on_the_line_and_no_nearer_than_both_of_them(
    law: str, gbps: float
) -> None:
    made = LAWS[law]
    one = at(gbps * 1e9, powered(made, LEVELS))
    assert one.power_w is not None
    assert one.reach_w is not None
    assert abs(one.power_w - made(gbps)) <= one.reach_w
    low, high = one.points
    assert low.power_w is not None
    assert high.power_w is not None
    assert one.ends_w == pytest.approx(max(abs(one.power_w - low.power_w), abs(high.power_w - one.power_w)))
    if law == "straight":
        assert one.power_w == pytest.approx(line(gbps))


@pytest.mark.parametrize("levels", [(1.0, 0.5, 0.0), (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)])
def test_nothing_is_told_between_active_idle_and_the_lowest_rate(levels: Sequence[float]) -> None:
    one = at(0.5e9, powered(lambda gbps: 138 + 2 * gbps if gbps else 100, levels))
    assert (one.power_w, one.reach_w) == (None, None)
    assert one.reason is not None
    assert "between active idle and" in one.reason


def udp(rows: Sequence[tuple[float, float, float]]) -> list[Trial]:
    """Trials by Gbps asked for, Gbps arrived, and W."""
    made: list[Trial] = []
    for asked, arrived, power_w in rows:
        for run in range(3):
            case = Case("udp-1500", "h1", "h2", rate_bps=asked * 1e9)
            one = trial(len(made) + 1, case, arrived * 1e9, 1.0)
            own = watts("system", power_w + 0.1 * run, energy_uncertainty_j=0.6 * power_w)
            assert one.receiver is not None
            made.append(replace(one, receiver=replace(one.receiver, power=(own,))))
    return made


@pytest.mark.parametrize("gbps", [6.5, 7.0, 7.2])
def test_a_case_that_missed_its_rate_is_no_measure_of_what_arrived(gbps: float) -> None:
    one = at(gbps * 1e9, udp([(2, 2, 108), (4, 4, 116), (6, 6, 124), (8, 7.5, 170), (10, 7.0, 190)]))
    assert one.power_w is None
    assert one.reason is not None
    assert "is what arrived of 10.00 Gbps: more than it carries" in one.reason


@pytest.mark.parametrize(
    ("levels", "bps", "why"),
    [
        ((1.0, 0.5, 0.0), 12e9, "nothing above 10.00 Gbps was measured"),
        ((1.0, 0.5, 0.2), 1e9, "nothing as little as that was measured"),
        (
            (1.0, 0.0),
            5e9,
            "between active idle and 10.00 Gbps power is not a straight line: measure at this rate",
        ),
    ],
)
def test_what_the_rates_cannot_carry_is_withheld_with_the_reason(
    levels: Sequence[float], bps: float, why: str
) -> None:
    one = at(bps, powered(line, levels))
    assert (one.power_w, one.reach_w) == (None, None)
    assert one.reason is not None
    assert why in one.reason


@pytest.mark.parametrize("gbps", [3.0, 5.02, 6.0])
def test_a_case_next_to_it_without_watts_withholds_them(gbps: float) -> None:
    def unread(one: PowerResult) -> PowerResult:
        return watts("system", None) if one.power_w is not None and 115 < one.power_w < 125 else one

    one = at(gbps * 1e9, powered(line, (1.0, 0.75, 0.5, 0.25, 0.0), changed=unread))
    assert one.power_w is None
    assert one.reason == "no watts at 5.000 Gbps: bmc system: no answer within 5 s"
    assert at(8e9, powered(line, (1.0, 0.75, 0.5, 0.25, 0.0), changed=unread)).power_w is not None


@pytest.mark.parametrize(
    ("runs", "bounded", "why"),
    [
        (1, True, "one trial: its spread is not known"),
        (3, False, "the meter's error is not known"),
    ],
)
@pytest.mark.parametrize("gbps", [5.0, 7.0])
def test_a_reach_of_which_a_part_is_not_known_is_not_known(
    runs: int, bounded: bool, why: str, gbps: float
) -> None:
    def changed(one: PowerResult) -> PowerResult:
        return one if bounded else replace(one, energy_uncertainty_j=None)

    one = at(gbps * 1e9, powered(line, (1.0, 0.5, 0.0), runs=runs, changed=changed))
    assert one.power_w == pytest.approx(line(gbps))
    assert (one.reach_w, one.unknown) == (None, why)


def test_watts_that_are_simulated_in_part_are_not_called_measured() -> None:
    trials = [
        replace(
            one,
            receiver=replace(
                one.receiver,
                power=tuple(replace(each, provenance="simulated") for each in one.receiver.power),
            ),
        )
        if one.case.load_level == 1.0 and one.receiver is not None
        else one
        for one in powered(line, (1.0, 0.5, 0.0))
    ]
    assert at(7e9, trials).provenance == "simulated"
    assert at(5e9, trials).provenance == "measured"


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
    assert "nothing above 10.00 Gbps was measured" in said
    document = json.loads(run("show", "last", "--at", "6G", "--json")[1])
    (row,) = document["watts_at"]
    assert row["at_bps"] == 6e9
    assert (row["measured"], row["host"], len(row["of"])) == (False, "h2", 2)
    assert row["system_w_half_width"] > row["reaches_ends_w"]
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
