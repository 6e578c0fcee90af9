# SPDX-License-Identifier: Apache-2.0
"""Which CPUs run the processes of a load and which serve the interrupts of its network device. Pure.

docs/placement.md has the rules and their reasons. In short, with N processes, L cores that are local to
the device and T cores in all: while N < L, processes and interrupts have local cores of their own (rule 1);
up to 2T all local cores serve interrupts and the others run processes (rule 2); beyond, the system decides
(rule 3). One thread of a core is used, and the others of it before two roles or two processes share a CPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from linewatt.errors import InvalidInput
from linewatt.hosts.facts import LOW_POWER_KINDS, format_cpulist
from linewatt.placement.topology import Cpu, Topology

POLICIES = ("auto", "none", "neighbour", "remote")
EXPLICIT = "explicit"
"""what a placement's policy is called where the wish named CPUs itself"""
MOST_PROCESSES = 65535
"""each has a port of its own"""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be placed. ``nic`` or ``node`` says where interrupts come from; neither: from anywhere.

    ``smt`` counts hardware threads in the place of cores. ``usable`` are the CPUs to choose from (``None``:
    all that are online and allowed). ``process_cpus`` or ``irq_cpus`` are taken as they are.
    """

    processes: int
    nic: str | None = None
    node: int | None = None
    policy: str = "auto"
    smt: bool = False
    process_cpus: tuple[int, ...] | None = None
    irq_cpus: tuple[int, ...] | None = None
    usable: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """CPUs by role. ``process_cpus`` has one CPU for each process in order; empty sets: the system decides.

    ``rule`` is the one that decided, ``None`` where a policy or the user did. ``shared``: a CPU has both
    roles. ``why`` is one sentence; ``notes`` say what else a reader of the measurement must know.
    """

    rule: int | None
    policy: str
    process_cpus: tuple[int, ...]
    irq_cpus: tuple[int, ...]
    shared: bool
    notes: tuple[str, ...]
    why: str

    @property
    def decided_by(self) -> str:
        """``rule 1``, or ``policy remote``."""
        return f"rule {self.rule}" if self.rule is not None else f"policy {self.policy}"

    @property
    def reason(self) -> str:
        """What decided, and why."""
        return f"{self.decided_by}: {self.why}"


@dataclass(frozen=True, slots=True)
class Ground:
    """What there is to choose from: one CPU for each core (with ``smt``: all), the best first.

    ``siblings`` are the other threads of these cores. ``where`` says in words what ``local`` is local to.
    """

    topology: Topology
    local: tuple[Cpu, ...]
    others: tuple[Cpu, ...]
    siblings: tuple[Cpu, ...]
    where: str
    unit: str
    notes: tuple[str, ...]

    @property
    def total(self) -> int:
        return len(self.local) + len(self.others)

    def count(self, cpus: Sequence[Cpu]) -> str:
        return f"{len(cpus)} {self.unit}{'' if len(cpus) == 1 else 's'}"

    def isolated_first(self, cpus: tuple[Cpu, ...], processes: int) -> tuple[Cpu, ...]:
        """Isolated CPUs in front where every process finds one: nothing else is scheduled there."""
        isolated = [cpu for cpu in cpus if cpu.id in self.topology.isolated]
        if len(isolated) < processes:
            return cpus
        return (*isolated, *(cpu for cpu in cpus if cpu.id not in self.topology.isolated))

    def threads(self, cpus: tuple[Cpu, ...]) -> tuple[Cpu, ...]:
        """``cpus``, and behind them the other threads of their cores."""
        cores = {cpu.core for cpu in cpus}
        return (*cpus, *(cpu for cpu in self.siblings if cpu.core in cores))

    def around(self, cpus: tuple[Cpu, ...], processes: int) -> tuple[Cpu, ...]:
        """One CPU for each process; other threads of the cores before a CPU has two."""
        return tuple(islice(cycle(self.threads(self.isolated_first(cpus, processes))), processes))


def place_processes(topology: Topology, wish: Wish) -> Placement:
    """Where to put processes and interrupts. Raises InvalidInput for a wish that this machine cannot meet."""
    _check(wish)
    ground = _ground(topology, wish)
    if wish.process_cpus is not None or wish.irq_cpus is not None:
        placement = _explicit(ground, wish)
    else:
        placement = _BY_POLICY[wish.policy](ground, wish.processes)
    shared = bool({*placement.process_cpus} & {*placement.irq_cpus})
    remarks = _remarks(topology, placement.process_cpus, placement.irq_cpus)
    return replace(placement, shared=shared, notes=(*ground.notes, *remarks))


def _check(wish: Wish) -> None:
    if not 1 <= wish.processes <= MOST_PROCESSES:
        raise InvalidInput(f"the number of processes must be 1 to {MOST_PROCESSES}, got {wish.processes}")
    if wish.policy not in POLICIES:
        raise InvalidInput(f"there is no policy {wish.policy!r}; there are: {', '.join(POLICIES)}")
    if wish.nic is not None and wish.node is not None:
        raise InvalidInput("a network device has its own NUMA node: name the one or the other")
    named = wish.process_cpus is not None or wish.irq_cpus is not None
    if named and wish.policy != "auto":
        raise InvalidInput(f"the policy {wish.policy} chooses CPUs by itself: name CPUs, or the policy")


def _ground(topology: Topology, wish: Wish) -> Ground:
    usable = {cpu.id: cpu for cpu in topology.usable(wish.usable)}
    if not usable:
        raise InvalidInput("no CPU is left: none is online, allowed, and among those to be used")
    near, where = _near(topology, wish)
    notes = topology.notes
    if left_alone := _left_alone(usable, near, wish):
        usable = {cpu: usable_cpu for cpu, usable_cpu in usable.items() if cpu not in left_alone}
        notes += (
            f"low-power cores ({format_cpulist(left_alone)}) are left alone while faster ones are free",
        )
    if not near & set(usable):
        if wish.node is not None:
            raise InvalidInput(
                f"none of the CPUs of NUMA node {wish.node} may be used: they are offline, not allowed, "
                "or not among those to be used"
            )
        notes += (f"none of the CPUs {where} may be used: all others are taken as local",)
        near, where = set(usable), "that may be used"
    best = _best(usable.values(), smt=wish.smt)
    return Ground(
        topology,
        local=tuple(cpu for cpu in best if cpu.id in near),
        others=tuple(cpu for cpu in best if cpu.id not in near),
        siblings=tuple(_best({*usable.values()} - {*best}, smt=True)),
        where=where,
        unit="thread" if wish.smt else "core",
        notes=notes,
    )


def _left_alone(usable: Mapping[int, Cpu], near: set[int], wish: Wish) -> set[int]:
    """Low-power cores, where faster ones have a thread for each process and one for interrupts."""
    weak = {cpu for cpu, usable_cpu in usable.items() if usable_cpu.slower >= LOW_POWER_KINDS}
    faster = len((set(usable) & near or set(usable)) - weak)
    return weak if wish.policy != "none" and wish.processes < faster else set()


def _near(topology: Topology, wish: Wish) -> tuple[set[int], str]:
    """The CPUs that are local, and what they are local to."""
    if wish.node is not None:
        return set(topology.node_cpus(wish.node)), f"of NUMA node {wish.node}"
    if wish.nic is None:
        return {cpu.id for cpu in topology.cpus}, "of the machine"
    device = topology.device(wish.nic)
    if device.node is None:
        return set(device.cpus), f"local to {device.name} (on no one NUMA node)"
    return set(device.cpus), f"local to {device.name} (NUMA node {device.node})"


def _best(cpus: Iterable[Cpu], *, smt: bool) -> list[Cpu]:
    """Fast kinds of core before slow ones, then by node; first threads of all cores before second ones.

    Without ``smt`` the first usable thread of each core stands for it.
    """

    def rank(cpu: Cpu) -> tuple[int, int, int, int]:
        return cpu.slower, -1 if cpu.node is None else cpu.node, cpu.smt, cpu.id

    ordered = sorted(cpus, key=rank)
    if smt:
        return ordered
    first: dict[int | None, Cpu] = {}
    for cpu in ordered:
        first.setdefault(cpu.core, cpu)
    return list(first.values())


def _auto(ground: Ground, processes: int) -> Placement:
    if processes < len(ground.local):
        return _rule_1(ground, processes)
    return _rule_2(ground, processes) if processes <= 2 * ground.total else _rule_3(ground, processes)


def _rule_1(ground: Ground, processes: int) -> Placement:
    cores = ground.isolated_first(ground.local, processes)
    process_cpus, interrupts = cores[:processes], cores[processes : 2 * processes]
    why = (
        f"{_processes(processes)} and {'its' if processes == 1 else 'their'} interrupts fit on the "
        f"{ground.count(cores)} {ground.where}: "
        f"processes on {_isolated(ground, process_cpus)}{_list(process_cpus)}, "
        f"interrupts on {_list(interrupts)}"
    )
    if len(interrupts) < processes:
        why += f", all that {'are' if len(interrupts) != 1 else 'is'} left"
    if slow := [
        cpu for cpu in interrupts if cpu.slower > min(process_cpu.slower for process_cpu in process_cpus)
    ]:
        why += f"; {_list(slow)} {'are slower cores' if len(slow) > 1 else 'is a slower core'}"
    return _placed(1, "auto", process_cpus, interrupts, why)


def _rule_2(ground: Ground, processes: int) -> Placement:
    reason = (
        f"the {ground.count(ground.local)} {ground.where} {'is' if len(ground.local) == 1 else 'are'} not "
        f"enough for {_processes(processes)} and {'its' if processes == 1 else 'their'} interrupts"
    )
    if not ground.others:
        return _rule_2_alone(ground, processes, f"{reason}, and there are no other {ground.unit}s")
    process_cpus = ground.around(ground.others, processes)
    why = (
        f"{reason}: they serve interrupts only, and the processes run on "
        f"{_isolated(ground, process_cpus)}{_list(process_cpus)}"
    )
    return _placed(2, "auto", process_cpus, ground.local, why)


def _rule_2_alone(ground: Ground, processes: int, reason: str) -> Placement:
    """Local cores only: each role has threads of its own as far as these go."""
    process_cpus = ground.around(ground.local, processes)
    spare_threads = tuple(cpu for cpu in ground.threads(ground.local) if cpu not in process_cpus)[:processes]
    if not spare_threads:
        why = f"{reason}: processes and interrupts share CPUs"
        return _placed(2, "auto", process_cpus, ground.local, why)
    why = (
        f"{reason}: second threads of the cores keep both apart: processes on "
        f"{_isolated(ground, process_cpus)}{_list(process_cpus)}, interrupts on {_list(spare_threads)}"
    )
    return _placed(2, "auto", process_cpus, spare_threads, why)


def _rule_3(ground: Ground, processes: int) -> Placement:
    why = (
        f"{_processes(processes)} are more than two for each of the {ground.total} {ground.unit}s: "
        "the system's own scheduling spreads them better than fixed CPUs would"
    )
    return _placed(3, "auto", (), (), why)


def _none(ground: Ground, processes: int) -> Placement:
    return _placed(
        None, "none", (), (), "the system decides where processes and interrupts run, as asked for"
    )


def _neighbour(ground: Ground, processes: int) -> Placement:
    pairs = _pairs(ground.isolated_first(ground.local, 2 * processes))
    if len(pairs) < processes:
        has = f"there are {len(pairs)}" if pairs else "there is none"
        raise InvalidInput(
            f"the policy neighbour needs two {ground.unit}s {ground.where} behind one last-level cache for "
            f"each of {_processes(processes)}, and {has}; take fewer processes, or the policy auto"
        )
    process_cpus, interrupts = zip(*pairs[:processes], strict=True)
    why = (
        f"each process has its interrupts beside it behind the same last-level cache, on {ground.unit}s "
        f"{ground.where}: processes on {_isolated(ground, process_cpus)}{_list(process_cpus)}, "
        f"interrupts on {_list(interrupts)}"
    )
    return _placed(None, "neighbour", process_cpus, interrupts, why)


def _pairs(cpus: Iterable[Cpu]) -> list[tuple[Cpu, Cpu]]:
    """Neighbours behind one cache, two by two; threads of one core are no pair."""
    waiting: dict[int, list[Cpu]] = {}
    pairs = []
    for cpu in cpus:
        if cpu.llc is None:
            continue
        alone = waiting.setdefault(cpu.llc, [])
        partner = next((waiting_cpu for waiting_cpu in alone if waiting_cpu.core != cpu.core), None)
        if partner is None:
            alone.append(cpu)
        else:
            alone.remove(partner)
            pairs.append((partner, cpu))
    return pairs


def _remote(ground: Ground, processes: int) -> Placement:
    if not ground.others:
        raise InvalidInput(
            f"the policy remote needs {ground.unit}s elsewhere than the {ground.count(ground.local)} "
            f"{ground.where}, and there are none that may be used; take another policy"
        )
    process_cpus = ground.around(ground.others, processes)
    interrupts = ground.local[:processes]
    why = (
        "to measure what distance costs: processes on "
        f"{_isolated(ground, process_cpus)}{_list(process_cpus)}, away from the "
        f"{ground.unit}s {ground.where}, where interrupts stay on {_list(interrupts)}"
    )
    return _placed(None, "remote", process_cpus, interrupts, why)


def _explicit(ground: Ground, wish: Wish) -> Placement:
    """The CPUs that the campaign names; an unnamed role gets the remaining local CPUs."""
    named = {"processes": wish.process_cpus, "interrupts": wish.irq_cpus}
    allowed = {cpu.id for cpu in ground.topology.usable(wish.usable)}
    for role, cpus in named.items():
        _check_named(role, cpus, ground.topology, allowed)
    process_cpus, interrupts = wish.process_cpus, wish.irq_cpus
    local = ground.isolated_first(ground.local, wish.processes)
    cores, threads = ([cpu.id for cpu in cpus] for cpus in (local, ground.threads(local)))
    if process_cpus is None:
        process_cpus = tuple(cpu for cpu in threads if cpu not in set(interrupts or ())) or tuple(cores)
    process_cpus = tuple(islice(cycle(process_cpus), wish.processes))
    if interrupts is None:
        spare_cpus = [cpu for cpu in cores if cpu not in process_cpus] or [
            cpu for cpu in threads if cpu not in process_cpus
        ]
        interrupts = tuple(spare_cpus or cores)[: wish.processes]
    roles = " and ".join(role for role, cpus in named.items() if cpus is not None)
    why = (
        f"the CPUs of {roles} were named: processes on {format_cpulist(process_cpus)}, "
        f"interrupts on {format_cpulist(interrupts)}"
    )
    return Placement(None, EXPLICIT, process_cpus, interrupts, shared=False, notes=(), why=why)


def _check_named(role: str, cpus: tuple[int, ...] | None, topology: Topology, allowed: set[int]) -> None:
    if cpus is None:
        return
    if not cpus:
        raise InvalidInput(f"no CPU is named for the {role}; name at least one, or leave the list out")
    if missing := set(cpus) - {cpu.id for cpu in topology.cpus}:
        raise InvalidInput(
            f"the machine has no CPU {format_cpulist(missing)} for the {role}; it has "
            f"{format_cpulist(cpu.id for cpu in topology.cpus)}"
        )
    if refused := set(cpus) - allowed:
        raise InvalidInput(
            f"CPU {format_cpulist(refused)} cannot be used for the {role}: offline, not allowed, or not "
            f"among those to be used; these can: {format_cpulist(allowed)}"
        )


def _placed(
    rule: int | None, policy: str, processes: Sequence[Cpu], interrupts: Sequence[Cpu], why: str
) -> Placement:
    process_ids, served = (tuple(cpu.id for cpu in cpus) for cpus in (processes, interrupts))
    return Placement(rule, policy, process_ids, served, shared=False, notes=(), why=why)


def _processes(count: int) -> str:
    return f"{count:,} process{'' if count == 1 else 'es'}"


def _list(cpus: Iterable[Cpu]) -> str:
    return format_cpulist(cpu.id for cpu in cpus)


def _isolated(ground: Ground, cpus: Iterable[Cpu]) -> str:
    return "isolated " if {cpu.id for cpu in cpus} <= set(ground.topology.isolated) else ""


_BY_POLICY: dict[str, Callable[[Ground, int], Placement]] = {
    "auto": _auto,
    "none": _none,
    "neighbour": _neighbour,
    "remote": _remote,
}


def _remarks(topology: Topology, processes: Sequence[int], interrupts: Sequence[int]) -> tuple[str, ...]:
    """Remarks about a placement, worst first; empty where all processes have equal CPUs."""
    cpus = {cpu.id: cpu for cpu in topology.cpus}
    process_cpus, served = [cpus[cpu] for cpu in dict.fromkeys(processes)], [cpus[cpu] for cpu in interrupts]
    return (
        *_sharing(processes, interrupts),
        *_threads(process_cpus, served),
        *_unlike(process_cpus, topology.isolated),
        *_low_power(served),
    )


def _sharing(processes: Sequence[int], interrupts: Sequence[int]) -> Iterator[str]:
    shared_cpus = set(processes) & set(interrupts)
    if shared_cpus:
        shared = format_cpulist(shared_cpus)
        yield f"processes and interrupts share CPU {shared}: the two roles cannot be told apart there"
    most_processes = max(Counter(processes).values(), default=0)
    if most_processes > 1:
        cpu_count = len(set(processes))
        yield f"up to {most_processes} processes share a CPU: {len(processes)} of them on {cpu_count} CPUs"


def _threads(process_cpus: Sequence[Cpu], served: Sequence[Cpu]) -> Iterator[str]:
    """Roles on different CPUs that are threads of the same core."""
    cores = Counter(cpu.core for cpu in process_cpus)
    if any(count > 1 for count in cores.values()):
        yield f"{len(process_cpus)} CPUs with processes are threads of {len(cores)} cores"
    busy = {cpu.id for cpu in process_cpus}
    sibling_ids = [cpu.id for cpu in served if cpu.core in cores and cpu.id not in busy]
    if sibling_ids:
        siblings = format_cpulist(sibling_ids)
        yield f"interrupts on {siblings} run on the other thread of a core that runs a process"


def _unlike(process_cpus: Sequence[Cpu], isolated: Sequence[int]) -> Iterator[str]:
    alone = [cpu.id for cpu in process_cpus if cpu.id in isolated]
    if alone and len(alone) < len(process_cpus):
        listed = format_cpulist(alone)
        count = len(process_cpus)
        yield f"{len(alone)} of {count} CPUs with processes are isolated ({listed}), the others not"
    slow = [cpu.id for cpu in process_cpus if cpu.slower]
    if slow and len(slow) < len(process_cpus):
        listed = format_cpulist(slow)
        yield f"{len(slow)} of {len(process_cpus)} CPUs with processes are slower cores ({listed})"
    elif slow:
        yield f"all processes run on slower cores ({format_cpulist(slow)})"


def _low_power(served: Sequence[Cpu]) -> Iterator[str]:
    if weak := [cpu.id for cpu in served if cpu.slower >= LOW_POWER_KINDS]:
        yield f"interrupts run on low-power cores ({format_cpulist(weak)})"
