# SPDX-License-Identifier: Apache-2.0
"""sockperf: what is asked of it, and what is read from it. Cases are folders of tests/captures/sockperf."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign.planning.cases import expand
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign as load_campaign
from linewatt.engine.measuring.window import Counted, common_window, count_in_window, place_load
from linewatt.errors import InvalidInput, ParseError
from linewatt.loads.base import Exchange, LoadJob
from linewatt.loads.sockperf import LOAD

CAPTURES = Path(__file__).parents[2] / "captures" / "sockperf"
ENDS = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(CAPTURES.glob("*/*.txt"))]
JOB = LoadJob("udp-rr", "198.18.0.2", 5201, duration_s=4.5, client_address="198.18.0.1")
VERSION = (3, 7)
CAMPAIGN = """\
name: c
load: sockperf
hosts:
  gen: {address: 192.0.2.11, data: enp1s0}
  dut: {address: 192.0.2.10, data: enp1s0}
tests: [udp-rr, tcp]
"""


def parsed(case: str, end: str) -> Any:
    folder = CAPTURES / case
    own, other = (folder / f"{name}.txt" for name in (end, "server" if end == "client" else "client"))
    expected = json.loads((folder / "expected.json").read_text())
    return LOAD.parse(own.read_text(), expected["argv"], other.read_text() if other.exists() else "")


def test_latency_is_in_seconds_and_as_sockperf_prints_it() -> None:
    """p99 of the capture: ``percentile 99.000 = …`` in µs, of half a round trip."""
    text = (CAPTURES / "3.7-udp-rr" / "client.txt").read_text()
    printed = re.search(r"percentile 99\.000 = +([\d.]+)", text)
    assert printed is not None
    latency_s = parsed("3.7-udp-rr", "client").latency_s
    assert latency_s["p99"] == pytest.approx(float(printed[1]) * 1e-6)
    assert list(latency_s) == ["p50", "p99", "p99.9", "max"]
    assert latency_s["p50"] < latency_s["p99"] < latency_s["p99.9"] < latency_s["max"]


def test_lost_is_what_was_sent_and_not_received() -> None:
    (sent,), (arrived,) = (parsed("3.7-udp-1500-lost", end).intervals for end in ("client", "server"))
    assert arrived.packets == sent.packets
    assert arrived.lost_packets == 756_047 - 318_077
    assert arrived.transferred_bytes == 318_077 * 1472


def test_duplicated_and_disordered_answers_are_counted_of_datagrams() -> None:
    text = (CAPTURES / "3.7-udp-rr" / "client.txt").read_text()
    told = text.replace("duplicated messages = 0", "duplicated messages = 3")
    told = told.replace("out-of-order messages = 0", "out-of-order messages = 5")
    server = (CAPTURES / "3.7-udp-rr" / "server.txt").read_text()
    end = LOAD.parse(server, ["--msg-size", "64", "--time", "2"], told)
    assert (end.duplicate_packets, end.out_of_order_packets) == (3, 5)
    tcp = LOAD.parse(server, ["--tcp", "--msg-size", "64", "--time", "2"], told)
    assert (tcp.duplicate_packets, tcp.out_of_order_packets) == (None, None)


def test_a_clock_that_is_taken_for_another_rate_makes_no_figure() -> None:
    """Its seconds are those of the CPU's clock, its timer is the kernel's: they must agree."""
    text = (CAPTURES / "3.7-udp-rr" / "client.txt").read_text()
    with pytest.raises(ParseError, match="clock"):
        LOAD.parse(text, ["--msg-size", "64", "--time", "3"])


def test_counts_of_the_whole_run_are_taken_into_the_window_in_proportion() -> None:
    client, server = (parsed("3.7-udp-60-paced", end) for end in ("client", "server"))
    runs = [place_load(one, 100.0, 102.0) for one in (client, server)]
    window = common_window(runs, 0.5, 1.0)
    sent: Counted = count_in_window(runs[0], window)
    assert sent.rate_bps == pytest.approx(8 * 10_003 * 18 / 2.0)
    assert sent.packets == round(10_003 / 2)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (JOB, ["ping-pong", "--msg-size 64", "--time 5", "--client_ip 198.18.0.1", "--port 5201"]),
        (replace(JOB, test="tcp-rr", options=(("size", "1024"),)), ["ping-pong", "--tcp", "--msg-size 1024"]),
        (replace(JOB, test="tcp"), ["throughput", "--tcp", "--msg-size 16384"]),
        (replace(JOB, test="udp-1500", payload_bytes=1422), ["throughput", "--msg-size 1422"]),
        (replace(JOB, test="udp-512"), ["throughput", "--msg-size 470"]),
        (replace(JOB, test="udp-60", rate_bps=1.44e6), ["throughput", "--msg-size 18", "--mps 10000"]),
    ],
)
def test_what_a_job_becomes(job: LoadJob, words: list[str]) -> None:
    command = " ".join(LOAD.client_command(job, VERSION))
    assert command.startswith("sockperf ")
    assert all(word in command for word in words)
    assert ("--tcp" in command) == ("--tcp" in LOAD.server_command(job, VERSION))
    assert ("--mps" in command) == (job.rate_bps is not None)
    assert "--no-rdtsc" not in command


def test_a_rate_of_less_than_a_message_a_second_is_refused() -> None:
    with pytest.raises(InvalidInput, match="less than a message"):
        LOAD.client_command(replace(JOB, rate_bps=100.0), VERSION)


def test_an_older_one_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"3\.5 is too old; 3\.6 or later"):
        LOAD.client_command(JOB, (3, 5))
    assert LOAD.parse_version("sockperf, version 3.7-no.git \n   compiled") == (3, 7)
    with pytest.raises(ParseError, match="no version"):
        LOAD.parse_version("bash: sockperf: not found")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("load: netperf\n", "2:7: load: must be 'iperf3' or 'sockperf', got 'netperf'"),
        ("load: iperf3\n", "6:9: tests[0]: iperf3 has no test udp-rr; it has tcp, udp-<bytes>"),
        ("load: sockperf\ndirections: [forward, reverse]\n", "directions: sockperf has no reverse"),
        ("load: sockperf\nfamilies: [ipv6]\n", "families: sockperf 3.7 has no IPv6"),
        ("load: sockperf\nstreams: [1, 4]\n", "streams: sockperf has one connection a process, not 4"),
        ("load: sockperf\nzerocopy: true\n", "zerocopy: sockperf cannot send without copying"),
        ("load: sockperf\nfactors: {zerocopy: [off, on]}\n", "factors.zerocopy: sockperf cannot send"),
        ("load: sockperf\nwindow: {omit: 0.5}\n", "window.omit: sockperf warms up for 0.4 s"),
        (
            "load: sockperf\nfactors: {iperf3.window: [512K, 4M]}\n",
            "is an option of iperf3, the load is sockperf",
        ),
        ("load: sockperf\nfactors: {sockperf.size: [64, 9]}\n", "sockperf.size must be"),
        ("load: sockperf\nsoak: 1h\n", "soak: sockperf counts once a test"),
    ],
)
def test_what_it_cannot_do_is_one_line_before_a_host_is_touched(tmp_path: Path, keys: str, said: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(CAMPAIGN.replace("load: sockperf\n", keys))
    with pytest.raises(InvalidInput) as caught:
        load_campaign(file)
    assert said in str(caught.value)
    assert re.match(rf"{re.escape(str(file))}:\d+:\d+: ", str(caught.value))


def test_a_load_is_part_of_a_case_unless_it_is_the_usual_one(tmp_path: Path) -> None:
    """The same test by two programs is not the same case; what iperf3 did keeps its key."""
    file = tmp_path / "c.yaml"
    keys = {}
    for name in ("sockperf", "iperf3"):
        file.write_text(CAMPAIGN.replace("load: sockperf", f"load: {name}").replace("[udp-rr, tcp]", "[tcp]"))
        (case,) = expand(load_campaign(file))[0]
        keys[name] = case.key
        assert ("load" in case.parameters) == (name == "sockperf")
    assert keys["sockperf"] != keys["iperf3"]
    file.write_text(CAMPAIGN.replace("load: sockperf\n", "").replace("[udp-rr, tcp]", "[tcp]"))
    assert expand(load_campaign(file))[0][0].key == keys["iperf3"]


def test_a_plan_counts_what_it_sleeps_before_its_test(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    durations_s = []
    for name in ("sockperf", "iperf3"):
        file.write_text(CAMPAIGN.replace("load: sockperf", f"load: {name}").replace("[udp-rr, tcp]", "[tcp]"))
        durations_s.append(plan_campaign(load_campaign(file), 0).duration_s)
    assert durations_s[0] - durations_s[1] == pytest.approx(10 * 2.2)


def test_a_port_is_tried_with_messages_there_and_back() -> None:
    exchange = Exchange("UDP", "ipv4", "198.18.0.1", "198.18.0.2", 5201, 2.5)
    assert "--tcp" not in LOAD.try_client(exchange)
    assert "--tcp" in LOAD.try_server(replace(exchange, protocol="TCP"))
    assert LOAD.tried(["udp-rr", "tcp"]) == ("TCP", "UDP")
    assert LOAD.tried(["udp-rr"]) == ("UDP",)
    good = (CAPTURES / "3.7-udp-rr" / "client.txt").read_text()
    assert LOAD.try_problem(good, "", 0) is None
    silent = (CAPTURES / "3.7-udp-no-server" / "client.txt").read_text()
    assert LOAD.try_problem(silent, "", 0) == "No messages were received from the server"
    refused = (CAPTURES / "3.7-tcp-refused" / "client.txt").read_text()
    assert "Connection refused" in str(LOAD.try_problem(refused, "", 0))
    assert LOAD.try_problem("", "", 0) is not None
    assert "bind" in LOAD.complaint((CAPTURES / "3.7-bad-address" / "server.txt").read_text(), "")
