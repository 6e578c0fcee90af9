# SPDX-License-Identifier: Apache-2.0
"""What sits where in a machine: CPUs, the caches and NUMA nodes they share, and where network devices are.

Pure values. Where they come from: :mod:`linewatt.placement.hwloc` (a file of ``lstopo``) and
:mod:`linewatt.placement.sysfs` (the facts of a host).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linewatt.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU as Linux numbers them: a hardware thread.

    ``core`` and ``package`` are counted over the whole machine in the order of their lowest CPU, and so is
    ``llc``, the outermost cache that it shares with another core (``None``: none that the system shows).
    ``node`` is Linux' number. ``smt`` is the rank of the thread within its core. ``slower`` counts the
    kinds of core of the machine that are faster: 0 everywhere unless cores differ, 1 on efficiency cores, 2
    or more on low-power ones. An offline CPU belongs to nothing: its ``core``, ``package`` and ``node`` are
    ``None``.
    """

    id: int
    core: int | None
    package: int | None
    node: int | None
    llc: int | None = None
    smt: int = 0
    online: bool = True
    slower: int = 0


@dataclass(frozen=True, slots=True)
class Device:
    """A network device: the CPUs it is local to, and its NUMA node (``None``: no one node).

    ``address`` is its PCI address. Without a place of its own, as a virtual one, it is local everywhere.
    """

    name: str
    address: str | None
    cpus: tuple[int, ...]
    node: int | None


@dataclass(frozen=True, slots=True)
class Topology:
    """A machine. ``allowed`` are the CPUs that processes may be put on (cgroup cpusets); ``isolated`` those
    that the kernel's scheduler leaves alone (``isolcpus``); ``empty_nodes`` have memory but no CPU.

    ``notes`` say what the source did not tell, and what is taken in its place.
    """

    cpus: tuple[Cpu, ...]
    devices: tuple[Device, ...] = ()
    isolated: tuple[int, ...] = ()
    allowed: tuple[int, ...] = ()
    empty_nodes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """NUMA nodes that have CPUs."""
        return tuple(sorted({cpu.node for cpu in self.cpus if cpu.node is not None}))

    @property
    def online(self) -> tuple[int, ...]:
        return tuple(cpu.id for cpu in self.cpus if cpu.online)

    def device(self, name: str) -> Device:
        """The network device called ``name``. Raises InvalidInput naming those there are."""
        for device in self.devices:
            if device.name == name:
                return device
        if not self.devices:
            raise InvalidInput(
                f"there is no network device {name!r}, nor any other: the topology was taken without devices "
                "(lstopo --no-io), or only has virtual ones; name the NUMA node"
            )
        names = ", ".join(sorted(device.name for device in self.devices))
        raise InvalidInput(
            f"there is no network device {name!r}; there are: {names} (of a virtual one, name the NUMA node)"
        )

    def node_cpus(self, node: int) -> tuple[int, ...]:
        """The CPUs of a NUMA node. Raises InvalidInput naming the nodes, also for one without CPUs."""
        cpus = tuple(cpu.id for cpu in self.cpus if cpu.node == node)
        if cpus:
            return cpus
        names = ", ".join(map(str, self.nodes)) or "none"
        if node in self.empty_nodes:
            raise InvalidInput(
                f"NUMA node {node} shows no CPU (memory alone, or none allowed); with CPUs: {names}"
            )
        raise InvalidInput(f"there is no NUMA node {node}; nodes with CPUs: {names}")

    def nodes_of(self, cpu_ids: Iterable[int]) -> tuple[int, ...]:
        """The NUMA nodes of CPUs."""
        numbers = set(cpu_ids)
        return tuple(sorted({cpu.node for cpu in self.cpus if cpu.id in numbers and cpu.node is not None}))

    def sharing_cores(self, cpu_ids: Iterable[int]) -> tuple[int, ...]:
        """Those of some CPUs whose core has another of them as a second thread."""
        numbers = set(cpu_ids)
        cpus = [cpu for cpu in self.cpus if cpu.id in numbers and cpu.core is not None]
        threads = Counter(cpu.core for cpu in cpus)
        return tuple(cpu.id for cpu in cpus if threads[cpu.core] > 1)

    def usable(self, cpu_ids: Iterable[int] | None = None) -> tuple[Cpu, ...]:
        """CPUs that are online and allowed, and among ``cpu_ids`` where these are given."""
        usable_ids = set(self.allowed)
        if cpu_ids is not None:
            usable_ids &= set(cpu_ids)
        return tuple(cpu for cpu in self.cpus if cpu.online and cpu.id in usable_ids)


@dataclass(frozen=True, slots=True)
class Groups:
    """CPUs that belong together, as a source tells it; what it does not list stands alone.

    ``cores`` None: which CPUs are threads of one core is not known. ``caches`` are those of the last level.
    """

    cores: tuple[tuple[int, ...], ...] | None
    packages: tuple[tuple[int, ...], ...] = ()
    caches: tuple[tuple[int, ...], ...] = ()


def build_cpus(
    online: Iterable[int],
    offline: Iterable[int],
    groups: Groups,
    node_of: dict[int, int],
    slower: Mapping[int, int],
) -> tuple[Cpu, ...]:
    """CPUs sorted by number, with their cores, packages and caches counted as :class:`Cpu` says."""
    ordered = sorted(set(online))
    cores = _counted(ordered, groups.cores or ())
    packages = _counted(ordered, groups.packages, alone=False)
    several = [cache for cache in groups.caches if len({cores.get(cpu) for cpu in cache}) > 1]
    caches = _counted(ordered, several, alone=False)
    threads: dict[int, int] = {}
    offline_cpus = [Cpu(cpu, None, None, None, online=False) for cpu in set(offline) - set(ordered)]
    for cpu in ordered:
        core = cores[cpu]
        rank = threads[core] = threads.get(core, -1) + 1
        offline_cpus.append(
            Cpu(
                id=cpu,
                core=core,
                package=packages.get(cpu),
                node=node_of.get(cpu),
                llc=caches.get(cpu),
                smt=rank,
                slower=slower.get(cpu, 0),
            )
        )
    return tuple(sorted(offline_cpus, key=lambda cpu: cpu.id))


def _counted(
    ordered: Iterable[int], groups: Iterable[tuple[int, ...]], *, alone: bool = True
) -> dict[int, int]:
    """CPU → number of its group, in the order of the lowest CPUs; ``alone``: in none, it is one by itself."""
    group_of = {cpu: at for at, group in enumerate(groups) for cpu in group}
    numbers: dict[int, int] = {}
    counted = {}
    for cpu in ordered:
        group = group_of.get(cpu, -1 - cpu)
        if group >= 0 or alone:
            counted[cpu] = numbers.setdefault(group, len(numbers))
    return counted
