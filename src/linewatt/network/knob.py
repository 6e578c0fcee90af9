# SPDX-License-Identifier: Apache-2.0
"""The knob ``network``: interfaces, addresses and routes of a host, through iproute2.

It is for hosts whose interfaces nobody manages, which need not have nmstatectl; where NetworkManager does,
:mod:`linewatt.network.nmstatectl` is needed.

A target lists what is managed, item by item (:mod:`linewatt.network.items`); a setting is compact JSON, item
→ what the host shows, ``null`` where there is none. What is not named stays as it is. Checked with iproute2
6.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.foreign import read_each_json
from linewatt.network import removed_interface, write
from linewatt.network.description import NETWORK_KNOB
from linewatt.network.items import Key, parse_network_key
from linewatt.network.kinds import shown_option, shown_state
from linewatt.network.text import canonical, mapping
from linewatt.tuning import Command, script_command

# $1: what is asked for, said back first. stdin: lines for ip, of which some may name what is not there
_READ = r"""PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type ip >/dev/null 2>&1 || { echo "ip is not installed there" >&2; exit 127; }
printf '%s\n' "$1"
ip -N -d -j -force -batch - 2>/dev/null
exit 0"""

Links = Mapping[str, Mapping[str, Any]]
Routes = Sequence[Mapping[str, Any]]


class NetworkKnob:
    """Interfaces and routes that a network manages on one host, made and taken away together."""

    name = NETWORK_KNOB

    def read(self, target: str) -> Command:
        keys = write.check_keys(target)
        lines = ["address show"]
        for key in keys:
            if key.kind == "route":
                lines.append(f"route show exact {key.route.destination} table all")
        if any(key.kind in ("gone", "lost") for key in keys):
            lines += ["link show", "route show table all"]  # asked for one interface, ip does not name it
        return script_command(_READ, " ".join(map(str, keys)), stdin="".join(f"{line}\n" for line in lines))

    def parse(self, output: str) -> str:
        first, _, answers = output.partition("\n")
        try:
            keys = write.check_keys(first)
        except ChangeError as error:
            raise ParseError(f"the answer does not say what it is about: {str(error)[:120]}") from error
        links: dict[str, dict[str, Any]] = {}
        routes: list[Mapping[str, Any]] = []
        for entry in _objects(answers):
            if "ifname" in entry:
                links.setdefault(str(entry["ifname"]), {}).update(entry)
            elif "dst" in entry:
                routes.append(entry)
        if not links:
            raise ParseError(f"ip shows no interface at all in {answers[:80]!r}")
        try:
            return canonical({str(key): _shown(key, links, routes) for key in keys})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParseError(f"what ip shows has an unknown shape: {error!r}"[:200]) from error

    def wanted(self, before: str, value: str) -> str:
        shown, settings = mapping(before, ParseError), mapping(value, InvalidInput)
        if set(shown) != set(settings):
            raise ChangeError("what is asked for and what was read are not about the same items")
        bounds = {
            parse_network_key(word).interface: shown[word] for word in shown if word.startswith("need:")
        }
        return canonical(
            {
                word: _target_of_item(parse_network_key(word), shown[word], settings[word], bounds)
                for word in settings
            }
        )

    def write(self, target: str, setting: str) -> Command:
        return write.command(target, mapping(setting, ParseError))


def interfaces_with_addresses(setting: str) -> set[str]:
    """Interfaces of a setting that are made and have addresses: what is to be up once it is in force.

    A bridge is when one of its ports forwards (kernel, br_port_state_selection); without ports it never is.
    """
    shown = {
        parse_network_key(word): value
        for word, value in mapping(setting, ParseError).items()
        if value is not None
    }
    masters = {value for key, value in shown.items() if key.kind == "master"}
    interfaces_made = {
        key.interface
        for key, value in shown.items()
        if key.kind == "link" and (value["kind"] not in ("bridge", "bond") or key.interface in masters)
    }
    return interfaces_made & {key.interface for key in shown if key.kind == "address"}


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects of all arrays in ``text``, one array a command. Raises ParseError."""
    for value in read_each_json(text, "ip"):
        if not isinstance(value, list):
            raise ParseError(f"ip wrote {str(value)[:60]!r}, which is not a list")
        yield from (element for element in value if isinstance(element, dict))


def _shown(key: Key, links: Links, routes: Routes) -> Any:
    """What a host shows of one item; None where it is not there."""
    if key.kind == "address":
        return _address(key, links)
    if key.kind == "route":
        return _route(key, routes)
    link = links.get(key.interface)
    if link is None:
        return None
    return _shown_of_link(key, link, links, routes)


def _shown_of_link(key: Key, link: Mapping[str, Any], links: Links, routes: Routes) -> Any:
    match key.kind:
        case "need":
            return f"{link.get('min_mtu', 68)}-{link.get('max_mtu') or 65_535}"
        case "lost":
            return removed_interface.lost(link, routes)
        case "gone":
            return removed_interface.capture(link, links.values(), routes)
        case "link":
            return shown_state(link)
        case "option":
            return shown_option(link, key.detail)
        case "master":
            return str(link.get("master", ""))
        case "mtu":
            return int(link["mtu"])
        case _:
            return "UP" in link["flags"]


def _address(key: Key, links: Links) -> str | None:
    """Interface and prefix length of an address, its own interface first."""
    address = key.address.address
    addresses = [
        f"{name}/{info.get('prefixlen')}"
        for name, link in links.items()
        for info in link.get("addr_info", ())
        if info.get("local") == address
    ]
    return min(
        addresses,
        key=lambda text: (text != f"{key.interface}/{key.address.prefix_length}", text),
        default=None,
    )


def _route(key: Key, routes: Routes) -> dict[str, Any] | None:
    """Attributes of the route of this destination, table and metric; that of its own interface first."""
    asked_route = key.route
    metric = write.DEFAULT_METRIC[asked_route.family] if asked_route.metric is None else asked_route.metric
    matches = [
        route
        for route in routes
        if _destination(route) == asked_route.destination
        and str(route.get("table", "254")) == str(asked_route.table)
        and int(route.get("metric", 0)) == metric
        and route.get("type") in removed_interface.UNICAST
    ]
    if not matches:
        return None
    route = min(matches, key=lambda match: match.get("dev") != asked_route.interface)
    value: dict[str, Any] = {"protocol": _PROTOCOLS.get(str(route.get("protocol")), route.get("protocol"))}
    if route.get("dev") != asked_route.interface:
        value["elsewhere"] = str(route.get("dev", "several interfaces"))
    if "gateway" in route:
        value["via"] = route["gateway"]
    if asked_route.family == "ipv4" and str(route.get("scope")) != ("0" if "gateway" in route else "253"):
        value["scope"] = route.get("scope")
    if "prefsrc" in route:
        value["source"] = route["prefsrc"]
    strange = set(route) - _ROUTE_KNOWN
    if strange:
        value["cannot"] = sorted(strange)
    return value


_PROTOCOLS = {"2": "kernel", "3": "boot", "4": "static"}
_ROUTE_KNOWN = {
    "type", "dst", "dev", "table", "protocol", "scope", "gateway", "prefsrc", "metric", "flags", "pref",
}  # fmt: skip


def _destination(route: Mapping[str, Any]) -> str:
    """With its length; a default route shows no family but has ``pref`` with IPv6."""
    text = str(route["dst"])
    if text == "default":
        return "::/0" if "pref" in route else "0.0.0.0/0"
    return text if "/" in text else f"{text}/{128 if ':' in text else 32}"


def _target_of_item(key: Key, shown: Any, setting: Any, bounds: Mapping[str, Any]) -> Any:
    """The target value of an item. Raises ChangeError if the host cannot have it, or has a conflict."""
    name = key.interface
    if key.kind == "need":
        if shown is None:
            raise ChangeError(f"there is no interface {name}; `ip link` on the host lists them")
        return shown
    if key.kind == "lost":
        if shown:
            raise ChangeError(
                f"{name} would lose {', '.join(map(str, shown))} when it goes down, which linewatt could "
                "not put back; take it off by hand first"
            )
        return shown
    if key.kind == "mtu":
        _check_mtu(name, setting, bounds.get(name))
    if key.kind == "gone":
        return _target_of_gone(shown)
    if key.kind == "route":
        return _target_of_route(key, shown, setting)
    if shown is not None and shown != setting:
        _check_unlike(key, shown, setting)
    return setting


def _check_mtu(name: str, mtu: int, bounds: Any) -> None:
    lowest, _, highest = str(bounds or "68-65535").partition("-")
    if not int(lowest) <= mtu <= int(highest):
        raise ChangeError(f"{name} cannot have an MTU of {mtu}; its device takes {lowest} to {highest} bytes")


def _check_unlike(key: Key, shown: Any, setting: Any) -> None:
    """Items that cannot be changed from what the host has. Raises ChangeError."""
    name = key.interface
    if key.kind == "link":
        different = [word for word in {**shown, **setting} if shown.get(word) != setting.get(word)]
        has = ", ".join(
            f"{word} {shown.get(word, 'none')} in place of {setting.get(word, 'none')}" for word in different
        )
        raise ChangeError(
            f"there is an interface {name} already, with {has}; remove it, or give this one another name"
        )
    if key.kind == "option":
        raise ChangeError(f"{name} is there already with {key.detail} {shown} in place of {setting}")
    if key.kind == "master" and shown and setting:
        raise ChangeError(f"{name} is a port of {shown}; take it out there first")
    if key.kind == "address":
        raise ChangeError(
            f"the host has {key.address.address} already, as {shown.rpartition('/')[0]} with the length "
            f"{shown.rpartition('/')[2]}; use another address, or take it off there"
        )


def _target_of_gone(shown: Any) -> None:
    if isinstance(shown, dict) and "cannot" in shown:
        raise ChangeError(f"{shown['cannot']}; remove it by hand")


def _target_of_route(key: Key, shown: Any, setting: Any) -> Any:
    what = f"the host has a route to {key.route.destination}"
    if shown is None:
        return setting
    if "elsewhere" in shown:
        if setting is None:
            return shown
        raise ChangeError(f"{what} already, through {shown['elsewhere']}; give this one another metric")
    if setting is None:
        if shown["protocol"] == "kernel":
            raise ChangeError(
                f"{what} that the kernel makes of an address of {key.interface}; it comes and goes with it"
            )
        if "cannot" in shown:
            raise ChangeError(
                f"{what} with {', '.join(shown['cannot'])}, which could not be put back as it was"
            )
        return None
    if shown.get("via") == setting.get("via"):
        return shown
    raise ChangeError(
        f"{what} already, by {shown.get('via', 'the link')} in place of {setting.get('via', 'the link')}; "
        "give this one another metric"
    )
