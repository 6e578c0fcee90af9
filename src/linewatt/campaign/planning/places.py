# SPDX-License-Identifier: Apache-2.0
"""Where the load processes of each case run and which CPUs take its receive work, host by host. Pure.

What a host names itself (``app_cpus``, ``irq_cpus``) is known from the file; what a policy chooses takes the
host's topology, which is known once it has been asked, or from a file of ``lstopo``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from linewatt.campaign.campaign import PLACEMENT_FACTOR, Campaign
from linewatt.campaign.factors import host_as_set
from linewatt.errors import HostRefused, InvalidInput
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.model import Case
from linewatt.placement import Placement, Topology, Wish, place_processes
from linewatt.records import ChosenPlace, PlaceLine
from linewatt.tuning import HOST_TARGET, Change

WHY_IRQ = "receive work of the load (data, or the acknowledgements of it) goes to the IRQ CPUs"
WHY_STEER = "each instance's packets go to a receive queue of its own"
WHY_IRQBALANCE = "it would move interrupts away from their CPUs"

_Wished = tuple[tuple[str, ...], tuple[int, ...], Wish]
"""data ports, the instances dealt to them, and what is to be placed"""


@dataclass(frozen=True, slots=True)
class Site:
    """A host as it is found: its machine, and what of its interrupts can be steered.

    ``has_irqs``: its interface has interrupts of its own (a virtual one has none, its receive work is
    steered by RPS). ``queues``: how many receive queues that has, as far as known; of several data ports the
    fewest. ``may_change``:
    linewatt has the right to. ``irqbalance``: it runs there. ``numactl``: memory can be bound. ``nmstate``:
    its interfaces are NetworkManager's, and nmstatectl is there.
    """

    topology: Topology
    has_irqs: bool = False
    queues: int = 0
    may_change: bool = True
    irqbalance: bool = False
    numactl: bool = False
    nmstate: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """One host's part of a case: a CPU and a NUMA node for each instance, CPUs for the receive work.

    ``None`` as a CPU: the system decides; as a node: memory is where the system puts it. ``rule`` and
    ``why`` are those of the policy that chose, ``None`` where the host named its CPUs or nobody chose.
    """

    cpus: tuple[str | None, ...]
    nodes: tuple[int | None, ...]
    irq_cpus: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    rule: int | None = None
    why: str | None = None
    notes: tuple[str, ...] = ()

    def lines(self, host: str) -> Iterator[PlaceLine]:
        """Why the policy chose this place, and its notes."""
        if self.why is not None:
            process_cpus = {cpu for text in self.cpus if text is not None for cpu in parse_cpulist(text)}
            chosen = ChosenPlace(
                processes=len(self.cpus),
                process_cpus=sorted(process_cpus),
                irq_cpus=list(self.irq_cpus),
                rule=self.rule,
            )
            rule = "" if self.rule is None else f"placement rule {self.rule}: "
            yield PlaceLine(host=host, text=f"{rule}{self.why}", chosen=chosen)
        yield from (PlaceLine(host=host, text=note) for note in self.notes)


class Places:
    """The places of a campaign's cases; ``sites`` are the hosts that have been looked at."""

    def __init__(self, campaign: Campaign, sites: Mapping[str, Site]) -> None:
        self._campaign = campaign
        self._sites = sites
        self._of = lru_cache(maxsize=None)(self._place)

    def of(self, case: Case, host: str) -> Place:
        """Raises HostRefused when its machine cannot give what the policy needs."""
        policy = dict(case.factors).get(PLACEMENT_FACTOR, self._campaign.placement)
        ports = case.data_port_of * case.taking_part(host)
        spec = host_as_set(self._campaign.hosts[host], case.factors, self._campaign.server_host)
        return self._of(spec, policy, ports)

    def uses_nmstate(self, host: str) -> bool:
        """Whether a host's networks go through nmstatectl; not, as far as is known before it was asked."""
        site = self._sites.get(host)
        return site is not None and site.nmstate

    def _place(self, host: HostSpec, policy: str, ports: tuple[int, ...]) -> Place:
        """``ports``: the data port of each instance."""
        site, instances = self._sites.get(host.name), len(ports)
        if policy == "pinned":
            return self._named(host, ports)
        if policy == "none" or site is None:
            return Place((None,) * instances, (None,) * instances)
        try:
            placements = [
                (nics, numbers, place_processes(site.topology, wish))
                for nics, numbers, wish in self._wishes(host, site, policy, ports)
            ]
        except InvalidInput as error:
            raise HostRefused(str(error), where=host.name) from None
        return _together(
            [
                (numbers, self._chosen(host, nics, site, placement, len(numbers)))
                for nics, numbers, placement in placements
            ]
        )

    def _wishes(
        self, host: HostSpec, site: Site, policy: str, of_instances: tuple[int, ...]
    ) -> list[_Wished]:
        """Ports on one NUMA node are placed together.

        Where they are on several, each has the CPUs of its own, and those that do not suffice for both roles
        share out what is near to none.
        """
        groups = _by_near(host.interfaces, site.topology)
        wishes = []
        for near, nics in groups.items():
            ports = [host.interfaces.index(nic) for nic in nics]
            numbers = tuple(instance for instance, port in enumerate(of_instances) if port in ports)
            usable = host.cpus
            if len(groups) > 1:
                usable = tuple(cpu for cpu in near if host.cpus is None or cpu in host.cpus) or host.cpus
            if numbers:
                smt = self._campaign.smt
                wish = Wish(len(numbers), nics[0], policy=policy, smt=smt, usable=usable)
                wishes.append((nics, numbers, wish))
        free = _near_to_none(site.topology, groups, host.cpus)
        return wishes if len(groups) == 1 or not free else _with_free(site.topology, wishes, free)

    def _named(self, host: HostSpec, ports: tuple[int, ...]) -> Place:
        cpus = tuple(self._named_cpu(host, ports, i) for i in range(len(ports))) if host.app_cpus else ()
        return Place(
            tuple(map(str, cpus)) or (None,) * len(ports),
            self._nodes(host, cpus) or (None,) * len(ports),
            host.irq_cpus or (),
            tuple(
                change
                for nic in host.interfaces
                for change in self._steering(host, nic, self.near(host, nic, host.irq_cpus or ()))
            ),
        )

    def _named_cpu(self, host: HostSpec, ports: tuple[int, ...], instance: int) -> int:
        """Of several data ports on several NUMA nodes each has the named CPUs of its own node, those on one
        node together."""
        app_cpus, port = host.app_cpus or (), ports[instance]
        near = [self.near(host, nic, app_cpus) for nic in host.interfaces]
        alike = {at for at, cpus in enumerate(near) if cpus == near[port]}
        before = sum(port in alike for port in ports[:instance])
        return near[port][before % len(near[port])]

    def near(self, host: HostSpec, nic: str, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Those of ``cpus`` that are local to one of several data ports; all where none is."""
        site = self._sites.get(host.name)
        if site is None or not host.more_ports:
            return cpus
        local = site.topology.device(nic).cpus
        return tuple(cpu for cpu in cpus if cpu in local) or cpus

    def _chosen(
        self, host: HostSpec, nics: tuple[str, ...], site: Site, placement: Placement, instances: int
    ) -> Place:
        notes = placement.notes
        irq_cpus = placement.irq_cpus
        if irq_cpus and not site.may_change:
            notes += ("interrupts stay where they are: moving them needs root (set sudo: true)",)
            irq_cpus = ()
        return Place(
            tuple(map(str, placement.process_cpus)) or (None,) * instances,
            self._nodes(host, placement.process_cpus) or (None,) * instances,
            irq_cpus,
            tuple(change for nic in nics for change in self._steering(host, nic, irq_cpus)),
            placement.rule,
            placement.why,
            notes,
        )

    def queue_rules(self, case: Case, first_ports: Sequence[int]) -> tuple[Change, ...]:
        """What makes the packets of instance i land on receive queue i, whose interrupt the i-th CPU takes.

        Of several data ports each has the instances that are dealt to it. Only where the receiver is the
        server, whose port tells instances apart, and has a queue for each.
        """
        name = case.receiver
        host, site = self._campaign.hosts[name], self._sites.get(name)
        if not self._campaign.steer or case.direction == "reverse" or site is None:
            return ()
        if not (site.has_irqs and site.may_change and case.instances_of_a_port <= site.queues):
            return ()
        way = f"{'tcp' if case.test == 'tcp' else 'udp'}{case.family[-1]}"
        changes = []
        for number in case.ports_used:
            nic = host.interfaces[number]
            port_instances = [i for i, port in enumerate(case.data_port_of) if port == number]
            rules = (
                f"{way}:{port + i}={queue}"
                for port in sorted(set(first_ports))
                for queue, i in enumerate(port_instances)
            )
            changes += [
                Change(name, "offload", f"{nic} ntuple", "on", WHY_STEER),
                Change(name, "ntuple", nic, " ".join(rules), WHY_STEER),
            ]
        return tuple(changes)

    def _nodes(self, host: HostSpec, cpus: tuple[int, ...]) -> tuple[int | None, ...]:
        """The memory beside each process's CPU, where there is more than one and it can be bound."""
        site = self._sites.get(host.name)
        if site is None or not site.numactl or len(site.topology.nodes) < 2:
            return (None,) * len(cpus)
        node_of = {cpu.id: cpu.node for cpu in site.topology.cpus}
        return tuple(node_of.get(cpu) for cpu in cpus)

    def _steering(self, host: HostSpec, nic: str, cpus: tuple[int, ...]) -> Iterator[Change]:
        """What brings the receive work of a host's interface to ``cpus``."""
        if not cpus:
            return
        site = self._sites.get(host.name)
        text = format_cpulist(cpus)
        has_irqs = site.has_irqs if site is not None else host.lab is None
        if not has_irqs:
            yield Change(host.name, "rps_cpus", nic, text, WHY_IRQ)
            return
        if site is not None and site.irqbalance:
            yield Change(host.name, "irqbalance", HOST_TARGET, "off", WHY_IRQBALANCE)
        why = WHY_IRQ if site is not None else f"{WHY_IRQ}; by rps_cpus if the interface has no interrupts"
        yield Change(host.name, "irq_affinity", nic, text, why)


def _by_near(nics: Sequence[str], topology: Topology) -> dict[tuple[int, ...], tuple[str, ...]]:
    """The CPUs that are local → the interfaces that they are local to."""
    if len(nics) == 1:
        return {(): tuple(nics)}
    groups: dict[tuple[int, ...], tuple[str, ...]] = {}
    for nic in nics:
        near = tuple(sorted(topology.device(nic).cpus))
        groups[near] = (*groups.get(near, ()), nic)
    return groups


def _near_to_none(
    topology: Topology, groups: Mapping[tuple[int, ...], tuple[str, ...]], usable_cpus: tuple[int, ...] | None
) -> list[tuple[int, ...]]:
    """The cores that are local to none of the ports, node by node, each as its CPUs."""
    near = {cpu for cpus in groups for cpu in cpus}
    cores: dict[tuple[int, int], list[int]] = {}
    for cpu in topology.usable(usable_cpus):
        if cpu.id not in near:
            node, core = (-1 if number is None else number for number in (cpu.node, cpu.core))
            cores.setdefault((node, core), []).append(cpu.id)
    return [tuple(cores[key]) for key in sorted(cores)]


def _with_free(
    topology: Topology,
    wishes: Sequence[_Wished],
    free: Sequence[tuple[int, ...]],
) -> list[_Wished]:
    """``free`` cores are shared out by instances, among ports that have no room for both roles near them."""
    crowded = [wish for _, _, wish in wishes if wish.policy == "remote" or _is_crowded(topology, wish)]
    total, before = sum(wish.processes for wish in crowded), 0
    dealt: dict[Wish, Wish] = {}
    for wish in crowded:
        first, before = before, before + wish.processes
        wish_cores = free[len(free) * first // total : len(free) * before // total]
        dealt[wish] = replace(
            wish, usable=(*(wish.usable or ()), *(cpu for core in wish_cores for cpu in core))
        )
    return [(nics, numbers, dealt.get(wish, wish)) for nics, numbers, wish in wishes]


def _is_crowded(topology: Topology, wish: Wish) -> bool:
    return wish.policy == "auto" and place_processes(topology, wish).rule != 1


def _together(port_places: Sequence[tuple[tuple[int, ...], Place]]) -> Place:
    """One place of the places of a host's data ports, each with the instances that are dealt to it."""
    if len(port_places) == 1:
        return port_places[0][1]
    placed = {
        number: (port_place, at) for numbers, port_place in port_places for at, number in enumerate(numbers)
    }
    order = [placed[number] for number in sorted(placed)]
    places = [port_place for _, port_place in port_places]
    whys = list(dict.fromkeys(port_place.why for port_place in places if port_place.why))
    return Place(
        tuple(port_place.cpus[at] for port_place, at in order),
        tuple(port_place.nodes[at] for port_place, at in order),
        tuple(sorted({cpu for port_place in places for cpu in port_place.irq_cpus})),
        tuple(dict.fromkeys(change for port_place in places for change in port_place.changes)),
        None,
        "; ".join(
            f"placement rule {port_place.rule}: {port_place.why}"
            if port_place.rule is not None
            else str(port_place.why)
            for port_place in places
        )
        if whys
        else None,
        tuple(dict.fromkeys(note for port_place in places for note in port_place.notes)),
    )
