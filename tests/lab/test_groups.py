# SPDX-License-Identifier: Apache-2.0
"""Three generators and one host under test at once: sums against NICs, a slow one, both ways, resume."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import patient
from tests.lab.test_campaign import Bench, await_event
from tests.packed import texts

from linewatt.features.lab import api as lab
from linewatt.findings.limits import REACHED_RATE_RATIO

pytestmark = pytest.mark.lab

LINE_BPS = 400e6
WINDOW = {"seconds": 6, "omit": 1.2, "tail": 1.8}
COUNTED_OFTEN = {"netcounters": {"interval_s": 0.5}}
"""in a window of half the length: an edge falls between two readings, and costs the same part of the count"""
DUT = 4


@pytest.fixture(scope="module")
def group_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    name = f"t{os.getpid()}-group"
    yield patient(lab.up(lab.LabRequest(name=name, hosts=4, rate="400mbit")))
    lab.down(name)


@pytest.fixture
def bench(group_lab: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(group_lab, tmp_path)
    before = rps(one)
    yield one
    one.until_nothing_runs()
    assert rps(one) == before


def rps(bench: Bench) -> list[str]:
    return [bench.on_host(at, "cat", "/sys/class/net/data0/queues/rx-0/rps_cpus") for at in (1, 2, 3, DUT)]


def counted(end: dict[str, Any], way: str) -> float:
    """Mbit that an interface counted in the window."""
    return float(end["counters"][f"nic.{way}_bytes"]) * 8e-6


def payload(bps: float, window: dict[str, float] = WINDOW) -> float:
    return bps * window["seconds"] / 1e6


def of_whole_runs(bench: Bench, number: int) -> float:
    """What all clients of a trial sent from their start to their end, bit/s, as iperf3 says it."""
    raw = texts(bench.result / f"trials/{number:05d}/raw")
    clients = [
        json.loads(text)
        for name, text in raw.items()
        if re.fullmatch(r"iperf3-client-\d+\.json", Path(name).name)
    ]
    assert len(clients) == 3
    return sum(float(client["end"]["sum_sent"]["bits_per_second"]) for client in clients)


@pytest.mark.parametrize("test", [pytest.param("tcp", marks=pytest.mark.full), "udp-1500"])
def test_sums_are_those_of_the_nics_at_every_host(bench: Bench, test: str) -> None:
    bench.run(
        "run", bench.campaign(pairs=["h1 + h2 + h3 -> h4"], tests=[test], rate="40M", window=WINDOW, trials=1)
    )
    notes = json.loads(bench.run("show", "--json").stdout)["flags"]
    missed = [one["test"] for note in notes if note["code"] == "rate-not-reached" for one in note["cases"]]
    for trial in bench.trials():
        # a datagram is a frame of its own, segments of TCP are counted merged, with fewer headers; what is
        # between counters and the load's own intervals is when they are read, once a second
        framed, off = (1514 / 1472, 0.03) if trial["case"]["test"] == "udp-1500" else (1.03, 0.06)
        assert trial["status"] == "done"
        received = [one["throughput_bps"] for one in trial["instances"]]
        assert trial["throughput_bps"] == pytest.approx(sum(received), rel=1e-9)
        # what a process had no CPU for before the window, it sends in it: the bound is of the whole run
        assert trial["throughput_bps"] < 1.1 * 120e6
        assert of_whole_runs(bench, trial["number"]) < 1.01 * 120e6
        assert (min(received) < REACHED_RATE_RATIO * 40e6) == (trial["case"]["test"] in missed), (
            "a machine that is busy with others may not carry what is asked of a pair; then it is said"
        )
        # datagrams that a busy machine drops in the receiver's socket have passed every NIC before
        passed = [max(one["throughput_bps"], one["offered_bps"]) for one in trial["instances"]]
        rates = passed if trial["case"]["test"] == "udp-1500" else received
        assert counted(trial["receiver"], "rx") / payload(sum(rates)) == pytest.approx(framed, abs=off)
        assert trial["sender"] is None
        ends = [flow["end"] for flow in trial["flows"]]
        assert [end["host"] for end in ends] == ["h1", "h2", "h3"]
        sent = [counted(end, "tx") for end in ends]
        assert sum(sent) == pytest.approx(counted(trial["receiver"], "rx"), rel=0.03), (
            "what left is what came"
        )
        for end, rate in zip(ends, rates, strict=True):
            assert counted(end, "tx") / payload(rate) == pytest.approx(framed, abs=off)
            assert end["cpu_cores"] is not None
            assert end["power"]
        assert len({one["port"] for one in trial["instances"]}) == 3
        assert "neighbour-traffic" not in {flag["code"] for flag in trial["flags"]}
    again = json.loads(bench.run("rederive", "last", "--json").stdout)
    assert [one["same"] for one in again["trials"]] == [True]
    shown = bench.run("show").stdout
    assert "h1 + h2 + h3 → h4" in shown
    assert "sender h2" in shown


@pytest.mark.measures
def test_a_generator_that_is_slow_on_purpose_is_named(bench: Bench) -> None:
    """A shaper of a tenth of the others' lines on h2."""
    slow = ("tc", "qdisc", "replace", "dev", "data0", "root", "tbf", "rate", "20mbit")
    before = bench.on_host(2, "tc", "qdisc", "show", "dev", "data0")
    bench.on_host(2, *slow, "burst", "64kb", "latency", "50ms")
    try:
        bench.run("run", bench.campaign(pairs=["h1 + h2 + h3 -> h4"], rate=None, window=WINDOW, trials=2))
    finally:
        words = before.split()
        rate, burst = (words[words.index(name) + 1] for name in ("rate", "burst"))
        back = ("tc", "qdisc", "replace", "dev", "data0", "root", "tbf", "rate", rate.lower(), "burst", burst)
        bench.on_host(2, *back, "latency", "50ms")
    document = json.loads(bench.run("show", "--json").stdout)
    rows = {row["sender"]: row for row in document["cases"]}
    assert rows["h2"]["limited_by_kinds"] == "shaper"
    assert rows["h2"]["throughput_bps_mean"] < 20e6
    notes = {note["code"]: note for note in document["flags"]}
    (seen,) = notes["slower-pair"]["evidence"]
    assert seen["where"] == "h2 → h4"
    assert {"h1", "h3"}.isdisjoint(seen["where"].split())
    whole = rows["h1 + h2 + h3"]
    assert whole["throughput_bps_mean"] == pytest.approx(
        sum(rows[name]["throughput_bps_mean"] for name in ("h1", "h2", "h3")), rel=1e-9
    )
    assert whole["line_rate_ratio_mean"] > 0.9, "the line of h4 is what the others share"


@pytest.mark.parametrize("test", ["tcp", pytest.param("udp-1500", marks=pytest.mark.full)])
def test_one_to_many_both_ways_and_rings_have_each_way_and_the_sum(bench: Bench, test: str) -> None:
    pairs = ["h4 -> h1 + h2", "h1 <-> h4", "h1 -> h2 -> h3 -> h1"]
    keys = {"window": WINDOW, "sensors": COUNTED_OFTEN}
    bench.run("run", bench.campaign(pairs=pairs, tests=[test], rate="20M", trials=1, **keys))
    found = {one["case"]["shape"]: one for one in bench.trials()}
    assert len(found) == 3
    for shape, trial in found.items():
        assert trial["status"] == "done", trial["reason"]
        assert trial["throughput_bps"] == pytest.approx(20e6 * len(trial["flows"]), rel=0.05)
        if shape == "ring":
            assert (trial["sender"], trial["receiver"]) == (None, None)
            ends = [flow["end"] for flow in trial["flows"]]
            assert [end["host"] for end in ends] == ["h1", "h2", "h3"]
            for end in ends:
                assert end["power"]
                assert end["cpu_cores"] is not None
                for way in ("tx", "rx"):
                    assert counted(end, way) / payload(20e6, WINDOW) == pytest.approx(1.03, abs=0.12)
        elif shape == "one-to-many":
            assert trial["sender"]["host"] == "h4"
            assert [flow["end"]["host"] for flow in trial["flows"]] == ["h1", "h2"]
        else:
            assert (trial["sender"]["host"], trial["receiver"]["host"]) == ("h1", "h4")
            assert [flow["end"] for flow in trial["flows"]] == [None, None]
            for end in (trial["sender"], trial["receiver"]):
                for way in ("tx", "rx"):
                    assert counted(end, way) / payload(20e6, WINDOW) == pytest.approx(1.03, abs=0.12)
        assert "neighbour-traffic" not in {flag["code"] for flag in trial["flags"]}
    rows = json.loads(bench.run("show", "--json").stdout)["cases"]
    ways = [(row["sender"], row["receiver"]) for row in rows if row["shape"] == "both-ways"]
    assert sorted(set(ways)) == [("h1", "h4"), ("h4", "h1")]
    of_ring = {row["sender"]: row for row in rows if row["shape"] == "ring"}
    assert [*of_ring] == ["h1 + h2 + h3", "h1", "h2", "h3"]
    for name, before in (("h1", "h3"), ("h2", "h1"), ("h3", "h2")):
        row = of_ring[name]
        both_bps = row["offered_bps_mean"] + of_ring[before]["throughput_bps_mean"]
        assert row["efficiency_sender_bps_per_core_mean"] == pytest.approx(
            both_bps / row["sender_cpu_cores_mean"], rel=1e-6
        )
        assert row["receiver_cpu_cores_mean"] is None
    again = json.loads(bench.run("rederive", "last", "--json").stdout)
    assert [one for one in again["trials"] if not one["same"]] == []
    assert "h1 → h2 → h3 → h1" in bench.run("show").stdout
    bench.run("report", "last", "-o", bench.tmp / "r.html")


@pytest.mark.full
def test_kill_restore_and_resume_go_on_with_whole_groups(bench: Bench) -> None:
    before = rps(bench)
    process = bench.start("run", bench.campaign(pairs=["h1 + h2 + h3 -> h4"], rate="20M", trials=3))
    await_event(process, "trial_started", 2)
    process.kill()
    bench.until_nothing_runs()
    process.communicate()
    bench.restore()
    assert rps(bench) == before
    bench.run("resume", "last")
    done = bench.trials()
    assert [trial["number"] for trial in done if trial["status"] == "done"] == [1, 2, 3]
    assert all(len(trial["flows"]) == 3 for trial in done)


def test_check_looks_at_each_pair_of_a_group(bench: Bench) -> None:
    done = bench.run("check", bench.campaign(pairs=["h1 + h2 -> h4"], rate="20M"), "--json", status=0)
    rows = [row for row in json.loads(done.stdout)["checks"] if row["name"] == "route"]
    found = {(row["host"], row["found"]) for row in rows}
    assert any(host == "h1" and "h4" in said for host, said in found)
    assert any(host == "h4" and "h2" in said for host, said in found)
    assert not any(host == "h1" and "h2" in said for host, said in found)
