# SPDX-License-Identifier: Apache-2.0
"""What a host shows of a network written as lines of ``ip -batch``. Pure.

One script takes all of it on its input: first what goes, then what comes. What goes may be gone already; of
what comes, an interface and an address are made only where they are not there, everything else can be said
twice. So the host ends in the same state from wherever it starts, a half-made one too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from linewatt.errors import ChangeError
from linewatt.network.items import Key, parse_network_key
from linewatt.network.kinds import add_words, option_words
from linewatt.tuning import Command, script_command

DEFAULT_METRIC = {"ipv4": 0, "ipv6": 1024}
"""of a route that names none; the kernel's IP6_RT_PRIO_USER"""

Line = tuple[str, list[str]]
"""a condition, and the words behind ``ip``"""

# stdin: lines for ip that take away, an empty line, then lines that make: a condition, then words for ip.
# A condition is three fields with bars between: always||, link|NAME|, address|NAME|IP/LENGTH. The latter two
# hold where there is none such. The modules of bonds and dummies would make a bond0 and a dummy0 of their own
# as they are loaded (kernel, bonding.rst, max_bonds; drivers/net/dummy.c, numdummies).
_SCRIPT = r"""PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type ip >/dev/null 2>&1 || { echo "ip is not installed there" >&2; exit 127; }
gone= made=
while IFS= read -r line && [ -n "$line" ]; do gone+=$line$'\n'; done
[ -z "$gone" ] || ip -force -batch - >/dev/null 2>&1 <<<"$gone"
declare -A there
while read -r _ name family address _; do there["$name $address"]=1; done < <(ip -o address show)
while IFS=': ' read -r name _; do there["$name"]=1; done </proc/self/net/dev
while IFS='|' read -r kind name address line; do
  key=$name${address:+ $address}
  [ "$kind" = always ] || [ -z "${there[$key]}" ] && made+=$line$'\n'
done
[ -n "$made" ] || exit 0
[[ $made == *" type bond "* && ! -e /sys/module/bonding ]] && modprobe -q bonding max_bonds=0 2>/dev/null
[[ $made == *" type dummy"* && ! -e /sys/module/dummy ]] && modprobe -q dummy numdummies=0 2>/dev/null
why=$(ip -batch - 2>&1 <<<"$made") && exit 0
number=${why##*Command failed -:}
mapfile -t lines <<<"$made"
[[ $number =~ ^[0-9]+$ ]] && why="${why%$'\n'Command failed*}"$'\n'"ip ${lines[number - 1]}"
printf '%s\n' "$why" >&2
exit 1"""


def command(target: str, setting: Mapping[str, Any]) -> Command:
    """Raises ChangeError if a word is none of a network."""
    keys = [parse_network_key(word) for word in target.split()]
    gone = [line for key in reversed(keys) if setting.get(str(key)) is None for line in _removal_lines(key)]
    lines_made = list(_lines_made(keys, setting))
    text = "".join(f"{' '.join(line)}\n" for line in gone) + "\n"
    text += "".join(f"{condition}|{' '.join(line)}\n" for condition, line in lines_made)
    return script_command(_SCRIPT, stdin=text)


def _removal_lines(key: Key) -> Iterator[list[str]]:
    if key.kind in ("link", "gone"):
        yield ["link", "del", "dev", key.interface]
    elif key.kind == "address":
        yield ["address", "del", key.detail, "dev", key.interface]
    elif key.kind == "route":
        yield _route_removal(key)


def _route_removal(key: Key) -> list[str]:
    """Words that take away the route of this metric and no other.

    Without a metric the kernel takes any (fib_table_delete, ip6_route_del), also one that was there before.
    IPv4 has no word for 0 there, but a flush asks for each that it lists.
    """
    words = route_words(key, {})
    if key.route.metric is not None:
        return ["route", "del", *words]
    metric = ["metric", str(DEFAULT_METRIC[key.route.family])]
    return ["route", *(["flush", "exact"] if key.route.family == "ipv4" else ["del"]), *words, *metric]


def _lines_made(keys: list[Key], setting: Mapping[str, Any]) -> Iterator[Line]:
    links = {key.interface: setting[str(key)] for key in keys if key.kind == "link" and setting.get(str(key))}
    paired: set[str] = set()
    for key in keys:
        value = setting.get(str(key))
        if value is None:
            continue
        if key.kind == "link" and key.interface not in paired:
            paired.add(str(value.get("peer", "")))
            yield _if_no_link(key.interface), add_words(key.interface, value)
        elif key.kind == "gone":
            for line in value.get("lines", ()):
                yield _if_no_link(key.interface), str(line).split(" ")
        else:
            yield from _line_on_interface(key, value, links)


def _line_on_interface(key: Key, value: Any, links: Mapping[str, Mapping[str, Any]]) -> Iterator[Line]:
    dev = ["dev", key.interface]
    if key.kind == "option":
        kind = str(links.get(key.interface, {}).get("kind", ""))
        yield ALWAYS, option_words(key.interface, kind, key.detail, value)
    elif key.kind == "master":
        if links.get(value, {}).get("kind") == "bond":
            yield (
                ALWAYS,
                ["link", "set", *dev, "down"],
            )  # a bond takes only what is down (kernel, bonding.rst)
        yield ALWAYS, ["link", "set", *dev, *(["master", value] if value else ["nomaster"])]
    elif key.kind == "mtu":
        yield ALWAYS, ["link", "set", *dev, "mtu", str(value)]
    elif key.kind == "up":
        yield ALWAYS, ["link", "set", *dev, "up" if value else "down"]
    elif key.kind == "address":
        words = ["address", "add", key.detail, *dev, *(["nodad"] if ":" in key.detail else [])]
        yield _if_no_address(key.interface, key.detail), words
    elif key.kind == "route" and "elsewhere" not in value:
        yield ALWAYS, ["route", "replace", *route_words(key, value)]


ALWAYS = "always||"


def _if_no_link(name: str) -> str:
    return f"link|{name}|"


def _if_no_address(name: str, address: str) -> str:
    return f"address|{name}|{address}"


def route_words(key: Key, value: Mapping[str, Any]) -> list[str]:
    """Words of a route behind ``add`` or ``del``; what ``value`` does not say is not asked for."""
    route = key.route
    words = [route.destination, "dev", route.interface, "table", str(route.table)]
    if "via" in value:
        words[1:1] = ["via", str(value["via"])]
    for name, word in (("protocol", "proto"), ("scope", "scope"), ("source", "src")):
        if name in value:
            words += [word, str(value[name])]
    if route.metric is not None:
        words += ["metric", str(route.metric)]
    return words


def check_keys(target: str) -> list[Key]:
    """The keys of a target. Raises ChangeError if there are none, or a word is none."""
    keys = [parse_network_key(word) for word in target.split()]
    if not keys:
        raise ChangeError(
            "names nothing of a network; write it like link:vxlan0 address:vxlan0/198.18.100.1/24"
        )
    return keys
