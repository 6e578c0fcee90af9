# SPDX-License-Identifier: Apache-2.0
"""Searches for the knee of throughput over instances: what they find, when they end, how they go on."""

from __future__ import annotations

import io
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from rich.console import Console
from tests.amounts import inputs
from tests.documents import valid
from tests.report_factories import result
from tests.report_factories import stored as stored_result
from tests.unit.conftest import Run
from tests.unit.placement.test_policy import machine

from linewatt.analysis.cases.analyse import analyse_series
from linewatt.analysis.cases.instance_search import (
    InstanceSearch,
    bounded_by_cpus,
    fit_knee,
    instance_search_of,
    ladder,
    next_instance_step,
)
from linewatt.analysis.cases.summary import summarise
from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.places import Site
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading import file
from linewatt.cli.actions.plan import _lines as plan_lines
from linewatt.cli.actions.resume import _refuse_other_searches
from linewatt.engine.repeats import Remaining
from linewatt.errors import InvalidInput, StoreError
from linewatt.model import Case, Flag, Trial, Window
from linewatt.records import EndedSearch, Host, InstanceRule, Searches
from linewatt.report.list_document import document_of_list
from linewatt.report.list_line import listed
from linewatt.report.printing import html, screen
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import digest_document, digest_of
from linewatt.report.trials.searches.knees import answer_words, carried_words, tried_words
from linewatt.report.trials.terminal import show_trials
from linewatt.store.read import Result

CASE = Case("tcp", "a", "b", search="instances")
RULE = InstanceRule(64, "search.max_instances", named=False, runs=3, counts=13)
Device = Callable[[int], float]
"""instances → throughput of a trial, bit/s"""


def link(rate_bps: float, each_bps: float = 1e9, noise: float = 0.005, seed: int = 0) -> Device:
    """Instances that bring so much each until the link is full."""
    drawn = random.Random(seed)  # noqa: S311  noise, not a secret
    return lambda instances: min(instances * each_bps, rate_bps) * (1 + noise * drawn.gauss(0, 1))


def trial(number: int, instances: int, device: Device, case: Case = CASE) -> Trial:
    step = replace(case, instances=instances, search=None)
    return Trial(
        number,
        1,
        step,
        step.key,
        "done",
        70.0 * number,
        window=Window(70.0 * number + 1, 70.0 * number + 11),
        throughput_bps=device(instances),
    )


def failed(number: int, instances: int) -> Trial:
    step = replace(CASE, instances=instances, search=None)
    return Trial(number, 1, step, step.key, "failed", 70.0 * number, reason="h1 is gone")


def searching(device: Device, rule: InstanceRule = RULE, before: tuple[Trial, ...] = ()) -> list[Trial]:
    """Trials until the search ends."""
    trials = list(before)
    while (wanted := next_instance_step(rule, trials)).ended is None:
        assert wanted.instances is not None
        trials.append(trial(len(trials) + 1, wanted.instances, device))
        assert len(trials) <= rule.counts * rule.runs
    return trials


def found(trials: list[Trial], rule: InstanceRule = RULE) -> InstanceSearch:
    return instance_search_of(CASE, rule, trials, ended=next_instance_step(rule, trials).ended)


@pytest.mark.parametrize("seed", range(inputs(20)))
def test_the_knee_of_a_full_link_is_found_within_one_instance(seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311  a draw
    knee = drawn.uniform(2.2, 24)
    trials = searching(link(knee * 1e9, seed=seed))
    one = found(trials)
    assert one.state == "found", one.ended
    assert one.knee is not None
    assert one.knee.instances == pytest.approx(knee, abs=1)
    assert one.knee.low < one.knee.instances < one.knee.high
    assert set(Counter(step.case.instances for step in trials).values()) == {3}


def test_the_interval_of_a_knee_covers_what_it_says() -> None:
    """Of trials that spread by 2 %, at knees that are drawn."""
    covered, wide = 0, []
    for seed in range(60):
        knee = random.Random(seed).uniform(3.2, 12)  # noqa: S311  a draw
        one = found(searching(link(knee * 1e9, noise=0.02, seed=seed)))
        if one.knee is not None:
            covered += one.knee.low <= knee <= one.knee.high
            wide.append((one.knee.high - one.knee.low) / knee)
    assert len(wide) >= 55
    assert covered >= 0.9 * len(wide)
    assert median(wide) < 0.25


def test_doubling_ends_once_two_doublings_surely_brought_nothing() -> None:
    trials = searching(link(3e9))
    tried = list(dict.fromkeys(one.case.instances for one in trials))
    assert tried[:5] == [1, 2, 4, 8, 16]
    assert 32 not in tried
    assert 3 in tried


def test_a_dip_does_not_end_the_doubling() -> None:
    steady = link(40e9)
    one = found(searching(lambda count: steady(count) * (0.55 if count == 4 else 1)))
    assert 8 in one.tried
    assert 32 in one.tried


def test_one_noisy_trial_does_not_stop_a_search_that_its_spread_leaves_open() -> None:
    drawn = iter([1.0, 1.02, 0.98, 1.0, 3.0, 2.0, *[4.0] * 60])
    trials: list[Trial] = []
    for number in range(1, 8):
        wanted = next_instance_step(RULE, trials).instances
        assert wanted is not None
        trials.append(trial(number, wanted, lambda count: 1e9 * next(drawn)))
    assert [one.case.instances for one in trials] == [1, 1, 1, 2, 2, 2, 4]


def test_trials_that_differ_too_much_leave_it_open_whether_throughput_stops_to_rise() -> None:
    drawn = itertools.cycle([0.5e9, 1e9, 1.6e9])
    rule = replace(RULE, most=4)
    one = found(searching(lambda count: next(drawn), rule), rule)
    assert one.state == "rising"
    assert one.ended is not None
    assert "was not sure up to 4 instances" in one.ended


def test_throughput_that_still_rises_at_the_bound_has_no_knee_and_says_what_bounded_it() -> None:
    rule = replace(RULE, most=8, bound="the 8 CPUs of a")
    one = found(searching(link(100e9), rule), rule)
    assert (one.state, one.knee) == ("rising", None)
    assert one.ended == "throughput still rose from 4 to 8 instances, the most there may be (the 8 CPUs of a)"
    assert one.tried == (1, 2, 4, 8)


def test_one_instance_that_fills_the_link_is_an_answer() -> None:
    one = found(searching(link(0.9e9)))
    assert one.state == "flat"
    assert one.tried[:3] == (1, 2, 4)


def test_what_was_tried_and_what_was_not_is_told() -> None:
    one = found(searching(link(3e9)))
    said = tried_words(one)
    assert said.startswith("tried: 1–4, 8, 16; not: 5–7, 9–15, more than 16 (at most 64: search.max_")


@pytest.mark.parametrize("kept", range(0, 18, 5))
def test_a_search_that_was_killed_goes_on_with_what_it_would_have_tried(kept: int) -> None:
    whole = searching(link(5.3e9))
    wanted = next_instance_step(RULE, reversed(whole[:kept]))
    assert wanted.instances == whole[kept].case.instances


def test_trials_that_fail_one_after_the_other_end_a_search_with_their_reason() -> None:
    trials = [failed(number, 1) for number in (1, 2, 3)]
    assert next_instance_step(RULE, trials[:2]).instances == 1
    assert next_instance_step(RULE, trials).ended == "3 trials in a row came to no number: h1 is gone"
    assert found(trials).state == "failed"


@pytest.mark.parametrize(
    ("most", "tried"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8]), (9, [1, 2, 4, 8, 9])]
)
def test_doubling_ends_with_the_most_there_may_be(most: int, tried: list[int]) -> None:
    rule = replace(RULE, most=most)
    assert found(searching(link(1e12), rule), rule).tried == tuple(tried)


def test_what_is_less_than_half_a_doubling_decides_nothing() -> None:
    """From 8 to 9 instances +2.5 % would be 16 % a doubling; from 4 to 9 it is what was measured."""
    assert ladder(9) == [(1, 2), (2, 4), (4, 8), (4, 9)]
    assert ladder(6) == [(1, 2), (2, 4), (4, 6)]
    rule = replace(RULE, most=9)
    one = found(searching(link(8.2e9, noise=0.001), rule), rule)
    assert one.doublings[-1].fewer.instances == 4
    measured = one.doublings[-1].measured
    assert measured is not None
    assert measured.ratio == pytest.approx(8.2 / 4 - 1, rel=0.02)


def smt(instances: int) -> float:
    """Cores, then their second threads: 10 Gbps each to 8, 4 each to 16, then no more."""
    return 1e9 * (10 * min(instances, 8) + 4 * max(0, min(instances, 16) - 8))


def noisy(law: Callable[[int], float], noise: float = 0.003) -> Device:
    drawn = random.Random(1)  # noqa: S311  noise, not a secret
    return lambda instances: law(instances) * (1 + noise * drawn.gauss(0, 1))


def test_a_knee_that_the_trials_beyond_it_contradict_is_none_and_enough_is_what_carries_all() -> None:
    one = found(searching(noisy(smt)))
    assert (one.state, one.knee) == ("stopped", None)
    assert one.enough is not None
    assert one.enough.instances == 16
    assert "no one bend: throughput stops to rise at about 16 instances" in answer_words(one)


@pytest.mark.parametrize("lost", [1, 2])
def test_a_number_that_lost_trials_is_not_the_one_that_none_is_better_than(lost: int) -> None:
    """Two trials tell no interval, and one has no spread."""
    trials: list[Trial] = []
    while (wanted := next_instance_step(RULE, trials)).ended is None:
        number, at = wanted.instances or 0, len(trials) + 1
        trials.append(failed(at, number) if at <= lost else trial(at, number, link(5.3e9, seed=at)))
    one = found(trials)
    assert one.failed == lost
    assert one.enough is not None
    assert one.enough.instances == 6
    assert "6 instances: 5.3" in carried_words(one)


def test_throughput_that_falls_is_told_with_its_sign_and_drawn_as_fitted() -> None:
    one = found(searching(noisy(lambda n: 10e9 * min(n, 4) * (1 if n <= 4 else (4 / n) ** 0.3))))
    if one.state == "found":
        assert one.after_bps is not None
        assert one.after_bps < 0
        assert "less for each one after" in answer_words(one)
    lines = fit_knee(found(searching(noisy(lambda n: 1e9 * (min(n, 4) - 0.01 * max(0, n - 4))))))
    assert lines is not None
    assert lines[1][1] == pytest.approx(-1e7, rel=0.3)
    fallen = found(searching(noisy(lambda n: 1e9 * (min(n, 4) - 0.01 * max(0, n - 4)))))
    assert "Mbps less for each one after" in answer_words(fallen)
    assert "less for each one after" not in answer_words(found(searching(link(5.3e9))))


def slowing(device: Device, each_trial: float) -> Device:
    """A device that gets slower from trial to trial."""
    trials = itertools.count()
    return lambda instances: device(instances) * (1 - each_trial) ** next(trials)


def test_a_device_that_gets_slower_during_a_search_is_told_beside_its_knee() -> None:
    made = searched_result(slowing(link(5.3e9), 0.01))
    text = " ".join(shown(made).split())
    assert "throughput: doubtful (a) (a) Drifts over search (a → b)" in text
    text = " ".join(shown(made, width=300).split())
    assert "Drifts over search: a → b: tcp: throughput falls from trial to trial of the same number" in text
    document = digest_document(digest_of(made))
    valid("show", document)
    assert document["searches"][0]["doubts"] == ["drifts-over-search"]
    (note,) = [one for one in document["flags"] if one["code"] == "drifts-over-search"]
    assert note["count"] == 1
    assert sorted(note["evidence"][0]["trials"]) == list(range(1, len(made.trials) + 1))
    assert "Drifts over search" in html.render_html(digest_of(made))


@pytest.mark.parametrize("law", [link(5.3e9), link(100e9), link(1e9)], ids=["knee", "rising", "flat"])
def test_no_drift_is_told_of_a_device_that_stays_as_fast(law: Device) -> None:
    for _ in range(10):
        assert digest_document(digest_of(searched_result(law)))["searches"][0]["doubts"] == []


@pytest.mark.parametrize(("over_search", "doubts"), [(0.03, []), (0.08, ["drifts-over-search"])])
def test_only_a_drift_that_could_end_a_doubling_is_told_however_sure_it_is(
    over_search: float, doubts: list[str]
) -> None:
    """Of a device so quiet that both changes stand far out of its noise."""
    length = len(searching(link(5.3e9, noise=1e-4)))
    made = searched_result(slowing(link(5.3e9, noise=1e-4), over_search / length))
    assert len(made.trials) == pytest.approx(length, abs=length / 4)
    assert digest_document(digest_of(made))["searches"][0]["doubts"] == doubts


def test_what_makes_a_step_doubtful_stands_at_the_knee() -> None:
    made = searched_result(link(5.3e9))
    flag = Flag("above-line-rate", "a → b", "more than the line can carry", "look at the interface")
    trials = tuple(replace(one, flags=(flag,)) if one.case.instances == 8 else one for one in made.trials)
    made = replace(made, trials=trials)
    assert "0 bit/s after (a)" in " ".join(shown(made).split())
    (search,) = digest_document(digest_of(made))["searches"]
    assert search["doubts"] == ["above-line-rate"]
    assert digest_document(digest_of(searched_result(link(5.3e9))))["searches"][0]["doubts"] == []


def test_a_search_that_failures_ended_is_no_answer_and_names_what_has_no_number() -> None:
    trials: list[Trial] = []
    while (wanted := next_instance_step(RULE, trials)).ended is None:
        number = wanted.instances or 0
        made = failed if number == 8 else (lambda at, count: trial(at, count, link(1e12)))
        trials.append(made(len(trials) + 1, number))
    one = found(trials)
    assert one.state == "failed"
    assert one.tried == (1, 2, 4)
    assert "trials failed before it was sure; 4 instances at most have a number" in answer_words(one)
    assert tried_words(one).endswith("no number at 8: 3 trials failed")


def test_tests_of_the_same_frames_beside_a_search_are_no_steps_of_it(tmp_path: Path) -> None:
    of = campaign(
        tmp_path,
        "tests: [{test: udp-1500, instances: auto}, {test: udp-1500, rate: auto, instances: 2}, "
        "{test: udp-1500, rate: 1G, instances: [1, 2, 4, 8]}]\ntrials: 3\n",
    )
    remaining, trials = Remaining(of, plan_campaign(of, 7)), list[Trial]()
    while remaining.to_run and len(trials) < 80:
        one = remaining.rounds()[0].trials[0]
        sent = (one.case.rate_bps or 1e9) * one.case.instances
        made = trial(one.number, one.case.instances, lambda count: 5.3e9)
        made = replace(made, case=one.case, case_key=one.case.key, throughput_bps=min(5.3e9, sent))
        remaining.learn(made)
        trials.append(made)
    made_result = result(trials, campaign=json.loads(json.dumps(stored.campaign_as_dict(of))))
    assert "SEARCHED INSTANCES" in shown(made_result)
    instances = [
        one for one in digest_document(digest_of(made_result))["searches"] if one["search"] == "instances"
    ]
    assert len(instances) == 1
    plain = {one.number for one in trials if one.case.search is None and one.case.rate_bps is None}
    assert {number for step in instances[0]["steps"] for number in step["trials"]} == plain


def host(**said: Any) -> Host:
    return Host.model_validate(said)


def test_no_more_instances_are_tried_than_the_host_with_fewer_cpus_has() -> None:
    hosts = {
        "a": host(facts={"cpus": {"online": list(range(16))}}),
        "b": host(facts={"cpus": {"online": list(range(8))}}),
    }
    assert bounded_by_cpus(RULE, hosts, CASE) == replace(RULE, most=8, bound="the 8 CPUs of b")
    pinned = {**hosts, "a": host(app_cpus=[0, 1])}
    assert bounded_by_cpus(RULE, pinned, CASE).bound == "the 2 CPUs of a"
    assert bounded_by_cpus(RULE, {"a": host(facts={})}, CASE) == RULE


FILE = """
hosts:
  a: {address: 10.0.0.1, data: eth0, data_ipv4: 10.1.0.1}
  b: {address: 10.0.0.2, data: eth0, data_ipv4: 10.1.0.2}
name: knee
"""


def campaign(tmp_path: Path, keys: str) -> Campaign:
    path = tmp_path / "campaign.yaml"
    path.write_text(FILE + keys)
    return file.load_campaign(path)


KEYS = 'tests: [{test: tcp, instances: auto}, {test: udp-60, instances: [2]}]\npairs: ["a -> b", "b -> a"]\n'
KEYS += "trials: 3\nsearch: {max_instances: 16}\n"


@pytest.mark.parametrize("order", ["interleaved", "sequential", "random"])
@pytest.mark.parametrize("killed_after", [0, 1, 8, 20])
def test_a_campaign_that_was_killed_ends_as_if_it_had_not_been(
    tmp_path: Path, order: str, killed_after: int
) -> None:
    of = campaign(tmp_path, f"{KEYS}order: {order}\n")
    rates = {"a": 3e9, "b": 6.4e9}

    def go(before: list[Trial], most: int) -> list[Trial]:
        again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(of))))
        planned = plan_campaign(again, 7)
        assert plan_as_dict(planned) == plan_as_dict(plan_campaign(of, 7))
        remaining, trials = Remaining(again, planned, before), list(before)
        for round_ in remaining.rounds():
            for one in remaining.round(round_).trials:
                if len(trials) == most:
                    return trials
                assert len(one.instances) == one.case.instances
                assert one.case.search is None
                device = link(rates[one.case.sender], seed=one.number)
                made = replace(trial(one.number, one.case.instances, device), case=one.case)
                remaining.learn(made)
                trials.append(made)
        assert remaining.to_run == 0
        return trials

    whole = go([], 999)
    assert [one.case for one in go(go([], killed_after), 999)] == [one.case for one in whole]
    tried = {name: {one.case.instances for one in whole if one.case.sender == name} for name in rates}
    assert {2, 3, 4} <= tried["a"]
    assert {6, 7} <= tried["b"]
    udp = [one for one in whole if one.case.test == "udp-60"]
    assert len(udp) == 2 * 3


def test_what_a_search_did_not_need_and_why_it_ended_is_written_down(tmp_path: Path) -> None:
    of = campaign(tmp_path, "tests: [tcp]\ninstances: auto\ntrials: 3\nsearch: {max_instances: 16}\n")
    planned = plan_campaign(of, 7)
    remaining, count = Remaining(of, planned), 0
    while remaining.to_run:
        one = remaining.rounds()[0].trials[0]
        remaining.learn(trial(one.number, one.case.instances, link(3e9, seed=one.number)))
        count += 1
    remaining.record(tmp_path)
    written = json.loads((tmp_path / "searches.json").read_text())
    valid("searches", written)
    assert written["trials_left_out"] == sum(1 for _ in planned.trials) - count
    (one_search,) = written["searches"]
    assert one_search["why"] == "the knee is known to within one instance"
    assert one_search["case_key"] == replace(CASE, instances=1).key


def test_a_step_is_not_made_ready_before_the_one_that_it_depends_on_has_ended(tmp_path: Path) -> None:
    of = campaign(tmp_path, KEYS)
    remaining = Remaining(of, plan_campaign(of, 7))
    rounds = remaining.rounds()
    steps = [one for one in rounds if one.trials[0].case.test == "tcp" and one.trials[0].case.sender == "a"]
    others = [one for one in rounds if one.trials[0].case.test != "tcp"]
    assert remaining.follows(steps[1], steps[0])
    assert not any(remaining.follows(one, steps[0]) for one in others)


def test_cpus_of_a_host_on_record_bound_what_is_tried(tmp_path: Path) -> None:
    of = campaign(tmp_path, "tests: [{test: tcp, instances: auto}]\ntrials: 3\n")
    hosts = {name: host(facts={"cpus": {"online": [0, 1]}}) for name in ("a", "b")}
    remaining, tried = Remaining(of, plan_campaign(of, 7), (), hosts), []
    while remaining.to_run:
        one = remaining.rounds()[0].trials[0]
        tried.append(one.case.instances)
        remaining.learn(trial(one.number, one.case.instances, link(100e9)))
    assert tried == [1, 1, 1, 2, 2, 2]


def test_each_step_is_laid_out_as_a_case_of_as_many_instances_is(tmp_path: Path) -> None:
    site = Site(machine(2, 8), has_irqs=True, queues=8, irqbalance=True, numactl=True)
    sites = {"a": site, "b": site}

    def shown(keys: str) -> dict[int, Any]:
        of = campaign(tmp_path, f"{keys}\ntrials: 3\nplacement: auto\n")
        planned = plan_campaign(of, 7, sites)
        remaining = Remaining(of, planned)
        for number, instances in enumerate((1, 1, 1, 2, 2, 2, 4), start=1):
            if "auto" in keys.split("\n")[0]:
                remaining.learn(trial(number, instances, link(1e12)))
        if "auto" in keys.split("\n")[0]:
            rounds = [remaining.rounds()[0]]
        else:
            rounds = [one for one in planned.rounds if one.trials[0].case.instances == 4]
        (one,) = rounds[0].trials
        cpus = [(each.sender_cpu, each.receiver_cpu) for each in one.instances]
        changes = {(each.knob, each.target, each.value) for each in planned.changes_in(rounds[0])}
        return {one.case.instances: (cpus, one.sender_irq_cpus, one.receiver_irq_cpus, changes)}

    searched = shown("tests: [{test: tcp, instances: auto}]\nsearch: {max_instances: 16}")
    assert searched == shown("tests: [{test: tcp, instances: [1, 2, 4, 16]}]")
    ((_, placed),) = searched.items()
    assert placed[3]


def test_a_plan_says_what_is_searched_and_how_long_that_takes_at_most(tmp_path: Path) -> None:
    of = campaign(tmp_path, KEYS)
    text = "\n".join(plan_lines(of, plan_campaign(of, 7), trials=False))
    assert "2 cases × 3 trials + 2 searches of 9 to 33 trials = at most 72" in text
    assert "1 to 16" in text
    assert (
        "1, 2, 4 … up to 16 (search.max_instances), until twice as many surely bring less than 10 %" in text
    )
    open_ended = campaign(tmp_path, "tests: [tcp]\ninstances: auto\n")
    said = "\n".join(plan_campaign(open_ended, 7).notes)
    assert (
        "1, 2, 4 … up to 32 (half of the 64 ports unless search.max_instances names another number;" in said
    )
    assert "fewer where a host has fewer CPUs" in said
    assert "servers cannot start ahead" not in said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("tests: [tcp]\ninstances: many\n", "instances: must be a whole number, a list of them, or auto"),
        ("tests: [tcp]\ninstances: auto\nsoak: 1h\n", ":7:12: instances: auto is of cases and trials"),
        (
            "tests: [{test: udp-60, instances: auto, rate: auto}]\n",
            ":6:35: tests[0].instances: auto cannot go with rate: auto",
        ),
        ("tests: [tcp]\ninstances: auto\nrate: 1G\n", "instances: auto cannot go with a rate"),
        ("tests: [tcp]\ninstances: auto\nload_levels: [50]\n", "load_levels: are of a known number"),
        ("tests: [tcp]\ninstances: auto\nfactors: {mtu: [1500, 9000]}\n", "auto cannot go with factors"),
        ("tests: [tcp]\ninstances: auto\nconcurrent_pairs: true\n", "auto cannot go with concurrent_pairs"),
        (
            "tests: [tcp]\ninstances: auto\ntrials: 2\n",
            "trials: must be 3 or more with instances: auto, got 2",
        ),
        (
            "tests: [tcp]\ninstances: auto\ntrials: {until: 1%}\n",
            "trials: must be a number with instances: auto",
        ),
        ("tests: [tcp]\nsearch: {max_instances: 4}\n", "search: has no effect"),
        (
            "tests: [tcp]\ninstances: auto\nplacement: neighbour\n",
            "search.max_instances: is missing: placement: neighbour has CPUs for so many",
        ),
        (
            "tests: [udp-60]\nrate: auto\nsearch: {max_instances: 4}\n",
            "search.max_instances: has no effect: no test has instances: auto",
        ),
        (
            "tests: [tcp]\ninstances: auto\nsearch: {loss: [0%]}\n",
            "search.loss: has no effect: no test has rate: auto",
        ),
        (
            "tests: [tcp]\ninstances: auto\nsearch: {max_instances: 9}\nports: 5000-5007\n",
            "ports: 9 instances need 9 ports, got 8",
        ),
        ("tests: [{test: tcp, instances: auto}, {test: tcp, instances: 4}]\n", "tests[1]: repeats tests[0]"),
        ("tests: [tcp]\ninstances: auto\nsearch: {max_instances: 0}\n", "must be at least 1"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_line(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        campaign(tmp_path, keys)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def searched_result(device: Device, rule: InstanceRule = RULE) -> Result:
    """A stored campaign of one search, and what ended it."""
    trials = searching(device, rule)
    asked = {
        "instance_search": {
            "most": rule.most,
            "bound": rule.bound,
            "named": True,
            "runs": rule.runs,
            "counts": rule.counts,
        },
        "tests": [{"test": "tcp", "instances": "auto", "streams": [1], "zerocopy": False}],
    }
    made = result(trials, campaign=asked)
    why = next_instance_step(rule, trials).ended
    one = EndedSearch(case_key=replace(CASE, instances=1).key, sender="a", receiver="b", why=why)
    return replace(made, searches=Searches(trials_left_out=0, searches=[one]))


def shown(made: Result, *, full: bool = False, width: int = 80) -> str:
    view = digest_of(made)
    first = first_screen_of_trials(view)
    assert first is not None
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(show_trials(view, width=width) if full else screen.screen_text(first, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_result_begins_with_the_knee_in_24_lines_of_80_columns() -> None:
    text = shown(searched_result(link(5.3e9)))
    assert "TCP knee at 5.3 instances (95 % CI 5." in " ".join(text.split())
    assert "SEARCHED INSTANCES" in text
    assert "tried: 1–2, 4–6, 8, 16, 32" in " ".join(text.split())
    assert "▂▄▆█████ throughput of 1, 2, 4, 5, 6, 8, 16, 32 instances, from 0" in " ".join(text.split())
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 80


def test_every_step_is_a_case_like_any_and_a_row_of_the_search() -> None:
    made = searched_result(link(5.3e9))
    text = shown(made, full=True, width=140)
    assert "TCP: throughput by instances" in text
    document = digest_document(digest_of(made))
    assert [one["instances"] for one in document["cases"]] == [1, 2, 4, 5, 6, 8, 16, 32]
    (search,) = document["searches"]
    assert [one["instances"] for one in search["steps"]] == [1, 2, 4, 5, 6, 8, 16, 32]
    assert (search["search"], search["state"]) == ("instances", "found")
    assert search["knee_instances"] == pytest.approx(5.3, abs=0.2)
    assert search["knee_ci95"][0] < search["knee_instances"] < search["knee_ci95"][1]
    assert search["instances_enough"] == 6
    assert 7 in search["not_tried"]
    plain = replace(CASE, instances=4, search=None)
    assert plain.key in {one["case_key"] for one in document["cases"]}


def test_the_report_draws_throughput_by_instances_with_the_knee() -> None:
    page = html.render_html(digest_of(searched_result(link(5.3e9))))
    assert "throughput by instances" in page
    assert "Searched instances" in page


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (link(0.9e9), "no knee: beyond 1 instance a doubling surely brings less than 10"),
        (link(100e9), "no knee up to 64 instances"),
    ],
)
def test_where_there_is_no_knee_that_is_the_answer(device: Device, said: str) -> None:
    made = searched_result(device)
    assert said in " ".join(shown(made).split())
    (search,) = digest_document(digest_of(made))["searches"]
    assert search["state"] in ("flat", "rising")


def test_a_search_that_is_not_finished_is_no_knee() -> None:
    made = searched_result(link(5.3e9))
    some = replace(made, trials=made.trials[:9], searches=None)
    assert "not finished: 4 instances at most so far" in " ".join(shown(some).split())
    (search,) = digest_document(digest_of(some))["searches"]
    assert (search["state"], search["ended"]) == ("open", None)


def test_searches_of_one_test_are_told_apart_by_what_differs_and_not_by_instances() -> None:
    trials = [replace(one, case=replace(one.case, streams=1)) for one in searching(link(5.3e9))]
    more = [
        replace(one, number=900 + one.number, case=replace(one.case, streams=8))
        for one in searching(link(3.3e9))
    ]
    asked = {
        "instance_search": {"most": 64, "bound": "ports", "named": True, "runs": 3, "counts": 13},
        "tests": [{"test": "tcp", "instances": "auto", "streams": [1, 8], "zerocopy": False}],
    }
    text = " ".join(shown(result([*trials, *more], campaign=asked), width=120).split())
    assert "TCP, a → b, 8 streams knee at 3.3 instances" in text
    assert "1 instance:" not in text


def test_of_many_pairs_the_first_screen_has_the_knee_of_each() -> None:
    """A matrix of the pairs would be of the one number of instances that few of them tried."""
    trials: list[Trial] = []
    for at, (sender, receiver) in enumerate(itertools.permutations("abc", 2)):
        for one in searching(link((2.3 + at) * 1e9)):
            case = replace(one.case, sender=sender, receiver=receiver)
            trials.append(replace(one, number=len(trials) + 1, case=case))
    asked = {
        "instance_search": {"most": 64, "bound": "ports", "named": True, "runs": 3, "counts": 13},
        "tests": [{"test": "tcp", "instances": "auto", "streams": [1], "zerocopy": False}],
    }
    text = shown(result(trials, campaign=asked))
    said = " ".join(text.split())
    assert len(text.splitlines()) <= 24
    assert "TCP, a → b knee at 2.3 instances" in said
    assert "TCP, c → b knee at 7.3 instances" in said
    assert f"{len(trials)} trials" in said
    assert "have no number" not in said


def test_a_list_has_the_fastest_step_which_is_no_bound() -> None:
    (row,) = document_of_list([listed(searched_result(link(5.3e9)))])["results"]
    assert row["best"]["throughput_bps"] == pytest.approx(5.3e9, rel=0.01)
    assert "throughput_at_least" not in row["best"]


def test_the_plan_of_the_command_line_has_the_most_instances(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text(FILE + KEYS)
    code, out, _ = run("plan", str(path), "--json")
    assert code == 0
    planned = json.loads(out)
    search = next(one for one in planned["cases"] if one.get("search"))
    assert (search["search"], search["instances"]) == ("instances", 16)


def test_compare_and_history_have_the_steps_as_cases_and_name_the_knees(
    run: Run,
) -> None:
    for day, rate_bps in ((1, 5.3e9), (2, 6.4e9)):
        made = replace(searched_result(link(rate_bps)), id=f"2026010{day}-000000-knees")
        stored_result(Path("results"), made)
    _, out, _ = run("compare", "20260101", "20260102", "--full")
    said = " ".join(out.split())
    assert "A: searched instances: TCP knee at 5.3 instances (95 % CI" in said
    assert "Knees are not compared" in said
    document = json.loads(run("compare", "20260101", "20260102", "--json")[1])
    assert document["other"]["searched_instances"][0].startswith("TCP knee at 6.4 instances")
    assert {one["instances"] for one in document["comparisons"]} == {1, 2, 4, 6, 8, 16, 32}
    code, out, _ = run("history")
    assert code == 0
    assert "8 instances" in out


def test_a_search_whose_file_asks_otherwise_by_now_is_not_gone_on_with(tmp_path: Path) -> None:
    made = searched_result(link(5.3e9))
    edits = ["name: a → b", "instance_search.most: 16 → 8"]
    with pytest.raises(StoreError) as raised:
        _refuse_other_searches(made, tmp_path / "campaign.yaml", edits)
    assert "asks otherwise by now (instance_search.most: 16 → 8); put that back" in str(raised.value)
    _refuse_other_searches(made, tmp_path / "campaign.yaml", edits[:1])
    _refuse_other_searches(made, tmp_path / "campaign.yaml", ["search_path: 1 → 2"])


def test_a_series_has_the_same_knee_and_interval_as_its_search() -> None:
    """Whoever asks: ``analyze`` of the cases, or the search that tried them."""
    one = found(searching(link(6e9, noise=0.02, seed=3)))
    assert one.knee is not None
    assert analyse_series("TCP", summarise(one.trials)).knee == one.knee
