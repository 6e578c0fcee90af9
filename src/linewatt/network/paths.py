# SPDX-License-Identifier: Apache-2.0
"""Which interface and which address of each end carry traffic between two hosts. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, replace

from linewatt.model import Family
from linewatt.network.description import HostNetwork
from linewatt.network.interfaces import MAIN_TABLE, Interface, InterfaceAddress

_PLAIN = ("ethernet",)


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """The two ends of the way that data takes; ``interface`` of an end is where it leaves its host."""

    family: Family
    sender: InterfaceAddress
    receiver: InterfaceAddress

    def reversed(self) -> NetworkPath:
        return NetworkPath(self.family, self.receiver, self.sender)


def path_between(sender: HostNetwork, receiver: HostNetwork, family: Family) -> NetworkPath | str:
    """The way from one host to another in this network, or why there is none.

    Both ends must reach the other's address: in one subnet, or by a static route. What is encapsulated goes
    before plain interfaces, an address on the interface that its packets leave by before one on another,
    ends of one tunnel before others, what stands first in the documents before the rest.
    """
    for one in (sender, receiver):
        if not one.addresses(family):
            return f"host {one.host} has no {family} address in this network"
    found = [
        (_rank(sender, receiver, path, path.sender == here and path.receiver == there), path)
        for here in sender.addresses(family)
        for there in receiver.addresses(family)
        if (path := _path(sender, receiver, here, there)) is not None
    ]
    if found:
        return min(found, key=lambda one: one[0])[1]
    return (
        f"no {family} addresses of hosts {sender.host} and {receiver.host} reach each other in this network: "
        "none are in one subnet, nor are there static routes at both ends"
    )


def _path(
    sender: HostNetwork, receiver: HostNetwork, here: InterfaceAddress, there: InterfaceAddress
) -> NetworkPath | None:
    if here.address == there.address:
        return None
    leaves, arrives = _leaving(sender, here, there), _leaving(receiver, there, here)
    return None if leaves is None or arrives is None else NetworkPath(here.family, leaves, arrives)


def _leaving(network: HostNetwork, own: InterfaceAddress, peer: InterfaceAddress) -> InterfaceAddress | None:
    """An end's address with the interface by which it reaches the peer: its own before another one."""
    ways = _ways_out(network, peer.address)
    if not ways or own.interface in ways:
        return own if ways else None
    return replace(own, interface=ways[0])


def _ways_out(network: HostNetwork, address: str) -> list[str]:
    """Interfaces through which a host reaches an address: those of the longest prefix that covers it.

    Of several routes of one prefix the kernel takes that of the smallest metric.
    """
    wanted = ipaddress.ip_address(address)
    ways = [way for way in _ways(network) if wanted in way[0]]
    if not ways:
        return []
    best = min((-way[0].prefixlen, way[1]) for way in ways)
    return [name for subnet, metric, name in ways if (-subnet.prefixlen, metric) == best]


def _ways(
    network: HostNetwork,
) -> Iterator[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, int, str]]:
    for interface in network.interfaces:
        if interface.state == "up":
            for address in interface.addresses:
                yield address.subnet, 0, address.interface
    for route in network.routes:
        if route.state == "up" and route.table == MAIN_TABLE:
            yield route.network, route.metric or 0, route.interface


def _rank(sender: HostNetwork, receiver: HostNetwork, path: NetworkPath, own: bool) -> tuple[bool, ...]:
    """Smaller is better; with two of one rank the first found stays."""
    here, there = sender.interface(path.sender.interface), receiver.interface(path.receiver.interface)
    plain = here is None or there is None or here.kind in _PLAIN or there.kind in _PLAIN
    return (
        plain,
        not own,
        not _are_ends_of_one(here, there),
        not (_points_at(here, receiver) and _points_at(there, sender)),
    )


def _are_ends_of_one(here: Interface | None, there: Interface | None) -> bool:
    if here is None or there is None:
        return False
    return here.kind == there.kind and dict(here.settings).get("id") == dict(there.settings).get("id")


def _points_at(interface: Interface | None, peer: HostNetwork) -> bool:
    """Whether a tunnel's remote end is an address that the peer's document knows; True for no tunnel."""
    if interface is None:
        return False
    remote = dict(interface.settings).get("remote")
    if remote is None:
        return True
    known = {one.address for family in ("ipv4", "ipv6") for one in peer.addresses(family)}
    known |= {str(local) for one in peer.interfaces if (local := dict(one.settings).get("local")) is not None}
    return remote in known
