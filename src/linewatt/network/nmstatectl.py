# SPDX-License-Identifier: Apache-2.0
"""The knob ``nmstate``: a network on a host whose interfaces NetworkManager manages, through nmstatectl.

NetworkManager would undo by and by what ``ip`` did behind its back. nmstatectl verifies what it applied and
goes back by itself when that did not take (nmstatectl(8)); ``--memory-only`` leaves the profiles on disk
alone, so that a reboot is an undo, too. Names and defaults are those of nmstate 2.2.

A target names interfaces with the properties that are managed, ``interface:vxlan0/mtu,vxlan.id``, and routes,
``route:198.18.100.2/32@vxlan0``; a setting is compact JSON, item → property → value, ``null`` where there is
no such interface or route.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.foreign import read_json
from linewatt.hosts.facts.read import Facts
from linewatt.network.description import HostNetwork
from linewatt.network.interfaces import Interface, Route
from linewatt.network.items import Key, parse_key
from linewatt.network.kinds import VXLAN_PORT
from linewatt.network.text import canonical, mapping
from linewatt.tuning.base import Command
from linewatt.tuning.commands import interface as interface_name
from linewatt.tuning.commands import script, tool

KNOB = "nmstate"
WHOLE = "*"
"""in place of properties: all that nmstate shows of an interface that is to be removed"""

# $1: what is asked for, said back first
_READ = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type nmstatectl >/dev/null 2>&1 || { echo "nmstatectl is not installed there" >&2; exit 127; }
printf '%s\\n' "$1"
exec nmstatectl show --json"""

_BOND_NAMES = {"ad_lacp_rate": "lacp_rate"}
_BRIDGE_NAMES = {
    "stp_state": "stp.enabled",
    "forward_delay": "stp.forward-delay",
    "hello_time": "stp.hello-time",
    "max_age": "stp.max-age",
    "priority": "stp.priority",
    "ageing_time": "mac-ageing-time",
    "mcast_snooping": "multicast-snooping",
    "mcast_querier": "multicast-querier",
}
_SWITCHES = ("stp_state", "mcast_snooping", "mcast_querier")
_HUNDREDTHS = ("forward_delay", "hello_time", "max_age", "ageing_time")
_LISTS = ("ipv4.address", "ipv6.address", "bridge.port", "link-aggregation.port")


def uses_nmstate(facts: Facts) -> bool:
    """Whether a host's networks go through nmstatectl: it is there, and NetworkManager has the interface.

    What is not known counts as no: ``ip`` works wherever nobody else manages the interface.
    """
    nic, tools = facts.get("nic", {}), facts.get("tools", {})
    return nic.get("networkmanager") is True and tools.get("nmstatectl") is not None


def change_of(network: HostNetwork) -> tuple[str, str, str]:
    """Knob, target and value, as :meth:`HostNetwork.change` gives them for ``ip``.

    Raises ChangeError for what NMState does not have.
    """
    asked: dict[str, Any] = {}
    for one in network.interfaces:
        properties = _properties(one)
        names = WHOLE if properties is None else ",".join(sorted(properties))
        asked[f"interface:{one.name}/{names}"] = properties
    for route in network.routes:
        key = Key("route", route.interface, _route_rest(route))
        asked[str(key)] = None if route.state == "absent" else {"next-hop-address": route.gateway or ""}
    return KNOB, " ".join(asked), canonical(asked)


def _route_rest(route: Route) -> str:
    rest = route.destination + (f",table={route.table}" if route.table != Route("", "").table else "")
    return rest + (f",metric={route.metric}" if route.metric is not None else "")


def _properties(one: Interface) -> dict[str, Any] | None:
    """Property → value of an interface, by dotted names; None for one that is to be removed."""
    if one.kind == "geneve":
        raise ChangeError(
            f"{one.name}: geneve is not NMState's; let another tool than NetworkManager manage it"
        )
    if one.state == "absent":
        return None
    properties: dict[str, Any] = {"state": one.state}
    if one.kind != "ethernet":
        properties["type"] = one.kind
    if one.mtu is not None:
        properties["mtu"] = one.mtu
    for family in ("ipv4", "ipv6"):
        addresses = sorted(
            f"{each.address}/{each.prefix_length}" for each in one.addresses if each.family == family
        )
        if addresses or (one.kind != "ethernet" and family == "ipv4"):
            properties |= {f"{family}.enabled": bool(addresses), f"{family}.address": addresses}
    return properties | dict(_config(one))


def _config(one: Interface) -> Iterator[tuple[str, Any]]:
    section = {"bond": "link-aggregation", "linux-bridge": "bridge"}.get(one.kind, one.kind)
    defaults = {"port": VXLAN_PORT, "learning": True, "promiscuous": True, "protocol": "802.1q"}
    for name, value in one.settings:
        if defaults.get(name) != value:
            yield f"{section}.{'destination-port' if name == 'port' else name}", value
    if one.base is not None:
        yield f"{section}.base-iface", one.base
    if one.peer is not None:
        yield f"{section}.peer", one.peer
    if one.kind in ("bond", "linux-bridge"):
        yield f"{section}.port", sorted(one.ports)
    for name, value in one.options:
        if one.kind == "bond":
            yield f"{section}.options.{_BOND_NAMES.get(name, name)}", value
        else:
            seconds = int(value) // 100 if name in _HUNDREDTHS else value
            yield f"{section}.options.{_BRIDGE_NAMES[name]}", bool(value) if name in _SWITCHES else seconds


class NmstateKnob:
    """Interfaces and routes that a network manages on one host, applied as one NMState document."""

    name = KNOB
    about = "interfaces, addresses and routes of a network, where NetworkManager manages them"
    targets = "what is managed, such as `interface:vxlan0/mtu,vxlan.id`"
    values = "JSON, item by item"
    tool = "nmstatectl"

    def read(self, target: str) -> Command:
        for word in _words(target):
            _parsed(word)
        return script(_READ, " ".join(_words(target)))

    def parse(self, output: str) -> str:
        first, _, rest = output.partition("\n")
        try:
            words = [(word, _parsed(word)) for word in _words(first)]
        except ChangeError as error:
            raise ParseError(f"the answer does not say what it is about: {str(error)[:120]}") from error
        try:
            state = read_json(rest, "nmstatectl")
            shown = {word: _shown(parsed, state) for word, parsed in words}
        except (KeyError, TypeError, AttributeError) as error:
            raise ParseError(f"what nmstatectl shows has an unknown shape: {error!r}"[:200]) from error
        return canonical(shown)

    def wanted(self, before: str, value: str) -> str:
        shown, asked = mapping(before, ParseError), mapping(value, InvalidInput)
        if set(shown) != set(asked):
            raise ChangeError("what is asked for and what was read are not about the same items")
        return canonical({word: _wanted(_parsed(word), shown[word], asked[word]) for word in asked})

    def write(self, target: str, setting: str) -> Command:
        values = mapping(setting, ParseError)
        document = _document([(_parsed(word), values.get(word)) for word in _words(target)])
        return Command(tool("nmstatectl", "apply", "--memory-only", "-").argv, canonical(document) + "\n")


Parsed = tuple[str, tuple[str, ...]] | Key
"""an interface with its properties, or a route"""


def _words(target: str) -> list[str]:
    words = target.split()
    if not words:
        raise ChangeError("names nothing of a network; write it like interface:vxlan0/mtu,vxlan.id")
    return words


def _parsed(word: str) -> Parsed:
    kind, _, rest = word.partition(":")
    name, _, properties = rest.partition("/")
    if kind == "route":
        return parse_key(word)
    if kind != "interface" or not properties:
        raise ChangeError(f"{word!r} names nothing of a network; write it like interface:vxlan0/mtu,vxlan.id")
    return interface_name(name), tuple(properties.split(","))


def _shown(parsed: Parsed, state: Mapping[str, Any]) -> dict[str, Any] | None:
    if isinstance(parsed, Key):
        return _shown_route(parsed, state)
    name, properties = parsed
    interfaces = [
        one for one in state["interfaces"] if one["name"] == name and one.get("type") != "ovs-bridge"
    ]
    if not interfaces:
        return None
    if properties == (WHOLE,):
        return dict(interfaces[0])
    values = {path: _value(interfaces[0], path) for path in properties}
    return {path: value for path, value in values.items() if value is not None}


def _value(interface: Mapping[str, Any], path: str) -> Any:
    value: Any = interface
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if path not in _LISTS:
        return value
    if path.endswith(".port"):
        return sorted(one["name"] if isinstance(one, Mapping) else one for one in value or ())
    return sorted(
        f"{one['ip']}/{one['prefix-length']}"
        for one in value or ()
        if not ipaddress.ip_address(one["ip"]).is_link_local
    )


def _shown_route(key: Key, state: Mapping[str, Any]) -> dict[str, Any] | None:
    route = key.route
    for one in (state.get("routes") or {}).get("config") or ():
        same = (
            one.get("destination") == route.destination and one.get("next-hop-interface") == route.interface
        )
        table = one.get("table-id") or route.table
        metric = one.get("metric", -1) if route.metric is not None else None
        if same and table == route.table and metric == route.metric:
            return {"next-hop-address": one.get("next-hop-address", "")}
    return None


def _wanted(parsed: Parsed, shown: dict[str, Any] | None, asked: dict[str, Any] | None) -> Any:
    """What an item is to show. Raises ChangeError for an interface that is not there, or is another one."""
    if asked is None or isinstance(parsed, Key):
        return asked
    name, _ = parsed
    if shown is None:
        if "type" not in asked:
            raise ChangeError(f"there is no interface {name}; `ip link` on the host lists them")
        return asked
    different = [path for path in asked if _makes_it(path) and shown.get(path) != asked[path]]
    if different:
        has = ", ".join(f"{path} {shown.get(path)}" for path in different)
        raise ChangeError(
            f"there is an interface {name} already, with {has}; remove it, or name this one otherwise"
        )
    wanted = dict(asked)
    for path in asked:  # a list of addresses stands for all there are: those of others stay in it
        family, _, last = path.partition(".")
        if last == "address":
            wanted[path] = sorted({*shown.get(path, []), *asked[path]})
            wanted[f"{family}.enabled"] = bool(wanted[path]) or shown.get(f"{family}.enabled", False)
    return wanted


def _makes_it(path: str) -> bool:
    """Whether a property makes an interface the one it is."""
    return path == "type" or ("." in path and path not in _LISTS and not path.startswith("ipv"))


def _document(values: list[tuple[Parsed, Any]]) -> dict[str, Any]:
    """The NMState document that makes a host show these."""
    interfaces, routes = [], []
    for parsed, value in values:
        if isinstance(parsed, Key):
            routes.append(_route_entry(parsed, value))
        elif value is None:
            interfaces.append({"name": parsed[0], "state": "absent"})
        elif parsed[1] == (WHOLE,):
            interfaces.append(value)
        else:
            interfaces.append(_nested(parsed[0], value))
    routes.sort(key=lambda one: one.get("state") is None)
    return {"interfaces": interfaces, "routes": {"config": routes}}


def _nested(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {"name": name}
    for path, value in values.items():
        *parents, last = path.split(".")
        inside = document
        for part in parents:
            inside = inside.setdefault(part, {})
        if path.endswith(".address"):
            pairs = (text.partition("/") for text in value)
            value = [{"ip": ip, "prefix-length": int(length)} for ip, _, length in pairs]
        elif path == "bridge.port":
            value = [{"name": port} for port in value]
        inside[last] = value
    return document


def _route_entry(key: Key, value: Mapping[str, Any] | None) -> dict[str, Any]:
    route = key.route
    entry: dict[str, Any] = {"destination": route.destination, "next-hop-interface": route.interface}
    entry["table-id"] = route.table
    if value is None:
        return entry | {"state": "absent"}
    if value["next-hop-address"]:
        entry["next-hop-address"] = value["next-hop-address"]
    return entry if route.metric is None else entry | {"metric": route.metric}
