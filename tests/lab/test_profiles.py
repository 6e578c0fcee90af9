# SPDX-License-Identifier: Apache-2.0
"""Profiles on real hosts: real perf, by the kernel's clock; a function that was made slow is found."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench
from tests.lab.test_placement import placed

pytestmark = [
    pytest.mark.lab,
    pytest.mark.measures,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
    pytest.mark.skipif(shutil.which("perf") is None, reason="needs perf"),
]

TEMPORARY = ("/dev/shm", "/run", "/var/tmp", "/tmp")
RATE = "1500M"
"""so much that a CPU that only takes interrupts is busy for a tenth of the window and more"""
FILTERS = 1500
"""that every packet is compared with: much of a receiver's CPU"""


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(lab2, tmp_path)
    yield one
    one.until_nothing_runs()


def left() -> set[str]:
    return {str(path) for folder in TEMPORARY for path in Path(folder).glob("linewatt-profile*")}


def profiled(bench: Bench, name: str, *, more: object = None) -> dict[str, Any]:
    keys = {"tests": ["udp-1500"], "rate": RATE, "trials": 1, "profile": True, "name": name}
    window = {"seconds": 14, "omit": 0.5, "tail": 1.5}
    bench.run("run", placed(bench, **keys, window=window))
    done = bench.run("show", name_of(bench, name), "--profile", "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def name_of(bench: Bench, name: str) -> str:
    (found,) = (one.name for one in bench.results.iterdir() if one.name.endswith(f"-{name}"))
    return found


def places_of(document: dict[str, Any], host: str) -> dict[str, dict[str, Any]]:
    (profile,) = document["profiles"]
    (found,) = (one for one in profile["hosts"] if one["host"] == host)
    assert found["reason"] is None
    return {one["place"]: one for one in found["places"]}


def test_a_profile_tells_copying_from_receiving_and_names_what_was_made_slow(bench: Bench) -> None:
    before = left()
    document = profiled(bench, "usual")
    assert document["trials_done"] == 1, "the profile is no trial"
    assert document["profiles_count"] == 1
    (profile,) = document["profiles"]
    assert profile["measured"] is False
    assert profile["throughput_bps"] > 0
    receiver = places_of(document, "h2")
    assert {one["work"] for one in receiver["app"]["work"]} >= {"copy", "system calls"}
    assert "call graph" in bench.run("show", name_of(bench, "usual"), "--profile").stdout
    folded = bench.tmp / "stacks"
    bench.run("report", name_of(bench, "usual"), "--format", "folded", "-o", folded)
    lines = folded.read_text().splitlines()
    of_app = [one for one in lines if "receiver h2, app CPU" in one and "iperf3" in one]
    of_irq = [one for one in lines if "receiver h2, IRQ CPU" in one]
    assert any("udp_recvmsg_[k]" in one for one in of_app)
    assert any("udp_queue_rcv_skb" in one or "__udp4_lib_rcv" in one for one in of_irq)
    assert not left() - before, "nothing is left on a host"
    usual = bench.results / name_of(bench, "usual")
    shutil.rmtree(usual / "profiles")
    again = bench.run("resume", usual.name)
    assert "0 of 1 trials to run" in again.stderr
    assert len(list(usual.glob("profiles/*/profile.json"))) == 1, "what a result lacks is made"

    with_filters(bench, FILTERS)
    try:
        slow = profiled(bench, "slow")
    finally:
        bench.on_host(2, "tc", "qdisc", "del", "dev", "data0", "clsact")
    assert places_of(slow, "h2")["irq"]["busy_samples"] > 200
    done = bench.run("compare", name_of(bench, "usual"), name_of(bench, "slow"), "--profile", "--json")
    compared = json.loads(done.stdout)["compared"]
    (irq,) = (one for one in compared if one["role"] == "receiver" and one["place"] == "irq")
    assert irq["reason"] is None
    hottest = sorted(irq["functions"], key=lambda one: -one["b_ratio"])[:5]
    assert irq["most_gained"] in ("u32_classify", "__tcf_classify"), (
        slow["profiles"][0]["throughput_bps"],
        hottest,
    )
    assert irq["functions"][0]["name"] == irq["most_gained"]


def with_filters(bench: Bench, count: int) -> None:
    """Filters on what h2 receives that no packet matches: each costs a comparison."""
    bench.on_host(2, "tc", "qdisc", "add", "dev", "data0", "clsact")
    lines = [
        f"filter add dev data0 ingress pref {number} protocol ip u32 match ip dst 203.0.113.1 classid :1"
        for number in range(1, count + 1)
    ]
    batch = bench.tmp / "filters"
    batch.write_text("\n".join(lines) + "\n")
    bench.on_host(2, "tc", "-batch", str(batch))
    assert bench.on_host(2, "tc", "filter", "show", "dev", "data0", "ingress").count("match") == count
