# SPDX-License-Identifier: Apache-2.0
"""What NMState knows and linewatt does not set up: found by name, so that a document never means less here.

Names: https://nmstate.io/devel/yaml_api.html and the types of the nmstate library behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from linewatt.document import AboutKey, KeyPath, show_value
from linewatt.network.schema import INTERFACES, Finding

# What NMState knows and linewatt does not set up, by the mapping it stands in.
_TOP = (
    "dns-resolver", "hostname", "route-rules", "ovs-db", "ovn", "capture", "capabilities", "version",
    "dispatch",
)  # fmt: skip
_POLICY = ("apiVersion", "kind", "metadata", "spec", "desiredState", "desired")
_TYPES = (
    "loopback", "mac-vtap", "ovs-bridge", "ovs-interface", "vrf", "infiniband", "ipvlan", "macsec",
    "ipsec", "hsr", "xfrm", "ipip", "ip6ip6", "tun", "team", "unknown", "other",
)  # fmt: skip
_INTERFACE = (
    "mac-address", "permanent-mac-address", "copy-mac-from", "controller", "accept-all-mac-addresses", "lldp",
    "ethtool", "mptcp", "ovs-db", "802.1x", "alt-names", "driver", "dispatch", "ethernet", "pci-address",
    "link-aggregation", "bridge", "vxlan", "vlan", "vrf", "veth", "mac-vlan", "mac-vtap", "infiniband",
    "patch", "dpdk", "ipvlan", "macsec", "hsr", "libreswan", "geneve",
)  # fmt: skip
_IP = (
    "auto-dns", "auto-gateway", "auto-routes", "auto-route-table-id", "auto-route-metric", "dhcp-client-id",
    "dhcp-timeout", "dhcp-duid", "dhcp-send-hostname", "dhcp-custom-hostname", "allow-extra-address",
    "addr-gen-mode", "token", "forwarding", "autoconf",
)  # fmt: skip
_ADDRESS = ("mptcp-flags", "valid-life-time", "preferred-life-time")
_ROUTE = (
    "route-type", "weight", "cwnd", "source", "initcwnd", "initrwnd", "mtu", "quickack", "advmss", "lock-mtu",
    "vrf-name",
)  # fmt: skip
_CONFIG = {
    "vlan": (
        "registration-protocol",
        "reorder-headers",
        "loose-binding",
        "ingress-qos-map",
        "egress-qos-map",
    ),
    "link-aggregation": ("ports-config", "slaves"),
    "bridge": ("ports", "slaves"),
}
_BRIDGE_PORT = (
    "stp-hairpin-mode", "stp-path-cost", "stp-priority", "vlan", "identifier", "iface-type", "mac-address",
)  # fmt: skip
_BRIDGE_OPTIONS = (
    "gc-timer", "group-addr", "group-forward-mask", "group-fwd-mask", "hash-max", "hello-timer",
    "multicast-last-member-count", "multicast-last-member-interval", "multicast-membership-interval",
    "multicast-querier-interval", "multicast-query-interval", "multicast-query-response-interval",
    "multicast-query-use-ifaddr", "multicast-router", "multicast-startup-query-count",
    "multicast-startup-query-interval", "vlan-protocol", "vlan-default-pvid",
)  # fmt: skip
_BOND_OPTIONS = (
    "ad_actor_sys_prio", "ad_actor_system", "ad_user_port_key", "active_slave", "all_slaves_active",
    "arp_all_targets", "arp_interval", "arp_ip_target", "arp_missed_max", "arp_validate", "balance_slb",
    "lacp_active", "lp_interval", "ns_ip6_target", "num_grat_arp", "num_unsol_na", "packets_per_slave",
    "primary_reselect", "resend_igmp", "tlb_dynamic_lb", "use_carrier",
)  # fmt: skip


def find_unsupported(value: object, at: KeyPath = ()) -> Iterator[Finding]:
    """What of a document is NMState's but not linewatt's, whatever shape the rest of it has."""
    if not isinstance(value, dict):
        return
    for name in _POLICY:
        if name in value:
            yield (
                (*at, name),
                AboutKey("is of a policy; keep the document alone, which stands below desiredState"),
            )
            return
    yield from find_templates(value, at)
    yield from _foreign(value, _TOP, at)
    routes = value.get("routes")
    for index, route in _entries(routes, "config"):
        yield from _foreign(route, _ROUTE, (*at, "routes", "config", index))
        if route.get("state") == "ignore":
            yield (*at, "routes", "config", index, "state"), _not_set("ignore")
    for index, interface in _entries(value, "interfaces"):
        yield from _of_interface(interface, (*at, "interfaces", index))


def find_templates(value: object, at: KeyPath) -> Iterator[Finding]:
    """Values that a policy of Kubernetes, or Ansible, would put others in place of: ``{{ capture.… }}``."""
    waiting: list[tuple[object, KeyPath]] = [(value, at)]
    while waiting:
        node, node_path = waiting.pop()
        if isinstance(node, dict):
            waiting += [
                (below, (*node_path, name)) for name, below in node.items() if name not in _FOR_PEOPLE
            ]
        elif isinstance(node, list):
            waiting += [(below, (*node_path, index)) for index, below in enumerate(node)]
        elif isinstance(node, str) and "{{" in node:
            last = next((part for part in reversed(node_path) if isinstance(part, str)), "")
            what = last if last in _PLURAL else "value"
            whose = _CAPTURES if re.search(r"\{\{-?\s*capture\b", node) else "templates are not read"
            yield node_path, f"{whose}; write the {what} out, got {show_value(node)}"


_CAPTURES = "captures of a policy are not read"
_FOR_PEOPLE = ("description", "profile-name")
_PLURAL = ("interfaces", "routes", "address", "port")


def _of_interface(interface: dict[str, Any], at: KeyPath) -> Iterator[Finding]:
    kind = interface.get("type")
    if kind in _TYPES:
        yield (*at, "type"), _not_set(str(kind))
        return
    model = INTERFACES.get(kind) if isinstance(kind, str) else None
    if model is None:
        known_types = ", ".join(INTERFACES)
        if "type" not in interface:
            yield (*at, "type"), AboutKey(f"is missing; add it: one of {known_types}")
        else:
            yield (*at, "type"), f"there is no such type; known here: {known_types}"
        return
    own_keys = {field.alias or name for name, field in model.model_fields.items()}
    yield from _foreign(interface, tuple(name for name in _INTERFACE if name not in own_keys), at)
    if interface.get("state") == "ignore":
        yield (*at, "state"), _not_set("ignore")
    for family in ("ipv4", "ipv6"):
        yield from _of_ip(interface.get(family), family, (*at, family))
    for name, keys in _CONFIG.items():
        yield from _foreign(interface.get(name), keys, (*at, name))
    bridge, bond = interface.get("bridge"), interface.get("link-aggregation")
    if isinstance(bridge, dict):
        yield from _foreign(bridge.get("options"), _BRIDGE_OPTIONS, (*at, "bridge", "options"))
        for index, port in _entries(bridge, "port"):
            yield from _foreign(port, _BRIDGE_PORT, (*at, "bridge", "port", index))
    if isinstance(bond, dict):
        yield from _foreign(bond.get("options"), _BOND_OPTIONS, (*at, "link-aggregation", "options"))


def _of_ip(value: object, family: str, at: KeyPath) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    yield from _foreign(value, tuple(name for name in _IP if (family, name) != ("ipv6", "autoconf")), at)
    for name in ("dhcp", "autoconf"):
        if value.get(name) is True:
            text = "is NMState's, but linewatt sets static addresses only; write false, and the address"
            yield (*at, name), text
    for index, address in _entries(value, "address"):
        yield from _foreign(address, _ADDRESS, (*at, "address", index))


def _foreign(value: object, names: tuple[str, ...], at: KeyPath) -> Iterator[Finding]:
    if isinstance(value, dict):
        yield from (((*at, name), AboutKey(_not_set(name))) for name in value if name in names)


def _not_set(name: str) -> str:
    if name == "capture":
        return f"{_CAPTURES}; write the interfaces out, and take the captures out"
    return f"{name} is NMState's, but linewatt does not set it up; take it out; see docs/networks.md"


def _entries(value: object, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    entries = value.get(name) if isinstance(value, dict) else None
    if isinstance(entries, list):
        yield from ((index, entry) for index, entry in enumerate(entries) if isinstance(entry, dict))
