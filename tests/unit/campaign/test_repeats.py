# SPDX-License-Identifier: Apache-2.0
"""Cases that stop by themselves: when, in which order, after an interruption, and what is written of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.report_factories import manifest_of

from linewatt import records
from linewatt.analysis.statistics.repeats import RepeatRule, Repeats, half_width_ratio, met
from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import Plan, plan_campaign
from linewatt.campaign.reading import file
from linewatt.cli.actions.plan import _lines as plan_lines
from linewatt.engine.repeats import Remaining
from linewatt.errors import StoreError
from linewatt.model import Case, Trial
from linewatt.report.trials.repeats import repeats_lines, repeats_phrases
from linewatt.store.read import Result, read_as

RULE = RepeatRule(10, 30, 0.01)
CASE = Case("tcp", "a", "b")
QUIET, LOUD = 0.002, 0.08
FILE = """\
name: n
hosts:
  a: {{address: 192.0.2.1, data: eth0}}
  b: {{address: 192.0.2.2, data: eth0}}
tests: [tcp]
{keys}
"""


def campaign(tmp_path: Path, keys: str) -> Campaign:
    path = tmp_path / "campaign.yaml"
    path.write_text(FILE.format(keys=keys))
    return file.load_campaign(path)


def trial(case: Case, number: int, bps: float | None) -> Trial:
    status: Any = "failed" if bps is None else "done"
    return Trial(number, 1, case, case.key, status, 70.0 * number, throughput_bps=bps, reason="no")


class Engine:
    """Runs what remains of a plan round by round, with throughput as loud as each case is."""

    def __init__(self, of: Campaign, planned: Plan, trials: tuple[Trial, ...] = ()) -> None:
        self.remaining = Remaining(of, planned, trials)
        self.trials = list(trials)
        self.order: list[tuple[Case, int]] = []

    def run(
        self, loud: dict[Case, float], most: int | None = None, fails: frozenset[int] = frozenset()
    ) -> None:
        for round_ in self.remaining.rounds():
            for one in self.remaining.round(round_).trials:
                if len(self.order) == most:
                    return
                noise = np.random.default_rng(one.number).normal()
                bps = None if one.number in fails else 94e9 * (1 + loud[one.case] * noise)
                made = trial(one.case, one.number, bps)
                self.remaining.learn(made)
                self.trials.append(made)
                self.order.append((one.case, one.repetition))

    def runs(self, case: Case) -> int:
        return sum(one == case for one, _ in self.order)


def test_looks_are_both_bounds_and_a_few_numbers_between_them() -> None:
    assert RULE.looks == (10, 15, 20, 30)
    assert RepeatRule(3, 6, 0.5).looks == (3, 6)
    assert RepeatRule(12, 100, 0.01).looks == (12, 15, 20, 30, 50, 70, 100)


def test_a_narrow_interval_ends_a_case_at_a_look_and_not_between_two() -> None:
    narrow = [94e9, 94.1e9] * 6
    assert met(narrow[:10], RULE)
    assert not met(narrow[:9], RULE)
    assert not met(narrow[:11], RULE)
    assert not met([94e9, 80e9] * 5, RULE)


def test_the_half_width_is_students_in_parts_of_the_mean() -> None:
    ratio = half_width_ratio([99.0, 100.0, 101.0])
    assert ratio == pytest.approx(4.302653 * 1.0 / 3**0.5 / 100)
    assert half_width_ratio([1.0]) is None
    assert half_width_ratio([0.0, 0.0]) is None


@pytest.mark.parametrize("order", ["interleaved", "random", "sequential"])
def test_a_quiet_case_stops_early_and_a_loud_one_has_all_its_trials(tmp_path: Path, order: str) -> None:
    of = campaign(tmp_path, f"instances: [1, 2]\norder: {order}\ntrials: {{min: 10, max: 30, until: 1%}}")
    planned = plan_campaign(of, 1)
    one, two = planned.cases
    engine = Engine(of, planned)
    engine.run({one: QUIET, two: LOUD})
    assert (engine.runs(one), engine.runs(two)) == (10, 30)
    assert engine.remaining.to_run == 0


def test_cases_that_are_compared_stop_together_and_stay_interleaved(tmp_path: Path) -> None:
    of = campaign(tmp_path, "factors: {mtu: [1500, 9000]}\ntrials: {min: 10, max: 30, until: 1%}")
    planned = plan_campaign(of, 1)
    base, other = planned.cases
    engine = Engine(of, planned)
    engine.run({base: QUIET, other: LOUD})
    assert engine.order == [(case, at) for at in range(1, 31) for case in (base, other)]
    both = Engine(of, planned)
    both.run({base: QUIET, other: QUIET})
    assert (both.runs(base), both.runs(other)) == (10, 10)


def test_a_failed_trial_is_no_run(tmp_path: Path) -> None:
    of = campaign(tmp_path, "trials: {min: 10, max: 30, until: 1%}")
    planned = plan_campaign(of, 1)
    engine = Engine(of, planned)
    engine.run(dict.fromkeys(planned.cases, QUIET), fails=frozenset({2, 7}))
    assert len(engine.order) == 12


def test_a_case_that_only_fails_holds_nobody_up_and_has_all_its_trials(tmp_path: Path) -> None:
    of = campaign(tmp_path, "factors: {mtu: [1500, 9000]}\ntrials: {min: 3, max: 6, until: 50%}")
    planned = plan_campaign(of, 1)
    base, other = planned.cases
    fails = frozenset(one.number for one in planned.trials if one.case == other)
    engine = Engine(of, planned)
    engine.run({base: QUIET, other: QUIET}, fails=fails)
    assert (engine.runs(base), engine.runs(other)) == (3, 6)


@settings(deadline=None, max_examples=inputs(40))
@given(stop=st.integers(0, 60), loud=st.floats(0.001, 0.05), order=st.sampled_from(["interleaved", "random"]))
def test_resume_ends_with_the_trials_that_one_run_would_have(
    tmp_path_factory: pytest.TempPathFactory, stop: int, loud: float, order: str
) -> None:
    keys = f"instances: [1, 2]\norder: {order}\ntrials: {{min: 10, max: 30, until: 1%}}"
    of = campaign(tmp_path_factory.mktemp("c"), keys)
    planned = plan_campaign(of, 1)
    noise = {planned.cases[0]: loud, planned.cases[1]: QUIET}
    whole = Engine(of, planned)
    whole.run(noise)
    first = Engine(of, planned)
    first.run(noise, most=stop)
    second = Engine(of, planned, tuple(first.trials))
    second.run(noise)
    assert [one.number for one in second.trials] == [one.number for one in whole.trials]


def test_a_campaign_with_a_number_of_trials_runs_them_all_and_writes_nothing(tmp_path: Path) -> None:
    of = campaign(tmp_path, "trials: 12")
    planned = plan_campaign(of, 1)
    engine = Engine(of, planned)
    engine.run(dict.fromkeys(planned.cases, 0.0))
    engine.remaining.record(tmp_path)
    assert (len(engine.order), engine.remaining.to_run) == (12, 0)
    assert not (tmp_path / "repeats.json").exists()


def recorded(tmp_path: Path, loud: float) -> Result:
    of = campaign(tmp_path, "trials: {min: 10, max: 15, until: 1%}")
    planned = plan_campaign(of, 1)
    engine = Engine(of, planned)
    engine.run(dict.fromkeys(planned.cases, loud))
    engine.remaining.record(tmp_path)
    repeats = read_as(tmp_path / "repeats.json", records.Repeats)
    return Result("id", tmp_path, manifest_of(trials_planned=15), tuple(engine.trials), repeats=repeats)


def test_a_result_whose_cases_are_sure_enough_is_complete_and_says_why_they_stopped(tmp_path: Path) -> None:
    result = recorded(tmp_path, QUIET)
    assert (result.complete, result.trials_planned, len(result.trials)) == (True, 10, 10)
    assert result.repeats is not None
    (case,) = result.repeats.cases
    assert (case.runs, case.trials_left_out, case.until_met) == (10, 5, True)
    assert case.why.endswith("after 10 trials, ± 1 % was asked for")
    (line,) = repeats_lines(result)
    assert "reached by 1 case after 10 trials" in line


def test_a_case_that_was_never_sure_says_how_sure_it_is(tmp_path: Path) -> None:
    result = recorded(tmp_path, LOUD)
    assert (result.complete, result.trials_planned) == (True, 15)
    assert result.repeats is not None
    (case,) = result.repeats.cases
    assert not case.until_met
    assert "± 1 % was not reached in 15 trials" in repeats_lines(result)[1]
    assert repeats_lines(result) == [f"{phrase}." for phrase in repeats_phrases(result)]


def test_a_result_is_not_complete_before_its_cases_are_done(tmp_path: Path) -> None:
    of = campaign(tmp_path, "trials: {min: 10, max: 15, until: 1%}")
    engine = Engine(of, plan_campaign(of, 1))
    engine.run(dict.fromkeys(plan_campaign(of, 1).cases, QUIET), most=4)
    engine.remaining.record(tmp_path)
    assert not (tmp_path / "repeats.json").exists()
    assert not Result("id", tmp_path, manifest_of(trials_planned=15), tuple(engine.trials)).complete


def test_the_plan_says_what_is_least_and_most(tmp_path: Path) -> None:
    of = campaign(tmp_path, "trials: {until: 1%}")
    planned = plan_campaign(of, 1)
    headline = next(iter(plan_lines(of, planned, False)))
    assert "1 case × 10 to 30 trials, until ± 1 % = at most 30" in headline
    assert headline.endswith("11 min 16 s to 33 min 38 s")
    few = campaign(tmp_path, "trials: {min: 3, until: 1%}")
    assert any("may stop after 3 trials" in note for note in plan_campaign(few, 1).notes)


def test_a_stored_campaign_keeps_when_its_cases_stop(tmp_path: Path) -> None:
    of = campaign(tmp_path, "trials: {min: 5, max: 9, until: 0.5 %}")
    assert (of.min_trials, of.trials, of.until_ratio) == (5, 9, 0.005)
    again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(of))))
    assert (again.min_trials, again.trials, again.until_ratio) == (5, 9, 0.005)


def test_cpus_that_hosts_were_seen_to_share_are_no_edit_of_the_file(tmp_path: Path) -> None:
    of = campaign(tmp_path, "trials: 5")
    first, second, *_ = of.hosts
    seen = {first: replace(of.hosts[first], shares_cpus_with=(second,))}
    written = json.loads(json.dumps(stored.campaign_as_dict(replace(of, hosts={**of.hosts, **seen}))))
    assert stored.differences_from_stored(written, of) == []
    assert stored.differences_from_stored(written, replace(of, trials=6)) == ["trials: 5 → 6"]


def test_a_stored_campaign_that_cannot_be_read_names_every_place(tmp_path: Path) -> None:
    of = json.loads(json.dumps(stored.campaign_as_dict(campaign(tmp_path, "trials: 5"))))
    with pytest.raises(StoreError) as error:
        stored.campaign_from_dict({**of, "trials": "many", "omit_s": [], "tail_s": {}})
    assert re.search(r"linewatt: \w+: .*; also wrong: \w+, \w+; run the campaign's file", str(error.value))
    assert all(key in str(error.value) for key in ("trials", "omit_s", "tail_s"))


def test_of_many_wrong_places_of_a_stored_campaign_20_are_named(tmp_path: Path) -> None:
    of = json.loads(json.dumps(stored.campaign_as_dict(campaign(tmp_path, "trials: 5"))))
    with pytest.raises(StoreError) as error:
        stored.campaign_from_dict({**of, "networks": [7] * 50})
    words = str(error.value)
    places = re.findall(r"\bnetworks\.\d+\b", words)
    assert len(places) == len(set(places)) == 20
    assert f"{places[-1]} and 30 more; run the campaign's file" in words


def test_a_comparison_is_of_one_pair_and_one_test_only() -> None:
    other = replace(CASE, receiver="c")
    book = Repeats(RepeatRule(3, 6, 0.5), [CASE, other])
    stopped = [book.learn(trial(CASE, number, 94e9 + number)) for number in (1, 2, 3)]
    assert stopped == [(), (), (CASE,)]
    assert (book.needs(CASE), book.needs(other)) == (False, True)
