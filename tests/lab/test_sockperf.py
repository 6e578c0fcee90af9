# SPDX-License-Identifier: Apache-2.0
"""Campaigns with sockperf: latency of messages there and back, CPU and watts beside, nothing left behind."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, await_event

from linewatt.features.lab.system import search_path
from linewatt.loads.base import LoadJob
from linewatt.loads.registry import LOADS

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("sockperf", path=search_path()) is None, reason="no sockperf here"),
]
PERCENTILES = ("p50", "p99", "p99_9", "max")
WINDOW = {"seconds": 2, "omit": 1, "tail": 1}


@pytest.fixture(scope="module")
def measured(lab2: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One campaign for all that is only looked at."""
    bench = Bench(lab2, tmp_path_factory.mktemp("sockperf"))
    tests = ["tcp-rr", {"test": "udp-1500", "rate": "20M"}]
    # the lab's BMC averages over a second, so that a window of two right behind the start has no watts
    window = {"seconds": 4, "omit": 2, "tail": 1}
    bench.run("run", campaign(bench, tests=tests, trials=1, idle={"seconds": 1}, window=window))
    yield bench
    bench.until_nothing_runs()


def campaign(bench: Bench, **keys: object) -> Path:
    return bench.campaign(**{"load": "sockperf", "rate": None, "window": WINDOW, "tests": ["udp-rr"], **keys})


SLEEP_S = 2.1
"""before sockperf's test"""


def test_every_trial_is_done_with_cpu_and_watts_beside(measured: Bench) -> None:
    trials = measured.trials()
    assert [trial["status"] for trial in trials] == ["done"] * 2, [trial["reason"] for trial in trials]
    ends_with_watts = 0
    for trial in trials:
        assert trial["case"]["load"] == "sockperf"
        assert trial["throughput_bps"] > 0
        for role in ("sender", "receiver"):
            assert trial[role]["cpu_cores"] > 0
            watts = trial[role]["power"]
            known = [one for one in watts if one["power_w"] and one["provenance"] == "simulated"]
            reasons = [one["reason"] for one in watts]
            ends_with_watts += bool(known)
            assert known or all(why.startswith("no reading for ") for why in reasons), reasons
    assert ends_with_watts >= 2 * len(trials) - 1, "a slow machine may read a meter late once"


def test_latency_is_in_the_trial_where_messages_go_there_and_back_and_nowhere_else(measured: Bench) -> None:
    for trial in measured.trials():
        if trial["case"]["test"].endswith("-rr"):
            found = trial["latency_s"]
            assert 1e-6 < found["p50"] <= found["p99"] <= found["p99.9"] <= found["max"] < 10
            assert trial["instances"][0]["latency_s"] == found
        else:
            assert "latency_s" not in trial


def test_percentiles_are_in_json_csv_table_and_report(measured: Bench, tmp_path: Path) -> None:
    document = json.loads(measured.run("show", "--json").stdout)
    cases = {case["test"]: case for case in document["cases"]}
    for test, case in cases.items():
        for name in PERCENTILES:
            assert (f"latency_{name}_s_mean" in case) == test.endswith("-rr")
    # One message is under way at a time: there are 1 ÷ (2 × mean latency) of them a second, of 64 bytes.
    case = cases["tcp-rr"]
    messages_hz = case["throughput_bps_mean"] / (8 * 64)
    assert 1 / (2 * case["latency_max_s_mean"]) < messages_hz < 1 / (2 * 0.5 * case["latency_p50_s_mean"])
    rows = {row["test"]: row for row in csv.DictReader(io.StringIO(measured.run("show", "--csv").stdout))}
    assert float(rows["tcp-rr"]["latency_p99_s_mean"]) == case["latency_p99_s_mean"]
    assert rows["udp-1500"]["latency_p99_s_mean"] == ""
    trials = csv.DictReader(io.StringIO(measured.run("show", "--csv", "--trials").stdout))
    assert all((row["latency_p50_s"] != "") == row["test"].endswith("-rr") for row in trials)
    table = measured.run("show", "--full").stdout
    assert "TCP request/response" in table
    assert "Latency" in table
    assert "µs" in table
    page = tmp_path / "page.html"
    measured.run("report", "--output", page)
    assert "Latency p99.9" in page.read_text()


def test_a_load_that_counts_once_says_so(measured: Bench) -> None:
    for trial in measured.trials():
        told = [flag["evidence"] for flag in trial["flags"] if flag["code"] == "counted-once"]
        assert len(told) == 1
        assert "the window is 4.0 s of that" in told[0]


def test_its_start_is_known_well_though_it_sleeps_before_its_test(measured: Bench) -> None:
    """Where the machine is slow, the start is less certain; it is never off by the sleep, which would leave
    half of it either way."""
    uncertain = []
    for trial in measured.trials():
        uncertain += [flag["evidence"] for flag in trial["flags"] if flag["code"] == "start-uncertain"]
        assert trial["window"]["start_s"] > trial["started_s"] + SLEEP_S + WINDOW["omit"] - 0.1
    uncertain_s = [float(evidence.partition("±")[2].split()[0]) for evidence in uncertain]
    assert all(seconds < SLEEP_S / 2 for seconds in uncertain_s), uncertain


@pytest.mark.measures
def test_with_nothing_beside_its_start_is_known_to_a_quarter_of_its_sleep(measured: Bench) -> None:
    flags = [flag for trial in measured.trials() for flag in trial["flags"]]
    uncertain = [flag["evidence"] for flag in flags if flag["code"] == "start-uncertain"]
    assert all(float(said.partition("±")[2].split()[0]) < SLEEP_S / 4 for said in uncertain), uncertain
    assert len(uncertain) <= 1, uncertain


def test_the_same_is_made_again_from_raw_files(measured: Bench) -> None:
    document = json.loads(measured.run("rederive", "--json").stdout)
    differing = [one for one in document["trials"] if not one["same"]]
    assert [one["same"] for one in document["trials"]] == [True] * 2, differing


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(lab2, tmp_path)
    yield one
    one.until_nothing_runs()


def sockperfs() -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if Path(words[0].decode(errors="replace")).name == "sockperf":
            lines.append(str(path))
    return lines


@pytest.mark.full
def test_other_tests_are_measured_as_well(bench: Bench) -> None:
    bench.run("run", campaign(bench, tests=["udp-rr", "tcp"], trials=1))
    trials = {trial["case"]["test"]: trial for trial in bench.trials()}
    assert {trial["status"] for trial in trials.values()} == {"done"}
    assert all(trial["throughput_bps"] > 0 for trial in trials.values())
    assert {test: "latency_s" in trial for test, trial in trials.items()} == {"udp-rr": True, "tcp": False}


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.full), signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process_behind(bench: Bench, how: signal.Signals) -> None:
    before = set(sockperfs())
    process = bench.start("run", campaign(bench, trials=5))
    await_event(process, "trial_started", 1)
    process.send_signal(how)
    process.communicate(timeout=HANG_LIMIT_S)
    bench.until_nothing_runs()
    assert set(sockperfs()) <= before


def test_without_a_sockperf_that_runs_a_host_is_named_before_anything_is_measured(
    bench: Bench, tmp_path: Path
) -> None:
    """What stands where it stood cannot be run."""
    empty = tmp_path / "empty"
    empty.write_text("")
    path = str(Path(shutil.which("sockperf", path=search_path()) or "").resolve())
    with ExitStack() as broken:
        bench.mount(1, empty, path, broken)
        done = bench.run("run", campaign(bench), status=1)
        assert "h1: sockperf is there and cannot be run: Permission denied" in done.stderr
        assert "reinstall sockperf there" in done.stderr
        assert "Traceback" not in done.stderr
        assert not bench.results.exists()


def test_check_tries_its_ports(bench: Bench) -> None:
    document = json.loads(bench.run("check", campaign(bench, tests=["udp-rr", "tcp"]), "--json").stdout)
    ports = [one for one in document["checks"] if one["name"] == "ports"]
    assert ports
    assert {one["status"] for one in ports} == {"ok"}
    assert any("sockperf 3." in one["found"] for one in document["checks"] if one["name"] == "tools")


def test_a_port_is_free_though_the_servers_end_closed_its_last_connection() -> None:
    """The kernel keeps such a connection for a minute (TIME_WAIT)."""
    with socket.socket() as before:
        before.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        before.bind(("127.0.0.1", 0))
        before.listen()
        port = before.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            before.accept()[0].close()
            assert client.recv(1) == b""
    job = LoadJob("tcp-rr", "127.0.0.1", port, 1.0)
    command = LOADS["sockperf"].server_command(job, (3, 7))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "")
        said = next((line for line in lines if "listen on" in line or "bind" in line), "")
        server.terminate()
    assert "listen on" in said
