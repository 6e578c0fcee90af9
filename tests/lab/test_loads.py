# SPDX-License-Identifier: Apache-2.0
"""A result with a trial of each kind of load, held against what its raw files and counters say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests import packed
from tests.lab.test_campaign import LONG, Bench, assert_a_number, connections

from linewatt.store import read_courses

pytestmark = pytest.mark.lab

LOADS: Sequence[Mapping[str, object]] = (
    {"test": "tcp", "instances": [2], "rate": "200M"},
    {"test": "udp-1500", "instances": [2], "rate": "150M"},
    {"test": "tcp", "streams": [3], "rate": "100M"},
    {"test": "tcp", "zerocopy": True, "rate": "50M"},
    {"test": "udp-60", "rate": "2M"},
)


@pytest.fixture(scope="module")
def loads(lab2: Any, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A result that several tests read: a trial of each of :data:`LOADS`, idle windows, and watts of BMCs."""
    one = Bench(lab2, tmp_path_factory.mktemp("loads"))
    before = one.settings("net.ipv4.tcp_rmem")
    # a busy machine reads a counter less than once a second: a window of one may have no reading
    window = {**LONG, "seconds": 3}
    one.run("run", one.campaign(tests=LOADS, rate=None, trials=1, window=window, idle={"seconds": 1}))
    one.until_nothing_runs()
    one.assert_put_back("net.ipv4.tcp_rmem", before)
    return one


def test_a_trial_says_what_its_raw_files_say(loads: Bench) -> None:
    """Throughput, loss and CPU computed here from the raw iperf3 and mpstat output alone."""
    for directory in sorted(loads.result.glob("trials/*")):
        trial = json.loads((directory / "trial.json").read_text())
        start, stop = trial["window"]["start_s"], trial["window"]["end_s"]
        texts = packed.texts(directory / "raw")
        total = lost = packets = 0.0
        for one in trial["instances"]:
            server = json.loads(texts[f"h2/iperf3-server-{one['instance']}.json"])
            for interval in server["intervals"]:
                length = interval["sum"]["end"] - interval["sum"]["start"]
                begins = one["receiver_start_s"] + interval["sum"]["start"]
                inside = max(0.0, min(begins + length, stop) - max(begins, start))
                total += 8 * interval["sum"]["bytes"] * inside / length
                lost += interval["sum"].get("lost_packets", 0) * inside / length
                packets += interval["sum"].get("packets", 0) * inside / length
        assert trial["throughput_bps"] == pytest.approx(total / (stop - start), rel=1e-3)
        if trial["case"]["test"] != "tcp":
            assert trial["packets"] == pytest.approx(packets, abs=3)
            assert trial["lost_packets"] == pytest.approx(lost, abs=3)
        for role, host in (("sender", "h1"), ("receiver", "h2")):
            busy = _busy_cores(texts[f"{host}/mpstat.jsonl"], loads.own_cpus(host), start, stop)
            assert trial[role]["cpu_cores"] == pytest.approx(busy, abs=1e-6)


def _busy_cores(text: str, cpus: set[str], start: float, stop: float) -> float:
    """Σ (1 − idle − iowait − steal) over ``cpus``, each record weighted by what it shares with the window."""
    busy = weight = 0.0
    for line in text.splitlines():
        record = json.loads(line)
        begins = record["received_s"] - record["span_s"]
        inside = max(0.0, min(record["received_s"], stop) - max(begins, start))
        table = record["text"][record["text"].index('"cpu-load": ') + len('"cpu-load": ') :]
        rows = json.loads(table)
        unused = ("idle", "iowait", "steal")
        busy += inside * sum(
            1 - sum(row[name] for name in unused) / 100 for row in rows if row["cpu"] in cpus
        )
        weight += inside
    assert weight == pytest.approx(stop - start, rel=0.05)
    return busy / weight


def test_stored_rtt_is_what_iperf3_wrote_of_the_senders_streams(loads: Bench) -> None:
    for directory in sorted(loads.result.glob("trials/*")):
        trial = json.loads((directory / "trial.json").read_text())
        channels = {
            course.name: [value for _, value in course.points]
            for course in read_courses(directory / "samples.parquet", {})
        }
        for instance in trial["instances"]:
            rtts_s = channels.get(f"instance{instance['instance']}.sender.rtt_s")
            if trial["case"]["test"] != "tcp":
                assert rtts_s is None
                continue
            texts = packed.texts(directory / "raw")
            client = json.loads(texts[f"h1/iperf3-client-{instance['instance']}.json"])
            written_s = [
                sum(stream["rtt"] for stream in interval["streams"]) / len(interval["streams"]) / 1e6
                for interval in client["intervals"]
            ]
            assert rtts_s
            assert rtts_s[:2] == pytest.approx(written_s[:2]), (
                "a short last interval is part of the one before"
            )


def test_a_result_made_again_from_its_raw_files_is_the_same_to_the_byte(loads: Bench) -> None:
    document = json.loads(loads.run("rederive", "last", "--write", "--json").stdout)
    assert [(one["same"], one["problem"], one["changes"]) for one in document["trials"]] == [
        (True, None, [])
    ] * len(LOADS)
    assert document["idle"]
    assert [one for one in document["idle"] if not one["same"]] == []
    assert document["written"] is None


def test_counters_show_the_bytes_that_the_load_moved(loads: Bench) -> None:
    (trial,) = (trial for trial in loads.trials() if trial["case"]["rate_bps"] == 200e6)
    payload = trial["throughput_bps"] * (trial["window"]["end_s"] - trial["window"]["start_s"]) / 8
    assert trial["receiver"]["counters"]["nic.rx_bytes"] == pytest.approx(payload * 1538 / 1448, rel=0.25)
    assert trial["sender"]["counters"]["nic.tx_bytes"] == pytest.approx(payload * 1538 / 1448, rel=0.25)


def test_every_kind_of_load_gives_a_number(loads: Bench) -> None:
    trials = {trial["case"]["rate_bps"]: trial for trial in loads.trials()}
    asked = {200e6: 2, 150e6: 2, 100e6: 1, 50e6: 1, 2e6: 1}
    assert trials.keys() == asked.keys()
    for rate_bps, instances in asked.items():
        assert_a_number(loads, trials[rate_bps], rate_bps * instances)
        assert len(trials[rate_bps]["instances"]) == instances
    assert len(connections(loads, trials[100e6])) == 3
    assert [rate_bps for rate_bps, trial in trials.items() if trial["case"]["zerocopy"]] == [50e6]
