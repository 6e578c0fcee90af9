# SPDX-License-Identifier: Apache-2.0
"""What is tried on a network before the first trial, and what may not end a run there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest

from linewatt.campaign.planning.plan import PlannedTrial, Round
from linewatt.engine import events
from linewatt.engine.live.session import End, Session
from linewatt.engine.networks.proof import Leg, Proofs, legs_of_rounds, prove_paths, refuse_wrong_ways
from linewatt.engine.readiness import checkup_probes as probes
from linewatt.errors import ChangeError, HostError
from linewatt.hosts.base import Completed, Host, HostSpec
from linewatt.model import Case
from linewatt.network.framing import Framing


class Narrow:
    """A host from which small packets pass and full ones do not."""

    def __init__(self) -> None:
        self.searches = 0

    async def run(self, argv: Sequence[str], *, timeout_s: float = 10.0) -> Completed:
        if probes._LARGEST in argv:
            self.searches += 1
            return Completed(tuple(argv), 0, "1372\n", "")
        peers = (len(argv) - argv.index("linewatt") - 2) // 5
        lines = [f'route {i} [{{"dev": "vx0"}}]\nping {i} small 0\nping {i} full 1' for i in range(peers)]
        return Completed(tuple(argv), 0, "\n".join(lines), "")


def test_the_largest_packet_is_searched_for_once_a_host() -> None:
    """A search takes seconds, one line is told, and a mesh has a way to each of a hundred hosts."""
    host = Narrow()
    ways = [probes.Way("a", f"p{i}", "ipv4", "198.18.0.1", f"198.18.0.{i}", 1450) for i in range(2, 42)]
    found = asyncio.run(prove_paths({"a": cast(Host, host)}, [Leg("mesh", "vx0", way) for way in ways]))
    assert [one.kind for one in found if one is not None] == ["size"] * 40
    assert found[0] is not None
    assert "the largest that passes has 1400 bytes" in found[0].text
    assert host.searches == 1


def answers(device: str = "eth0", *, small: bool = True, full: bool = True) -> str:
    return "\n".join(
        (f'route 0 [{{"dev": "{device}"}}]', f"ping 0 small {int(not small)}", f"ping 0 full {int(not full)}")
    )


@dataclass
class Told:
    """A host that says the same of each of its ways."""

    text: str
    asked: int = 0

    async def run(self, argv: Sequence[str], *, timeout_s: float = 10.0) -> Completed:
        self.asked += 1
        return Completed(tuple(argv), 0, "1472\n" if probes._LARGEST in argv else self.text, "")


def session(
    a: str, *, addresses: Sequence[str] = ("192.0.2.1",), mtus: tuple[int, int] = (1500, 1500)
) -> Session:
    def ends(case: Case, port: int) -> dict[str, End]:
        if case.family == "ipv6":
            raise HostError("a: eth0 has no ipv6 address")
        return {
            name: End("eth0", f"192.0.2.{number}", Framing(mtu))
            for number, (name, mtu) in enumerate(zip("ab", mtus, strict=True), 1)
        }

    known = {"a": list(addresses), "b": ["192.0.2.2"]}
    facts = {name: {"nic": {"ipv4_addresses": own}} for name, own in known.items()}
    hosts = {"a": Told(a), "b": Told(answers())}
    return cast(Session, SimpleNamespace(ends=ends, hosts=hosts, facts=facts))


def rounds(*cases: Case) -> list[Round]:
    return [Round((PlannedTrial(number, 1, case, ()),)) for number, case in enumerate(cases, 1)]


CASE = Case("tcp", "a", "b")
SMALL_ONLY = answers(full=False)


def proofs(of: Session, *, asks_mtu: bool = False) -> tuple[Proofs, list[str]]:
    said: list[str] = []

    def say(event: events.Event) -> None:
        assert isinstance(event, events.Warned)
        said.append(event.text)

    return Proofs(of, say, lambda case: asks_mtu), said


def test_an_address_that_no_file_names_is_the_hosts_own_one_of_the_family() -> None:
    """Inventories of labs name both addresses, so no lab test needs what a host says of itself."""
    live = Session.__new__(Session)
    live.specs = {"a": HostSpec("a", "192.0.2.9", "eth0")}
    own = {"ipv4_addresses": ["192.0.2.1"], "ipv6_addresses": ["2001:db8::1", "2001:db8::2"]}
    live.facts = {"a": {"nic": own}}
    assert live.data_address("a", "ipv4") == "192.0.2.1"
    assert live.data_address("a", "ipv6") == "2001:db8::1"
    live.facts = {"a": {"nic": {**own, "ipv6_addresses": []}}}
    with pytest.raises(HostError, match="a: eth0 has no ipv6 address"):
        live.data_address("a", "ipv6")


def test_an_interface_without_an_address_of_the_family_is_refused_before_any_change() -> None:
    with pytest.raises(HostError, match="eth0 has no ipv6 address"):
        asyncio.run(refuse_wrong_ways(session(answers()), rounds(Case("tcp", "a", "b", family="ipv6"))))


def test_a_route_through_another_interface_is_refused_before_any_change() -> None:
    with pytest.raises(HostError, match="reached through mgmt0, not through eth0; what would be measured"):
        asyncio.run(refuse_wrong_ways(session(answers("mgmt0")), rounds(CASE)))


@pytest.mark.parametrize(("prefix", "crossed"), [(24, True), (31, False)])
def test_ports_are_only_set_apart_where_both_are_in_the_peers_subnet(prefix: int, crossed: bool) -> None:
    """Ports that two hosts name in different orders leave through one another, too."""
    links = [
        {"ifname": name, "addr_info": [{"local": f"192.0.2.{number}", "prefixlen": prefix}]}
        for name, number in (("eth0", 1), ("eth1", 3))
    ]
    text = f"addresses 4 {json.dumps(links)}\n{answers('eth1')}"
    way = probes.Way("a", "b", "ipv4", "192.0.2.1", "192.0.2.2", 1500)
    leg = Leg("bare", "eth0", way, ("eth0", "eth1"))
    (problem,) = asyncio.run(prove_paths({"a": cast(Host, Told(text))}, [leg], search=False))
    assert problem is not None
    assert problem.through == ("eth1" if crossed else None)
    assert ("name data of a and b in one order" in problem.text) is not crossed
    assert "a subnet of its own" in problem.text


def test_ways_that_were_good_before_any_change_are_tried_again_only_after_one() -> None:
    own = session(answers())
    good, _ = asyncio.run(refuse_wrong_ways(own, rounds(CASE)))
    assert len(good) == 2
    told = cast(Told, own.hosts["a"])
    known = {"before": good, "after": frozenset[Leg]()}
    for when, more in (("before", 0), ("after", 1)):
        asked = told.asked
        each = Proofs(own, lambda _: None, lambda _: False, partial(known.__getitem__, when))
        asyncio.run(each.of(rounds(CASE)))
        assert each.proven(rounds(CASE)[0])
        assert told.asked == asked + more


def test_a_way_that_was_not_good_before_any_change_is_none_that_need_not_be_tried() -> None:
    good, _ = asyncio.run(refuse_wrong_ways(session(SMALL_ONLY), rounds(CASE)))
    assert {leg.way.host for leg in good} == {"b"}


def test_an_address_of_another_interface_is_refused_before_any_change() -> None:
    with pytest.raises(HostError, match=r"192.0.2.1 is not an address of eth0, which has 198.18.0.1"):
        asyncio.run(refuse_wrong_ways(session(answers(), addresses=["198.18.0.1"]), rounds(CASE)))


def test_silence_and_size_are_no_reason_to_refuse_before_settings_are_made() -> None:
    for text in (SMALL_ONLY, answers(small=False, full=False), 'no ping\nroute 0 [{"dev": "eth0"}]', ""):
        asyncio.run(refuse_wrong_ways(session(text), rounds(CASE)))


def test_an_mtu_that_the_path_does_not_carry_fails_the_rounds_of_its_level_only() -> None:
    jumbo = Case("tcp", "a", "b", factors=(("mtu", "9000"),))
    own = session(SMALL_ONLY)
    book, said = proofs(own, asks_mtu=True)
    (bad,) = rounds(jumbo)
    book.refuse_failed([bad])
    with pytest.raises(ChangeError, match="does not pass; the largest that passes has 1500 bytes"):
        asyncio.run(book.of([bad]))
    assert said == []
    assert not book.proven(bad)
    asked = cast(Told, own.hosts["a"]).asked
    with pytest.raises(ChangeError, match="does not pass"):
        asyncio.run(book.of([bad]))
    with pytest.raises(ChangeError, match="does not pass"):
        book.refuse_failed([bad])
    assert cast(Told, own.hosts["a"]).asked == asked, "once known it is not tried again"
    cast(Told, own.hosts["a"]).text = answers()
    (good,) = rounds(Case("tcp", "a", "b", factors=(("mtu", "1500"),)))
    assert not book.proven(good), "another setting is proven anew"
    book.refuse_failed([good])
    asyncio.run(book.of([good]))
    assert book.proven(good)
    book.forget()
    assert not book.proven(good)


def test_an_mtu_as_it_was_found_and_silence_are_told_with_the_trials() -> None:
    for text, said in ((SMALL_ONLY, "does not pass"), (answers(small=False, full=False), "does not answer")):
        book, warned = proofs(session(text))
        (one,) = rounds(CASE)
        asyncio.run(book.of([one]))
        assert book.proven(one)
        problem = book.problem(CASE)
        assert problem is not None
        assert said in problem.text
        assert warned == [problem.text]


def test_ends_of_different_mtu_are_tried_with_what_both_have_room_for() -> None:
    found = legs_of_rounds(session(answers(), mtus=(9000, 1500)), rounds(CASE))
    assert [leg.way.mtu for leg in found] == [1500, 1500]
