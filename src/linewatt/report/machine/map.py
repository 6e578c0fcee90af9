# SPDX-License-Identifier: Apache-2.0
"""A picture of each host as ``lstopo`` draws it, with the load on its CPUs and the data interface. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.errors import InvalidInput
from linewatt.hosts.facts import Facts, further_nics
from linewatt.placement import Placement, Topology, topology_of_facts
from linewatt.records import Host, PlaceLine
from linewatt.report.machine.boxes import CpuCell, Mark, NodeBox, boxes, legend
from linewatt.report.series import plural
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.settings.placements import (
    Placed,
    cases_text,
    listed,
    placements,
    policy_words,
    split,
    why,
)

WIDE_CELLS = 40
NODES_BESIDE = 2
"""a picture with more cells or nodes has the whole width of the page, and so have all of its host"""
MOST_LISTED = 24
"""placements that are told of a host without a picture"""


@dataclass(frozen=True, slots=True)
class Nic:
    """The data interface in words: its name, what it is, and where."""

    name: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineMap:
    """One picture: a host with one placement. ``label`` is the picture as a sentence.

    ``listed`` are the placements that are not drawn, and ``told`` is what else the policy said: both stand
    at the last picture of a host.
    """

    host: str
    title: str
    lab: bool
    label: str
    nodes: tuple[NodeBox, ...]
    offline: tuple[CpuCell, ...]
    nic: Nic
    legend: tuple[Mark, ...]
    wide: bool
    words: str | None
    why: str | None
    policy: str | None
    strays: str | None
    notes: tuple[str, ...]
    listed: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def nic_apart(self) -> bool:
        """Whether the interface is at no node that is drawn."""
        return not any(node.has_nic for node in self.nodes)


def machine_maps(view: Digest) -> tuple[MachineMap, ...]:
    """The pictures of a result; none of a host whose facts have no topology, as in old results."""
    return tuple(machine_map for host in view.hosts for machine_map in _alike(list(_host_maps(view, host))))


def _alike(maps: Sequence[MachineMap]) -> Iterator[MachineMap]:
    wide = any(machine_map.wide for machine_map in maps)
    return (replace(machine_map, wide=wide) for machine_map in maps)


def _host_maps(view: Digest, host: str) -> Iterator[MachineMap]:
    spec = view.hosts[host]
    topology = topology_of(spec.facts, _name(spec.data))
    if topology is None:
        return
    machine = _Machine(spec, topology, _nic(spec, topology))
    drawn, others = split(placements(view, host))
    *before, last = drawn or (None,)
    for placed in before:
        yield _map(view, host, machine, placed)
    yield _map(view, host, machine, last, drawn, others)


def topology_of(facts: Facts, nic: str) -> Topology | None:
    """The topology in a host's facts; ``None`` where they have none, or none that can be read."""
    cpu_facts = facts.get("cpus", {})
    if not cpu_facts.get("online") or "cores" not in cpu_facts:
        return None
    try:
        return topology_of_facts(facts, nic)
    except (InvalidInput, ValueError, TypeError):  # a damaged manifest: the rest of the report still stands
        return None


@dataclass(frozen=True, slots=True)
class _Machine:
    spec: Host
    topology: Topology
    nic: Nic


def _name(interface: str | None) -> str:
    return interface or "data interface"


def _nic(spec: Host, topology: Topology) -> Nic:
    nic = spec.facts.get("nic", {})
    name = _name(spec.data)
    device = topology.device(name)
    model = nic.get("model") or nic.get("driver")
    at = "; ".join([_node(device.node), *(f"{name}: {_node(node)}" for name, node in _further(spec.facts))])
    details = (model, device.address and f"PCI {device.address}", at)
    return Nic(name, tuple(str(detail) for detail in details if detail))


def _further(facts: Facts) -> Iterator[tuple[str, int | None]]:
    """Data ports behind the first, each with its NUMA node; one of a damaged manifest has none."""
    for name, nic in further_nics(facts).items():
        node = nic.get("numa_node") if isinstance(nic, Mapping) else None
        yield name, node if isinstance(node, int) else None


def _node(node: int | None) -> str:
    return f"NUMA node {node}" if node is not None and node >= 0 else "no node: local everywhere"


def _map(
    view: Digest,
    host: str,
    machine: _Machine,
    placed: Placed | None,
    drawn: Sequence[Placed] = (),
    others: Sequence[Placed] = (),
) -> MachineMap:
    """The picture of one placement; ``drawn`` and ``others`` are given with the last one of a host."""
    topology = machine.topology
    nic_node = topology.device(machine.nic.name).node if topology.devices else None
    nodes, offline = boxes(topology, placed, _usable(machine), nic_node)
    title = f"{host}: {cases_text(view, placed)}" if placed else f"{host}: no trial has run here"
    lines = view.result.manifest.placed_on(host)
    reason = why(placed, lines) if placed else None
    used = [why(placement, lines) for placement in drawn]
    listed_texts = tuple(listed(view, placement) for placement in others)
    return MachineMap(
        host=host,
        title=title,
        lab=bool(machine.spec.lab),
        label=f"{title}. {_shape(topology)}. {_sentence(machine, placed)}",
        nodes=nodes,
        offline=offline,
        nic=machine.nic,
        legend=legend(nodes, offline),
        wide=_is_wide(nodes),
        words=_capital(placed.words) if placed and not _names_all(reason) else None,
        why=None if reason is None else _capital(reason.text),
        policy=policy_words(placed) if placed and reason is None else None,
        strays=placed.stray_words if placed else None,
        notes=topology.notes,
        listed=_at_most(listed_texts),
        told=tuple(line.text for line in lines if line not in used) if drawn else (),
    )


def map_of_placement(
    topology: Topology,
    nic: Nic,
    nic_node: int | None,
    processes: int,
    placement: Placement,
    usable: frozenset[int],
) -> MachineMap:
    """The picture of a machine with a placement that is recommended; nothing has run there."""
    placed = Placed(
        host="",
        uses=(),
        pinned=bool(placement.process_cpus),
        processes=placement.process_cpus,
        interrupts=placement.irq_cpus,
        strays={},
    )
    nodes, offline = boxes(topology, placed, usable, nic_node)
    title = f"{processes:,} process{'' if processes == 1 else 'es'}"
    reason = _capital(placement.reason)
    return MachineMap(
        host=title,
        title=title,
        lab=False,
        label=f"{title}. {_shape(topology)}. {reason}. {nic.name}: {nic.details[-1]}.",
        nodes=nodes,
        offline=offline,
        nic=nic,
        legend=legend(nodes, offline),
        wide=_is_wide(nodes),
        words=None,
        why=reason,
        policy=None,
        strays=None,
        notes=placement.notes,
    )


def _is_wide(nodes: Sequence[NodeBox]) -> bool:
    return len(nodes) > NODES_BESIDE or sum(node.cells_count for node in nodes) > WIDE_CELLS


def _names_all(line: PlaceLine | None) -> bool:
    """Whether a line names the CPUs of processes and of interrupts: rules 2 and 3 need not."""
    return line is not None and line.chosen is not None and line.chosen.rule not in (2, 3)


def _at_most(lines: tuple[str, ...]) -> tuple[str, ...]:
    more = len(lines) - MOST_LISTED
    return lines if more <= 0 else (*lines[:MOST_LISTED], f"and {plural(more, 'more placement')}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shape(topology: Topology) -> str:
    """``2 packages, 2 NUMA nodes, 16 cores, 32 CPUs``."""
    online = [cpu for cpu in topology.cpus if cpu.online]
    packages = len({cpu.package for cpu in online} - {None})
    counts = (
        (packages, "package"),
        (len(topology.nodes), "NUMA node"),
        (len({cpu.core for cpu in online}), "core"),
        (len(online), "CPU"),
    )
    return ", ".join(plural(count, noun) for count, noun in counts if count)


def _sentence(machine: _Machine, placed: Placed | None) -> str:
    at = f"{machine.nic.name}: {machine.nic.details[-1]}"
    sentences = [_capital(placed.words), placed.stray_words] if placed else []
    return ". ".join([*(sentence for sentence in sentences if sentence), at]) + "."


def _usable(machine: _Machine) -> frozenset[int]:
    """CPUs that may be used: what a session may run on, and what is isolated from it; of the host's own."""
    usable = {*machine.topology.allowed, *machine.topology.isolated}
    return frozenset(usable & set(machine.spec.cpus) if machine.spec.cpus else usable)
