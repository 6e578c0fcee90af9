# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt check`` would call a failure, told from what a run knows of its hosts when it begins. Pure.

A run asks hosts no more for it: what only ``check`` asks for (ports, full packets, how busy CPUs are in that
second) is not among it; paths and idle hosts have findings of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from linewatt.campaign import Campaign
from linewatt.campaign.planning import PlannedTrial
from linewatt.engine.readiness import readiness_cpu, readiness_host, readiness_net
from linewatt.engine.readiness.readiness import Check, HostAnswer, Wants, check_titles
from linewatt.hosts import Offset
from linewatt.hosts.facts import Facts, parse_cpulist
from linewatt.loads import LOADS
from linewatt.model import Case
from linewatt.records import NotReady
from linewatt.sensors import POWER_DRIVERS
from linewatt.tuning import Change

_RIGHTS = "root"
"""a run that lacks rights ends by itself"""


def failures(
    campaign: Campaign,
    facts: Mapping[str, Facts],
    clocks: Mapping[str, Offset],
    trials: Sequence[PlannedTrial],
    changes: Iterable[Change],
) -> tuple[NotReady, ...]:
    """Failed checks in the order of the campaign's hosts; ``facts`` are those before any change."""
    trials = () if campaign.feature_load is not None else trials
    cases = tuple(dict.fromkeys(trial.case for trial in trials))
    wants_by_host = wants(campaign, cases, trials, changes)
    answers = {
        name: HostAnswer(wants_by_host[name], facts[name], clock=clocks.get(name))
        for name in wants_by_host
        if name in facts
    }
    return tuple(
        NotReady(host=name, check=check.name, found=check.found, advice=check.advice)
        for name in answers
        for check in _checks(answers[name], answers, campaign.load)
        if check.status == "fail" and check.name != _RIGHTS
    )


def title_of_check(failure: NotReady) -> str:
    """What a failed check is about, as ``linewatt check`` titles it."""
    return check_titles()[failure.check]


def _checks(answer: HostAnswer, answers: Mapping[str, HostAnswer], load: str) -> Iterator[Check]:
    yield from readiness_host.host_checks(answer, LOADS[load])
    yield from readiness_cpu.cpu_checks(answer)
    names = {name for case in answer.wants.cases for name in case.hosts} - {answer.name}
    yield from readiness_net.net_checks(answer, [answers[name] for name in sorted(names) if name in answers])


def wants(
    campaign: Campaign, cases: Sequence[Case], trials: Iterable[PlannedTrial], changes: Iterable[Change]
) -> dict[str, Wants]:
    """What a plan asks of each host, gathered in one go over its trials."""
    pairs_by_host: dict[str, list[Case]] = {name: [] for name in campaign.hosts}
    knobs: dict[str, set[str]] = {name: set() for name in campaign.hosts}
    cpus: dict[str, set[str | None]] = {name: set() for name in campaign.hosts}
    for of_two in (pair for case in cases for pair in case.pairs):
        for name in of_two.hosts:
            pairs_by_host[name].append(of_two)
    mtus_bytes: dict[str, dict[str, frozenset[int]]] = {name: {} for name in campaign.hosts}
    for change in changes:
        knobs[change.host].add(change.knob)
        if change.knob == "mtu":
            mtus_of_host = mtus_bytes[change.host]
            mtus_of_host[change.target] = mtus_of_host.get(change.target, frozenset()) | {int(change.value)}
    for trial in trials:
        for pair in trial.pairs:
            cpus[pair.case.sender].update(instance.sender_cpu for instance in pair.instances)
            cpus[pair.case.receiver].update(instance.receiver_cpu for instance in pair.instances)
    return {
        name: Wants(
            spec,
            tuple(pairs_by_host[name]),
            frozenset(knobs[name]),
            tuple(sorted({cpu for text in cpus[name] if text is not None for cpu in parse_cpulist(text)})),
            bool(knobs[name]) or _reads_as_root(campaign, name),
            mtus_bytes[name],
        )
        for name, spec in campaign.hosts.items()
    }


def _reads_as_root(campaign: Campaign, name: str) -> bool:
    """Whether a source of power on this host is for root only."""
    sources = campaign.power.get(name, {}).values()
    return any(getattr(POWER_DRIVERS[source.driver], "needs_root", False) is True for source in sources)
