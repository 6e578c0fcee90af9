# SPDX-License-Identifier: Apache-2.0
"""What is tried on a network before the first trial, and what may not end a run there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from linewatt.campaign.plan import PlannedTrial, Round
from linewatt.engine import checkup_probes as probes
from linewatt.engine.proof import Leg, legs, prove
from linewatt.engine.session import End, Session
from linewatt.errors import HostError
from linewatt.hosts.base import Completed, Host
from linewatt.model import Case, Family
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
    found = asyncio.run(prove({"a": cast(Host, host)}, [Leg("mesh", "vx0", way) for way in ways]))
    assert len(found) == 40
    assert "the largest that passes has 1400 bytes" in found[0]
    assert host.searches == 1


def test_a_bare_interface_without_an_address_of_a_family_does_not_keep_the_others_from_running() -> None:
    def ends(case: Case) -> dict[str, Any]:
        if case.family == "ipv6":
            raise HostError("a: eth0 has no ipv6 address")
        return {name: End("eth0", f"192.0.2.{number}", Framing()) for number, name in enumerate("ab", 1)}

    def trial(number: int, family: Family) -> PlannedTrial:
        return PlannedTrial(number, 1, Case("tcp", "a", "b", family=family), ())

    rounds = [Round((trial(1, "ipv6"),)), Round((trial(2, "ipv4"),))]
    found = legs(cast(Session, SimpleNamespace(ends=ends)), rounds)
    assert [(leg.way.host, leg.way.family) for leg in found] == [("a", "ipv4"), ("b", "ipv4")]
