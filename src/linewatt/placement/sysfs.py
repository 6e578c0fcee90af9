# SPDX-License-Identifier: Apache-2.0
"""A machine from the facts of a host (``hosts/facts/read.py``), without lstopo; or what its file lacks. Pure.

Facts have what no file of lstopo has: which CPUs are isolated, and what the kernel says of the node of a
device that lstopo leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from linewatt.errors import InvalidInput
from linewatt.hosts.facts import NOT_KNOWN, Facts, parse_cpulist
from linewatt.placement.topology import Cpu, Device, Groups, Topology, build_cpus


def topology_of_facts(facts: Facts, nic: str | None = None) -> Topology:
    """The machine that the facts show, with the one device ``nic`` whose facts they are.

    What they do not tell is taken at its simplest and said in the notes: each CPU a core of its own, one
    NUMA node, a device that is local everywhere. Raises InvalidInput where no CPU is known.
    """
    cpu_facts = facts.get("cpus", {})
    online = _list(cpu_facts.get("online"))
    if not online:
        raise InvalidInput(
            f"the host's CPUs are not known ({_reason(facts, 'cpus.online')}); name the CPUs to use"
        )
    node_of, empty = _nodes(cpu_facts, online)
    groups = Groups(
        None if cpu_facts.get("cores") is None else _groups(cpu_facts["cores"]),
        _groups(cpu_facts.get("packages")),
        _groups(cpu_facts.get("caches")),
    )
    topology = Topology(
        cpus=build_cpus(online, _listed(groups, node_of) - set(online), groups, node_of, _slower(cpu_facts)),
        allowed=tuple(online),
        empty_nodes=empty,
        notes=_notes(facts, groups),
    )
    return complete_topology(topology, facts, nic)


def complete_topology(topology: Topology, facts: Facts, nic: str | None = None) -> Topology:
    """``topology`` with what the facts add: CPUs that went offline, isolated and allowed ones, the device.

    A device that the topology has already is kept as it is there.
    """
    cpu_facts = facts.get("cpus", {})
    online = set(topology.online if cpu_facts.get("online") is None else _list(cpu_facts["online"]))
    cpus = tuple(_offline(cpu) if cpu.online and cpu.id not in online else cpu for cpu in topology.cpus)
    running = {cpu.id for cpu in cpus if cpu.online}
    allowed = set(topology.allowed) & running
    if cpu_facts.get("allowed") is not None:
        allowed &= set(_list(cpu_facts["allowed"]))
    completed = replace(
        topology,
        cpus=cpus,
        allowed=tuple(sorted(allowed)),
        isolated=tuple(sorted(running & {*topology.isolated, *_list(cpu_facts.get("isolated"))})),
    )
    if nic is None or any(device.name == nic for device in topology.devices):
        return completed
    return _with_device(completed, facts, nic)


def _with_device(topology: Topology, facts: Facts, nic: str) -> Topology:
    """The device on the node that the kernel gives it; on none (-1, a virtual one) it is local everywhere."""
    nic_facts = facts.get("nic", {})
    # With one node there is nothing to know: firmware of such machines gives devices none (-1).
    node = topology.nodes[0] if len(topology.nodes) == 1 else nic_facts.get("numa_node")
    local_cpus = tuple(cpu.id for cpu in topology.cpus if cpu.online and cpu.node == node)
    notes = topology.notes
    if node is None:
        why = _reason(facts, "nic.numa_node")
        notes += (f"the NUMA node of {nic} is not known ({why}): it is taken as local to all CPUs",)
    elif node >= 0 and not local_cpus:
        notes += (f"NUMA node {node} of {nic} has no CPU: it is taken as local to all CPUs",)
    device = Device(nic, nic_facts.get("bus"), local_cpus or topology.online, node if local_cpus else None)
    return replace(topology, devices=(*topology.devices, device), notes=notes)


def _offline(cpu: Cpu) -> Cpu:
    return Cpu(cpu.id, None, None, None, online=False)


def _nodes(cpu_facts: Mapping[str, Any], online: list[int]) -> tuple[dict[int, int], tuple[int, ...]]:
    """CPU → node, and the nodes without CPUs. A kernel without NUMA has one node, 0."""
    named = cpu_facts.get("of_node")
    if not isinstance(named, Mapping):
        return dict.fromkeys(online, 0), ()
    cpus = {int(name.removeprefix("node")): parse_cpulist(text) for name, text in named.items()}
    node_of = {cpu: node for node in sorted(cpus) for cpu in cpus[node]}
    return node_of, tuple(sorted(node for node in cpus if not cpus[node]))


def _slower(cpu_facts: Mapping[str, Any]) -> dict[int, int]:
    """CPU → how many kinds of core are faster; results from before this fact tell none."""
    by_count = cpu_facts.get("slower") or {}
    return {cpu: int(count) for count, text in by_count.items() for cpu in parse_cpulist(text)}


def _listed(groups: Groups, node_of: Mapping[int, int]) -> set[int]:
    return {*node_of, *(cpu for group in groups.packages for cpu in group)}


def _notes(facts: Facts, groups: Groups) -> tuple[str, ...]:
    if groups.cores is not None:
        return ()
    why = _reason(facts, "cpus.cores")
    return (f"which CPUs are threads of one core is not known ({why}): each is taken as a core",)


def _reason(facts: Facts, name: str) -> str:
    return str(facts.get(NOT_KNOWN, {}).get(name) or "not recorded")


def _list(value: Any) -> list[int]:
    return [] if value is None else [int(cpu) for cpu in value]


def _groups(texts: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(parse_cpulist(text) for text in texts or ())
