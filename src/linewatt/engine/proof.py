# SPDX-License-Identifier: Apache-2.0
"""Whether a network that was set up carries data before anything is measured on it: replies, way, size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linewatt.campaign.plan import Round
from linewatt.engine import checkup_probes as probes
from linewatt.engine.readiness import PathAnswer
from linewatt.engine.session import Session
from linewatt.errors import HostError
from linewatt.hosts.base import Host

LIMIT_S = 10.0
SEARCH_LIMIT_S = 30.0
AT_ONCE = 16
"""ways of one host that are tried at once"""


@dataclass(frozen=True, slots=True)
class Leg:
    """One way of data on a network: ``interface`` is the one of ``way.host`` that is to carry it."""

    network: str
    interface: str
    way: probes.Way


def legs(session: Session, rounds: Iterable[Round]) -> list[Leg]:
    """Both ways of all that rounds send, each once; a case without an address says so in its trials."""
    found: dict[Leg, None] = {}
    for case in dict.fromkeys(trial.case for one in rounds for trial in one.trials):
        try:
            ends = session.ends(case)
        except HostError:
            continue
        for host, peer in (case.hosts, case.hosts[::-1]):
            own = ends[host]
            way = probes.Way(host, peer, case.family, own.address, ends[peer].address, own.framing.mtu)
            found[Leg(case.network, own.interface, way)] = None
    return list(found)


async def prove(hosts: Mapping[str, Host], legs: Sequence[Leg]) -> list[str]:
    """What is wrong with them, a line each: no reply, another interface, a full packet that does not pass."""
    by_host: dict[str, list[Leg]] = {}
    for leg in legs:
        by_host.setdefault(leg.way.host, []).append(leg)
    found = await asyncio.gather(*(_prove_from(hosts[name], own) for name, own in by_host.items()))
    return [problem for problems in found for problem in problems]


async def _prove_from(host: Host, legs: Sequence[Leg]) -> list[str]:
    problems: list[str] = []
    for start in range(0, len(legs), AT_ONCE):
        some = legs[start : start + AT_ONCE]
        ways = [leg.way for leg in some]
        try:
            done = await host.run(probes.paths_command(ways), timeout_s=LIMIT_S)
        except HostError as error:
            return [*problems, str(error)]
        answers = zip(some, probes.parse_paths(done.stdout, ways), strict=True)
        for leg, one in answers:
            text = await _problem(host, leg, one, search=not problems)
            problems += [] if text is None else [text]
    return problems


async def _problem(host: Host, leg: Leg, answer: PathAnswer, *, search: bool) -> str | None:
    """``search``: for the largest packet that passes, which takes seconds."""
    way = leg.way
    where = f"network {leg.network}: {way.host} to {way.peer} ({way.family})"
    if answer.problem is not None:
        return f"{where}: cannot be tried: {answer.problem}"
    if answer.replies is None:
        return f"{where}: cannot be tried without ping; install iputils-ping on {way.host}"
    if answer.device is None:
        return f"{where}: {way.host} has no route to {way.address}; add it under routes"
    if answer.device != leg.interface:
        return (
            f"{where}: {way.address} is reached through {answer.device}, not through {leg.interface}; "
            "what is measured there is another network. Give the networks different addresses"
        )
    if not answer.replies:
        return (
            f"{where}: {way.address} does not answer through {leg.interface}; look at what both ends say of "
            "it (remote, id, destination-port, base-iface), and whether a firewall drops the packets"
        )
    if answer.full is False:
        largest = await _largest(host, way) if search else None
        passes = f"the largest that passes has {largest} bytes" if largest else "smaller ones do"
        return (
            f"{where}: a packet of {way.mtu} bytes, the MTU of {leg.interface}, does not pass; {passes}. "
            "Lower its mtu, or raise that of what carries it"
        )
    return None


async def _largest(host: Host, way: probes.Way) -> int | None:
    """The largest packet that passes; ``None`` when that cannot be found out."""
    try:
        done = await host.run(way.search_command(), timeout_s=SEARCH_LIMIT_S)
        return int(done.stdout) + probes.HEADER_BYTES[way.family]
    except (HostError, ValueError):
        return None
