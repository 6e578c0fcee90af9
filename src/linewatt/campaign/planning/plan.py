# SPDX-License-Identifier: Apache-2.0
"""From a campaign to its plan: pure, the same for the same campaign and seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from linewatt.campaign import factors
from linewatt.campaign.campaign import Campaign, Order
from linewatt.campaign.feature_load import planning_of
from linewatt.campaign.planning.cases import Skipped, expand
from linewatt.campaign.planning.further import further_plans
from linewatt.campaign.planning.idle import NO_IDLE, IdleTime, Loaded, idle_time
from linewatt.campaign.planning.layout import Layout
from linewatt.campaign.planning.notes import notes
from linewatt.campaign.planning.places import Places, Site
from linewatt.declare import SELDOM
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import parse_cpulist
from linewatt.loads import LOADS
from linewatt.model import Case
from linewatt.records import PlaceLine
from linewatt.tuning import Change

ROUND_OVERHEAD_S = 0.1
"""wall time of a trial beyond its load: the target of docs/bench.md"""


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """One load process pair: number from 0, port, CPUs and memory nodes (None: the system decides).

    ``data_port`` is which of several data ports it uses, from 0.
    """

    instance: int
    port: int
    sender_cpu: str | None
    receiver_cpu: str | None
    sender_node: int | None = field(default=None, metadata=SELDOM)
    receiver_node: int | None = field(default=None, metadata=SELDOM)
    data_port: int | None = field(default=None, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One repetition (from 1) of a case; ``number`` counts trials from 1 in the order they run.

    ``sender_irq_cpus`` and ``receiver_irq_cpus`` are to take the receive work of their host. ``flows`` are
    the pairs of a group, which run at once and are measured as one trial, each with its own instances.
    """

    number: int
    repetition: int
    case: Case
    instances: tuple[PlannedInstance, ...]
    sender_irq_cpus: tuple[int, ...] = ()
    receiver_irq_cpus: tuple[int, ...] = ()
    flows: tuple[PlannedTrial, ...] = ()

    @property
    def pairs(self) -> tuple[PlannedTrial, ...]:
        """The pairs of a group; a trial of two hosts is its own only one."""
        return self.flows or (self,)

    def app_cpus(self, host: str) -> tuple[int, ...]:
        """The CPUs that its processes are put on at one of its hosts; none: the system decides for some."""
        cpu_texts = [
            instance.sender_cpu if host == pair.case.sender else instance.receiver_cpu
            for pair in self.pairs
            if host in pair.case.hosts
            for instance in pair.instances
        ]
        put = {cpu for text in cpu_texts if text is not None for cpu in parse_cpulist(text)}
        return () if None in cpu_texts else tuple(sorted(put))

    def irq_cpus(self, host: str) -> tuple[int, ...]:
        """The CPUs that are to take the receive work of one of its hosts."""
        pair = next(pair for pair in self.pairs if host in pair.case.hosts)
        return pair.sender_irq_cpus if host == pair.case.sender else pair.receiver_irq_cpus


@dataclass(frozen=True, slots=True)
class Round:
    """Trials that start at one barrier: one, or with ``concurrent_pairs`` several that share no host.

    ``changes`` are what their hosts show beyond those of the whole plan.
    """

    trials: tuple[PlannedTrial, ...]
    changes: tuple[Change, ...] = ()

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(name for trial in self.trials for name in trial.case.hosts)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a case's trials have in common; ``instances`` from a first port on, ``irq_cpus`` by host."""

    instances: Callable[[int], tuple[PlannedInstance, ...]]
    irq_cpus: Mapping[str, tuple[int, ...]]
    changes: tuple[Change, ...]

    def trial(self, number: int, repetition: int, case: Case, port: int) -> PlannedTrial:
        """One of them, its servers from a port on."""
        instances, per_pair, cpus = self.instances(port), case.instances, self.irq_cpus
        flows = (
            PlannedTrial(
                number,
                repetition,
                pair,
                instances[at * per_pair : (at + 1) * per_pair],
                cpus[pair.sender],
                cpus[pair.receiver],
            )
            for at, pair in enumerate(case.pairs)
        )
        if case.flows:
            return PlannedTrial(number, repetition, case, instances, flows=tuple(flows))
        return next(flows)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a campaign will do, in order.

    ``cases`` stand in the order of the file. ``changes`` are what hosts show in every round that they are
    part of. ``ports_alternate``: successive rounds use different ports, so that servers can start ahead.
    ``seed`` is None unless the order is random. ``duration_s`` is an estimate, of the longest where cases may
    stop early. ``places`` says for each host and number of instances what a policy chose and why.
    """

    cases: tuple[Case, ...]
    rounds: tuple[Round, ...]
    changes: tuple[Change, ...]
    order: Order
    seed: int | None
    ports_alternate: bool
    duration_s: float
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    places: tuple[PlaceLine, ...] = ()
    least_s: float | None = None
    """the same if every case stops as early as it may; None where none may"""
    idle: IdleTime = NO_IDLE
    """what all idle windows take"""
    steps: Mapping[Case, Fit] = field(default_factory=dict, compare=False, repr=False)
    """the cases that searches of instances may come to"""
    further: Mapping[str, tuple[Round, ...]] = field(default_factory=dict)
    """name of a feature's further trials → one a round, after all others; never among those that are
    measured"""

    def with_steps(self, round_: Round, step: Callable[[PlannedTrial], Case]) -> Round:
        """A round whose searches are at the cases they have come to, laid out as those are."""
        trials = tuple(self._at(trial, step(trial)) for trial in round_.trials)
        fits = [self.steps[trial.case] for trial in trials if trial.case in self.steps]
        changes = tuple(change for fit in fits for change in fit.changes) if fits else round_.changes
        return replace(round_, trials=trials, changes=changes)

    def _at(self, planned: PlannedTrial, case: Case) -> PlannedTrial:
        if (fit := self.steps.get(case)) is None:
            return replace(planned, case=case)
        return fit.trial(planned.number, planned.repetition, case, planned.instances[0].port)

    @property
    def every_change(self) -> Iterator[Change]:
        """All that hosts may show at any time, some of it more than once."""
        for round_ in (*self.rounds, *(round_ for rounds in self.further.values() for round_ in rounds)):
            yield from self.changes_in(round_)
        for fit in self.steps.values():
            yield from fit.changes

    def changes_in(self, round_: Round) -> tuple[Change, ...]:
        """All that the hosts of a round show."""
        round_hosts = round_.hosts
        return (*(change for change in self.changes if change.host in round_hosts), *round_.changes)

    @property
    def trials(self) -> Iterator[PlannedTrial]:
        """All trials in the order they run."""
        return (trial for round_ in self.rounds for trial in round_.trials)


def seed_of_campaign(campaign: Campaign) -> int:
    """Of the order of trials, where it is random: what the file names, else another each time."""
    return random.SystemRandom().getrandbits(32) if campaign.seed is None else campaign.seed


def plan_campaign(campaign: Campaign, seed: int, sites: Mapping[str, Site] | None = None) -> Plan:
    """The plan of a campaign. ``seed`` orders the cases when ``order`` is random and is not used otherwise.

    ``sites`` are the hosts as far as they have been looked at: a placement policy chooses CPUs on those.
    Raises InvalidInput when every case is impossible, the port range is too small for the load's processes,
    or a policy cannot be met.
    """
    cases, skipped = expand(campaign)
    if not cases:
        raise InvalidInput(f"no case is left to run: {skipped[0].what}: {skipped[0].reason}")
    max_processes = max(case.processes for case in cases)
    if max_processes > campaign.ports and campaign.feature_load is None:
        raise InvalidInput(
            f"{max_processes} instances need {max_processes} ports, and ports names {campaign.ports}"
        )
    alternate = campaign.ports >= 2 * max_processes and campaign.feature_load is None
    first_ports = campaign.first_port, campaign.first_port + (campaign.ports // 2 if alternate else 0)
    layout = Layout(campaign, Places(campaign, sites or {}), first_ports)
    fits = Fits(layout)
    steps = {step: fits.of(step) for case in cases if case.search == "instances" for step in _steps(case)}
    base, rounds, step_fits = _in_common(campaign, _rounds(campaign, cases, seed, fits), steps)
    settings = len({factors.setting_of_hosts(case) for case in cases})
    idle = idle_time(campaign, settings, _loaded(rounds))
    plans = further_plans(campaign)
    further = {
        name: _further_rounds(of_feature.cases(campaign, cases), fits, frozenset(base))
        for name, of_feature in plans.items()
    }
    further_s = _further_s(campaign, further)
    return Plan(
        cases=tuple(cases),
        rounds=rounds,
        changes=base,
        order=campaign.order,
        seed=seed if campaign.order == "random" else None,
        ports_alternate=alternate,
        duration_s=_duration_s(campaign, len(rounds), idle.least_s) + further_s,
        skipped=tuple(skipped),
        notes=(
            *notes(campaign, cases, alternate, set(sites or {})),
            *(note for of_feature in plans.values() for note in of_feature.notes(campaign, cases)),
        ),
        places=layout.place_lines(_told(campaign, cases, sites or {})),
        least_s=_least_s(campaign, rounds, idle.least_s + further_s),
        idle=idle,
        steps=step_fits,
        further={name: trials for name, trials in further.items() if trials},
    )


def remaining_s(
    campaign: Campaign,
    rounds: Sequence[Round],
    further: Mapping[str, Sequence[Round]],
    begun_settings: Collection[Hashable],
) -> float:
    """How long the last rounds and further trials of a plan take, estimated as the whole plan is.

    ``begun_settings`` had trials before, so that the idle window before their first trial is not due again.
    """
    settings = {factors.setting_of_hosts(round_.trials[0].case) for round_ in rounds}
    begun = len(settings.intersection(begun_settings))
    idle = idle_time(campaign, len(settings), _loaded(rounds), begun=begun)
    return _duration_s(campaign, len(rounds), idle.least_s) + _further_s(campaign, further)


def _loaded(rounds: Iterable[Round]) -> Iterator[Loaded]:
    return ((round_.hosts, factors.setting_of_hosts(round_.trials[0].case)) for round_ in rounds)


def _told(campaign: Campaign, cases: Iterable[Case], sites: Mapping[str, Site]) -> Iterator[Case]:
    """The cases whose places are told: of a search those of its doubling, as far as a host has CPUs."""
    search = campaign.instance_search
    for case in cases:
        if case.search != "instances" or search is None:
            yield case
            continue
        cpu_counts = [len(sites[name].topology.cpus) for name in case.hosts if name in sites]
        max_instances = case.instances if search.named else min(case.instances, *cpu_counts, case.instances)
        yield from (
            step
            for step in _steps(case)
            if step.instances <= max_instances and step.instances.bit_count() == 1
        )


def _steps(case: Case) -> Iterator[Case]:
    """The cases that a search of instances may come to."""
    return (replace(case, instances=number, search=None) for number in range(1, case.instances + 1))


def _duration_s(campaign: Campaign, rounds: int, idle_s: float) -> float:
    load = LOADS[campaign.load]
    overhead_s = ROUND_OVERHEAD_S
    if campaign.feature_load is not None:
        overhead_s += planning_of(campaign.feature_load).overhead_s
    return idle_s + rounds * (load.lead_s + campaign.load_s + load.trail_s + overhead_s)


def _further_s(campaign: Campaign, further: Mapping[str, Sequence[Round]]) -> float:
    """How long a feature's further trials take, by name."""
    plans = further_plans(campaign)
    return sum(
        _duration_s(campaign, len(rounds), 0.0) + plans[name].overhead_s * len(rounds)
        for name, rounds in further.items()
    )


def _least_s(campaign: Campaign, rounds: Iterable[Round], idle_s: float) -> float | None:
    if campaign.min_trials is None and campaign.search is None and campaign.instance_search is None:
        return None
    sure = sum(
        any(trial.repetition <= campaign.fewest_trials(trial.case) for trial in round_.trials)
        for round_ in rounds
    )
    return _duration_s(campaign, sure, idle_s)


class Fits:
    """How cases are laid out, each made once."""

    def __init__(self, layout: Layout) -> None:
        self.first_ports = layout.first_ports
        self._layout = layout
        self.of = cache(self._of)
        self._instances_at = cache(_instances_at)

    def _of(self, case: Case) -> Fit:
        layout = self._layout
        ends = () if case.load_level == 0 or not case.of_processes else tuple(_dealt(case, layout))
        return Fit(
            partial(self._instances_at, ends),
            {name: layout.irq_cpus(case, name) for name in case.hosts},
            tuple(change for name in case.hosts for change in layout.changes(case, name)),
        )


def _instances_at(ends: tuple[tuple[Any, ...], ...], port: int) -> tuple[PlannedInstance, ...]:
    return tuple(PlannedInstance(i, port + i, *end) for i, end in enumerate(ends))


def _rounds(campaign: Campaign, cases: list[Case], seed: int, case_fits: Fits) -> Iterator[Round]:
    number = 0
    for position, (repetition, group) in enumerate(_ordered(campaign, cases, seed)):
        fits = [case_fits.of(case) for case in group]
        trials = []
        for case, fit in zip(group, fits, strict=True):
            number += 1
            trials.append(fit.trial(number, repetition, case, case_fits.first_ports[position % 2]))
        changes = (
            fits[0].changes if len(fits) == 1 else tuple(change for fit in fits for change in fit.changes)
        )
        yield Round(tuple(trials), changes)


def _further_rounds(cases: Iterable[Case], fits: Fits, common: frozenset[Change]) -> tuple[Round, ...]:
    """One a case, numbered from 1 by themselves; with what hosts show beyond ``common``."""
    rounds = []
    for number, case in enumerate(cases, start=1):
        fit = fits.of(case)
        changes = tuple(change for change in fit.changes if change not in common)
        rounds.append(Round((fit.trial(number, 1, case, fits.first_ports[0]),), changes))
    return tuple(rounds)


def _dealt(case: Case, layout: Layout) -> Iterator[tuple[Any, ...]]:
    """CPU and memory node at the sender and at the receiver, and data port, of each instance.

    A host that is in several pairs of a group has a place for each of their instances.
    """
    places = {name: layout.place(case, name) for name in case.hosts}
    remaining_places = {
        name: iter(zip(place.cpus, place.nodes, strict=True)) for name, place in places.items()
    }
    ports = None if case.data_ports is None else case.data_port_of
    for number in range(case.processes):
        pair = case.pair_of(number)
        sending, receiving = next(remaining_places[pair.sender]), next(remaining_places[pair.receiver])
        yield sending[0], receiving[0], sending[1], receiving[1], ports and ports[number]


def _in_common(
    campaign: Campaign, rounds: Iterable[Round], steps: Mapping[Case, Fit]
) -> tuple[tuple[Change, ...], tuple[Round, ...], dict[Case, Fit]]:
    """What each host shows in every round that it is part of, and the rounds and steps with what is left."""
    all_rounds = tuple(rounds)
    shown: dict[str, dict[Change, None]] = {}
    different = {_alike(round_): round_ for round_ in all_rounds}
    looks: list[tuple[Iterable[str], Sequence[Change]]] = [
        *((round_.hosts, round_.changes) for round_ in different.values()),
        *((case.hosts, fit.changes) for case, fit in steps.items()),
    ]
    for hosts, changes in looks:
        for name in hosts:
            host_changes = dict.fromkeys(change for change in changes if change.host == name)
            before = shown.setdefault(name, host_changes)
            shown[name] = {change: None for change in before if change in host_changes}
    base = tuple(change for name in campaign.hosts for change in shown.get(name, ()))
    common = frozenset(base)

    def own_of(changes: Iterable[Change]) -> tuple[Change, ...]:
        return tuple(change for change in changes if change not in common)

    changes_by_round = {key: own_of(round_.changes) for key, round_ in different.items()}
    return (
        base,
        tuple(Round(round_.trials, changes_by_round[_alike(round_)]) for round_ in all_rounds),
        {case: replace(fit, changes=own_of(fit.changes)) for case, fit in steps.items()},
    )


def _alike(round_: Round) -> tuple[object, ...]:
    """The same for rounds of the same hosts with the same changes, without a look at each of them."""
    return id(round_.changes), *(trial.case.hosts for trial in round_.trials)


def _ordered(campaign: Campaign, cases: list[Case], seed: int) -> Iterator[tuple[int, tuple[Case, ...]]]:
    """(repetition, cases that run together), in order.

    What only hands can change is changed as rarely as can be; load levels come after what calibrates them.
    """
    blocks: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        levels = dict(case.factors)
        blocks.setdefault(tuple(levels[name] for name in campaign.labels), []).append(case)
    for block in blocks.values():
        yield from _ordered_alike(campaign, [case for case in block if case.load_level is None], seed)
        yield from _ordered_alike(campaign, [case for case in block if case.load_level is not None], seed)


def _ordered_alike(
    campaign: Campaign, cases: list[Case], seed: int
) -> Iterator[tuple[int, tuple[Case, ...]]]:
    trials_by_case = {case: campaign.most_trials(case) for case in cases}
    repetitions = range(1, max(trials_by_case.values(), default=0) + 1)
    if campaign.order == "random":
        rng = random.Random(seed)  # noqa: S311  an order, not a secret
        for repetition in repetitions:
            due_cases = [case for case in cases if repetition <= trials_by_case[case]]
            for group in _together(campaign, rng.sample(due_cases, len(due_cases))):
                yield repetition, group
        return
    groups = _together(campaign, cases)
    backwards = groups[::-1] if campaign.order == "mirrored" else groups
    turns = (
        (repetition, group)
        for repetition in repetitions
        for group in (groups if repetition % 2 else backwards)
    )
    if campaign.order == "sequential":
        turns = ((repetition, group) for group in groups for repetition in repetitions)
    yield from (turn for turn in turns if turn[0] <= trials_by_case[turn[1][0]])


def _together(campaign: Campaign, cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Cases in rounds: each alone, or with concurrent pairs those alike whose hosts are all different."""
    if not campaign.concurrent_pairs:
        return [(case,) for case in cases]
    rounds: list[list[Case]] = []
    busy: list[set[str]] = []
    alike: dict[str, list[int]] = {}
    for case in cases:
        hosts = set(case.hosts)
        candidates = alike.setdefault(case.key, [])
        at = next((i for i in candidates if not busy[i] & hosts), None)
        if at is None:
            at = len(rounds)
            rounds.append([])
            busy.append(set())
            candidates.append(at)
        rounds[at].append(case)
        busy[at] |= hosts
    return [tuple(group) for group in rounds]
