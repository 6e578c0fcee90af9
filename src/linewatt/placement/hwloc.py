# SPDX-License-Identifier: Apache-2.0
"""A machine from the XML that hwloc's ``lstopo`` writes. Pure.

Read are the three formats in use: hwloc 1 (``Socket``, ``Cache``, nodes as ancestors of CPUs), 2
(``Package``, ``L3Cache``, nodes as children beside them) and 3 (kinds of devices as bits). Source: hwloc's
manual, "Importing and exporting topologies from/to XML files" and "Upgrading to the hwloc 2.0 API"; what
lstopo 2.9 writes of the first two, a file of the third.

The standard library's parser is used: it fetches no document type, and what could make it grow without
bounds (entities, which hwloc never writes) is refused before it sees the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linewatt.errors import InvalidInput
from linewatt.hosts.facts import MAX_CPUS, Kind, faster_kinds
from linewatt.placement.topology import Device, Groups, Topology, build_cpus

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_WORD = r"(?:(?:0x)?[0-9a-f]{1,8})?"
_CPUSET = re.compile(rf"{_WORD}(?:,{_WORD})*", re.ASCII)
_EVERYTHING = "0xf...f"
_CACHE = re.compile(r"(?:L\d+)?Cache")
_NETWORK = {1: 2, 2: 2}
"""``osdev_type`` of a network device, by format"""
_NETWORK_BIT, _RDMA_BIT = 1 << 4, 1 << 5
"""the same since format 3, where a device can be of several kinds: ``mlx5_0`` is RDMA and network"""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the tree an object is: what it is part of."""

    core: int | None = None
    package: int | None = None
    cache: int | None = None
    cpuset: int = 0
    address: str | None = None


@dataclass(slots=True)
class _Objects:
    """What the tree has, by the number of the object that holds it."""

    cpus: set[int] = field(default_factory=set)
    cores: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    packages: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    caches: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    nodes: dict[int, int] = field(default_factory=dict)
    devices: dict[str, tuple[str | None, int]] = field(default_factory=dict)


def parse_lstopo_xml(text: str) -> Topology:
    """The machine that ``lstopo`` wrote down. Raises InvalidInput in one line for what is none.

    CPUs that the file counts but does not show are taken as offline: the kernel's offline ones, and those
    that a cgroup kept from lstopo. Isolation is not in these files: ``isolated`` is empty.
    """
    root = _root(text)
    machine = root.find("object")
    if root.tag != "topology" or machine is None:
        raise InvalidInput(
            f"not a topology of hwloc, but <{root.tag[:40]}>; write one with: lstopo --of xml FILE"
        )
    form = _format(root)
    objects = _Objects()
    for kind, element, place in _objects(machine):
        _take(objects, kind, element, place, form)
    if not objects.cpus:
        raise InvalidInput("the topology has no CPU (PU object); write it again with: lstopo --of xml FILE")
    return _topology(objects, machine, root)


def _root(text: str) -> Element:
    from xml.etree import ElementTree

    if "<!ENTITY" in text:
        raise InvalidInput("the topology declares XML entities, which hwloc never writes; it is not read")
    try:
        # Entities and external documents are the danger that S314 means: the first are refused above, the
        # second are not fetched by this parser.
        return ElementTree.fromstring(text)  # noqa: S314
    except (ElementTree.ParseError, ValueError) as error:
        raise InvalidInput(f"not well-formed XML ({error}); is the file cut off?") from None


def _format(root: Element) -> int:
    """1, 2 or 3; hwloc 1 writes no version."""
    version = root.get("version", "1").partition(".")[0]
    if version not in ("1", "2", "3"):
        raise InvalidInput(f"hwloc's XML version {version[:20]!r} is not known; known are 1, 2 and 3")
    return int(version)


def _objects(machine: Element) -> Iterator[tuple[str, Element, _Place]]:
    """Every object with its type and what it is part of, parents first."""
    waiting = [(machine, _Place())]
    while waiting:
        element, parent = waiting.pop()
        kind = element.get("type", "")
        yield kind, element, parent
        place = _inside(parent, kind, element)
        waiting += [(child, place) for child in reversed(element.findall("object"))]


def _inside(parent: _Place, kind: str, element: Element) -> _Place:
    """The place of what an object holds; the object's own number is its address in memory."""
    identity = id(element)
    cpuset = element.get("cpuset")
    return _Place(
        core=identity if kind == "Core" else parent.core,
        package=identity if kind in ("Package", "Socket") else parent.package,
        cache=identity if parent.cache is None and _CACHE.fullmatch(kind) else parent.cache,
        cpuset=parent.cpuset if cpuset is None else _bits(cpuset),
        address=element.get("pci_busid") if kind == "PCIDev" else parent.address,
    )


def _take(objects: _Objects, kind: str, element: Element, place: _Place, form: int) -> None:
    if kind == "PU":
        _take_cpu(objects, _number(kind, element), place)
    elif kind == "NUMANode":
        cpuset = element.get("cpuset")
        objects.nodes[_number(kind, element)] = place.cpuset if cpuset is None else _bits(cpuset)
    elif kind == "OSDev" and _is_network(element, form):
        objects.devices.setdefault(element.get("name") or "", (place.address, place.cpuset))


def _take_cpu(objects: _Objects, cpu: int, place: _Place) -> None:
    if cpu in objects.cpus:
        raise InvalidInput(f"CPU {cpu} is in the topology twice: the file is damaged; write it again")
    objects.cpus.add(cpu)
    for groups, group in (
        (objects.cores, place.core),
        (objects.packages, place.package),
        (objects.caches, place.cache),
    ):
        if group is not None:
            groups[group].append(cpu)


def _is_network(element: Element, form: int) -> bool:
    kind = element.get("osdev_type", "")
    if not (kind.isascii() and kind.isdigit() and len(kind) < 10):
        raise InvalidInput(
            f"a device has the type {kind[:20]!r}, which hwloc does not write: the file is damaged"
        )
    if form in _NETWORK:
        return int(kind) == _NETWORK[form]
    return bool(int(kind) & _NETWORK_BIT) and not int(kind) & _RDMA_BIT


def _number(kind: str, element: Element) -> int:
    text = element.get("os_index", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) < MAX_CPUS):
        raise InvalidInput(
            f"a {kind} has the number {text[:20]!r}, which Linux does not give: the file is damaged"
        )
    return int(text)


def _bits(cpuset: str) -> int:
    """A set of CPUs as one number: ``0x1,,0x0f`` is 64 and 0-3. Words of 32 bits, empty ones are 0."""
    text = cpuset.lower()
    everything = text.startswith(_EVERYTHING)
    words = text.removeprefix(_EVERYTHING).removeprefix(",") if everything else text
    if not _CPUSET.fullmatch(words) or words.count(",") >= MAX_CPUS // 32:
        raise InvalidInput(f"{cpuset[:40]!r} is not a set of CPUs as hwloc writes it: the file is damaged")
    bits = 0
    for word in words.split(",") if words else ():
        bits = bits << 32 | int(word or "0", 16)
    if everything:
        bits |= (1 << MAX_CPUS) - (1 << 32 * (words.count(",") + 1 if words else 0))
    return bits


def _cpus(bits: int) -> set[int]:
    return {at for at, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"}


def _topology(objects: _Objects, machine: Element, root: Element) -> Topology:
    node_of: dict[int, int] = {}
    # A node of memory alone (HBM, CXL, a GPU's) lists the CPUs near it; Linux counts those to the first.
    for node in sorted(objects.nodes):
        for cpu in _cpus(objects.nodes[node]) & objects.cpus:
            node_of.setdefault(cpu, node)
    if not objects.nodes:
        node_of = dict.fromkeys(objects.cpus, 0)
    online = objects.cpus & _set_of(machine, "online_cpuset", objects.cpus)
    everything = objects.cpus | _set_of(machine, "complete_cpuset", objects.cpus)
    groups = Groups(
        *(_tuples(group_by_object) for group_by_object in (objects.cores, objects.packages, objects.caches))
    )
    return Topology(
        cpus=build_cpus(online, everything - online, groups, node_of, _slower(root)),
        devices=tuple(_device(name, *objects.devices[name], node_of) for name in sorted(objects.devices)),
        allowed=tuple(sorted(online & _set_of(machine, "allowed_cpuset", objects.cpus))),
        empty_nodes=tuple(sorted(set(objects.nodes) - set(node_of.values()))),
    )


def _tuples(groups: dict[int, list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(group)) for group in groups.values())


def _set_of(machine: Element, name: str, otherwise: set[int]) -> set[int]:
    """A CPU set of the machine; ``otherwise`` where the file's format lacks it."""
    cpuset = machine.get(name)
    if cpuset is None:
        return otherwise
    return otherwise if cpuset.startswith(_EVERYTHING) else _cpus(_bits(cpuset))


def _device(name: str, address: str | None, near: int, node_of: dict[int, int]) -> Device:
    """A device below an object is local to the object's CPUs; below one without any, everywhere."""
    cpus = _cpus(near) & set(node_of) or set(node_of)
    nodes = {node_of[cpu] for cpu in cpus}
    return Device(name, address, tuple(sorted(cpus)), nodes.pop() if len(nodes) == 1 else None)


def _slower(root: Element) -> dict[int, int]:
    """CPU → how many kinds of core are faster, of those that have any."""
    return faster_kinds(_kind(kind) for kind in root.findall("cpukind"))


def _kind(element: Element) -> Kind:
    infos = {info.get("name"): info.get("value", "") for info in element.findall("info")}
    return Kind(
        frozenset(_cpus(_bits(element.get("cpuset", "0x0")))),
        infos.get("CoreType", ""),
        _parse_int(infos.get("LinuxCapacity", "")),
        _parse_int(infos.get("FrequencyMaxMHz", "")),
    )


def _parse_int(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
