# SPDX-License-Identifier: Apache-2.0
"""CPUs for load and interrupts, from the topology of a machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from linewatt.cli.output import print_json, put_lines
from linewatt.document import read_bytes
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.placement import Placement, Topology, Wish, parse_lstopo_xml, place_processes

SCHEMA_VERSION = 1
MOST_BYTES = 64 * 2**20
"""no topology is larger: lstopo writes about 1 MB for 512 CPUs"""


def print_placement(  # noqa: PLR0913  one parameter an option
    *,
    topology: str,
    processes: int,
    nic: str | None,
    numa_node: int | None,
    policy: str,
    smt: bool,
    process_cpus: str | None,
    irq_cpus: str | None,
    cpus: str | None,
    isolated: str | None,
    as_json: bool,
) -> None:
    """Recommend CPUs for load and interrupts, with reasons."""
    if (nic is None) == (numa_node is None):
        raise InvalidInput("name either the network device (--nic) or its NUMA node (--numa-node)")
    wish = Wish(
        processes,
        nic=nic,
        node=numa_node,
        policy=policy,
        smt=smt,
        process_cpus=_cpus("--process-cpus", process_cpus),
        irq_cpus=_cpus("--irq-cpus", irq_cpus),
        usable=_cpus("--cpus", cpus),
    )
    source, text = _read(topology)
    alone = set(_cpus("--isolated", isolated) or ())
    try:
        machine = parse_lstopo_xml(text)
        machine = replace(machine, isolated=tuple(cpu for cpu in machine.online if cpu in alone))
        placement = place_processes(machine, wish)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    if as_json:
        print_json(document(machine, wish, placement))
    else:
        put_lines(lines(machine, wish, placement))


def _cpus(option: str, text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else parse_cpulist(text)
    except InvalidInput as error:
        raise InvalidInput(f"{option}: {error}") from None


def _read(topology: str) -> tuple[str, str]:
    """How messages name the file, and its text. Raises InvalidInput when it cannot be read."""
    source = "standard input" if topology == "-" else topology if topology.isprintable() else repr(topology)
    try:
        if topology == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            data = read_bytes(Path(topology), MOST_BYTES)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{source}: not text; write a topology with: lstopo --of xml FILE") from None
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InvalidInput(f"{source}: cannot be read: {why}") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{source}: larger than {MOST_BYTES // 2**20} MiB, which no topology is")
    return source, text


def document(topology: Topology, wish: Wish, placement: Placement) -> dict[str, Any]:
    """The placement as JSON; ``rule`` is null where a policy or the user decided."""
    return {
        "schema_version": SCHEMA_VERSION,
        "rule": placement.rule,
        "policy": placement.policy,
        "processes": wish.processes,
        "nic": wish.nic,
        "numa_node": wish.node if wish.nic is None else topology.device(wish.nic).node,
        "process_cpus": list(placement.process_cpus),
        "irq_cpus": list(placement.irq_cpus),
        "shared": placement.shared,
        "why": placement.why,
        "notes": list(placement.notes),
    }


def lines(topology: Topology, wish: Wish, placement: Placement) -> Iterator[str]:
    """The placement for people: what runs where, why, and the CPUs of each node by what they do."""
    decided = f"rule {placement.rule}" if placement.rule is not None else f"policy {placement.policy}"
    yield f"{decided}: {placement.why}"
    yield ""
    unplaced = "left to the system"
    yield f"processes   {format_cpulist(placement.process_cpus) or unplaced}"
    yield f"interrupts  {format_cpulist(placement.irq_cpus) or unplaced}"
    yield ""
    yield from _map(topology, wish, placement)
    if placement.notes:
        yield ""
        yield from (f"note: {note}" for note in placement.notes)


def _map(topology: Topology, wish: Wish, placement: Placement) -> Iterator[str]:
    """One line a node; ``*`` marks those that interrupts come from."""
    near = set(topology.device(wish.nic).cpus if wish.nic is not None else topology.node_cpus(wish.node or 0))
    usable = {cpu.id for cpu in topology.usable(wish.usable)}
    running, served = set(placement.process_cpus), set(placement.irq_cpus)
    roles = {
        "processes": running - served,
        "interrupts": served - running,
        "both": running & served,
        "free": usable - running - served,
        "not usable": {cpu.id for cpu in topology.cpus} - usable,
    }
    nodes: dict[int | None, list[int]] = {}
    for cpu in sorted(topology.cpus, key=lambda cpu: (cpu.node is None, cpu.node or 0, cpu.id)):
        nodes.setdefault(cpu.node, []).append(cpu.id)
    for node, cpus in nodes.items():
        name = "no node" if node is None else f"node {node}{' *' if near & set(cpus) else ''}"
        yield f"{name:<10}  {_roles(roles.items(), set(cpus))}"
    yield "* local to the network device" if wish.nic is not None else "* the node that was named"


def _roles(roles: Iterable[tuple[str, set[int]]], cpus: set[int]) -> str:
    return " | ".join(
        f"{role} {format_cpulist(role_cpus & cpus)}" for role, role_cpus in roles if role_cpus & cpus
    )
