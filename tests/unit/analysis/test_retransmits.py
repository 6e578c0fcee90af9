# SPDX-License-Identifier: Apache-2.0
"""TCP retransmits are a finding from 1 % of the segments on, with the place where they were lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report_factories import end, trial

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.flags.retransmits import retransmit_flags
from linewatt.analysis.limits.retransmits import retransmitted_ratio
from linewatt.analysis.limits.verdict import Limit, verdict
from linewatt.model import Case, InstanceResult, TcpState, Trial, Window
from linewatt.report.trials.answer.limits import limit_document, limit_words

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
        "20,000 segments per trial were retransmitted (2.0 %) in 2 of 2 trials: "
        "gen and dut counted no such drops: check the path between them"
    )


def test_what_tcp_needs_to_find_its_rate_is_no_finding() -> None:
    assert said(run(0.009), run(0.009)) == []
    assert said(run(0.0)) == []


def test_the_host_that_dropped_them_is_named_with_the_place() -> None:
    queue = run(0.02, sender={"qdisc.dropped": 19_000.0})
    (sending,) = said(queue, queue)
    assert sending.endswith(
        "gen dropped 19,000 packets per trial, most of them in the queueing discipline (qdisc)"
    )
    (receiving,) = said(run(0.02, receiver={"nic.rx_missed_errors": 15_000.0, "nic.rx_dropped": 100.0}))
    assert receiving.endswith(
        "dut dropped 15,100 packets per trial, most of them in the receive ring (missed)"
    )


def test_a_few_drops_do_not_make_a_host_the_place() -> None:
    (evidence,) = said(run(0.02, receiver={"nic.rx_dropped": 5_000.0}))
    assert "check the path between them" in evidence


def test_without_counters_the_place_is_not_known() -> None:
    lost = replace(run(0.02), receiver=end("dut", "receiver", 0.5, 0.5, 0.5))
    (evidence,) = said(lost)
    assert evidence.endswith("the counters of a host are missing, so the place of the loss is not known")


def test_segments_of_a_large_mtu_are_counted_by_the_sender() -> None:
    jumbo = run(0.005, sender={"nstat.TcpOutSegs": 1e6 / 6})
    assert retransmitted_ratio(jumbo) == pytest.approx(0.03)


def test_what_was_not_counted_is_not_known() -> None:
    whole = run(0.02)
    for lacking in (replace(whole, retransmits=None), replace(whole, window=None)):
        assert retransmitted_ratio(lacking) is None
    assert retransmitted_ratio(replace(whole, throughput_bps=None)) is None


# --- as what limits ---------------------------------------------------------------------------------------

RING = {"nic.rx_missed_errors": 15_000.0}


def limit(*trials: Trial) -> Limit:
    return verdict(trials)


def waiting(trial: Trial, rwnd_limited_s: float) -> Trial:
    """With what the sender's kernel said of its one connection, which had data to send for 10 s."""
    state = TcpState(streams=1, busy_s=10.0, rwnd_limited_s=rwnd_limited_s)
    rate_bps = trial.throughput_bps or 0.0
    return replace(
        trial, instances=(InstanceResult(0, 5201, "0", "0", 0.0, 0.0, rate_bps, rate_bps, tcp=state),)
    )


def test_loss_that_no_host_counted_is_a_limit_of_the_path() -> None:
    found = limit(run(0.02), run(0.02))
    assert found.kinds == ("retransmits",)
    assert found.words == (
        "loss on the path (2.0 % of the segments retransmitted, 20,000 a trial; the sender dropped none, the "
        "receiver none: lost or reordered on the path)"
    )


def test_a_few_drops_of_a_host_stand_beside_the_loss_on_the_path() -> None:
    found = limit(run(0.02, sender={"qdisc.dropped": 12.0}))
    assert found.what == "loss on the path"
    assert "the sender dropped 12, the receiver none" in found.evidence


@pytest.mark.parametrize(
    ("drops", "what", "place"),
    [
        (
            {"receiver": RING},
            "loss at the receiver",
            "the receiver dropped 15,000 packets a trial, most of them in the receive ring",
        ),
        ({"sender": {"qdisc.dropped": 19_000.0}}, "loss at the sender", "in the queueing discipline (qdisc)"),
    ],
)
def test_the_end_that_dropped_the_segments_is_named(
    drops: dict[str, dict[str, float]], what: str, place: str
) -> None:
    found = limit(run(0.02, **drops))
    assert (found.kinds, found.what) == (("retransmits",), what)
    assert place in found.evidence


def test_without_counters_of_an_end_nobody_says_that_the_path_lost_them() -> None:
    found = limit(replace(run(0.02), receiver=end("dut", "receiver", 0.5, 0.5, 0.5)))
    assert found.what == "loss of segments"
    assert found.evidence.endswith("where they were lost is not known: the receiver's counters are missing")


def test_what_tcp_needs_to_find_its_rate_limits_nothing() -> None:
    assert limit(run(0.009)).kinds == ("not-found",)
    assert limit(run(0.02), run(0.005)).kinds == ("not-found",), "in every trial, as all limits"


def test_what_is_slow_explains_the_loss() -> None:
    busy = replace(run(0.02), receiver=end("dut", "receiver", 1.0, 0.5, 0.99, counters=COUNTED))
    assert limit(busy).kinds == ("receiver-irq-cpu",)
    full = replace(run(0.02), line_goodput_bps=1448 * 8 * 1.02e5)
    assert limit(full).kinds == ("line-rate",)


@pytest.mark.parametrize(
    ("rwnd_s", "kinds"),
    [
        (0.5, ("retransmits",)),
        (4.5, ("retransmits",)),
        (5.0, ("receive-window", "retransmits")),
        (7.0, ("receive-window",)),
    ],
)
def test_loss_and_windows_are_told_apart_by_what_connections_waited_for(
    rwnd_s: float, kinds: tuple[str, ...]
) -> None:
    assert set(limit(waiting(run(0.02), rwnd_limited_s=rwnd_s)).kinds) == set(kinds)


def test_a_rate_that_arrived_over_a_path_that_loses_is_the_limit() -> None:
    asked = replace(run(0.02), target_bps=1448 * 8 * 1.01e5)
    assert limit(asked).kinds == ("paced",)


def test_the_loss_is_on_the_first_screen_and_in_the_document() -> None:
    (summary,) = summarise([run(0.02, receiver=RING)])
    assert (
        "limited by loss at the receiver (dut, 2.0 % of the segments retransmitted, 20,000 a trial"
        in limit_words(summary)
    )
    (candidate,) = [
        one for one in limit_document(summary.limit)["candidates"] if one["kind"] == "retransmits"
    ]
    assert candidate["named"]
    assert (candidate["used"], candidate["sent_again_ratio"]) == (20_000, pytest.approx(0.02))
    assert (candidate["sender_dropped"], candidate["receiver_dropped"]) == (0, 15_000)
