# SPDX-License-Identifier: Apache-2.0
"""What a lab consists of: every name, address and CPU of it, computed before anything is made (pure).

::

    controller (root namespace)                 switch namespace lw<i>-sw
      bridge lwb<i>  198.18.<i>.254               bridge br0
        │ lwv<i>-1      │ lwv<i>-2                  │ p1          │ p2
        │ mgmt0  .1     │ mgmt0  .2                 │ data0       │ data0   (shaped on egress)
      namespace       namespace                   namespace     namespace
      lw<i>-h1        lw<i>-h2                    lw<i>-h1      lw<i>-h2

A host with several data ports has ``data1`` and so on beside ``data0``, each in a subnet of its own. Where
the switch shares a rate among the ports of a host, these are on a bridge of the host's own, and what comes to
it from ``br0`` passes one shaped link.

A host that is a virtual machine has the same wires, joined with its own
(:mod:`linewatt.features.lab.guests.recipe`).

Management and data networks are apart, as in real labs, so that a flood on the data links cannot cut
the controller off. Addresses come from the ranges set aside for benchmarking (RFC 2544: 198.18.0.0/15,
RFC 5180: 2001:2::/48) and the hosts have no default route: nothing ever leaves the lab.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from linewatt import units
from linewatt.errors import InvalidInput
from linewatt.features.lab.bmc_recipe import Meters
from linewatt.features.lab.guests.spec import MAX_GUESTS, Guest, check_range

MAX_HOSTS = 250
MAX_PORTS = 4
_PORT_HOSTS = 62
"""hosts with several data ports: each port has a quarter of the lab's subnet"""
_BMC_OF_GUEST = 128
"""what is added to a guest's number: its BMC has an address of its own, as a real one has"""
MAX_BMC_S = 300.0
MAX_BMC_GAIN = 0.5
MAX_BMC_OFFSET_W = 50.0
INDEXES = range(1, 255)
SSH_PORT = 22

_NAME = re.compile(r"[a-z0-9-]{1,20}")
_RATE_BPS = (1_000_000, 400_000_000_000)
_MTU = (1280, 9216)  # RFC 8200's least for IPv6, and what switches call jumbo

Cores = tuple[tuple[int, ...], ...]
"""Physical cores, each with its hardware threads."""


@dataclass(frozen=True, slots=True)
class LabRequest:
    """What the user asked for; checked on creation. Raises InvalidInput."""

    name: str = "lab"
    hosts: int = 2
    rate: str = "10gbit"
    mtu: int = 1500
    bmc: bool = True
    bmc_refresh_s: float = 0.0
    """BMCs hold their readings for so long; 0: as quick as they can"""
    bmc_average_s: float = 0.0
    """BMCs show means over so long; 0: as short as they can"""
    bmc_gain_ratio: float = 0.0
    """supplies read so much more than they draw at their BMC"""
    bmc_offset_w: float = 0.0
    """and all of a host together so much beyond that"""
    bmc_delay_s: float = 0.0
    """BMCs show what was drawn so long ago"""
    plug: bool = False
    """whether each host is at a plug, whose meter shows what is drawn"""
    ports: int = 1
    """data ports of each host"""
    shared: str = "none"
    """what the switch forwards to a host at most, through all its ports together"""
    guests: tuple[Guest, ...] = ()
    """the hosts as virtual machines, all of them; none: they are namespaces"""

    def __post_init__(self) -> None:
        check_name(self.name)
        check_range(f"lab {self.name}: hosts", self.hosts, 1, MAX_HOSTS)
        check_range(f"lab {self.name}: mtu", self.mtu, *_MTU)
        slow = (("refresh", self.bmc_refresh_s), ("average", self.bmc_average_s), ("delay", self.bmc_delay_s))
        for name, value in slow:
            if not 0 <= value <= MAX_BMC_S:
                raise InvalidInput(f"lab {self.name}: BMC {name} must be 0 to {MAX_BMC_S:g} s, got {value:g}")
        if not -MAX_BMC_GAIN <= self.bmc_gain_ratio <= MAX_BMC_GAIN:
            limit = f"{100 * MAX_BMC_GAIN:g} %"
            raise InvalidInput(f"lab {self.name}: BMC gain must be from -{limit} to {limit}")
        if not -MAX_BMC_OFFSET_W <= self.bmc_offset_w <= MAX_BMC_OFFSET_W:
            raise InvalidInput(
                f"lab {self.name}: BMC offset must be -{MAX_BMC_OFFSET_W:g} to {MAX_BMC_OFFSET_W:g} W, "
                f"got {self.bmc_offset_w:g}"
            )
        if self.plug and (self.guests or not self.bmc):
            raise InvalidInput(
                f"lab {self.name}: a plug is of hosts that are namespaces with BMCs; leave --plug away"
            )
        check_range(f"lab {self.name}: ports", self.ports, 1, MAX_PORTS)
        if self.ports > 1:
            check_range(f"lab {self.name}: with several ports hosts", self.hosts, 1, _PORT_HOSTS)
        parse_rate(self.rate)
        parse_rate(self.shared)
        self._check_guests()

    def _check_guests(self) -> None:
        if not self.guests:
            return
        if len(self.guests) != self.hosts or self.hosts > MAX_GUESTS:
            raise InvalidInput(
                f"lab {self.name}: {len(self.guests)} guests for {self.hosts} hosts; all hosts are guests,"
                f" {MAX_GUESTS} at most (--vm)"
            )
        if self.ports != 1:
            raise InvalidInput(f"lab {self.name}: a guest has a port for each --nic; leave --ports away")
        if not self.bmc and any(guest.acpi_meter for guest in self.guests):
            raise InvalidInput(
                f"lab {self.name}: an ACPI meter asks the BMC; leave --no-bmc or --acpi-meter away"
            )

    @property
    def ports_each(self) -> tuple[int, ...]:
        """Data ports of each host."""
        return tuple(len(guest.nics) for guest in self.guests) or (self.ports,) * self.hosts

    @property
    def meters(self) -> Meters:
        """What BMCs make of what is drawn."""
        return Meters(
            self.bmc_refresh_s,
            self.bmc_average_s,
            self.bmc_gain_ratio,
            self.bmc_offset_w,
            self.bmc_delay_s,
            self.plug,
        )

    @property
    def rate_bps(self) -> int | None:
        """Rate of a data link in bit/s; ``None``: not shaped."""
        return parse_rate(self.rate)

    @property
    def shared_bps(self) -> int | None:
        """What all ports of a host share, in bit/s; ``None``: nothing is shared."""
        return parse_rate(self.shared)


@dataclass(frozen=True, slots=True)
class PortLayout:
    """One data port of a host: its interface, the switch's end of it, and its addresses."""

    interface: str
    switch_port: str
    ipv4: str
    ipv6: str
    ipv4_prefix: int


@dataclass(frozen=True, slots=True)
class HostLayout:
    """One lab host: its names, addresses and CPUs.

    ``app_cpus`` and ``irq_cpus`` are the same CPU where the host has only one.
    ``shares_cpus_with`` names the hosts with which it has a physical core in common.
    """

    name: str
    namespace: str
    management_link: str
    switch_port: str
    address: str
    data_ipv4: str
    data_ipv6: str
    cpus: tuple[int, ...]
    app_cpus: tuple[int, ...]
    irq_cpus: tuple[int, ...]
    shares_cpus_with: tuple[str, ...]
    ports: tuple[PortLayout, ...]
    """of its data, ``data0`` first"""
    number: int
    bmc_address: str
    guest: Guest | None = None
    """as a virtual machine, whose CPUs are not those of this machine in ``cpus``, on which it runs"""


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole lab. ``link_group`` marks its links in the root namespace, so that one call deletes them."""

    name: str
    index: int
    rate_bps: int | None
    mtu: int
    bridge: str
    bridge_mac: str
    link_group: int
    controller_address: str
    switch_namespace: str
    hosts: tuple[HostLayout, ...]
    meters: Meters = field(default_factory=Meters)
    shared_bps: int | None = None

    @property
    def namespaces(self) -> tuple[str, ...]:
        return (self.switch_namespace, *(host.namespace for host in self.hosts))

    @property
    def links(self) -> tuple[str, ...]:
        """Links in the root namespace; those inside the lab's namespaces go with them."""
        return (self.bridge, *(host.management_link for host in self.hosts))


def is_name(name: str) -> bool:
    """Whether ``name`` can name a lab; then it is safe as a file name."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Raises InvalidInput unless ``name`` can name a lab."""
    if not is_name(name):
        raise InvalidInput(f"lab name {name!r}: use 1 to 20 of a-z, 0-9 and -")


def parse_rate(text: str) -> int | None:
    """``10gbit``, ``2.5G``, ``100mbit`` as bit/s; ``none`` as ``None``. Raises InvalidInput."""
    if text == "none":
        return None
    with contextlib.suppress(InvalidInput):
        rate_bps = round(units.parse_rate(text))
        if _RATE_BPS[0] <= rate_bps <= _RATE_BPS[1]:
            return rate_bps
    raise InvalidInput(f"lab rate {text!r}: give 1mbit to 400gbit, like 10gbit, 2.5G or 100M, or none")


def lay_out(request: LabRequest, index: int, cores: Cores) -> Layout:
    """Everything about the lab ``request`` as number ``index`` of this machine (1..254)."""
    cpus = _cpus(request, cores)
    names = [f"h{number}" for number in range(1, request.hosts + 1)]
    shares = _sharing_hosts(cpus, names, cores)
    hosts = tuple(
        _host(request, index, number, cpus[number - 1], shares[number - 1])
        for number in range(1, request.hosts + 1)
    )
    return Layout(
        name=request.name,
        index=index,
        rate_bps=request.rate_bps,
        mtu=request.mtu,
        bridge=f"lwb{index}",
        # Given, because udev gives a random address a new one later, and the hosts' ARP entries go stale.
        bridge_mac=f"02:6c:77:00:{index:02x}:fe",
        link_group=0x6C770000 + index,
        controller_address=f"198.18.{index}.254",
        switch_namespace=f"lw{index}-sw",
        hosts=hosts,
        meters=request.meters,
        shared_bps=request.shared_bps,
    )


def _cpus(request: LabRequest, cores: Cores) -> list[tuple[int, ...]]:
    """CPUs of each host. Guests with more CPUs than that run on all of them, and share them."""
    cpus = split_cpus(cores, request.hosts)
    if any(len(its) < guest.cpus for its, guest in zip(cpus, request.guests, strict=False)):
        return [tuple(chain.from_iterable(cores))] * request.hosts
    return cpus


def _host(
    request: LabRequest, index: int, number: int, cpus: tuple[int, ...], shares: tuple[str, ...]
) -> HostLayout:
    half = len(cpus) // 2
    # Where CPUs are shared by everybody, keeping some for interrupts would only look like a split.
    split = half > 0 and not shares
    max_ports = max(request.ports_each)
    data = tuple(_port(index, number, port, max_ports) for port in range(request.ports_each[number - 1]))
    guest = request.guests[number - 1] if request.guests else None
    return HostLayout(
        name=f"h{number}",
        namespace=f"lw{index}-h{number}",
        management_link=f"lwv{index}-{number}",
        switch_port=data[0].switch_port,
        address=f"198.18.{index}.{number}",
        data_ipv4=data[0].ipv4,
        data_ipv6=data[0].ipv6,
        cpus=cpus,
        app_cpus=cpus[:half] if split else cpus,
        irq_cpus=cpus[half:] if split else cpus,
        shares_cpus_with=shares,
        ports=data,
        number=number,
        bmc_address=f"198.18.{index}.{number + (0 if guest is None else _BMC_OF_GUEST)}",
        guest=guest,
    )


def _port(index: int, number: int, port: int, ports: int) -> PortLayout:
    """Several ports have a quarter of the lab's IPv4 subnet each, and an IPv6 subnet of their own."""
    return PortLayout(
        interface=f"data{port}",
        switch_port=f"p{number}" + (f"-{port}" if port else ""),
        ipv4=f"198.19.{index}.{64 * port + number}",
        ipv6=f"2001:2:0:{256 * port + index:x}::{number:x}",
        ipv4_prefix=24 if ports == 1 else 26,
    )


def split_cpus(cores: Cores, hosts: int) -> list[tuple[int, ...]]:
    """CPUs of each host: whole cores if there are enough, else threads, else all CPUs for all."""
    threads = [cpu for core in cores for cpu in core]
    for pool in (cores, tuple((cpu,) for cpu in threads)):
        cpus_each = len(pool) // hosts
        if cpus_each:
            slices = (pool[at : at + cpus_each] for at in range(0, cpus_each * hosts, cpus_each))
            return [tuple(chain.from_iterable(part)) for part in slices]
    return [tuple(threads)] * hosts


def _sharing_hosts(
    cpus: Sequence[tuple[int, ...]], names: Sequence[str], cores: Cores
) -> list[tuple[str, ...]]:
    """For each host, the other hosts that share a core with it, in order."""
    core_of = {cpu: number for number, core in enumerate(cores) for cpu in core}
    cores_of_hosts = [frozenset(core_of[cpu] for cpu in host_cpus) for host_cpus in cpus]
    on_core: dict[int, list[int]] = {}
    for host, its_cores in enumerate(cores_of_hosts):
        for core in its_cores:
            on_core.setdefault(core, []).append(host)
    # Hosts on the same cores share with the same others: 250 hosts on 2 CPUs are worked out once.
    sharers = {
        cores_of_host: sorted({host for core in cores_of_host for host in on_core[core]})
        for cores_of_host in set(cores_of_hosts)
    }
    return [
        tuple(names[sharer] for sharer in sharers[own_cores] if sharer != host)
        for host, own_cores in enumerate(cores_of_hosts)
    ]
