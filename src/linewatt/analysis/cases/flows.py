# SPDX-License-Identifier: Apache-2.0
"""The pairs of a group, each as a trial of its own beside that of all together. Pure.

What only the group has, the CPU and watts of the host that is in all pairs, is in none of them: a part of it
belongs to each, and nobody knows which. In a ring a host's are in the pair in which it sends, and are of that
and of the one in which it receives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from linewatt.analysis.cases.totals import totals_of_instances, withholds_throughput
from linewatt.findings import kind_of
from linewatt.hosts.facts import parse_cpulist
from linewatt.model import ENDS, Case, EndResult, Flag, FlowResult, InstanceResult, Role, Trial


def with_flows(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The trials, behind each of a group its pairs."""
    return tuple(trial_or_pair for trial in trials for trial_or_pair in (trial, *flow_trials(trial)))


def flow_trials(trial: Trial) -> Iterator[Trial]:
    """The pairs of a trial, which have its number; none where it is of two hosts."""
    if not trial.case.flows:
        return
    flow_by_hosts = {(flow.sender, flow.receiver): flow for flow in trial.flows}
    flows = []
    for pair in trial.case.pairs:
        pair_instances = tuple(
            instance for instance in trial.instances if trial.case.pair_of(instance.instance) == pair
        )
        flow = flow_by_hosts.get((pair.sender, pair.receiver)) or FlowResult(pair.sender, pair.receiver)
        flows.append(_flow(trial, pair, flow, pair_instances))
    to = {flow.case.receiver: flow for flow in flows} if trial.case.is_ring else {}
    yield from (replace(flow, incoming=to.get(flow.case.sender)) if to else flow for flow in flows)


def judged(trials: Iterable[Trial]) -> dict[Case, list[Trial]]:
    """The pairs of trials of a ring, each with both of its ends, to find its limit: of app CPUs of a host
    only those are a pair's on which its own processes run."""
    trials_by_pair: dict[Case, list[Trial]] = {}
    for trial in trials:
        flows = [*flow_trials(trial)]
        ends = {flow.case.sender: flow.sender for flow in flows}
        for flow in flows:
            pair_trial = replace(
                flow,
                incoming=None,
                sender=_at_pair(ends.get(flow.case.sender), "sender", flow.instances),
                receiver=_at_pair(ends.get(flow.case.receiver), "receiver", flow.instances),
            )
            trials_by_pair.setdefault(flow.case, []).append(pair_trial)
    return trials_by_pair


def _at_pair(end: EndResult | None, role: Role, instances: Iterable[InstanceResult]) -> EndResult | None:
    """The end of a host in a pair in which it has a role. Where the busiest app CPU is not one of its
    processes there, only these tell what they used themselves."""
    if end is None:
        return None
    pinned = {instance.sender_cpu if role == "sender" else instance.receiver_cpu for instance in instances}
    pair_cpus = {cpu for text in pinned if text is not None for cpu in parse_cpulist(text)}
    busiest = end.hottest_app.cpus if end.hottest_app is not None else ()
    if pair_cpus and busiest and not pair_cpus.issuperset(busiest):
        end = replace(end, app_cpu=None, hottest_app=None, hottest=None)
    return replace(end, role=role)


def _flow(trial: Trial, pair: Case, flow: FlowResult, instance_results: tuple[InstanceResult, ...]) -> Trial:
    """``flow``: where it is not known which line and end are the pair's own, without them."""
    if trial.status != "done":
        return replace(trial, case=pair, case_key=pair.key, flags=())
    end = flow.end
    hosts = {flag.where for flag in trial.flags if withholds_throughput(flag)}
    is_withheld = trial.throughput_bps is None and not hosts.isdisjoint(pair.hosts)
    figures = totals_of_instances(instance_results)
    if pair.of_users:
        figures |= {"throughput_bps": flow.users_bps, "offered_bps": None}
    if is_withheld:
        figures["throughput_bps"] = None
    return replace(
        trial,
        reason=trial.reason if is_withheld or not hosts else None,
        case=pair,
        case_key=pair.key,
        **figures,
        throughput_se_bps=None,
        line_goodput_bps=flow.line_goodput_bps,
        line_kind=flow.line_kind,
        line_host=flow.line_host,
        sender=end if end is not None and end.role == "sender" else None,
        receiver=end if end is not None and end.role == "receiver" else None,
        instances=instance_results,
        flags=tuple(flag for flag in trial.flags if _concerns(flag, trial.case, pair)),
        flows=(),
    )


def _concerns(flag: Flag, group: Case, pair: Case) -> bool:
    """Whether a flag of a group is about a figure of one of its pairs: it names a host whose figures stand
    at the pair, none at all, or one on which the throughput of all of its pairs depends."""
    if "→" in flag.where and flag.where != group.way:
        return flag.where == pair.way
    named = {*flag.hosts} & {*group.hosts}
    pair_hosts = {pair.host(role) for role in ENDS if not pair.told_elsewhere(role)}
    if not named or named & pair_hosts:
        return True
    return bool(named & set(pair.hosts)) and "throughput" in kind_of(flag.code).figures
