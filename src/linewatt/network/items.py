# SPDX-License-Identifier: Apache-2.0
"""What of a host a network manages, item by item: the keys of a setting and what each is to show. Pure.

A key is a readable word: ``link:vxlan0``, ``address:vxlan0/198.18.100.1/24``. Their order is the one in which
things are made: what is needed, interfaces from the ground up, what is set on them, addresses, routes.

========== ============================= =================================================================
key        names                         shows, where it is there
========== ============================= =================================================================
``need``   an interface of the host      the MTUs that its device takes, ``68-9978``
``lost``   an interface that goes down   what would not come back with it; must be nothing
``gone``   an interface to remove        all that it takes to make it again
``link``   an interface to make          its state (:mod:`linewatt.network.kinds`)
``option`` ``<interface>/<option>``      the value
``master`` a port                        its bridge or bond; empty without one
``mtu``    an interface                  bytes
``up``     an interface                  true or false
``address`` ``<interface>/<ip>/<length>`` the interface and length that it has there
``route``  ``<network>@<interface>``     what it is made of; ``,table=`` and ``,metric=`` may follow
========== ============================= =================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.errors import ChangeError
from linewatt.network.interfaces import MAIN_TABLE, Interface, InterfaceAddress, Route
from linewatt.network.kinds import wanted_state
from linewatt.tuning import checked_interface as interface_name

ORDER = ("need", "lost", "gone", "link", "option", "master", "mtu", "up", "address", "route")
SMALLEST_WITH_IPV6 = 1280
"""below it Linux takes IPv6 off an interface (kernel, addrconf_notify; RFC 8200)"""


@dataclass(frozen=True, slots=True)
class Key:
    """One managed item: its kind, the interface, and what else names it."""

    kind: str
    interface: str
    detail: str = ""

    def __str__(self) -> str:
        if self.kind == "route":
            return f"route:{self._network}@{self.interface}{self._suffix}"
        return (
            f"{self.kind}:{self.interface}/{self.detail}" if self.detail else f"{self.kind}:{self.interface}"
        )

    @property
    def _network(self) -> str:
        return self.detail.partition(",")[0]

    @property
    def _suffix(self) -> str:
        _, comma, attributes = self.detail.partition(",")
        return comma + attributes

    @property
    def route(self) -> Route:
        """The route that is named. Raises ValueError."""
        words = dict(word.split("=", 1) for word in self._suffix.split(",") if word)
        metric = words.get("metric")
        table = int(words.get("table", MAIN_TABLE))
        return Route(self._network, self.interface, None, None if metric is None else int(metric), table)

    @property
    def address(self) -> InterfaceAddress:
        """The address that is named. Raises ValueError."""
        address, _, length = self.detail.partition("/")
        return InterfaceAddress(self.interface, address, int(length))


def parse_network_key(word: str) -> Key:
    """Raises ChangeError if it is none of a network."""
    kind, _, subject = word.partition(":")
    if kind == "route":
        network, _, tail = subject.rpartition("@")
        name, comma, suffix = tail.partition(",")
        key = Key(kind, name, network + comma + suffix)
    else:
        name, _, more = subject.partition("/")
        key = Key(kind, name, more)
    try:
        if kind == "route":
            _ = key.route.network
        elif kind == "address":
            _ = key.address.subnet
        elif kind not in ORDER or bool(key.detail) != (kind == "option"):
            raise ValueError
    except ValueError:
        raise ChangeError(f"{word!r} names nothing of a network; write it like link:vxlan0") from None
    interface_name(key.interface)
    return key


def route_key(route: Route) -> Key:
    """The key of a route, by which :attr:`Key.route` finds it again."""
    detail = route.destination
    if route.table != MAIN_TABLE:
        detail += f",table={route.table}"
    if route.metric is not None:
        detail += f",metric={route.metric}"
    return Key("route", route.interface, detail)


def items(interfaces: Sequence[Interface], routes: Sequence[Route]) -> dict[str, Any]:
    """Key → what it is to show, in the order of making. ``True`` for what only has to be there."""
    items_by_key: dict[str, Any] = {}
    for key, value in _items(interfaces, routes):
        items_by_key.setdefault(str(key), value)
    return dict(sorted(items_by_key.items(), key=lambda item: ORDER.index(item[0].partition(":")[0])))


def _items(interfaces: Sequence[Interface], routes: Sequence[Route]) -> Iterator[tuple[Key, Any]]:
    made_names = {interface.name for interface in interfaces if interface.is_made}
    made_names |= {
        interface.peer for interface in interfaces if interface.is_made and interface.peer is not None
    }
    described_names = {interface.name for interface in interfaces}
    for interface in interfaces:
        yield from _interface_items(interface, made_names, described_names)
    for route in routes:
        yield from _route_items(route, made_names)


def _interface_items(
    interface: Interface, made_names: set[str], described_names: set[str]
) -> Iterator[tuple[Key, Any]]:
    if interface.state == "absent":
        yield Key("gone", interface.name), None
        return
    if interface.kind == "ethernet":
        yield Key("need", interface.name), True
    else:
        yield Key("link", interface.name), wanted_state(interface)
    if interface.base is not None and interface.base not in made_names:
        yield Key("need", interface.base), True
    if interface.peer is not None and interface.peer not in described_names:
        yield Key("link", interface.peer), {"kind": "veth", "peer": interface.name}
        yield Key("up", interface.peer), True
    for option, value in interface.options:
        yield Key("option", interface.name, option), value
    yield from _port_items(interface, made_names)
    loses = interface.kind == "ethernet" and (
        interface.state == "down" or (interface.mtu is not None and interface.mtu < SMALLEST_WITH_IPV6)
    )
    if loses:
        yield Key("lost", interface.name), []
    if interface.mtu is not None:
        yield Key("mtu", interface.name), interface.mtu
    yield Key("up", interface.name), interface.state == "up"
    for address in interface.addresses:
        value = f"{interface.name}/{address.prefix_length}"
        yield Key("address", interface.name, f"{address.address}/{address.prefix_length}"), value


def _port_items(interface: Interface, made_names: set[str]) -> Iterator[tuple[Key, Any]]:
    for port in interface.ports:
        if port not in made_names:
            yield Key("need", port), True
            if interface.kind == "bond":  # a bond takes only what is down
                yield Key("lost", port), []
        yield Key("master", port), interface.name
        yield Key("up", port), True


def _route_items(route: Route, made_names: set[str]) -> Iterator[tuple[Key, Any]]:
    if route.interface not in made_names:
        yield Key("need", route.interface), True
    value: dict[str, Any] | None = {"protocol": "static"}
    if route.gateway is not None:
        value = {"protocol": "static", "via": route.gateway}
    yield route_key(route), None if route.state == "absent" else value
