# SPDX-License-Identifier: Apache-2.0
"""Whether each path carries data in the state it is measured in: route, replies, full packets.

A path is proven once for each setting of its hosts, before its first trial.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.campaign import setting_of_hosts
from linewatt.campaign.entries import BARE_NETWORK
from linewatt.campaign.planning import Round
from linewatt.engine import events
from linewatt.engine.live.session import Session
from linewatt.engine.readiness import checkup_probes as probes
from linewatt.engine.readiness.readiness import PathAnswer
from linewatt.errors import ChangeError, HostError, InvalidInput
from linewatt.hosts import Host
from linewatt.hosts.facts import facts_at_interface
from linewatt.model import Case
from linewatt.network import payload_bytes


@dataclass(frozen=True, slots=True)
class Leg:
    """One way of data on a network: ``interface`` is the one of ``way.host`` that is to carry it."""

    network: str
    interface: str
    way: probes.Way
    ports: tuple[str, ...] = ()
    """the data ports of the host, where it has several"""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one way, in a line.

    ``way``: its route is another one. ``size``: full packets do not pass. ``silent``: nothing answers, or it
    cannot be tried, which on bare interfaces may be a firewall's doing.
    """

    kind: Literal["way", "size", "silent"]
    text: str
    through: str | None = None
    """the other data port of the host that is the way of this one's packets to its own subnet"""


State = tuple[tuple[tuple[str, str], ...], Leg]
"""the setting of the hosts, and one way"""


class Proofs:
    """What is known of the ways of a campaign, each in every setting of its hosts."""

    def __init__(
        self,
        session: Session,
        on_event: events.OnEvent,
        asks_mtu: Callable[[Case], bool],
        good: Callable[[], Collection[Leg]] = frozenset,
    ) -> None:
        """``asks_mtu``: whether the campaign sets the MTU of a case; else it is as the hosts have it.

        ``good``: the ways of which it is known already that nothing is wrong with them, as hosts are now.
        """
        self._session = session
        self._say = on_event
        self._asks_mtu = asks_mtu
        self._good = good
        self._found: dict[State, Problem | None] = {}

    def forget(self) -> None:
        """Prove everything anew: hosts were rebooted."""
        self._found.clear()

    async def of(self, rounds: Iterable[Round]) -> None:
        """Prove what is not known yet of these rounds.

        Raises HostError; ChangeError with what is wrong, where its trials cannot be what they are to be.
        """
        states = self._states_of(rounds)
        good = self._good()
        self._found |= dict.fromkeys(state for state in states if state[1] in good)
        new = [state for state in states if state not in self._found]
        problems = await prove_paths(self._session.hosts, [leg for _, leg in new])
        for state, problem in zip(new, problems, strict=True):
            self._found[state] = problem
            if problem is not None and not self._fails(states[state], problem):
                self._say(events.Warned(problem.text))
        self._refuse(states)

    def refuse_failed(self, rounds: Iterable[Round]) -> None:
        """Raises ChangeError as ``of`` does, for what is known already: hosts need not be set for that."""
        self._refuse(self._states_of(rounds))

    def _refuse(self, states: Mapping[State, Case]) -> None:
        failing = [
            problem.text
            for state, case in states.items()
            if (problem := self._found.get(state)) is not None and self._fails(case, problem)
        ]
        if failing:
            more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
            raise ChangeError(failing[0] + more)

    def _fails(self, case: Case, problem: Problem) -> bool:
        """Whether trials of a case may not begin; else they are marked."""
        if case.network != BARE_NETWORK or problem.kind == "way":
            return True
        return problem.kind == "size" and self._asks_mtu(case)

    def proven(self, round_: Round) -> bool:
        """Whether nothing of a round is left to be proven, and all of it can begin."""
        return all(
            state in self._found
            and ((problem := self._found[state]) is None or not self._fails(trial.case, problem))
            for trial in round_.trials
            for state in self._states(trial.case)
        )

    def problem(self, case: Case) -> Problem | None:
        """What is wrong with the ways of a case, the gravest first."""
        problems = [
            problem for state in self._states(case) if (problem := self._found.get(state)) is not None
        ]
        return min(problems, key=lambda problem: problem.kind == "silent", default=None)

    def _states_of(self, rounds: Iterable[Round]) -> dict[State, Case]:
        cases = dict.fromkeys(trial.case for round_ in rounds for trial in round_.trials)
        return {state: case for case in cases for state in self._states(case)}

    def _states(self, case: Case) -> list[State]:
        return [(setting_of_hosts(case), leg) for leg in _legs(self._session, case)]


async def refuse_wrong_ways(
    session: Session, rounds: Iterable[Round]
) -> tuple[frozenset[Leg], dict[Leg, str]]:
    """Whether data of bare interfaces leaves through them, before anything is changed.

    Returns the ways with which nothing is wrong; and those of data ports in one subnet, which a run sets
    apart, each with the other port of its host by which its packets would leave. Raises HostError: an
    interface without an address of the family, or a route through another interface; InvalidInput: frames
    for which an interface has no room.
    """
    cases = dict.fromkeys(trial.case for round_ in rounds for trial in round_.trials)
    for case in cases:
        _refuse_large_frames(session, case)
    bare_legs = dict.fromkeys(
        leg for case in cases if case.network == BARE_NETWORK for leg in _legs(session, case)
    )
    for leg in bare_legs:
        _on_its_interface(session, leg)
    crossed: dict[Leg, str] = {}
    problems = dict(
        zip(bare_legs, await prove_paths(session.hosts, list(bare_legs), search=False), strict=True)
    )
    for leg, problem in problems.items():
        if problem is None or problem.kind != "way":
            continue
        if problem.through is None:
            raise HostError(problem.text)
        if not session.may_change(leg.way.host):
            raise HostError(f"{problem.text}, or let the run do it (sudo: true)")
        crossed[leg] = problem.through
    return frozenset(leg for leg, problem in problems.items() if problem is None), crossed


def _refuse_large_frames(session: Session, case: Case) -> None:
    ports = (session.ends(pair, port) for pair in case.pairs for port in case.port_numbers)
    for name, end in ((name, end) for ends in ports for name, end in ends.items()):
        try:
            payload_bytes(case.test, case.family, end.framing)
        except InvalidInput as error:
            on = f"{end.interface} on network {case.network}"
            raise InvalidInput(f"{name}: {on}: {error}; leave the test out, or raise its MTU") from error


def _on_its_interface(session: Session, leg: Leg) -> None:
    """Raises HostError when the address of an end is one of another interface."""
    nic = facts_at_interface(session.facts[leg.way.host], leg.interface)["nic"]
    addresses = nic.get(f"{leg.way.family}_addresses") or ()
    if leg.way.own_address not in addresses:
        has = f"has {', '.join(addresses)}" if addresses else f"has no {leg.way.family} address"
        raise HostError(
            f"{leg.way.host}: {leg.way.own_address} is not an address of {leg.interface}, which {has}; name "
            f"the interface that carries the data, or its address (data_{leg.way.family})"
        )


def legs_of_rounds(session: Session, rounds: Iterable[Round]) -> list[Leg]:
    """Both ways of all that rounds send, each once. Raises HostError for an interface without an address."""
    cases = dict.fromkeys(trial.case for round_ in rounds for trial in round_.trials)
    return list(dict.fromkeys(leg for case in cases for leg in _legs(session, case)))


def _legs(session: Session, case: Case) -> list[Leg]:
    """Both ways of each pair of a case; none where its network has no way, which its trials say."""
    if case.flows:
        return [leg for pair in case.pairs for leg in _legs(session, pair)]
    try:
        ends_of_ports = [session.ends(case, port) for port in case.port_numbers]
    except HostError:
        if case.network == BARE_NETWORK:
            raise
        return []
    return [
        Leg(
            case.network,
            ends[host].interface,
            # what is sent is what both ends have room for: TCP agrees on it, a datagram is made for it
            probes.Way(
                *(host, peer, case.family, ends[host].address, ends[peer].address),
                min(end.framing.mtu for end in ends.values()),
            ),
            session.specs[host].interfaces if case.data_ports else (),
        )
        for ends in ends_of_ports
        for host, peer in (case.hosts, case.hosts[::-1])
    ]


async def prove_paths(
    hosts: Mapping[str, Host], legs: Sequence[Leg], *, search: bool = True
) -> list[Problem | None]:
    """What is wrong with each; ``search``: with the largest packet that passes, once a host.

    Raises HostLost.
    """
    by_host: dict[str, list[Leg]] = {}
    for leg in legs:
        by_host.setdefault(leg.way.host, []).append(leg)
    answers = await asyncio.gather(
        *(_prove_from(hosts[name], host_legs, search) for name, host_legs in by_host.items())
    )
    problem_by_leg = {leg: problem for leg_problems in answers for leg, problem in leg_problems.items()}
    return [problem_by_leg[leg] for leg in legs]


async def _prove_from(host: Host, legs: Sequence[Leg], search: bool) -> dict[Leg, Problem | None]:
    problem_by_leg: dict[Leg, Problem | None] = {}
    answers = await probes.ask_paths(host, [leg.way for leg in legs])
    for leg, answer in zip(legs, answers, strict=True):
        first = search and all(problem is None for problem in problem_by_leg.values())
        problem_by_leg[leg] = await _problem(host, leg, answer, search=first)
    return problem_by_leg


async def _problem(host: Host, leg: Leg, answer: PathAnswer, *, search: bool) -> Problem | None:
    """``search``: for the largest packet that passes, which takes seconds."""
    way = leg.way
    network = "" if leg.network == BARE_NETWORK else f"network {leg.network}: "
    where = f"{network}{way.host} to {way.peer} ({way.family})"
    if answer.problem is not None:
        return Problem("silent", f"{where}: cannot be tried: {answer.problem}")
    if answer.device != leg.interface and answer.device is not None:
        crossed = answer.is_crossed(leg.interface, leg.ports)
        return Problem(
            "way",
            f"{where}: {way.address} is reached through {answer.device}, not through {leg.interface}; "
            f"{_other_interface(leg, answer.device, crossed)}",
            answer.device if crossed else None,
        )
    if answer.device is None and (answer.replies is not None or leg.network == BARE_NETWORK):
        add = "add it under routes" if network else "give the interface an address of its network, or a route"
        return Problem("way", f"{where}: {way.host} has no route to {way.address}; {add}")
    if answer.replies is None:
        return Problem("silent", f"{where}: cannot be tried without ping; install iputils-ping on {way.host}")
    if not answer.replies:
        look = (
            "look at what both ends say of it (remote, id, destination-port, base-iface), and "
            if network
            else ""
        )
        return Problem(
            "silent",
            f"{where}: {way.address} does not answer through {leg.interface}; {look}look whether a firewall "
            "drops the packets",
        )
    if answer.full is False:
        return Problem("size", f"{where}: {await _too_large(host, leg, search)}")
    return None


def _other_interface(leg: Leg, device: str, crossed: bool) -> str:
    if leg.ports:
        ends = f"{leg.way.host} and {leg.way.peer}"
        order = f"name data of {ends} in one order (the first port goes to the first), or "
        return (
            order if device in leg.ports and not crossed else ""
        ) + "give each data port a subnet of its own, or its address a routing table (ip rule add from it)"
    if leg.network == BARE_NETWORK:
        return "what would be measured is another network. Name that interface as data, or fix the route"
    return "what is measured there is another network. Give the networks different addresses"


async def _too_large(host: Host, leg: Leg, search: bool) -> str:
    largest = await probes.largest_bytes(host, leg.way) if search else None
    passes = f"the largest that passes has {largest} bytes" if largest else "smaller ones do"
    return (
        f"a packet of {leg.way.mtu} bytes, the MTU of {leg.interface}, does not pass; {passes}. "
        "Lower its mtu, or raise that of what carries it"
    )
