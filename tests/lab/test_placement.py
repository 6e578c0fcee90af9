# SPDX-License-Identifier: Apache-2.0
"""Placement that is proven in the trial itself, on real processes and real receive packet steering."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import LONG, Bench, await_event, end, ours, until
from tests.packed import texts

from linewatt.engine.live.host_queries import LATE_START_S

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
]


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    """A lab of which every host may use both CPUs, as one that shares them does."""
    one = Bench(lab2, tmp_path)
    before = one.settings("net.ipv4.tcp_rmem")
    yield one
    one.until_nothing_runs()
    one.assert_put_back("net.ipv4.tcp_rmem", before)


def placed(bench: Bench, **keys: object) -> Path:
    """Load processes on CPU 0 and receive work on CPU 1, at both ends."""
    path = bench.campaign(**{"tests": ["tcp"], "rate": "500M", "trials": 1, "window": LONG, **keys})
    document = json.loads(path.read_text())
    inventory = bench.bad_inventory(cpus="0-1", app_cpus="0", irq_cpus="1")
    path.write_text(json.dumps({**document, "hosts": str(inventory)}))
    return path


def flags(trial: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {flag["code"]: flag for flag in trial["flags"]}


ANSWERED = {**LONG, "tail": 5}
"""in whose tail a busy machine has answered what runs where"""


def test_a_trial_reads_back_where_it_ran(bench: Bench) -> None:
    bench.run("run", placed(bench, window=ANSWERED))
    (trial,) = bench.trials()
    (instance,) = trial["instances"]
    assert (instance["sender_cpu"], instance["sender_ran_on"]) == ("0", "0")
    assert (instance["receiver_cpu"], instance["receiver_ran_on"]) == ("0", "0")
    for role in ("sender", "receiver"):
        assert trial[role]["settings"] == {"rps_cpus data0": "rx-0=2"}
        assert trial[role]["irq_cpu"]["cpus"] == [1]
    assert not {"process-moved", "placement-not-read", "setting-changed"} & flags(trial).keys()
    (directory,) = bench.result.glob("trials/*")
    raw = json.loads(texts(directory / "raw")["h2/readback.json"])
    assert raw["problem"] is None
    assert {tuple(thread["allowed"]) for thread in raw["threads"]} == {(0,)}
    window = trial["window"]
    assert raw["time_s"] >= window["end_s"] - 0.1, "the window is not disturbed by the question"
    own_end_s = trial["started_s"] + ANSWERED["omit"] + ANSWERED["seconds"]
    assert raw["time_s"] >= own_end_s + min(LATE_START_S, ANSWERED["tail"] / 4), (
        "nor that of a load that is late"
    )


def test_a_process_moved_by_hand_and_a_setting_undone_by_hand_are_flagged(bench: Bench) -> None:
    campaign = placed(bench, window={"seconds": 2, "omit": 0.5, "tail": 1.5})
    running = bench.start("run", campaign)
    await_event(running, "trial_started")
    server = _server_of(bench)
    subprocess.run(["taskset", "-acp", "1", server], check=True, capture_output=True)
    bench.on_host(2, "sh", "-c", "echo 1 >/sys/class/net/data0/queues/rx-0/rps_cpus")
    end(running, 0)
    bench.on_host(2, "sh", "-c", "echo 2 >/sys/class/net/data0/queues/rx-0/rps_cpus")
    (trial,) = bench.trials()
    moved = flags(trial)["process-moved"]
    assert moved["where"] == "h2: instance 0"
    assert "placed on CPU 0" in moved["evidence"]
    assert "may run on CPU 1 and last ran on CPU 1" in moved["evidence"]
    assert trial["instances"][0]["receiver_ran_on"] == "1"
    assert trial["instances"][0]["sender_ran_on"] == "0"
    changed = flags(trial)["setting-changed"]
    assert changed["where"] == "h2: rps_cpus data0"
    assert changed["evidence"] == "reads 'rx-0=1' in the trial, was set to 'rx-0=2'"


@pytest.mark.full
def test_a_process_moved_and_put_back_behind_a_short_omit_is_flagged(bench: Bench) -> None:
    """There is no time to read threads before the window: the count of their start is enough."""
    running = bench.start("run", placed(bench, window={"seconds": 3, "omit": 0.3, "tail": 3}))
    await_event(running, "trial_started")
    server = _server_of(bench)
    for cpu in ("1", "0"):
        subprocess.run(["taskset", "-acp", cpu, server], check=True, capture_output=True)
        until(partial(_ran_on, server, cpu), 30, f"the iperf3 server on CPU {cpu}")
    end(running, 0)
    (trial,) = bench.trials()
    (directory,) = bench.result.glob("trials/*")
    assert json.loads(texts(directory / "raw")["h2/readback.json"])["before"] is None
    migrated = flags(trial)["process-migrated"]
    assert migrated["where"] == "h2: instance 0"
    assert re.search(r"since its placement the kernel moved process \d+ 2 times", migrated["evidence"])
    assert "placement-not-verified" not in flags(trial)


def _ran_on(pid: str, cpu: str) -> bool:
    """Whether a thread of a process ran on a CPU when it last ran: one that sleeps is moved when it wakes."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return cpu in {stat.rpartition(")")[2].split()[36] for stat in stats}


def _server_of(bench: Bench) -> str:
    """The process of the iperf3 server on h2, as the machine numbers it."""
    found: list[str] = []

    def there() -> bool:
        pids = subprocess.run(
            ["ip", "netns", "pids", bench.lab.hosts[1].namespace], capture_output=True, text=True, check=True
        )
        for pid in pids.stdout.split():
            line = ours(pid)
            if line and Path(line.split()[0]).name == "iperf3":
                found.append(pid)
        return bool(found)

    until(there, 60, "the iperf3 server on h2")
    return found[0]


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) != 2, reason="three lab hosts share CPUs only if there are two"
)
def test_policies_choose_on_the_host_as_it_is_found(make_lab: Callable[..., Any], tmp_path: Path) -> None:
    """Three hosts on two CPUs share them, so that each has two to choose from."""
    bench = Bench(make_lab(hosts=3, bmc=False), tmp_path)
    factors = {"placement": ["auto", "none"]}
    bench.run("run", bench.campaign(rate="20M", trials=1, window=LONG, factors=factors, instances=[2]))
    rps = {}
    for trial in bench.trials():
        policy = dict(trial["case"]["factors"])["placement"]
        rps[policy] = trial["receiver"]["settings"].get("rps_cpus data0")
        assert not {"process-moved", "setting-changed"} & flags(trial).keys()
        if policy == "auto":
            ran_on = sorted(instance["receiver_ran_on"] for instance in trial["instances"])
            assert ran_on == ["0", "1"]
    assert rps == {"auto": "rx-0=3", "none": None}
    places = json.loads((bench.result / "manifest.json").read_text())["places"]
    assert any("processes and interrupts share CPUs" in line for line in places), places
