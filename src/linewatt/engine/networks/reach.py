# SPDX-License-Identifier: Apache-2.0
"""That no network takes away the interface by which linewatt reaches a host: nobody could put that back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linewatt.errors import ChangeError, ParseError
from linewatt.foreign import read_json
from linewatt.hosts import Host
from linewatt.network import HostNetwork

LIMIT_S = 10.0
_TAGS = ("vlan", "macvlan", "macvtap", "ipvlan")
"""kinds whose packets leave by the interface that ``link`` names"""

# First the client's address and port, and the server's (sshd(8), SSH_CONNECTION)
_ASK = """PATH=$PATH:/usr/sbin:/sbin; echo "$SSH_CONNECTION"; exec ip -j -d address show"""


async def check_reach(described: Mapping[str, Mapping[str, HostNetwork]], hosts: Mapping[str, Host]) -> None:
    """Raises ChangeError naming host, network and interface; HostError. ``described``: network → host."""
    await asyncio.gather(*(_check(host, name, described) for name, host in hosts.items()))


async def _check(host: Host, name: str, described: Mapping[str, Mapping[str, HostNetwork]]) -> None:
    taken = {
        (network, interface, how)
        for network, shown in described.items()
        if name in shown
        for interface, how in _taken(shown[name])
    }
    if not taken:
        return
    done = await host.run(["env", "LC_ALL=C", "bash", "-c", _ASK], timeout_s=LIMIT_S)
    address, carrying = reached_by(done.stdout)
    for network, interface, how in sorted(taken):
        if interface in carrying:
            raise ChangeError(
                f"network {network} {how}, but linewatt reaches the host at {address} through {interface} "
                "and would cut itself off; take another interface, or reach it another way",
                where=name,
            )


def _taken(network: HostNetwork) -> Iterator[tuple[str, str]]:
    """Interfaces of a host that no longer carry addresses of their own, and what becomes of them."""
    for interface in network.interfaces:
        if interface.state != "up":
            yield interface.name, f"takes {interface.name} {'down' if interface.state == 'down' else 'away'}"
        for port in interface.ports:
            yield port, f"makes {port} a port of {interface.name}"


def reached_by(output: str) -> tuple[str, frozenset[str]]:
    """The address that the connection came to, and what carries it; nothing where it is not told."""
    first, _, link_json = output.partition("\n")
    words = first.split()
    address, _, zone = words[2].partition("%") if len(words) == 4 else ("", "", "")
    try:
        links: Sequence[Mapping[str, Any]] = read_json(link_json, "ip")
        interfaces = [
            str(link["ifname"])
            for link in links
            if link.get("ifname") == zone
            or any(address_info.get("local") == address for address_info in link["addr_info"])
        ]
    except (ParseError, KeyError, TypeError, AttributeError):
        return address, frozenset()
    return address, frozenset(_below(interfaces, {str(link.get("ifname")): link for link in links}))


def _below(names: Sequence[str], links: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """These interfaces, what they tag packets of, and their ports, down to the ground."""
    interfaces: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in interfaces and name in links:
            interfaces.add(name)
            pending += [port for port, link in links.items() if link.get("master") == name]
            if links[name].get("linkinfo", {}).get("info_kind") in _TAGS:
                pending.append(str(links[name].get("link")))
    return interfaces
