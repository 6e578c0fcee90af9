# SPDX-License-Identifier: Apache-2.0
"""Which interface and which address of each end carry traffic between two hosts. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

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
    out, back = _Table(sender, family), _Table(receiver, family)
    towards = [(there, ways) for there in receiver.addresses(family) if (ways := out.ways(there.address))]
    found = []
    for here in sender.addresses(family):
        ways_back = back.ways(here.address)
        for there, ways in towards if ways_back else ():
            if here.address != there.address:
                path = NetworkPath(family, _leaving(here, ways), _leaving(there, ways_back))
                is_direct = path.sender == here and path.receiver == there
                found.append((_rank(sender, receiver, path, is_direct), path))
    if found:
        return min(found, key=lambda one: one[0])[1]
    return (
        f"no {family} addresses of hosts {sender.host} and {receiver.host} reach each other in this network: "
        "none are in one subnet, nor are there static routes at both ends"
    )


def _leaving(own: InterfaceAddress, ways: Sequence[str]) -> InterfaceAddress:
    """An end's address with the interface by which it reaches the peer: its own before another one."""
    return own if own.interface in ways else replace(own, interface=ways[0])


class _Table:
    """Through which interfaces a host reaches addresses: a mesh asks for each of its pairs."""

    def __init__(self, network: HostNetwork, family: Family) -> None:
        self._bits = 32 if family == "ipv4" else 128
        self._ways: dict[int, dict[int, list[tuple[int, str]]]] = {}
        for address in network.addresses(family):
            self._add(f"{address.address}/{address.prefix_length}", 0, address.interface)
        for route in network.routes:
            if route.state == "up" and route.table == MAIN_TABLE and route.family == family:
                self._add(route.destination, route.metric or 0, route.interface)
        self._lengths = sorted(self._ways, reverse=True)

    def _add(self, subnet: str, metric: int, interface: str) -> None:
        length, number = _subnet(subnet)
        own = self._ways.setdefault(length, {}).setdefault(number >> (self._bits - length), [])
        own.append((metric, interface))

    def ways(self, address: str) -> list[str]:
        """Those of the longest prefix that covers it; of several routes those of the smallest metric."""
        _, number = _subnet(address)
        for length in self._lengths:
            if found := self._ways[length].get(number >> (self._bits - length)):
                best = min(metric for metric, _ in found)
                return [name for metric, name in found if metric == best]
        return []


@lru_cache(maxsize=2**16)
def _subnet(text: str) -> tuple[int, int]:
    """Length of the prefix, and the address as a number."""
    interface = ipaddress.ip_interface(text)
    return interface.network.prefixlen, int(interface.ip)


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
