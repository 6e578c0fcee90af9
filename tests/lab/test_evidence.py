# SPDX-License-Identifier: Apache-2.0
"""What a trial reads of its hosts before and after its window, and what that gives away, on real hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench, await_event, end
from tests.lab.test_placement import _server_of, flags, placed
from tests.packed import texts

from linewatt.analysis.statistics import pelt

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
]
READ_TWICE = {"seconds": 2, "omit": 1.6, "tail": 1.8}
"""omit leaves time for a question before the readings that open the window, tail for those that close it"""


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(plain_lab2, tmp_path)
    before = one.settings("net.ipv4.tcp_rmem")
    yield one
    one.until_nothing_runs()
    one.assert_put_back("net.ipv4.tcp_rmem", before)


def raw(bench: Bench, number: int, name: str) -> str:
    directory = sorted(bench.result.glob("trials/*"))[number - 1]
    return texts(directory / "raw")[name]


def test_hosts_are_read_before_and_after_the_window_and_never_beside_it(bench: Bench) -> None:
    tail_s = 4.0  # TCP's own figures are read while the load still runs, also where hosts answer late
    bench.run("run", placed(bench, window=READ_TWICE | {"tail": tail_s}))
    (trial,) = bench.trials()
    window = trial["window"]
    for host in ("h1", "h2"):
        seen = json.loads(raw(bench, 1, f"{host}/readback.json"))
        records = [json.loads(line) for line in raw(bench, 1, f"{host}/mpstat.jsonl").splitlines()]
        opening = next(one for one in records if one["received_s"] > window["start_s"])
        closing = next(one for one in records if one["received_s"] >= window["end_s"])
        assert seen["before"]["time_s"] < opening["received_s"] - opening["span_s"] - 0.05
        assert seen["time_s"] >= closing["received_s"], "not before the readings that close the window"
        assert seen["facts"]["nic.mtu"] == "1500"
        assert seen["differences"] == []
    for end_of in ("sender", "receiver"):
        assert 0.005 < trial[end_of]["load_window_cores"] < 1.0
        own = trial[end_of]["load_cpu_cores"]
        assert trial[end_of]["load_window_cores"] == pytest.approx(own, abs=0.1 + 0.3 * own)
    (instance,) = trial["instances"]
    assert instance["tcp"]["streams"] == 1
    assert instance["tcp"]["congestion"] == instance["congestion"]
    assert instance["tcp"]["busy_s"] > 0
    assert (instance["sender_threads"], instance["receiver_threads"]) == (1, 1)
    assert "rtt:" in raw(bench, 1, "h1/ss.txt")
    told = {"process-moved", "process-migrated", "configuration-changed"}
    assert not (told | {"window-edges-contaminated"}) & flags(trial).keys()


IMPORTS = """
import atexit, json, sys, time
seen = []
sys.addaudithook(lambda event, given: seen.append((time.time(), given[0])) if event == "import" else None)
atexit.register(lambda: open(PATH, "w").write(json.dumps(seen)))
from linewatt.cli.entry_point import main
main()
"""


@pytest.mark.full
def test_nothing_is_imported_while_a_load_runs(bench: Bench) -> None:
    """Where controller and host share CPUs, a library of a second of CPU time is 16 % of a first trial."""
    path = bench.tmp / "imports.json"
    script = IMPORTS.replace("PATH", repr(str(path)))
    words = ["run", str(placed(bench, window=READ_TWICE, trials=2)), "--results", str(bench.results)]
    subprocess.run(
        [sys.executable, "-c", script, *words], env=bench.environment, check=True, capture_output=True
    )
    seen = json.loads(path.read_text())
    names = {name for _, name in seen}
    assert pelt.EXTENSION in names, "it is used, and is loaded at another time"
    assert not names & {"ruptures", "scipy"}, "a plain campaign uses neither"
    load_s = sum(READ_TWICE.values())
    for trial in bench.trials():
        start_s = trial["started_s"]
        assert [name for at, name in seen if start_s < at < start_s + load_s] == []


def test_what_is_changed_within_and_between_rounds_is_told(bench: Bench) -> None:
    """In the first trial a process is moved and put back, and so is receive offload of h1, which leaves
    nothing to read; in the second one congestion control of h1 and receive offload of h2 are switched."""
    key = "net.ipv4.tcp_congestion_control"
    was = bench.on_host(1, "sysctl", "-n", key)
    other = "reno" if was != "reno" else "cubic"
    gro = [
        bench.on_host(number, "sh", "-c", "ethtool -k data0 | grep ^generic-receive").split()[1]
        for number in (1, 2)
    ]
    turned = ["off" if level == "on" else "on" for level in gro]
    running = bench.start("run", placed(bench, window=READ_TWICE | {"seconds": 5}, trials=2))
    try:
        await_event(running, "trial_started", 1)
        started = time.monotonic()
        server = _server_of(bench)
        for cpu, at_s in (("1", 0.5), ("0", 0.8)):  # of the window
            wait_until(started + READ_TWICE["omit"] + at_s)
            subprocess.run(["taskset", "-acp", cpu, server], check=True, capture_output=True)
        for level in (turned[0], gro[0]):
            bench.on_host(1, "ethtool", "-K", "data0", "gro", level)
        await_event(running, "trial_started", 2)
        bench.on_host(1, "sysctl", "-w", f"{key}={other}")
        wait_until(time.monotonic() + READ_TWICE["omit"] + 0.5)
        bench.on_host(2, "ethtool", "-K", "data0", "gro", turned[1])
        end(running, 0)
    finally:
        bench.on_host(1, "sysctl", "-w", f"{key}={was}")
        bench.on_host(2, "ethtool", "-K", "data0", "gro", gro[1])
    first, second = bench.trials()
    assert not {"process-moved", "configuration-changed"} & flags(first).keys()
    assert flags(first)["interface-changed"]["where"] == "h1"
    assert "FEATURE CHANGE" in flags(first)["interface-changed"]["evidence"]
    assert flags(first)["process-migrated"]["where"] == "h2: instance 0"
    found = [flag for flag in second["flags"] if flag["code"] == "configuration-changed"]
    assert [flag["where"] for flag in found] == ["h1", "h2"]
    assert f"{key} is {other}, was {was} until at least" in found[0]["evidence"]
    assert "generic-receive-offload" in found[1]["evidence"]


def wait_until(time_s: float) -> None:
    """Until a moment of the load, by the monotonic clock."""
    while time.monotonic() < time_s:
        time.sleep(0.02)


SHORT = {"seconds": 0.5, "omit": 0.1, "tail": 0.4}


def test_an_mtu_that_the_path_does_not_carry_fails_its_rounds_with_the_reason(bench: Bench) -> None:
    """The switch between the hosts carries 1500 bytes; both hosts take 9000."""
    factors = {"mtu": [1500, 9000]}
    done = bench.run("run", bench.campaign(factors=factors, trials=2, window=SHORT), status=1)
    by_mtu: dict[str, list[dict[str, Any]]] = {"1500": [], "9000": []}
    for trial in bench.trials():
        by_mtu[dict(trial["case"]["factors"])["mtu"]].append(trial)
    assert [trial["status"] for trial in by_mtu["1500"]] == ["done", "done"]
    assert len(by_mtu["9000"]) == 2
    for trial in by_mtu["9000"]:
        assert trial["status"] == "failed"
        assert "a packet of 9000 bytes, the MTU of data0, does not pass" in trial["reason"]
        assert trial["throughput_bps"] is None
        assert "the largest that passes has 150" in trial["reason"]
    assert "does not pass" in done.stderr
    assert "ring" not in done.stderr


def test_data_on_the_wrong_interface_is_one_line_before_anything_is_changed(bench: Bench) -> None:
    lines = bench.lab.inventory.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if "linewatt_data:" in line)
    lines[at] = lines[at].replace("data0", "mgmt0")
    inventory = bench.tmp / "wrong.yaml"
    inventory.write_text("\n".join(lines))
    done = bench.run("run", bench.campaign(hosts=str(inventory)), status=1)
    assert "mgmt0" in done.stderr.splitlines()[-1]
    assert not bench.results.exists() or not list(bench.results.iterdir())


def test_a_load_of_which_nothing_arrives_is_a_failed_trial(bench: Bench) -> None:
    """The path gets narrower after it was proven: connections are there, and no data."""
    switch = bench.lab.hosts[0].namespace.rpartition("-")[0] + "-sw"
    narrow = ["ip", "-n", switch, "link", "set", "p1", "mtu"]
    running = bench.start("run", bench.campaign(trials=2, window=READ_TWICE))
    try:
        await_event(running, "trial_started", 1)
        subprocess.run([*narrow, "600"], check=True)
        end(running, 1)
    finally:
        subprocess.run([*narrow, "1500"], check=True)
    second = bench.trials()[1]
    assert second["status"] == "failed"
    assert (
        second["reason"].startswith("nothing arrived at h2 in the window") or "ended with" in second["reason"]
    )
