# SPDX-License-Identifier: Apache-2.0
"""From how many instances on throughput no longer follows, of nothing but stored trials. Pure.

Instances are doubled until two doublings, one after the other, surely bring little; then numbers around the
bend are tried, until it is known to within one instance. Its trials are ordinary ones of so many instances.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import linear_regression
from typing import Literal

from linewatt.analysis.cases.regimes import knee_of
from linewatt.analysis.cases.search import Next, failing, sent_s
from linewatt.analysis.limits.ceiling import Gain, gain
from linewatt.analysis.limits.knee import GRID_STEPS, Knee
from linewatt.analysis.statistics.stats import Estimate, estimate, t_quantile
from linewatt.findings.limits import LITTLE_GAIN
from linewatt.model import Case, Trial
from linewatt.records import Host

FLAT = 2
"""doublings in a row that surely bring little: one may be a dip, and a bend has a second leg to be fitted"""


@dataclass(frozen=True, slots=True)
class Rule:
    """``runs`` trials of each number of instances, which are at most ``most``: that is what ``bound`` allows.

    No more than ``counts`` different numbers are tried.
    """

    runs: int
    most: int
    bound: str
    counts: int


@dataclass(frozen=True, slots=True)
class Step:
    """The trials of one number of instances."""

    case: Case
    trials: tuple[Trial, ...]
    throughput_bps: Estimate | None


@dataclass(frozen=True, slots=True)
class Doubling:
    """From one step to the one that the doubling tried next, and what that brought per doubling."""

    fewer: Step
    more: Step
    gain: Gain | None

    @property
    def is_flat(self) -> bool:
        """Whether it surely brought little: not by its mean alone."""
        found = self.gain
        return found is not None and found.high is not None and found.is_below(LITTLE_GAIN)


State = Literal["found", "flat", "stopped", "rising", "open"]


@dataclass(frozen=True, slots=True)
class InstanceSearch:
    """A search as far as it got; ``steps`` rise in instances.

    ``found``: a knee. ``flat``: the first doubling brought nothing. ``stopped``: throughput stops to rise,
    and no bend is shown. ``rising``: up to the most instances it was not sure that it stops. ``open``: not
    ended.
    """

    case: Case
    rule: Rule
    trials: tuple[Trial, ...]
    steps: tuple[Step, ...]
    doublings: tuple[Doubling, ...]
    knee: Knee | None
    state: State
    ended: str | None
    """why no further number was tried; None: it goes on"""

    @property
    def failed(self) -> int:
        """Trials that came to no number."""
        return len(self.trials) - sum(one.throughput_bps.n for one in self.steps if one.throughput_bps)

    @property
    def load_s(self) -> float:
        return sent_s(self.trials)

    @property
    def tried(self) -> tuple[int, ...]:
        """The numbers of instances of its steps."""
        return tuple(one.case.instances for one in self.steps)

    @property
    def first_flat(self) -> Doubling | None:
        """From where on doubling brought little, up to the end."""
        found = None
        for one in reversed(self.doublings):
            if not one.is_flat:
                break
            found = one
        return found


def ladder(most: int) -> list[int]:
    """1, 2, 4 … and the most there may be."""
    doubled = [1 << power for power in range(most.bit_length())]
    return doubled if doubled[-1] == most else [*doubled, most]


def bounded(rule: Rule, hosts: Mapping[str, Host], case: Case) -> Rule:
    """The rule with no more instances than either host has CPUs for, as far as that is on record."""
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
    known = named or online
    return len(known) if isinstance(known, list | tuple) and known else None


def instance_search(case: Case, rule: Rule, trials: Iterable[Trial], *, ended: str | None) -> InstanceSearch:
    """A search of what its trials measured; ``ended``: why no further one follows."""
    ordered = tuple(sorted(trials, key=lambda one: one.number))
    steps = tuple(sorted(_steps(ordered).values(), key=lambda one: one.case.instances))
    doublings = tuple(_doublings(rule, {one.case.instances: one for one in steps}))
    bend = _bend(steps)
    found = InstanceSearch(case, rule, ordered, steps, doublings, bend, "open", ended)
    return replace(found, state=_state(found)) if ended else found


def _bend(steps: Sequence[Step]) -> Knee | None:
    """The knee; its interval has what the spread of trials makes of it, too, and is no less than its grid.

    That of the series alone is of how the means lie about the two segments, which of few may be by chance.
    """
    bend = knee_of([one for one in steps if one.throughput_bps is not None])
    known = [(one.case.instances, one.throughput_bps) for one in steps if one.throughput_bps is not None]
    if bend is None:
        return None
    finest = bend.instances * ((known[-1][0] / known[0][0]) ** (1 / GRID_STEPS) - 1)
    reach = max(finest, _reach(known, bend.instances))
    return replace(
        bend, low=min(bend.low, bend.instances - reach), high=max(bend.high, bend.instances + reach)
    )


def _reach(known: Sequence[tuple[int, Estimate]], at: float) -> float:
    """Half the 95 % CI that the errors of all means give the point where the lines on either side cross."""
    means = {number: one.mean for number, one in known}
    here = _crossing(means, at)
    if here is None:
        return 0.0
    moved = []
    for number, one in known:
        error = (one.sd or 0.0) / math.sqrt(one.n)
        there = _crossing(means | {number: one.mean + error}, at)
        moved.append(0.0 if there is None else there - here)
    degrees = sum(one.n - 1 for _, one in known)
    return t_quantile(degrees) * math.hypot(*moved) if degrees else 0.0


def _crossing(means: Mapping[int, float], at: float) -> float | None:
    left = [(number, bps) for number, bps in means.items() if number <= at]
    right = [(number, bps) for number, bps in means.items() if number > at]
    if not left or not right:
        return None
    level, rise = _line(left) if len(left) > 1 else (0.0, left[0][1] / left[0][0])
    top, after = _line(right) if len(right) > 1 else (right[0][1], 0.0)
    return None if rise <= after else (top - level) / (rise - after)


def _line(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Intercept and slope of the least squares."""
    slope, level = linear_regression(*zip(*points, strict=True))
    return level, slope


def _state(search: InstanceSearch) -> State:
    stops = search.first_flat
    if stops is None:
        return "rising" if search.rule.most in search.tried else "open"
    if search.knee is not None:
        return "found"
    return "flat" if stops is search.doublings[0] else "stopped"


def _steps(trials: Sequence[Trial]) -> dict[int, Step]:
    own: dict[int, list[Trial]] = {}
    for one in trials:
        own.setdefault(one.case.instances, []).append(one)
    return {
        number: Step(found[0].case, tuple(found), estimate(one.throughput_bps for one in _done(found)))
        for number, found in own.items()
    }


def _done(trials: Iterable[Trial]) -> list[Trial]:
    return [one for one in trials if one.status == "done" and one.throughput_bps]


def _doublings(rule: Rule, steps: Mapping[int, Step]) -> Iterable[Doubling]:
    """Those of the ladder that both numbers were tried of."""
    for fewer, more in pairwise(ladder(rule.most)):
        if fewer in steps and more in steps:
            yield Doubling(steps[fewer], steps[more], gain(steps[fewer], steps[more]))


def next_step(rule: Rule, trials: Iterable[Trial]) -> Next:
    """What the trials of one search so far lead to."""
    ordered = sorted(trials, key=lambda one: one.number)
    if (why := failing(ordered, _done(ordered), "no throughput is known")) is not None:
        return Next(ended=why)
    steps = _steps(ordered)
    short = next((number for number, one in steps.items() if len(one.trials) < rule.runs), None)
    if short is not None:
        return Next(instances=short)
    doubled = list(_doublings(rule, steps))
    if not _stopped(doubled):
        untried = next((number for number in ladder(rule.most) if number not in steps), None)
        if untried is not None:
            return Next(instances=untried)
    return _refined(rule, steps, doubled)


def _stopped(doubled: Sequence[Doubling]) -> bool:
    """Whether doubling goes on no further."""
    return len(doubled) >= FLAT and all(one.is_flat for one in doubled[-FLAT:])


def _refined(rule: Rule, steps: Mapping[int, Step], doubled: Sequence[Doubling]) -> Next:
    """The next number around the bend; none where it is known to within one instance, or nothing stops."""
    bend = _bend(sorted(steps.values(), key=lambda one: one.case.instances))
    flat = next((at for at in reversed(range(len(doubled))) if not doubled[at].is_flat), -1) + 1
    if flat == len(doubled):
        return Next(ended=_no_stop(rule, doubled))
    between = (doubled[max(0, flat - 1)].fewer.case.instances, doubled[flat].more.case.instances)
    around = (number for number in _around(bend, between) if number <= rule.most)
    untried = [number for number in around if number not in steps]
    if not untried:
        return Next(ended=_known(bend, between))
    if len(steps) >= rule.counts:
        return Next(ended=f"{len(steps)} numbers of instances were tried, the most of a search")
    return Next(instances=untried[0])


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


def _no_stop(rule: Rule, doubled: Sequence[Doubling]) -> str:
    most = f"{rule.most} instance{'' if rule.most == 1 else 's'}, the most there may be ({rule.bound})"
    if not doubled or doubled[-1].gain is None:
        return f"no more than {most}"
    if doubled[-1].gain.ratio >= LITTLE_GAIN:
        return f"throughput still rose at {most}"
    return f"that throughput stops to rise was not sure up to {most}: its trials differ too much"
