# SPDX-License-Identifier: Apache-2.0
"""The knob ``host_route``: the interface by which one address is reached, where a subnet is that of several.

The kernel sends everything for a subnet through the first interface that is in it. A route to a single
address says otherwise for this one, and nothing else changes. The target is the address; the canonical text
is ``none`` or ``dev eth2 src 198.18.1.3``. Checked with iproute2 6.1.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.foreign import read_json
from linewatt.tuning import Command, checked_interface, script_command

HOST_ROUTE_KNOB = "host_route"
NONE = "none"
_USUAL_METRICS = (None, 0, 1024)
"""of a route that names none; 1024 over IPv6"""

# $1: -4 or -6, $2: address
_READ = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type ip >/dev/null 2>&1 || { echo "ip is not installed there" >&2; exit 127; }
exec ip -j "$1" route show exact "$2" """

# The same, then the words of the route; none: there is to be none. A neighbour that another interface of the
# peer answered for is asked again; permanent entries stay
_WRITE = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
family=$1 address=$2; shift 2
if (( $# == 0 )); then
  [ -z "$(ip "$family" route show exact "$address")" ] || exec ip "$family" route del "$address"
  exit 0
fi
ip "$family" route replace "$address" "$@" || exit 1
ip "$family" neigh flush to "$address" dev "$2" >/dev/null 2>&1
exit 0"""

_VALUE = re.compile(r"dev (\S+) src (\S+)")


class HostRoute:
    """The route to one address."""

    name = HOST_ROUTE_KNOB

    def check(self, value: str) -> str:
        if value == NONE:
            return value
        match = _VALUE.fullmatch(value)
        if match is None:
            raise InvalidInput(f"{value!r} is not a route to an address; write dev INTERFACE src ADDRESS")
        try:
            return host_route_setting(checked_interface(match[1]), str(ipaddress.ip_address(match[2])))
        except (ChangeError, ValueError) as error:
            raise InvalidInput(str(error)) from error

    def read(self, target: str) -> Command:
        return script_command(_READ, *_address_arguments(target))

    def parse(self, output: str) -> str:
        routes = read_json(output, "ip")
        try:
            return ", ".join(_format_route(shown_route) for shown_route in routes) or NONE
        except (TypeError, AttributeError) as error:
            raise ParseError(f"what ip shows of a route has an unknown shape: {output[:80]!r}") from error

    def wanted(self, before: str, value: str) -> str:
        new_route = self.check(value)
        if before not in (NONE, new_route):
            raise ChangeError(
                f"has a route already ({before}), which is not {new_route}; take it away, or mend it"
            )
        return new_route

    def write(self, target: str, setting: str) -> Command:
        words = () if self.check(setting) == NONE else setting.split()
        return script_command(_WRITE, *_address_arguments(target), *words)


def host_route_setting(through: str, own_address: str) -> str:
    """The setting of a route through an interface, from one of its addresses."""
    return f"dev {through} src {own_address}"


def _address_arguments(target: str) -> tuple[str, str]:
    """Raises ChangeError if ``target`` is not an address."""
    try:
        address = ipaddress.ip_address(target)
    except ValueError as error:
        raise ChangeError(f"{target[:60]!r} is not an address") from error
    return f"-{address.version}", str(address)


def _format_route(shown_route: Mapping[str, Any]) -> str:
    """Words of a route, as far as they matter."""
    metric = shown_route.get("metric")
    words = {
        "type": shown_route.get("type"),
        "via": shown_route.get("gateway"),
        "dev": shown_route.get("dev"),
        "src": shown_route.get("prefsrc"),
        "metric": None if metric in _USUAL_METRICS else metric,
    }
    return " ".join(f"{name} {value}" for name, value in words.items() if value is not None)
