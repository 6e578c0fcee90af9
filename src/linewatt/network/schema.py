# SPDX-License-Identifier: Apache-2.0
"""The keys of an NMState document that linewatt sets up, and those of NMState that it does not.

Names and meanings are NMState's (https://nmstate.io/devel/yaml_api.html); ``geneve``, which NMState does not
have, is written as its tunnels are. What NMState ignores when it applies a document, and what it only keeps
for people, is read and left: descriptions, profile names, limits of the MTU, running routes.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from linewatt.document import KeyPath, Part
from linewatt.hosts import parse_host_ip, parse_ip
from linewatt.sensors.power import text_matching

Finding = tuple[KeyPath, str]

MAX_INTERFACES = 512
MAX_ROUTES = 1024
MAX_METRIC = 2**32 - 1
MAX_VNI = 2**24 - 1
"""of VXLAN and Geneve: 24 bits"""

if TYPE_CHECKING:
    InterfaceName: TypeAlias = str
else:
    InterfaceName = text_matching(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}",
        "must be an interface name: at most 15 letters, digits, dots, underscores and dashes",
        "vxlan0",
    )


def _number(value: object) -> object:
    """NMState also takes numbers written as text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value


def _to_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _ip(text: str) -> str:
    return str(parse_ip(text))


def _host_ip(text: str) -> str:
    address = parse_host_ip(text)
    if address.is_link_local:
        raise ValueError("must not be link-local; give the interface an address of its own")
    return str(address)


def _network(text: str) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(_network_advice(text)) from None
    if "%" in text or network.is_multicast:
        raise ValueError("must be a network such as 198.18.100.2/32")
    return str(network)


def _network_advice(text: str) -> str:
    try:
        return f"must be a network without bits of a host: {ipaddress.ip_network(text, strict=False)}"
    except ValueError:
        return "must be a network such as 198.18.100.2/32"


def _vni(value: int) -> int:
    if not 1 <= value <= MAX_VNI:
        raise ValueError(f"must be a network id from 1 to {MAX_VNI}")
    return value


Number = BeforeValidator(_number)
Ip = Annotated[str, AfterValidator(_ip)]
HostIp = Annotated[str, AfterValidator(_host_ip)]
Network = Annotated[str, AfterValidator(_network)]
AsTuple = BeforeValidator(_to_tuple)
Mtu = Annotated[int, Number, Field(ge=68, le=65_535)]
PortNumber = Annotated[int, Number, Field(ge=1, le=65_535)]
Vni = Annotated[int, Number, AfterValidator(_vni)]
Count = Annotated[int, Number, Field(ge=0, le=2**31 - 1)]


class NmPart(Part):
    """A mapping of a document: unknown keys are refused, dashes in keys are underscores here."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))


class Address(NmPart):
    """An address on an interface."""

    ip: HostIp
    prefix_length: Annotated[int, Number, Field(ge=1, le=128)]


class Ipv4(NmPart):
    """IPv4 of an interface; static only."""

    enabled: bool = True
    dhcp: Literal[False] = False
    address: Annotated[tuple[Address, ...], AsTuple] = ()


class Ipv6(Ipv4):
    """IPv6 of an interface; static only."""

    autoconf: Literal[False] = False


class InterfaceBase(NmPart):
    """What interfaces of every type have."""

    name: InterfaceName
    state: Literal["up", "down", "absent"] = "up"
    mtu: Mtu | None = None
    ipv4: Ipv4 = Ipv4()
    ipv6: Ipv6 = Ipv6()
    identifier: Literal["name"] = "name"
    description: Any = None
    profile_name: Any = None
    min_mtu: Any = None
    max_mtu: Any = None
    wait_ip: Any = None


class EthernetInterface(InterfaceBase):
    """An interface that the host has: MTU, up or down, addresses."""

    type: Literal["ethernet"]


class Veth(NmPart):
    peer: InterfaceName


class VethInterface(InterfaceBase):
    """One end of a pair of virtual interfaces."""

    type: Literal["veth"]
    veth: Veth | None = None


class Vxlan(NmPart):
    id: Vni
    base_iface: InterfaceName | None = None
    remote: Ip | None = None
    local: HostIp | None = None
    destination_port: PortNumber | None = None
    learning: bool = True


class VxlanInterface(InterfaceBase):
    """Ethernet in UDP, RFC 7348."""

    type: Literal["vxlan"]
    vxlan: Vxlan | None = None


class Vlan(NmPart):
    base_iface: InterfaceName
    id: Annotated[int, Number, Field(ge=1, le=4094)]
    protocol: Literal["802.1q", "802.1ad"] = "802.1q"


class VlanInterface(InterfaceBase):
    """A VLAN of another interface, IEEE 802.1Q."""

    type: Literal["vlan"]
    vlan: Vlan | None = None


class BondOptions(Part):
    """Options of a bond, by the kernel's names, in the order in which they are set."""

    miimon: Count | None = None
    updelay: Count | None = None
    downdelay: Count | None = None
    xmit_hash_policy: (
        Literal["layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"] | None
    ) = None
    lacp_rate: Literal["slow", "fast"] | None = None
    min_links: Count | None = None
    ad_select: Literal["stable", "bandwidth", "count"] | None = None
    fail_over_mac: Literal["none", "active", "follow"] | None = None
    primary: InterfaceName | None = None


BondMode = Literal[
    "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"
]


class LinkAggregation(NmPart):
    mode: BondMode
    port: Annotated[tuple[InterfaceName, ...], AsTuple] = ()
    options: BondOptions = BondOptions()


class BondInterface(InterfaceBase):
    """Several interfaces as one."""

    type: Literal["bond"]
    link_aggregation: LinkAggregation | None = None


class Stp(NmPart):
    enabled: bool
    forward_delay: Annotated[int, Number, Field(ge=2, le=30)] | None = None
    hello_time: Annotated[int, Number, Field(ge=1, le=10)] | None = None
    max_age: Annotated[int, Number, Field(ge=6, le=40)] | None = None
    priority: Annotated[int, Number, Field(ge=0, le=65_535)] | None = None


class BridgeOptions(NmPart):
    stp: Stp | None = None
    mac_ageing_time: Annotated[int, Number, Field(ge=0, le=1_000_000)] | None = None
    multicast_snooping: bool | None = None
    multicast_querier: bool | None = None


class BridgePort(NmPart):
    name: InterfaceName


class Bridge(NmPart):
    port: Annotated[tuple[BridgePort, ...], AsTuple] = ()
    options: BridgeOptions = BridgeOptions()


class BridgeInterface(InterfaceBase):
    """A bridge of the kernel."""

    type: Literal["linux-bridge"]
    bridge: Bridge = Bridge()


class Geneve(NmPart):
    id: Vni
    remote: HostIp
    destination_port: PortNumber | None = None


class GeneveInterface(InterfaceBase):
    """Ethernet in UDP, RFC 8926."""

    type: Literal["geneve"]
    geneve: Geneve | None = None


class MacVlan(NmPart):
    base_iface: InterfaceName
    mode: Literal["vepa", "bridge", "private", "passthru"]
    promiscuous: bool = True


class MacVlanInterface(InterfaceBase):
    """An interface with a MAC address of its own on another one."""

    type: Literal["mac-vlan"]
    mac_vlan: MacVlan | None = None


class DummyInterface(InterfaceBase):
    """An interface that leads nowhere: a place for addresses that routes lead to."""

    type: Literal["dummy"]


AnyInterface = (
    EthernetInterface
    | VethInterface
    | VxlanInterface
    | VlanInterface
    | BondInterface
    | BridgeInterface
    | GeneveInterface
    | MacVlanInterface
    | DummyInterface
)
INTERFACES: dict[str, type[InterfaceBase]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(AnyInterface)
}
"""``type`` → its keys"""


def _model_name(value: object) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    model = INTERFACES.get(kind) if isinstance(kind, str) else None
    return None if model is None else model.__name__


if TYPE_CHECKING:
    TaggedInterface: TypeAlias = AnyInterface
else:
    _TAGGED = tuple(Annotated[model, Tag(model.__name__)] for model in INTERFACES.values())
    TaggedInterface = Annotated[Union[_TAGGED], Discriminator(_model_name)]  # noqa: UP007  made at run time


class RouteEntry(NmPart):
    """A static route."""

    state: Literal["absent"] | None = None
    destination: Network
    next_hop_interface: InterfaceName
    next_hop_address: HostIp | None = None
    metric: Annotated[int, Number, Field(ge=-1, le=MAX_METRIC)] | None = None
    table_id: Annotated[int, Number, Field(ge=0, le=2**32 - 1)] | None = None


class Routes(NmPart):
    config: Annotated[tuple[RouteEntry, ...], AsTuple, Field(max_length=MAX_ROUTES)] = ()
    running: Any = None


class NetworkState(NmPart):
    """An NMState document: what one host is to show."""

    interfaces: Annotated[tuple[TaggedInterface, ...], AsTuple, Field(max_length=MAX_INTERFACES)] = ()
    routes: Routes = Routes()
