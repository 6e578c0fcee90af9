# SPDX-License-Identifier: Apache-2.0
"""Graduated load: what a level offers, when it is run, and the score over all levels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linewatt.analysis.load_levels import curves
from linewatt.analysis.power_summary import EndPower
from linewatt.analysis.stats import Estimate
from linewatt.analysis.summary import CaseSummary
from linewatt.engine.levels import Levels, NotCalibrated
from linewatt.model import Case, Trial
from linewatt.report.levels import level_lines

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
    with pytest.raises(NotCalibrated, match="no trial of this case at full rate"):
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
            system_w=Estimate(watts, None, 1),
            system_scope="psu-out",
            system_provenance="simulated",
        )
    return CaseSummary(at(level), 1, 0, throughput_bps=Estimate(gbps * 1e9, None, 1), receiver_power=power)


def test_the_score_is_all_throughput_over_all_power_with_active_idle() -> None:
    receiver, sender = curves(
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
    ],
)
def test_a_score_that_lacks_something_says_what(summaries: list[CaseSummary], why: str) -> None:
    receiver, _ = curves(summaries)
    assert receiver.score_bps_per_w is None
    assert receiver.reason is not None
    assert why in receiver.reason


def test_a_campaign_without_levels_has_no_curve() -> None:
    assert curves([summary(None, 10, 200)]) == ()


def test_the_curve_is_told_from_full_load_to_idle_with_its_score_and_never_without_its_mark() -> None:
    lines = level_lines([summary(None, 10, 200), summary(1, 10, 200), summary(0, 0, 100)])
    assert lines == [
        "Load levels, tcp, h1 → h2, 2 instances: PSU DC out of the receiver h2",
        "    100 %: 10.0 Gbps, 200.0 W (simulated), –",
        "    active idle: 0 bit/s, 100.0 W (simulated), –",
        "    overall score, all throughput over all power: 33.33 Mbps/W (simulated)",
    ]


def test_levels_without_power_are_not_told() -> None:
    assert level_lines([summary(1, 10, None), summary(0, 0, None)]) == []
