# SPDX-License-Identifier: Apache-2.0
"""A rehearsal before any guest is made: shapes from real facts, what is cut, what is told, and wrong use."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import host, result, stored, trial
from tests.unit.conftest import Run

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.events import Ended
from linewatt.errors import InvalidInput
from linewatt.features.lab.guests.shape import Shape, shape_of
from linewatt.features.lab.guests.spec import Guest, Nic
from linewatt.features.rehearse.changes import Outcome, Rehearsed, differences, facts_of, verdict_of
from linewatt.features.rehearse.document import document, host_says, lines
from linewatt.features.rehearse.edits import Guests, changes_of, describe_cuts, loads_of, on_guests
from linewatt.hosts.facts import read
from linewatt.missing import Missing
from linewatt.model import Case
from linewatt.tuning.base import Change

CAPTURES = Path(__file__).parents[3] / "captures" / "facts"
RINGS = Change("dut", "rings", "data0", "rx=1000", "asked for")
FILE = """name: two
hosts:
  gen: {address: 192.0.2.11, data: eth1}
  dut: {address: 192.0.2.10, data: eth1}
tests: [tcp]
settings: {rings: "rx=1000"}
"""


def captured(name: str) -> dict[str, Any]:
    return read.parse_all((CAPTURES / name / "output").read_text())


def facts(**nic: Any) -> dict[str, dict[str, Any]]:
    return {
        "cpu": {"numa_nodes": 2, "threads_per_core": 2},
        "cpus": {"online": [*range(8)]},
        "nic": {"driver": "e1000e", "numa_node": 1} | nic,
    }


def test_a_server_with_a_mellanox_is_cut_to_a_guest_and_each_cut_is_said() -> None:
    shape = shape_of(["enp4s0f0np0"], captured("composed-xeon"), kvm=False)
    assert shape.guest == Guest((Nic("vmxnet3"),), cpus=4, threads=1, nodes=2)
    assert [(one.driver, one.model, one.same) for one in shape.stand_ins] == [("mlx5_core", "vmxnet3", False)]
    assert shape.cut == ("4 of its 28 CPUs", "enp4s0f0np0: 4 of its 14 queues")
    assert shape.assumed == ()


def test_with_kvm_a_guest_has_more_of_the_cpus() -> None:
    shape = shape_of(["enp4s0f0np0"], captured("composed-xeon"), kvm=True)
    assert shape.guest.cpus == 16
    assert shape.cut == ("16 of its 28 CPUs", "enp4s0f0np0: 8 of its 14 queues")


def test_a_host_with_a_virtual_link_gets_a_nic_and_it_is_said_what_it_stands_for() -> None:
    shape = shape_of(["data0"], captured("6.18-veth"), kvm=False)
    assert not shape.stand_ins[0].same
    assert shape.guest.nics == (Nic("e1000e"),), "it has one queue"


def test_nothing_known_is_assumed_and_said() -> None:
    shape = shape_of(["eth0", "eth1"], None, kvm=False)
    assert shape.guest == Guest((Nic(), Nic()), cpus=2)
    (assumed,) = shape.assumed
    assert assumed.startswith("nothing is known of the host")


@pytest.mark.parametrize(
    ("nic", "wanted", "cut"),
    [
        ({}, Nic("e1000e", node=1), ("4 of its 8 CPUs",)),
        (
            {"driver": "virtio_net", "channels": {"combined": 2}},
            Nic("virtio-net-pci", 2, 1),
            ("4 of its 8 CPUs",),
        ),
        ({"driver": "ice", "channels": {"combined": 1}}, Nic("e1000e", node=1), ("4 of its 8 CPUs",)),
        ({"numa_node": -1}, Nic("e1000e"), ("4 of its 8 CPUs",)),
        (
            {"driver": "e1000"},
            Nic("e1000"),
            ("4 of its 8 CPUs", "eth0: on no node, for e1000 is on a bus that has none"),
        ),
        (
            {"numa_node": 3},
            Nic("e1000e"),
            ("4 of its 8 CPUs", "eth0: on no node, for its node 3 is not among the guest's 2"),
        ),
    ],
)
def test_the_model_is_of_the_same_driver_or_has_as_many_queues(
    nic: dict[str, Any], wanted: Nic, cut: tuple[str, ...]
) -> None:
    shape = shape_of(["eth0"], facts(**nic), kvm=False)
    assert shape.guest.nics == (wanted,)
    assert shape.guest.threads == shape.guest.nodes == 2
    assert shape.cut == cut


def test_a_driver_that_is_not_known_is_assumed_and_further_ports_have_their_own() -> None:
    known = facts(driver=None) | {"further_nics": {"eth1": {"driver": "vmxnet3", "numa_node": 0}}}
    shape = shape_of(["eth0", "eth1"], known, kvm=False)
    assert shape.guest.nics == (Nic("vmxnet3", node=1), Nic("vmxnet3", node=0))
    assert shape.assumed == ("eth0: its driver is not known, so that a vmxnet3 stands in",)
    assert [one.same for one in shape.stand_ins] == [False, True]


@pytest.mark.parametrize("cpus", [1, 2, 3, 5, 64])
@pytest.mark.parametrize("nodes", [1, 2, 4, 8])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("kvm", [False, True])
def test_every_machine_has_a_guest(cpus: int, nodes: int, threads: int, kvm: bool) -> None:
    known: dict[str, Any] = {
        "cpu": {"numa_nodes": nodes, "threads_per_core": threads},
        "cpus": {"online": [*range(cpus)]},
    }
    shape = shape_of(["eth0"], known, kvm=kvm)
    assert shape.guest.cpus <= max(cpus, 1)
    assert (f"{shape.guest.cpus} of its {cpus} CPUs" in shape.cut) == (shape.guest.cpus != cpus)


@pytest.mark.parametrize(
    ("problem", "before", "after", "verdict"),
    [
        ("", None, None, "no change"),
        ("", "rx=256", "rx=512", "taken"),
        ("cannot be written", "rx=256", None, "refused"),
        ("no such target", None, None, "refused"),
        ("reads 992", "rx=256", "rx=992", "rounded"),
        ("reads 256", "rx=256", "rx=256", "ignored"),
    ],
)
def test_what_a_driver_did_follows_from_what_it_shows(
    problem: str, before: str | None, after: str | None, verdict: str
) -> None:
    assert verdict_of(problem, before, after) == verdict


def test_a_fact_that_is_not_as_it_was_is_told() -> None:
    before: dict[str, Any] = {"dut": {"nic": {"mtu": 1500, "carrier_changes": 1}, "sysctl": {"a": "1"}}}
    after: dict[str, Any] = {"dut": {"nic": {"mtu": 9000, "carrier_changes": 5}, "sysctl": {"a": "1"}}}
    assert differences(before, after) == ["dut: nic.mtu was 1500 and is 9000"]
    assert differences(before, before) == []


def test_loads_are_cut_to_what_a_guest_carries() -> None:
    value = {
        "name": "x",
        "hosts": {},
        "instances": [1, 2, 8],
        "trials": 30,
        "settings": {"mtu": 9000},
        "factors": {"rings": ["rx=1"]},
        "rate": "10G",
        "window": {"seconds": 60},
        "tests": ["tcp", {"test": "udp-60", "rate": "1M", "instances": "auto"}],
    }
    assert loads_of(value) == {
        "name": "x",
        "hosts": {},
        "instances": [1, 2],
        "trials": 1,
        "rate": "5M",
        "window": {"seconds": 2, "omit": 1},
        "idle": {"seconds": 0},
        "tests": [{"test": "tcp", "rate": "5M"}, {"test": "udp-60", "rate": "1M", "instances": [1]}],
    }
    assert value["trials"] == 30


def test_tests_over_some_ports_are_rehearsed_once_over_all(tmp_path: Path) -> None:
    """The guests' ports have other names, and numbers of instances that are cut may be the same."""
    tests = [
        {"test": "tcp", "instances": [1, 8], "data": ["enp1s0"]},
        {"test": "tcp", "instances": 16},
        "tcp",
    ]
    guests = on_guests({"tests": tests}, tmp_path, Guests({}, {}))
    assert guests["tests"] == [{"test": "tcp", "instances": [1, 8]}, {"test": "tcp", "instances": 16}, "tcp"]
    assert loads_of(guests)["tests"] == [{"test": "tcp", "rate": "5M", "instances": [1, 2]}]


def test_what_is_not_rehearsed_is_said() -> None:
    value = {"networks": ["vxlan.yaml"], "placement": "pinned", "tests": ["tcp"]}
    assert changes_of(value) == {"tests": ["tcp"], "networks": ["vxlan.yaml"]}
    assert [line.partition(":")[0] for line in describe_cuts(value)] == ["placement", "loads"]
    with pytest.raises(InvalidInput, match="only campaigns of trials are rehearsed"):
        changes_of({"soak": "1h"})


VXLAN = {
    "interfaces": [
        {
            "name": "vx0",
            "type": "vxlan",
            "vxlan": {"id": 100, "base-iface": "enp1s0", "remote": "192.0.2.10"},
            "ipv4": {"address": [{"ip": "198.18.9.1", "prefix-length": 24}]},
        }
    ],
    "routes": {"config": [{"destination": "192.0.2.10/32", "next-hop-interface": "enp1s0"}]},
}


@pytest.mark.parametrize("source", ["file", "named file", "files", "hosts"])
def test_networks_name_what_the_guests_have_wherever_they_are_written(source: str, tmp_path: Path) -> None:
    (tmp_path / "vx.yaml").write_text(json.dumps({"hosts": {"gen": VXLAN, "dut": {}}}))
    (tmp_path / "gen.yaml").write_text(json.dumps(VXLAN))
    (tmp_path / "dut.yaml").write_text("{}")
    entry: Any = {
        "file": "vx.yaml",
        "named file": {"name": "vx", "file": "vx.yaml"},
        "files": {"name": "vx", "files": {"gen": "gen.yaml", "dut": "dut.yaml"}},
        "hosts": {"name": "vx", "hosts": {"gen": VXLAN, "dut": {}}},
    }[source]
    guests = Guests({"gen": {"enp1s0": "data0"}}, {"192.0.2.10": "198.19.1.2"})
    bare, network = on_guests({"networks": ["bare", entry]}, tmp_path, guests)["networks"]
    assert bare == "bare"
    wanted = json.loads(json.dumps(VXLAN).replace("enp1s0", "data0").replace("192.0.2.10", "198.19.1.2"))
    assert network == {"name": "vx", "hosts": {"gen": wanted, "dut": {}}}


def found(
    *outcomes: Outcome, left: tuple[str, ...] = (), loaded: Ended | Missing | None = None
) -> dict[str, Any]:
    known = captured("composed-xeon")
    shapes: dict[str, Shape] = {"dut": shape_of(["eth1"], known, kvm=False)}
    rehearsed = Rehearsed(outcomes, ("dut: app CPU 1",), left)
    ended = loaded or Ended("id", "path", 2, 0, 0)
    return document(
        Path("c.yaml"), shapes, {"dut": known}, rehearsed, ended, otherwise=("loads: cut",), kvm=False
    )


def test_the_answer_is_that_all_was_taken_or_what_was_not() -> None:
    taken = Outcome(RINGS, "taken", "rx=256", "rx=1000")
    assert found(taken)["as_asked"]
    refused = Outcome(RINGS, "refused", "rx=256", None, "cannot be written")
    for wrong in (
        found(taken, refused),
        found(taken, left=("dut: nic.mtu",)),
        found(Outcome(RINGS, "taken", "a", "b", restored=False)),
        found(taken, loaded=Missing("no iperf3")),
        found(taken, loaded=Ended("id", "path", 1, 1, 0)),
    ):
        assert not wrong["as_asked"]


def test_the_lines_say_which_driver_stood_in_and_what_that_means() -> None:
    text = "\n".join(lines(found(Outcome(RINGS, "rounded", "rx=256", "rx=992", "was set to …"))))
    assert "mlx5_core (dut eth1): vmxnet3 stood in, and may take what that refuses" in text
    assert "CHANGES  1 rounded" in text
    assert "on record of eth1 (mlx5_core): max rx 8192" in text
    assert "dut: 4 CPUs, 2 NUMA nodes, eth1 as data0, a vmxnet3" in text
    assert "reads rx=992" in text
    assert "cut: 4 of its 28 CPUs" in text
    assert "UNDO  every change was put back" in text
    assert "translated every instruction" in text


@pytest.mark.parametrize(
    ("change", "told", "said"),
    [
        (RINGS, captured("composed-xeon"), "on record of eth1 (mlx5_core): max rx 8192, max tx 8192"),
        (Change("dut", "channels", "data0", "64", ""), captured("composed-xeon"), "max combined 28"),
        (Change("dut", "pause", "data0", "off", ""), captured("composed-xeon"), None),
        (Change("dut", "rings", "data1", "rx=1", ""), captured("composed-xeon"), None),
        (Change("dut", "rings", "data0", "rx=1", ""), {"nic": {}}, None),
        (RINGS, Missing("dut: no route to host"), None),
    ],
)
def test_what_is_on_record_of_the_hosts_own_nic_is_told(change: Change, told: Any, said: str | None) -> None:
    shape = shape_of(["eth1"], captured("composed-xeon"), kvm=False)
    found = host_says(change, told, shape)
    assert found is None if said is None else found is not None and said in found


@pytest.mark.parametrize(
    ("file", "words", "wrong"),
    [
        (FILE, ("--facts", "nope"), "--facts nope: neither a stored result nor its manifest.json"),
        (FILE.replace("tcp", "tpc"), (), "c.yaml:5:"),
        (FILE + "soak: 1h\n", (), "soak: only campaigns of trials are rehearsed"),
    ],
)
def test_wrong_use_is_one_line_before_a_boot(
    run: Run, file: str, words: tuple[str, ...], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.features.lab.api.up", lambda *_: pytest.fail("a lab was built"))
    Path("c.yaml").write_text(file)
    code, out, err = run("rehearse", "c.yaml", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert wrong in err


def test_facts_of_a_stored_result_are_of_the_hosts_by_name(tmp_path: Path) -> None:
    from linewatt.features.rehearse.rehearsal import _stored_facts

    one = result(
        (trial(1, Case("tcp", "gen", "dut"), 1e9, 2.0),),
        id="20260101-000000-real",
        hosts={"gen": host("gen", facts={}), "dut": host("dut", facts=captured("composed-xeon"))},
    )
    path = stored(tmp_path, one)
    assert list(_stored_facts(path)) == list(_stored_facts(path / "manifest.json")) == ["dut"]


def test_hosts_that_cannot_be_asked_are_told_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        FILE.replace("192.0.2.11", "127.0.0.1, port: 1").replace("192.0.2.10", "127.0.0.1, port: 2")
    )
    told = asyncio.run(facts_of(load_campaign(path)))
    assert list(told) == ["gen", "dut"]
    assert all(isinstance(why, Missing) and "127.0.0.1" in why.reason for why in told.values())
