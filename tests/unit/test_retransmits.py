# SPDX-License-Identifier: Apache-2.0
"""TCP retransmits are a finding from 1 % of the segments on, with the place where they were lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report_factories import end, trial

from linewatt.analysis.flags.retransmits import retransmit_flags, retransmitted_ratio
from linewatt.model import Case, Trial, Window

CASE = Case("tcp", "gen", "dut")
COUNTED = {"nic.rx_packets": 1e6, "nic.tx_packets": 1e6}


def run(
    ratio: float, sender: dict[str, float] | None = None, receiver: dict[str, float] | None = None
) -> Trial:
    """A trial of 1,000,000 full segments in 10 s, of which ``ratio`` were sent again."""
    return replace(
        trial(1, CASE, 1448 * 8 * 1e5, 0.5),
        window=Window(100.0, 110.0),
        retransmits=round(ratio * 1e6),
        sender=end("gen", "sender", 0.5, 0.5, 0.5, counters=COUNTED if sender is None else COUNTED | sender),
        receiver=end("dut", "receiver", 0.5, 0.5, 0.5, counters=COUNTED | (receiver or {})),
    )


def said(*trials: Trial) -> list[str]:
    return [flag.evidence for flag in retransmit_flags(CASE, trials)]


def test_two_percent_on_the_path_are_told_with_their_number() -> None:
    (evidence,) = said(run(0.02), run(0.02))
    assert evidence == (
        "20,000 segments a trial were sent again (2.0 %), in 2 of 2 trials: "
        "gen and dut counted no such drops, so look at the path between them"
    )


def test_what_tcp_needs_to_find_its_rate_is_no_finding() -> None:
    assert said(run(0.009), run(0.009)) == []
    assert said(run(0.0)) == []


def test_the_host_that_dropped_them_is_named_with_the_place() -> None:
    (sending,) = said(run(0.02, sender={"qdisc.dropped": 19_000.0}))
    assert sending.endswith("gen dropped 19,000 packets, most of them in the queueing discipline (qdisc)")
    (receiving,) = said(run(0.02, receiver={"nic.rx_missed_errors": 15_000.0, "nic.rx_dropped": 100.0}))
    assert receiving.endswith("dut dropped 15,100 packets, most of them in the receive ring (missed)")


def test_a_few_drops_do_not_make_a_host_the_place() -> None:
    (evidence,) = said(run(0.02, receiver={"nic.rx_dropped": 5_000.0}))
    assert "look at the path between them" in evidence


def test_without_counters_the_place_is_not_known() -> None:
    lost = replace(run(0.02), receiver=end("dut", "receiver", 0.5, 0.5, 0.5))
    (evidence,) = said(lost)
    assert evidence.endswith("where they were lost is not known, for the counters of a host are missing")


def test_segments_of_a_large_mtu_are_counted_by_the_sender() -> None:
    jumbo = run(0.005, sender={"nstat.TcpOutSegs": 1e6 / 6})
    assert retransmitted_ratio(jumbo) == pytest.approx(0.03)


def test_what_was_not_counted_is_not_known() -> None:
    whole = run(0.02)
    for lacking in (replace(whole, retransmits=None), replace(whole, window=None)):
        assert retransmitted_ratio(lacking) is None
    assert retransmitted_ratio(replace(whole, throughput_bps=None)) is None
