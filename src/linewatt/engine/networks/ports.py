# SPDX-License-Identifier: Apache-2.0
"""Whether each of several data ports carries its own flows, as the kernels of both ends count.

A route says where packets leave. It does not say where they arrive: of two ports on one switch each may
answer for the other's address (ARP flux), and all flows come by one of them. So echo requests go from each
port to its peer, and at both ends its own interface must have counted them, both ways.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

from linewatt.campaign.planning import Round
from linewatt.engine.live.session import End, Session, wait_for_all
from linewatt.errors import HostError
from linewatt.hosts import Host, now_s
from linewatt.model import Case

ECHOES = 50
"""that each port sends: more than neighbours, routers and switches send meanwhile"""
ENOUGH = 0.8
"""of them that must be counted where they belong: one may be lost"""
ECHO_LIMIT_S = 20.0
COUNT_LIMIT_S = 5.0
LATE_S = 3.0
"""what is waited for counters: some NICs write theirs once a second (ethtool(8), stats-block-usecs)"""
AGAIN_S = 0.2

# As root packets may follow each other quickly; old pings let others wait 0.2 s at least.
_ECHO = """PATH=$PATH:/usr/sbin:/sbin; type -P ping >/dev/null || { echo "no ping"; exit; }
gap=0.2; (( UID == 0 )) && gap=0.005
ping -"$1" -n -q -c "$2" -i "$gap" -W 1 -I "$3" "$4" 2>&1"""
_COUNT = """for name; do
  read -r sent <"/sys/class/net/$name/statistics/tx_packets"
  read -r received <"/sys/class/net/$name/statistics/rx_packets"
  echo "$name $sent $received"
done"""

Counts = Mapping[str, tuple[int, int]]
"""interface → packets sent, received"""


async def refuse_shared_ports(session: Session, rounds: Iterable[Round]) -> None:
    """Raises HostError for a port whose flows go or come by another one, or that cannot be tried."""
    pairs: dict[tuple[frozenset[str], str], Case] = {}
    ports: dict[Case, set[int]] = {}
    for case in dict.fromkeys(trial.case for round_ in rounds for trial in round_.trials):
        if case.data_ports is not None:
            first = pairs.setdefault((frozenset(case.hosts), case.family), case)
            ports.setdefault(first, set()).update(case.port_numbers)
    for row in in_rows(pairs.values()):
        await wait_for_all(_prove_all(session, case, sorted(ports[case])) for case in row)


def in_rows(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Pairs that can be tried at once: none has a host of another, which counts what all send. Pure."""
    pending = list(cases)
    while pending:
        row: list[Case] = []
        deferred: list[Case] = []
        busy: set[str] = set()
        for case in pending:
            if busy.isdisjoint(case.hosts):
                row.append(case)
                busy.update(case.hosts)
            else:
                deferred.append(case)
        yield row
        pending = deferred


async def _prove_all(session: Session, case: Case, ports: Iterable[int]) -> None:
    for port in ports:
        await _prove(session, case, session.ends(case, port))


async def _prove(session: Session, case: Case, ends: Mapping[str, End]) -> None:
    source, target = case.hosts
    hosts = {name: session.hosts[name] for name in case.hosts}
    interfaces = {name: session.specs[name].interfaces for name in case.hosts}
    before = {name: await _counted(hosts[name], interfaces[name]) for name in case.hosts}
    words = [case.family[-1], str(ECHOES), ends[source].address, ends[target].address]
    done = await hosts[source].run(
        ["env", "LC_ALL=C", "bash", "-c", _ECHO, "linewatt", *words], timeout_s=ECHO_LIMIT_S, root=True
    )
    where = f"{source} to {target} ({case.family})"
    if done.stdout.startswith("no ping"):
        raise HostError(
            f"{where}: which data port carries what cannot be tried without ping; install iputils-ping on "
            f"{source}"
        )
    if ", 100% packet loss" in done.stdout or "packets transmitted" not in done.stdout:
        raise HostError(
            f"{where}: {ends[target].address} does not answer {ends[source].interface}; are these "
            f"ports in one "
            "network, in this order at both hosts, and does a firewall let pings through?"
        )
    until_s = now_s() + LATE_S
    for name in case.hosts:
        data_port = ends[name].interface
        after = await _counted(hosts[name], interfaces[name])
        while _is_late(before[name], after) and now_s() < until_s:
            await asyncio.sleep(AGAIN_S)
            after = await _counted(hosts[name], interfaces[name])
        wrong = wrong_port(before[name], after, data_port)
        if wrong is not None:
            raise HostError(f"{where}: {name}: {wrong}")


async def _counted(host: Host, interfaces: Sequence[str]) -> dict[str, tuple[int, int]]:
    done = await host.run(["bash", "-c", _COUNT, "linewatt", *interfaces], timeout_s=COUNT_LIMIT_S)
    bytes_by_interface = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdecimal() and words[2].isdecimal():
            bytes_by_interface[words[0]] = int(words[1]), int(words[2])
    if missing := set(interfaces) - set(bytes_by_interface):
        raise HostError(
            f"{host.spec.name}: the packets of {min(missing)} cannot be counted (statistics in /sys)"
        )
    return bytes_by_interface


def _is_late(before: Counts, after: Counts) -> bool:
    """Whether echoes, one way, have been counted neither at their port nor at another one."""
    grown = [_grown(before, after, way) for way in (0, 1)]
    return any(max(counts.values()) < ENOUGH * ECHOES for counts in grown)


def _grown(before: Counts, after: Counts, way: int) -> dict[str, int]:
    return {name: after[name][way] - before[name][way] for name in before}


def wrong_port(before: Counts, after: Counts, data_port: str) -> str | None:
    """Which interface carried the echoes of another, and what to do; ``None``: its own did. Pure."""
    for way, verb in ((0, "leaves by"), (1, "arrives by")):
        grown = _grown(before, after, way)
        if grown[data_port] >= ENOUGH * ECHOES:
            continue
        carrying_port = max((name for name in grown if name != data_port), key=lambda name: grown[name])
        if grown[carrying_port] < ENOUGH * ECHOES:
            return (
                f"of {ECHOES} packets of data port {data_port} its counter shows "
                f"{grown[data_port]}; look at ip -s link "
                "and at the driver"
            )
        if way == 0:
            return (
                f"data of port {data_port} {verb} {carrying_port}; give each port a subnet of its "
                f"own, or its address a "
                "routing table (ip rule add from it)"
            )
        return (
            f"data for port {data_port} {verb} {carrying_port}, which answers ARP for its address; set there "
            "net.ipv4.conf.all.arp_ignore=1 and arp_announce=2 and flush the peer's neighbours (ip neigh "
            "flush all), or separate the ports by VLANs"
        )
    return None
