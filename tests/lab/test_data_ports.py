# SPDX-License-Identifier: Apache-2.0
"""Campaigns over two data ports of each host, behind one switch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import patient
from tests.lab.test_campaign import LONG, Bench, await_event

from linewatt.features.lab import api as lab

pytestmark = pytest.mark.lab

RATE_BPS = 400e6
ETHERNET = 1448 / 1514
"""payload of a full TCP segment on a shaped link"""


@pytest.fixture(scope="module")
def ports_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    name = f"t{os.getpid()}-ports"
    yield patient(lab.up(lab.LabRequest(name=name, rate="400mbit", ports=2, bmc=False)))
    lab.down(name)


@pytest.fixture
def bench(ports_lab: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(ports_lab, tmp_path)
    before = settings(one)
    yield one
    one.until_nothing_runs()
    assert settings(one) == before


def settings(bench: Bench) -> list[str]:
    shown = "cat /sys/class/net/data*/mtu /sys/class/net/data*/queues/rx-*/rps_cpus"
    return [bench.on_host(number, "sh", "-c", shown) for number in (1, 2)]


def test_each_port_carries_its_instances_as_its_own_counters_say(bench: Bench) -> None:
    bench.run("run", bench.campaign(instances=[1, 3], trials=1, rate="60M", window=LONG))
    one, three = bench.trials()
    assert [port["instances"] for port in one["data_ports"]] == [1]
    first, second = three["data_ports"]
    assert (first["instances"], second["instances"]) == (2, 1)
    assert [each["data_port"] for each in three["instances"]] == [0, 1, 0]
    assert first["throughput_bps"] == pytest.approx(2 * second["throughput_bps"], rel=0.1)
    assert first["throughput_bps"] + second["throughput_bps"] == pytest.approx(three["throughput_bps"])
    for port in three["data_ports"]:
        payload = port["throughput_bps"] * LONG["seconds"] / 8
        for counted in (port["sent_bytes"], port["received_bytes"]):
            assert 0.8 * payload < counted < 1.4 * payload, "read once a second, over a window of one"
        assert port["line_goodput_bps"] == pytest.approx(RATE_BPS * ETHERNET, rel=0.01)
    assert three["line_goodput_bps"] == pytest.approx(2 * one["line_goodput_bps"])
    for role in ("sender", "receiver"):
        counters = three[role]["counters"]
        for name in ("tx_bytes", "rx_bytes"):
            assert counters[f"nic.data0.{name}"] + counters[f"nic.data1.{name}"] == pytest.approx(
                counters[f"nic.{name}"], rel=1e-6
            )
        assert set(three[role]["settings"]) == {"rps_cpus data0", "rps_cpus data1"}
    shown = bench.run("show", "--full").stdout
    assert "data ports, mean over trials" in shown
    assert "data1 → data1" in shown


def test_instances_are_dealt_by_weight_and_each_goes_over_its_own_port(bench: Bench) -> None:
    """Of one instance the port is the second, which then is the only one that carries anything."""
    inventory = bench.tmp / "weighted.yaml"
    lines = bench.lab.inventory.read_text().splitlines()
    (at, *_) = [number for number, line in enumerate(lines) if "linewatt_data:" in line]
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    inventory.write_text("\n".join([*lines[:at], f"{indent}linewatt_data_weights: [1, 3]", *lines[at:]]))
    window = {**LONG, "seconds": 3}  # on a busy machine a counter may be read less than once a second
    file = bench.campaign(hosts=str(inventory), instances=[1, 4], trials=1, rate="40M", window=window)
    assert "4 (1 + 3)" in bench.run("plan", file).stdout
    bench.run("run", file)
    one, four = bench.trials()
    assert [(port["sender_interface"], port["instances"]) for port in one["data_ports"]] == [("data1", 1)]
    assert [port["instances"] for port in four["data_ports"]] == [1, 3]
    for trial in (one, four):
        assert trial["case"]["port_weights"] == [1, 3]
        for port in trial["data_ports"]:
            payload = port["throughput_bps"] * window["seconds"] / 8
            for counted in (port["sent_bytes"], port["received_bytes"]):
                assert 0.8 * payload < counted < 1.4 * payload, "read once a second, over a window of three"
    again = json.loads(bench.run("rederive", "last", "--json").stdout)
    assert [each["same"] for each in again["trials"]] == [True, True]
    assert "4 instances over 2 ports by 1:3" in bench.run("show").stdout


def test_a_test_goes_over_the_ports_that_it_names_in_one_series_with_one_over_all(bench: Bench) -> None:
    tests = [
        {"test": "tcp", "instances": 1, "data": ["data0"]},
        {"test": "tcp", "instances": 2, "data": [2]},
        {"test": "tcp", "instances": 4},
    ]
    file = bench.campaign(tests=tests, trials=1, rate="30M", window=LONG)
    bench.run("run", file)
    used = [[port["sender_interface"] for port in trial["data_ports"]] for trial in bench.trials()]
    assert used == [["data0"], ["data1"], ["data0", "data1"]]
    goodput_bps = [trial["line_goodput_bps"] for trial in bench.trials()]
    assert goodput_bps[1] == goodput_bps[0]
    assert goodput_bps[2] == pytest.approx(2 * goodput_bps[0])
    assert "data0 → data0" in bench.run("show", "--full").stdout
    again = json.loads(bench.run("rederive", "last", "--json").stdout)
    assert [trial["same"] for trial in again["trials"]] == [True, True, True]


@pytest.mark.full
def test_a_setting_is_that_of_every_port_and_kill_resume_and_restore_know_them_all(bench: Bench) -> None:
    before = settings(bench)
    file = bench.campaign(instances=2, trials=3, rate="40M", window=LONG, settings={"mtu": 1400})
    process = bench.start("run", file)
    await_event(process, "trial_started", 2)
    assert bench.on_host(2, "sh", "-c", "cat /sys/class/net/data*/mtu").split() == ["1400", "1400"]
    process.kill()
    bench.until_nothing_runs()
    process.communicate()
    assert settings(bench) != before
    assert "put back" in bench.restore()
    assert settings(bench) == before
    bench.run("resume", "last")
    done = bench.trials()
    assert [trial["number"] for trial in done if trial["status"] == "done"] == [1, 2, 3]
    assert all(len(trial["data_ports"]) == 2 for trial in done)
    assert settings(bench) == before


def test_a_port_that_answers_for_the_other_is_refused_in_one_line(bench: Bench) -> None:
    """As after ARP flux: the neighbour's address is known with the MAC of its other port."""
    address = bench.lab.hosts[1].ports[0].ipv4
    other = bench.on_host(2, "cat", "/sys/class/net/data1/address").strip()
    entry = (address, "lladdr", other, "nud", "permanent", "dev", "data0")
    bench.on_host(1, "ip", "neigh", "replace", *entry)
    try:
        done = bench.run("run", bench.campaign(instances=2, trials=1), status=1)
    finally:
        bench.on_host(1, "ip", "neigh", "del", *entry)
    (said,) = [line for line in done.stderr.splitlines() if "data port" in line or "data for port" in line]
    assert "h2: data for port data0 arrives by data1, which answers ARP for its address" in said
    assert "arp_ignore=1" in said
    assert not list(bench.results.glob("*/trials/*"))


def test_check_looks_at_every_port(bench: Bench) -> None:
    done = bench.run("check", bench.campaign(instances=2, trials=1, rate="20M"), "--json", status=0)
    rows = [row for row in json.loads(done.stdout)["checks"] if row["host"] == "h1"]
    found = {
        name: " ".join(row["found"] for row in rows if row["name"] == name)
        for name in ("route", "mtu", "link")
    }
    for port in ("data0", "data1"):
        assert f"to h2 (ipv4) over {port}" in found["route"]
        assert port in found["link"]
    assert not [row for row in rows if row["status"] == "fail"]


@pytest.fixture
def one_subnet(bench: Bench) -> Iterator[Bench]:
    """Both ports of a host are in one subnet, and each answers ARP for the other: a kernel's default."""
    back = ExitStack()
    with back:
        for number, host in enumerate(bench.lab.hosts, 1):
            for name, value in (("arp_ignore", "0"), ("arp_announce", "0")):
                key = f"net.ipv4.conf.all.{name}"
                before = bench.on_host(number, "sysctl", "-n", key)
                back.callback(bench.on_host, number, "sysctl", "-qw", f"{key}={before}")
                bench.on_host(number, "sysctl", "-qw", f"{key}={value}")
            for port in host.ports:
                for address, own, wide in ((port.ipv4, 26, 24), (port.ipv6, 64, 32)):
                    more = ("nodad",) if own == 64 else ()
                    at = ("dev", port.interface)
                    back.callback(bench.on_host, number, "ip", "addr", "add", f"{address}/{own}", *at, *more)
                    back.callback(bench.on_host, number, "ip", "addr", "del", f"{address}/{wide}", *at)
                    bench.on_host(number, "ip", "addr", "del", f"{address}/{own}", *at)
                    bench.on_host(number, "ip", "addr", "add", f"{address}/{wide}", *at, *more)
            back.callback(bench.on_host, number, "ip", "neigh", "flush", "all")
        yield bench


def ways(bench: Bench) -> list[str]:
    """What a run changes of routes and ARP, as each host shows it."""
    shown = "ip route; ip -6 route; cat /proc/sys/net/ipv4/conf/data*/arp_ignore; sysctl -n net.ipv4.conf.{}"
    arp = shown.format("data0.arp_announce net.ipv4.conf.data1.arp_announce")
    return [bench.on_host(number, "sh", "-c", arp) for number in (1, 2)]


@pytest.mark.parametrize("family", ["ipv4", pytest.param("ipv6", marks=pytest.mark.full)])
def test_ports_of_one_subnet_each_carry_their_own_data(one_subnet: Bench, family: str) -> None:
    bench, before = one_subnet, ways(one_subnet)
    done = bench.run("run", bench.campaign(instances=2, trials=1, rate="60M", window=LONG, families=[family]))
    assert "h1: data0 and data1 are in one subnet" in done.stderr
    (trial,) = bench.trials()
    assert trial["status"] == "done", trial["reason"]
    for port in trial["data_ports"]:
        payload = 60e6 * LONG["seconds"] / 8
        for counted in (port["sent_bytes"], port["received_bytes"]):
            assert 0.8 * payload < counted < 1.4 * payload, "read once a second, over a window of one"
    peer = getattr(bench.lab.hosts[1].ports[1], family)
    shown = trial["sender"]["settings"]
    assert shown[f"host_route {peer}"].startswith("dev data1 src ")
    assert ("sysctl net.ipv4.conf.data1.arp_ignore" in shown) == (family == "ipv4")
    assert [flag["code"] for flag in trial["flags"] if flag["code"].startswith("setting-")] == []
    assert ways(bench) == before
    (again,) = json.loads(bench.run("rederive", "last", "--json").stdout)["trials"]
    assert (again["same"], again["changes"]) == (True, [])


def test_without_a_route_of_its_own_a_port_of_one_subnet_is_refused(one_subnet: Bench) -> None:
    """Somebody else's route to the peer's port stays, and is told."""
    bench, before = one_subnet, ways(one_subnet)
    peer = bench.lab.hosts[1].ports[1].ipv4
    bench.on_host(1, "ip", "route", "add", peer, "dev", "data0")
    try:
        done = bench.run("run", bench.campaign(instances=2, trials=1), status=1)
    finally:
        bench.on_host(1, "ip", "route", "del", peer)
    assert f"h1: host_route {peer}: has a route already (dev data0), which is not dev data1" in done.stderr
    assert ways(bench) == before


@pytest.mark.full
def test_kill_resume_and_restore_know_the_routes_of_ports_of_one_subnet(one_subnet: Bench) -> None:
    bench, before = one_subnet, ways(one_subnet)
    file = bench.campaign(instances=2, trials=3, rate="40M", window=LONG, settings={"mtu": 1400})
    process = bench.start("run", file)
    await_event(process, "trial_started", 2)
    process.kill()
    bench.until_nothing_runs()
    process.communicate()
    assert ways(bench) != before
    assert "put back" in bench.restore()
    assert ways(bench) == before
    bench.run("resume", "last")
    done = bench.trials()
    assert [trial["number"] for trial in done if trial["status"] == "done"] == [1, 2, 3]
    assert all(port["received_bytes"] for trial in done for port in trial["data_ports"])
    assert ways(bench) == before


def test_check_says_that_a_run_sets_ports_of_one_subnet_apart(one_subnet: Bench) -> None:
    bench = one_subnet
    done = bench.run("check", bench.campaign(instances=2, trials=1, rate="20M"), "--json", status=0)
    routes = [row for row in json.loads(done.stdout)["checks"] if row["name"] == "route"]
    assert {row["status"] for row in routes} == {"ok"}
    assert "until a run gives data1 a route of its own" in " ".join(row["found"] for row in routes)
