# SPDX-License-Identifier: Apache-2.0
"""Graduated load: what a level offers, when it is run, and the score over all levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.report_factories import regimes

from linewatt.analysis.cases.load_levels import LevelPoint, level_curves
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.statistics.stats import Estimate
from linewatt.engine.live.trial import Levels, TrialFailed
from linewatt.model import Case, Provenance, Trial

CASE = Case("tcp", "h1", "h2", instances=2)


def trial(case: Case, throughput_bps: float | None) -> Trial:
    status = "failed" if throughput_bps is None else "done"
    return Trial(1, 1, case, case.key, status, 0.0, throughput_bps=throughput_bps)  # type: ignore[arg-type]


def at(level: float | None, case: Case = CASE) -> Case:
    return replace(case, load_level=level)


def test_a_level_is_its_part_of_the_mean_at_full_rate() -> None:
    levels = Levels([trial(CASE, 8e9), trial(CASE, 10e9), trial(CASE, None), trial(at(0.5), 1e9)])
    assert levels.target_bps(at(0.5)) == pytest.approx(4.5e9)
    assert levels.target_bps(at(1.0)) == pytest.approx(9e9)
    assert levels.target_bps(at(0.0)) == 0.0
    assert levels.target_bps(CASE) is None


def test_every_pair_is_offered_the_same_the_smallest_of_their_maxima() -> None:
    other = replace(CASE, sender="h3", receiver="h4")
    levels = Levels([trial(CASE, 10e9), trial(other, 4e9)])
    assert levels.target_bps(at(0.5)) == levels.target_bps(at(0.5, other)) == pytest.approx(2e9)


def test_without_a_trial_at_full_rate_there_is_no_level_but_idle() -> None:
    levels = Levels([trial(CASE, None), trial(replace(CASE, instances=1), 9e9)])
    with pytest.raises(TrialFailed, match="no trial of this case at full rate"):
        levels.target_bps(at(0.5))
    assert levels.target_bps(at(0.0)) == 0.0


def test_a_level_is_a_case_of_its_own_and_leaves_the_key_of_full_rate_alone() -> None:
    assert len({CASE.key, at(0.5).key, at(0.0).key}) == 3
    assert "load_level" not in CASE.parameters


def summary(level: float | None, gbps: float, watts: float | None) -> CaseSummary:
    power = EndPower("h2", "receiver", reasons={})
    if watts is not None:
        power = replace(
            power,
            values={"system_w": Estimate(watts, None, 1)},
            system_scope="psu-out",
            system_provenance="simulated",
        )
    return CaseSummary(
        at(level), 1, 0, values={"throughput_bps": Estimate(gbps * 1e9, None, 1)}, receiver_power=power
    )


def test_the_score_is_all_throughput_over_all_power_with_active_idle() -> None:
    receiver, sender = level_curves(
        [summary(None, 10, 200), summary(0, 0, 100), summary(1, 10, 200), summary(0.5, 5, 150)]
    )
    assert [point.level for point in receiver.points] == [1.0, 0.5, 0.0]
    assert receiver.score_bps_per_w == pytest.approx(15e9 / 450)
    assert (receiver.scope, receiver.provenance, receiver.reason) == ("psu-out", "simulated", None)
    assert sender.score_bps_per_w is None
    assert sender.reason == "a level has no system power"


@pytest.mark.parametrize(
    ("summaries", "why"),
    [
        ([summary(1, 10, 200), summary(0.5, 5, 150)], "active idle"),
        ([summary(1, 10, 200), summary(0, 0, None)], "no system power"),
        ([summary(1, 0, 200), summary(0, 0, 100)], "nothing arrived"),
    ],
)
def test_a_score_that_lacks_something_says_what(summaries: list[CaseSummary], why: str) -> None:
    receiver, _ = level_curves(summaries)
    assert receiver.score_bps_per_w is None
    assert receiver.reason is not None
    assert why in receiver.reason


def test_a_campaign_without_levels_has_no_curve() -> None:
    assert level_curves([summary(None, 10, 200)]) == ()


def scoped(level: float, scope: str, provenance: Provenance) -> CaseSummary:
    made = summary(level, 10 * level, 200)
    assert made.receiver_power is not None
    power = replace(made.receiver_power, system_scope=scope, system_provenance=provenance)
    return replace(made, receiver_power=power)


def test_a_curve_is_as_sure_as_its_least_sure_level() -> None:
    receiver, _ = level_curves([scoped(1, "wall", "measured"), scoped(0, "wall", "estimate")])
    assert receiver.provenance == "estimate"
    assert receiver.score_bps_per_w == pytest.approx(10e9 / 400)


def test_watts_of_two_scopes_make_no_score() -> None:
    receiver, _ = level_curves([scoped(1, "wall", "measured"), scoped(0, "system", "measured")])
    assert (receiver.scope, receiver.score_bps_per_w) == ("wall", None)
    assert receiver.points[1].system_w is None
    assert receiver.points[1].power is not None
    assert receiver.points[1].power.reasons["system_w"] == "only system was read at this level"
    assert receiver.points[1].provenance is None


def paced(level: float, target_bps: float | None, throughput_bps: float, case: Case = CASE) -> Trial:
    return replace(trial(at(level, case), throughput_bps), target_bps=target_bps)


def first(trials: Sequence[Trial]) -> LevelPoint:
    return level_curves(summarise(trials))[0].points[0]


@pytest.mark.parametrize(
    ("throughput_bps", "missed"),
    [(5e9, False), (4.91e9, False), (4.89e9, True), (5.09e9, False), (5.11e9, True), (0.0, True)],
)
def test_a_level_more_than_2_percent_off_its_target_is_missed(throughput_bps: float, missed: bool) -> None:
    assert first([paced(0.5, 5e9, throughput_bps)]).missed is missed


def test_a_level_without_a_recorded_target_is_not_known_to_be_met() -> None:
    assert first([paced(0.5, None, 5e9)]).missed is None
    assert first([replace(paced(0.5, 5e9, 0), status="failed", throughput_bps=None)]).missed is None


def test_active_idle_asks_for_nothing_and_misses_nothing() -> None:
    assert first([paced(0.0, 0.0, 0.0)]).missed is False


def test_pairs_that_were_not_offered_the_same_rate_are_told() -> None:
    other = replace(CASE, sender="h3", receiver="h4")
    equal = [paced(0.5, 5e9, 5e9), paced(0.5, 5.05e9, 5e9, other)]
    assert first(equal).pairs_bps is None
    assert first([equal[0], paced(0.5, 4e9, 4e9, other)]).pairs_bps == (4e9, 5e9)
    unlike = [paced(0.5, 5e9, 5e9), paced(0.5, 4e9, 4e9, replace(CASE, instances=4))]
    assert first(unlike).pairs_bps is None


def test_curves_are_in_the_order_of_their_cases_at_full_rate() -> None:
    one, two = replace(CASE, instances=1), replace(CASE, instances=2)
    trials = [trial(one, 1e9), trial(two, 1e9), paced(0.5, 5e8, 5e8, two), paced(0.5, 5e8, 5e8, one)]
    assert [curve.case.instances for curve in level_curves(summarise(trials))] == [1, 1, 2, 2]


def test_a_level_is_paced_whatever_its_instances_and_never_single_or_saturated() -> None:
    trials = [paced(0.5, 5e9, 5e9, replace(CASE, instances=n)) for n in (1, 2, 8)]
    assert regimes(summarise(trials)) == ("paced", "paced", "paced")


def test_what_a_level_sends_is_no_scaling() -> None:
    trials = [paced(0.5, n * 1e9, n * 1e9, replace(CASE, instances=n)) for n in (1, 2)]
    two = summarise(trials)[1]
    assert two.scalings["throughput_scaling"] is None
    assert "held to a load level" in two.reasons["throughput_scaling"]
    full = [trial(replace(CASE, instances=n), n * 1e9) for n in (1, 2)]
    assert summarise(full)[1].scalings["throughput_scaling"] == 1
