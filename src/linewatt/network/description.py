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

NETWORK_KNOB = "network"
ETHERNET_MTU = 1500
_TAGS = ("vlan", "mac-vlan")
"""kinds whose packets are as large as those of their base"""


@dataclass(frozen=True, slots=True)
class HostNetwork:
    """Interfaces in the order they are made, the lower first, and static routes of one host."""

    host: str
    interfaces: tuple[Interface, ...] = ()
    routes: tuple[Route, ...] = ()

    def interface(self, name: str) -> Interface | None:
        return next((candidate for candidate in self.interfaces if candidate.name == name), None)

    def addresses(self, family: Family) -> tuple[InterfaceAddress, ...]:
        """Addresses of interfaces that are up, in the document's order."""
        return tuple(
            address
            for interface in self.interfaces
            if interface.state == "up"
            for address in interface.addresses
            if address.family == family
        )

    def change(self) -> tuple[str, str, str]:
        """Knob, target and value that make the host show it."""
        wanted_items = items(self.interfaces, self.routes)
        return NETWORK_KNOB, " ".join(wanted_items), canonical(wanted_items)

    def mtu(self, interface: str, physical_mtu: int) -> int:
        """MTU of an interface, where the document leaves it out as the kernel gives it.

        ``physical_mtu`` is the MTU of the host's own interfaces, which carry the others. Interfaces are
        made before any MTU is set, so they start with the MTU that their base had. VLAN and MACVLAN
        interfaces also follow their base when its MTU is lowered later.
        """
        described = self.interface(interface)
        if described is None or described.mtu is not None:
            return physical_mtu if described is None or described.mtu is None else described.mtu
        if described.kind == "linux-bridge":
            return min((self.mtu(port, physical_mtu) for port in described.ports), default=ETHERNET_MTU)
        first = self._first_mtu(described, physical_mtu)
        return (
            min(first, self.mtu(described.base, physical_mtu))
            if described.kind in _TAGS and described.base
            else first
        )

    def _first_mtu(self, described: Interface | None, physical_mtu: int) -> int:
        """What the kernel gives an interface when it is made (its drivers/net, and net/8021q)."""
        if described is None or described.kind == "ethernet":
            return physical_mtu
        if described.kind in _TAGS and described.base is not None:
            return self._first_mtu(self.interface(described.base), physical_mtu)
        if described.kind == "geneve":  # by the route to its remote end
            return physical_mtu - _around(described)[0].header_bytes
        if described.kind == "vxlan" and described.base is not None:
            return (
                self._first_mtu(self.interface(described.base), physical_mtu)
                - _around(described)[0].header_bytes
            )
        return ETHERNET_MTU

    def encapsulations(self, interface: str, data: str) -> tuple[Encapsulation, ...]:
        """What is put around packets on the way down from an interface, innermost first.

        ``data`` is the host's data interface, where it is to end: where ports and peers leave a choice, the
        way that leads there is taken, and a tunnel that names no interface below it runs over that.
        """
        ways = list(self._ways_down(interface, data, frozenset()))
        return next((way for way in ways if way[0] == data), ways[0])[1]

    def _ways_down(
        self, name: str, data: str, seen: frozenset[str]
    ) -> Iterator[tuple[str, tuple[Encapsulation, ...]]]:
        upper = self.interface(name)
        below = [] if upper is None or name == data else list(self._below(upper, data, seen))
        if not below:
            yield name, ()
        for lower in below:
            for base, lower_encapsulations in self._ways_down(lower, data, seen | {name}):
                yield base, (*_around(upper), *lower_encapsulations)

    def _below(self, upper: Interface, data: str, seen: frozenset[str]) -> Iterator[str]:
        """Names of the interfaces that carry an interface's packets next, without those in ``seen``."""
        if upper.kind == "veth" and upper.peer is not None:
            # Behind a pair's other end goes on whatever has that end as a port
            lower = [interface.name for interface in self.interfaces if upper.peer in interface.ports]
            seen = seen | {upper.peer}
        elif upper.kind in ("vxlan", "geneve"):
            lower = [upper.base or data]
        else:
            lower = [upper.base] if upper.base is not None else list(upper.ports)
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
