# SPDX-License-Identifier: Apache-2.0
"""One campaign over every pair of hosts, three tests and two networks: what is stored, compared and shown."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.lab.test_campaign import end
from tests.lab.test_networks import SHORT, Networks
from tests.packed import texts

LIMIT_S = 600

pytestmark = [pytest.mark.lab, pytest.mark.full, pytest.mark.timeout(LIMIT_S + 60)]


@pytest.fixture(scope="module")
def matrix(lab3: Any, tmp_path_factory: pytest.TempPathFactory) -> Networks:
    """Every ordered pair of three hosts × three tests × bare and VXLAN × three trials, from one file."""
    one = Networks(lab3, tmp_path_factory.mktemp("matrix"))
    before = one.settled_state()
    file = one.campaign(
        name="vxlan-cost",
        pairs="all",
        tests=["tcp", "udp-1500", "udp-60"],
        networks=["bare", {"name": "vxlan", "hosts": one.mesh()}],
        trials=3,
        window=SHORT,
        idle={"seconds": 0.5},
        rate="2M",
    )
    running = one.start("run", file)
    end(running, 0, limit_s=LIMIT_S)
    assert one.state() == before
    return one


def test_a_matrix_on_two_networks_from_one_file_leaves_every_host_as_it_was(matrix: Networks) -> None:
    trials = matrix.trials()
    assert {trial["status"] for trial in trials} == {"done"}
    cases = Counter(
        (trial["case"]["sender"], trial["case"]["receiver"], trial["case"]["test"], trial["case"]["network"])
        for trial in trials
    )
    assert len(cases) == 6 * 3 * 2
    assert set(cases.values()) == {3}
    first = [trial["case"]["network"] for trial in trials if trial["repetition"] == 1]
    second = [trial["case"]["network"] for trial in trials if trial["repetition"] == 2]
    assert first == second != sorted(first), "networks take turns within a repetition"


def test_the_load_runs_where_the_network_says(matrix: Networks) -> None:
    for path in sorted(matrix.result.glob("trials/*/trial.json")):
        case = json.loads(path.read_text())["case"]
        argv = json.loads(texts(path.parent / "raw")["commands.json"])[0]["argv"]
        address = argv[argv.index("--bind") + 1]
        assert address.startswith("198.18.2" if case["network"] == "vxlan" else "198.19.")
        if case["test"] != "tcp":
            sizes = {"udp-60": "18", "udp-1500": "1422" if case["network"] == "vxlan" else "1472"}
            assert argv[argv.index("--length") + 1] == sizes[case["test"]]


def test_what_a_line_can_carry_follows_the_encapsulation(matrix: Networks) -> None:
    most = {
        (trial["case"]["test"], trial["case"]["network"]): trial["line_goodput_bps"]
        for trial in matrix.trials()
    }
    assert most["tcp", "bare"] == pytest.approx(1e9 * 1448 / 1514)
    assert most["tcp", "vxlan"] == pytest.approx(1e9 * 1398 / 1514)
    assert most["udp-60", "vxlan"] == pytest.approx(1e9 * 18 / (14 + 46 + 50))


def test_every_trial_reads_its_network_back(matrix: Networks) -> None:
    for trial in matrix.trials():
        made = [name for name in trial["receiver"]["settings"] if name.startswith("network ")]
        assert len(made) == (trial["case"]["network"] == "vxlan")
        assert "setting-changed" not in {flag["code"] for flag in trial["flags"]}


def test_idle_is_measured_once_on_each_network_for_all_hosts(matrix: Networks) -> None:
    assert not (matrix.result / "idle-3.json").exists()
    for name, setting in (("idle.json", {}), ("idle-2.json", {"network": "vxlan"})):
        found = json.loads((matrix.result / name).read_text())
        assert found.get("setting", {}) == setting
        assert set(found["hosts"]) == {"h1", "h2", "h3"}


def test_what_the_tunnel_costs_is_said_with_its_interval(matrix: Networks) -> None:
    """Three runs a side give no verdict on one pair; over all six pairs there is one, or it says how wide."""
    document = json.loads(matrix.run("compare", "last", "--by", "network", "--json").stdout)
    rows = [row for row in document["comparisons"] if row["response"] == "throughput_bps"]
    assert len(rows) == 6 * 3
    assert all(row["ratio_low"] < row["ratio"] < row["ratio_high"] for row in rows)
    assert {row["kind"] for row in rows} == {"undecided"}
    overall = [row for row in document["overall"] if row["response"] == "throughput_bps"]
    assert [(row["test"], row["pairs"]) for row in overall] == [
        ("tcp", 6),
        ("udp-1500", 6),
        ("udp-60", 6),
    ]
    assert all(row["ratio_low"] < row["ratio"] < row["ratio_high"] for row in overall)
    shown = matrix.run("compare", "last", "--by", "network", "--full").stdout
    assert "vxlan ÷ bare" in shown
    assert "all 6 pairs of hosts, 2.00 Mbps per instance, 1 instance" in shown


def test_the_matrix_is_shown_block_by_block_and_reported(matrix: Networks) -> None:
    detail = matrix.run("show", "last", "--detail").stdout
    assert detail.count("srv(rcv)") >= 6 * 3 * 2
    assert "vxlan" in detail
    page = matrix.tmp / "report.html"
    matrix.run("report", "last", "-o", page, limit_s=LIMIT_S)
    assert "sender × receiver" in page.read_text().lower() or "heat" in page.read_text().lower()
