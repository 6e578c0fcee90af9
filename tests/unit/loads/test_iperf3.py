# SPDX-License-Identifier: Apache-2.0
"""iperf3: what is asked of it, and what is read from it. Cases are folders of tests/captures/iperf3."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import understood
from linewatt.loads.base import LoadJob
from linewatt.loads.iperf3.load import PACING_TIMER_US, Iperf3

CAPTURES = Path(__file__).parents[2] / "captures" / "iperf3"
ENDS = [
    pytest.param(path, id=f"{path.parent.name}-{path.stem}")
    for path in sorted(CAPTURES.glob("*/*"))
    if path.stem in ("client", "server")
]
JOB = LoadJob(
    test="tcp", server_address="198.18.0.2", port=5201, duration_s=12.0, client_address="198.18.0.1"
)
OLD, NEW = (3, 12), (3, 18)


def capture(case: str, end: str) -> str:
    return (CAPTURES / case / f"{end}.json").read_text()


def client(job: LoadJob, version: tuple[int, ...] = OLD) -> list[str]:
    return Iperf3().client_command(job, version)


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_packets_at_the_receiver_are_received_plus_lost() -> None:
    for version in ("3.12", "3.21"):
        end = Iperf3().parse(capture(f"{version}-udp1500-loss-and-reorder", "server"))
        for interval in end.intervals:
            assert interval.packets is not None
            assert interval.lost_packets is not None
            assert interval.packets == interval.transferred_bytes // 1472 + interval.lost_packets
        assert sum(interval.lost_packets or 0 for interval in end.intervals) > 0
        assert end.out_of_order_packets


def rtts_s(document: Any) -> list[float | None]:
    return [interval.rtt_s for interval in Iperf3().parse(json.dumps(document)).intervals]


@pytest.mark.parametrize(
    ("case", "end", "rtts_us"),
    [
        ("3.12-tcp-forward-streams-1", "client", [103, 80]),
        ("3.12-tcp-forward-streams-8", "client", [508.75, 486.25]),
        ("3.12-tcp-reverse-streams-8", "server", [420.75, 797.875]),
        ("3.12-tcp-forward-streams-8", "server", [None] * 3),
        ("3.12-udp60-forward-streams-8", "client", [None] * 2),
        ("3.21-client-3.12-server-reverse-rate-limited", "server", [None] * 3),
    ],
)
def test_rtt_is_the_mean_of_the_senders_streams(case: str, end: str, rtts_us: list[float | None]) -> None:
    expected_s = [None if rtt_us is None else pytest.approx(rtt_us / 1e6) for rtt_us in rtts_us]
    assert rtts_s(json.loads(capture(case, end))) == expected_s


@given(st.permutations(range(8)))
def test_the_order_of_streams_does_not_change_the_rtt(order: list[int]) -> None:
    document = json.loads(capture("3.12-tcp-forward-streams-8", "client"))
    before = rtts_s(document)
    for interval in document["intervals"]:
        interval["streams"] = [interval["streams"][at] for at in order]
    assert rtts_s(document) == before


@given(st.integers(0, 7), st.sampled_from([None, 0, -1]))
def test_a_stream_without_rtt_leaves_its_interval_without_rtt(stream: int, rtt_us: int | None) -> None:
    document = json.loads(capture("3.12-tcp-forward-streams-8", "client"))
    missing = json.loads(capture("3.12-tcp-forward-streams-8", "client"))
    missing["intervals"][1]["streams"][stream]["rtt"] = rtt_us
    assert rtts_s(missing) == [rtts_s(document)[0], None]
    del missing["intervals"][1]["streams"][stream]["rtt"]
    assert rtts_s(missing) == [rtts_s(document)[0], None]


def test_a_failed_test_is_an_error_even_when_it_printed_intervals() -> None:
    text = capture("3.12-server-interrupted", "client")
    assert json.loads(text)["intervals"]
    with pytest.raises(ParseError, match="the server has terminated"):
        Iperf3().parse(text)


def test_intervals_of_iperf3s_own_warm_up_are_not_counted() -> None:
    document = json.loads(capture("3.12-tcp-forward-streams-1", "client"))
    for stream in document["intervals"][0]["streams"]:
        stream["omitted"] = True
    whole = Iperf3().parse(capture("3.12-tcp-forward-streams-1", "client"))
    assert Iperf3().parse(json.dumps(document)).intervals == whole.intervals[1:]


def test_both_directions_in_one_process_are_refused() -> None:
    document = json.loads(capture("3.12-tcp-forward-streams-8", "client"))
    document["intervals"][0]["streams"][3]["sender"] = False
    with pytest.raises(ParseError, match="one process a direction"):
        Iperf3().parse(json.dumps(document))


def test_a_warning_in_front_of_the_json_does_no_harm() -> None:
    text = capture("3.12-tcp-forward-streams-1", "client")
    assert Iperf3().parse("warning: Ignoring nonsense\n" + text) == Iperf3().parse(text)


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers(), st.lists).map(json.dumps)))
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        Iperf3().parse(text)


@pytest.mark.parametrize("part", ["start", "intervals", "end"])
def test_json_without_a_part_is_a_parse_error(part: str) -> None:
    document = json.loads(capture("3.12-tcp-forward-streams-1", "client"))
    del document[part]
    with pytest.raises(ParseError, match="unknown shape"):
        Iperf3().parse(json.dumps(document))


def test_a_test_without_intervals_is_a_parse_error() -> None:
    document = json.loads(capture("3.12-tcp-forward-streams-1", "client"))
    document["intervals"] = []
    with pytest.raises(ParseError, match="no interval"):
        Iperf3().parse(json.dumps(document))


def test_the_server_serves_one_test_on_its_address_and_port() -> None:
    assert " ".join(Iperf3().server_command(JOB, OLD)) == (
        "iperf3 --server --one-off --json --port 5201 --bind 198.18.0.2 --interval 1"
    )


def test_an_unlimited_tcp_client_says_so() -> None:
    assert " ".join(client(JOB)) == (
        "iperf3 --client 198.18.0.2 --json --port 5201 --version4 --time 12 --interval 1 "
        "--connect-timeout 3000 --bitrate 0 --bind 198.18.0.1"
    )


def test_udp_is_unlimited_unless_a_rate_is_asked_for() -> None:
    assert option(client(replace(JOB, test="udp-1500")), "--bitrate") == "0"


@pytest.mark.parametrize(("streams", "each"), [(1, "800000000"), (8, "100000000")])
def test_the_rate_of_an_instance_is_shared_by_its_streams(streams: int, each: str) -> None:
    command = client(replace(JOB, rate_bps=8e8, streams=streams))
    assert option(command, "--bitrate") == each


def test_a_paced_load_does_not_run_in_step_with_any_tick() -> None:
    command = client(replace(JOB, rate_bps=1e9))
    timer_us = int(option(command, "--pacing-timer"))
    assert timer_us == PACING_TIMER_US
    for hz in (100, 250, 300, 1000):
        assert 1e6 / hz % timer_us > 1
    assert "--pacing-timer" not in client(JOB)


@pytest.mark.parametrize(
    ("test", "family", "length"),
    [("udp-1500", "ipv4", 1472), ("udp-1500", "ipv6", 1452), ("udp-60", "ipv4", 18)],
)
def test_a_datagram_fills_its_frame(test: Any, family: Any, length: int) -> None:
    assert option(client(replace(JOB, test=test, family=family)), "--length") == str(length)


def test_a_network_that_leaves_less_room_names_the_payload() -> None:
    assert option(client(replace(JOB, test="udp-1500", payload_bytes=1422)), "--length") == "1422"


def test_udp_60_over_ipv6_is_refused_because_its_headers_do_not_fit() -> None:
    with pytest.raises(InvalidInput, match="needs ipv4"):
        client(replace(JOB, test="udp-60", family="ipv6"))


def test_full_frames_are_not_fragmented_where_iperf3_can_say_so() -> None:
    udp = replace(JOB, test="udp-1500")
    assert "--dont-fragment" in client(udp)
    assert "--dont-fragment" not in client(udp, (3, 9))
    assert "--dont-fragment" not in client(replace(udp, family="ipv6"))


def test_ipv6_is_asked_for_by_name() -> None:
    job = replace(JOB, family="ipv6", server_address="2001:2::2", client_address="2001:2::1")
    assert "--version6" in client(job)
    assert option(client(job), "--client") == "2001:2::2"


def test_reverse_streams_and_zerocopy_reach_the_client() -> None:
    command = client(replace(JOB, reverse=True, streams=8, zerocopy=True))
    assert option(command, "--parallel") == "8"
    assert {"--reverse", "--zerocopy"} <= set(command)


@pytest.mark.parametrize(
    ("change", "version", "says"),
    [
        ({"zerocopy": True, "test": "udp-1500"}, OLD, "zerocopy is for tcp"),
        ({"zerocopy": True, "reverse": True}, (3, 9), "3.11 or later"),
        ({}, (3, 1, 7), "too old"),
        ({"duration_s": 90_000.0}, OLD, "cut it in parts"),
        ({"duration_s": 0.0}, OLD, "runs 1 to"),
        ({"streams": 129}, OLD, "1 to 128 streams"),
        ({"rate_bps": 0.0}, OLD, "leave it out"),
    ],
)
def test_what_iperf3_cannot_do_is_refused_in_words(
    change: dict[str, Any], version: tuple[int, ...], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        client(replace(JOB, **change), version)


def test_a_part_of_a_second_is_rounded_up_not_cut() -> None:
    assert option(client(replace(JOB, duration_s=2.2)), "--time") == "3"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("iperf 3.12 (cJSON 1.7.15)\nLinux host 6.1\n", (3, 12)),
        ("iperf 3.17.1+ (cJSON 1.7.15)\n", (3, 17, 1)),
        ("iperf 3.5 (cJSON 1.5.2)\n", (3, 5)),
    ],
)
def test_the_version_is_read_from_its_first_line(text: str, version: tuple[int, ...]) -> None:
    assert Iperf3().parse_version(text) == version


def test_no_version_is_a_parse_error() -> None:
    with pytest.raises(ParseError, match="not found"):
        Iperf3().parse_version("sh: iperf3: not found\n")


LIMIT_S = 60
"""for iperf3, where how soon is not what is tested"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_listens(port: int) -> None:
    """Looks instead of connecting: a one-off server would take that for its test."""
    deadline_s = time.monotonic() + LIMIT_S
    while f":{port:04X} 00000000:0000 0A" not in Path("/proc/net/tcp").read_text():
        assert time.monotonic() < deadline_s, f"nothing listens on port {port}"
        time.sleep(0.01)


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc/net/tcp on this system")
@pytest.mark.parametrize("reverse", [False, True])
def test_the_real_iperf3_takes_these_commands_and_both_ends_agree(reverse: bool) -> None:
    iperf3 = Iperf3()
    said = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=True).stdout
    version = iperf3.parse_version(said)
    job = LoadJob(
        test="udp-1500",
        server_address="127.0.0.1",
        client_address="127.0.0.1",
        port=free_port(),
        duration_s=1.0,
        interval_s=0.5,
        streams=2,
        rate_bps=4e6,
        reverse=reverse,
    )
    command = iperf3.server_command(job, version)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            wait_until_it_listens(job.port)
            done = subprocess.run(
                iperf3.client_command(job, version),
                capture_output=True,
                text=True,
                check=True,
                timeout=LIMIT_S,
            )
            ends = [iperf3.parse(done.stdout), iperf3.parse(server.communicate(timeout=LIMIT_S)[0])]
        finally:
            server.kill()
    assert [end.is_sender for end in ends] == [not reverse, reverse]
    for end in ends:
        transferred = sum(interval.transferred_bytes for interval in end.intervals)
        assert 8 * transferred / end.duration_s == pytest.approx(4e6, rel=0.1)


@pytest.mark.parametrize("path", ENDS)
def test_no_end_writes_as_much_as_it_may(path: Path) -> None:
    """Beside the first MiB, which is for what there is once: the intervals alone."""
    text = path.read_text()
    streams = 8 if "streams-8" in path.parent.name else 1
    intervals = text.count('"sum":')
    job = replace(JOB, duration_s=max(1, intervals), streams=streams)
    assert len(text) < Iperf3().most_bytes(job) - (1 << 20)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("intervals", 0, "streams", 0, "bytes"), -1, "counted -1 bytes"),
        (("intervals", 0, "streams", 0, "end"), -1, "an interval from"),
        (("intervals", 0, "streams", 0, "bytes"), "1" * 60, "too large"),
        (("intervals", 0, "streams", 0, "start"), 1e300, "too large"),
        (("end", "cpu_utilization_percent", "host_total"), "x", "cannot be read|unknown shape"),
        (("start", "test_start", "reverse"), None, None),
        (("end", "sender_tcp_congestion"), {"a": 1}, None),
    ],
)
def test_values_that_iperf3_never_writes_are_a_reason_or_plain(
    path: tuple[str | int, ...], value: object, said: str | None
) -> None:
    document: Any = json.loads(capture("3.12-tcp-forward-streams-1", "client"))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    text = json.dumps(document)
    if said is None:
        end = understood(lambda: Iperf3().parse(text), "iperf3")
        assert end.congestion is None or isinstance(end.congestion, str)
        return
    with pytest.raises(ParseError, match=said):
        understood(lambda: Iperf3().parse(text), "iperf3")


@pytest.mark.parametrize(("lost", "packets"), [(-1, 848), (-848, 848), (-849, 848), (-1, 0)])
def test_datagrams_that_come_late_are_taken_off_the_lost_of_an_interval_that_they_came_in(
    lost: int, packets: int
) -> None:
    """iperf3's own arithmetic: lost so far, less lost until the interval before (esnet/iperf issue 1044).

    Where fewer came than that, its count is damaged (issue 914).
    """
    document: Any = json.loads(capture("3.21-udp1500-loss-and-reorder", "server"))
    document["intervals"][1]["streams"][0] |= {"lost_packets": lost, "packets": packets}
    if -lost > packets:
        with pytest.raises(ParseError, match=f"counted {lost} lost_packets"):
            Iperf3().parse(json.dumps(document))
        return
    end = Iperf3().parse(json.dumps(document))
    assert [one.lost_packets for one in end.intervals] == [15, lost, 1]
