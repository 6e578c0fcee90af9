# SPDX-License-Identifier: Apache-2.0
"""Ports of bonds: what hosts show of them, and what is said of one that lost its link."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.wiring import SETUP, Change, Given, afterwards, both, counters, early, readback, setup
from tests.wiring import told as told_story

from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.live.readback import ReadBack, SettingRead
from linewatt.engine.measuring.bond_ports import lost
from linewatt.hosts.base import DataPort
from linewatt.hosts.facts.parsers import bond_ports
from linewatt.model import Window
from linewatt.sensors.link import link_news

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
    found = lost(read(60.0, late, before), {"bond0"}, notices, Window(START_S + 5, START_S + 55))
    return "" if found is None else found.words


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
    assert link_news(record) == ["eth2 of bond0: mtu 1500, state DOWN"]
    reading = Reading("h1", "link", (Record(START_S + 12.4, 1.0, record),))
    said = told(UP, "up backup, 4 link failures", notices=reading)
    assert said.startswith("eth2 of bond0 lost its link once at 22:13:32 UTC and is up again; ")
    assert told(None, UP, notices=reading).startswith("eth2 of bond0 lost its link at 22:13:32 UTC")
    assert told(None, UP, notices=Reading("h1", "link", (Record(START_S + 1, 1.0, record),))) == ""


def test_of_a_load_that_came_to_no_end_the_notices_name_the_ports_of_a_dead_bond() -> None:
    """Nobody asks its hosts in the tail then: what carried on is not known, and not told."""
    down = DOWN.replace("eth2", "eth0").replace("3: ", "2: ")

    def dead(given: Given) -> Given:
        (link,) = [one for one in given.readings["h2"] if one.source == "link"]
        at_s = given.run.started_s + 9.5
        record = Record(at_s, 1.0, f"linewatt-link 1 1|count 2|news {down}|news {DOWN}|end 2")
        readings = (
            *(one for one in given.readings["h2"] if one is not link),
            Reading("h2", "link", (record,)),
        )
        run = replace(given.run, failure="waited 53 s for h2: the server to end", readback={})
        return replace(given, run=run, readings={**given.readings, "h2": readings})

    found = told_story(both(counters("h2", "nic.carrier_changes", 1), afterwards(dead))).trial()
    told, _, rest = str(found.reason).partition("; look at the cable")
    assert told == (
        "h2: the carrier of its data interface eth0 changed once in mid-trial (carrier_changes) "
        "(eth0 of bond0 lost its link at 22:13:29 UTC; eth2 of bond0 lost its link at 22:13:29 UTC)"
    )
    assert rest.endswith("(waited 53 s for h2: the server to end)")


def failures(own: int, other: int, name: str = "eth0") -> dict[str, str]:
    """Facts of a host whose data interface is ``name``: bond0 itself, or a port of it."""
    first, second = ("eth1", "eth2") if name == "bond0" else (name, "eth2")
    return {
        f"bonds.ports.bond0/{first}": f"up active, {own} link failures",
        f"bonds.ports.bond0/{second}": f"up backup, {other} link failures",
    }


def with_data(name: str) -> Change:
    hosts = {host: replace(spec, data=name) for host, spec in SETUP.hosts.items()}
    return setup(hosts=hosts)


def carriers(count: int, facts: dict[str, str]) -> dict[str, str]:
    return {"nic.carrier_changes": str(count), **facts}


@pytest.mark.parametrize("name", ["eth0", "bond0"])
def test_a_bond_without_a_port_is_a_dead_link_whose_ports_are_named(name: str) -> None:
    found = told_story(
        both(
            with_data(name),
            early("h2", facts=carriers(2, failures(0, 3, name))),
            readback("h2", facts=carriers(4, failures(1, 4, name))),
        )
    ).trial()
    assert found.status == "failed"
    said = str(found.reason)
    assert said.startswith(f"h2: the carrier of its data interface {name} changed 2 times in mid-trial ")
    port = "eth1" if name == "bond0" else name
    assert f"({port} of bond0 lost its link once between " in said
    assert "; eth2 of bond0 lost its link once between " in said
    assert "; no other port was up throughout); look at the cable" in said


def test_a_data_interface_whose_bond_carried_on_is_a_finding_and_no_dead_link() -> None:
    found = told_story(
        both(
            early("h2", facts=carriers(2, failures(0, 3))),
            readback("h2", facts=carriers(4, failures(1, 3))),
        )
    ).trial()
    assert found.status == "done", found.reason
    (flag,) = [one for one in found.flags if one.code == "bond-port-down"]
    assert flag.evidence.startswith("eth0 of bond0 lost its link once between ")
    assert flag.evidence.endswith(" and is up again; eth2 (backup) carried on")


def test_of_several_data_ports_the_one_that_lost_its_carrier_is_named() -> None:
    spec = SETUP.hosts["h2"]
    several = replace(spec, more_ports=(DataPort("eth5"),))
    counted = {"further_nics.eth5.carrier_changes": "1", "nic.carrier_changes": "2"}
    found = told_story(
        both(
            setup(hosts={**SETUP.hosts, "h2": several}),
            early("h2", facts=counted),
            readback("h2", facts={**counted, "further_nics.eth5.carrier_changes": "2"}),
        )
    ).trial()
    assert str(found.reason).startswith(
        "h2: the carrier of its data interface eth5 changed once in mid-trial"
    )


@pytest.mark.parametrize(
    ("setting", "told_of"),
    [
        (("network", "data7@bond7 mtu 1500"), True),
        (("nmstate", "bond7/bond7"), True),
        (("network", "data9@bond9"), False),
        (("mtu", "bond7"), False),
        (None, False),
    ],
    ids=["of the network", "of nmstate", "another", "a setting of it", "none"],
)
def test_a_bond_that_only_carries_the_network_of_the_case_is_looked_at(
    setting: tuple[str, str] | None, told_of: bool
) -> None:
    settings = () if setting is None else (SettingRead(*setting, wanted="there", found="there"),)
    shown = {
        f"bonds.ports.bond7/p{at}": f"{is_} active, 0 link failures" for at, is_ in enumerate(("up", "down"))
    }
    found = told_story(readback("h2", facts=shown, settings=settings)).trial()
    assert ("bond-port-down" in {flag.code for flag in found.flags}) is told_of
