# SPDX-License-Identifier: Apache-2.0
"""Hosts with several data ports: from the file to the plan, the proof and the figures of a trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.stream_helpers import needs_bash, records
from tests.topology_factories import NIC, machine
from tests.unit.test_plan_order import campaign, spec

from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.file import load
from linewatt.campaign.plan import as_dict, plan
from linewatt.campaign.sites import site
from linewatt.engine.live.line_rate import LineLimit, all_lines
from linewatt.engine.measuring.ports import left_its_port
from linewatt.engine.networks.ports import ECHOES, wrong_port
from linewatt.errors import InvalidInput, ParseError
from linewatt.hosts.base import DataPort, HostSpec
from linewatt.hosts.facts import FURTHER_NICS
from linewatt.model import Case, PortResult, Trial, Window, document_of
from linewatt.sensors.netcounters import Netcounters, command
from linewatt.sensors.qdisc import SENSOR as QDISC
from linewatt.store.plain import decoded, encoded

TWO = {
    name: {
        "address": f"192.0.2.{at}",
        "data": ["eth1", "eth2"],
        "data_ipv4": [f"198.18.1.{at}", f"198.18.2.{at}"],
    }
    for at, name in enumerate("ab", 1)
}


def loaded(tmp_path: Path, **keys: Any) -> Campaign:
    file = tmp_path / "two.yaml"
    document = {"name": "n", "hosts": TWO, "tests": ["tcp"], "instances": [1, 3], "trials": 1, **keys}
    file.write_text(json.dumps(document))
    return load(file)


def test_instances_are_dealt_over_the_ports_in_turn_and_the_plan_says_so(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert [port.data for port in found.hosts["a"].data_ports] == ["eth1", "eth2"]
    assert found.hosts["b"].data_ports[1].data_ipv4 == "198.18.2.2"
    document = as_dict(plan(found, 0))
    assert [case["data_ports"] for case in document["cases"]] == [2, 2]
    assert [one["data_port"] for one in document["placements"][1]] == [0, 1, 0]


def test_one_port_is_in_documents_as_it_ever_was(tmp_path: Path) -> None:
    alone = {name: {**host, "data": "eth1", "data_ipv4": host["data_ipv4"][0]} for name, host in TWO.items()}
    found = loaded(tmp_path, hosts=alone)
    document = as_dict(plan(found, 0))
    assert "data_ports" not in document["cases"][0]
    assert "data_port" not in document["placements"][0][0]
    assert "more_ports" not in stored.as_dict(found)["hosts"]["a"]
    assert "data_ports" not in document_of(Trial(1, 1, Case("tcp", "a", "b"), "k", "failed", 0.0))
    assert "data_ports" not in encoded(Case("tcp", "a", "b"))
    assert loaded(
        tmp_path, hosts={k: {**v, "data": ["eth1"], "data_ipv4": v["data_ipv4"]} for k, v in alone.items()}
    ) == replace(found, text=(tmp_path / "two.yaml").read_text())


def test_a_campaign_of_two_ports_is_read_back_from_its_manifest(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert stored.from_dict(json.loads(json.dumps(stored.as_dict(found)))).hosts == found.hosts
    case = plan(found, 0).cases[0]
    assert decoded(Case, encoded(case)) == case
    assert case.key != replace(case, data_ports=None).key, "two ports are no repetition of one"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"hosts": {**TWO, "b": {**TWO["b"], "data": "eth1", "data_ipv4": "198.18.1.2"}}},
            "name as many at both",
        ),
        (
            {"hosts": {**TWO, "b": {**TWO["b"], "data_ipv4": "198.18.1.2"}}},
            "1 of the addresses of 2 data ports",
        ),
        ({"hosts": {**TWO, "b": {**TWO["b"], "data": ["eth1", "eth1"]}}}, "names eth1 twice"),
        ({"hosts": {**TWO, "b": {**TWO["b"], "data_ipv4": ["198.18.1.2", "198.18.2.1"]}}}, "is also host a"),
        ({"steer": True}, "steer is for one data port"),
        ({"soak": "1h"}, "a soak has one data interface"),
    ],
)
def test_ports_that_cannot_be_used_are_one_line(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    if "soak" in keys:
        keys = {**keys, "instances": 1}
    with pytest.raises(InvalidInput, match=said) as caught:
        loaded(tmp_path, **keys)
    assert "\n" not in str(caught.value)


def test_an_ini_inventory_lists_ports_with_commas(tmp_path: Path) -> None:
    lines = [f"{name} ansible_host=192.0.2.{at} linewatt_data=eth1,eth2" for at, name in enumerate("ab", 1)]
    (tmp_path / "hosts.ini").write_text("\n".join(lines) + "\n")
    found = loaded(tmp_path, hosts="hosts.ini")
    assert found.hosts["b"].interfaces == ("eth1", "eth2")


def facts_of_two_nodes(*nodes: int) -> dict[str, Any]:
    known = machine(packages=2, cores=4, numa_node=nodes[0])
    known[FURTHER_NICS] = {"eth2": {**known["nic"], "numa_node": nodes[1], "irqs": 4}}
    known["nic"]["irqs"] = 4
    rest = {"system": {"uid": 0}, "kernel": {}, "tools": {}, "sysctl": {}, "memory": {}, "cpu": {}}
    return {**rest, **known}


def placed(facts: Mapping[str, Any], instances: int, **keys: Any) -> Any:
    host = HostSpec("a", "a.example.net", NIC, more_ports=(DataPort("eth2"),), **keys)
    hosts = {"a": host, "b": replace(host, name="b")}
    one = campaign(
        hosts=hosts, tests=(spec("tcp", instances),), placement="pinned" if keys else "auto", trials=1
    )
    return plan(one, 0, {name: site(spec_, facts, None) for name, spec_ in hosts.items()})


def test_ports_on_two_nodes_have_their_instances_and_interrupts_each_on_its_own() -> None:
    planned = placed(facts_of_two_nodes(0, 1), 4)
    (trial,) = planned.trials
    assert [int(str(one.sender_cpu)) // 4 for one in trial.instances] == [0, 1, 0, 1]
    steered = {
        one.target: one.value for one in planned.changes if one.host == "a" and one.knob == "irq_affinity"
    }
    assert {
        name: {int(cpu) // 4 for cpu in text.replace("-", ",").split(",")} for name, text in steered.items()
    } == {
        NIC: {0},
        "eth2": {1},
    }


def test_ports_on_one_node_are_placed_together() -> None:
    planned = placed(facts_of_two_nodes(1, 1), 2)
    (trial,) = planned.trials
    assert len({one.sender_cpu for one in trial.instances}) == 2
    steered = {
        one.target: one.value for one in planned.changes if one.host == "a" and one.knob == "irq_affinity"
    }
    assert steered[NIC] == steered["eth2"]


def test_named_cpus_are_those_of_the_port_they_are_local_to() -> None:
    planned = placed(facts_of_two_nodes(0, 1), 4, app_cpus=(0, 1, 4, 5), irq_cpus=(2, 6))
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["0", "4", "1", "5"]
    steered = {
        one.target: one.value for one in planned.changes if one.host == "a" and one.knob == "irq_affinity"
    }
    assert steered == {NIC: "2", "eth2": "6"}


BEFORE = {"eth1": (0, 0), "eth2": (0, 0)}


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"eth1": (ECHOES + 3, ECHOES), "eth2": (900, 900)}, None),
        ({"eth1": (1, ECHOES), "eth2": (ECHOES, 0)}, "leaves by eth2; give each port a subnet of its own"),
        ({"eth1": (ECHOES, 2), "eth2": (0, ECHOES)}, "arrives by eth2, which answers ARP"),
        ({"eth1": (ECHOES, 2), "eth2": (0, 0)}, f"of {ECHOES} packets of data port eth1 its counter shows 2"),
    ],
)
def test_counters_say_which_port_carried_the_echoes(
    after: dict[str, tuple[int, int]], said: str | None
) -> None:
    found = wrong_port(BEFORE, after, "eth1")
    assert found is None if said is None else said in str(found)


def trial_of(**changes: Any) -> Trial:
    port = PortResult("eth1", "eth1", 2, 80e6, 80e6, 95e6, 10.3e6, 10.3e6)
    return Trial(
        *(1, 1, Case("tcp", "a", "b", data_ports=2), "k", "done", 0.0),
        window=Window(0.0, 1.0),
        data_ports=(port, replace(port, **changes)),
    )


def test_a_trial_whose_payload_went_by_another_port_is_none() -> None:
    assert left_its_port(trial_of()) is None
    assert left_its_port(trial_of(received_bytes=None)) is None, "what was not counted says nothing"
    assert "b: data port eth2 carried 0.1 MB" in str(
        left_its_port(trial_of(receiver_interface="eth2", received_bytes=1e5))
    )
    assert "a: data port eth2 carried 0.0 MB" in str(
        left_its_port(trial_of(sender_interface="eth2", sent_bytes=0.0))
    )


def test_the_line_is_the_sum_of_the_ports_and_not_known_where_one_is_not() -> None:
    one, two = LineLimit(4e9, "link", "a"), LineLimit(3e9, "shaper", "b")
    assert all_lines([one, two]) == LineLimit(7e9, "shaper", "b")
    assert all_lines([one]) == one
    assert all_lines([one, None]) is None


@needs_bash
def test_counters_are_of_each_port_and_in_sum(tmp_path: Path) -> None:
    for name, count in (("eth1", 5), ("eth2.7", 7)):
        folder = tmp_path / "sys/class/net" / name / "statistics"
        folder.mkdir(parents=True)
        (folder / "rx_bytes").write_text(f"{count}\n")
        (folder.parent / "carrier_changes").write_text("1\n")
    (record,) = records(command("eth1 eth2.7", 60, str(tmp_path)), 1)
    values = {name: value for name, value in Netcounters().parse(record).items() if name.startswith("nic.")}
    assert values == {
        "nic.eth1.rx_bytes": 5,
        "nic.eth1.carrier_changes": 1,
        "nic.eth2.7.rx_bytes": 7,
        "nic.eth2.7.carrier_changes": 1,
        "nic.rx_bytes": 12,
        "nic.carrier_changes": 2,
    }
    channel = Netcounters().channel("nic.eth2.7.rx_bytes")
    assert (channel.scope, channel.unit) == ("nic:eth2.7", "B")
    assert "nic" not in Netcounters().reasons(record)


def test_queues_of_several_ports_are_one_record() -> None:
    def shown(drops: int) -> list[dict[str, Any]]:
        return [{"kind": "tbf", "root": True, "drops": drops, "overlimits": 1, "requeues": 0}]

    assert QDISC.parse(json.dumps([shown(2), shown(3)]))["qdisc.dropped"] == 5
    assert QDISC.parse(json.dumps([shown(2**32 - 1), shown(3)]))["qdisc.dropped"] == 2
    with pytest.raises(ParseError):
        QDISC.parse('[Cannot find device "eth2",[]]')
