# SPDX-License-Identifier: Apache-2.0
"""Whether connections get to the data ports of a plan, before anything is changed: a firewall that keeps them
away would cost each trial seconds, and look like loss.

Ports of bare interfaces are tried, of hosts with one data port: several may share a subnet, and their packets
are set apart later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from linewatt.campaign.entries import BARE_NETWORK
from linewatt.campaign.planning import Round
from linewatt.engine.live.session import Session
from linewatt.engine.networks.proof import Leg
from linewatt.engine.readiness import checkup_probes as probes
from linewatt.engine.readiness.port_probes import Outcome, PortAt, Refusal, try_ports
from linewatt.errors import HostError
from linewatt.hosts import Host
from linewatt.loads import protocol_of
from linewatt.model import Family

TAKEN_LIMIT_S = 5.0
ENDS_S = (0.0, 1.0, 1.5)
"""before each look at a port that is taken: the server of a run that was just killed may be about to end"""

Pair = tuple[str, str, Family]
"""client, server, family"""


@dataclass(slots=True)
class PairPorts:
    """The ports of a server that a client connects to, and what came of a connection to each."""

    address: str
    ports: dict[int, None] = field(default_factory=dict)
    outcomes: Mapping[PortAt, Outcome] = field(default_factory=dict)

    def with_outcome(self, outcome: Outcome) -> tuple[int, ...]:
        ports = (port for port in self.ports if self.outcomes.get((self.address, port)) == outcome)
        return tuple(sorted(ports))


async def try_data_ports(session: Session, rounds: Iterable[Round]) -> dict[Pair, PairPorts]:
    """What comes of connections to all ports of these rounds. Raises HostError."""
    pairs = pairs_of_rounds(session, rounds)
    clients = dict.fromkeys(client for client, _, _ in pairs)
    await asyncio.gather(*(_try_from(session.hosts[name], name, pairs) for name in clients))
    return pairs


def pairs_of_rounds(session: Session, rounds: Iterable[Round]) -> dict[Pair, PairPorts]:
    """The TCP ports that servers listen on, by pair. Raises HostError without an address."""
    pairs: dict[Pair, PairPorts] = {}
    seen: set[tuple[str, str, Family, int, int]] = set()
    for pair in (pair for round_ in rounds for trial in round_.trials for pair in trial.pairs):
        case, instances = pair.case, pair.instances
        if not instances or case.network != BARE_NETWORK or case.data_ports is not None:
            continue
        span = case.client, case.server, case.family, instances[0].port, len(instances)
        if span in seen:  # as in each repetition
            continue
        seen.add(span)
        if session.load.listens(protocol_of(case.test)) == "TCP":
            of_pair = pairs.setdefault(
                (case.client, case.server, case.family), PairPorts(session.ends(case)[case.server].address)
            )
            of_pair.ports.update(dict.fromkeys(instance.port for instance in instances))
    return pairs


async def _try_from(host: Host, client: str, pairs: Mapping[Pair, PairPorts]) -> None:
    own_pairs = [of_pair for pair, of_pair in pairs.items() if pair[0] == client]
    targets = dict.fromkeys((of_pair.address, port) for of_pair in own_pairs for port in of_pair.ports)
    outcomes = await try_ports(host, list(targets))
    for of_pair in own_pairs:
        of_pair.outcomes = outcomes


async def refuse_closed_ports(
    session: Session, pairs: Mapping[Pair, PairPorts], good: Collection[Leg], opened: str
) -> None:
    """Raises HostError for a port that is taken, or that connections do not get to.

    ``good``: the ways on which pings are answered; ``opened``: the ports of the campaign.
    """
    refusals = list(_refusals(pairs, good))
    if refusals:
        more = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        raise HostError(f"{refusals[0].text(opened)}{more}")
    taken: dict[str, set[int]] = {}
    for (_, server, _), of_pair in pairs.items():
        if open_ports := of_pair.with_outcome("open"):
            taken.setdefault(server, set()).update(open_ports)
    for server, ports in taken.items():
        await _refuse_taken(session.hosts[server], server, ports, root=session.may_change(server))


def _refusals(pairs: Mapping[Pair, PairPorts], good: Collection[Leg]) -> Iterator[Refusal]:
    answered = {(leg.way.host, leg.way.peer, leg.way.family) for leg in good}
    for (client, server, family), of_pair in pairs.items():
        replies = True if (client, server, family) in answered else None
        silent, rejected = of_pair.with_outcome("silent"), of_pair.with_outcome("rejected")
        if rejected:  # a kernel sends few messages of ICMP a second: icmp_ratelimit of icmp(7)
            silent, rejected = (), tuple(sorted(silent + rejected))
        ports_of: dict[Outcome, tuple[int, ...]] = {
            "silent": silent,
            "rejected": rejected,
            "unreachable": of_pair.with_outcome("unreachable"),
        }
        for outcome, ports in ports_of.items():
            if ports:
                yield Refusal(client, server, family, of_pair.address, ports, outcome, replies)


async def _refuse_taken(host: Host, name: str, ports: Collection[int], *, root: bool) -> None:
    """Raises HostError naming who listens; a firewall may have answered for a host where nobody does."""
    argv = probes.taken_command(min(ports), max(ports))
    for pause_s in ENDS_S:
        await asyncio.sleep(pause_s)
        done = await host.run(argv, timeout_s=TAKEN_LIMIT_S, root=root)
        taken = {port: by for port, by in probes.parse_taken(done.stdout).items() if port in ports}
        if not taken:
            return
    port = min(taken)
    more = f" (and {len(taken) - 1} more)" if len(taken) > 1 else ""
    raise HostError(
        f"port {port} is taken by {taken[port]}{more}; end that, or choose other ports in the campaign "
        "(ports: FIRST-LAST)",
        where=name,
    )
