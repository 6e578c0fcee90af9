# SPDX-License-Identifier: Apache-2.0
"""Searches for loss-bounded rates: what they find, how soon, when they end, how they go on after a crash."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.amounts import inputs
from tests.documents import valid
from tests.report_factories import result
from tests.report_factories import stored as stored_result
from tests.unit.conftest import Run

from linewatt.analysis.cases.rate_search import RateSearch, find_rate_searches, next_rate_step
from linewatt.analysis.cases.search import FAILURES
from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.comparison.case_runs import runs_by_case
from linewatt.analysis.flags.case import limit_flags
from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading import file
from linewatt.cli.actions.plan import _lines as plan_lines
from linewatt.engine.campaign import _may_overlap
from linewatt.engine.repeats import Remaining
from linewatt.errors import InvalidInput
from linewatt.json_document import document_of
from linewatt.model import Case, Trial, Window
from linewatt.records import EndedSearch, RateRule, Searches
from linewatt.report.list_document import document_of_list
from linewatt.report.list_line import listed
from linewatt.report.listing import show as show_list
from linewatt.report.printing import html, screen
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.charts.searches import search_figures
from linewatt.report.trials.digest import digest_document, digest_of
from linewatt.report.trials.searches.searches import (
    as_documents,
    bound_words,
    certain,
    loss_words,
    rate_words,
    why_ended,
)
from linewatt.report.trials.terminal import show_trials
from linewatt.store.read import Result

CASE = Case("udp-1500", "a", "b", search="rate")
FEW = settings(max_examples=inputs(60), deadline=None)
"""each example is a search of up to 30 trials, and each trial asks for the next step"""
RULE = RateRule(loss_ratios=(0.0, 0.005), width_ratio=0.005, runs=1, trials=30)
PAYLOAD_BITS = 8 * 1472
SENDER_BPS = 5e9
Device = Callable[[float], tuple[float, float]]
"""what was asked for, inf: as fast as it goes → what was offered, and what of it arrived; bit/s"""


def shaper(rate_bps: float, jitter: float = 0.0, seed: int = 0, sender_bps: float = SENDER_BPS) -> Device:
    drawn = random.Random(seed)  # noqa: S311  jitter, not a secret

    def device(asked_bps: float) -> tuple[float, float]:
        offered = min(asked_bps, sender_bps)
        return offered, min(offered, rate_bps * (1 + jitter * drawn.uniform(-1, 1)))

    return device


def trial(number: int, case: Case, device: Device, window_s: float = 10.0) -> Trial:
    asked = float("inf") if case.rate_bps is None else case.rate_bps * case.instances
    offered, arrived = device(asked)
    packets = round(offered * window_s / PAYLOAD_BITS)
    lost = 0 if arrived >= offered else packets - min(packets, int(arrived * window_s / PAYLOAD_BITS))
    return Trial(
        number,
        1,
        case,
        case.key,
        "done",
        70.0 * number,
        window=Window(70.0 * number + 1, 70.0 * number + 1 + window_s),
        throughput_bps=arrived,
        offered_bps=offered,
        packets=packets,
        lost_packets=lost,
        lost_ratio=lost / packets if packets else None,
    )


def failed(number: int, case: Case = CASE) -> Trial:
    return Trial(number, 1, case, case.key, "failed", 70.0 * number, reason="h1 is gone")


def run(
    device: Device, rule: RateRule = RULE, case: Case = CASE, before: tuple[Trial, ...] = ()
) -> list[Trial]:
    """Trials until the search ends."""
    trials = list(before)
    while (wanted := next_rate_step(rule, trials)).ended is None:
        trials.append(trial(len(trials) + 1, replace(case, rate_bps=wanted.rate_bps), device))
        assert len(trials) <= rule.trials
    return trials


def found(trials: list[Trial], rule: RateRule = RULE) -> RateSearch:
    (one,) = find_rate_searches(trials, rule)
    return one


def _apart(losses: list[float], rule: RateRule) -> bool:
    """Whether trials of a rate do not agree on it."""
    return any(len({loss <= ratio for loss in losses}) > 1 for ratio in rule.loss_ratios)


def bisection(device: Device, rule: RateRule) -> int:
    """Trials that plain bisection from the same highest and lowest rate takes, goals one after the other.

    It decides on a rate as the search does: by the majority of its trials.
    """
    counts: list[int] = []

    def tried(load: float) -> float:
        losses: list[float] = []
        while 2 * len(losses) <= rule.runs or (_apart(losses, rule) and len(losses) < rule.runs):
            sent, came = device(load)
            losses.append((sent - came) / sent)
        counts.append(len(losses))
        return median(losses)

    offered, _ = device(float("inf"))
    known = {offered: tried(offered)}
    for ratio in rule.loss_ratios:
        low, high = offered / 1000, offered
        low = max([low, *(load for load, loss in known.items() if loss <= ratio)])
        high = min([high, *(load for load, loss in known.items() if loss > ratio and load > low)])
        while 1 - low / high > rule.width_ratio:
            middle = (low + high) / 2
            known[middle] = tried(middle)
            low, high = (middle, high) if known[middle] <= ratio else (low, middle)
    return sum(counts)


@FEW
@given(
    share=st.floats(0.005, 0.97),
    jitter=st.floats(0, 0.002),
    seed=st.integers(0, 1 << 30),
    instances=st.sampled_from((1, 3)),
    runs=st.sampled_from((1, 3)),
)
def test_both_rates_of_a_shaper_are_found_within_one_percent_in_no_more_trials_than_bisection_takes(
    share: float, jitter: float, seed: int, instances: int, runs: int
) -> None:
    rate_bps = share * SENDER_BPS
    rule = replace(RULE, runs=runs)
    trials = run(shaper(rate_bps, jitter, seed), rule, replace(CASE, instances=instances))
    one = found(trials, rule)
    ndr, pdr = one.goals
    assert [goal.state for goal in one.goals] == ["found", "found"]
    assert ndr.lower is not None
    assert pdr.lower is not None
    assert abs(ndr.lower.offered_bps / rate_bps - 1) < 0.01
    assert abs(pdr.lower.offered_bps * 0.995 / rate_bps - 1) < 0.01
    assert all(one.lost_ratio <= 0.005 for one in pdr.lower.steps)
    assert len(trials) <= bisection(shaper(rate_bps, jitter, seed), rule)


@FEW
@given(
    losses=st.lists(st.floats(0, 1), min_size=30, max_size=30),
    shorts=st.lists(st.floats(0, 0.5), min_size=30, max_size=30),
    runs=st.sampled_from((1, 3, 5)),
)
def test_a_device_without_any_order_ends_a_search_within_its_trials(
    losses: list[float], shorts: list[float], runs: int
) -> None:
    answers = iter(zip(losses, shorts, strict=True))

    def device(asked_bps: float) -> tuple[float, float]:
        loss, short = next(answers)
        offered = min(asked_bps, SENDER_BPS) * (1 - short)
        return offered, offered * (1 - loss)

    rule = replace(RULE, runs=runs)
    trials = run(device, rule)
    for goal in found(trials, rule).goals:
        if goal.lower is not None and goal.upper is not None:
            assert goal.lower.load_bps < goal.upper.load_bps
        for bound, good in ((goal.lower, True), (goal.upper, False)):
            if bound is not None:
                assert all((one.bad_ratio <= goal.loss_ratio) == good for one in bound.steps)
                assert 2 * len(bound.steps) > rule.runs


@pytest.mark.parametrize("seed", range(8))
def test_bounds_told_of_the_steps_are_the_relevant_bounds_of_mlrsearch(seed: int) -> None:
    from MLRsearch import Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

    device = shaper(0.37 * SENDER_BPS, 0.004, seed)
    trials = run(device)
    search = found(trials)
    by_rate = {round(one.load_bps): one for one in search.steps}
    highest = max(by_rate)

    class Stored:
        def measure(self, intended_duration: float, intended_load: float) -> Any:
            step = by_rate[round(intended_load)]
            return MeasurementResult(
                intended_duration, intended_load, offered_count=step.packets, loss_count=step.lost_packets
            )

    goals = [
        SearchGoal(ratio, 0.0, RULE.width_ratio, 1.0, 1.0, 1.0, 1, 2, False) for ratio in RULE.loss_ratios
    ]
    config = Config(goals, highest / 1000, highest, 1e9, None)
    results = MultipleLossRatioSearch(config=config).search(measurer=Stored(), debug=lambda _: None)
    for goal, asked in zip(search.goals, goals, strict=True):
        bounds = results[asked]
        assert goal.lower is not None
        assert goal.upper is not None
        assert goal.lower.steps == (by_rate[round(float(bounds.relevant_lower_bound))],)
        assert goal.upper.steps == (by_rate[round(float(bounds.relevant_upper_bound))],)


@pytest.mark.parametrize("kept", range(6))
def test_a_search_that_was_killed_goes_on_at_the_rate_it_would_have_tried(kept: int) -> None:
    whole = run(shaper(1.234e9))
    assert len(whole) >= 4
    again = json.loads(json.dumps([document_of(one)["case"] for one in whole]))
    assert [one["rate_bps"] for one in again] == [one.case.rate_bps for one in whole]
    wanted = next_rate_step(RULE, reversed(whole[:kept]))
    if kept < len(whole):
        assert wanted.rate_bps == whole[kept].case.rate_bps
    else:
        assert wanted.ended == "no further rate had to be tried"


def test_a_sender_whose_fastest_is_never_lost_is_the_limit_and_its_rate_is_the_least() -> None:
    one = found(run(shaper(9e9)))
    assert len(one.trials) == 1
    assert [rate_words(goal) for goal in one.goals] == ["at least 5.000 Gbps"] * 2
    assert "so the sender is the limit" in bound_words(one.goals[0], one)


def test_a_highest_rate_that_is_never_lost_is_said_to_be_what_was_asked_for() -> None:
    rule = replace(RULE, max_rate_bps=1e9)
    trials = run(shaper(9e9), rule)
    one = found(trials, rule)
    assert [one.case.rate_bps for one in trials] == [1e9]
    assert "1.000 Gbps, which is search.max_rate" in bound_words(one.goals[0], one)


def test_a_highest_rate_that_the_sender_cannot_send_is_what_it_offered() -> None:
    rule = replace(RULE, max_rate_bps=9e9)
    one = found(run(shaper(99e9), rule), rule)
    assert rate_words(one.goals[0]) == "at least 5.000 Gbps"
    assert "all that the sender sent of the 9.000 Gbps asked for" in bound_words(one.goals[0], one)


def test_a_rate_that_was_never_sent_is_not_free_of_loss() -> None:
    def device(asked_bps: float) -> tuple[float, float]:
        """At full speed 5 Gbit/s, of which half is lost; paced at most 1 Gbit/s, all of which arrives."""
        return (5e9, 2.5e9) if asked_bps > 5e9 else (min(asked_bps, 1e9), min(asked_bps, 1e9))

    one = found(run(device))
    ndr = one.goals[0]
    assert ndr.lower is not None
    assert ndr.lower.offered_bps == pytest.approx(1e9, rel=0.011)
    assert ndr.upper is not None
    assert ndr.sender_limited
    assert rate_words(ndr).startswith("at least 1.00")
    assert goal_document(one, 0)["state"] == "above"
    said = bound_words(ndr, one)
    assert said.startswith("the sender is the limit above it: it sent 1.000 Gbps of the")
    assert said.endswith("; where it sent 5.000 Gbps (trial 1), 50 % was lost")


def goal_document(search: RateSearch, goal: int) -> dict[str, Any]:
    """A goal of a search in ``show --json``."""
    document: dict[str, Any] = as_documents([search], result([]))[0]["goals"][goal]
    return document


def _one_in_three(loss_ratio: float) -> Device:
    """5 Gbit/s at most; the first of every three trials loses so much."""
    count = 0

    def device(asked_bps: float) -> tuple[float, float]:
        nonlocal count
        count += 1
        offered = min(asked_bps, 5e9)
        return offered, offered * (1 - loss_ratio * (count % 3 == 1))

    return device


def test_what_outvoted_trials_lost_is_counted_and_no_bound_of_lossless_datagrams_is_said() -> None:
    rule = replace(RULE, runs=3, loss_ratios=(0.0,))
    trials = [trial(number, CASE, device) for device in [_one_in_three(0.001)] for number in (1, 2, 3)]
    (ndr,) = found(trials, rule).goals
    packets = 3 * round(5e9 * 10 / PAYLOAD_BITS)
    lost = trials[0].lost_packets
    said = f"0.033 % lost over all 3 trials ({lost:,} of {packets:,}); 1 of 3 lost more than allowed"
    assert loss_words(ndr) == said
    assert loss_words(ndr, brief=True) == "0.033 % lost; 1 of 3 lost more than allowed"
    document = goal_document(found(trials, rule), 0)
    assert document["loss_ratio_not_excluded"] is None
    assert document["lower"]["lost_packets"] == lost
    assert document["lower"]["packets"] == packets
    assert document["lower"]["trials"] == [2, 3]
    assert document["lower"]["runs"] == 3
    assert "no loss in 2 of 3 trials at the highest rate" in bound_words(ndr, found(trials, rule))


def test_a_little_loss_that_is_allowed_is_not_called_none() -> None:
    pdr = found(run(lambda asked: (min(asked, 5e9), min(asked, 5e9) * 0.997))).goals[1]
    assert loss_words(pdr).startswith("0.30 % lost (")
    words = bound_words(pdr, found(run(lambda asked: (min(asked, 5e9), min(asked, 5e9) * 0.997))))
    assert words.startswith("no more than 0.5 % lost at the highest rate tried, 5.000 Gbps")


def test_a_loss_just_above_what_is_allowed_has_the_digits_that_tell_it_from_that() -> None:
    rule = replace(RULE, loss_ratios=(0.1,))
    one = found(run(lambda asked: (min(asked, 5e9), min(asked, 5e9) * 0.8996), rule), rule)
    assert bound_words(one.goals[0], one) == "already at the lowest rate tried, 5.000 Mbps, 10.1 % lost"


def test_a_sender_that_begins_slowly_does_not_bound_what_is_searched() -> None:
    count = 0

    def device(asked_bps: float) -> tuple[float, float]:
        nonlocal count
        count += 1
        offered = min(asked_bps, 2e9 if count == 1 else 5e9)
        return offered, min(offered, 3e9)

    rule = replace(RULE, runs=3)
    one = found(run(device, rule), rule)
    assert one.goals[0].state == "found"
    assert one.goals[0].rate_bps == pytest.approx(3e9, rel=0.01)


def test_rates_that_differ_from_trial_to_trial_are_told_by_the_lowest_and_doubted() -> None:
    count = 0

    def device(asked_bps: float) -> tuple[float, float]:
        nonlocal count
        count += 1
        offered = min(asked_bps, 2e9 if count == 1 else 5e9)
        return offered, offered

    rule = replace(RULE, runs=3)
    one = found(run(device, rule), rule)
    assert rate_words(one.goals[0]) == "at least 2.000 Gbps"
    assert not certain(one.goals[0])
    assert "2.000 Gbps to 5.000 Gbps from trial to trial" in bound_words(one.goals[0], one)


def test_lower_rates_that_were_tried_and_not_decided_on_are_not_called_untried() -> None:
    rule = replace(RULE, trials=5, runs=3)
    one = found(run(shaper(0.03e9), rule), rule)
    assert bound_words(one.goals[0], one).endswith("and nothing lower was decided on")


def test_too_few_datagrams_find_no_rate_of_a_loss_that_they_cannot_tell() -> None:
    rule = replace(RULE, max_rate_bps=5e4, runs=3)
    one = found(run(shaper(9e9), rule), rule)
    ndr, pdr = one.goals
    assert ndr.state == "above"
    assert rate_words(ndr) == "at least 50.00 kbps"
    assert pdr.state == "open"
    assert rate_words(pdr) == "none found"
    said = "84 datagrams at 50.00 kbps are too few to tell 0.5 % (3.6 % if none is lost)"
    assert bound_words(pdr, one).startswith(said)
    assert loss_words(pdr).startswith("no loss in 84 datagrams, so less than 3.6 %")


def test_the_sender_is_the_limit_only_where_it_did_not_send_what_was_asked_for() -> None:
    asked = replace(RULE, max_rate_bps=1e9)
    assert goal_document(found(run(shaper(9e9), asked), asked), 0)["sender_limited"] is False
    more = replace(RULE, max_rate_bps=9e9)
    assert goal_document(found(run(shaper(99e9), more), more), 0)["sender_limited"] is True
    assert goal_document(found(run(shaper(9e9))), 0)["sender_limited"] is True
    assert goal_document(found(run(shaper(1e9))), 0)["sender_limited"] is False


@pytest.mark.parametrize("missing", ["lost_packets", "packets", "throughput_bps", "offered_bps"])
def test_a_trial_that_lacks_a_count_comes_to_no_number_instead_of_all_lost(missing: str) -> None:
    whole = run(shaper(1e9))
    lacks: dict[str, Any] = {missing: None}
    one = found([replace(whole[0], **lacks), *whole[1:]])
    assert one.failed == 1
    assert whole[0].number not in {step.trial.number for step in one.steps}
    every = [replace(whole[0], number=number, **lacks) for number in (1, 2, 3)]
    ended = next_rate_step(RULE, every).ended
    assert ended is not None
    assert ended.endswith("datagrams, or what of them was lost, were not counted")


def test_a_search_that_has_ended_says_why_before_all_others_have() -> None:
    trials = run(shaper(1e9))
    made = result([*trials], campaign=asked_of(RULE))
    assert why_ended(found(trials), made) == "no further rate had to be tried"
    assert why_ended(found(trials[:2]), made) is None
    broken = [failed(number) for number in (1, 2, 3)]
    assert why_ended(found(broken), made) == "3 trials in a row came to no number: h1 is gone"


def test_why_a_search_ended_is_of_its_own_hosts() -> None:
    trials = run(shaper(1e9))[:2]
    others = EndedSearch(case_key=CASE.key, sender="b", receiver="a", why="of other hosts")
    own = EndedSearch(case_key=CASE.key, sender="a", receiver="b", why="of these")
    made = result(trials, campaign=asked_of(RULE))
    of_others = replace(made, searches=Searches(trials_left_out=0, searches=[others]))
    assert why_ended(found(trials), of_others) is None
    of_both = replace(made, searches=Searches(trials_left_out=0, searches=[others, own]))
    assert why_ended(found(trials), of_both) == "of these"


def test_loss_at_every_rate_finds_nothing_and_says_where_it_ended() -> None:
    one = found(run(lambda asked: (min(asked, 5e9), min(asked, 5e9) * 0.9)))
    assert [goal.state for goal in one.goals] == ["below", "below"]
    assert [rate_words(goal) for goal in one.goals] == ["none found"] * 2
    assert bound_words(one.goals[0], one) == "already at the lowest rate tried, 5.000 Mbps, 10 % lost"


def test_one_hiccup_does_not_decide_on_a_rate_that_is_tried_three_times() -> None:
    smooth, count = shaper(1e9), 0

    def device(asked_bps: float) -> tuple[float, float]:
        """Every fifth trial loses a thousandth, whatever its rate."""
        nonlocal count
        count += 1
        offered, arrived = smooth(asked_bps)
        return offered, arrived * (0.999 if count % 5 == 0 else 1)

    rule = replace(RULE, runs=3)
    ndr = found(run(device, rule), rule).goals[0]
    assert ndr.lower is not None
    assert ndr.lower.offered_bps == pytest.approx(1e9, rel=0.01)


def test_too_few_trials_leave_what_is_known_and_no_figure_to_the_width() -> None:
    rule = replace(RULE, trials=3)
    trials = run(shaper(1.3e9, 0.05, 3), rule)
    assert next_rate_step(rule, trials).ended == "3 trials were not enough"
    one = found(trials, rule)
    assert "open" in {goal.state for goal in one.goals}


def test_trials_that_fail_are_run_again_and_end_a_search_that_does_nothing_else() -> None:
    whole = run(shaper(1e9))
    broken = [*whole[:2], failed(3), *(replace(one, number=one.number + 1) for one in whole[2:])]
    assert next_rate_step(RULE, broken[:3]).rate_bps == whole[2].case.rate_bps
    assert next_rate_step(RULE, broken).ended == "no further rate had to be tried"
    assert found(broken).failed == 1
    only = [failed(number) for number in range(1, FAILURES + 1)]
    assert next_rate_step(RULE, only[:-1]).ended is None
    assert next_rate_step(RULE, only).ended == "3 trials in a row came to no number: h1 is gone"


def test_no_loss_tells_no_more_than_its_number_of_datagrams_does() -> None:
    one = found(run(shaper(9e9)))
    packets = round(5e9 * 10 / PAYLOAD_BITS)
    said = f"no loss in {packets:,} datagrams, so less than 0.000071 % (95 %, if losses are independent)"
    assert loss_words(one.goals[0]) == said
    assert loss_words(one.goals[0], brief=True) == f"none of {packets:,} lost"


FILE = """\
name: n
hosts:
  a: {address: 192.0.2.1, data: eth0}
  b: {address: 192.0.2.2, data: eth0}
pairs: ["a -> b", "b -> a"]
"""


def campaign(tmp_path: Path, keys: str) -> Campaign:
    path = tmp_path / "campaign.yaml"
    path.write_text(FILE + keys)
    return file.load_campaign(path)


TESTS = "tests: [udp-60, {test: udp-1500, rate: auto}]\ntrials: 2\nsearch: {trials: 20}\n"


@pytest.mark.parametrize("order", ["interleaved", "sequential", "random"])
@pytest.mark.parametrize("killed_after", [0, 1, 5, 9])
def test_a_campaign_that_was_killed_ends_as_if_it_had_not_been(
    tmp_path: Path, order: str, killed_after: int
) -> None:
    of = campaign(tmp_path, f"{TESTS}order: {order}\n")
    devices = {"a": 1.1e9, "b": 2.2e9}

    def go(stored_trials: list[Trial], most: int) -> list[Trial]:
        again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(of))))
        planned = plan_campaign(again, 7)
        remaining, trials = Remaining(again, planned, stored_trials), list(stored_trials)
        for round_ in remaining.rounds():
            for one in remaining.round(round_).trials:
                if len(trials) == most:
                    return trials
                made = trial(one.number, one.case, shaper(devices[one.case.sender]))
                remaining.learn(made)
                trials.append(made)
        assert remaining.to_run == 0
        assert remaining.total == len(planned.cases) // 2 * 2 + 2 * 20
        return trials

    whole = go([], 999)
    assert [trial.case for trial in go(go([], killed_after), 999)] == [trial.case for trial in whole]
    assert sum(trial.case.search is None for trial in whole) == 4
    for one in find_rate_searches(whole, replace(RULE, trials=20, runs=3)):
        ndr = one.goals[0].lower
        assert ndr is not None
        assert ndr.offered_bps == pytest.approx(devices[one.case.sender], rel=0.01)


def test_what_searches_did_not_need_is_written_down(tmp_path: Path) -> None:
    of = campaign(tmp_path, TESTS + "order: sequential\n")
    planned = plan_campaign(of, 7)
    remaining = Remaining(of, planned)
    count = 0
    while remaining.to_run:
        one = remaining.rounds()[0].trials[0]
        remaining.learn(trial(one.number, one.case, shaper(1e9)))
        count += 1
    remaining.record(tmp_path)
    written = json.loads((tmp_path / "searches.json").read_text())
    valid("searches", written)
    assert written["trials_left_out"] == sum(1 for _ in planned.trials) - count
    assert [one["why"] for one in written["searches"]] == ["no further rate had to be tried"] * 2
    assert not (tmp_path / "repeats.json").exists()


def test_a_step_is_not_made_ready_before_the_one_that_it_depends_on_has_ended(tmp_path: Path) -> None:
    of = campaign(tmp_path, TESTS)
    remaining = Remaining(of, plan_campaign(of, 7))
    rounds = remaining.rounds()
    steps = [one for one in rounds if one.trials[0].case.search and one.trials[0].case.sender == "a"]
    assert not _may_overlap(steps[0].trials, steps[1].trials)
    others = [one for one in rounds if not one.trials[0].case.search]
    assert any(_may_overlap(steps[0].trials, one.trials) for one in others)


def test_searches_and_cases_that_stop_by_themselves_do_not_disturb_each_other(tmp_path: Path) -> None:
    of = campaign(
        tmp_path, "tests: [udp-60, {test: udp-1500, rate: auto}]\ntrials: {min: 3, max: 5, until: 1%}\n"
    )
    planned = plan_campaign(of, 7)
    remaining, ran = Remaining(of, planned), 0
    for round_ in remaining.rounds():
        for one in remaining.round(round_).trials:
            remaining.learn(trial(one.number, one.case, shaper(1e9)))
            ran += 1
    assert remaining.to_run == 0
    remaining.record(tmp_path)
    left_out = sum(
        json.loads((tmp_path / name).read_text())["trials_left_out"]
        for name in ("repeats.json", "searches.json")
    )
    assert ran + left_out == sum(1 for _ in planned.trials)


def test_a_plan_says_what_is_searched_and_how_long_that_takes_at_most(tmp_path: Path) -> None:
    of = campaign(tmp_path, TESTS)
    text = "\n".join(plan_lines(of, plan_campaign(of, 7), trials=False))
    assert "2 cases × 2 trials + 2 searches of 1 to 20 trials = at most 44" in text
    assert "searched" in text
    assert "at most 3 times for 60 s" in text


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("search: {trials: 5}\n", "5 may end a search before a rate is found: with runs 3 one takes 10"),
        ("search: {max_rate: 10k}\n", "at it udp-1500 sends 100 datagrams in 2 windows of 60 s, and 0.5 %"),
        ("search: {max_rate: 1M}\n", None),
        ("search: {max_rate: 10k, loss: [0%]}\n", None),
    ],
)
def test_a_plan_notes_what_may_be_too_little_to_find_a_rate(
    tmp_path: Path, keys: str, said: str | None
) -> None:
    of = campaign(tmp_path, f"tests: [{{test: udp-1500, rate: auto}}]\n{keys}")
    text = "\n".join(plan_campaign(of, 7).notes)
    assert "search: the highest rates" in text
    if said is None:
        assert "search." not in text
    else:
        assert said in text


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("tests: [{test: tcp, rate: auto}]\n", ":6:27: tests[0].rate: auto searches the rate at which"),
        ("tests: [udp-60, tcp]\nrate: auto\n", ":7:7: rate: auto searches the rate at which datagrams"),
        (f"{TESTS}load_levels: [50]\n", ":6:40: tests[1].rate: contradicts load_levels"),
        (
            "tests: [{test: udp-60, rate: auto}]\nsoak: 1h\n",
            ":6:30: tests[0].rate: auto is of cases and trials",
        ),
        ("tests: [udp-60]\nsearch: {width: 1%}\n", ":7:9: search: has no effect: no test has rate: auto"),
        ("tests: [udp-60]\nrate: auto\nsearch: {width: 0%}\n", ":8:17: search.width: must be more than 0 %"),
        ("tests: [udp-60]\nrate: auto\nsearch: {loss: [100%]}\n", ":8:17: search.loss[0]: must be from 0 %"),
        ("tests: [udp-60]\nrate: auto\nsearch: {loss: []}\n", ":8:16: search.loss: "),
        (
            "tests: [udp-60]\nrate: auto\nsearch: {runs: 9, trials: 3}\n",
            ":8:27: search.trials: can decide on no rate: of 9 runs 5 have to agree; make it 5 or more",
        ),
        ("tests: [udp-60]\nrate: soon\n", ":7:7: rate: must be a rate above 0"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_line_with_its_place(
    tmp_path: Path, keys: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        campaign(tmp_path, keys)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


THREE = replace(RULE, runs=3)


def asked_of(rule: RateRule) -> dict[str, Any]:
    """What a campaign of it has asked for."""
    return {
        "search": {
            "loss_ratios": rule.loss_ratios,
            "width_ratio": rule.width_ratio,
            "max_rate_bps": rule.max_rate_bps,
            "runs": rule.runs,
            "trials": rule.trials,
        }
    }


def searched_result(device: Device, rule: RateRule = THREE) -> Result:
    """A stored campaign of one search, and what ended it."""
    trials = run(device, rule)
    ended = next_rate_step(rule, trials)
    made = result(trials, campaign=asked_of(rule))
    one = EndedSearch(case_key=CASE.key, sender="a", receiver="b", why=ended.ended)
    return replace(made, searches=Searches(trials_left_out=0, searches=[one]))


def shown(made: Result, *, full: bool = False) -> str:
    view = digest_of(made)
    first = first_screen_of_trials(view)
    assert first is not None
    console = Console(width=140, file=io.StringIO(), force_terminal=False)
    console.print(show_trials(view, width=140) if full else screen.screen_text(first, 140))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_result_begins_with_the_rates_that_were_found() -> None:
    text = shown(searched_result(shaper(1.234e9)))
    assert "SEARCHED RATES" in text
    assert "UDP 1500 NDR" in text
    assert "UDP 1500 PDR 0.5 %" in text
    assert "Mpps" in text or "kpps" in text


def test_what_other_cases_reached_stands_beside_the_rates_that_were_searched() -> None:
    steps = run(shaper(1e9), THREE)
    tcp = Case("tcp", "a", "b")
    others = [
        Trial(500 + at, 1, tcp, tcp.key, "done", 9e4 + at, window=Window(1, 11), throughput_bps=9e9)
        for at in range(3)
    ]
    text = shown(result([*steps, *others], campaign=asked_of(THREE)))
    assert "SEARCHED RATES" in text
    assert "9.0" in text.split("COST OF TCP")[0]
    assert "COST OF TCP" in text


def test_a_sentence_of_several_searches_names_each() -> None:
    of_networks = [
        replace(one, number=one.number + 100 * at)
        for at, network in enumerate(("bare", "vxlan"))
        for one in run(shaper(1e9 * (1 + at)), THREE, replace(CASE, network=network))
    ]
    first = first_screen_of_trials(digest_of(result(of_networks, campaign=asked_of(THREE))))
    assert first is not None
    assert "vxlan" in first.sentence
    assert "NDR 1.999 Gbps" in first.sentence


def test_every_step_is_a_row_and_none_is_a_case() -> None:
    made = searched_result(shaper(1.234e9))
    text = shown(made, full=True)
    assert "UDP 1500: rates by loss" in text
    document = digest_document(digest_of(made))
    valid("show", document)
    assert document["cases"] == []
    (search,) = document["searches"]
    assert len(search["steps"]) == search["trials"] == len(made.trials)
    assert search["ended"] == "no further rate had to be tried"
    ndr = search["goals"][0]
    assert ndr["loss_ratio_not_excluded"] == pytest.approx(3 / ndr["lower"]["packets"])
    assert "searches" not in digest_document(digest_of(result([])))


def test_the_report_draws_loss_against_rate_and_marks_what_was_found() -> None:
    page = html.render_html(digest_of(searched_result(shaper(1.234e9))))
    assert "UDP 1500: loss against rate" in page
    assert 'id="searches"' in page


def test_what_is_alike_for_several_losses_is_said_once() -> None:
    text = shown(searched_result(shaper(9e9)))
    assert "UDP 1500 NDR, PDR 0.5 %" in text
    assert text.count("at least 5.000 Gbps") == 1


def test_a_chart_says_only_of_steps_that_it_left_out_that_it_did() -> None:
    def caption(device: Device) -> str:
        (figure,) = search_figures(digest_of(searched_result(device)).searches)
        return figure.caption

    assert "not drawn: 1 step," in caption(shaper(1.234e9))
    assert "not drawn" not in caption(shaper(4.9e9))


def test_a_narrow_screen_says_what_was_lost_where_several_losses_are_allowed() -> None:
    first = first_screen_of_trials(digest_of(searched_result(shaper(1.234e9))))
    assert first is not None
    ndr, pdr, *_ = first.blocks[0].entries
    assert all("of 2,088,648" in line.prose or "2,088,648 datagrams" in line.prose for line in ndr)
    assert all("0.16 % lost" in line.prose for line in pdr)
    assert len(ndr) == len(pdr) == 2


def test_a_list_has_the_rate_that_was_found_and_not_what_was_tried_above_it() -> None:
    best = listed(searched_result(shaper(1.234e9))).best
    assert best is not None
    assert best.throughput_bps == pytest.approx(1.234e9, rel=0.01)


@pytest.mark.parametrize(("rate_bps", "least"), [(1.234e9, False), (9e9, True)])
def test_a_list_says_of_a_rate_that_it_is_the_least(rate_bps: float, least: bool) -> None:
    one = listed(searched_result(shaper(rate_bps)))
    console = Console(width=120, file=io.StringIO(), force_terminal=False)
    console.print(show_list([one], width=120))
    assert isinstance(console.file, io.StringIO)
    assert ("≥ 5.00 Gbps" in console.file.getvalue()) == least
    (document,) = document_of_list([one])["results"]
    assert ("throughput_at_least" in document["best"]) == least


def test_a_list_marks_a_rate_that_is_not_decided_and_has_none_of_too_few_datagrams() -> None:
    best = listed(searched_result(shaper(1.3e9), replace(RULE, trials=6, runs=3))).best
    assert best is not None
    assert best.doubtful_throughput
    few = replace(RULE, max_rate_bps=5e4, loss_ratios=(0.005,))
    assert listed(searched_result(shaper(9e9), few)).best is None


def test_a_rate_that_a_step_did_not_reach_is_no_finding_where_that_of_a_case_is() -> None:
    def codes(case: Case) -> set[str]:
        trials = [trial(number, case, shaper(1e9)) for number in (1, 2, 3)]
        (summary,) = summarise(trials)
        return {flag.code for flag in limit_flags(case, trials, summary.limit)}

    asked = replace(CASE, rate_bps=3e9)
    assert "rate-not-reached" in codes(replace(asked, search=None))
    assert "rate-not-reached" not in codes(asked)


def test_a_trial_that_sent_less_than_asked_for_is_told_beside_those_that_agree() -> None:
    rule = replace(RULE, max_rate_bps=1e9, runs=3, loss_ratios=(0.0,))
    asked = replace(CASE, rate_bps=1e9)
    trials = [trial(at, asked, shaper(9e9, sender_bps=5e8 if at == 2 else 1e9)) for at in (1, 2, 3)]
    (ndr,) = found(trials, rule).goals
    assert loss_words(ndr).endswith("; 1 of 3 sent less than asked for")


def test_a_rate_below_what_was_never_sent_is_the_least_however_far_apart() -> None:
    def device(asked_bps: float) -> tuple[float, float]:
        return (5e9, 2.5e9) if asked_bps > 5e9 else (min(asked_bps, 1e9), min(asked_bps, 1e9))

    rates = (None, 5e8, 2e9)
    trials = [trial(at, replace(CASE, rate_bps=rate), device) for at, rate in enumerate(rates, start=1)]
    ndr = found(trials).goals[0]
    assert (ndr.state, ndr.sender_limited) == ("open", True)
    assert rate_words(ndr) == "at least 500.0 Mbps"


def test_the_highest_rate_is_that_of_as_many_first_trials_as_decide() -> None:
    trials = [trial(1, CASE, shaper(9e9, sender_bps=2e9)), trial(2, CASE, shaper(9e9))]
    assert {one.load_bps for one in found(trials).steps} == {2e9}
    three = replace(RULE, runs=3)
    assert {one.load_bps for one in found(trials, three).steps} == {5e9}


def test_steps_are_runs_of_no_case_that_is_compared_or_followed() -> None:
    plain = Case("udp-60", "a", "b")
    trials = [*run(shaper(1e9)), *(trial(900 + at, plain, shaper(1e9)) for at in range(2))]
    assert list(runs_by_case(trials)) == [plain]


def test_where_no_rate_was_found_no_throughput_is_judged() -> None:
    text = shown(searched_result(shaper(1.3e9, 0.05, 3), replace(RULE, trials=2, runs=3)))
    assert "none found  no rate was decided on: that takes 2 of 3 trials that agree" in text
    assert "2 trials were not enough" in text
    assert "throughput:" not in text


def test_compare_and_history_say_that_steps_of_searches_are_in_neither(
    request: pytest.FixtureRequest,
) -> None:
    command: Run = request.getfixturevalue("run")
    for day, rate_bps in ((1, 1.234e9), (2, 2.468e9)):
        made = replace(searched_result(shaper(rate_bps)), id=f"2026010{day}-000000-searched")
        stored_result(Path("results"), made)
    code, out, _ = command("compare", "20260101", "20260102", "--full")
    assert code == 4
    said = " ".join(out.split())
    assert "A: rates of searches, in no comparison: UDP 1500 NDR 1.230 Gbps, PDR 0.5 % 1.236 Gbps" in said
    assert "B: rates of searches, in no comparison: UDP 1500 NDR 2.4" in said
    code, _, err = command("history")
    assert code == 2
    assert "steps of searches are in no history: 'linewatt show' has their rates" in err
    assert "Each rate was searched once, so that nothing is known of its spread" in said


def test_a_history_of_cases_names_the_rates_that_were_searched_beside_them(
    request: pytest.FixtureRequest,
) -> None:
    command: Run = request.getfixturevalue("run")
    made = searched_result(shaper(1.234e9))
    plain = trial(900, Case("udp-60", "a", "b"), shaper(1e9))
    stored_result(Path("results"), replace(made, trials=(*made.trials, plain)))
    code, out, _ = command("history")
    assert code == 0
    assert "Rates of searches, in no course: each was searched once" in out
    assert "UDP 1500 NDR 1.230 Gbps, PDR 0.5 % 1.236 Gbps" in out
    document = json.loads(command("history", "--json")[1])
    assert document["searched_rates"][0]["rates"] == ["UDP 1500 NDR 1.230 Gbps, PDR 0.5 % 1.236 Gbps"]
    assert "searched_rates" not in json.loads(command("history", "--test", "udp-60", "--json")[1])
