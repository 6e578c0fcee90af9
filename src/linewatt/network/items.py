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
from linewatt.tuning.commands import interface as interface_name

ORDER = ("need", "lost", "gone", "link", "option", "master", "mtu", "up", "address", "route")
SMALLEST_WITH_IPV6 = 1280
"""below it Linux takes IPv6 off an interface (kernel, addrconf_notify; RFC 8200)"""


@dataclass(frozen=True, slots=True)
class Key:
    """One managed item: its kind, the interface, and what else names it."""

    kind: str
    interface: str
    rest: str = ""

    def __str__(self) -> str:
        if self.kind == "route":
            return f"route:{self._network}@{self.interface}{self._suffix}"
        return f"{self.kind}:{self.interface}/{self.rest}" if self.rest else f"{self.kind}:{self.interface}"

    @property
    def _network(self) -> str:
        return self.rest.partition(",")[0]

    @property
    def _suffix(self) -> str:
        _, comma, rest = self.rest.partition(",")
        return comma + rest

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
        address, _, length = self.rest.partition("/")
        return InterfaceAddress(self.interface, address, int(length))


def parse_key(word: str) -> Key:
    """Raises ChangeError if it is none of a network."""
    kind, _, rest = word.partition(":")
    if kind == "route":
        network, _, tail = rest.rpartition("@")
        name, comma, suffix = tail.partition(",")
        key = Key(kind, name, network + comma + suffix)
    else:
        name, _, more = rest.partition("/")
        key = Key(kind, name, more)
    try:
        if kind == "route":
            _ = key.route.network
        elif kind == "address":
            _ = key.address.subnet
        elif kind not in ORDER or bool(key.rest) != (kind == "option"):
            raise ValueError
    except ValueError:
        raise ChangeError(f"{word!r} names nothing of a network; write it like link:vxlan0") from None
    interface_name(key.interface)
    return key


def items(interfaces: Sequence[Interface], routes: Sequence[Route]) -> dict[str, Any]:
    """Key → what it is to show, in the order of making. ``True`` for what only has to be there."""
    items_by_key: dict[str, Any] = {}
    for key, value in _items(interfaces, routes):
        items_by_key.setdefault(str(key), value)
    return dict(sorted(items_by_key.items(), key=lambda item: ORDER.index(item[0].partition(":")[0])))


def _items(interfaces: Sequence[Interface], routes: Sequence[Route]) -> Iterator[tuple[Key, Any]]:
    made = {one.name for one in interfaces if one.is_made}
    made |= {one.peer for one in interfaces if one.is_made and one.peer is not None}
    named = {one.name for one in interfaces}
    for one in interfaces:
        yield from _interface_items(one, made, named)
    for route in routes:
        yield from _route_items(route, made)


def _interface_items(one: Interface, made: set[str], named: set[str]) -> Iterator[tuple[Key, Any]]:
    if one.state == "absent":
        yield Key("gone", one.name), None
        return
    if one.kind == "ethernet":
        yield Key("need", one.name), True
    else:
        yield Key("link", one.name), wanted_state(one)
    if one.base is not None and one.base not in made:
        yield Key("need", one.base), True
    if one.peer is not None and one.peer not in named:
        yield Key("link", one.peer), {"kind": "veth", "peer": one.name}
        yield Key("up", one.peer), True
    for option, value in one.options:
        yield Key("option", one.name, option), value
    yield from _port_items(one, made)
    loses = one.kind == "ethernet" and (
        one.state == "down" or (one.mtu is not None and one.mtu < SMALLEST_WITH_IPV6)
    )
    if loses:
        yield Key("lost", one.name), []
    if one.mtu is not None:
        yield Key("mtu", one.name), one.mtu
    yield Key("up", one.name), one.state == "up"
    for address in one.addresses:
        value = f"{one.name}/{address.prefix_length}"
        yield Key("address", one.name, f"{address.address}/{address.prefix_length}"), value


def _port_items(one: Interface, made: set[str]) -> Iterator[tuple[Key, Any]]:
    for port in one.ports:
        if port not in made:
            yield Key("need", port), True
            if one.kind == "bond":  # a bond takes only what is down
                yield Key("lost", port), []
        yield Key("master", port), one.name
        yield Key("up", port), True


def _route_items(route: Route, made: set[str]) -> Iterator[tuple[Key, Any]]:
    if route.interface not in made:
        yield Key("need", route.interface), True
    rest = route.destination
    if route.table != MAIN_TABLE:
        rest += f",table={route.table}"
    if route.metric is not None:
        rest += f",metric={route.metric}"
    value: dict[str, Any] | None = {"protocol": "static"}
    if route.gateway is not None:
        value = {"protocol": "static", "via": route.gateway}
    yield Key("route", route.interface, rest), None if route.state == "absent" else value
