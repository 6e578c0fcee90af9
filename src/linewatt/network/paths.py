# SPDX-License-Identifier: Apache-2.0
"""Which interface and which address of each end carry traffic between two hosts. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from linewatt.missing import Missing
from linewatt.model import Family
from linewatt.network.description import HostNetwork
from linewatt.network.interfaces import MAIN_TABLE, Interface, InterfaceAddress


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """The two ends of the way that data takes; ``interface`` of an end is where it leaves its host."""

    sender: InterfaceAddress
    receiver: InterfaceAddress


def path_between(sender: HostNetwork, receiver: HostNetwork, family: Family) -> NetworkPath | Missing:
    """The way from one host to another in this network, or why there is none.

    Both ends must reach the other's address: in one subnet, or by a static route. What is encapsulated goes
    before plain interfaces, an address on the interface that its packets leave by before one on another,
    ends of one tunnel before others, what stands first in the documents before the rest.
    """
    for end in (sender, receiver):
        if not end.addresses(family):
            return Missing(f"host {end.host} has no {family} address in this network")
    out, back = _Table(sender, family), _Table(receiver, family)
    towards = [
        (far_address, ways)
        for far_address in receiver.addresses(family)
        if (ways := out.ways(far_address.address))
    ]
    ranked = []
    for near_address in sender.addresses(family):
        ways_back = back.ways(near_address.address)
        for far_address, ways in towards if ways_back else ():
            if near_address.address != far_address.address:
                path = NetworkPath(_leaving(near_address, ways), _leaving(far_address, ways_back))
                is_direct = path.sender == near_address and path.receiver == far_address
                ranked.append((_rank(sender, receiver, path, is_direct), path))
    if ranked:
        return min(ranked, key=lambda candidate: candidate[0])[1]
    return Missing(
        f"no {family} addresses of hosts {sender.host} and {receiver.host} reach each other in this network: "
        "none are in one subnet, nor are there static routes at both ends"
    )


def _leaving(address: InterfaceAddress, ways: Sequence[str]) -> InterfaceAddress:
    """An end's address with the interface that reaches the peer, preferably the address's own."""
    return address if address.interface in ways else replace(address, interface=ways[0])


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
        ways = self._ways.setdefault(length, {}).setdefault(number >> (self._bits - length), [])
        ways.append((metric, interface))

    def ways(self, address: str) -> list[str]:
        """Those of the longest prefix that covers it; of several routes those of the smallest metric."""
        _, number = _subnet(address)
        for length in self._lengths:
            if candidates := self._ways[length].get(number >> (self._bits - length)):
                best = min(metric for metric, _ in candidates)
                return [name for metric, name in candidates if metric == best]
        return []


@lru_cache(maxsize=2**16)
def _subnet(text: str) -> tuple[int, int]:
    """Length of the prefix, and the address as a number."""
    interface = ipaddress.ip_interface(text)
    return interface.network.prefixlen, int(interface.ip)


def _rank(sender: HostNetwork, receiver: HostNetwork, path: NetworkPath, is_direct: bool) -> tuple[bool, ...]:
    """Sort key of a path, smaller is better; of equal paths the first is used."""
    near, far = sender.interface(path.sender.interface), receiver.interface(path.receiver.interface)
    if near is None or far is None:
        return True, not is_direct, True, True
    return (
        "ethernet" in (near.kind, far.kind),
        not is_direct,
        not _are_ends_of_one(near, far),
        not (_points_at(near, receiver) and _points_at(far, sender)),
    )


def _are_ends_of_one(near: Interface, far: Interface) -> bool:
    return near.kind == far.kind and dict(near.settings).get("id") == dict(far.settings).get("id")


def _points_at(interface: Interface, peer: HostNetwork) -> bool:
    """Whether a tunnel's remote end is an address that the peer's document knows; True for no tunnel."""
    remote = dict(interface.settings).get("remote")
    if remote is None:
        return True
    addresses = {address.address for family in ("ipv4", "ipv6") for address in peer.addresses(family)}
    addresses |= {
        str(local) for tunnel in peer.interfaces if (local := dict(tunnel.settings).get("local")) is not None
    }
    return remote in addresses
