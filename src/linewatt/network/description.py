# SPDX-License-Identifier: Apache-2.0
"""What one host is to show in one network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.model import Family
from linewatt.network.framing import Encapsulation
from linewatt.network.interfaces import Interface, InterfaceAddress, Route
from linewatt.network.items import items
from linewatt.network.text import canonical

KNOB = "network"
ETHERNET_MTU = 1500
_TAGS = ("vlan", "mac-vlan")
"""kinds whose packets are as large as those of their base"""


@dataclass(frozen=True, slots=True)
class Stack:
    """What lies between an interface and the one at the bottom: the way of its packets to the wire.

    ``encapsulations`` are innermost first. ``mtu`` is that of the interface as far as the document says.
    """

    interface: str
    base: str
    mtu: int | None
    encapsulations: tuple[Encapsulation, ...] = ()

    @property
    def header_bytes(self) -> int:
        return sum(one.header_bytes for one in self.encapsulations)


@dataclass(frozen=True, slots=True)
class HostNetwork:
    """Interfaces in the order they are made, the lower first, and static routes of one host."""

    host: str
    interfaces: tuple[Interface, ...] = ()
    routes: tuple[Route, ...] = ()

    def interface(self, name: str) -> Interface | None:
        return next((one for one in self.interfaces if one.name == name), None)

    def addresses(self, family: Family) -> tuple[InterfaceAddress, ...]:
        """Addresses of interfaces that are up, in the document's order."""
        return tuple(
            address
            for one in self.interfaces
            if one.state == "up"
            for address in one.addresses
            if address.family == family
        )

    def change(self) -> tuple[str, str, str]:
        """Knob, target and value that make the host show it."""
        wanted = items(self.interfaces, self.routes)
        return KNOB, " ".join(wanted), canonical(wanted)

    def mtu(self, interface: str, found: int) -> int:
        """MTU of an interface, where the document leaves it out as the kernel gives it.

        ``found``: that of the host's own interfaces, which carry the others. Interfaces are made before any
        MTU is set, so that they follow the one their base had; those that only tag follow it down later, too.
        """
        own = self.interface(interface)
        if own is None or own.mtu is not None:
            return found if own is None or own.mtu is None else own.mtu
        if own.kind == "linux-bridge":
            return min((self.mtu(port, found) for port in own.ports), default=ETHERNET_MTU)
        first = self._first_mtu(own, found)
        return min(first, self.mtu(own.base, found)) if own.kind in _TAGS and own.base else first

    def _first_mtu(self, own: Interface | None, found: int) -> int:
        """What the kernel gives an interface when it is made (its drivers/net, and net/8021q)."""
        if own is None or own.kind == "ethernet":
            return found
        if own.kind in _TAGS and own.base is not None:
            return self._first_mtu(self.interface(own.base), found)
        if own.kind == "geneve":  # by the route to its remote end
            return found - _around(own)[0].header_bytes
        if own.kind == "vxlan" and own.base is not None:
            return self._first_mtu(self.interface(own.base), found) - _around(own)[0].header_bytes
        return ETHERNET_MTU

    def stack(self, interface: str, data: str) -> Stack:
        """The way down from an interface; ``data`` is the host's data interface, where it is to end.

        Where ports and peers leave a choice, the one that leads to ``data`` is taken; a tunnel that names no
        interface below it runs over ``data``.
        """
        found = list(self._ways_down(interface, data, frozenset()))
        base, encapsulations = next((one for one in found if one[0] == data), found[0])
        top = self.interface(interface)
        return Stack(interface, base, None if top is None else top.mtu, encapsulations)

    def _ways_down(
        self, name: str, data: str, seen: frozenset[str]
    ) -> Iterator[tuple[str, tuple[Encapsulation, ...]]]:
        upper = self.interface(name)
        below = [] if upper is None or name == data else list(self._below(upper, data, seen))
        if not below:
            yield name, ()
        for lower in below:
            for base, rest in self._ways_down(lower, data, seen | {name}):
                yield base, (*_around(upper), *rest)

    def _below(self, own: Interface, data: str, seen: frozenset[str]) -> Iterator[str]:
        """Names of what carries an interface's packets next; none that were passed already."""
        if own.kind == "veth" and own.peer is not None:
            # Behind a pair's other end goes on whatever has that end as a port
            lower = [one.name for one in self.interfaces if own.peer in one.ports]
            seen = seen | {own.peer}
        elif own.kind in ("vxlan", "geneve"):
            lower = [own.base or data]
        else:
            lower = [own.base] if own.base is not None else list(own.ports)
        yield from (name for name in lower if name not in seen)


def _around(interface: Interface | None) -> tuple[Encapsulation, ...]:
    if interface is None:
        return ()
    settings = dict(interface.settings)
    if interface.kind == "vlan":
        return (Encapsulation("vlan"),)
    if interface.kind == "vxlan" or interface.kind == "geneve":
        outer = str(settings.get("remote") or settings.get("local") or "")
        return (Encapsulation(interface.kind, "ipv6" if ":" in outer else "ipv4"),)
    return ()
