# SPDX-License-Identifier: Apache-2.0
"""That no network takes away the interface by which linewatt reaches a host: nobody could put that back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linewatt.errors import ChangeError, ParseError
from linewatt.foreign import read_json
from linewatt.hosts.base import Host
from linewatt.network.description import HostNetwork

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
                f"{name}: network {network} {how}, but linewatt reaches the host at {address} through "
                f"{interface} and would cut itself off; take another interface, or reach it another way"
            )


def _taken(network: HostNetwork) -> Iterator[tuple[str, str]]:
    """Interfaces of a host that no longer carry addresses of their own, and what becomes of them."""
    for one in network.interfaces:
        if one.state != "up":
            yield one.name, f"takes {one.name} {'down' if one.state == 'down' else 'away'}"
        for port in one.ports:
            yield port, f"makes {port} a port of {one.name}"


def reached_by(output: str) -> tuple[str, frozenset[str]]:
    """The address that the connection came to, and what carries it; nothing where it is not told."""
    first, _, rest = output.partition("\n")
    words = first.split()
    address, _, zone = words[2].partition("%") if len(words) == 4 else ("", "", "")
    try:
        links: Sequence[Mapping[str, Any]] = read_json(rest, "ip")
        interfaces = [
            str(link["ifname"])
            for link in links
            if link.get("ifname") == zone or any(one.get("local") == address for one in link["addr_info"])
        ]
    except (ParseError, KeyError, TypeError, AttributeError):
        return address, frozenset()
    return address, frozenset(_below(interfaces, {str(link.get("ifname")): link for link in links}))


def _below(names: Sequence[str], links: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """These interfaces, what they tag packets of, and their ports, down to the ground."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found and name in links:
            found.add(name)
            left += [other for other, link in links.items() if link.get("master") == name]
            if links[name].get("linkinfo", {}).get("info_kind") in _TAGS:
                left.append(str(links[name].get("link")))
    return found
