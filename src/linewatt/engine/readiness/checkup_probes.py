# SPDX-License-Identifier: Apache-2.0
"""What `linewatt check` runs on hosts, and how its answers read: constant scripts, pure parsers.

Nothing here changes anything. A host is asked about many of its peers in one round trip.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.engine.readiness.readiness import Live, PathAnswer
from linewatt.errors import HostError, HostLost, ParseError
from linewatt.foreign import read_json
from linewatt.hosts import Host
from linewatt.loads import Protocol
from linewatt.model import Family

SAMPLE_S = 1
PATHS_LIMIT_S = 10.0
SEARCH_LIMIT_S = 30.0
WAYS_AT_ONCE = 16
"""of one host that are tried at once"""
TOOLS = ("taskset", "ss", "ip", "ethtool", "ping", "numactl", "lstopo", "tuned-adm")
SMALL_BYTES = 100
"""a packet that passes wherever anything does"""
HEADER_BYTES = {"ipv4": 20 + 8, "ipv6": 40 + 8}
"""of an echo request: IP and ICMP"""
PING_LIMIT_S = 1
SEARCH_WIDTH = 24
"""packet sizes tried at once"""

# Arguments: interface, seconds, tools. The file must be executable: type -P also finds what is not.
_LIVE = """PATH=$PATH:/usr/sbin:/sbin; data=$1 seconds=$2; shift 2
for tool; do file=$(type -P "$tool"); [ -x "$file" ] && echo "tool $tool 1" || echo "tool $tool 0"; done
if device=$(readlink -e "/sys/class/net/$data/device"); then
  echo "card"
  for port in "${device%.*}".[0-9]*/net/*; do
    read -r carrier 2>/dev/null <"$port/carrier" && [ "$carrier" = 1 ] && echo "port ${port##*/}"
  done
fi
stat() { while read -r name rest; do [[ $name == cpu[0-9]* ]] && echo "$1 $name $rest"; done </proc/stat; }
stat before; sleep "$seconds"; stat after"""

# Arguments: milliseconds are no unit of old pings, so seconds; then five words a peer:
# family (4 or 6), own address, peer's address, payload of a small and of a full packet
_PATHS = """PATH=$PATH:/usr/sbin:/sbin; limit=$1; shift; number=0
once() { ping -"$1" -n -q -M do -c 1 -W "$limit" -I "$2" -s "$4" "$3" >/dev/null 2>&1; }
probe() { once "$@" || once "$@"; echo "ping $5 $6 $?"; }
type -P ping >/dev/null || echo "no ping"
for family in 4 6; do echo "addresses $family $(ip -j -"$family" addr show 2>/dev/null)"; done
while (( $# >= 5 )); do
  echo "route $number $(ip -j -"$1" route get "$3" from "$2" 2>/dev/null)"
  probe "$1" "$2" "$3" "$4" "$number" small & probe "$1" "$2" "$3" "$5" "$number" full &
  (( ++number )); shift 5
done; wait"""

# The largest payload that passes. Arguments: limit, family, own address, peer's address, one that passes,
# one that does not, how many to try at once
_LARGEST = """limit=$1 family=$2 own=$3 peer=$4 low=$5 high=$6 width=$7
probe() {
  ping -"$family" -n -q -M do -c 1 -W "$limit" -I "$own" -s "$1" "$peer" >/dev/null 2>&1 && echo "$1"; }
while (( high - low > 1 )); do
  step=$(( (high - low + width) / (width + 1) )) best=$low
  while read -r size; do (( size > best )) && best=$size; done < <(
    for (( size = low + step; size < high; size += step )); do probe "$size" & done; wait)
  (( best + step < high )) && high=$(( best + step ))
  low=$best
done; echo "$low" """

# Arguments: first and last port
_TAKEN = """PATH=$PATH:/usr/sbin:/sbin
for kind in t u; do ss -Hln"$kind"p "( sport >= :$1 and sport <= :$2 )"; done"""

# Looks, and looks again 5 ms later. Arguments: limit in seconds, how many, a filter, t or u
_LISTENING = """PATH=$PATH:/usr/sbin:/sbin
until [ "$(ss -Hln"$4" "$3" | wc -l)" -ge "$2" ]; do
  [ "$SECONDS" -ge "$1" ] && exit 1
  sleep 0.005
done"""

_TAKEN_LINE = re.compile(r"^(?:\S+\s+){3,4}?\S*:(\d{1,5})\s+\S+:\S+\s*(.*)$")
Subnet = tuple[str, ipaddress.IPv4Network | ipaddress.IPv6Network]
_COUNT = re.compile(r"[0-9]{1,19}")
_PROGRAM = re.compile(r'\("([^"]+)",pid=(\d+)')


@dataclass(frozen=True, slots=True)
class Way:
    """From a host to a peer's data address; ``mtu`` is that of its own interface."""

    host: str
    peer: str
    family: Family
    own_address: str
    address: str
    mtu: int | None
    interface: str | None = None
    """of several data ports the one that is to carry it"""

    @property
    def payload_bytes(self) -> int | None:
        """Of an echo request that fills a packet of the interface's MTU."""
        return None if self.mtu is None else self.mtu - HEADER_BYTES[self.family]

    @property
    def family_digit(self) -> str:
        return "6" if self.family == "ipv6" else "4"

    def words(self) -> list[str]:
        return [self.family_digit, self.own_address, self.address, str(SMALL_BYTES), str(self.payload_bytes)]

    def search_command(self) -> list[str]:
        """Prints the largest payload that passes; the full one does not, the small one does."""
        bounds = [str(SMALL_BYTES), str(self.payload_bytes), str(SEARCH_WIDTH)]
        words = [str(PING_LIMIT_S), self.family_digit, self.own_address, self.address, *bounds]
        return ["env", "LC_ALL=C", "bash", "-c", _LARGEST, "linewatt", *words]


def live_command(data: str) -> list[str]:
    return ["env", "LC_ALL=C", "bash", "-c", _LIVE, "linewatt", data, str(SAMPLE_S), *TOOLS]


def parse_live(output: str) -> Live:
    """What is cut off or unknown is left out."""
    lines = [line.split() for line in output.splitlines()]
    tools = {words[1]: words[2] == "1" for words in lines if words[:1] == ["tool"] and len(words) == 3}
    card = any(words == ["card"] for words in lines)
    ports = tuple(words[1] for words in lines if words[:1] == ["port"] and len(words) == 2)
    before, after = (dict(_cpu_times(lines, word)) for word in ("before", "after"))
    idle = {}
    for cpu, (idle_before, all_before) in before.items():
        idle_after, all_after = after.get(cpu, (0, 0))
        if all_after > all_before and idle_after >= idle_before:
            idle[cpu] = min(1.0, (idle_after - idle_before) / (all_after - all_before))
    return Live(tools, idle or None, ports if card else None)


def _cpu_times(lines: Sequence[Sequence[str]], word: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """CPU → ticks idle (waiting for disks counts) and in all: user nice system idle iowait irq softirq steal.

    Guest time is in user time already. Source: proc_stat(5).
    """
    for words in lines:
        is_complete = len(words) >= 10 and all(_COUNT.fullmatch(number) for number in words[2:10])
        if is_complete and words[0] == word and _COUNT.fullmatch(words[1][3:]):
            ticks = [int(number) for number in words[2:10]]
            yield int(words[1][3:]), (ticks[3] + ticks[4], sum(ticks))


def paths_command(ways: Sequence[Way]) -> list[str]:
    words = [word for way in ways for word in way.words()]
    return ["env", "LC_ALL=C", "bash", "-c", _PATHS, "linewatt", str(PING_LIMIT_S), *words]


def parse_paths(output: str, ways: Sequence[Way]) -> list[PathAnswer]:
    """One answer a way; what its lines do not tell stays None."""
    no_ping = "no ping" in output.splitlines()
    lines = [line.split(" ", 3) for line in output.splitlines()]
    passed = {
        (words[1], words[2]): words[3] == "0" for words in lines if words[0] == "ping" and len(words) == 4
    }
    routes = {words[1]: " ".join(words[2:]) for words in lines if words[0] == "route" and len(words) > 1}
    subnets = {
        words[1]: _subnets(" ".join(words[2:]))
        for words in lines
        if words[0] == "addresses" and len(words) > 1
    }
    answers = []
    for place, way in enumerate(ways):
        number = str(place)
        device, gateway = _route(routes.get(number, ""))
        full = None if no_ping else passed.get((number, "full"))
        small = None if no_ping else passed.get((number, "small"))
        answers.append(
            PathAnswer(
                *(way.host, way.peer, way.family, way.mtu),
                device=device,
                gateway=gateway,
                replies=None if small is None and full is None else bool(small or full),
                full=full,
                problem=None if number in routes else "the host's answer ends before it",
                interface=way.interface,
                neighbours=_neighbours(way.address, subnets.get(way.family_digit, ())),
            )
        )
    return answers


async def ask_paths(host: Host, ways: Sequence[Way]) -> list[PathAnswer]:
    """What a host finds on each of its ways. Raises HostLost: that says nothing of a way."""
    answers: list[PathAnswer] = []
    for start in range(0, len(ways), WAYS_AT_ONCE):
        some = ways[start : start + WAYS_AT_ONCE]
        try:
            done = await host.run(paths_command(some), timeout_s=PATHS_LIMIT_S)
        except HostLost:
            raise
        except HostError as error:
            return [*answers, *(unasked(way, str(error)) for way in ways[start:])]
        answers += parse_paths(done.stdout, some)
    return answers


def unasked(way: Way, problem: str) -> PathAnswer:
    return PathAnswer(way.host, way.peer, way.family, way.mtu, problem=problem)


async def largest_bytes(host: Host, way: Way) -> int | None:
    """The largest packet that passes; ``None`` when that cannot be found out."""
    try:
        done = await host.run(way.search_command(), timeout_s=SEARCH_LIMIT_S)
        return int(done.stdout) + HEADER_BYTES[way.family]
    except (HostError, ValueError):
        return None


def _route(text: str) -> tuple[str | None, str | None]:
    """Device and gateway of ``ip -j route get``; an unreachable or blackhole route has no device."""
    try:
        route = read_json(text, "ip")[0]
        if route.get("type", "unicast") not in ("unicast", "local"):
            return None, None
        return route.get("dev"), route.get("gateway")
    except (ParseError, LookupError, TypeError, AttributeError):
        return None, None


def _subnets(text: str) -> tuple[Subnet, ...]:
    """Of ``ip -j addr``; what has a peer instead of a subnet has that one address."""
    try:
        addresses = [
            (str(link["ifname"]), f"{address.get('address', address['local'])}/{address['prefixlen']}")
            for link in read_json(text, "ip")
            for address in link.get("addr_info", ())
            if address  # interfaces and addresses of another family may be empty objects
        ]
        return tuple((name, ipaddress.ip_network(subnet, strict=False)) for name, subnet in addresses)
    except (ParseError, LookupError, TypeError, ValueError, AttributeError):
        return ()


def _neighbours(address: str, subnets: Sequence[Subnet]) -> tuple[str, ...]:
    try:
        peer = ipaddress.ip_address(address)
    except ValueError:
        return ()
    return tuple(dict.fromkeys(name for name, subnet in subnets if peer in subnet))


def taken_command(first_port: int, last_port: int) -> list[str]:
    return ["env", "LC_ALL=C", "bash", "-c", _TAKEN, "linewatt", str(first_port), str(last_port)]


def parse_taken(output: str) -> dict[int, str]:
    """Port → who listens on it, from ``ss -Hlntp``."""
    program_by_port: dict[int, str] = {}
    for line in output.splitlines():
        match = _TAKEN_LINE.match(line)
        if match:
            programs = [f"{name} ({pid})" for name, pid in _PROGRAM.findall(match[2])]
            program_by_port.setdefault(
                int(match[1]), ", ".join(dict.fromkeys(programs)) or "a process of the system"
            )
    return program_by_port


def listening_command(limit_s: int, ports: Sequence[int], protocol: Protocol) -> list[str]:
    """Ends with status 0 once something listens on each of these ports; asked of the server's own host."""
    clause = " or ".join(f"sport = :{port}" for port in ports)
    words = [str(limit_s), str(len(ports)), f"( {clause} )", "t" if protocol == "TCP" else "u"]
    return ["bash", "-c", _LISTENING, "linewatt", *words]
