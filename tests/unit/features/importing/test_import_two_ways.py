# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of both ways at once, by ``iperf3 --bidir`` or two processes: a trial for each way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.features.importing.test_import_captures import MORE, ONE, document, folder, imported, refusal

TEXT_OF_CLIENT = """Connecting to host 192.0.2.2, port 5201
[  5] local 192.0.2.1 port 41000 connected to 192.0.2.2 port 5201
[  7] local 192.0.2.1 port 41002 connected to 192.0.2.2 port 5201
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec  1.10 GBytes  9.41 Gbits/sec   12    924 KBytes
[  7][RX-C]   0.00-1.00   sec   596 MBytes  5.00 Gbits/sec
[  5][TX-C]   1.00-2.00   sec  1.10 GBytes  9.41 Gbits/sec    0    924 KBytes
[  7][RX-C]   1.00-2.00   sec   596 MBytes  5.00 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID][Role] Interval           Transfer     Bitrate         Retr
[  5][TX-C]   0.00-2.00   sec  2.19 GBytes  9.41 Gbits/sec   12             sender
[  5][TX-C]   0.00-2.00   sec  2.19 GBytes  9.40 Gbits/sec                  receiver
CPU Utilization: local/sender 50.0% (1.0%u/49.0%s), remote/receiver 60.0% (1.0%u/59.0%s)
{served}[  7][RX-C]   0.00-2.00   sec  1.16 GBytes  5.01 Gbits/sec    7             sender
[  7][RX-C]   0.00-2.00   sec  1.16 GBytes  5.00 Gbits/sec                  receiver

iperf Done.
"""
TEXT_OF_SERVER = """Accepted connection from 192.0.2.1, port 40998
[  5] local 192.0.2.2 port 5201 connected to 192.0.2.1 port 41000
[  8] local 192.0.2.2 port 5201 connected to 192.0.2.1 port 41002
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][RX-S]   0.00-1.00   sec  1.09 GBytes  9.38 Gbits/sec
[  8][TX-S]   0.00-1.00   sec   597 MBytes  5.01 Gbits/sec    7    1.12 MBytes
[  5][RX-S]   1.00-2.00   sec  1.09 GBytes  9.38 Gbits/sec
[  8][TX-S]   1.00-2.00   sec   597 MBytes  5.01 Gbits/sec    0    1.12 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID][Role] Interval           Transfer     Bitrate         Retr
[  5][RX-S]   0.00-2.00   sec  2.18 GBytes  9.38 Gbits/sec                  receiver
[  8][TX-S]   0.00-2.00   sec  1.16 GBytes  5.01 Gbits/sec    7             sender
"""
LISTENING = "Server listening on 5201 (test #1)\n"
CLIENT, SERVER = "gen/client-bidir.json", "dut/server-bidir.json"


def bytes_of(path: Path, *, sender: bool) -> int:
    """What an end counted of one way, added up from its streams."""
    streams = [one for interval in document(path)["intervals"] for one in interval["streams"]]
    return sum(one["bytes"] for one in streams if one["sender"] == sender)


@pytest.mark.parametrize("files", [(CLIENT, SERVER), (CLIENT,), (SERVER,)], ids=["both", "client", "server"])
def test_each_way_is_a_trial_that_goes_that_way(files: tuple[str, ...], tmp_path: Path) -> None:
    trials = [one.trial for one in imported(folder(tmp_path, *files)).trials]
    assert [one.case.direction for one in trials] == ["forward", "reverse"]
    assert trials[0].case.hosts == trials[1].case.hosts[::-1]
    assert trials[0].started_s == trials[1].started_s
    assert [one.status for one in trials] == ["done", "done"]
    for one in trials:
        assert dict(one.case.factors) == {"at-once": "both ways"}
        assert "other-way-at-once" in {flag.code for flag in one.flags}


def test_throughput_of_a_way_is_what_its_receiver_counted_of_it(tmp_path: Path) -> None:
    forward, reverse = (one.trial for one in imported(folder(tmp_path, CLIENT, SERVER)).trials)
    for trial, path in ((forward, MORE / SERVER), (reverse, MORE / CLIENT)):
        assert trial.window is not None
        assert trial.throughput_bps is not None
        counted_bps = 8 * bytes_of(path, sender=False) / document(path)["intervals"][-1]["sum"]["end"]
        assert trial.throughput_bps == pytest.approx(counted_bps, rel=0.03)
        assert trial.throughput_bps == pytest.approx(50e6, rel=0.1)


def test_of_a_client_alone_each_way_has_its_own_sums(tmp_path: Path) -> None:
    folder(tmp_path, CLIENT)
    path = tmp_path / CLIENT
    found: dict[str, Any] = document(path)
    found["end"]["sum_received"]["bytes"] = 1_250_000
    path.write_text(json.dumps(found))
    forward, reverse = (one.trial for one in imported(tmp_path).trials)
    seconds = found["end"]["sum_received"]["end"]
    assert forward.throughput_bps == pytest.approx(8 * 1_250_000 / seconds)
    assert reverse.throughput_bps == pytest.approx(50e6, rel=0.1)
    assert all(one.load_cpu_cores is None for one in (forward.sender, reverse.sender) if one is not None)


def test_a_process_that_says_so_where_it_says_what_was_asked_is_the_same(tmp_path: Path) -> None:
    folder(tmp_path, CLIENT)
    path = tmp_path / CLIENT
    found = document(path)
    found["start"]["test_start"]["bidir"] = 1
    path.write_text(json.dumps(found))
    assert len(imported(tmp_path).trials) == 2


def written(into: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(text)
    return into


CLIENT_TEXT = TEXT_OF_CLIENT.format(served="")


@pytest.mark.parametrize(
    ("texts", "rates_bps", "retransmits"),
    [
        ({"gen/a.txt": CLIENT_TEXT}, [9.40e9, 5.00e9], [12, 7]),
        ({"gen/a.txt": CLIENT_TEXT, "dut/b.txt": LISTENING + TEXT_OF_SERVER}, [9.38e9, 5.00e9], [12, 7]),
        ({"dut/b.txt": LISTENING + TEXT_OF_SERVER}, [9.38e9, None], [None, 7]),
        (
            {"gen/a.txt": TEXT_OF_CLIENT.format(served=f"\nServer output:\n{TEXT_OF_SERVER}\n")},
            [9.38e9, 5.00e9],
            [12, 7],
        ),
    ],
    ids=["client", "both", "server", "server's output"],
)
def test_text_of_both_ways_is_a_trial_for_each(
    texts: dict[str, str], rates_bps: list[float | None], retransmits: list[int | None], tmp_path: Path
) -> None:
    trials = [one.trial for one in imported(written(tmp_path, texts)).trials]
    assert [(one.status, one.case.direction, one.case.streams) for one in trials] == [
        ("done", "forward", 1),
        ("done", "reverse", 1),
    ]
    for one, rate_bps, count in zip(trials, rates_bps, retransmits, strict=True):
        assert one.throughput_bps == (None if rate_bps is None else pytest.approx(rate_bps, rel=0.002))
        assert one.retransmits == count
        assert dict(one.case.factors) == {"at-once": "both ways"}
        assert "other-way-at-once" in {flag.code for flag in one.flags}
        assert all(end.load_cpu_cores is None for end in (one.sender, one.receiver) if end is not None)
    assert trials[0].case.hosts == trials[1].case.hosts[::-1]
    assert trials[0].started_s == trials[1].started_s


def test_text_of_both_ways_that_was_cut_off_has_failed_both_ways(tmp_path: Path) -> None:
    lines = CLIENT_TEXT.splitlines(keepends=True)
    for length in (4, 7):
        trials = [
            one.trial for one in imported(written(tmp_path, {"gen/a.txt": "".join(lines[:length])})).trials
        ]
        assert [(one.status, one.case.direction, one.case.streams) for one in trials] == [
            ("failed", "forward", 1),
            ("failed", "reverse", 1),
        ]
        assert {one.reason for one in trials} == {"iperf3: its text ends before the test does"}


def test_json_of_a_client_and_text_of_its_server_are_one_test_each_way(tmp_path: Path) -> None:
    folder(tmp_path, CLIENT)
    first, back = (one["local_port"] for one in document(tmp_path / CLIENT)["start"]["connected"])
    text = TEXT_OF_SERVER.replace("port 41000", f"port {first}").replace("port 41002", f"port {back}")
    hosts = document(tmp_path / CLIENT)["start"]["connected"][0]
    text = text.replace("192.0.2.2 port 5201", f"{hosts['remote_host']} port {hosts['remote_port']}")
    text = text.replace("192.0.2.1", hosts["local_host"])
    written(tmp_path, {"dut/b.txt": LISTENING + text})
    forward, reverse = (one.trial for one in imported(tmp_path).trials)
    assert forward.throughput_bps == pytest.approx(9.38e9, rel=0.002)
    assert reverse.throughput_bps == pytest.approx(50e6, rel=0.1)


def opposite(into: Path, *, later_s: int = 0, port: int = 5299, intervals: int | None = None) -> Path:
    """Two processes at once: ``gen`` sends to ``dut``, and ``dut`` to ``gen`` by a client of its own."""
    (into / "gen").mkdir(parents=True)
    (into / "dut").mkdir()
    forth, back = document(ONE), document(ONE)
    for test, own, peer in ((forth, "192.0.2.1", "192.0.2.2"), (back, "192.0.2.2", "192.0.2.1")):
        (connected,) = test["start"]["connected"]
        connected |= {"local_host": own, "remote_host": peer}
        test["start"]["connecting_to"]["host"] = peer
    (into / "gen" / "a.json").write_text(json.dumps(forth))
    start = back["start"]
    start["connecting_to"]["port"] = port
    start["system_info"] = start["system_info"].replace(" gen ", " dut ")
    start["cookie"] = "another"
    start["timestamp"]["timesecs"] += later_s
    back["intervals"] = back["intervals"][:intervals]
    back["end"]["sum_received"]["bytes"] //= 2
    back["end"]["sum_received"]["bits_per_second"] /= 2
    (into / "dut" / "b.json").write_text(json.dumps(back))
    return into


def test_two_processes_of_opposite_ways_at_once_are_a_trial_for_each(tmp_path: Path) -> None:
    trials = (one.trial for one in imported(opposite(tmp_path / "in")).trials)
    back, forth = sorted(trials, key=lambda one: one.case.sender)
    (tmp_path / "alone" / "gen").mkdir(parents=True)
    (tmp_path / "alone" / "gen" / "a.json").write_text(ONE.read_text())
    (alone,) = (one.trial for one in imported(tmp_path / "alone").trials)
    assert (forth.case.hosts, back.case.hosts) == (("gen", "dut"), ("dut", "gen"))
    assert (forth.status, back.status) == ("done", "done")
    assert forth.throughput_bps == alone.throughput_bps
    assert back.throughput_bps == pytest.approx((alone.throughput_bps or 0) / 2)
    for one, file, other in ((forth, "gen/a.json", "dut/b.json"), (back, "dut/b.json", "gen/a.json")):
        assert dict(one.case.factors) == {"at-once": "both ways"}
        (flag,) = (flag for flag in one.flags if flag.code == "other-way-at-once")
        assert flag.evidence == (
            f"{file}: the test in {other} sent from {one.case.receiver} to {one.case.sender} at the same "
            "time, for 7.0 s of 7.0 s, which is a trial of its own"
        )


def test_a_reverse_test_beside_one_that_is_not_is_both_ways(tmp_path: Path) -> None:
    folder(tmp_path, "gen/client-reverse.json")
    back = document(tmp_path / "gen" / "client-reverse.json")
    forth = document(ONE)
    seconds = back["start"]["test_start"]["duration"]
    back["start"]["timestamp"]["timesecs"] = forth["start"]["timestamp"]["timesecs"]
    forth["start"]["timestamp"]["timesecs"] += back["start"]["test_start"]["omit"]
    forth["intervals"] = forth["intervals"][:seconds]
    forth["end"]["sum_received"]["end"] = seconds
    (tmp_path / "gen" / "client-reverse.json").write_text(json.dumps(back))
    (tmp_path / "gen" / "a.json").write_text(json.dumps(forth))
    trials = [one.trial for one in imported(tmp_path).trials]
    assert sorted(one.case.direction for one in trials) == ["forward", "reverse"]
    assert all(dict(one.case.factors) == {"at-once": "both ways"} for one in trials)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"later_s": 2}, "these do for 5.0 s of 7.0 s; --skip those of one way"),
        ({"intervals": 4}, "these do for 4.0 s of 7.0 s; --skip those of one way"),
        ({"later_s": 4}, "overlap for 3.0 s of 7.0 s: too little for instances of one trial"),
    ],
)
def test_opposite_ways_that_overlap_too_little_are_refused_with_the_reason(
    changes: dict[str, int], says: str, tmp_path: Path
) -> None:
    assert says in refusal(opposite(tmp_path / "in", **changes))


def test_opposite_ways_behind_one_another_are_trials_of_their_own(tmp_path: Path) -> None:
    trials = [one.trial for one in imported(opposite(tmp_path / "in", later_s=8)).trials]
    assert [one.case.factors for one in trials] == [(), ()]
    assert not {"other-way-at-once"} & {flag.code for one in trials for flag in one.flags}
