# SPDX-License-Identifier: Apache-2.0
"""What a host shows to whoever logs in, and over which interfaces two hosts reach each other. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.errors import ParseError
from linewatt.foreign import read_each_json, understood

SCRIPT = r"""
PATH=$PATH:/usr/sbin:/sbin
echo "user $(id -u)"
sudo -n true 2>/dev/null && echo "sudo yes"
echo "ssh ${SSH_CONNECTION:-}"
[[ -c /dev/ipmi0 ]] && type -P ipmitool >/dev/null && echo "bmc yes"
[[ -d /sys/class/powercap/intel-rapl:0 ]] && echo "rapl yes"
for file in /sys/class/net/*/speed; do
  name=${file%/speed}
  { read -r speed <"$file"; } 2>/dev/null && echo "speed ${name##*/} $speed"
done
echo "addresses"
ip -j -d address show
"""
_VIRTUAL = frozenset({"dummy", "ifb", "tun", "vxlan", "wireguard"})
"""kinds of interfaces, as ``ip -d link`` has them, that are no place to load a network card from"""
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}"
"""of interfaces; one that is called otherwise is left out: it would have to be written into a file"""

Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Port:
    """An interface with a carrier, and its addresses; ``speed_bps``: of its link, where that is known."""

    name: str
    addresses: tuple[Address, ...]
    speed_bps: float | None = None
    of_ssh: bool = False
    is_bridge: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """A host as it was seen. ``sudo``: without a password; ``bmc``: through ``/dev/ipmi0``."""

    ports: tuple[Port, ...]
    is_root: bool = False
    sudo: bool = False
    bmc: bool = False
    rapl: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """Interfaces of two hosts with addresses in one subnet."""

    sender: Port
    receiver: Port
    sender_address: Address
    receiver_address: Address


def parse_look(text: str) -> Looked:
    """What :data:`SCRIPT` printed. Raises ParseError."""
    return understood(lambda: _looked(text), "what it says of its interfaces")


def _looked(text: str) -> Looked:
    head, _, listed = text.partition("\naddresses\n")
    values_by_word: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        values_by_word.setdefault(name, []).append(value)
    words = values_by_word.get("ssh", [""])[0].split()
    speeds = dict(line.split() for line in values_by_word.get("speed", []))
    entries = [entry for value in read_each_json(listed, "ip") for entry in value if entry]
    if not entries:
        raise ParseError("`ip -j address` shows none: iproute2 4.13 or newer is needed there")
    return Looked(
        tuple(_ports(entries, speeds, words[2] if len(words) == 4 else None)),
        is_root=values_by_word.get("user") == ["0"],
        sudo="sudo" in values_by_word,
        bmc="bmc" in values_by_word,
        rapl="rapl" in values_by_word,
    )


def _ports(entries: Sequence[Any], speeds: Mapping[str, str], of_ssh: str | None) -> Iterator[Port]:
    for entry in entries:
        name, kind = entry["ifname"], entry.get("linkinfo", {}).get("info_kind")
        has_carrier = entry.get("link_type") == "ether" and "LOWER_UP" in entry["flags"]
        if not has_carrier or kind in _VIRTUAL or not re.fullmatch(_NAME, name, re.ASCII):
            continue
        addresses = tuple(
            ipaddress.ip_interface(f"{listed_address['local']}/{listed_address['prefixlen']}")
            for listed_address in entry["addr_info"]
            if listed_address.get("scope") == "global" and "%" not in listed_address["local"]
        )
        addresses = tuple(address for address in addresses if not address.is_link_local)
        if addresses:
            megabits = int(speeds.get(name, -1))
            yield Port(
                name,
                addresses,
                1e6 * megabits if megabits > 0 else None,
                any(str(address.ip) == of_ssh for address in addresses),
                kind == "bridge",
            )


def ways(sender: Looked, receiver: Looked) -> list[Way]:
    """Over which interfaces two hosts reach each other without a router: the best first.

    Apart from SSH, through no bridge, then the fastest.
    """
    unranked_ways = [
        Way(sender_port, receiver_port, sender_address, receiver_address)
        for sender_port in sender.ports
        for receiver_port in receiver.ports
        for sender_address in sender_port.addresses
        for receiver_address in receiver_port.addresses
        if sender_address.network == receiver_address.network and sender_address.ip != receiver_address.ip
    ]
    way_of_ports: dict[tuple[str, str], Way] = {}
    for way in sorted(unranked_ways, key=_rank):
        way_of_ports.setdefault((way.sender.name, way.receiver.name), way)
    return [*way_of_ports.values()]


def is_one_host(sender: Looked, receiver: Looked) -> bool:
    """Whether both names led to the same host: all its addresses are the other's."""
    sender_ips, receiver_ips = (
        {address.ip for port in host.ports for address in port.addresses} for host in (sender, receiver)
    )
    return bool(sender_ips) and sender_ips == receiver_ips


def _rank(way: Way) -> tuple[int, int, float, int, str]:
    speed_bps = min(way.sender.speed_bps or 0.0, way.receiver.speed_bps or 0.0)
    return (
        way.sender.of_ssh + way.receiver.of_ssh,
        way.sender.is_bridge + way.receiver.is_bridge,
        -speed_bps,
        way.sender_address.version,
        f"{way.sender.name} {way.receiver.name}",
    )
