# SPDX-License-Identifier: Apache-2.0
"""The ways that data takes between the hosts of a campaign, and the ports at their ends, tried for real."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from linewatt.campaign import Campaign
from linewatt.engine.readiness import checkup_probes as probes
from linewatt.engine.readiness import readiness_net
from linewatt.engine.readiness.checkup_probes import Way
from linewatt.engine.readiness.readiness import Check, HostAnswer, PathAnswer, PortAnswer, TakenPort
from linewatt.errors import HostError, ParseError, WaitTimeout
from linewatt.hosts import Host, Process
from linewatt.loads import Exchange, Load, Protocol
from linewatt.model import Case, Family, TestName

TAKEN_LIMIT_S = 5.0
LISTEN_LIMIT_S = 2
AT_ONCE = 8
"""servers that are tried at once"""


class Paths:
    """Probes between hosts that could be asked; ``answers`` are those of their own."""

    def __init__(
        self, campaign: Campaign, hosts: Mapping[str, Host], answers: Mapping[str, HostAnswer], load: Load
    ) -> None:
        self._campaign = campaign
        self._answers = answers
        self._load = load
        self._hosts = {name: hosts[name] for name, answer in answers.items() if answer.problem is None}
        cases = [case for answer in answers.values() for case in answer.wants.cases]
        self._cases: dict[Case, None] = dict.fromkeys(cases)
        self._tests: dict[tuple[str, str, Family], set[TestName]] = {}
        for case in self._cases:
            self._tests.setdefault((case.client, case.server, case.family), set()).add(case.test)
        self._few = asyncio.Semaphore(AT_ONCE)

    async def checks(self) -> Sequence[Check]:
        """Ways first; then ports, one exchange at a server at a time."""
        candidates = list(self._ways())
        ways = [way for way in candidates if isinstance(way, Way)]
        path_answers = [way for way in candidates if isinstance(way, PathAnswer)]
        of_host: dict[str, list[Way]] = {}
        for way in ways:
            of_host.setdefault(way.host, []).append(way)
        host_answers = await asyncio.gather(
            *(self._ask_paths(name, host_ways) for name, host_ways in of_host.items())
        )
        path_answers += [answer for answers in host_answers for answer in answers]
        checks = [*readiness_net.paths(path_answers, self._answers)]
        return [*checks, *await self._ports()]

    def _ways(self) -> Iterator[Way | PathAnswer]:
        """Both ways of every pair and family, as far as addresses are known."""
        pairs: dict[tuple[str, str, Family], set[int]] = {}
        for case in self._cases:
            for host, peer in ((case.sender, case.receiver), (case.receiver, case.sender)):
                pairs.setdefault((host, peer, case.family), set()).update(case.port_numbers)
        for (host, peer, family), ports in pairs.items():
            if host in self._hosts:
                yield from (self._way(host, peer, family, port) for port in sorted(ports))

    def _way(self, host: str, peer: str, family: Family, port: int = 0) -> Way | PathAnswer:
        answer = self._answers[host].at_ports[port]
        mtu = answer.fact("nic", "mtu")
        for name in (host, peer):
            if name not in self._hosts:
                return PathAnswer(host, peer, family, mtu, problem=f"{name} cannot be asked")
        local_address, address = self._address(host, family, port), self._address(peer, family, port)
        if local_address is None or address is None:
            lacking = host if local_address is None else peer
            data = self._answers[lacking].wants.spec.data_ports[port].data
            problem = f"{data} of {lacking} has no {family} address"
            return PathAnswer(host, peer, family, mtu, problem=problem)
        several = bool(self._answers[host].wants.spec.more_ports)
        return Way(
            host,
            peer,
            family,
            local_address,
            address,
            mtu,
            interface=answer.wants.spec.data if several else None,
        )

    def _address(self, name: str, family: Family, port: int = 0) -> str | None:
        answer = self._answers[name].at_ports[port]
        address = answer.wants.spec.known_address(family) or next(
            iter(answer.fact("nic", f"{family}_addresses") or ()), None
        )
        return None if address is None else str(address)

    async def _ask_paths(self, name: str, ways: Sequence[Way]) -> list[PathAnswer]:
        sized = [way for way in ways if way.payload_bytes is not None]
        unsized = [way for way in ways if way.payload_bytes is None]
        lost = [probes.unasked(way, "the MTU of its interface is not known") for way in unsized]
        host = self._hosts[name]
        try:
            answers = await probes.ask_paths(host, sized)
        except HostError as error:
            return lost + [probes.unasked(way, str(error)) for way in sized]
        searched = [_largest(host, way, answer) for way, answer in zip(sized, answers, strict=True)]
        return lost + list(await asyncio.gather(*searched))

    async def _ports(self) -> Sequence[Check]:
        servers = [name for name in dict.fromkeys(case.server for case in self._cases) if name in self._hosts]
        server_answers = await asyncio.gather(*map(self._server, servers))
        answers = [answer for port_answers, _ in server_answers for answer in port_answers]
        taken = [port for _, taken_ports in server_answers for port in taken_ports]
        span = f"{self._campaign.first_port}-{self._campaign.last_port}"
        return [*readiness_net.ports(servers, answers, taken, span)]

    async def _server(self, name: str) -> tuple[list[PortAnswer], list[TakenPort]]:
        """What is taken at a server, and an exchange with each of its clients."""
        async with self._few:
            first, last = self._campaign.first_port, self._campaign.last_port
            answers: list[PortAnswer] = []
            try:
                argv = probes.taken_command(first, last)
                done = await self._hosts[name].run(argv, timeout_s=TAKEN_LIMIT_S, root=self._root(name))
                taken = probes.parse_taken(done.stdout)
            except HostError:
                taken = {}
            free = [port for port in dict.fromkeys((first, last)) if port not in taken]
            for client, family in self._clients(name):
                answers += await self._client(client, name, family, free)
            return answers, [TakenPort(name, port, by) for port, by in sorted(taken.items())]

    def _root(self, name: str) -> bool:
        return self._answers[name].root.granted is True

    def _clients(self, server: str) -> list[tuple[str, Family]]:
        """Who opens connections to a server, as far as it can be asked."""
        return [
            (client, family) for client, at, family in self._tests if at == server and client in self._hosts
        ]

    async def _client(
        self, client: str, server: str, family: Family, ports: Sequence[int]
    ) -> list[PortAnswer]:
        way = self._way(client, server, family)
        if isinstance(way, PathAnswer):
            return [PortAnswer(client, server, port, "TCP", way.problem, asked=False) for port in ports]
        protocols = self._load.tried(self._tests[client, server, family])
        if not (self._has_load(client) and self._has_load(server)):
            needs = f"needs {self._load.name} at both ends"
            return [PortAnswer(client, server, port, protocols[0], needs, asked=False) for port in ports]
        tried = [self._port(way, port, protocols) for port in ports]
        return [answer for answers in await asyncio.gather(*tried) for answer in answers]

    def _has_load(self, name: str) -> bool:
        try:
            self._load.parse_version(str(self._answers[name].fact("tools", self._load.name) or ""))
        except ParseError:
            return False
        return True

    async def _port(self, way: Way, port: int, protocols: Sequence[Protocol]) -> list[PortAnswer]:
        """One protocol after the other; what a load needs first is tried first."""
        answers: list[PortAnswer] = []
        for protocol in protocols:
            answers.append(await self._exchange(way, port, protocol))
            if answers[-1].problem is not None:
                break
        return answers

    async def _exchange(self, way: Way, port: int, protocol: Protocol) -> PortAnswer:
        client, server = self._hosts[way.host], self._hosts[way.peer]
        process: Process | None = None
        load, limit_s = self._load, self._load.try_limit_s
        tried = Exchange(protocol, way.family, way.own_address, way.address, port, limit_s / 2)
        try:
            process = await server.start(load.try_server(tried))
            listening = await server.run(
                probes.listening_command(LISTEN_LIMIT_S, [port], load.listens(protocol)),
                timeout_s=LISTEN_LIMIT_S + 2.0,
            )
            if listening.status != 0:
                complaint = process.so_far().stderr.strip() or f"{load.name} does not listen"
                return PortAnswer(way.host, way.peer, port, protocol, complaint.splitlines()[-1], asked=False)
            done = await client.run(load.try_client(tried), timeout_s=limit_s)
            problem = load.try_problem(done.stdout, done.stderr, done.status)
        except WaitTimeout:
            problem = f"no answer within {limit_s:g} s"
        except HostError as error:
            return PortAnswer(way.host, way.peer, port, protocol, str(error), asked=False)
        finally:
            if process is not None:
                with suppress(HostError):  # a server whose host is gone ends with its leash
                    await process.stop()
        return PortAnswer(way.host, way.peer, port, protocol, problem)


async def _largest(host: Host, way: Way, path_answer: PathAnswer) -> PathAnswer:
    """Where a full packet did not pass, the largest that does."""
    if path_answer.full is not False or not path_answer.replies:
        return path_answer
    return replace(path_answer, largest_bytes=await probes.largest_bytes(host, way))
