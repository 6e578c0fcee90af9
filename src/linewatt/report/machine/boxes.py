# SPDX-License-Identifier: Apache-2.0
"""The boxes of a machine's picture: NUMA nodes, in them last-level caches, in them cores with their CPUs.

Pure. A letter in each cell says what ran there, so that colour says nothing that black and white does not.
On large machines, neighbours that are free and alike become one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from linewatt.hosts.facts import format_cpulist
from linewatt.missing import value_or_none
from linewatt.placement import Cpu, Topology
from linewatt.report.series import plural
from linewatt.report.trials.settings.placements import Placed

LARGE_CPUS = 32
"""a machine with more has its free cores drawn together"""
TOGETHER = 4
"""that many free neighbours at least become one cell"""
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a cell can say: its sign, the class of its style, and the words of the legend."""

    sign: str
    style: str
    words: str


PROCESS = Mark("P", "process", "process of the load")
INTERRUPTS = Mark("I", "interrupts", "interrupts of the load")
BOTH = Mark("B", "both", "both, processes and interrupts")
FREE_CPU = Mark("·", "free", "free of this load")
BARRED = Mark("x", "barred", "not among the CPUs that linewatt may use")
STRAY = Mark("!", "stray", "a thread was seen here that had been put elsewhere")
ISOLATED = Mark("", "isolated", "isolated: the scheduler leaves it alone")
SLOWER = Mark("", "slower", "core of a slower kind")
OFFLINE = Mark("", "offline", "offline")
_LEGEND = (PROCESS, INTERRUPTS, BOTH, FREE_CPU, BARRED, STRAY, ISOLATED, SLOWER, OFFLINE)


@dataclass(frozen=True, slots=True)
class CpuCell:
    """One CPU, or several that are alike: ``count`` says of what. ``cpus`` is a CPU list."""

    cpus: str
    marks: tuple[Mark, ...]
    count: str | None = None

    @property
    def sign(self) -> str:
        return "".join(mark.sign for mark in self.marks)

    @property
    def style(self) -> str:
        return " ".join(mark.style for mark in self.marks)


@dataclass(frozen=True, slots=True)
class CoreBox:
    """A core with its threads, or several cores in one cell."""

    cells: tuple[CpuCell, ...]
    slower: bool = False


@dataclass(frozen=True, slots=True)
class CacheBox:
    """Cores behind one last-level cache; ``title`` is ``None`` for cores that share none."""

    title: str | None
    cores: tuple[CoreBox, ...]


@dataclass(frozen=True, slots=True)
class NodeBox:
    """A NUMA node; ``has_nic``: the data interface is at it."""

    title: str
    caches: tuple[CacheBox, ...]
    has_nic: bool

    @property
    def cells_count(self) -> int:
        return sum(len(core.cells) for cache in self.caches for core in cache.cores)


def boxes(
    topology: Topology, placed: Placed | None, usable: frozenset[int], nic_node: int | None
) -> tuple[tuple[NodeBox, ...], tuple[CpuCell, ...]]:
    """The nodes of a machine as boxes, and its offline CPUs; ``nic_node`` has the data interface."""
    marks = _Marks(topology, placed, usable)
    online = [cpu for cpu in topology.cpus if cpu.online]
    large = len(online) > LARGE_CPUS
    nodes = [
        NodeBox(
            _node_title(node, cpus),
            _caches(cpus, marks, large),
            has_nic=node is not None and node == nic_node,
        )
        for node, cpus in sorted(
            _grouped(online, lambda cpu: cpu.node),
            key=lambda node_group: (node_group[0] is None, node_group[0] or 0),
        )
    ]
    nodes += [
        NodeBox(f"NUMA node {node}: memory without CPU", (), has_nic=False) for node in topology.empty_nodes
    ]
    return tuple(nodes), _offline([cpu.id for cpu in topology.cpus if not cpu.online])


class _Marks:
    """What each CPU of a machine shows."""

    def __init__(self, topology: Topology, placed: Placed | None, usable: frozenset[int]) -> None:
        self._processes = frozenset(placed.processes if placed else ())
        self._interrupts = frozenset((value_or_none(placed.interrupts) if placed else None) or ())
        self._strays = frozenset(placed.strays if placed else ())
        self._isolated = frozenset(topology.isolated)
        self._usable = usable

    def of(self, cpu: Cpu) -> tuple[Mark, ...]:
        isolated = (ISOLATED,) if cpu.id in self._isolated else ()
        if cpu.id not in self._strays:
            return (self._role(cpu), *isolated)
        role = self._role(cpu)
        return (*(() if role in (FREE_CPU, BARRED) else (role,)), STRAY, *isolated)

    def _role(self, cpu: Cpu) -> Mark:
        if cpu.id in self._processes:
            return BOTH if cpu.id in self._interrupts else PROCESS
        if cpu.id in self._interrupts:
            return INTERRUPTS
        return FREE_CPU if cpu.id in self._usable else BARRED


def _node_title(node: int | None, cpus: Sequence[Cpu]) -> str:
    packages = sorted({cpu.package for cpu in cpus if cpu.package is not None})
    named = "" if not packages else f" · package{'s' if len(packages) > 1 else ''} {format_cpulist(packages)}"
    return f"{'NUMA node not known' if node is None else f'NUMA node {node}'}{named}"


def _caches(cpus: Sequence[Cpu], marks: _Marks, large: bool) -> tuple[CacheBox, ...]:
    """The cache groups of a node; on a large machine, neighbours that are free and alike are one box."""
    groups = _grouped(cpus, lambda cpu: (cpu.package, cpu.llc))
    several = len({cpu.package for cpu in cpus}) > 1
    boxes = []
    for state, neighbours in groupby(groups, lambda group: _free_state(_cores(group[1]), marks)):
        run = list(neighbours)
        if large and state is not None and len(run) > 1:
            cpus_of_all = [cpu for _, group_cpus in run for cpu in group_cpus]
            boxes.append(_cache([key for key, _ in run], cpus_of_all, marks, several, large))
        else:
            boxes += [_cache([key], group_cpus, marks, several, large) for key, group_cpus in run]
    return tuple(boxes)


def _cache(
    keys: Sequence[tuple[int | None, int | None]],
    cpus: Sequence[Cpu],
    marks: _Marks,
    several: bool,
    large: bool,
) -> CacheBox:
    package = f"package {keys[0][0]}, " if several and keys[0][0] is not None else ""
    numbers = [llc for _, llc in keys if llc is not None]
    noun = "last-level cache" if len(numbers) == 1 else "last-level caches"
    title = f"{package}{noun} {format_cpulist(numbers)}" if numbers else package.rstrip(", ") or None
    return CacheBox(title, tuple(_core_boxes(_cores(cpus), marks, large)))


def _core_boxes(cores: Sequence[Sequence[Cpu]], marks: _Marks, large: bool) -> Iterator[CoreBox]:
    for state, neighbours in groupby(cores, lambda core: _free_state([core], marks)):
        run = list(neighbours)
        if large and state is not None and len(run) >= TOGETHER:
            cpus = [cpu for core in run for cpu in core]
            shown = marks.of(cpus[0])
            count = plural(len(run), "free core" if FREE_CPU in shown else "core")
            cell = CpuCell(format_cpulist(cpu.id for cpu in cpus), shown, count)
            yield CoreBox((cell,), slower=bool(cpus[0].slower))
            continue
        for core in run:
            cells = tuple(CpuCell(str(cpu.id), marks.of(cpu)) for cpu in core)
            yield CoreBox(cells, slower=bool(core[0].slower))


def _free_state(cores: Sequence[Sequence[Cpu]], marks: _Marks) -> Hashable | None:
    """What makes free cores alike; ``None`` where one has a part in the load, or they differ."""
    states = {(len(core), core[0].slower, *(marks.of(cpu) for cpu in core)) for core in cores}
    shown = {mark for core in cores for cpu in core for mark in marks.of(cpu)}
    if len(states) > 1 or not shown <= {FREE_CPU, BARRED, ISOLATED}:
        return None
    mark_sets = {marks.of(cpu) for core in cores for cpu in core}
    return states.pop() if len(mark_sets) == 1 else None


def _cores(cpus: Iterable[Cpu]) -> list[list[Cpu]]:
    return [core_cpus for _, core_cpus in _grouped(cpus, lambda cpu: cpu.core)]


def _grouped(cpus: Iterable[Cpu], key: Callable[[Cpu], _Key]) -> list[tuple[_Key, list[Cpu]]]:
    """CPUs with the same key, in the order of their lowest."""
    groups: dict[_Key, list[Cpu]] = {}
    for cpu in sorted(cpus, key=lambda cpu: cpu.id):
        groups.setdefault(key(cpu), []).append(cpu)
    return list(groups.items())


def _offline(cpus: Sequence[int]) -> tuple[CpuCell, ...]:
    if len(cpus) > 2 * TOGETHER:
        return (CpuCell(format_cpulist(cpus), (OFFLINE,), plural(len(cpus), "CPU")),)
    return tuple(CpuCell(str(cpu), (OFFLINE,)) for cpu in cpus)


def legend(nodes: Sequence[NodeBox], offline: Sequence[CpuCell]) -> tuple[Mark, ...]:
    """The marks that a picture has, in a fixed order."""
    cores = [core for node in nodes for cache in node.caches for core in cache.cores]
    shown = {mark for core in cores for cell in core.cells for mark in cell.marks}
    shown |= {mark for cell in offline for mark in cell.marks}
    shown |= {SLOWER} if any(core.slower for core in cores) else set()
    return tuple(mark for mark in _LEGEND if mark in shown)
