# SPDX-License-Identifier: Apache-2.0
"""From an NMState document to what a host is to show. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from linewatt.network import schema
from linewatt.network.description import HostNetwork
from linewatt.network.interfaces import MAIN_TABLE, Interface, InterfaceAddress, Route, Setting
from linewatt.network.kinds import GENEVE_PORT, VXLAN_PORT


def describe_network(state: schema.NetworkState, host: str) -> HostNetwork:
    """What ``host`` is to show; ``state`` has passed :func:`linewatt.network.checks.check_state`."""
    interfaces = [interface_of(entry) for entry in state.interfaces]
    routes = tuple(_route(entry) for entry in state.routes.config)
    return HostNetwork(host, tuple(in_order(interfaces)), routes)


def in_order(interfaces: Sequence[Interface]) -> Iterator[Interface]:
    """Each interface after its lower interfaces, otherwise in the given order. Loops are cut."""
    by_name = {interface.name: interface for interface in interfaces}
    done: set[str] = set()

    def visit(interface: Interface) -> Iterator[Interface]:
        if interface.name in done:
            return
        done.add(interface.name)
        for lower in lower_names(interface):
            if lower in by_name:
                yield from visit(by_name[lower])
        yield interface

    for interface in interfaces:
        yield from visit(interface)


def lower_names(interface: Interface) -> tuple[str, ...]:
    """Names of the lower interfaces that an interface uses."""
    return (*([interface.base] if interface.base is not None else []), *interface.ports)


def interface_of(entry: schema.AnyInterface) -> Interface:
    addresses = tuple(
        InterfaceAddress(entry.name, address.ip, address.prefix_length)
        for family in (entry.ipv4, entry.ipv6)
        if family.enabled and entry.state != "absent"
        for address in family.address
    )
    plain = Interface(entry.name, entry.type, entry.state, entry.mtu, addresses)
    return plain if entry.state == "absent" else _with_config(entry, plain)


def _with_config(entry: schema.AnyInterface, plain: Interface) -> Interface:
    base: str | None = None
    peer: str | None = None
    ports: tuple[str, ...] = ()
    options: Setting = ()
    settings: dict[str, str | int | bool | None] = {}
    match entry:
        case schema.VethInterface(veth=schema.Veth() as veth):
            peer = veth.peer
        case schema.VxlanInterface(vxlan=schema.Vxlan() as vxlan):
            base = vxlan.base_iface
            settings = {"id": vxlan.id, "remote": vxlan.remote, "local": vxlan.local}
            settings |= {"port": vxlan.destination_port or VXLAN_PORT, "learning": vxlan.learning}
        case schema.VlanInterface(vlan=schema.Vlan() as vlan):
            base = vlan.base_iface
            settings = {"id": vlan.id, "protocol": vlan.protocol}
        case schema.GeneveInterface(geneve=schema.Geneve() as geneve):
            settings = {"id": geneve.id, "remote": geneve.remote}
            settings["port"] = geneve.destination_port or GENEVE_PORT
        case schema.MacVlanInterface(mac_vlan=schema.MacVlan() as mac_vlan):
            base = mac_vlan.base_iface
            settings = {"mode": mac_vlan.mode, "promiscuous": mac_vlan.promiscuous}
        case schema.BondInterface(link_aggregation=schema.LinkAggregation() as bond):
            ports, settings, options = bond.port, {"mode": bond.mode}, _bond_options(bond.options)
        case schema.BridgeInterface():
            ports = tuple(port.name for port in entry.bridge.port)
            options = _bridge_options(entry.bridge.options)
    return replace(plain, base=base, ports=ports, peer=peer, settings=_given(settings), options=options)


def _bond_options(options: schema.BondOptions) -> Setting:
    """By the names that ``ip -j`` shows them with."""
    return _given({"ad_lacp_rate" if name == "lacp_rate" else name: value for name, value in options})


def _bridge_options(options: schema.BridgeOptions) -> Setting:
    """By the names that ``ip -j`` shows them with; its times are hundredths of a second."""
    stp = options.stp
    shown_options: dict[str, int | None] = {}
    if stp is not None:
        shown_options = {
            "forward_delay": _hundredths(stp.forward_delay),
            "hello_time": _hundredths(stp.hello_time),
            "max_age": _hundredths(stp.max_age),
            "priority": stp.priority,
            "stp_state": int(stp.enabled),
        }
    shown_options["ageing_time"] = _hundredths(options.mac_ageing_time)
    shown_options["mcast_snooping"] = _switch(options.multicast_snooping)
    shown_options["mcast_querier"] = _switch(options.multicast_querier)
    return _given(shown_options)


def _given(values: Mapping[str, str | int | bool | None]) -> Setting:
    """Those that the document names."""
    return tuple((name, value) for name, value in values.items() if value is not None)


def _hundredths(seconds: int | None) -> int | None:
    return None if seconds is None else 100 * seconds


def _switch(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _route(entry: schema.RouteEntry) -> Route:
    metric = None if entry.metric in (None, -1) else entry.metric  # -1 is NMState's word for the default
    table = entry.table_id or MAIN_TABLE  # as 0 is
    return Route(
        entry.destination,
        entry.next_hop_interface,
        entry.next_hop_address,
        metric,
        table,
        entry.state or "up",
    )
