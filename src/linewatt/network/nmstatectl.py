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
from linewatt.hosts.facts import Facts
from linewatt.network.description import HostNetwork
from linewatt.network.interfaces import Interface
from linewatt.network.items import Key, parse_network_key, route_key
from linewatt.network.kinds import BOND_WORDS, VXLAN_PORT
from linewatt.network.text import canonical, mapping
from linewatt.tuning import Command, script_command, tool_command
from linewatt.tuning import checked_interface as interface_name

NMSTATE_KNOB = "nmstate"
WHOLE = "*"
"""in place of properties: all that nmstate shows of an interface that is to be removed"""

# $1: what is asked for, said back first
_READ = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type nmstatectl >/dev/null 2>&1 || { echo "nmstatectl is not installed there" >&2; exit 127; }
printf '%s\\n' "$1"
exec nmstatectl show --json"""

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


def nmstate_change(network: HostNetwork) -> tuple[str, str, str]:
    """Knob, target and value, as :meth:`HostNetwork.change` gives them for ``ip``.

    Raises ChangeError for what NMState does not have.
    """
    settings: dict[str, Any] = {}
    for interface in network.interfaces:
        properties = _properties(interface)
        names = WHOLE if properties is None else ",".join(sorted(properties))
        settings[f"interface:{interface.name}/{names}"] = properties
    for route in network.routes:
        value = None if route.state == "absent" else {"next-hop-address": route.gateway or ""}
        settings[str(route_key(route))] = value
    return NMSTATE_KNOB, " ".join(settings), canonical(settings)


def _properties(interface: Interface) -> dict[str, Any] | None:
    """Property → value of an interface, by dotted names; None for an interface to remove."""
    if interface.kind == "geneve":
        raise ChangeError(
            f"{interface.name}: geneve is not NMState's; let another tool than NetworkManager manage it"
        )
    if interface.state == "absent":
        return None
    properties: dict[str, Any] = {"state": interface.state}
    if interface.kind != "ethernet":
        properties["type"] = interface.kind
    if interface.mtu is not None:
        properties["mtu"] = interface.mtu
    for family in ("ipv4", "ipv6"):
        addresses = sorted(
            f"{address.address}/{address.prefix_length}"
            for address in interface.addresses
            if address.family == family
        )
        if addresses or (interface.kind != "ethernet" and family == "ipv4"):
            properties |= {f"{family}.enabled": bool(addresses), f"{family}.address": addresses}
    return properties | dict(_config(interface))


def _config(interface: Interface) -> Iterator[tuple[str, Any]]:
    section = {"bond": "link-aggregation", "linux-bridge": "bridge"}.get(interface.kind, interface.kind)
    defaults = {"port": VXLAN_PORT, "learning": True, "promiscuous": True, "protocol": "802.1q"}
    for name, value in interface.settings:
        if defaults.get(name) != value:
            yield f"{section}.{'destination-port' if name == 'port' else name}", value
    if interface.base is not None:
        yield f"{section}.base-iface", interface.base
    if interface.peer is not None:
        yield f"{section}.peer", interface.peer
    if interface.kind in ("bond", "linux-bridge"):
        yield f"{section}.port", sorted(interface.ports)
    for name, value in interface.options:
        if interface.kind == "bond":
            yield f"{section}.options.{BOND_WORDS.get(name, name)}", value
        else:
            seconds = int(value) // 100 if name in _HUNDREDTHS else value
            yield f"{section}.options.{_BRIDGE_NAMES[name]}", bool(value) if name in _SWITCHES else seconds


class NmstateKnob:
    """Interfaces and routes that a network manages on one host, applied as one NMState document."""

    name = NMSTATE_KNOB

    def read(self, target: str) -> Command:
        for word in _split_target(target):
            _parsed(word)
        return script_command(_READ, " ".join(_split_target(target)))

    def parse(self, output: str) -> str:
        first, _, document = output.partition("\n")
        try:
            words = [(word, _parsed(word)) for word in _split_target(first)]
        except ChangeError as error:
            raise ParseError(f"the answer does not say what it is about: {str(error)[:120]}") from error
        try:
            state = read_json(document, "nmstatectl")
            shown = {word: _shown(parsed, state) for word, parsed in words}
        except (KeyError, TypeError, AttributeError) as error:
            raise ParseError(f"what nmstatectl shows has an unknown shape: {error!r}"[:200]) from error
        return canonical(shown)

    def wanted(self, before: str, value: str) -> str:
        shown, settings = mapping(before, ParseError), mapping(value, InvalidInput)
        if set(shown) != set(settings):
            raise ChangeError("what is asked for and what was read are not about the same items")
        return canonical(
            {word: _target_of_item(_parsed(word), shown[word], settings[word]) for word in settings}
        )

    def write(self, target: str, setting: str) -> Command:
        values = mapping(setting, ParseError)
        document = _document([(_parsed(word), values.get(word)) for word in _split_target(target)])
        return Command(
            tool_command("nmstatectl", "apply", "--memory-only", "-").argv, canonical(document) + "\n"
        )


Parsed = tuple[str, tuple[str, ...]] | Key
"""an interface with its properties, or a route"""


def _split_target(target: str) -> list[str]:
    words = target.split()
    if not words:
        raise ChangeError("names nothing of a network; write it like interface:vxlan0/mtu,vxlan.id")
    return words


def _parsed(word: str) -> Parsed:
    kind, _, path = word.partition(":")
    name, _, properties = path.partition("/")
    if kind == "route":
        return parse_network_key(word)
    if kind != "interface" or not properties:
        raise ChangeError(f"{word!r} names nothing of a network; write it like interface:vxlan0/mtu,vxlan.id")
    return interface_name(name), tuple(properties.split(","))


def _shown(parsed: Parsed, state: Mapping[str, Any]) -> dict[str, Any] | None:
    if isinstance(parsed, Key):
        return _shown_route(parsed, state)
    name, properties = parsed
    interfaces = [
        interface
        for interface in state["interfaces"]
        if interface["name"] == name and interface.get("type") != "ovs-bridge"
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
        return sorted(port["name"] if isinstance(port, Mapping) else port for port in value or ())
    return sorted(
        f"{address['ip']}/{address['prefix-length']}"
        for address in value or ()
        if not ipaddress.ip_address(address["ip"]).is_link_local
    )


def _shown_route(key: Key, state: Mapping[str, Any]) -> dict[str, Any] | None:
    route = key.route
    for entry in (state.get("routes") or {}).get("config") or ():
        same = (
            entry.get("destination") == route.destination
            and entry.get("next-hop-interface") == route.interface
        )
        table = entry.get("table-id") or route.table
        metric = entry.get("metric", -1) if route.metric is not None else None
        if same and table == route.table and metric == route.metric:
            return {"next-hop-address": entry.get("next-hop-address", "")}
    return None


def _target_of_item(parsed: Parsed, shown: dict[str, Any] | None, properties: dict[str, Any] | None) -> Any:
    """The target value of an item. Raises ChangeError for an interface that is missing, or differs."""
    if properties is None or isinstance(parsed, Key):
        return properties
    name, _ = parsed
    if shown is None:
        if "type" not in properties:
            raise ChangeError(f"there is no interface {name}; `ip link` on the host lists them")
        return properties
    different = [path for path in properties if _makes_it(path) and shown.get(path) != properties[path]]
    if different:
        has = ", ".join(f"{path} {shown.get(path)}" for path in different)
        raise ChangeError(
            f"there is an interface {name} already, with {has}; remove it, or name this one otherwise"
        )
    target = dict(properties)
    for path in properties:  # a list of addresses stands for all there are: those of others stay in it
        family, _, last = path.partition(".")
        if last == "address":
            target[path] = sorted({*shown.get(path, []), *properties[path]})
            target[f"{family}.enabled"] = bool(target[path]) or shown.get(f"{family}.enabled", False)
    return target


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
    routes.sort(key=lambda route: route.get("state") is None)
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
