# SPDX-License-Identifier: Apache-2.0
"""Derive a guest with the shape of a host from the host's facts, and list the differences. Pure.

Each sentence says in what the guest is not the host, so that nobody takes a rehearsal for more than it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.features.lab.guests import spec
from linewatt.features.lab.guests.spec import EXPRESS, MAX_NICS, MODULES, Guest, Model, Nic
from linewatt.hosts.facts import Facts, further_nics

_SAME_DRIVER: dict[str, Model] = {module: model for model, module in MODULES.items()}
"""drivers that a model has, too"""
_OF_QUEUES: Model = "vmxnet3"
"""which has a queue for each CPU, rings and an RSS table, as servers' NICs have"""
_OF_ONE_QUEUE: Model = "e1000e"
_EMULATED_CPUS = 4
"""of a guest without KVM: more of them translated by one machine answer nobody"""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A data interface of a host, its driver, and the model that stands in; ``same``: of the same driver."""

    interface: str
    driver: str | None
    model: Model

    @property
    def same(self) -> bool:
        return self.driver is not None and _SAME_DRIVER.get(self.driver) == self.model


@dataclass(frozen=True, slots=True)
class Shape:
    """The guest, the stand-in of each data interface, and what was cut and assumed, as text."""

    guest: Guest
    stand_ins: tuple[StandIn, ...]
    cut: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def shape_of(interfaces: Sequence[str], facts: Facts | None, *, kvm: bool) -> Shape:
    """The guest for a host with these data interfaces; ``facts``: None if they are unknown."""
    host_facts = facts or {}
    assumed = (
        [] if facts else ["nothing is known of the host: two CPUs, one NUMA node, a vmxnet3 for each NIC"]
    )
    cut: list[str] = []
    cpus, threads, nodes = _processors(
        host_facts.get("cpu", {}), host_facts.get("cpus", {}), kvm, cut, assumed
    )
    nics, stand_ins = [], []
    for number, interface in enumerate(interfaces[:MAX_NICS]):
        nic_facts = host_facts.get("nic", {}) if number == 0 else _further_nic_facts(host_facts, interface)
        nic = _nic(interface, nic_facts, cpus, nodes, cut, assumed if facts else [])
        nics.append(nic)
        stand_ins.append(StandIn(interface, nic_facts.get("driver"), nic.model))
    if len(interfaces) > MAX_NICS:
        cut.append(f"{MAX_NICS} of its {len(interfaces)} data interfaces")
    guest = Guest(tuple(nics), cpus, threads, nodes)
    return Shape(guest, tuple(stand_ins), tuple(cut), tuple(assumed))


def _further_nic_facts(facts: Facts, interface: str) -> Mapping[str, Any]:
    nic_facts = further_nics(facts).get(interface)
    return nic_facts if isinstance(nic_facts, Mapping) else {}


def _processors(
    cpu: Mapping[str, Any], online: Mapping[str, Any], kvm: bool, cut: list[str], assumed: list[str]
) -> tuple[int, int, int]:
    """CPUs, hardware threads of a core, and nodes."""
    online_cpus = online.get("online")
    count = len(online_cpus) if isinstance(online_cpus, Sequence) and online_cpus else None
    has_nodes, has_threads = _positive_int(cpu.get("numa_nodes")), _positive_int(cpu.get("threads_per_core"))
    if cpu and (count is None or has_nodes is None or has_threads is None):
        assumed.append("two CPUs, one NUMA node or one thread a core where the host does not tell")
    count, has_nodes, has_threads = count or 2, has_nodes or 1, has_threads or 1
    nodes, threads = min(has_nodes, spec.MAX_NODES), min(has_threads, spec.MAX_THREADS)
    if nodes * threads > count:  # some of it is offline
        threads = 1
        nodes = min(nodes, count)
    max_cpus = spec.MAX_CPUS if kvm else max(_EMULATED_CPUS, nodes * threads)
    cpus = max(nodes * threads, min(count, max_cpus) // (nodes * threads) * nodes * threads)
    if cpus != count:
        cut.append(f"{cpus} of its {count} CPUs")
    if nodes != has_nodes:
        cut.append(f"{nodes} of its {has_nodes} NUMA nodes")
    if threads != has_threads:
        cut.append(f"{threads} of its {has_threads} threads a core")
    return cpus, threads, nodes


def _nic(
    interface: str, facts: Mapping[str, Any], cpus: int, nodes: int, cut: list[str], assumed: list[str]
) -> Nic:
    driver, queues = facts.get("driver"), _channel_count(facts)
    if driver is None:
        assumed.append(f"{interface}: its driver is not known, so that a {_OF_QUEUES} stands in")
    model = _SAME_DRIVER.get(str(driver)) or (_OF_ONE_QUEUE if queues == 1 else _OF_QUEUES)
    has = _queues_of(model, queues, cpus)
    if queues is not None and has != queues:
        cut.append(f"{interface}: {has} of its {queues} queues")
    node = _node(interface, facts.get("numa_node"), nodes, cut)
    if node is not None and model not in EXPRESS:
        cut.append(f"{interface}: on no node, for {model} is on a bus that has none")
        node = None
    return Nic(model, has if model == "virtio-net-pci" and has > 1 else None, node)


def _channel_count(facts: Mapping[str, Any]) -> int | None:
    channels = facts.get("channels")
    if not isinstance(channels, Mapping):
        return None
    return _positive_int(channels.get("combined")) or _positive_int(channels.get("rx"))


def _queues_of(model: Model, channels: int | None, cpus: int) -> int:
    if model == "vmxnet3":
        return min(cpus, spec.MAX_QUEUES)
    return 1 if model != "virtio-net-pci" else min(channels or 1, cpus, spec.MAX_QUEUES)


def _node(interface: str, value: Any, nodes: int, cut: list[str]) -> int | None:
    """The node of a NIC; the firmware of many machines says -1, which is none."""
    if nodes == 1 or isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    if value >= nodes:
        cut.append(f"{interface}: on no node, for its node {value} is not among the guest's {nodes}")
        return None
    return value


def _positive_int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
