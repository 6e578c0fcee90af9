# SPDX-License-Identifier: Apache-2.0
"""Interfaces, addresses and routes of one host as plain values."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Literal

from linewatt.model import Family

Kind = Literal["ethernet", "veth", "vxlan", "vlan", "bond", "linux-bridge", "geneve", "mac-vlan", "dummy"]
"""``type`` of an interface as NMState names it; ``ethernet`` is one that the host has already"""

Setting = tuple[tuple[str, str | int | bool], ...]
MAIN_TABLE = 254


@dataclass(frozen=True, slots=True)
class InterfaceAddress:
    """An address on an interface, in its shortest spelling."""

    interface: str
    address: str
    prefix_length: int

    @property
    def family(self) -> Family:
        return "ipv6" if ":" in self.address else "ipv4"

    @property
    def subnet(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(f"{self.address}/{self.prefix_length}", strict=False)


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface that a host is to show.

    ``settings`` is what makes it the interface it is and cannot be changed later (VNI, mode), ``options``
    what a bridge or a bond can also be told; both by the names that ``ip -j -d link`` shows them with.
    ``mtu`` None: what the kernel gives it, or what it has. ``base`` is the interface below it.
    """

    name: str
    kind: Kind
    state: Literal["up", "down", "absent"] = "up"
    mtu: int | None = None
    addresses: tuple[InterfaceAddress, ...] = ()
    base: str | None = None
    ports: tuple[str, ...] = ()
    peer: str | None = None
    settings: Setting = ()
    options: Setting = ()

    @property
    def is_made(self) -> bool:
        """Whether linewatt makes it, rather than finding it on the host."""
        return self.kind != "ethernet" and self.state == "up"


@dataclass(frozen=True, slots=True)
class Route:
    """A static route; ``state`` absent: one that the host has and is not to show."""

    destination: str
    interface: str
    gateway: str | None = None
    metric: int | None = None
    table: int = MAIN_TABLE
    state: Literal["up", "absent"] = "up"

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(self.destination)

    @property
    def family(self) -> Family:
        return "ipv6" if ":" in self.destination else "ipv4"
