# SPDX-License-Identifier: Apache-2.0
"""The route of one data port to its peer: the knob, and which routes ports of one subnet need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from linewatt.campaign.planning.plan import PlannedTrial, Round
from linewatt.engine.live.session import End, Session
from linewatt.engine.networks.port_routes import place_lines, port_changes
from linewatt.engine.networks.proof import Leg, legs_of_rounds
from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.hosts.base import DataPort, HostSpec
from linewatt.model import Case
from linewatt.network.framing import Framing
from linewatt.network.host_route import HostRoute
from linewatt.tuning.base import Change

KNOB = HostRoute()
OWN = "dev eth2 src 198.18.1.3"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("[]", "none"),
        ('[{"dst":"198.18.1.4","dev":"eth2","scope":"link","prefsrc":"198.18.1.3","flags":[]}]', OWN),
        ('[{"dst":"2001:2::4","dev":"eth2","prefsrc":"2001:2::3","metric":1024}]', "dev eth2 src 2001:2::3"),
        (
            '[{"dst":"198.18.1.4","gateway":"198.18.1.1","dev":"eth1","metric":100}]',
            "via 198.18.1.1 dev eth1 metric 100",
        ),
        ('[{"type":"blackhole","dst":"198.18.1.4"}]', "type blackhole"),
        ('[{"dev":"eth1"},{"dev":"eth2","metric":5}]', "dev eth1, dev eth2 metric 5"),
    ],
)
def test_a_route_reads_as_its_words(shown: str, text: str) -> None:
    assert KNOB.parse(shown) == text


@pytest.mark.parametrize("shown", ["", "{", "[1]", "3"])
def test_what_is_no_answer_of_ip_is_refused(shown: str) -> None:
    with pytest.raises(ParseError):
        KNOB.parse(shown)


def test_only_where_there_is_no_route_or_this_one_it_is_made() -> None:
    assert KNOB.wanted("none", OWN) == OWN
    assert KNOB.wanted(OWN, OWN) == OWN
    with pytest.raises(ChangeError, match=r"has a route already \(dev eth1\), which is not dev eth2 src"):
        KNOB.wanted("dev eth1", OWN)


@pytest.mark.parametrize(
    "value", ["", "dev eth2", "dev eth2 src x", "dev -f src 198.18.1.3", "dev a/b src ::1", f"{OWN} table 3"]
)
def test_a_value_is_an_interface_and_an_address(value: str) -> None:
    with pytest.raises(InvalidInput):
        KNOB.check(value)


def test_commands_take_an_address_and_nothing_else() -> None:
    assert KNOB.read("198.18.1.4").argv[-2:] == ("-4", "198.18.1.4")
    assert KNOB.write("2001:2::4", "none").argv[-2:] == ("-6", "2001:2::4")
    assert KNOB.write("198.18.1.4", OWN).argv[-5:] == ("198.18.1.4", *OWN.split())
    for target in ("", "default", "198.18.1.0/24", "-x"):
        with pytest.raises(ChangeError, match="is not an address"):
            KNOB.read(target)


HOSTS = {
    name: HostSpec(name, name, "eth1", more_ports=(DataPort("eth2"), DataPort("eth3.7"))) for name in "ab"
}
CASE = Case("tcp", "a", "b", instances=3, data_ports=3)


@dataclass
class Ends:
    """As a session tells where data leaves and enters hosts."""

    specs: dict[str, HostSpec] = field(default_factory=lambda: dict(HOSTS))

    def ends(self, case: Case, port: int = 0) -> dict[str, End]:
        base = "198.18.1" if case.family == "ipv4" else "2001:2:"
        dot = "." if case.family == "ipv4" else ":"
        return {
            name: End(self.specs[name].interfaces[port], f"{base}{dot}{10 * at + port}", Framing(1500))
            for at, name in enumerate(case.hosts, 1)
        }


def changes(*crossed: tuple[str, str, str], case: Case = CASE, asked: Any = ()) -> list[str]:
    """``crossed``: host, port and through which other one."""
    session = cast(Session, Ends())
    rounds = [Round((PlannedTrial(1, 1, one, ()),)) for one in (CASE, replace(CASE, family="ipv6"))]
    every = {(leg.way.host, leg.interface, leg.way.family): leg for leg in legs_of_rounds(session, rounds)}
    ways = {every[host, port, case.family]: through for host, port, through in crossed}
    found = port_changes(session, rounds, ways, asked)
    return [f"{one.host} {one.knob} {one.target} {one.value}" for one in found]


def test_a_port_and_the_one_that_would_carry_its_data_get_routes_and_answer_for_themselves() -> None:
    arp = [
        f"a sysctl net.ipv4.conf.{port}.arp_{what}"
        for port in ("eth1", "eth2")
        for what in ("ignore 1", "announce 2")
    ]
    found = changes(("a", "eth2", "eth1"))
    assert found == [
        *arp[:2],
        "a host_route 198.18.1.20 dev eth1 src 198.18.1.10",
        *arp[2:],
        "a host_route 198.18.1.21 dev eth2 src 198.18.1.11",
    ]
    assert changes() == []


def test_a_name_with_a_dot_is_one_part_of_a_kernel_parameter() -> None:
    assert "b sysctl net/ipv4/conf/eth3.7/arp_ignore 1" in changes(("b", "eth3.7", "eth1"))


def test_over_ipv6_neighbours_answer_for_themselves_already() -> None:
    assert changes(("a", "eth2", "eth1"), case=replace(CASE, family="ipv6")) == [
        "a host_route 2001:2::20 dev eth1 src 2001:2::10",
        "a host_route 2001:2::21 dev eth2 src 2001:2::11",
    ]


def test_what_the_campaign_sets_itself_stays_as_it_asks() -> None:
    own = Change("a", "sysctl", "net.ipv4.conf.eth1.arp_ignore", "2", "asked for")
    found = changes(("a", "eth2", "eth1"), asked=[own])
    assert not [line for line in found if "eth1.arp_ignore" in line]
    assert len(found) == 5


def test_what_is_done_is_told_a_host_at_a_time() -> None:
    made = [
        Change(host, "host_route", "198.18.1.20", f"dev {port} src 198.18.1.10", "why")
        for host in "ab"
        for port in ("eth1", "eth2")
    ]
    assert [line.host for line in place_lines(made)] == ["a", "b"]
    assert "eth1 and eth2 are in one subnet" in place_lines(made)[0].text
    assert place_lines(()) == ()
    assert "ARP" not in place_lines(made)[0].text, "no setting of ARP is among them, as over IPv6"
    arp = Change("a", "sysctl", "net.ipv4.conf.eth1.arp_ignore", "1", "why")
    assert ["ARP answered for own addresses alone" in line.text for line in place_lines([arp, *made])] == [
        True,
        False,
    ]


def test_a_leg_knows_all_ports_of_its_host() -> None:
    found: list[Leg] = legs_of_rounds(cast(Session, Ends()), [Round((PlannedTrial(1, 1, CASE, ()),))])
    assert {leg.ports for leg in found} == {("eth1", "eth2", "eth3.7")}
    assert len(found) == 6
