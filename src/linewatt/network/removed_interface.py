# SPDX-License-Identifier: Apache-2.0
"""All of an interface that is to be removed, so that it can be made again as it was. Pure.

What cannot be captured whole is refused with its reason, under ``cannot``: ports and interfaces on top of it,
parameters and addresses of a form that is not known here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from linewatt.network.kinds import vlan_protocol

FOREVER = 2**32 - 1
_SHOWN_ONLY = {
    "bridge": {
        "bridge_id", "root_id", "root_port", "root_path_cost", "topology_change", "topology_change_detected",
        "hello_timer", "tcn_timer", "topology_change_timer", "gc_timer", "mcast_hash_elasticity",
        "fdb_n_learned",
    },
    "macvlan": {"usedbcqueuelen"},
}  # fmt: skip
"""what is told but follows from the rest"""
_DEFAULTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "bridge": {
        "group_addr": ("01:80:c2:00:00:00",), "vlan_protocol": ("802.1Q", "[33024]", None),
        "vlan_default_pvid": (1, None),
        "no_linklocal_learn": (0, None), "mcast_vlan_snooping": (0, None), "mst_enabled": (0, False, None),
        "vlan_filtering": (0, None),
    },
    "macvlan": {"bcqueuelen": (1000, None)},
    "vxlan": {
        "df": ("unset", None), "ttl": (0, "auto", None), "limit": (0, None),
        "collect_metadata": (False, None),
        "external": (False, None), "localbypass": (True, None),
        "remcsum_tx": (False, None),
        "remcsum_rx": (False, None),
    },
    "vlan": {"flags": (["REORDER_HDR"],)},
    "geneve": {"df": ("unset", None), "ttl": (0, "auto", None)},
    "dummy": {},
}  # fmt: skip
"""what cannot be set by its name here: what it must be"""
_SWITCHES = {
    "vxlan": {
        "learning": ("learning", "nolearning"), "proxy": ("proxy", "noproxy"), "rsc": ("rsc", "norsc"),
        "l2miss": ("l2miss", "nol2miss"), "l3miss": ("l3miss", "nol3miss"),
        "udp_csum": ("udpcsum", "noudpcsum"), "udp_zero_csum6_tx": ("udp6zerocsumtx", "noudp6zerocsumtx"),
        "udp_zero_csum6_rx": ("udp6zerocsumrx", "noudp6zerocsumrx"),
    },
    "geneve": {
        "udp_csum": ("udpcsum", "noudpcsum"),
        "udp_zero_csum6_tx": ("udp6zerocsumtx", "noudp6zerocsumtx"),
        "udp_zero_csum6_rx": ("udp6zerocsumrx", "noudp6zerocsumrx"),
    },
    "macvlan": {"nopromisc": ("nopromisc", "")},
}  # fmt: skip
_WORDS = {
    "vxlan": {
        "id": "id", "link": "dev", "remote": "remote", "remote6": "remote", "group": "group",
        "group6": "group", "local": "local", "local6": "local", "port": "dstport", "ageing": "ageing",
        "tos": "tos",
    },
    "geneve": {"id": "id", "remote": "remote", "remote6": "remote", "port": "dstport", "tos": "tos"},
    "vlan": {"protocol": "protocol", "id": "id"},
    "macvlan": {"mode": "mode"},
}  # fmt: skip
_ROUTE_WORDS = {"gateway": "via", "protocol": "proto", "scope": "scope", "prefsrc": "src", "metric": "metric"}
_ROUTE_PLAIN = {"type", "dst", "dev", "table", "flags", "pref", *_ROUTE_WORDS}
_ADDRESS_PLAIN = {
    "family", "local", "prefixlen", "broadcast", "scope", "label", "valid_life_time", "preferred_life_time",
    "noprefixroute", "nodad", "tentative", "metric", "protocol",
}  # fmt: skip


def capture(
    link: Mapping[str, Any], links: Iterable[Mapping[str, Any]], routes: Iterable[Mapping[str, Any]]
) -> Any:
    """Text of an interface by its parts, or ``{"cannot": why}``; both as ``ip -j -d -N`` shows them."""
    kind = str(link.get("linkinfo", {}).get("info_kind", ""))
    name = str(link["ifname"])
    if kind not in _DEFAULTS:
        return {"cannot": f"{name} is {kind or 'a physical interface'}, which cannot be made again as it was"}
    try:
        lines = [_add(name, kind, link), *_links(name, link), *_addresses(name, link), *_routes(name, routes)]
        _alone(name, links)
    except ValueError as error:
        return {"cannot": f"{name} could not be made again as it was: {error}"}
    return {"kind": kind, "lines": [" ".join(line) for line in lines]}


def _add(name: str, kind: str, link: Mapping[str, Any]) -> list[str]:
    data: Mapping[str, Any] = link["linkinfo"].get("info_data", {})
    for key, allowed in _DEFAULTS[kind].items():
        if data.get(key) not in allowed:
            raise ValueError(f"its {key} is {data.get(key)!r}")
    words = ["link", "add"]
    if kind in ("vlan", "macvlan"):
        words += ["link", _word(link.get("link"))]
    words += ["name", name, "address", _word(link.get("address")), "mtu", str(link["mtu"]), "type", kind]
    return [*words, *_format_kind(kind, data)]


def _format_kind(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    words, switches = _WORDS.get(kind, {}), _SWITCHES.get(kind, {})
    shown_only = {*_SHOWN_ONLY.get(kind, ()), *_DEFAULTS[kind]}
    for key, value in data.items():
        if key in words:
            yield from (words[key], _word(vlan_protocol(value) if key == "protocol" else value))
        elif key in switches:
            yield from filter(None, (switches[key][0 if value else 1],))
        elif key == "port_range":
            if value["low"] or value["high"]:
                yield from ("srcport", str(value["low"]), str(value["high"]))
        elif kind == "bridge" and key not in shown_only and isinstance(value, (int, str)):
            yield from (key.replace("_cnt", "_count").replace("_intvl", "_interval"), _word(value))
        elif key not in shown_only:
            raise ValueError(f"its {key} is not known here")


def _links(name: str, link: Mapping[str, Any]) -> Iterator[list[str]]:
    if link.get("altnames") or link.get("ifalias"):
        raise ValueError("it has other names")
    if link.get("qdisc") not in ("noqueue", "noop", None) or link.get("group") not in ("default", "0", None):
        raise ValueError(f"its queueing is {link.get('qdisc')} in the group {link.get('group')}")
    if link.get("txqlen") != 1000:
        yield ["link", "set", "dev", name, "txqueuelen", str(link.get("txqlen"))]
    if "master" in link:
        raise ValueError(f"it is a port of {link['master']}")
    yield ["link", "set", "dev", name, "addrgenmode", _word(link.get("inet6_addr_gen_mode"))]
    if "UP" in link.get("flags", ()):
        yield ["link", "set", "dev", name, "up"]


def _addresses(name: str, link: Mapping[str, Any]) -> Iterator[list[str]]:
    link_local = _link_local(str(link.get("address")))
    for address in link.get("addr_info", ()):
        text = f"{address.get('local')}/{address.get('prefixlen')}"
        if address.get("local") == link_local:
            continue
        strange = set(address) - _ADDRESS_PLAIN
        if strange or address.get("valid_life_time") != FOREVER or address.get("metric"):
            raise ValueError(f"its address {text} is of a form that is not known here")
        words = ["address", "add", text, "dev", name]
        if "broadcast" in address:
            words += ["broadcast", _word(address["broadcast"])]
        if address["family"] == "inet":
            words += ["scope", _word(address.get("scope")), "label", _word(address.get("label"))]
        if address.get("noprefixroute"):
            words.append("noprefixroute")
        yield [*words, *(["nodad"] if address["family"] == "inet6" else [])]


def _routes(name: str, routes: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    for route in routes:
        if route.get("dev") != name or route.get("protocol") in KERNEL or route.get("type") not in UNICAST:
            continue
        strange = set(route) - _ROUTE_PLAIN
        if strange or set(route.get("flags", ())) - {"linkdown"}:
            raise ValueError(f"its route to {route.get('dst')} is of a form that is not known here")
        table = str(route.get("table", "254"))
        words = ["route", "add", _word(route["dst"]), "dev", name, "table", table]
        ipv6 = ":" in str(route["dst"]) or "pref" in route
        if route["dst"] == "default":
            words[2] = "::/0" if ipv6 else "0.0.0.0/0"
        for key, word in _ROUTE_WORDS.items():
            if key in route and not (ipv6 and key == "scope"):
                words += [word, _word(route[key])]
        yield words


def _alone(name: str, links: Iterable[Mapping[str, Any]]) -> None:
    for link in links:
        data = link.get("linkinfo", {}).get("info_data", {})
        link_name = link.get("ifname")
        if link.get("master") == name:
            raise ValueError(f"{link_name} is a port of it")
        if link_name != name and name in (link.get("link"), data.get("link")):
            raise ValueError(f"{link_name} stands on it")


def lost(link: Mapping[str, Any], routes: Sequence[Mapping[str, Any]]) -> list[str]:
    """What an interface that goes down would not have again when it comes up: IPv6 addresses, routes."""
    name = link.get("ifname")
    gone = [
        f"{info.get('local')}/{info.get('prefixlen')}"
        for info in link.get("addr_info", ())
        if info.get("family") == "inet6" and info.get("scope") in ("global", "0")
    ]
    gone += [
        f"route to {route.get('dst')}"
        for route in routes
        if route.get("dev") == name and route.get("protocol") not in KERNEL and route.get("type") in UNICAST
    ]
    return sorted(set(gone))


KERNEL = ("kernel", "2")
UNICAST = ("unicast", "1", None)


def _link_local(mac: str) -> str:
    """The link-local address that the kernel makes of a MAC address (RFC 4291, appendix A)."""
    parts = [int(part, 16) for part in mac.split(":")] if mac.count(":") == 5 else []
    if not parts:
        return ""
    eui = [parts[0] ^ 2, parts[1], parts[2], 0xFF, 0xFE, parts[3], parts[4], parts[5]]
    groups = ":".join(f"{high:02x}{low:02x}" for high, low in zip(eui[::2], eui[1::2], strict=True))
    return str(ipaddress.ip_address(f"fe80::{groups}"))


def _word(value: object) -> str:
    """A value as one word for ``ip``. Raises ValueError if it is none."""
    text = str(value)
    if value is None or not text or any(character.isspace() for character in text):
        raise ValueError(f"it shows {value!r}")
    return text
