# SPDX-License-Identifier: Apache-2.0
"""What makes data ports of one subnet carry their own data each.

Of several interfaces in one subnet the kernel sends everything through the first, and lets each answer ARP
for the addresses of all. So each port gets a route to its peer's port, and answers for its own addresses
alone. Where ports are in subnets of their own, or the host routes by source already, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from linewatt.campaign.planning import Plan, Round
from linewatt.engine.live.session import Session
from linewatt.engine.networks.proof import Leg, legs_of_rounds
from linewatt.network import HOST_ROUTE_KNOB, host_route_setting
from linewatt.records import PlaceLine
from linewatt.tuning import Change

WHY_ROUTE = "data ports are in one subnet, and each is to reach its peer's port by itself"
WHY_ARP = "data ports are in one subnet, and each is to answer for its own addresses alone"
ARP = (("arp_ignore", "1"), ("arp_announce", "2"))
"""Answer for addresses of the interface that was asked, and ask from one of the interface that asks. Source:
kernel, Documentation/networking/ip-sysctl.rst"""


def port_changes(
    session: Session, rounds: Iterable[Round], crossed: Mapping[Leg, str], changes: Iterable[Change]
) -> tuple[Change, ...]:
    """What to change on hosts with such ways; ``crossed``: each with the port that its packets would take.

    ``changes``: what the campaign sets itself stays as it asks.
    """
    if not crossed:
        return ()
    taken = {(change.host, change.knob, change.target) for change in changes}
    ways = (leg for leg in legs_of_rounds(session, rounds) if _is_of(leg, crossed))
    route_changes = dict.fromkeys(change for leg in sorted(ways, key=_order) for change in _changes(leg))
    return tuple(change for change in route_changes if (change.host, change.knob, change.target) not in taken)


def _is_of(leg: Leg, crossed: Mapping[Leg, str]) -> bool:
    """The way that is crossed, and that of the port which its packets would take: that may change, too."""
    return leg in crossed or any(
        (leg.way.host, leg.way.peer, leg.way.family, leg.interface)
        == (crossed_leg.way.host, crossed_leg.way.peer, crossed_leg.way.family, through)
        for crossed_leg, through in crossed.items()
    )


def _order(leg: Leg) -> tuple[str, ...]:
    return leg.way.host, leg.way.family, leg.interface, leg.way.address


def _changes(leg: Leg) -> Iterator[Change]:
    way = leg.way
    if way.family == "ipv4":
        for name, value in ARP:
            key = ("net", "ipv4", "conf", leg.interface, name)
            target = ("/" if "." in leg.interface else ".").join(key)
            yield Change(way.host, "sysctl", target, value, WHY_ARP)
    yield Change(
        way.host, HOST_ROUTE_KNOB, way.address, host_route_setting(leg.interface, way.own_address), WHY_ROUTE
    )


def place_lines(changes: Iterable[Change]) -> tuple[PlaceLine, ...]:
    """A line for each host."""
    ports: dict[str, dict[str, None]] = {}
    answering = set()
    for change in changes:
        if change.knob == HOST_ROUTE_KNOB:
            ports.setdefault(change.host, {})[change.value.split()[1]] = None
        else:
            answering.add(change.host)
    return tuple(
        PlaceLine(
            host=host,
            text=f"{' and '.join(host_ports)} are in one subnet: a route to each port of a peer"
            + (", and ARP answered for own addresses alone" if host in answering else ""),
        )
        for host, host_ports in ports.items()
    )


def routed_hosts(plan: Plan) -> frozenset[str]:
    """Hosts whose data ports are only apart once its changes are made."""
    return frozenset(change.host for change in plan.changes if change.knob == HOST_ROUTE_KNOB)
