# SPDX-License-Identifier: Apache-2.0
"""Whether TCP connections get from a host to ports of a peer: a constant script of bash, a pure parser.

Nothing needs to listen there: a host refuses a connection to such a port at once, so what is sent gets there.
What a firewall does looks otherwise: nothing comes back (DROP), or a message of ICMP does (REJECT, of most
kinds: icmp_err_convert in net/ipv4/icmp.c). Where something listens, to be refused is a firewall's doing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.hosts import Host
from linewatt.hosts.facts import format_cpulist
from linewatt.model import Family

Outcome = Literal["open", "refused", "silent", "rejected", "unreachable", "unknown"]
SOON_S = 1.5
"""for all ports, one after the other: the peer's kernel answers at once"""
LIMIT_S = 3.5
"""for those of which nothing is known by then, all at once: three SYNs, as one may be lost (tcp(7))"""
PORTS_AT_ONCE = 128

# Arguments: limit, 1 for all at once, then address and port of each. A process of bash each only where they
# are tried at once; what bash prints of a failure ends with address, port and reason.
_CONNECT = """limit=$1 together=$2; shift 2; pids=()
connect() { : 3<>"/dev/tcp/$1/$2" && echo "/dev/tcp/$1/$2: open"; }
exec 9<> <(:)
if [ "$together" = 1 ]; then
  while (( $# >= 2 )); do
    { printed=$(connect "$1" "$2" 2>&1); printf '%s\\n' "$printed"; } & pids+=("$!"); shift 2
  done
else
  { while (( $# >= 2 )); do connect "$1" "$2" 2>&1; shift 2; done; } & pids=("$!")
fi
{ read -r -t "$limit" _ <&9; kill "${pids[@]}"; } 2>/dev/null & watcher=$!
wait "${pids[@]}" 2>/dev/null; kill "$watcher"; echo tried"""

_ANSWER = re.compile(r"/dev/tcp/(\S+)/(\d{1,5}): (.+)$")
_OUTCOMES: Mapping[str, Outcome] = {
    "open": "open",
    "Connection refused": "refused",
    "Connection timed out": "silent",
    "No route to host": "rejected",
    "Permission denied": "rejected",
    "Operation not permitted": "rejected",
    "Network is unreachable": "unreachable",
}
"""what bash prints, in English, and what came back; what IPv6 is not allowed is denied"""

PortAt = tuple[str, int]
"""address and TCP port"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Ports of a peer to which connections of a host do not get, all for one reason.

    ``replies``: whether the peer answers pings, ``None``: not known. ``listening``: the program that listens
    there, where that is known.
    """

    host: str
    peer: str
    family: Family
    address: str
    ports: tuple[int, ...]
    outcome: Outcome
    replies: bool | None = None
    listening: str = ""

    def text(self, opened: str) -> str:
        """What is wrong, its likely cause and what to do; ``opened``: the ports that are to be open."""
        ports = f"port{'s' if len(self.ports) > 1 else ''} {format_cpulist(self.ports)}"
        where = f"{self.host} to {self.peer} ({self.family}): TCP {ports} of {self.address}"
        though = " though pings are answered" if self.replies else ""
        though = f" though {self.listening} listens there" if self.listening else though
        nobody = "" if though else ", or no host has this address"
        do = f"open ports {opened} (TCP and UDP) in firewalls of {self.peer} and on the way"
        if self.outcome == "silent":
            return f"{where}: no answer{though}: a firewall drops what is sent there{nobody}; {do}"
        if self.outcome == "rejected":
            return f"{where}: no route to host{though}: a firewall rejects what is sent there{nobody}; {do}"
        if self.outcome == "refused":
            return f"{where}: connection refused{though}: a firewall rejects what is sent there; {do}"
        return f"{where}: network is unreachable{though}: a route is missing, or a firewall rejects it; {do}"


def connect_command(ports: Sequence[PortAt], limit_s: float, *, together: bool) -> list[str]:
    words = [word for address, port in ports for word in (address, str(port))]
    arguments = [f"{limit_s:g}", str(int(together)), *words]
    return ["env", "LC_ALL=C", "bash", "-c", _CONNECT, "linewatt", *arguments]


def parse_connects(output: str) -> dict[PortAt, Outcome]:
    """What came of each; of a port that is not among them nothing came back."""
    matches = (_ANSWER.search(line) for line in output.splitlines())
    return {
        (match[1], int(match[2])): _OUTCOMES.get(match[3].strip(), "unknown")
        for match in matches
        if match is not None
    }


async def try_ports(host: Host, ports: Sequence[PortAt], limit_s: float = LIMIT_S) -> dict[PortAt, Outcome]:
    """What comes of one connection to each. Raises HostError."""
    outcomes: dict[PortAt, Outcome] = {}
    for start in range(0, len(ports), PORTS_AT_ONCE):
        some = ports[start : start + PORTS_AT_ONCE]
        outcomes |= await _connect(host, some, SOON_S, together=False)
        pending = [port for port in some if outcomes[port] == "silent"]
        if pending:
            outcomes |= await _connect(host, pending, limit_s, together=True)
            pending = [port for port in pending if outcomes[port] == "silent"]
        if len(pending) == 1 or 0 < len(pending) < len(some):  # all three packets of one may be lost
            outcomes |= await _connect(host, pending, limit_s, together=True)
    return outcomes


async def _connect(
    host: Host, ports: Sequence[PortAt], limit_s: float, *, together: bool
) -> dict[PortAt, Outcome]:
    done = await host.run(connect_command(ports, limit_s, together=together), timeout_s=limit_s + 5.0)
    if "tried" not in done.stdout.splitlines():
        return dict.fromkeys(ports, "unknown")
    silent: dict[PortAt, Outcome] = dict.fromkeys(ports, "silent")
    return silent | {port: outcome for port, outcome in parse_connects(done.stdout).items() if port in silent}
