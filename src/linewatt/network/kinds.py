# SPDX-License-Identifier: Apache-2.0
"""Kinds of interfaces: what ``ip -j -d link`` shows of one, and the words that ``ip link add`` makes it from.

A *state* is a mapping with the kernel's ``kind`` and what makes an interface the one it is; what it does not
have is left out. Checked with iproute2 6.1; the names are the same since JSON came with 4.18. Source:
iproute2, ip/iplink_vxlan.c and its neighbours.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from linewatt.network.interfaces import Interface, Kind

State = dict[str, Any]

KERNEL_KINDS: dict[Kind, str] = {
    "veth": "veth",
    "vxlan": "vxlan",
    "vlan": "vlan",
    "bond": "bond",
    "linux-bridge": "bridge",
    "geneve": "geneve",
    "mac-vlan": "macvlan",
    "dummy": "dummy",
}
VXLAN_PORT = 8472
"""Linux and NetworkManager have it so, from before IANA gave 4789 (NetworkManager, settings-vxlan)"""
GENEVE_PORT = 6081

_WORDS = {"protocol": "protocol", "id": "id", "local": "local", "port": "dstport", "mode": "mode"}
"""item of a state → word of ``ip link add``, in their order: VLANs take the protocol before the id"""
BOND_WORDS = {"ad_lacp_rate": "lacp_rate"}
"""name in JSON → word of ``ip link``, where they differ"""

_PROTOCOL_NUMBERS = {"[33024]": "802.1q", "[34984]": "802.1ad"}


def wanted_state(interface: Interface) -> State:
    """State of an interface that linewatt makes."""
    state: State = {"kind": KERNEL_KINDS[interface.kind], **dict(interface.settings)}
    if interface.base is not None:
        state["base"] = interface.base
    if interface.peer is not None:
        state["peer"] = interface.peer
    return state


def shown_state(link: Mapping[str, Any]) -> State:
    """State of a link that ``ip -j -d link`` shows; of a kind that linewatt does not make, the kind alone."""
    kind = str(link.get("linkinfo", {}).get("info_kind", link.get("link_type", "none")))
    data: Mapping[str, Any] = link.get("linkinfo", {}).get("info_data", {})
    state: State = {"kind": kind}
    if kind == "veth":
        state["peer"] = link.get("link")
    elif kind == "vxlan":
        state |= {"base": data.get("link"), "id": data.get("id"), "port": data.get("port")}
        state |= {"remote": _first(data, "remote", "remote6", "group", "group6")}
        state |= {"local": _first(data, "local", "local6"), "learning": data.get("learning", True)}
    elif kind == "geneve":
        state |= {"id": data.get("id"), "port": data.get("port"), "remote": _first(data, "remote", "remote6")}
    elif kind == "vlan":
        state |= {"base": link.get("link"), "id": data.get("id")}
        state["protocol"] = vlan_protocol(data.get("protocol", "802.1Q"))
    elif kind == "macvlan":
        state |= {"base": link.get("link"), "mode": data.get("mode")}
        state["promiscuous"] = not data.get("nopromisc", False)
    elif kind == "bond":
        state["mode"] = data.get("mode")
    return {name: value for name, value in state.items() if value is not None}


def vlan_protocol(shown: object) -> str:
    """As ``ip link add`` takes it; ``ip -N`` shows its number (iproute2, lib/ll_proto.c)."""
    return _PROTOCOL_NUMBERS.get(str(shown), str(shown).lower())


def shown_option(link: Mapping[str, Any], name: str) -> str | int | bool | None:
    """An option of a bridge or a bond; None where it is not told."""
    value = link.get("linkinfo", {}).get("info_data", {}).get(name)
    return value if isinstance(value, (str, int, bool)) else None


def add_words(name: str, state: State) -> list[str]:
    """Words behind ``ip`` that make an interface; what it says of itself then is ``state``."""
    words = ["link", "add"]
    if "base" in state and state["kind"] in ("vlan", "macvlan"):
        words += ["link", str(state["base"])]
    return [*words, "name", name, "type", str(state["kind"]), *_format_kind(state)]


def option_words(name: str, kind: str, option: str, value: object) -> list[str]:
    word = BOND_WORDS.get(option, option)
    return ["link", "set", "dev", name, "type", kind, word, str(value)]


def _format_kind(state: State) -> Iterator[str]:
    kind = state["kind"]
    if kind == "veth":
        yield from ("peer", "name", str(state["peer"]))
    if kind == "vxlan" and "base" in state:
        yield from ("dev", str(state["base"]))
    for name, word in _WORDS.items():
        if name in state:
            yield from (word, str(state[name]))
    if "remote" in state:
        multicast = ipaddress.ip_address(state["remote"]).is_multicast
        yield from ("group" if multicast else "remote", str(state["remote"]))
    if kind == "vxlan" and not state.get("learning", True):
        yield "nolearning"
    if kind == "macvlan" and not state.get("promiscuous", True):
        yield "nopromisc"


def _first(data: Mapping[str, Any], *names: str) -> str | None:
    return next((str(data[name]) for name in names if data.get(name)), None)
