# SPDX-License-Identifier: Apache-2.0
"""Connections to the data ports of a plan: what each outcome means, and what is said of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import SimpleNamespace
from typing import cast

import pytest

from linewatt.campaign.planning.plan import PlannedInstance, PlannedTrial, Round
from linewatt.engine.live.session import End, Session
from linewatt.engine.networks.open_ports import (
    Pair,
    PairPorts,
    pairs_of_rounds,
    refuse_closed_ports,
    try_data_ports,
)
from linewatt.engine.networks.proof import Leg
from linewatt.engine.readiness import checkup_probes
from linewatt.engine.readiness.port_probes import Outcome, Refusal, parse_connects, try_ports
from linewatt.errors import HostError
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.loads.registry import LOADS
from linewatt.model import Case
from linewatt.network.framing import Framing

HERE = LocalHost(HostSpec("a", "local", "lo"))
CASE = Case("tcp", "a", "b", instances=2)
OPEN = "open ports 5201-5264 (TCP and UDP) in firewalls of b and on the way"
PRINTED = """environment: connect: Connection refused
environment: line 2: /dev/tcp/198.18.0.2/5201: Connection refused
/dev/tcp/198.18.0.2/5202: open
bash: line 2: /dev/tcp/198.18.0.2/5203: No route to host
bash: line 2: /dev/tcp/2001:db8::2/5204: Permission denied
bash: line 2: /dev/tcp/2001:db8::2/5205: Network is unreachable
bash: line 2: /dev/tcp/198.18.0.2/5206: No such file or directory
bash: line 2: /dev/tcp/198.18.0.2/5207: Connection timed out
tried
"""


def trial(case: Case = CASE, first_port: int = 5201) -> PlannedTrial:
    ports = range(first_port, first_port + case.instances)
    instances = tuple(PlannedInstance(at, port, None, None) for at, port in enumerate(ports))
    return PlannedTrial(1, 1, case, instances)


class Peer:
    """The host of servers; ``listeners`` are the answers to who listens, one after the other."""

    def __init__(self, *listeners: str) -> None:
        self.listeners = list(listeners)

    async def run(self, argv: Sequence[str], *, timeout_s: float = 10.0, root: bool = False) -> Completed:
        assert checkup_probes._TAKEN in argv
        return Completed(tuple(argv), 0, self.listeners.pop(0), "")


def session(*listeners: str, address: str = "127.0.0.1", load: str = "iperf3") -> Session:
    def ends(case: Case) -> dict[str, End]:
        return {name: End("lo", address, Framing(1500)) for name in case.hosts}

    return cast(
        Session,
        SimpleNamespace(
            ends=ends,
            hosts={"a": HERE, "b": Peer(*listeners)},
            load=LOADS[load],
            may_change=lambda _: False,
        ),
    )


def refused(outcomes: Mapping[int, Outcome], *listeners: str, good: Sequence[Leg] = ()) -> str:
    of_pair = PairPorts(
        "198.18.0.2",
        dict.fromkeys(outcomes),
        {("198.18.0.2", port): outcome for port, outcome in outcomes.items()},
    )
    pairs: dict[Pair, PairPorts] = {("a", "b", "ipv4"): of_pair}
    with pytest.raises(HostError) as caught:
        asyncio.run(refuse_closed_ports(session(*listeners), pairs, good, "5201-5264"))
    return str(caught.value)


def good_way() -> Leg:
    return Leg("bare", "lo", checkup_probes.Way("a", "b", "ipv4", "198.18.0.1", "198.18.0.2", 1500))


def test_what_bash_prints_of_a_connection_tells_what_came_back() -> None:
    assert parse_connects(PRINTED) == {
        ("198.18.0.2", 5201): "refused",
        ("198.18.0.2", 5202): "open",
        ("198.18.0.2", 5203): "rejected",
        ("2001:db8::2", 5204): "rejected",
        ("2001:db8::2", 5205): "unreachable",
        ("198.18.0.2", 5206): "unknown",
        ("198.18.0.2", 5207): "silent",
    }


def test_a_port_that_listens_is_told_from_one_that_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        ports = [("127.0.0.1", listening.getsockname()[1]), ("127.0.0.1", bound.getsockname()[1])]
        assert asyncio.run(try_ports(HERE, ports)) == {ports[0]: "open", ports[1]: "refused"}


def test_a_connection_of_which_nothing_comes_back_is_silent_and_keeps_no_other_one_waiting() -> None:
    """A queue of connections that is full drops what comes, as a firewall does: listen(2)."""
    with ExitStack() as stack:
        full, bound, *clients = (stack.enter_context(socket.socket()) for _ in range(4))
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        bound.bind(("127.0.0.1", 0))
        for queued in clients:
            queued.setblocking(False)
            queued.connect_ex(full.getsockname())
        ports = [("127.0.0.1", full.getsockname()[1]), ("127.0.0.1", bound.getsockname()[1])]
        assert asyncio.run(try_ports(HERE, ports, 0.3)) == {ports[0]: "silent", ports[1]: "refused"}


def test_each_port_of_a_pair_is_tried_once_and_only_those_that_tcp_is_listened_on() -> None:
    rounds = [Round((trial(),)), Round((trial(first_port=5203),)), Round((trial(),))]
    pairs = pairs_of_rounds(session(), rounds)
    assert {pair: list(of_pair.ports) for pair, of_pair in pairs.items()} == {
        ("a", "b", "ipv4"): [5201, 5202, 5203, 5204]
    }
    without = [
        trial(Case("tcp", "a", "b", network="mesh")),
        trial(Case("tcp", "a", "b", data_ports=2)),
        PlannedTrial(1, 1, CASE, ()),
    ]
    assert pairs_of_rounds(session(), [Round((one,)) for one in without]) == {}
    of_udp = [Round((trial(Case("udp-rr", "a", "b", load="sockperf")),))]
    assert pairs_of_rounds(session(load="sockperf"), of_udp) == {}


def test_ports_that_refuse_connections_while_nothing_listens_are_reached() -> None:
    async def met() -> None:
        own = session()
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
        pairs = await try_data_ports(own, [Round((trial(Case("tcp", "a", "b"), port),))])
        assert pairs["a", "b", "ipv4"].with_outcome("refused") == (port,)
        await refuse_closed_ports(own, pairs, (), "5201-5264")

    asyncio.run(met())


@pytest.mark.parametrize(
    ("outcomes", "is_answered", "expected"),
    [
        (
            {5201: "silent", 5202: "silent"},
            True,
            "a to b (ipv4): TCP ports 5201-5202 of 198.18.0.2: no answer though pings are answered: a "
            f"firewall drops what is sent there; {OPEN}",
        ),
        (
            {5201: "rejected", 5202: "refused"},
            True,
            "a to b (ipv4): TCP port 5201 of 198.18.0.2: no route to host though pings are answered: a "
            f"firewall rejects what is sent there; {OPEN}",
        ),
        (
            {5201: "silent", 5202: "unreachable"},
            False,
            "a to b (ipv4): TCP port 5201 of 198.18.0.2: no answer: a firewall drops what is sent there, or "
            f"no host has this address; {OPEN} (and 1 more)",
        ),
    ],
)
def test_a_firewall_is_told_by_what_it_does_before_the_first_trial(
    outcomes: dict[int, Outcome], is_answered: bool, expected: str
) -> None:
    assert refused(outcomes, good=[good_way()] if is_answered else []) == expected


def test_a_server_that_was_reached_by_no_client_is_behind_a_firewall() -> None:
    text = Refusal("a", "b", "ipv4", "198.18.0.2", (5201,), "refused", listening="iperf3").text("5201-5264")
    assert "5201 of 198.18.0.2: connection refused though iperf3 listens there: a firewall rejects" in text


LISTENER = 'LISTEN 0 128 0.0.0.0:5202 0.0.0.0:* users:(("nginx",pid=41,fd=6))\n'


def test_a_port_that_somebody_else_has_is_named_with_who_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linewatt.engine.networks.open_ports.ENDS_S", (0.0, 0.0))
    assert refused({5201: "refused", 5202: "open"}, LISTENER, LISTENER) == (
        "b: port 5202 is taken by nginx (41); end that, or choose other ports in the campaign (ports: "
        "FIRST-LAST)"
    )


@pytest.mark.parametrize("listeners", [("",), (LISTENER, "")], ids=["a firewall answered", "it ended"])
def test_a_port_where_nobody_listens_any_more_is_free(
    monkeypatch: pytest.MonkeyPatch, listeners: tuple[str, ...]
) -> None:
    monkeypatch.setattr("linewatt.engine.networks.open_ports.ENDS_S", (0.0, 0.0))
    of_pair = PairPorts("198.18.0.2", {5202: None}, {("198.18.0.2", 5202): "open"})
    own = session(*listeners)
    asyncio.run(refuse_closed_ports(own, {("a", "b", "ipv4"): of_pair}, (), "5201-5264"))
    assert cast(Peer, own.hosts["b"]).listeners == []
