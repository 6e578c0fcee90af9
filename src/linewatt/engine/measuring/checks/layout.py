# SPDX-License-Identifier: Apache-2.0
"""Who shares a CPU with whom, as the plan has it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from linewatt.engine.measuring.cut import Seen
from linewatt.hosts import HostSpec
from linewatt.model import Case, Flag, InstanceResult


def check(seen: Seen) -> Iterator[Flag]:
    """Everything that the layout of a trial alone gives away."""
    yield from placement(seen.case, seen.instances, [seen.cut.spec(name) for name in seen.case.hosts])


def placement(case: Case, instances: Sequence[InstanceResult], hosts: Sequence[HostSpec]) -> Iterator[Flag]:
    """Instances on one CPU, threads of one process on one CPU, both roles on one CPU, hosts on one CPU."""
    for host in hosts:
        cpus = [
            instance.sender_cpu if role == "sender" else instance.receiver_cpu
            for instance in instances
            for role in case.roles_at(instance.instance, host.name)
        ]
        used = Counter(cpu for cpu in cpus if cpu is not None)
        crowded = [cpu for cpu, number in used.items() if number > 1]
        if crowded:
            yield Flag(
                "instances-share-cpu",
                host.name,
                f"{used[crowded[0]]} instances run on CPU {crowded[0]}",
                "name at least as many app_cpus as instances"
                + (" of all its pairs" if case.taking_part(host.name) > 1 else ""),
            )
        if case.streams > 1 and used:
            yield Flag(
                "streams-share-cpu",
                host.name,
                f"the {case.streams} streams of an instance share one CPU",
                "use instances rather than streams to load more CPUs",
            )
        shared_cpus = set(used) & {str(cpu) for cpu in host.irq_cpus or ()}
        if shared_cpus:
            yield Flag(
                "app-irq-share-cpu",
                host.name,
                f"CPU {min(shared_cpus)} runs a load process and does the receive work",
                "give app_cpus and irq_cpus different CPUs",
            )
    sharing = [
        host.name
        for host in hosts
        if any(host.name in neighbour.shares_cpus_with for neighbour in hosts)
        or any(neighbour.name in host.shares_cpus_with for neighbour in hosts)
    ]
    if sharing:
        counted = "count the same CPUs, so the CPU use of each contains that of the other"
        yield Flag(
            "hosts-share-cpus",
            ", ".join(sharing),
            f"the CPU figures of both ends {counted}"
            if len(hosts) == 2
            else f"the CPU figures of these hosts {counted}s",
            "for figures on CPU cost, use hosts that do not share CPUs",
        )
