# SPDX-License-Identifier: Apache-2.0
"""Other traffic is told only where the readings that close the window are of the load alone."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import pytest
from tests.groups import group
from tests.wiring import (
    DATAGRAM,
    FRAME,
    MSS,
    OMIT_S,
    SECONDS,
    WINDOW_S,
    Change,
    both,
    counted_once,
    counters,
    rates,
    sensor,
    setup,
    story,
    told,
)

from linewatt.analysis.cases.flows import flow_trials
from linewatt.analysis.cases.summary import summarise
from linewatt.engine.case_text import outcome_of_trial
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.checks import network
from linewatt.model import Flag, Role
from linewatt.network.framing import BARE
from linewatt.units import format_rate

NEIGHBOUR = counters("h2", "nic.rx_bytes", 3e9 / 8 * WINDOW_S)
TO_THE_END = setup(window_s=SECONDS - OMIT_S)


def last_reading(later_s: float) -> Change:
    """The reading behind the load comes later."""

    def change(reading: Reading) -> Reading:
        *own, last = reading.records
        return replace(reading, records=(*own, replace(last, received_s=last.received_s + later_s)))

    return sensor("h2", "netcounters", change)


@pytest.mark.parametrize(
    ("change", "told_of"),
    [
        (story(), True),
        (both(setup(omit_s=0.3), story(start_delay_s=0.05)), False),
        (both(setup(omit_s=0.3), story(start_delay_s=0.0)), True),
        (TO_THE_END, True),
        (both(TO_THE_END, last_reading(0.03)), True),
        (both(TO_THE_END, last_reading(0.1)), False),
    ],
    ids=[
        "well within",
        "begins before the load",
        "begins with it",
        "ends with it",
        "ends hardly after it",
        "ends after the load",
    ],
)
def test_a_neighbour_is_told_where_the_readings_of_the_window_are_of_the_load(
    change: Change, told_of: bool
) -> None:
    found = told(both(NEIGHBOUR, change)).trial()
    assert any(flag.code == "neighbour-traffic" for flag in found.flags) == told_of
    assert found.receiver is not None
    assert found.receiver.counters["nic.rx_bytes"] is not None, "it is not for want of a number"


def neighbour(way: str, rate_bps: float) -> Change:
    return counters("h2", f"nic.{way}_bytes", rate_bps / 8 * WINDOW_S)


def is_told(*changes: Change) -> bool:
    return any(flag.code == "neighbour-traffic" for flag in told(both(*changes)).trial().flags)


@pytest.mark.parametrize(
    ("load_bps", "way", "untold_bps", "told_bps"),
    [(10e6, "rx", 9e6, 12e6), (9.4e9, "rx", 300e6, 360e6), (9.4e9, "tx", 420e6, 500e6)],
    ids=["10 Mbit/s of management", "3 % of the load", "an answer of 64 bytes to each packet"],
)
def test_other_traffic_is_told_where_nothing_of_the_load_can_be_it(
    load_bps: float, way: str, untold_bps: float, told_bps: float
) -> None:
    found = [is_told(rates(load_bps), neighbour(way, other_bps)) for other_bps in (untold_bps, told_bps)]
    assert found == [False, True]


def packets(way: str, rate_pps: float) -> Change:
    return counters("h2", f"nic.{way}_packets", rate_pps * WINDOW_S)


@pytest.mark.parametrize(
    ("load_bps", "way", "untold_pps", "told_pps"),
    [(10e6, "rx", 900.0, 1_200.0), (9.4e9, "rx", 20_000.0, 30_000.0), (9.4e9, "tx", 380_000.0, 440_000.0)],
    ids=["1,000 a second", "3 % of the load", "an answer to each packet"],
)
def test_packets_that_make_few_bytes_are_told_where_the_load_has_none_of_them(
    load_bps: float, way: str, untold_pps: float, told_pps: float
) -> None:
    found = [is_told(rates(load_bps), packets(way, other_pps)) for other_pps in (untold_pps, told_pps)]
    assert found == [False, True]


def test_what_is_told_of_small_packets_is_said_in_packets() -> None:
    (found,) = [
        one.evidence
        for one in told(both(rates(10e6), packets("rx", 20_000.0))).trial().flags
        if one.code == "neighbour-traffic"
    ]
    assert found == (
        "about 20.0 kpps of other traffic: its data interface received 20.8 kpps in the window, the load "
        "accounts for 863 packets/s"
    )


def test_packets_of_a_load_that_may_write_small_ones_are_not_compared() -> None:
    small = story(case={"factors": (("iperf3.length", "64"),)})
    assert is_told(packets("rx", 2e6))
    assert not is_told(small, packets("rx", 2e6))


@pytest.mark.parametrize(("strays_pps", "expected"), [(100.0, False), (150.0, True)])
def test_datagrams_for_ports_of_nobody_are_no_load_of_any_kind(strays_pps: float, expected: bool) -> None:
    assert is_told(rates(1e6), counters("h2", "nstat.UdpNoPorts", strays_pps * WINDOW_S)) == expected


def test_datagrams_for_ports_of_nobody_are_told_also_where_readings_reach_beyond_the_load() -> None:
    early = both(setup(omit_s=0.3), story(start_delay_s=0.05))
    assert not is_told(early, NEIGHBOUR)
    assert is_told(early, counters("h2", "nstat.UdpNoPorts", 50_000.0 * WINDOW_S))


def test_a_load_that_lost_most_hides_no_datagrams_of_others() -> None:
    """What it lost may have come to the receiver, as far as bytes tell."""
    lossy = both(story(udp=True, lost=0.9), packets("rx", 1_000.0))
    assert not is_told(lossy)
    (flag,) = [
        one
        for one in told(both(lossy, counters("h2", "nstat.UdpNoPorts", 50_000.0 * WINDOW_S))).trial().flags
        if one.code == "neighbour-traffic"
    ]
    assert flag.where == "h2"
    assert flag.evidence.startswith(
        "about 50.0 kpps of other traffic: datagrams to UDP ports without a listener"
    )


def test_an_interface_that_shows_less_than_nine_tenths_of_the_payload_is_not_the_loads() -> None:
    other = neighbour("tx", 3e9)
    shown = {ratio: neighbour("rx", -(FRAME / MSS - ratio) * 9.4e9) for ratio in (0.93, 0.87)}
    assert {ratio: is_told(rates(9.4e9), other, less) for ratio, less in shown.items()} == {
        0.93: True,
        0.87: False,
    }


def test_segments_that_the_load_sent_again_are_nobody_elses() -> None:
    more = counters("h1", "nic.tx_bytes", 1e9)
    assert is_told(more)
    assert not is_told(more, counters("h1", "nstat.TcpRetransSegs", 1e9 / FRAME))


def test_the_way_that_the_load_takes_is_told_first() -> None:
    every = [counters(host, f"nic.{way}_bytes", 3e9) for host in ("h1", "h2") for way in ("tx", "rx")]
    found = [one for one in told(both(*every)).trial().flags if one.code == "neighbour-traffic"]
    assert [(one.where, re.findall("sent|received", one.evidence)) for one in found] == [
        ("h1", ["sent"]),
        ("h1", ["received"]),
        ("h2", ["received"]),
        ("h2", ["sent"]),
    ]


def test_datagrams_are_counted_in_the_role_that_is_asked_for() -> None:
    """A host that sends many and receives few, as in a test both ways."""
    instances = [
        (SimpleNamespace(packets=count), role) for count, role in ((5000, "sender"), (9, "receiver"))
    ]
    seen: Any = SimpleNamespace(
        case=SimpleNamespace(is_tcp=False, test="udp-1500", family="ipv4"),
        cut=SimpleNamespace(run=SimpleNamespace(framings={"h1": BARE})),
        processes=lambda _: instances,
    )
    end: Any = None
    roles: tuple[Role, ...] = ("sender", "receiver")
    assert [network._packets(seen, end, role, 0.0, 0.0) for role in roles] == [5000.0, 9.0]


def rarely_written(host: str, jitter: bool = False) -> Change:
    """The NIC writes its counters every other second; or once a second, now and then behind a reading."""

    def change(reading: Reading) -> Reading:
        shown: dict[str, float | None] = {}
        records = []
        for number, record in enumerate(reading.records):
            if not shown or (number % 2 == 0 and not jitter) or (jitter and number % 7 != 3):
                shown = {name: value for name, value in record.values.items() if name.startswith("nic.")}
            records.append(replace(record, values={**record.values, **shown}))
        return replace(reading, records=tuple(records))

    return sensor(host, "netcounters", change)


@pytest.mark.parametrize("jitter", [False, True])
@pytest.mark.parametrize("later_s", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("window_s", [6.0, 9.0, 10.0, 15.0])
def test_a_nic_that_writes_its_counters_rarely_has_no_neighbour(
    window_s: float, later_s: float, jitter: bool
) -> None:
    windows = [setup(omit_s=OMIT_S + whole_s + later_s, window_s=window_s) for whole_s in (1, 2, 3)]
    slow = both(rarely_written("h1", jitter), rarely_written("h2", jitter))
    assert not any(is_told(slow, window) for window in windows)


def test_a_neighbour_of_a_nic_that_writes_its_counters_rarely_is_told_beyond_what_that_explains() -> None:
    found = [is_told(rarely_written("h2"), neighbour("rx", other_bps)) for other_bps in (0.8e9, 1.6e9)]
    assert found == [False, True]


@pytest.mark.parametrize("edge_s", [OMIT_S, OMIT_S + WINDOW_S])
def test_a_load_that_caught_up_at_an_edge_of_the_window_is_no_neighbour(edge_s: float) -> None:
    """It is shared out evenly over the interval in which it did, of which the window has a part."""
    caught_up = rates([160e6 if second == edge_s else 20e6 for second in range(SECONDS)])
    found = [is_told(caught_up, neighbour("rx", other_bps)) for other_bps in (12e6, 40e6)]
    assert found == [False, True]
    assert is_told(rates(20e6), neighbour("rx", 12e6))


def excess(counted_ratio: float, load_bps: float = 9.4e9) -> list[str]:
    """What is said where the receiver counts so many times the bytes that its interface received."""
    headers = FRAME / MSS
    less = counters("h2", "nic.rx_bytes", -(headers - 1 / counted_ratio) * load_bps / 8 * WINDOW_S)
    flags = told(both(rates(load_bps), less)).trial().flags
    return [flag.evidence for flag in flags if flag.code == "goodput-above-interface"]


@pytest.mark.parametrize("load_bps", [200e6, 9.4e9])
def test_more_goodput_than_the_interface_received_is_told(load_bps: float) -> None:
    assert excess(1.0, load_bps) == [], "an interface that counts no headers"
    assert excess(20.0, load_bps) == [], "another interface, which carries something of its own"
    (said,) = excess(1.25, load_bps)
    assert said.startswith(f"the load counted {format_rate(load_bps)} of payload")
    assert f"its data interface received only {format_rate(load_bps / 1.25)} in total" in said


def under_way(*each_s: float) -> Change:
    """Readings of the receiver's interface that came so long after the host had stamped them, in turn."""

    def change(reading: Reading) -> Reading:
        late_s = cycle(each_s)
        stamps_us = (round(1e6 * (record.received_s - next(late_s))) for record in reading.records)
        texts = (f"linewatt-netcounters 1 {stamp_us}|end {stamp_us}" for stamp_us in stamps_us)
        records = (replace(record, text=text) for record, text in zip(reading.records, texts, strict=True))
        return replace(reading, records=tuple(records))

    return sensor("h2", "netcounters", change)


def test_counts_of_a_host_that_sends_them_late_may_be_of_another_second() -> None:
    """Measured: with 0.7 s more under way than another, a window of 3 s lost a fifth of what had arrived."""
    headers, load_bps = FRAME / MSS, 9.4e9
    less = counters("h2", "nic.rx_bytes", -(headers - 1 / 1.25) * load_bps / 8 * WINDOW_S)
    assert withheld(both(rates(load_bps), less, under_way(0.01, 6.0)))[0] is not None
    assert withheld(both(rates(load_bps), less, under_way(6.0)))[0] is None, "all are as late"
    assert is_told(rates(9.4e9), neighbour("rx", 1.2e9), under_way(6.0))
    assert not is_told(rates(9.4e9), neighbour("rx", 1.2e9), under_way(0.01, 6.0))


@pytest.mark.parametrize("edge_s", [OMIT_S, OMIT_S + WINDOW_S])
def test_a_receiver_that_caught_up_at_an_edge_of_the_window_counts_what_had_arrived_before(
    edge_s: float,
) -> None:
    """It stood still for two seconds outside, or took up in the last one what arrived behind the window."""
    taken = [1.0] * SECONDS
    inside, outside = (2, (0, 1)) if edge_s == OMIT_S else (21, (22, 23))
    taken[inside] = 3.0
    for second in outside:
        taken[second] = 0.0
    caught_up = both(rates(4e9), story(taken=taken))
    headers = FRAME / MSS
    for arrived_ratio, is_withheld in ((1.0, False), (0.85, True)):
        less = counters("h2", "nic.rx_bytes", (arrived_ratio - headers) * 4e9 / 8 * WINDOW_S)
        assert (withheld(both(caught_up, less))[0] is None) == is_withheld
    less = counters("h2", "nic.rx_bytes", (0.91 - headers) * 4e9 / 8 * WINDOW_S)
    assert withheld(both(rates(4e9), less))[0] is None, "a receiver that never stood still"


@pytest.mark.parametrize("second", [int(OMIT_S), int(OMIT_S + WINDOW_S) - 1])
def test_a_receiver_that_stood_still_at_an_edge_hides_no_neighbour(second: int) -> None:
    """What arrives is held against what was sent, whenever the receiving process took it up."""
    taken = [0.0 if number == second else 1.0 for number in range(SECONDS)]
    other = neighbour("rx", 250e6)
    assert [is_told(rates(4e9), other), is_told(rates(4e9), story(taken=taken), other)] == [True, True]


def withheld(change: Change) -> tuple[float | None, str]:
    """The throughput of a trial, and its reason."""
    trial = told(change).trial()
    assert trial.status == "done"
    return trial.throughput_bps, trial.reason or ""


def test_goodput_that_did_not_arrive_is_withheld_with_its_reason() -> None:
    headers = FRAME / MSS
    load_bps = 9.4e9
    less = counters("h2", "nic.rx_bytes", -(headers - 1 / 1.25) * load_bps / 8 * WINDOW_S)
    throughput_bps, reason = withheld(both(rates(load_bps), less))
    assert throughput_bps is None
    assert reason.startswith("throughput withheld: h2: the load counted 9.40 Gbps of payload, ")
    (summary,) = summarise([told(both(rates(load_bps), less)).trial()])
    assert summary.throughput_bps is None
    assert "throughput withheld" in summary.reasons["throughput_bps"]
    assert "throughput withheld" in summary.reasons["efficiency_receiver_bps_per_core"]
    assert "throughput withheld" in summary.reasons["line_rate_ratio"]
    assert summary.limit.unknown == ("how much of the line was used",)
    assert summary.cpu_cores("receiver") is not None, "CPU use is not of the load's count"
    assert outcome_of_trial(told(both(rates(load_bps), less)).trial()).startswith("throughput withheld: h2: ")
    throughput_bps, reason = withheld(rates(load_bps))
    assert throughput_bps == pytest.approx(load_bps, rel=1e-3)
    assert reason == ""


def test_a_load_that_was_counted_once_over_more_than_the_window_is_not_held_against_it() -> None:
    """How much of what it counted was in the window is not known: it may have been slower there."""
    less = counters("h2", "nic.rx_bytes", -2e9 / 8 * WINDOW_S)
    assert withheld(less)[0] is None
    assert withheld(both(less, counted_once))[0] is not None


def test_goodput_that_was_not_sent_is_withheld_too() -> None:
    throughput_bps, reason = withheld(counters("h1", "nic.tx_bytes", -3e9 / 8 * WINDOW_S))
    assert throughput_bps is None
    assert reason.startswith("throughput withheld: h1: the load counted 9.37 Gbps of payload, ")
    assert "its data interface sent only 6.8" in reason


@pytest.mark.parametrize(("received_ratio", "is_withheld"), [(1500 / 1472, False), (0.985, True)])
def test_headers_of_datagrams_are_no_payload(received_ratio: float, is_withheld: bool) -> None:
    """Each datagram that was counted came with headers of IP and UDP, of 1500 bytes 28."""
    load_bps = 5e9
    less = counters("h2", "nic.rx_bytes", (received_ratio - FRAME / DATAGRAM) * load_bps / 8 * WINDOW_S)
    throughput_bps, _ = withheld(both(story(udp=True), rates(load_bps), less))
    assert (throughput_bps is None) == is_withheld


def test_of_pairs_at_once_only_the_throughput_of_those_that_end_at_that_host_is_withheld() -> None:
    flag = Flag("goodput-above-interface", "g2", "the load counted too much", "")
    whole = replace(group(shape="one-to-many").trial(), flags=(flag,), throughput_bps=None, reason="withheld")
    by_receiver = {pair.case.receiver: pair for pair in flow_trials(whole)}
    assert by_receiver["g2"].throughput_bps is None
    assert by_receiver["g2"].reason == "withheld"
    assert by_receiver["g1"].throughput_bps is not None
    assert by_receiver["g1"].reason is None
