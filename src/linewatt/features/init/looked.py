# SPDX-License-Identifier: Apache-2.0
"""What a host shows to whoever logs in, and over which interfaces two hosts reach each other. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.errors import ParseError
from linewatt.foreign import read_each_json

SCRIPT = r"""
PATH=$PATH:/usr/sbin:/sbin
echo "user $(id -u)"
sudo -n true 2>/dev/null && echo "sudo yes"
echo "ssh ${SSH_CONNECTION:-}"
[[ -c /dev/ipmi0 ]] && type -P ipmitool >/dev/null && echo "bmc yes"
[[ -r /sys/class/powercap/intel-rapl:0/energy_uj || -d /sys/class/powercap/intel-rapl:0 ]] && echo "rapl yes"
for file in /sys/class/net/*/speed; do
  name=${file%/speed}
  { read -r speed <"$file"; } 2>/dev/null && echo "speed ${name##*/} $speed"
done
echo "addresses"
ip -j -d address show
"""
_VIRTUAL = frozenset({"bridge", "dummy", "ifb", "tun", "vxlan", "wireguard"})
"""kinds of interfaces, as ``ip -d link`` has them, that are no place to load a network card from"""

Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Port:
    """An interface that is up, with its addresses; ``speed_bps``: of its link, where the driver says it."""

    name: str
    addresses: tuple[Address, ...]
    speed_bps: float | None = None
    of_ssh: bool = False


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
    """Interfaces of two hosts in one subnet."""

    sender: Port
    receiver: Port
    network: ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_look(text: str) -> Looked:
    """What :data:`SCRIPT` printed. Raises ParseError."""
    head, mark, listed = text.partition("\naddresses\n")
    if not mark:
        raise ParseError("does not say which interfaces it has")
    said: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        said.setdefault(name, []).append(value)
    words = said.get("ssh", [""])[0].split()
    speeds = dict(line.split() for line in said.get("speed", []))
    entries = [entry for value in read_each_json(listed, "ip") for entry in value if entry]
    return Looked(
        tuple(_ports(entries, speeds, words[2] if len(words) == 4 else None)),
        is_root=said.get("user") == ["0"],
        sudo="sudo" in said,
        bmc="bmc" in said,
        rapl="rapl" in said,
    )


def _ports(entries: Sequence[Any], speeds: Mapping[str, str], of_ssh: str | None) -> Iterator[Port]:
    for entry in entries:
        kind = entry.get("linkinfo", {}).get("info_kind")
        if entry.get("link_type") != "ether" or "UP" not in entry["flags"] or kind in _VIRTUAL:
            continue
        addresses = tuple(
            ipaddress.ip_interface(f"{each['local']}/{each['prefixlen']}")
            for each in entry["addr_info"]
            if each.get("scope") == "global"
        )
        if addresses:
            megabits = int(speeds.get(entry["ifname"], -1))
            yield Port(
                entry["ifname"],
                addresses,
                1e6 * megabits if megabits > 0 else None,
                any(str(address.ip) == of_ssh for address in addresses),
            )


def ways(sender: Looked, receiver: Looked) -> list[Way]:
    """Over which interfaces two hosts reach each other without a router: the best first.

    One apart from SSH, then the fastest.
    """
    found = [
        Way(one, other, address.network)
        for one in sender.ports
        for other in receiver.ports
        for address in one.addresses
        if any(address.network == theirs.network for theirs in other.addresses)
    ]
    first: dict[tuple[str, str], Way] = {}
    for way in sorted(found, key=_rank):
        first.setdefault((way.sender.name, way.receiver.name), way)
    return [*first.values()]


def _rank(way: Way) -> tuple[int, float, int, str]:
    speed_bps = min(way.sender.speed_bps or 0.0, way.receiver.speed_bps or 0.0)
    return (
        way.sender.of_ssh + way.receiver.of_ssh,
        -speed_bps,
        way.network.version,
        f"{way.sender.name} {way.receiver.name}",
    )
