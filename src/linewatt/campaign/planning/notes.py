# SPDX-License-Identifier: Apache-2.0
"""What a reader of a plan should know before it runs. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from linewatt.campaign.campaign import PLACEMENT_FACTOR, Campaign
from linewatt.campaign.design import design_words
from linewatt.campaign.entries.networks import BARE_NETWORK
from linewatt.campaign.entries.search import agreeing
from linewatt.campaign.feature_load import planning_of
from linewatt.campaign.planning.energy_notes import energy_notes
from linewatt.findings import ASKING_S, LITTLE_GAIN_RATIO
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import format_cpulist
from linewatt.model import Case
from linewatt.records import RateRule
from linewatt.sizes import FULL, FULL_FRAME_BYTES, RULE_OF_THREE, datagram_bytes
from linewatt.units import format_rate, format_seconds

SURE_RUNS = 10
"""runs below which looking for a narrow interval costs much of its coverage (docs/metrics.md)"""
_TELLING_INSTANCES = 4
"""numbers of instances that a knee takes"""
_RATES_OF_A_SEARCH = 5
"""that one tries at least, as a rule"""


def notes(
    campaign: Campaign, cases: list[Case], alternate: bool, topology_hosts: Collection[str]
) -> Iterator[str]:
    """One line each; ``topology_hosts`` are the hosts that a policy had a topology of."""
    load = campaign.feature_load
    if not alternate and load is None:
        max_processes = max(case.processes for case in cases)
        yield (
            f"ports: {campaign.ports} ports serve {max_processes} instances, so every trial uses "
            f"the same ones and "
            f"servers cannot start ahead; {2 * max_processes} ports would do"
        )
    if campaign.seed is not None and campaign.order != "random":
        yield f"seed: has no effect, because the order is {campaign.order}"
    if campaign.min_trials is not None and campaign.min_trials < SURE_RUNS:
        yield (
            f"trials: where cases may stop after {campaign.min_trials} trials, a 95 % CI covers about 92 %; "
            f"with min: {SURE_RUNS} it covers 94 %"
        )
    yield from _search_notes(campaign, cases)
    yield from _instance_notes(campaign)
    yield from _same_frames_notes(cases)
    yield from design_words(campaign.factors, campaign.design)
    if campaign.labels and campaign.order != "sequential":
        yield (
            f"factors: {' and '.join(campaign.labels)} cannot be interleaved, because hands change them: "
            "drift of the hosts cannot be told from their effect"
        )
    for name in campaign.unused_hosts:
        yield f"{name}: takes part in no pair and is left alone"
    for host in campaign.hosts.values():
        yield from _host_notes(campaign, host, cases)
    yield from _placement_notes(campaign, topology_hosts)
    yield from _shared_cpu_notes(campaign)
    if load is not None:
        yield from planning_of(load).notes(campaign)
    yield from _edge_notes(campaign)
    yield from energy_notes(campaign, cases)
    for name, sensor in campaign.sensors.items():
        if sensor.interval_s > campaign.window_s:
            yield (
                f"sensors: {name} reads every {sensor.interval_s:g} s, and the window is only "
                f"{campaign.window_s:g} s: it may have nothing to say"
            )


def _search_notes(campaign: Campaign, cases: list[Case]) -> Iterator[str]:
    """What is searched, from where on, and how long that takes at most."""
    search = campaign.search
    if search is None:
        return
    losses = " and ".join(f"{100 * ratio:g} %" for ratio in search.loss_ratios)
    begins = "as fast as the sender goes"
    if search.max_rate_bps is not None:
        begins = f"at {format_rate(search.max_rate_bps)} an instance"
    times = "once" if search.runs == 1 else f"at most {search.runs} times"
    limit_words = f"{search.trials} trials ({format_seconds(search.trials * campaign.load_s)} of load)"
    yield (
        f"search: the highest rates with at most {losses} lost, to within {100 * search.width_ratio:g} %; it "
        f"begins {begins}, tries a rate {times} for {campaign.window_s:g} s, whatever trials says, and ends "
        f"after {limit_words} at the latest"
    )
    usual_trials = _RATES_OF_A_SEARCH * agreeing(search.runs)
    if search.trials < usual_trials:
        yield (
            f"search.trials: {search.trials} may end a search before a rate is found: with runs "
            f"{search.runs} one takes {usual_trials} or more as a rule"
        )
    yield from _few_datagrams_notes(campaign, search, cases)


def _instance_notes(campaign: Campaign) -> Iterator[str]:
    """How instances are searched, and what bounds them."""
    search = campaign.instance_search
    if search is None:
        return
    bound = search.bound
    if not search.named:
        bound += "; fewer where a host has fewer CPUs"
    max_trials = search.counts * search.runs
    yield (
        f"search: from how many instances on throughput no longer follows: 1, 2, 4 … up to {search.most} "
        f"({bound}), until twice as many surely bring less than {100 * LITTLE_GAIN_RATIO:g} % twice in a "
        f"row, then numbers around the knee; {search.runs} trials of each, one after the other, and at most "
        f"{max_trials} "
        f"({format_seconds(max_trials * campaign.load_s)} of load)"
    )
    if search.most < _TELLING_INSTANCES:
        yield (
            f"search: up to {search.most} instance{'s' * (search.most > 1)} no knee can be told: that takes "
            f"{_TELLING_INSTANCES} different numbers at least"
        )


def _few_datagrams_notes(campaign: Campaign, search: RateRule, cases: list[Case]) -> Iterator[str]:
    """Losses that the datagrams at the highest rate could not tell."""
    smallest_ratio = min((ratio for ratio in search.loss_ratios if ratio), default=None)
    if smallest_ratio is None or search.max_rate_bps is None:
        return
    fewest: dict[str, int] = {}
    for case in cases:
        payload = datagram_bytes(case.test, case.family) if case.search == "rate" else None
        if payload:
            sent = int(search.max_rate_bps * case.instances * campaign.window_s / 8 / payload)
            packets = sent * agreeing(search.runs)
            fewest[case.test] = min(fewest.get(case.test, packets), packets)
    needed = math.ceil(RULE_OF_THREE / smallest_ratio)
    for test, packets in fewest.items():
        if packets < needed:
            yield (
                f"search.max_rate: at it {test} sends {packets:,} datagrams in {agreeing(search.runs)} "
                f"windows of {campaign.window_s:g} s, and {100 * smallest_ratio:g} % lost takes "
                f"{needed:,} to tell: "
                "make the window longer"
            )


def _same_frames_notes(cases: list[Case]) -> Iterator[str]:
    """UDP 1500, which is named after its packet, beside the test that is named after its frame."""
    bare = {case for case in cases if case.network == BARE_NETWORK}
    named_by_frame = f"udp-{FULL_FRAME_BYTES}"
    twice = sum(case.test == named_by_frame and replace(case, test=FULL) in bare for case in bare)
    if twice:
        yield (
            f"tests: {named_by_frame} and {FULL} send the same datagrams on bare interfaces, so that "
            f"{'a case runs' if twice == 1 else f'{twice} cases run'} twice; leave one of them out"
        )


def _edge_notes(campaign: Campaign) -> Iterator[str]:
    """Omit or tail so short that readings at the window's edges are of a time without load, too."""
    if not campaign.sensors:
        return
    name, sensor = max(campaign.sensors.items(), key=lambda item: item[1].interval_s)
    needed = {"omit": sensor.interval_s, "tail": sensor.interval_s + ASKING_S}
    short = [
        key
        for key, seconds in zip(needed, (campaign.omit_s, campaign.tail_s), strict=True)
        if seconds < needed[key]
    ]
    if short:
        advice = " and ".join(f"{key}: {needed[key]:g}" for key in short)
        yield (
            f"window: {name} reads every {sensor.interval_s:g} s, so readings at the window's edges reach "
            f"beyond the load and CPU figures are too low; {advice} would do"
        )


def _placement_notes(campaign: Campaign, topology_hosts: Collection[str]) -> Iterator[str]:
    """Which CPUs a policy chooses is not known of hosts that nobody has asked, without their topology."""
    policies = [policy for policy in _policies(campaign) if policy not in ("pinned", "none")]
    hosts = [name for name in campaign.hosts if name not in topology_hosts]
    if policies and hosts:
        noun = "the host has" if len(hosts) == 1 else "hosts have"
        yield (
            f"{', '.join(hosts)}: placement {' and '.join(policies)} is decided when {noun} been asked; "
            "a run prints the CPUs. For plan to show them, save the output of `lstopo --of xml` on the "
            f"host, and name that file: hosts.{hosts[0]}.topology"
        )


def _policies(campaign: Campaign) -> Sequence[str]:
    return campaign.factors.get(PLACEMENT_FACTOR, (campaign.placement,))


def _host_notes(campaign: Campaign, host: HostSpec, cases: list[Case]) -> Iterator[str]:
    if "pinned" not in _policies(campaign):
        return
    instance_counts = [
        case.instances * case.taking_part(host.name) for case in cases if host.name in case.hosts
    ]
    if host.app_cpus is None:
        yield f"{host.name}: names no app_cpus, so the system places its load processes"
    elif max(instance_counts) > len(host.app_cpus):
        yield (
            f"{host.name}: {max(instance_counts)} instances on {_cpus_text(host.app_cpus)}, so "
            f"that they share"
        )
    shared_cpus = set(host.app_cpus or ()) & set(host.irq_cpus or ())
    if shared_cpus:
        yield f"{host.name}: load processes and receive work share {_cpus_text(shared_cpus)}"


def _cpus_text(cpus: Collection[int]) -> str:
    return f"{len(cpus)} CPU{'' if len(cpus) == 1 else 's'} ({format_cpulist(cpus)})"


def _shared_cpu_notes(campaign: Campaign) -> Iterator[str]:
    seen: set[frozenset[str]] = set()
    for host in campaign.hosts.values():
        for neighbour in host.shares_cpus_with:
            pair = frozenset((host.name, neighbour))
            if neighbour in campaign.hosts and len(pair) == 2 and pair not in seen:
                seen.add(pair)
                yield f"{host.name} and {neighbour} run on the same CPUs: what one uses, the other lacks"
                if campaign.concurrent_pairs:
                    yield f"{host.name} and {neighbour}: pairs that run at the same time disturb each other"
