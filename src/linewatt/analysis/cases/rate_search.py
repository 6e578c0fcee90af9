# SPDX-License-Identifier: Apache-2.0
"""The rates up to which no more than a part of the datagrams is lost, of nothing but stored trials. Pure.

Which rate is tried next is asked of MLRsearch (FD.io CSIT, draft-ietf-bmwg-mlrsearch), in which several
allowed losses share their trials. It is run from the beginning, with what the trials so far measured for its
answers, up to the first rate that none has tried: the same trials, the same next rate, also after a crash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import groupby
from statistics import fmean
from typing import Literal

from linewatt.analysis.cases.search import Next, failing, sent_s, without_steps
from linewatt.model import Case, Trial
from linewatt.records import RateRule
from linewatt.sizes import RULE_OF_THREE

SPAN = 1000
"""the lowest rate that is tried is so much less than the highest"""
UNSENT = 0.01
"""What a sender did not send counts as lost, as MLRsearch has it, where it is so much of what was asked for:
no rate is free of loss because it was never offered."""
WAITING = 0.01
"""What was neither lost nor had arrived counts as lost, too, where it is so much of what was sent: a queue
fills, and drops as much in a longer window. Edges of the window make less."""
CHANCE = 1e-4
"""Loss of a rate grows from that of lower ones where it is less likely than this if the same part is lost at
all: which of two rates loses a datagram is chance, and bounds are where it was so."""
SAME_RATE = 0.10
"""of a rate: where loss surely grows within so much above it, chance decides only on the last digits"""
EXACT_MOST = 1000
"""draws: of more, the normal distribution is near enough"""
_ROUNDING = 1e-6


GoalState = Literal["found", "above", "below", "open"]


@dataclass(frozen=True, slots=True)
class RateStep:
    """A trial of a search, of all instances; ``load_bps`` is the rate that the search is told of."""

    trial: Trial
    load_bps: float
    offered_bps: float
    packets: int
    lost_packets: int
    unsent_ratio: float = 0.0
    """how much less was sent than asked for, where that is more than pacing explains"""
    waiting_ratio: float = 0.0
    """what had neither arrived nor was lost, as a part of what was sent; 0 where edges explain it"""

    @property
    def lost_ratio(self) -> float:
        return _lost_ratio([self])

    @property
    def missing_ratio(self) -> float:
        """Lost or still waiting in a queue, as a part of what was sent."""
        return self.lost_ratio + self.waiting_ratio

    @property
    def bad_ratio(self) -> float:
        """Lost, waiting or never sent, as a part of what was asked for."""
        return self.missing_ratio + self.unsent_ratio * (1 - self.missing_ratio)


def _lost_ratio(steps: Sequence[RateStep]) -> float:
    return sum(step.lost_packets for step in steps) / sum(step.packets for step in steps)


@dataclass(frozen=True, slots=True)
class Bound:
    """A rate on which the more of its trials agree: ``steps`` are those, ``runs`` all, the outvoted too.

    Rates are of those that agree; what was lost is of all.
    """

    steps: tuple[RateStep, ...]
    runs: tuple[RateStep, ...]

    @property
    def load_bps(self) -> float:
        return self.steps[0].load_bps

    @property
    def offered_bps(self) -> float:
        return fmean(step.offered_bps for step in self.steps)

    @property
    def packets(self) -> int:
        return sum(step.packets for step in self.runs)

    @property
    def lost_packets(self) -> int:
        return sum(step.lost_packets for step in self.runs)

    @property
    def lost_ratio(self) -> float:
        return _lost_ratio(self.runs)

    @property
    def waiting_ratio(self) -> float:
        return fmean(step.waiting_ratio for step in self.steps)

    @property
    def packets_hz(self) -> float | None:
        """Datagrams a second that were sent."""
        seconds = sum(step.trial.window.seconds for step in self.steps if step.trial.window)
        return sum(step.packets for step in self.steps) / seconds if seconds else None


@dataclass(frozen=True, slots=True)
class Goal:
    """Between which rates the one lies at which just so much is lost.

    ``lower`` is the highest rate with no more loss below ``upper``, the lowest with more: the relevant bounds
    of MLRsearch. ``found``: near enough; ``above``: at what is above ``lower`` no more was lost, or it was
    never sent; ``below``: the lowest rate was lossy; ``open``: none of these. ``sender_limited``: what is
    above ``lower`` was not lost but never sent.
    """

    loss_ratio: float
    lower: Bound | None
    upper: Bound | None
    state: GoalState
    sender_limited: bool
    lossy: RateStep | None = None
    """where the sender is the limit, the lowest rate above that it did send and that lost more"""
    differing: bool = False
    """whether the trials at ``lower`` sent rates further apart than the width"""
    even_to_bps: float | None = None
    """where as much as is lost at ``upper`` may be lost at ``lower``, too: the highest rate up to which loss
    does not grow, so that chance decided which rate lost too much"""

    @property
    def rate_bps(self) -> float | None:
        """The rate that its trials carry; None: none."""
        if self.lower is None or self.too_few or self.even_to_bps is not None:
            return None
        if self.differing:
            return min(step.offered_bps for step in self.lower.steps)
        return self.lower.offered_bps

    @property
    def too_few(self) -> bool:
        """Whether the datagrams at ``lower`` could not tell the loss that is allowed; of 0 % none could."""
        return self.lower is not None and RULE_OF_THREE > self.loss_ratio * self.lower.packets > 0


@dataclass(frozen=True, slots=True)
class RateSearch:
    """A search as far as it got. ``steps`` rise in rate; ``first`` is the one that its highest rate is of."""

    case: Case
    rule: RateRule
    trials: tuple[Trial, ...]
    steps: tuple[RateStep, ...]
    first: RateStep | None
    goals: tuple[Goal, ...]

    @property
    def failed(self) -> int:
        """Trials that came to no number."""
        return len(self.trials) - len(self.steps)

    @property
    def load_s(self) -> float:
        """How long its trials sent, up to the end of their windows."""
        return sent_s(self.trials)


def find_rate_searches(trials: Iterable[Trial], rule: RateRule) -> tuple[RateSearch, ...]:
    """The searches that trials are steps of, in order of first appearance."""
    trials_by_case: dict[Case, list[Trial]] = {}
    for trial in trials:
        if trial.case.search:
            trials_by_case.setdefault(without_steps(trial.case), []).append(trial)
    return tuple(_search(case, rule, steps) for case, steps in trials_by_case.items())


def _search(case: Case, rule: RateRule, trials: Iterable[Trial]) -> RateSearch:
    ordered = tuple(sorted(trials, key=lambda trial: trial.number))
    steps = _steps(rule, ordered)
    rising = sorted(steps, key=lambda step: step.load_bps)
    first = max(_at_highest(rule, steps), key=lambda step: step.offered_bps) if steps else None
    goals = tuple(_goal(ratio, rising, rule) for ratio in rule.loss_ratios)
    return RateSearch(case, rule, ordered, tuple(rising), first, goals)


def _at_highest(rule: RateRule, steps: Sequence[RateStep]) -> list[RateStep]:
    """The trials that say what the highest rate is: one that begins slowly does not bound all others."""
    return [step for step in steps if step.trial.case.rate_bps == steps[0].trial.case.rate_bps][: rule.runs]


def _steps(rule: RateRule, trials: Sequence[Trial]) -> list[RateStep]:
    """Trials that counted datagrams and what of them was lost, in the order they ran."""
    counted = [
        RateStep(trial, trial.offered_bps, trial.offered_bps, trial.packets, trial.lost_packets)
        for trial in trials
        if trial.status == "done" and trial.offered_bps and trial.packets and trial.throughput_bps is not None
        if trial.lost_packets is not None
    ]
    if not counted:
        return []
    first = counted[0].trial
    first_bps = max(step.offered_bps for step in _at_highest(rule, counted))
    asked_bps = _asked_bps(first)
    reached = asked_bps is not None and first_bps >= asked_bps * (1 - UNSENT)
    highest_bps = asked_bps if asked_bps is not None and reached else first_bps
    steps = []
    for step in counted:
        highest = step.trial.case.rate_bps == first.case.rate_bps
        load_bps = highest_bps if highest else (_asked_bps(step.trial) or step.offered_bps)
        # as fast as it goes: what it sends is the highest rate there is, and differs from trial to trial
        short = 0.0 if highest and not reached else max(0.0, 1 - step.offered_bps / load_bps)
        waiting = 1 - (step.trial.throughput_bps or 0.0) / step.offered_bps - step.lost_ratio
        steps.append(
            replace(
                step,
                load_bps=load_bps,
                unsent_ratio=short if short > UNSENT else 0.0,
                waiting_ratio=waiting if waiting > WAITING else 0.0,
            )
        )
    return steps


def _asked_bps(trial: Trial) -> float | None:
    return None if trial.case.rate_bps is None else trial.case.rate_bps * trial.case.instances


def _goal(loss_ratio: float, rising: Sequence[RateStep], rule: RateRule) -> Goal:
    lower = upper = None
    for _, group in groupby(rising, key=lambda step: step.load_bps):
        steps = tuple(group)
        good = tuple(step for step in steps if step.bad_ratio <= loss_ratio)
        bad = tuple(step for step in steps if step.bad_ratio > loss_ratio)
        if 2 * len(bad) > max(rule.runs, len(steps)):
            upper = Bound(bad, steps)
            break
        if 2 * len(good) >= max(rule.runs, len(steps)):
            lower = Bound(good, steps)
    state = _state(lower, upper, rising, rule)
    limited = _sender_limited(loss_ratio, upper, state, rising)
    if limited and upper is not None:
        state = "above" if state == "found" else "open"
    lossy = _lossy(loss_ratio, upper, rising) if limited else None
    offered = [step.offered_bps for step in lower.steps] if lower is not None else [1.0]
    differing = 1 - min(offered) / max(offered) > max(rule.width_ratio, UNSENT)
    goal = Goal(loss_ratio, lower, upper, state, limited, lossy, differing)
    if state == "found" and lower is not None and upper is not None:
        goal = replace(goal, even_to_bps=_even_to_bps(lower, upper, rising))
    return replace(goal, state="open") if goal.too_few or goal.even_to_bps is not None else goal


def _even_to_bps(lower: Bound, upper: Bound, rising: Sequence[RateStep]) -> float | None:
    """Up to which rate loss does not surely grow from that of ``lower`` and the rates below it; ``None``: it
    does right above."""
    below = [step for step in rising if step.load_bps <= lower.load_bps]
    above: list[RateStep] = []
    rates = groupby(rising, key=lambda step: step.load_bps)
    for steps in (list(group) for load_bps, group in rates if load_bps >= upper.load_bps):
        unlike = any(step.waiting_ratio or step.unsent_ratio for step in steps)
        if unlike or _grows([*below, *above], steps):
            break
        above += steps
    highest_bps = max((step.offered_bps for step in above), default=0.0)
    return highest_bps if highest_bps > (1 + SAME_RATE) * lower.offered_bps else None


def _grows(below: Sequence[RateStep], above: Sequence[RateStep]) -> bool:
    """Whether more is lost above than chance makes of one loss at all rates: each datagram that was lost is
    then one of those above as likely as any that was sent is."""
    packets, lost = sum(step.packets for step in above), sum(step.lost_packets for step in above)
    all_packets = packets + sum(step.packets for step in below)
    all_lost = lost + sum(step.lost_packets for step in below)
    return _at_least(lost, all_lost, packets / all_packets) < CHANCE


def _at_least(count: int, of: int, ratio: float) -> float:
    """The probability of ``count`` or more among ``of`` that are each drawn with probability ``ratio``."""
    if not 0 < ratio < 1:
        return 1.0
    if of > EXACT_MOST:
        over_sds = (count - of * ratio) / math.sqrt(of * ratio * (1 - ratio))
        return 0.5 * math.erfc(over_sds / math.sqrt(2))
    logs = (
        math.lgamma(of + 1)
        - math.lgamma(at + 1)
        - math.lgamma(of - at + 1)
        + at * math.log(ratio)
        + (of - at) * math.log1p(-ratio)
        for at in range(count, of + 1)
    )
    return min(1.0, sum(math.exp(log) for log in logs))


def _sender_limited(loss_ratio: float, upper: Bound | None, state: str, rising: Sequence[RateStep]) -> bool:
    if upper is not None:
        return _lost_ratio(upper.steps) + upper.waiting_ratio <= loss_ratio
    asked_bps = _asked_bps(rising[-1].trial) if rising else None
    return state == "above" and (asked_bps is None or rising[-1].load_bps < asked_bps)


def _lossy(loss_ratio: float, upper: Bound | None, rising: Sequence[RateStep]) -> RateStep | None:
    """The lowest rate above that was really sent and lost more."""
    if upper is None:
        return None
    above = [step for step in rising if step.load_bps > upper.load_bps and step.lost_ratio > loss_ratio]
    return min(above, key=lambda step: step.offered_bps, default=None)


def _state(lower: Bound | None, upper: Bound | None, rising: Sequence[RateStep], rule: RateRule) -> GoalState:
    highest_bps = rising[-1].load_bps if rising else 0.0
    if upper is None:
        return "above" if lower is not None and lower.load_bps >= highest_bps else "open"
    if lower is None:
        return "below" if upper.load_bps <= highest_bps / SPAN * (1 + rule.width_ratio) else "open"
    return "found" if 1 - lower.load_bps / upper.load_bps <= rule.width_ratio * (1 + _ROUNDING) else "open"


def next_rate_step(rule: RateRule, trials: Iterable[Trial]) -> Next:
    """What the trials of one search so far lead to."""
    ordered = sorted(trials, key=lambda trial: trial.number)
    steps = _steps(rule, ordered)
    lacking = "datagrams, or what of them was lost, were not counted"
    if (why := failing(ordered, [step.trial for step in steps], lacking)) is not None:
        return Next(ended=why)
    if steps:
        upcoming = _unanswered(rule, steps)
        if upcoming.ended is not None:
            return upcoming
    else:
        upcoming = Next(rule.max_rate_bps)
    if len(ordered) >= rule.trials:
        return Next(ended=f"{rule.trials} trials were not enough")
    return upcoming


class _Unanswered(Exception):
    """A rate that no trial has tried yet."""

    def __init__(self, rate_bps: float | None) -> None:
        self.rate_bps = rate_bps


def _unanswered(rule: RateRule, steps: Sequence[RateStep]) -> Next:
    """The first rate that MLRsearch asks for and that is not among the steps."""
    from MLRsearch import Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

    instances = steps[0].trial.case.instances
    highest = round(steps[0].load_bps / instances)
    answers: dict[int, list[RateStep]] = {}
    for step in reversed(steps):
        answers.setdefault(round(step.load_bps / instances), []).append(step)

    class Recorded:
        """Answers with what was measured, once each."""

        def measure(self, intended_duration: float, intended_load: float) -> object:
            rate_bps = round(intended_load)
            if not answers.get(rate_bps):
                raise _Unanswered(rule.max_rate_bps if rate_bps == highest else float(rate_bps))
            step = answers[rate_bps].pop()
            return MeasurementResult(
                intended_duration,
                intended_load,
                offered_count=step.packets,
                loss_count=round(step.packets * step.missing_ratio),
                intended_count=round(step.packets / (1 - step.unsent_ratio)),
            )

    goals = [
        SearchGoal(
            loss_ratio=ratio,
            exceed_ratio=0.5 if rule.runs > 1 else 0.0,
            relative_width=rule.width_ratio,
            initial_trial_duration=1.0,
            final_trial_duration=1.0,
            duration_sum=float(rule.runs),
            preceding_targets=1,
            fail_fast=False,
        )
        for ratio in rule.loss_ratios
    ]
    config = Config(
        goals=goals, min_load=highest / SPAN, max_load=highest, search_duration_max=1e9, warmup_duration=None
    )
    try:
        MultipleLossRatioSearch(config=config).search(measurer=Recorded(), debug=lambda text: None)
    except _Unanswered as question:
        return Next(question.rate_bps)
    return Next(ended="no further rate had to be tried")


def warm_up_rate_search() -> None:
    """Have what chooses rates imported, in good time and not between two loads."""
    import_module("MLRsearch")
