# SPDX-License-Identifier: Apache-2.0
"""From a campaign to its plan: pure, the same for the same campaign and seed."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from linewatt.campaign.campaign import Campaign, Order, TestSpec
from linewatt.errors import InvalidInput
from linewatt.hosts.base import HostSpec
from linewatt.hosts.cpulist import format_cpulist
from linewatt.model import Case, Family
from linewatt.tuning.base import Change

ROUND_OVERHEAD_S = 0.1
"""wall time of a trial beyond its load: the target of docs/bench.md"""
SCHEMA_VERSION = 1

IMPOSSIBLE: dict[tuple[str, Family], str] = {
    ("udp-60", "ipv6"): "an IPv6 UDP frame cannot be 60 bytes: its headers alone are 14 + 40 + 8 = 62"
}


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """One load process pair: its number from 0, its port, and its CPUs (None: the system decides)."""

    instance: int
    port: int
    sender_cpu: str | None
    receiver_cpu: str | None


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One repetition (from 1) of a case; ``number`` counts trials from 1 in the order they run.

    ``sender_irq_cpus`` and ``receiver_irq_cpus`` are to take the receive work of their host.
    """

    number: int
    repetition: int
    case: Case
    instances: tuple[PlannedInstance, ...]
    sender_irq_cpus: tuple[int, ...] = ()
    receiver_irq_cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """Trials that start at one barrier: one, or with ``concurrent_pairs`` several that share no host."""

    trials: tuple[PlannedTrial, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Cases that cannot be: what they have in common, how many, and why."""

    what: str
    cases: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a campaign will do, in order.

    ``cases`` stand in the order of the file. ``ports_alternate``: successive rounds use different ports, so
    that servers can start ahead. ``seed`` is None unless the order is random. ``duration_s`` is an estimate.
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

    @property
    def trials(self) -> Iterator[PlannedTrial]:
        """All trials in the order they run."""
        return (trial for round_ in self.rounds for trial in round_.trials)


def plan(campaign: Campaign, seed: int) -> Plan:
    """The plan of a campaign. ``seed`` orders the cases when ``order`` is random and is not used otherwise.

    Raises InvalidInput when every case is impossible, or the port range is too small.
    """
    cases, skipped = expand(campaign)
    if not cases:
        raise InvalidInput(f"no case is left to run: {skipped[0].reason}")
    most = max(case.instances for case in cases)
    if most > campaign.ports:
        raise InvalidInput(f"{most} instances need {most} ports, and ports names {campaign.ports}")
    alternate = campaign.ports >= 2 * most
    rounds = _rounds(campaign, cases, seed, alternate)
    return Plan(
        cases=tuple(cases),
        rounds=rounds,
        changes=tuple(_changes(campaign)),
        order=campaign.order,
        seed=seed if campaign.order == "random" else None,
        ports_alternate=alternate,
        duration_s=campaign.idle_s * (2 if campaign.measures_power else 1)
        + len(rounds) * (campaign.load_s + ROUND_OVERHEAD_S),
        skipped=tuple(skipped),
        notes=tuple(_notes(campaign, cases, alternate)),
    )


def expand(campaign: Campaign) -> tuple[list[Case], list[Skipped]]:
    """Every combination of the file, in its order, and those that cannot be."""
    cases: list[Case] = []
    skipped: dict[tuple[str, Family], int] = {}
    for spec in campaign.tests:
        for family in campaign.families:
            found = _combinations(campaign, spec, family)
            if (spec.test, family) in IMPOSSIBLE:
                skipped[spec.test, family] = skipped.get((spec.test, family), 0) + len(found)
            else:
                cases += found
    levels = [replace(case, load_level=level) for case in cases for level in campaign.load_levels]
    return [*cases, *levels], [
        Skipped(f"{test} over {family}", count, IMPOSSIBLE[test, family])
        for (test, family), count in skipped.items()
    ]


def _combinations(campaign: Campaign, spec: TestSpec, family: Family) -> list[Case]:
    return [
        Case(
            test=spec.test,
            sender=sender if direction == "forward" else receiver,
            receiver=receiver if direction == "forward" else sender,
            instances=instances,
            streams=streams,
            direction=direction,
            family=family,
            network=network,
            rate_bps=spec.rate_bps,
            zerocopy=spec.zerocopy,
        )
        for network in campaign.networks
        for direction in campaign.directions
        for streams in spec.streams
        for instances in spec.instances
        for sender, receiver in campaign.pairs
    ]


def _rounds(campaign: Campaign, cases: list[Case], seed: int, alternate: bool) -> tuple[Round, ...]:
    half = campaign.ports // 2 if alternate else 0

    @cache
    def placed(sender: str, receiver: str, count: int, first_port: int) -> tuple[PlannedInstance, ...]:
        ends = campaign.hosts[sender], campaign.hosts[receiver]
        return tuple(
            PlannedInstance(i, first_port + i, *(_cpu(campaign, host, i) for host in ends))
            for i in range(count)
        )

    rounds: list[Round] = []
    number = 0
    for repetition, group in _ordered(campaign, cases, seed):
        first_port = campaign.first_port + half * (len(rounds) % 2)
        trials = []
        for case in group:
            number += 1
            count = 0 if case.load_level == 0 else case.instances
            instances = placed(case.sender, case.receiver, count, first_port)
            irq_cpus = [_irq_cpus(campaign, campaign.hosts[name]) for name in case.hosts]
            trials.append(PlannedTrial(number, repetition, case, instances, *irq_cpus))
        rounds.append(Round(tuple(trials)))
    return tuple(rounds)


def _ordered(campaign: Campaign, cases: list[Case], seed: int) -> Iterator[tuple[int, tuple[Case, ...]]]:
    """(repetition, cases that run together), in order; load levels come after what calibrates them."""
    for part in (
        [case for case in cases if case.load_level is None],
        [case for case in cases if case.load_level is not None],
    ):
        yield from _ordered_alike(campaign, part, seed)


def _ordered_alike(
    campaign: Campaign, cases: list[Case], seed: int
) -> Iterator[tuple[int, tuple[Case, ...]]]:
    repetitions = range(1, campaign.trials + 1)
    if campaign.order == "random":
        rng = random.Random(seed)  # noqa: S311  an order, not a secret
        for repetition in repetitions:
            for group in _together(campaign, rng.sample(cases, len(cases))):
                yield repetition, group
        return
    groups = _together(campaign, cases)
    if campaign.order == "sequential":
        yield from ((repetition, group) for group in groups for repetition in repetitions)
    else:
        yield from ((repetition, group) for repetition in repetitions for group in groups)


def _together(campaign: Campaign, cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Cases in rounds: each alone, or with concurrent pairs those alike whose hosts are all different."""
    if not campaign.concurrent_pairs:
        return [(case,) for case in cases]
    rounds: list[list[Case]] = []
    busy: list[set[str]] = []
    alike: dict[str, list[int]] = {}
    for case in cases:
        hosts = {case.sender, case.receiver}
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


def _cpu(campaign: Campaign, host: HostSpec, instance: int) -> str | None:
    if campaign.placement == "none" or not host.app_cpus:
        return None
    return str(host.app_cpus[instance % len(host.app_cpus)])


def _irq_cpus(campaign: Campaign, host: HostSpec) -> tuple[int, ...]:
    return host.irq_cpus or () if campaign.placement == "pinned" else ()


def _changes(campaign: Campaign) -> Iterator[Change]:
    for host in campaign.hosts.values():
        for key, value in campaign.sysctl.items():
            yield Change(host.name, "sysctl", key, value, "the campaign's settings ask for it")
        if host.irq_cpus and campaign.placement == "pinned":
            cpus = format_cpulist(host.irq_cpus)
            why = "receive work of the load (data, or the acknowledgements of it) goes to the IRQ CPUs"
            yield Change(host.name, "rps_cpus", host.data, cpus, why)


def _notes(campaign: Campaign, cases: list[Case], alternate: bool) -> Iterator[str]:
    if not alternate:
        most = max(case.instances for case in cases)
        yield (
            f"ports: {campaign.ports} ports serve {most} instances, so every trial uses the same ones and "
            f"servers cannot start ahead; {2 * most} ports would do"
        )
    if campaign.seed is not None and campaign.order != "random":
        yield f"seed: has no effect, because the order is {campaign.order}"
    for name in campaign.unused_hosts:
        yield f"{name}: takes part in no pair and is left alone"
    for host in campaign.hosts.values():
        yield from _host_notes(campaign, host, cases)
    yield from _shared_cpu_notes(campaign)
    for name, sensor in campaign.sensors.items():
        if sensor.interval_s > campaign.window_s:
            yield (
                f"sensors: {name} reads every {sensor.interval_s:g} s, and the window is only "
                f"{campaign.window_s:g} s: it may have nothing to say"
            )


def _host_notes(campaign: Campaign, host: HostSpec, cases: list[Case]) -> Iterator[str]:
    if campaign.placement == "none":
        return
    own = [case.instances for case in cases if host.name in (case.sender, case.receiver)]
    if host.app_cpus is None:
        yield f"{host.name}: names no app_cpus, so the system places its load processes"
    elif max(own) > len(host.app_cpus):
        yield f"{host.name}: {max(own)} instances on {_cpus_text(host.app_cpus)}, so that they share"
    both = set(host.app_cpus or ()) & set(host.irq_cpus or ())
    if both:
        yield f"{host.name}: load processes and receive work share {_cpus_text(both)}"


def _cpus_text(cpus: Collection[int]) -> str:
    return f"{len(cpus)} CPU{'' if len(cpus) == 1 else 's'} ({format_cpulist(cpus)})"


def _shared_cpu_notes(campaign: Campaign) -> Iterator[str]:
    seen: set[frozenset[str]] = set()
    for host in campaign.hosts.values():
        for other in host.shares_cpus_with:
            pair = frozenset((host.name, other))
            if other in campaign.hosts and len(pair) == 2 and pair not in seen:
                seen.add(pair)
                yield f"{host.name} and {other} run on the same CPUs: what one uses, the other lacks"
                if campaign.concurrent_pairs:
                    yield f"{host.name} and {other}: pairs that run at the same time disturb each other"


def as_dict(planned: Plan) -> dict[str, Any]:
    """The plan as plain values for JSON; units are in the keys.

    Trials name their case and their placement by index: ``placements[i]`` lists instance, port and CPUs.
    """
    case_index = {case: i for i, case in enumerate(planned.cases)}
    placements: dict[tuple[PlannedInstance, ...], int] = {}
    trials = [
        {
            "number": trial.number,
            "round": round_number,
            "repetition": trial.repetition,
            "case": case_index[trial.case],
            "placement": placements.setdefault(trial.instances, len(placements)),
        }
        for round_number, round_ in enumerate(planned.rounds, start=1)
        for trial in round_.trials
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "order": planned.order,
        "seed": planned.seed,
        "duration_s": round(planned.duration_s, 3),
        "ports_alternate": planned.ports_alternate,
        "cases": [_case_dict(case) for case in planned.cases],
        "placements": [[_slots(instance) for instance in instances] for instances in placements],
        "trials": trials,
        "changes": [_slots(change) for change in planned.changes],
        "skipped": [_slots(skip) for skip in planned.skipped],
        "notes": list(planned.notes),
    }


def _case_dict(case: Case) -> dict[str, Any]:
    values = {"key": case.key, **_slots(case), "client": case.client, "server": case.server}
    factors = values.pop("factors")
    return {**values, "factors": dict(factors)} if factors else values


def _slots(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
