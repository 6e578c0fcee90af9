# SPDX-License-Identifier: Apache-2.0
"""Hosts with several data ports: from the file to the plan, the proof and the figures of a trial."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mistakes import assert_one_line_each
from tests.report_factories import end, result, shares
from tests.stream_helpers import needs_bash, records
from tests.topology_factories import NIC, machine
from tests.unit.campaign.test_plan_order import campaign, spec
from tests.unit.conftest import Run

from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.comparison.differences import is_expected, rank_of
from linewatt.analysis.flags.case import limit_flags
from linewatt.analysis.limits.paths import path_candidates
from linewatt.analysis.limits.ports import lines_apart
from linewatt.analysis.limits.verdict import verdict
from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import PlannedTrial, Round, plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.campaign.reading.sites import site_of_host
from linewatt.engine.live.host_queries import Configuration
from linewatt.engine.live.line_rate import LineLimit, PortLine, all_lines
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.session import End, Session
from linewatt.engine.live.trial_run import TrialRun
from linewatt.engine.measuring.checks import configuration
from linewatt.engine.measuring.link import CARRIER, counted_between
from linewatt.engine.measuring.plain_json import decoded, encoded
from linewatt.engine.measuring.ports import left_its_port, port_results
from linewatt.engine.networks import ports as networks_ports
from linewatt.engine.networks.ports import ECHOES, in_rows, refuse_shared_ports, wrong_port
from linewatt.errors import HostError, InvalidInput, ParseError
from linewatt.hosts.base import Completed, DataPort, HostSpec
from linewatt.hosts.facts.read import FURTHER_NICS, again
from linewatt.json_document import document_of
from linewatt.model import (
    Case,
    InstanceResult,
    PortResult,
    Trial,
    Window,
    dealt,
    lowest_terms,
)
from linewatt.network.framing import Framing
from linewatt.report.series import instances_words
from linewatt.report.trials.answer.limits import limit_document, limit_words
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.ports import port_tables
from linewatt.sensors.netcounters import Netcounters, command
from linewatt.sensors.qdisc import SENSOR as QDISC

TWO = {
    name: {
        "address": f"192.0.2.{at}",
        "data": ["eth1", "eth2"],
        "data_ipv4": [f"198.18.1.{at}", f"198.18.2.{at}"],
    }
    for at, name in enumerate("ab", 1)
}


def tunnel(host: str) -> dict[str, Any]:
    interface = {"name": "vxlan0", "type": "vxlan", "state": "up", "mtu": 1450}
    other = TWO["b" if host == "a" else "a"]["data_ipv4"][0]
    own = 1 if host == "a" else 2
    addresses = {"enabled": True, "address": [{"ip": f"198.18.9.{own}", "prefix-length": 24}]}
    vxlan = {"base-iface": "eth1", "id": 9, "remote": other, "destination-port": 4789}
    return {"interfaces": [{**interface, "ipv4": addresses, "vxlan": vxlan}]}


def loaded(tmp_path: Path, **keys: Any) -> Campaign:
    file = tmp_path / "two.yaml"
    document = {"name": "n", "hosts": TWO, "tests": ["tcp"], "instances": [1, 3], "trials": 1, **keys}
    file.write_text(json.dumps(document))
    return load_campaign(file)


def test_instances_are_dealt_over_the_ports_in_turn_and_the_plan_says_so(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert [port.data for port in found.hosts["a"].data_ports] == ["eth1", "eth2"]
    assert found.hosts["b"].data_ports[1].data_ipv4 == "198.18.2.2"
    document = plan_as_dict(plan_campaign(found, 0))
    assert [case["data_ports"] for case in document["cases"]] == [2, 2]
    assert [one["data_port"] for one in document["placements"][1]] == [0, 1, 0]


@given(st.lists(st.integers(1, 100), min_size=1, max_size=16), st.integers(0, 300))
def test_every_port_has_its_exact_share_of_instances_within_one(weights: list[int], count: int) -> None:
    """Of any number: as instances grow, those that were dealt keep their ports."""
    ports, total = dealt(tuple(weights), count), sum(weights)
    counts = [0] * len(weights)
    for number, port in enumerate(ports, 1):
        counts[port] += 1
        for own, weight in zip(counts, weights, strict=True):
            assert abs(own * total - number * weight) < total
    assert ports == dealt(tuple(weights), count + 7)[:count]
    if len(set(weights)) == 1:
        assert ports == tuple(number % len(weights) for number in range(count))


@given(st.lists(st.integers(1, 25), min_size=2, max_size=16), st.integers(1, 4))
def test_weights_of_the_same_shares_are_the_same(weights: list[int], times: int) -> None:
    terms = lowest_terms(weights)
    assert terms == lowest_terms([times * one for one in weights])
    assert (terms == ()) == (len(set(weights)) == 1)
    assert dealt(terms or (1,) * len(weights), 40) == dealt(tuple(weights), 40)


def test_weights_are_those_that_either_host_names_and_the_plan_counts_them(tmp_path: Path, run: Run) -> None:
    plain = plan_campaign(loaded(tmp_path), 0).cases[1]
    for name in "ab":
        weighted = loaded(tmp_path, hosts={**TWO, name: {**TWO[name], "data_weights": [4, 2]}})
        found = plan_campaign(weighted, 0)
        (trial,) = [one for one in found.trials if one.case.instances == 3]
        assert [one.data_port for one in trial.instances] == [0, 1, 0]
        assert trial.case.port_weights == (2, 1)
        assert trial.case.key != plain.key, "dealt otherwise is another case"
        assert decoded(Case, json.loads(json.dumps(encoded(trial.case)))) == trial.case
        assert (
            stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(weighted)))).hosts
            == weighted.hosts
        )
        assert plan_as_dict(found)["cases"][1]["port_weights"] == [2, 1]
        assert "3 (2 + 1)" in run("plan", "two.yaml")[1]
        assert f"host {name}: " in run("plan", "two.yaml")[1]
        assert "data eth1, eth2 by 4:2" in run("plan", "two.yaml")[1]
    alike = loaded(tmp_path, hosts={name: {**host, "data_weights": [3, 3]} for name, host in TWO.items()})
    assert plan_campaign(alike, 0).cases[1].key == plain.key, "weights that are all alike are none"


def test_a_port_that_an_instance_does_not_use_has_no_part_of_it(tmp_path: Path) -> None:
    found = loaded(tmp_path, hosts={**TWO, "a": {**TWO["a"], "data_weights": [1, 3]}})
    one, three = plan_campaign(found, 0).cases
    assert (one.ports_used, three.ports_used) == ((1,), (0, 1))
    assert (one.instances_of_a_port, three.instances_of_a_port) == (1, 2)
    assert instances_words(one) == "1 instance over 1 of 2 ports by 1:3"
    assert instances_words(three) == "3 instances over 2 ports by 1:3"


ONE_THEN_BOTH = [{"test": "tcp", "instances": [1, 3], "data": "eth1"}, {"test": "tcp", "instances": 4}]


def test_a_test_over_one_port_and_one_over_both_are_one_series(tmp_path: Path, run: Run) -> None:
    chosen = loaded(tmp_path, tests=ONE_THEN_BOTH)
    first, second, both = plan_campaign(chosen, 0).cases
    assert [case.ports_used for case in (first, second, both)] == [(0,), (0,), (0, 1)]
    assert first.single == second.single == both.single
    assert second.key == replace(second, data_ports=None).key, "the case of hosts that have one port"
    assert [instances_words(case) for case in (second, both)] == [
        "3 instances over 1 port",
        "4 instances over 2 ports",
    ]
    document = plan_as_dict(plan_campaign(chosen, 0))
    assert [placement["data_port"] for placement in document["placements"][1]] == [0, 0, 0]
    shown = run("plan", "two.yaml")[1].splitlines()
    (head,) = [line for line in shown if "data ports" in line and "instances" in line]
    at = head.index("data ports")
    assert [line[at:].split()[0] for line in shown[shown.index(head) + 2 :][:3]] == ["eth1", "eth1", "all"]
    kept = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(chosen))))
    assert kept.tests == chosen.tests
    assert "data ports" not in run("plan", str(two_ports(tmp_path / "all.yaml")))[1].split("host a")[0]


def two_ports(file: Path, **keys: Any) -> Path:
    file.write_text(json.dumps({"name": "n", "hosts": TWO, "tests": ["tcp"], "trials": 1, **keys}))
    return file


def test_a_port_behind_the_first_is_another_case_with_its_own_interfaces(tmp_path: Path) -> None:
    hosts = {"a": TWO["a"], "b": {**TWO["b"], "data": ["ens1", "ens2"]}}
    keys: list[Any] = ["eth2", "ens2", 2, [2]]
    cases = [
        plan_campaign(loaded(tmp_path, hosts=hosts, tests=[{"test": "tcp", "data": key}]), 0).cases[1]
        for key in keys
    ]
    assert len(set(cases)) == 1
    (case, *_) = cases
    assert (case.chosen_ports, case.data_port_of) == ((1,), (1, 1, 1))
    first = replace(case, chosen_ports=())
    assert case.key != first.key
    assert case.single == first.single
    assert decoded(Case, json.loads(json.dumps(encoded(case)))) == case


def test_chosen_ports_keep_their_weights(tmp_path: Path) -> None:
    three = {
        name: {**host, "data": ["eth1", "eth2", "eth3"], "data_weights": [4, 1, 2], "data_ipv4": None}
        for name, host in TWO.items()
    }
    tests = [{"test": "tcp", "instances": 3, "data": ["eth3", "eth1"]}]
    (case,) = plan_campaign(loaded(tmp_path, hosts=three, tests=tests), 0).cases
    assert (case.chosen_ports, case.port_weights, case.data_port_of) == ((0, 2), (2, 1), (0, 2, 0))


def test_scalings_over_two_ports_are_against_the_case_with_one_instance() -> None:
    summaries = summarise([*runs_of(1, [0.5] * 3), *runs_of(4, [0.9] * 3)])
    assert [summary.case.data_ports for summary in summaries] == [2, 2]
    assert "scaling_factor" not in summaries[1].reasons
    assert summaries[1].scalings["scaling_factor"] is not None


def test_the_plan_says_what_becomes_of_ports_in_one_subnet(tmp_path: Path, run: Run) -> None:
    loaded(tmp_path)
    code, said, _ = run("plan", "two.yaml")
    assert code == 0
    assert "data ports of a and b: those in one subnet get a route" in said


def test_one_port_is_in_documents_as_it_ever_was(tmp_path: Path) -> None:
    alone = {name: {**host, "data": "eth1", "data_ipv4": host["data_ipv4"][0]} for name, host in TWO.items()}
    found = loaded(tmp_path, hosts=alone)
    document = plan_as_dict(plan_campaign(found, 0))
    assert "data_ports" not in document["cases"][0]
    assert "data_port" not in document["placements"][0][0]
    assert "more_ports" not in stored.campaign_as_dict(found)["hosts"]["a"]
    assert "data_ports" not in document_of(Trial(1, 1, Case("tcp", "a", "b"), "k", "failed", 0.0))
    assert "data_ports" not in encoded(Case("tcp", "a", "b"))
    assert loaded(
        tmp_path, hosts={k: {**v, "data": ["eth1"], "data_ipv4": v["data_ipv4"]} for k, v in alone.items()}
    ) == replace(found, text=(tmp_path / "two.yaml").read_text())


def test_a_campaign_of_two_ports_is_read_back_from_its_manifest(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert (
        stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(found)))).hosts == found.hosts
    )
    case = plan_campaign(found, 0).cases[0]
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
        (
            {"hosts": {**TWO, "b": {**TWO["b"], "data_weights": [1, 2, 3]}}},
            "data_weights: has 3 weights for 2 data ports; name one for each",
        ),
        (
            {
                "hosts": {
                    name: {**host, "data_weights": own}
                    for (name, host), own in zip(TWO.items(), ([1, 2], [2, 1]), strict=True)
                }
            },
            "has the same port at both hosts of a pair, and a 1:2 and b 2:1 differ; name one of them",
        ),
        ({"hosts": {**TWO, "b": {**TWO["b"], "data_weights": [0, 1]}}}, "data_weights"),
        ({"hosts": {**TWO, "b": {**TWO["b"], "data_weights": 2}}}, "data_weights"),
        (
            {
                "hosts": {
                    **TWO,
                    "c": {"address": "192.0.2.3", "data": "eth2"},
                    "d": {"address": "192.0.2.4", "data": "eth2"},
                },
                "pairs": ["a -> b", "c -> d"],
                "tests": [{"test": "tcp", "data": 2}],
            },
            "names data port 2, and c and d have 1 data port; name one of those",
        ),
        ({"soak": "1h"}, "a soak has one data interface"),
        (
            {"networks": ["bare", {"name": "here", "hosts": {name: tunnel(name) for name in "ab"}}]},
            "networks are for hosts with one data port",
        ),
    ],
)
def test_ports_that_cannot_be_used_are_one_line(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    if "soak" in keys:
        keys = {**keys, "instances": 1}
    with pytest.raises(InvalidInput, match=said) as caught:
        loaded(tmp_path, **keys)
    assert_one_line_each(str(caught.value))


def test_trials_of_users_have_one_data_port_of_each_host(tmp_path: Path) -> None:
    file = tmp_path / "users.yaml"
    users = {"server": "a", "clients": ["b"], "users": 2, "get_share": "100%"}
    factors = {"users.users": [2, 4]}
    file.write_text(json.dumps({"name": "n", "hosts": TWO, "users": users, "factors": factors, "trials": 1}))
    with pytest.raises(InvalidInput, match="names 2 ports, and users have one data interface of each host"):
        load_campaign(file)


def test_an_ini_inventory_lists_ports_with_commas(tmp_path: Path) -> None:
    lines = [f"{name} ansible_host=192.0.2.{at} linewatt_data=eth1,eth2" for at, name in enumerate("ab", 1)]
    lines[0] += " linewatt_data_weights=2,1"
    (tmp_path / "hosts.ini").write_text("\n".join(lines) + "\n")
    found = loaded(tmp_path, hosts="hosts.ini")
    assert found.hosts["b"].interfaces == ("eth1", "eth2")
    assert found.hosts["a"].data_weights == (2, 1)
    (tmp_path / "hosts.ini").write_text("\n".join(lines).replace("=2,1", "=2,x") + "\n")
    with pytest.raises(InvalidInput, match=r"hosts.ini:1:72: a: linewatt_data_weights: must be a whole"):
        loaded(tmp_path, hosts="hosts.ini")


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
    return plan_campaign(one, 0, {name: site_of_host(spec_, facts, None) for name, spec_ in hosts.items()})


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


def facts_of_four_nodes(cores: int, threads: int = 1) -> dict[str, Any]:
    """Ports on nodes 2 and 3, on each of which are ``cores``."""
    known = facts_of_two_nodes(2, 3)
    four = machine(packages=4, cores=cores, threads=threads, numa_node=2)
    return known | {key: value for key, value in four.items() if key != "nic"}


def steering(planned: Any) -> dict[str, str]:
    return {
        one.target: one.value for one in planned.changes if one.host == "a" and one.knob == "irq_affinity"
    }


def test_ports_without_room_for_both_roles_share_out_the_cores_that_are_near_to_none() -> None:
    planned = placed(facts_of_four_nodes(cores=1), 2)
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["0", "1"]
    assert steering(planned) == {NIC: "2", "eth2": "3"}


def test_a_port_with_room_for_both_roles_stays_on_its_node() -> None:
    planned = placed(facts_of_four_nodes(cores=2), 2)
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["4", "6"]
    assert steering(planned) == {NIC: "5", "eth2": "7"}


def test_free_cores_are_whole_and_threads_come_after_them() -> None:
    planned = placed(facts_of_four_nodes(cores=1, threads=2), 4)
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["0", "1", "4", "5"]
    assert steering(planned) == {NIC: "2", "eth2": "3"}


def test_remote_ports_run_their_processes_where_no_port_is() -> None:
    host = HostSpec("a", "a.example.net", NIC, more_ports=(DataPort("eth2"),))
    hosts = {"a": host, "b": replace(host, name="b")}
    one = campaign(hosts=hosts, tests=(spec("tcp", 2),), placement="remote", trials=1)
    sites = {name: site_of_host(spec_, facts_of_four_nodes(cores=2), None) for name, spec_ in hosts.items()}
    planned = plan_campaign(one, 0, sites)
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["0", "2"]
    assert steering(planned) == {NIC: "4", "eth2": "6"}


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


def test_instances_of_ports_on_one_node_share_no_named_cpu_while_it_has_others() -> None:
    planned = placed(facts_of_two_nodes(0, 0), 4, app_cpus=(0, 1, 2, 3, 4, 5), irq_cpus=(6,))
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("kind", ["settings", "factors"])
def test_receive_steering_of_a_port_is_by_the_interrupt_cpus_that_are_local_to_it(kind: str) -> None:
    host = HostSpec("a", "a.example.net", NIC, more_ports=(DataPort("eth2"),), irq_cpus=(2, 6))
    hosts = {"a": host, "b": replace(host, name="b")}
    asked: dict[str, Any] = {"settings": {"rps": "irq"}, "factors": {"rps": ("irq",)}}
    one = campaign(hosts=hosts, tests=(spec("tcp", 2),), placement="none", **{kind: asked[kind]})
    sites = {name: site_of_host(spec_, facts_of_two_nodes(0, 1), None) for name, spec_ in hosts.items()}
    (first, *_) = plan_campaign(one, 0, sites).rounds
    found = {
        (change.host, change.target): change.value
        for change in plan_campaign(one, 0, sites).changes_in(first)
        if change.knob == "rps_cpus"
    }
    assert found == {("a", NIC): "2", ("a", "eth2"): "6", ("b", NIC): "2", ("b", "eth2"): "6"}


def steered(instances: int, queues: int, weights: tuple[int, ...] = ()) -> dict[str, str]:
    """Interface of the receiver → its rules."""
    host = HostSpec("a", "a.example.net", NIC, more_ports=(DataPort("eth2"),), data_weights=weights)
    hosts = {"a": host, "b": replace(host, name="b")}
    found = facts_of_two_nodes(0, 1)
    found["nic"]["channels"] = {"combined": 8}
    found[FURTHER_NICS]["eth2"]["channels"] = {"combined": queues}
    one = campaign(hosts=hosts, tests=(spec("tcp", instances),), steer=True, trials=1)
    planned = plan_campaign(one, 0, {name: site_of_host(spec_, found, None) for name, spec_ in hosts.items()})
    return {one.target: one.value for one in planned.changes if one.knob == "ntuple" and one.host == "b"}


def test_ports_steer_and_place_what_is_dealt_to_them_by_weight() -> None:
    found = steered(3, queues=2, weights=(1, 3))
    assert {name: {rule.split("=")[0][-4:] for rule in rules.split()} for name, rules in found.items()} == {
        NIC: {"5203", "5235"},
        "eth2": {"5201", "5202", "5233", "5234"},
    }
    assert steered(1, queues=2, weights=(1, 3)).keys() == {"eth2"}
    planned = placed(facts_of_two_nodes(0, 1), 4, app_cpus=(0, 1, 4, 5), irq_cpus=(2, 6), data_weights=(1, 3))
    (trial,) = planned.trials
    assert [one.sender_cpu for one in trial.instances] == ["4", "5", "0", "4"]
    (trial,) = placed(facts_of_two_nodes(0, 1), 4, data_weights=(1, 3), app_cpus=None).trials
    assert trial.case.data_port_of == (1, 1, 0, 1)


def test_each_port_steers_the_instances_that_are_dealt_to_it() -> None:
    found = steered(3, queues=2)
    first = dict(rule.split("=", 1) for rule in found[NIC].split())
    assert first.keys() == {"tcp4:5201", "tcp4:5203", "tcp4:5233", "tcp4:5235"}
    assert [first["tcp4:5201"], first["tcp4:5203"]] == ["0", "1"]
    assert found["eth2"] == "tcp4:5202=0 tcp4:5234=0"
    assert steered(1, queues=2).keys() == {NIC}, "a port without instances is left as it is"
    assert steered(4, queues=2).keys() == {NIC, "eth2"}
    assert steered(5, queues=2) == {}, "three of them share the first port, and the second has two queues"


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


def test_counters_that_miss_more_than_one_echo_in_five_are_not_believed() -> None:
    assert wrong_port(BEFORE, {"eth1": (41, 41), "eth2": (0, 0)}, "eth1") is None
    assert "counter shows 39" in str(wrong_port(BEFORE, {"eth1": (50, 39), "eth2": (0, 0)}, "eth1"))
    assert "arrives by eth2" in str(wrong_port(BEFORE, {"eth1": (50, 39), "eth2": (0, 41)}, "eth1"))


PORT = PortResult("eth1", "eth1", 2, 80e6, 80e6, 95e6, 10.3e6, 10.3e6)


def trial_of(**changes: Any) -> Trial:
    port = PORT
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
    assert "b: data port eth2 carried 4.9 MB" in str(
        left_its_port(trial_of(receiver_interface="eth2", received_bytes=4.9e6))
    ), "its instances counted 10 MB"
    assert left_its_port(trial_of(received_bytes=5.1e6)) is None
    assert "a: data port eth2 carried 0.0 MB" in str(
        left_its_port(trial_of(sender_interface="eth2", sent_bytes=0.0))
    )


def test_datagrams_that_a_queue_of_the_sender_dropped_left_by_no_other_port() -> None:
    flood = trial_of(offered_bps=800e6, sent_bytes=10.3e6)
    assert left_its_port(replace(flood, case=replace(flood.case, test="udp-1500"))) is None


def of_ports(*ports: tuple[float, float | None], **changes: Any) -> Trial:
    """A trial whose ports carry so much of so much line."""
    made = tuple(
        replace(PORT, sender_interface=f"eth{number}", throughput_bps=bps, line_goodput_bps=line)
        for number, (bps, line) in enumerate(ports, 1)
    )
    lines = [one.line_goodput_bps for one in made]
    together = {
        "throughput_bps": sum(one.throughput_bps for one in made),
        "line_goodput_bps": None if None in lines else sum(one or 0.0 for one in lines),
    }
    return replace(trial_of(), data_ports=made, **{**together, **changes})


def lines(trial: Trial) -> dict[str | None, tuple[float, bool]]:
    """Data port, or None for all together → part of its line, and whether that cannot be."""
    found = (one for one in path_candidates(trial) if one.kind == "line-rate")
    return {one.port: (round(one.share, 3), one.ruled_out) for one in found}


@pytest.mark.parametrize(
    ("ports", "found"),
    [
        (((3e9, 10e9), (5e9, 10e9)), {None: (0.4, False), "eth1": (0.3, False), "eth2": (0.5, False)}),
        (
            ((0.98e9, 1e9), (4.52e9, 10e9)),
            {None: (0.5, False), "eth1": (0.98, False), "eth2": (0.452, False)},
        ),
        (((9.5e9, 10e9), (9.1e9, 10e9)), {None: (0.93, False)}),
        (((1.1e9, 1e9), (9.9e9, 10e9)), {None: (1.0, False), "eth1": (1.1, True)}),
        (((1e9, None), (9.9e9, 10e9)), {}),
        (((3e9, 10e9),), {None: (0.3, False)}),
    ],
)
def test_lines_of_ports_are_told_apart_while_those_of_all_have_room(ports: Any, found: Any) -> None:
    assert lines(of_ports(*ports)) == found


def test_of_a_trial_without_throughput_no_line_is_told() -> None:
    assert lines(of_ports((0.95e9, 1e9), (5e9, 10e9), throughput_bps=None)) == {}
    assert lines(of_ports((0.95e9, 0.0), (5e9, 10e9))) == {None: (0.595, False), "eth2": (0.5, False)}


@pytest.mark.parametrize(
    ("trial", "apart"),
    [
        (of_ports((0.5e9, 1e9), (8e9, 10e9)), ["eth1", "eth2"]),
        (of_ports((0.9e9, 1e9), (9e9, 10e9)), []),
        (of_ports((1.1e9, 1e9), (9.5e9, 10e9)), ["eth1"]),
        (of_ports((0.5e9, None), (8e9, 10e9), line_goodput_bps=11e9), ["eth2"]),
        (of_ports((0.5e9, 1e9)), []),
        (of_ports((0.5e9, 1e9), (8e9, 10e9), line_goodput_bps=None), []),
        (of_ports((0.5e9, 1e9), (8e9, 10e9), throughput_bps=None), []),
    ],
    ids=["room in all", "all full", "more than it carries", "no line known", "one port", "no sum", "no rate"],
)
def test_the_line_of_a_port_counts_by_itself_where_that_of_all_has_room(
    trial: Trial, apart: list[str]
) -> None:
    assert [one.sender_interface for one in lines_apart(trial)] == apart


def test_above_the_line_of_one_port_is_told_with_that_line() -> None:
    trials = [of_ports((1.1e9, 1e9), (5e9, 10e9))]
    told = [
        one.evidence
        for one in limit_flags(trials[0].case, trials, verdict(trials))
        if one.code == "above-line-rate"
    ]
    assert told == [
        "up to 110.0 % of the payload rate that the line of data port eth1 can carry (1.00 Gbps), "
        "above it in 1 of 1 trials"
    ]


def runs_of(instances: int, of_line: Sequence[float], *, total_bps: float | None = None) -> list[Trial]:
    """Trials over two ports: the first with so much of its 1 Gbps, the second with 4 of 10, or the rest."""
    roles = {
        role: end(host, role, 1.0, 0, 0, app_cpu=shares(0.5), irq_cpu=shares(0.5, cpus=(1,)))  # type: ignore[arg-type]
        for role, host in (("sender", "a"), ("receiver", "b"))
    }
    case = Case("tcp", "a", "b", data_ports=2, instances=instances)
    return [
        replace(
            of_ports(
                (share * 1e9, 1e9), (second, 10e9), case=case, case_key=case.key, retransmits=0, **roles
            ),
            number=10 * instances + at,
        )
        for at, share in enumerate(of_line)
        for second in [4e9 if total_bps is None else total_bps - share * 1e9]
    ]


def test_ports_of_a_trial_whose_throughput_is_withheld_have_no_row() -> None:
    trials = runs_of(2, [0.5, 0.7])
    for shown in (trials, [trials[0], replace(trials[1], throughput_bps=None)]):
        (text_group,) = digest_of(result(shown)).groups
        (table,) = port_tables([text_group], shown)
        first = table.groups[0].rows[0].cells[1].text
        assert first == ("600 Mbps" if shown is trials else "500 Mbps"), "the mean of those that are shown"
    (text_group,) = digest_of(result(trials)).groups
    assert not list(port_tables([text_group], [replace(one, throughput_bps=None) for one in trials]))


def cases_of_instances(of_line: Sequence[float], *instances: int) -> tuple[CaseSummary, ...]:
    return summarise([trial for count in instances for trial in runs_of(count, of_line)])


def test_a_full_port_is_no_hidden_ceiling() -> None:
    """Twice the instances bring no more, because one of two ports is slow and full."""

    def cases(first: float) -> tuple[CaseSummary, ...]:
        return cases_of_instances([first / 1e9] * 3, 2, 4)

    hidden = "limited by something inside the device or the path, at 4.60 Gbps"
    assert [limit_words(one).startswith(hidden) for one in cases(0.6e9)] == [True, True]
    room = "not the line rate: 41.8 % of 11.0 Gbps of payload over 2 ports, of the fullest 60.0 %"
    assert room in cases(0.6e9)[1].limit.evidence
    full = "limited by the line rate of data port eth1 alone (98.0 %)"
    assert [limit_words(one).startswith(full) for one in cases(0.98e9)] == [True, True]
    lines = [one for one in limit_document(cases(0.98e9)[0].limit)["candidates"] if one["unit"] == "bit/s"]
    assert [one.get("port") for one in lines] == ["eth1", None, "eth2"]


@pytest.mark.parametrize("of_line", [(0.965, 0.965, 0.965), (0.98, 0.98, 0.965), (0.93, 0.93, 0.93)])
def test_beside_a_port_that_is_nearly_full_no_hidden_ceiling_is_named(of_line: tuple[float, ...]) -> None:
    for one in cases_of_instances([*of_line], 2, 4):
        assert limit_words(one).startswith("no limit found")
        assert "data port eth1 alone" in one.limit.evidence
        assert "hidden-ceiling" not in {flag.code for flag in one.flags}
        nearest = f"nearest is the line rate of data port eth1 alone, {100 * fmean(of_line):.1f} %"
        in_two = ": 97 % or more in 2 of 3 trials, named as the limit only if in all"
        threshold = in_two if max(of_line) > 0.97 else "; from 97 % on it is named"
        assert one.limit.margin == f"{nearest}{threshold}"


@pytest.mark.parametrize(
    ("of_line", "kind"),
    [
        ((0.98, 0.7, 0.6), "device-or-path"),
        ((0.98, 0.98, 0.6), "not-found"),
        ((0.85, 0.8, 0.75), "device-or-path"),
    ],
)
def test_a_port_that_takes_more_than_its_part_by_turns_hides_no_ceiling(
    of_line: tuple[float, ...], kind: str
) -> None:
    trials = [one for count in (2, 4) for one in runs_of(count, of_line, total_bps=5e9)]
    assert {one.limit.kind for one in summarise(trials)} == {kind}


def test_a_case_with_a_port_that_is_nearly_full_is_not_told_with_the_ceiling_of_more_instances() -> None:
    fewer, more = summarise([*runs_of(2, [0.91] * 3), *runs_of(4, [0.89] * 3), *runs_of(8, [0.85] * 3)])[::2]
    assert limit_words(fewer).startswith("no limit found")
    assert more.limit.kind == "device-or-path"


def test_a_port_that_is_full_now_and_then_limits_nothing() -> None:
    trials = [of_ports((bps, 1e9), (4e9, 10e9)) for bps in (0.99e9, 0.9e9)]
    found = verdict(trials)
    assert found.kinds == ("not-found",)
    assert "the line rate of data port eth1 alone full in 1 of 2 trials" in found.evidence
    assert "49.9 % of the goodput that the line can carry" not in found.evidence


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case("tcp", "a", "b", instances=4), "4 instances"),
        (Case("tcp", "a", "b", instances=4, data_ports=2), "4 instances over 2 ports"),
        (Case("tcp", "a", "b", data_ports=2), "1 instance over 1 of 2 ports"),
    ],
)
def test_how_many_ports_instances_go_over_is_said(case: Case, words: str) -> None:
    assert instances_words(case) == words


@pytest.mark.parametrize("fact", ["mtu", "offloads.tcp-segmentation-offload"])
def test_facts_of_a_further_port_matter_as_those_of_the_first(fact: str) -> None:
    assert rank_of(f"{FURTHER_NICS}.eth2.7.{fact}") == rank_of(f"nic.{fact}") is not None
    assert is_expected(f"{FURTHER_NICS}.eth2.mtu", "network")


AT_BOTH = {"nic.mtu": "1500", "nic.carrier_changes": "3", f"{FURTHER_NICS}.eth2.7.carrier_changes": "5"}
OFF = f"{FURTHER_NICS}.eth2.7.offloads.rx-gro-list"


def test_what_changes_at_a_further_port_is_told_as_of_the_first() -> None:
    later = {**AT_BOTH, OFF: "off", f"{FURTHER_NICS}.eth2.7.carrier_changes": "6"}
    readback = ReadBack(2.0, facts=later, before=ReadBack(1.0, facts={**AT_BOTH, OFF: "on"}))
    (flag,) = configuration.changed("h1", readback)
    assert flag.evidence == "rx-gro-list of eth2.7 was on before the window and off after it"
    assert counted_between(readback, CARRIER) == 1
    assert counted_between(replace(readback, before=None), CARRIER) == 0


def test_facts_of_further_ports_are_compared_from_trial_to_trial_but_not_counts() -> None:
    known: dict[str, dict[str, Any]] = {
        "nic": {"mtu": 1500},
        FURTHER_NICS: {"eth2": {"mtu": 1500, "carrier_changes": 3}},
    }
    begun = again(known)
    assert begun == {
        "nic.mtu": "1500",
        f"{FURTHER_NICS}.eth2.mtu": "1500",
        f"{FURTHER_NICS}.eth2.carrier_changes": "3",
    }
    book = Configuration()
    book.begin("h1", begun)
    changed = {**begun, f"{FURTHER_NICS}.eth2.mtu": "9000", f"{FURTHER_NICS}.eth2.carrier_changes": "4"}
    assert [one.fact for one in book.differences("h1", (), changed)] == [f"{FURTHER_NICS}.eth2.mtu"]
    assert book.differences("h1", [("mtu", "eth2", "9000")], changed) == []


def instance(number: int, port: int | None, bps: float) -> InstanceResult:
    return InstanceResult(number, 5201 + number, None, None, 0.0, 0.0, bps, bps, data_port=port)


def test_results_of_ports_are_of_the_instances_that_are_dealt_to_them() -> None:
    case = Case("tcp", "a", "b", instances=3, data_ports=2)
    lines = (
        PortLine({"a": "eth1", "b": "ens1"}, LineLimit(4e9, "link", "a")),
        PortLine({"a": "eth2", "b": "ens2"}, None),
    )
    run = TrialRun(PlannedTrial(1, 1, case, ()), 0.0, 1.0, 1.0, (), data_ports=lines)
    ends = {
        role: end(host, role, 1.0, 0.5, 0.5, counters=counters)  # type: ignore[arg-type]
        for role, host, counters in (
            ("sender", "a", {"nic.eth1.tx_bytes": 7.0, "nic.eth2.rx_bytes": 1.0}),
            ("receiver", "b", {"nic.ens2.rx_bytes": 8.0}),
        )
    }
    dealt = [instance(0, 0, 1e9), instance(1, 1, 2e9), instance(2, 0, 4e9)]
    assert port_results(run, dealt, ends) == (  # type: ignore[arg-type]
        PortResult("eth1", "ens1", 2, 5e9, 5e9, 4e9, 7.0, None),
        PortResult("eth2", "ens2", 1, 2e9, 2e9, None, None, 8.0),
    )
    assert port_results(run, [instance(0, None, 1e9)], ends) == ()  # type: ignore[arg-type]


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


@needs_bash
def test_of_a_port_that_is_gone_there_are_no_counters_and_no_sum(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/net/eth1/statistics"
    folder.mkdir(parents=True)
    for name in ("rx_bytes", "tx_bytes"):
        (folder / name).write_text("5\n")
    (record,) = records(command("eth1 eth2", 60, str(tmp_path)), 1)
    values = {name: value for name, value in Netcounters().parse(record).items() if name.startswith("nic.")}
    assert values == {
        "nic.eth1.rx_bytes": 5,
        "nic.eth1.tx_bytes": 5,
        "nic.eth2.rx_bytes": None,
        "nic.rx_bytes": None,
        "nic.tx_bytes": None,
    }


def test_queues_of_several_ports_are_one_record() -> None:
    def shown(drops: int) -> list[dict[str, Any]]:
        return [{"kind": "tbf", "root": True, "drops": drops, "overlimits": 1, "requeues": 0}]

    assert QDISC.parse(json.dumps([shown(2), shown(3)]))["qdisc.dropped"] == 5
    assert QDISC.parse(json.dumps([shown(2**32 - 1), shown(3)]))["qdisc.dropped"] == 2
    with pytest.raises(ParseError):
        QDISC.parse('[Cannot find device "eth2",[]]')


def test_pairs_that_share_no_host_are_tried_at_once() -> None:
    cases = [Case("tcp", one, other, data_ports=2) for one, other in combinations("abcdef", 2)]
    rows = [*in_rows(cases)]
    assert sorted((case for row in rows for case in row), key=cases.index) == cases
    for row in rows:
        hosts = [name for case in row for name in case.hosts]
        assert len(hosts) == len({*hosts})
    assert len(rows[0]) == 3
    assert len(rows) < 10, "15 pairs of 6 hosts"


class Late:
    """A host that counts echoes once it was looked at so often since they went."""

    def __init__(self, name: str, looks: int, crossed: bool = False) -> None:
        self.spec = HostSpec(name, f"192.0.2.{looks}", "eth1", more_ports=(DataPort("eth2"),))
        self._looks, self._crossed = looks, crossed
        self.echoes = {"eth1": 0, "eth2": 0}
        self.looked = 0

    async def run(self, argv: Sequence[str], **_: Any) -> Completed:
        self.looked += 1
        counted = self.echoes if self.looked > self._looks else dict.fromkeys(self.echoes, 0)
        lines = [f"{name} {number} {number}" for name, number in counted.items()]
        return Completed(tuple(argv), 0, "\n".join(lines), "")

    def carry(self, interface: str) -> None:
        self.echoes["eth1" if self._crossed else interface] += ECHOES


BOTH = Case("tcp", "a", "b", instances=2, data_ports=2)


def proven(*looks: int, crossed: bool = False, cases: Sequence[Case] = (BOTH,)) -> tuple[list[Late], str]:
    """Two hosts whose counters lag, and what is wrong with their ports."""
    there = Late("b", looks[1], crossed)

    class Pings(Late):
        async def run(self, argv: Sequence[str], **more: Any) -> Completed:
            if "ping" not in argv[4]:
                return await super().run(argv, **more)
            for one in (self, there):
                one.carry({"198.18.1.1": "eth1", "198.18.2.1": "eth2"}[argv[-2]])
            return Completed(tuple(argv), 0, f"{ECHOES} packets transmitted, {ECHOES} received", "")

    pinging = Pings("a", looks[0], crossed)
    hosts = {"a": pinging, "b": there}

    def ends(_: Case, port: int) -> dict[str, End]:
        return {
            name: End(f"eth{port + 1}", f"198.18.{port + 1}.{at}", Framing(1500))
            for at, name in enumerate("ab", 1)
        }

    session = SimpleNamespace(hosts=hosts, specs={name: one.spec for name, one in hosts.items()}, ends=ends)
    try:
        rounds = [Round((PlannedTrial(at, 1, case, ()),)) for at, case in enumerate(cases, 1)]
        asyncio.run(refuse_shared_ports(cast("Session", session), rounds))
    except HostError as error:
        return [pinging, there], str(error)
    return [pinging, there], ""


@pytest.mark.parametrize(
    ("cases", "tried"),
    [
        ([replace(BOTH, data_ports=1)], {"eth1": ECHOES, "eth2": 0}),
        ([replace(BOTH, data_ports=1, chosen_ports=(1,))], {"eth1": 0, "eth2": ECHOES}),
        ([replace(BOTH, data_ports=1), BOTH], {"eth1": ECHOES, "eth2": ECHOES}),
    ],
)
def test_the_ports_that_cases_use_are_tried_each_once(cases: list[Case], tried: dict[str, int]) -> None:
    hosts, said = proven(0, 0, cases=cases)
    assert said == ""
    assert [host.echoes for host in hosts] == [tried, tried]


def test_counters_that_a_nic_writes_now_and_then_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linewatt.engine.networks.ports.AGAIN_S", 0.0)
    assert proven(0, 0)[1] == ""
    hosts, said = proven(4, 2)
    assert said == ""
    assert hosts[0].looked > 4


def test_counters_that_a_nic_writes_each_second_are_in_time_and_none_is_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In time that passes only while somebody waits."""
    at_s = [0.0]

    async def wait(seconds: float) -> None:
        at_s[0] += seconds

    monkeypatch.setattr(networks_ports, "now_s", lambda: at_s[0])
    monkeypatch.setattr(networks_ports, "asyncio", SimpleNamespace(sleep=wait, gather=asyncio.gather))
    assert proven(10, 5)[1] == ""
    assert at_s[0] >= 1
    at_s[0] = 0.0
    hosts, said = proven(999, 999)
    assert "its counter shows 0" in said
    assert 2 <= at_s[0] <= 5
    assert hosts[0].looked < 50, "a look is a command on a host"


def test_what_another_port_has_counted_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linewatt.engine.networks.ports.AGAIN_S", 0.0)
    hosts, said = proven(0, 0, crossed=True)
    assert "data of port eth2 leaves by eth1" in said
    assert hosts[0].looked == 4, "before and after, of each port"


def test_counters_that_never_move_are_waited_for_no_longer_than_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linewatt.engine.networks.ports.LATE_S", 0.0)
    assert f"of {ECHOES} packets of data port eth1 its counter shows 0" in proven(99, 99)[1]
