# SPDX-License-Identifier: Apache-2.0
"""From how many instances on throughput no longer follows, of nothing but stored trials. Pure.

Instances are doubled until two doublings, one after the other, surely bring little; then numbers around the
bend are tried, until it is known to within one instance. Its trials are ordinary ones of so many instances.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.analysis.cases.regimes import knee_of
from linewatt.analysis.cases.search import Next, failing, sent_s
from linewatt.analysis.limits.ceiling import Gain, gain
from linewatt.analysis.limits.knee import Knee, Line, lines
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.findings import LITTLE_GAIN_RATIO, SAME_CEILING_RATIO
from linewatt.model import Case, Trial
from linewatt.records import Host, InstanceRule

FLAT = 2
"""doublings in a row that surely bring little: one may be a dip, and a bend has a second leg to be fitted"""
HALF_A_DOUBLING = math.sqrt(2)
"""times the instances: what fewer bring says too little of what a doubling would"""


@dataclass(frozen=True, slots=True)
class InstanceStep:
    """The trials of one number of instances."""

    case: Case
    trials: tuple[Trial, ...]
    throughput_bps: Estimate | None

    @property
    def instances(self) -> int:
        return self.case.instances


@dataclass(frozen=True, slots=True)
class Doubling:
    """From one step to the one that the doubling tried next; ``gain`` is by doubling."""

    fewer: InstanceStep
    more: InstanceStep
    gain: Gain | None

    @property
    def is_flat(self) -> bool:
        """Whether it surely brought little: not by its mean alone."""
        return self.gain is not None and self.gain.high is not None and self.gain.is_below(LITTLE_GAIN_RATIO)

    @property
    def measured(self) -> Gain | None:
        """What was measured between the two, however many times the instances that are."""
        return _measured(self.fewer, self.more)


def _measured(fewer: InstanceStep, more: InstanceStep) -> Gain | None:
    per_doubling = gain(fewer, more)
    if per_doubling is None:
        return None
    doublings = math.log2(more.instances / fewer.instances)
    ratio, low, high = (
        None if gain_ratio is None else (1 + gain_ratio) ** doublings - 1
        for gain_ratio in (per_doubling.ratio, per_doubling.low, per_doubling.high)
    )
    return None if ratio is None else Gain(ratio, low, high)


State = Literal["found", "flat", "stopped", "rising", "failed", "open"]


@dataclass(frozen=True, slots=True)
class InstanceSearch:
    """A search as far as it got; ``steps`` rise in instances.

    ``found``: a knee. ``flat``: the first doubling brought nothing. ``stopped``: throughput stops to rise,
    and no bend that its trials agree with is shown. ``rising``: up to the most instances it was not sure that
    it stops. ``failed``: trials that came to no number ended it before. ``open``: not ended. ``after_bps`` is
    what an instance brings beyond the knee, below 0 where throughput falls.
    """

    case: Case
    rule: InstanceRule
    trials: tuple[Trial, ...]
    steps: tuple[InstanceStep, ...]
    doublings: tuple[Doubling, ...]
    knee: Knee | None
    after_bps: float | None
    state: State
    ended: str | None
    """why no further number was tried; None: it goes on"""

    @property
    def failed(self) -> int:
        """Trials that came to no number."""
        return len(self.trials) - sum(step.throughput_bps.n for step in self.steps if step.throughput_bps)

    @property
    def load_s(self) -> float:
        return sent_s(self.trials)

    @property
    def known(self) -> tuple[InstanceStep, ...]:
        """The steps that have a number."""
        return tuple(step for step in self.steps if step.throughput_bps is not None)

    @property
    def tried(self) -> tuple[int, ...]:
        """Their numbers of instances."""
        return tuple(step.instances for step in self.known)

    @property
    def without_number(self) -> tuple[InstanceStep, ...]:
        """Those none of whose trials came to one."""
        return tuple(step for step in self.steps if step.throughput_bps is None)

    @property
    def first_flat(self) -> Doubling | None:
        """From where on doubling brought little, up to the end."""
        at = _flat_from(self.doublings)
        return self.doublings[at] if at < len(self.doublings) else None

    @property
    def enough(self) -> InstanceStep | None:
        """The fewest instances that surely none of more is better than; None where throughput still rises."""
        return None if self.first_flat is None else _enough(self.known)


def falls_beyond_knee(search: InstanceSearch) -> bool:
    """Whether the most instances tried surely carry less than enough of them do."""
    best, last = search.enough, search.known[-1] if search.known else None
    last_gain = None if best is None or last is None or best is last else _measured(best, last)
    return (
        last_gain is not None
        and last_gain.ratio < -SAME_CEILING_RATIO
        and last_gain.high is not None
        and last_gain.high < 0
    )


def _enough(steps: Sequence[InstanceStep]) -> InstanceStep | None:
    return next((step for at, step in enumerate(steps) if not _bettered(step, steps[at + 1 :])), None)


def _bettered(step: InstanceStep, others: Iterable[InstanceStep], by: float = SAME_CEILING_RATIO) -> bool:
    """Whether any of the others is surely better, by more than means at one level differ; of too few trials
    to tell the means decide."""
    gains = [measured_gain for rival in others if (measured_gain := _measured(step, rival)) is not None]
    return any(
        rival_gain.ratio > by and (rival_gain.low is None or rival_gain.low > 0) for rival_gain in gains
    )


def _flat_from(doubled: Sequence[Doubling]) -> int:
    """The first of those that brought little, up to the last; as many as there are: none."""
    return next((at for at in reversed(range(len(doubled))) if not doubled[at].is_flat), -1) + 1


def ladder(max_instances: int) -> list[tuple[int, int]]:
    """Fewer and more instances: 1 and 2, 2 and 4 …, and the most there may be.

    What is less than half a doubling from it says too little, so that half of the most is tried, too.
    """
    doubled = [(1 << power, 2 << power) for power in range(max_instances.bit_length() - 1)]
    last = 1 << (max_instances.bit_length() - 1)
    if last == max_instances:
        return doubled
    return [
        *doubled,
        (last if max_instances >= HALF_A_DOUBLING * last else max_instances // 2, max_instances),
    ]


def _to_try(max_instances: int) -> list[int]:
    """The numbers of the ladder in the order in which they are tried."""
    return list(dict.fromkeys((1, *(number for pair in ladder(max_instances) for number in pair))))


def bounded_by_cpus(rule: InstanceRule, hosts: Mapping[str, Host], case: Case) -> InstanceRule:
    """The rule with no more instances than either host has CPUs for, as far as that is on record, unless the
    file names how many."""
    if rule.named:
        return rule
    for name in case.hosts:
        count = _cpus(hosts.get(name))
        if count is not None and count < rule.most:
            rule = replace(rule, most=count, bound=f"the {count} CPU{'' if count == 1 else 's'} of {name}")
    return rule


def _cpus(host: Host | None) -> int | None:
    """How many CPUs of a host may run load processes."""
    if host is None:
        return None
    named = host.said.get("app_cpus") or host.cpus
    online = (host.facts.get("cpus") or {}).get("online")
    cpus = named or online
    return len(cpus) if isinstance(cpus, list | tuple) and cpus else None


def instance_search_of(
    case: Case, rule: InstanceRule, trials: Iterable[Trial], *, ended: str | None
) -> InstanceSearch:
    """A search of what its trials measured; ``ended``: why no further one follows."""
    ordered = tuple(sorted(trials, key=lambda trial: trial.number))
    steps = tuple(sorted(_steps(ordered).values(), key=lambda step: step.instances))
    doublings = tuple(_doublings(rule, {step.instances: step for step in steps}))
    bend = _bend(steps, doublings)
    after = None if bend is None else lines(_means(steps), bend.instances)[1][1]
    search = InstanceSearch(case, rule, ordered, steps, doublings, bend, after, "open", ended)
    return replace(search, state=_state(search)) if ended else search


def _state(search: InstanceSearch) -> State:
    doubled = search.doublings
    tried_most = search.rule.most in search.tried
    if not _stopped(doubled) and not (tried_most and search.first_flat):
        return "rising" if tried_most and not search.without_number else "failed"
    if search.knee is not None:
        return "found"
    return "flat" if search.first_flat is doubled[0] else "stopped"


def _steps(trials: Sequence[Trial]) -> dict[int, InstanceStep]:
    trials_by_number: dict[int, list[Trial]] = {}
    for trial in trials:
        trials_by_number.setdefault(trial.case.instances, []).append(trial)
    return {
        number: InstanceStep(
            step_trials[0].case,
            tuple(step_trials),
            estimate((trial.throughput_bps for trial in with_number(step_trials)), "positive"),
        )
        for number, step_trials in trials_by_number.items()
    }


def with_number(trials: Iterable[Trial]) -> list[Trial]:
    """Those of the trials of a step that came to one."""
    return [trial for trial in trials if trial.status == "done" and trial.throughput_bps]


def _doublings(rule: InstanceRule, steps: Mapping[int, InstanceStep]) -> Iterable[Doubling]:
    """Those of the ladder that both numbers were tried of."""
    for fewer, more in ladder(rule.most):
        if fewer in steps and more in steps:
            yield Doubling(steps[fewer], steps[more], gain(steps[fewer], steps[more]))


def next_instance_step(rule: InstanceRule, trials: Iterable[Trial]) -> Next:
    """What the trials of one search so far lead to."""
    ordered = sorted(trials, key=lambda trial: trial.number)
    if (why := failing(ordered, with_number(ordered), "no throughput is known")) is not None:
        return Next(ended=why)
    steps = _steps(ordered)
    short = next((number for number, step in steps.items() if len(step.trials) < rule.runs), None)
    if short is not None:
        return Next(instances=short)
    doubled = list(_doublings(rule, steps))
    if not _stopped(doubled):
        untried = next((number for number in _to_try(rule.most) if number not in steps), None)
        if untried is not None:
            return Next(instances=untried)
    return _refined(rule, steps, doubled)


def _stopped(doubled: Sequence[Doubling]) -> bool:
    """Whether doubling goes on no further."""
    return len(doubled) >= FLAT and all(doubling.is_flat for doubling in doubled[-FLAT:])


def _refined(rule: InstanceRule, steps: Mapping[int, InstanceStep], doubled: Sequence[Doubling]) -> Next:
    """The next number around the bend; none where it is known to within one instance, or nothing stops."""
    bend = _bend(sorted(steps.values(), key=lambda step: step.instances), doubled)
    flat = _flat_from(doubled)
    if flat == len(doubled):
        return Next(ended=_no_stop(rule, doubled))
    between = _between(doubled)
    around = (number for number in _around(bend, between) if number <= rule.most)
    untried = [number for number in around if number not in steps]
    if not untried:
        return Next(ended=_known(bend, between))
    if len(steps) >= rule.counts:
        return Next(ended=f"{len(steps)} numbers of instances were tried, the most of a search")
    return Next(instances=untried[0])


def _between(doubled: Sequence[Doubling]) -> tuple[int, int]:
    """Between which numbers throughput stops to rise: from the last doubling that gained to the next."""
    flat = _flat_from(doubled)
    return doubled[max(0, flat - 1)].fewer.instances, doubled[flat].more.instances


def _around(bend: Knee | None, between: tuple[int, int]) -> list[int]:
    """Numbers that would tell where the bend is, the best first.

    Without a bend the middle of where throughput stops to rise; with one what is on either side of it, then
    what else its interval has.
    """
    low, high = between
    if bend is None:
        middle = math.sqrt(low * high)
        return sorted(range(low + 1, high), key=lambda number: (abs(math.log(number / middle)), number))
    at = bend.instances
    first, last = max(low, math.floor(bend.low)), min(high, math.ceil(bend.high))
    near = {max(1, math.floor(at)), math.ceil(at)}
    inside = range(first, last + 1) if bend.high - at > 1 or at - bend.low > 1 else ()
    return sorted(near.union(inside), key=lambda number: (abs(number - at), number))


def _known(bend: Knee | None, between: tuple[int, int]) -> str:
    if bend is None and between[1] - between[0] == 1:
        return f"doubling brought little from {between[0]} instance{'s' * (between[0] > 1)} on"
    if bend is None:
        return f"every number from {between[0]} to {between[1]} instances was tried"
    if bend.high - bend.instances <= 1 and bend.instances - bend.low <= 1:
        return "the knee is known to within one instance"
    return "every number of instances in the knee's interval was tried"


def _no_stop(rule: InstanceRule, doubled: Sequence[Doubling]) -> str:
    bound_words = f"{rule.most} instance{'' if rule.most == 1 else 's'}, the most there may be ({rule.bound})"
    if not doubled or doubled[-1].gain is None:
        return f"no more than {bound_words}"
    if doubled[-1].gain.low is not None and doubled[-1].gain.low > 0:
        return f"throughput still rose from {doubled[-1].fewer.instances} to {bound_words}"
    return f"that throughput stops to rise was not sure up to {bound_words}: its trials differ too much"


def _means(steps: Iterable[InstanceStep]) -> dict[int, float]:
    return {step.instances: step.throughput_bps.mean for step in steps if step.throughput_bps is not None}


def _bend(steps: Sequence[InstanceStep], doubled: Sequence[Doubling]) -> Knee | None:
    """The knee, where what was tried agrees with it."""
    measured_steps = [step for step in steps if step.throughput_bps is not None]
    bend = knee_of(measured_steps)
    if bend is None or _flat_from(doubled) == len(doubled) or _contradicted(bend, measured_steps, doubled):
        return None
    return bend


def _contradicted(bend: Knee, steps: Sequence[InstanceStep], doubled: Sequence[Doubling]) -> bool:
    """Whether doubling still gained beyond it, or a number beyond it is surely better than another there."""
    low, high = _between(doubled)
    if not low <= bend.instances <= high:
        return True
    beyond = [step for step in steps if step.instances >= bend.instances]
    return any(_bettered(step, beyond[at + 1 :], LITTLE_GAIN_RATIO) for at, step in enumerate(beyond))


def fit_knee(search: InstanceSearch) -> tuple[Line, Line] | None:
    """The lines on either side of the knee, which the chart draws."""
    return None if search.knee is None else lines(_means(search.steps), search.knee.instances)
