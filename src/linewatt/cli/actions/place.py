# SPDX-License-Identifier: Apache-2.0
"""CPUs for load and interrupts, from the topology of a machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from linewatt.cli.output import checked_target, print_json, print_rich, put_lines
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
    processes: str,
    nic: str | None,
    numa_node: int | None,
    policy: str,
    smt: bool,
    process_cpus: str | None,
    irq_cpus: str | None,
    cpus: str | None,
    isolated: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Recommend CPUs for load and interrupts, with reasons."""
    if (nic is None) == (numa_node is None):
        raise InvalidInput("name either the network device (--nic) or its NUMA node (--numa-node)")
    target = None if output is None else checked_target(output)
    wishes = [
        Wish(
            count,
            nic=nic,
            node=numa_node,
            policy=policy,
            smt=smt,
            process_cpus=_cpus("--process-cpus", process_cpus),
            irq_cpus=_cpus("--irq-cpus", irq_cpus),
            usable=_cpus("--cpus", cpus),
        )
        for count in _counts(processes)
    ]
    source, text = _read(topology)
    alone = set(_cpus("--isolated", isolated) or ())
    try:
        machine = parse_lstopo_xml(text)
        machine = replace(machine, isolated=tuple(cpu for cpu in machine.online if cpu in alone))
        placed = {wish: place_processes(machine, wish) for wish in wishes}
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    has_table = len(wishes) > 1 and not as_json
    if has_table or target is not None:
        _print_placements(source, machine, placed, target, has_table=has_table)
    if as_json:
        print_json(document(machine, placed))
    elif not has_table:
        put_lines(lines(machine, wishes[0], placed[wishes[0]]))


def _counts(text: str) -> tuple[int, ...]:
    """Numbers of processes: ``4`` or ``1,2,4``."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not re.fullmatch("-?[0-9]{1,9}", word):
            raise InvalidInput(f"--processes: {word!r} is not a whole number; write 4, or several: 1,2,4")
    return tuple(dict.fromkeys(map(int, words)))


def _print_placements(
    source: str, machine: Topology, placed: Mapping[Wish, Placement], target: Path | None, *, has_table: bool
) -> None:
    """The page with pictures, and on stdout the table of several numbers of processes."""
    from linewatt.report.machine import Placements

    wish = next(iter(placed))
    placements = Placements(
        machine,
        wish.nic,
        _node(machine, wish),
        frozenset(cpu.id for cpu in machine.usable(wish.usable)),
        {wish.processes: placement for wish, placement in placed.items()},
    )
    if target is not None:
        placements.write_page(target, source)
    if has_table:
        print_rich(placements.rendered)


def _node(machine: Topology, wish: Wish) -> int | None:
    return wish.node if wish.nic is None else machine.device(wish.nic).node


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


def document(machine: Topology, placed: Mapping[Wish, Placement]) -> dict[str, Any]:
    """The placement as JSON; of several numbers of processes a list of them.

    ``rule`` is null where a policy or the user decided.
    """
    wish, *others = placed
    values = [_values(machine, wish, placement) for wish, placement in placed.items()]
    shared_values = {"schema_version": SCHEMA_VERSION, "nic": wish.nic, "numa_node": _node(machine, wish)}
    return {**shared_values, "placements": values} if others else {**shared_values, **values[0]}


def _values(machine: Topology, wish: Wish, placement: Placement) -> dict[str, Any]:
    return {
        "rule": placement.rule,
        "policy": placement.policy,
        "processes": wish.processes,
        "process_cpus": list(placement.process_cpus),
        "process_nodes": list(machine.nodes_of(placement.process_cpus)),
        "irq_cpus": list(placement.irq_cpus),
        "irq_nodes": list(machine.nodes_of(placement.irq_cpus)),
        "same_core": list(machine.sharing_cores((*placement.process_cpus, *placement.irq_cpus))),
        "shared": placement.shared,
        "why": placement.why,
        "notes": list(placement.notes),
    }


def lines(topology: Topology, wish: Wish, placement: Placement) -> Iterator[str]:
    """The placement for people: what runs where, why, and the CPUs of each node by what they do."""
    yield placement.reason
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
