# SPDX-License-Identifier: Apache-2.0
"""What takes more than one value of a document to judge; each check yields (path, what is wrong). Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from linewatt.document import AboutKey, KeyPath
from linewatt.network import schema
from linewatt.network.build import interface_of, lower_names
from linewatt.network.interfaces import Interface
from linewatt.network.items import SMALLEST_WITH_IPV6
from linewatt.network.schema import Finding

_SECTIONS = {
    "veth": ("veth", "veth: {peer: veth1}"),
    "vxlan": ("vxlan", "vxlan: {id: 100, base-iface: eth1, remote: 192.0.2.2}"),
    "vlan": ("vlan", "vlan: {id: 100, base-iface: eth1}"),
    "bond": ("link-aggregation", "link-aggregation: {mode: 802.3ad, port: [eth1, eth2]}"),
    "geneve": ("geneve", "geneve: {id: 100, remote: 192.0.2.2}"),
    "mac-vlan": ("mac-vlan", "mac-vlan: {base-iface: eth1, mode: bridge}"),
}
"""``type`` → the key with what it is made of, and an example"""


def check_state(state: schema.NetworkState, at: KeyPath = ()) -> Iterator[Finding]:
    """What is wrong with one host's document."""
    plain = [interface_of(entry) for entry in state.interfaces]
    yield from _check_names(plain, at)
    for index, entry in enumerate(state.interfaces):
        where = (*at, "interfaces", index)
        yield from _check_section(entry, where)
        yield from _check_addresses(entry, where)
        if isinstance(entry, schema.VxlanInterface) and entry.vxlan is not None:
            yield from _check_vxlan(entry.vxlan, (*where, "vxlan"))
    yield from _check_below(plain, at)
    yield from _check_ports(plain, at)
    yield from _check_twice(plain, at)
    yield from _check_routes(state, plain, at)


def check_hosts(states: Mapping[str, tuple[schema.NetworkState, KeyPath]]) -> Iterator[Finding]:
    """Check that no two hosts have the same address. ``states``: host → document and its key path."""
    first: dict[str, str] = {}
    for host, (state, at) in states.items():
        for index, entry in enumerate(state.interfaces):
            for address in interface_of(entry).addresses if entry.state == "up" else ():
                first_host = first.setdefault(address.address, host)
                if first_host != host:
                    path = (*at, "interfaces", index, address.family)
                    yield (
                        path,
                        f"{address.address} is also an address of host {first_host}; give each its own",
                    )


def _check_names(plain: Sequence[Interface], at: KeyPath) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, interface in enumerate(plain):
        if first.setdefault(interface.name, index) != index:
            text = (
                f"{interface.name} is interfaces[{first[interface.name]}] already; describe an interface once"
            )
            yield (*at, "interfaces", index, "name"), text


def _check_section(entry: schema.AnyInterface, where: KeyPath) -> Iterator[Finding]:
    """Check that an interface has its section, and can be in the requested state."""
    section = _SECTIONS.get(entry.type)
    if entry.state == "up" and section is not None and getattr(entry, section[0].replace("-", "_")) is None:
        yield (*where, section[0]), AboutKey(f"is missing; add it, for example `{section[1]}`")
    if entry.type == "ethernet" and entry.state == "absent":
        yield (*where, "state"), "cannot be absent: the host has it; write down, or take the interface out"
    if entry.type != "ethernet" and entry.state == "down":
        yield (
            (*where, "state"),
            "down is not supported for virtual interfaces: write absent, or remove the key",
        )
    if entry.state == "absent" and entry.type in ("veth", "bond"):
        text = (
            f"cannot be absent: linewatt could not make the {entry.type} again as it was; remove it by hand"
        )
        yield (*where, "state"), text
    mac_vlan = entry.mac_vlan if isinstance(entry, schema.MacVlanInterface) else None
    if mac_vlan is not None and not mac_vlan.promiscuous and mac_vlan.mode != "passthru":
        yield (*where, "mac-vlan", "promiscuous"), "may be false in the mode passthru only"


def _check_addresses(entry: schema.AnyInterface, where: KeyPath) -> Iterator[Finding]:
    for family, part, bits in (("ipv4", entry.ipv4, 32), ("ipv6", entry.ipv6, 128)):
        for index, address in enumerate(part.address):
            path = (*where, family, "address", index)
            version = "ipv6" if ":" in address.ip else "ipv4"
            if version != family:
                yield (*path, "ip"), f"{address.ip} is {version}; move it there"
            elif address.prefix_length > bits:
                text = f"must be at most {bits} with {family}, got {address.prefix_length}"
                yield (*path, "prefix-length"), text
        if part.address and not part.enabled:
            yield (*where, family, "enabled"), "is false, but there are addresses; take one of them out"
        if part.address and entry.state != "up":
            yield (*where, family), f"has addresses, but the interface is {entry.state}; take one of them out"
    if entry.mtu is not None and entry.mtu < SMALLEST_WITH_IPV6 and entry.ipv6.enabled and entry.ipv6.address:
        yield (*where, "mtu"), f"must be at least {SMALLEST_WITH_IPV6} with IPv6, got {entry.mtu}"


def _check_vxlan(vxlan: schema.Vxlan, where: KeyPath) -> Iterator[Finding]:
    remote, local = (None if ip is None else ipaddress.ip_address(ip) for ip in (vxlan.remote, vxlan.local))
    if remote is not None and local is not None and remote.version != local.version:
        yield (*where, "local"), f"{local} and the remote {remote} must be of one family"
    if remote is not None and remote == local:
        yield (*where, "remote"), f"{remote} is the local address too; name the peer's"
    if remote is not None and remote.is_multicast and vxlan.base_iface is None:
        yield (
            (*where, "base-iface"),
            AboutKey("is missing; a multicast remote needs the interface it is reached through"),
        )
    if remote is not None and remote.is_unspecified:
        yield (*where, "remote"), "must be an address of a peer, or a multicast group"


def _check_below(plain: Sequence[Interface], at: KeyPath) -> Iterator[Finding]:
    """Check lower interfaces: no loops, none that is removed or down, none with a smaller MTU."""
    by_name = {interface.name: interface for interface in plain}
    for index, interface in enumerate(plain):
        where = (*at, "interfaces", index)
        section = _SECTIONS.get(interface.kind, ("bridge", ""))[0]
        key = (*where, section, "port") if interface.ports else (*where, section, "base-iface")
        if interface.name in lower_names(interface):
            yield key, f"{interface.name} cannot stand on itself"
        elif loop := _loop(interface, by_name):
            yield key, f"makes a loop: {' on '.join(loop)}"
        if interface.peer == interface.name:
            yield (*where, "veth", "peer"), f"{interface.name} cannot be its own peer; name the other end"
        peer = by_name.get(interface.peer or "")
        if peer is not None and peer is not interface and (peer.kind, peer.peer) != ("veth", interface.name):
            yield (*where, "veth", "peer"), f"{peer.name} is not a veth with the peer {interface.name}"
        for lower in lower_names(interface):
            gone = by_name.get(lower)
            if gone is not None and gone.state != "up":
                yield key, f"{lower} is {gone.state} in this document"
            elif (
                gone is not None
                and interface.base
                and interface.mtu
                and gone.mtu
                and interface.mtu > gone.mtu
            ):
                text = f"must be at most {gone.mtu}, the MTU of {lower} below it, got {interface.mtu}"
                yield (*where, "mtu"), text


def _loop(interface: Interface, by_name: Mapping[str, Interface]) -> list[str]:
    """Names from an interface down to itself; empty without a loop."""

    def search(name: str, way: list[str]) -> list[str]:
        below = by_name.get(name)
        for lower in () if below is None else lower_names(below):
            if lower == interface.name:
                return [*way, lower]
            if lower not in way and (circle := search(lower, [*way, lower])):
                return circle
        return []

    return search(interface.name, [interface.name])


def _check_ports(plain: Sequence[Interface], at: KeyPath) -> Iterator[Finding]:
    master: dict[str, str] = {}
    by_name = {interface.name: index for index, interface in enumerate(plain)}
    for index, interface in enumerate(plain):
        section = "link-aggregation" if interface.kind == "bond" else "bridge"
        for number, port in enumerate(interface.ports):
            path = (*at, "interfaces", index, section, "port", number)
            if port in interface.ports[:number]:
                yield path, f"{port} is named twice; name it once"
            elif master.setdefault(port, interface.name) != interface.name:
                yield path, f"{port} is a port of {master[port]} already"
            if port in by_name and plain[by_name[port]].addresses:
                family = plain[by_name[port]].addresses[0].family
                text = (
                    f"{port} is a port of {interface.name}, which is to have the addresses; move them there"
                )
                yield (*at, "interfaces", by_name[port], family), text


def _check_twice(plain: Sequence[Interface], at: KeyPath) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for index, interface in enumerate(plain):
        for address in interface.addresses:
            path = (*at, "interfaces", index, address.family)
            if address.address in first:
                yield path, f"{address.address} is an address of {first[address.address]} already"
            first.setdefault(address.address, interface.name)


def _check_routes(state: schema.NetworkState, plain: Sequence[Interface], at: KeyPath) -> Iterator[Finding]:
    by_name = {entry.name: entry for entry in plain}
    seen: dict[tuple[str, int | None, int | None], int] = {}
    for index, route in enumerate(state.routes.config):
        path = (*at, "routes", "config", index)
        network = ipaddress.ip_network(route.destination)
        hop = route.next_hop_address
        if hop is not None and ipaddress.ip_address(hop).version != network.version:
            yield (*path, "next-hop-address"), f"{hop} is of another family than {network}"
        interface = by_name.get(route.next_hop_interface)
        if interface is not None and interface.state != "up" and route.state is None:
            text = f"{interface.name} is {interface.state} in this document, and carries no route"
            yield (*path, "next-hop-interface"), text
        identity = (route.destination, route.metric, route.table_id)
        if route.state is None and seen.setdefault(identity, index) != index:
            text = f"{network} is routes.config[{seen[identity]}] already; give one of them another metric"
            yield (*path, "destination"), text
        subnets = {address.subnet for address in interface.addresses} if interface is not None else set()
        if network in subnets and network.num_addresses > 1 and hop is None and route.state is None:
            text = (
                f"{network} is reached through an address of {route.next_hop_interface}; take the route out"
            )
            yield (*path, "destination"), text
