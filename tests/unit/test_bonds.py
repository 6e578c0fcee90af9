# SPDX-License-Identifier: Apache-2.0
"""Ports of bonds: what hosts show of them, and what is said of one that lost its link."""

from __future__ import annotations

import pytest

from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.measuring.checks.bonds import lost
from linewatt.hosts.facts.parsers import bond_ports
from linewatt.model import Window
from linewatt.sensors.link import news

FILES = {
    "bond0/bonding/slaves": "eth1 eth2",
    "eth1/bonding_slave/mii_status": "up",
    "eth1/bonding_slave/state": "active",
    "eth1/bonding_slave/link_failure_count": "0",
    "eth2/bonding_slave/mii_status": "going down",
    "eth2/bonding_slave/state": "backup",
    "eth2/bonding_slave/link_failure_count": "3",
}
START_S = 1_700_000_000.0
DOWN = (
    "3: eth2: <NO-CARRIER,BROADCAST,MULTICAST,SLAVE,UP> mtu 1500 qdisc mq master bond0 state DOWN group "
    "default \\    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff"
)


def test_a_host_shows_the_ports_of_its_bonds() -> None:
    output = "".join(f"/sys/class/net/{path}\t{text}\n" for path, text in FILES.items())
    assert bond_ports(output) == {
        "bond0/eth1": "up active, 0 link failures",
        "bond0/eth2": "going down backup, 3 link failures",
    }
    assert bond_ports("") == {}


def told(early: str | None, late: str, *, other: str = "up active", notices: Reading | None = None) -> str:
    """What is said of ``eth2`` that showed these; empty: nothing."""

    def read(at_s: float, text: str, before: ReadBack | None = None) -> ReadBack:
        shown = {
            "bond0/eth1": f"{other}, 0 link failures",
            "bond0/eth2": text,
            "bond9/eth9": "down active, 0",
        }
        facts = {f"bonds.ports.{key}": one for key, one in shown.items()}
        return ReadBack(START_S + at_s, facts=facts, before=before)

    before = None if early is None else read(0.0, early)
    flags = list(lost("h1", read(60.0, late, before), {"bond0"}, notices, Window(START_S + 5, START_S + 55)))
    return flags[0].evidence if flags else ""


UP = "up backup, 3 link failures"


def test_a_bond_whose_ports_are_up_is_not_told_of() -> None:
    assert told(UP, UP) == ""
    assert told(None, UP) == ""
    assert told(UP, "up active, 3 link failures") == ""


@pytest.mark.parametrize(
    ("early", "late", "said"),
    [
        (
            UP,
            "up backup, 4 link failures",
            "eth2 of bond0 lost its link once between 22:13:20 and 22:14:20 UTC and is up again; "
            "eth1 carried on",
        ),
        (
            UP,
            "down backup, 5 link failures",
            "eth2 of bond0 lost its link 2 times between 22:13:20 and 22:14:20 UTC and is down; "
            "eth1 carried on",
        ),
        (
            "down backup, 4 link failures",
            "down backup, 4 link failures",
            "eth2 of bond0 was down; eth1 carried on",
        ),
        (
            "down backup, 4 link failures",
            UP.replace("3", "4"),
            "eth2 of bond0 was down before the window and up after it; eth1 carried on",
        ),
    ],
)
def test_which_port_when_and_what_carried_on(early: str, late: str, said: str) -> None:
    assert told(early, late) == said


def test_a_port_that_cannot_be_compared_is_told_when_it_is_down() -> None:
    assert told(None, "down backup, 4 link failures").startswith("eth2 of bond0 was down")


def test_no_port_that_carried_on_is_no_port_at_all() -> None:
    said = told(UP, "down backup, 4 link failures", other="down active")
    assert said.endswith("; no other port was up throughout")


def test_the_notice_of_the_kernel_says_when_also_of_a_host_that_was_asked_once() -> None:
    record = f"linewatt-link 1 1|count 1|news {DOWN}|end 2"
    assert news(record) == ["eth2 of bond0: mtu 1500, state DOWN"]
    reading = Reading("h1", "link", (Record(START_S + 12.4, 1.0, record),))
    said = told(UP, "up backup, 4 link failures", notices=reading)
    assert said.startswith("eth2 of bond0 lost its link once at 22:13:32 UTC and is up again; ")
    assert told(None, UP, notices=reading).startswith("eth2 of bond0 lost its link at 22:13:32 UTC")
    assert told(None, UP, notices=Reading("h1", "link", (Record(START_S + 1, 1.0, record),))) == ""
