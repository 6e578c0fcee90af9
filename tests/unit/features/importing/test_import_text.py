# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of what iperf3 prints for people: figures, both ends, and what text does not say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.unit.features.importing.test_import_captures import IMPORTS, imported, refusal

from linewatt.features.importing.captures.measured_folder import Whole

TEXT = IMPORTS / "text"
OLD_UDP = """Connecting to host 192.0.2.2, port 5201
[  4] local 192.0.2.1 port 41000 connected to 192.0.2.2 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec  9.77 MBytes  81.9 Mbits/sec  1250
[  4]   1.00-2.00   sec  9.77 MBytes  81.9 Mbits/sec  1250
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-2.00   sec  19.5 MBytes  81.9 Mbits/sec  0.011 ms  250/2500 (10%)
[  4] Sent 2500 datagrams

iperf Done.
"""
TCP = """Connecting to host 192.0.2.2, port 5201
[  4] local 192.0.2.1 port 41000 connected to 192.0.2.2 port 5201
[ ID] Interval           Transfer     Bandwidth       Retr  Cwnd
[  4]   0.00-1.00   sec  1.10 GBytes  9.41 Gbits/sec   12    924 KBytes
[  4]   1.00-2.00   sec  1.10 GBytes  9.41 Gbits/sec    0    924 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Retr
[  4]   0.00-2.00   sec  2.19 GBytes  9.42 Gbits/sec   12             sender
[  4]   0.00-2.00   sec  2.19 GBytes  9.40 Gbits/sec                  receiver

iperf Done.
"""


def both(into: Path, name: str) -> Whole:
    """A test of the captures, of both ends."""
    for host in ("gen", "dut"):
        (into / host).mkdir(exist_ok=True)
        shutil.copy(TEXT / host / f"{name}.txt", into / host)
    return imported(into)


def written(into: Path, text: str, name: str = "gen/a.txt") -> Path:
    path = into / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return into


@pytest.mark.parametrize(
    ("name", "test", "streams", "direction", "bps"),
    [
        ("tcp", "tcp", 1, "forward", 400e6),
        ("par", "tcp", 2, "forward", 200e6),
        ("udp", "udp-1490", 1, "forward", 20e6),
        ("rev", "tcp", 1, "reverse", 300e6),
        ("omit", "tcp", 1, "forward", 200e6),
        ("udprev", "udp-1490", 1, "reverse", 20e6),
        ("verb", "tcp", 1, "forward", 200e6),
        ("gso", "tcp", 1, "forward", 100e6),
    ],
)
def test_both_ends_text_is_one_test_with_what_it_was_asked(
    name: str, test: str, streams: int, direction: str, bps: float, tmp_path: Path
) -> None:
    (made,) = both(tmp_path, name).trials
    trial = made.trial
    case = trial.case
    assert (trial.status, case.test, case.streams, case.direction) == ("done", test, streams, direction)
    ends = ("dut", "gen") if direction == "reverse" else ("gen", "dut")
    assert (case.sender, case.receiver) == ends
    assert trial.throughput_bps == pytest.approx(bps, rel=0.006)
    assert "told-by-the-other-end" not in {flag.code for flag in trial.flags}


def test_iperf3_own_warm_up_is_left_out(tmp_path: Path) -> None:
    (made,) = both(tmp_path, "omit").trials
    assert made.asked.omit_s == 1.0
    assert made.trial.window is not None
    assert made.trial.window.seconds == pytest.approx(2.0)


def test_text_has_rounded_rates_and_no_time_and_both_are_told(tmp_path: Path) -> None:
    (made,) = imported(written(tmp_path, TCP)).trials
    assert made.trial.throughput_bps == pytest.approx(9.40e9)
    assert made.trial.offered_bps == pytest.approx(9.41e9)
    assert made.trial.retransmits == 12
    said = {flag.code: flag.evidence for flag in made.trial.flags}
    assert said["rounded-figures"] == "gen/a.txt: text of iperf3 has no bytes, and rates rounded to ± 0.053 %"
    assert "does not say when its test ran" in said["time-not-known"]


def test_cpu_readings_beside_text_without_a_time_are_not_placed_and_that_is_the_reason(
    tmp_path: Path,
) -> None:
    written(tmp_path, TCP)
    shutil.copy(IMPORTS / "watts" / "dut" / "mpstat.txt", tmp_path / "gen")
    (made,) = imported(tmp_path).trials
    assert made.trial.throughput_bps == pytest.approx(9.40e9)
    assert made.trial.sender is not None
    assert made.trial.sender.cpu_cores is None
    assert "cannot be placed: text of iperf3 does not say when" in made.trial.sender.reasons["cpu_cores"]


@pytest.mark.parametrize(
    ("before", "begun_s"),
    [
        ("1795864530.250000\n", 1795864530.25),
        ("BEGIN-7 1795864530.5\n", 1795864530.5),
        ("Time: Sat, 28 Nov 2026 11:15:30 GMT\n", 1795864530),
    ],
)
def test_a_time_on_the_line_before_dates_the_test(before: str, begun_s: float, tmp_path: Path) -> None:
    (made,) = imported(written(tmp_path, before + TCP)).trials
    assert made.trial.started_s == pytest.approx(begun_s, abs=0.7)
    assert "time-not-known" not in {flag.code for flag in made.trial.flags}


def test_old_udp_has_one_line_of_both_ends_and_what_arrived_is_without_what_was_lost(tmp_path: Path) -> None:
    (made,) = imported(written(tmp_path, OLD_UDP)).trials
    assert made.trial.case.test == "udp-8234"
    assert made.trial.throughput_bps == pytest.approx(0.9 * 81.9e6)
    assert (made.trial.lost_packets, made.trial.packets) == (250, 2500)


def test_text_of_several_tests_is_as_many_trials_one_behind_the_other(tmp_path: Path) -> None:
    again = TCP.replace("41000", "41002")
    trials = [one.trial for one in imported(written(tmp_path, f"{TCP}\n{again}")).trials]
    assert [one.repetition for one in trials] == [1, 2]
    assert trials[1].started_s - trials[0].started_s > 2


def test_without_a_date_a_trial_has_that_of_its_file(tmp_path: Path) -> None:
    written(tmp_path, TCP)
    os.utime(tmp_path / "gen" / "a.txt", (1795864600, 1795864600))
    (made,) = imported(tmp_path).trials
    assert made.trial.started_s == pytest.approx(1795864598, abs=0.2)


def test_text_alone_is_of_the_host_whose_address_it_shows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TCP)
    case = imported(tmp_path / "a.txt").trials[0].trial.case
    assert (case.sender, case.receiver) == ("192.0.2.1", "192.0.2.2")


def test_text_that_was_cut_or_broken_off_is_a_failed_test(tmp_path: Path) -> None:
    cut = "\n".join(TCP.splitlines()[:4])
    (made,) = imported(written(tmp_path, cut)).trials
    assert (made.trial.status, made.trial.reason) == ("failed", "iperf3: its text ends before the test does")
    (made,) = imported(written(tmp_path, f"{cut}\niperf3: error - control socket has closed\n")).trials
    assert made.trial.reason == "iperf3: control socket has closed"


def test_text_of_no_test_is_refused_in_one_line(tmp_path: Path) -> None:
    written(tmp_path, "iperf3: error - unable to connect to server: Connection refused\n")
    assert "in which no test began (unable to connect to server: Connection refused)" in refusal(tmp_path)
