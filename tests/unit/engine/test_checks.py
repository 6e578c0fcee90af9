# SPDX-License-Identifier: Apache-2.0
"""The lies a trial can tell, each caught and named; each test fails when its check is taken out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.checks import layout, load, network, window
from linewatt.engine.measuring.datagrams import Unsure
from linewatt.engine.measuring.window import EndRun
from linewatt.hosts.base import HostSpec
from linewatt.hosts.clock import Offset
from linewatt.loads.base import LoadEnd, LoadInterval
from linewatt.loads.registry import LOADS
from linewatt.model import Case, CpuShares, EndResult, Flag, InstanceResult, Role, Window, group_of
from linewatt.sensors.drops import DROP_CAUSES

CASE = Case("tcp", "h1", "h2", instances=2)
H1 = HostSpec("h1", "192.0.2.1", "eth0", irq_cpus=(4, 5))
H2 = HostSpec("h2", "192.0.2.2", "eth0", irq_cpus=(4, 5))


def instance(number: int, sender_cpu: str | None, receiver_cpu: str | None) -> InstanceResult:
    return InstanceResult(number, 5201 + number, sender_cpu, receiver_cpu, 0.0, 0.0, 1e9, 1e9)


def shares(busy: float) -> CpuShares:
    return CpuShares((0,), 0.1 * busy, 0.9 * busy, 0.0, 0.0, 1 - busy, 0.0)


def end_of(role: Role, app: float | None, irq: float | None = None) -> EndResult:
    return EndResult(
        "h1" if role == "sender" else "h2",
        role,
        cpu_cores=app,
        app_cpu=None if app is None else shares(app),
        irq_cpu=None if irq is None else shares(irq),
        load_cpu_cores=app,
        base_frequency_hz=None,
        reasons={} if app is not None else {"cpu_cores": "no mpstat readings"},
    )


def codes(flags: Iterable[Flag]) -> list[str]:
    return [flag.code for flag in flags]


def run_of(rates_bps: list[float], uncertainty_s: float = 0.001) -> EndRun:
    intervals = tuple(LoadInterval(i, i + 1, round(rate / 8)) for i, rate in enumerate(rates_bps))
    return EndRun(LoadEnd(False, "3.12", intervals, len(rates_bps), None), 0.0, uncertainty_s)


def test_two_instances_on_one_core_are_told() -> None:
    flags = list(layout.placement(CASE, [instance(0, "0", "0"), instance(1, "0", "1")], [H1, H2]))
    assert codes(flags) == ["instances-share-cpu"]
    assert (flags[0].where, flags[0].evidence) == ("h1", "2 instances run on CPU 0")


def test_streams_of_one_process_on_one_cpu_are_told() -> None:
    case = replace(CASE, streams=8, instances=1)
    flags = layout.placement(case, [instance(0, "0", "0")], [H1, H2])
    assert codes(flags) == ["streams-share-cpu", "streams-share-cpu"]


def test_a_load_on_the_interrupt_cpu_is_told() -> None:
    assert codes(layout.placement(CASE, [instance(0, "0", "4")], [H1, H2])) == ["app-irq-share-cpu"]


def test_hosts_on_the_same_cpus_are_told() -> None:
    lab = replace(H1, shares_cpus_with=("h2",))
    (told,) = layout.placement(CASE, [instance(0, "0", "1")], [lab, H2])
    assert told.code == "hosts-share-cpus"
    assert told.evidence == (
        "the CPU figures of both ends count the same CPUs, so the CPU use of each contains that of the other"
    )
    (told,) = layout.placement(CASE, [instance(0, "0", "1")], [lab, H2, replace(H2, name="h3")])
    assert (told.where, told.evidence) == (
        "h1, h2",
        "the CPU figures of these hosts count the same CPUs, so the CPU use of each contains that of the "
        "others",
    )


def test_a_clean_placement_raises_nothing() -> None:
    assert list(layout.placement(CASE, [instance(0, "0", "0"), instance(1, "1", "1")], [H1, H2])) == []
    assert list(layout.placement(CASE, [instance(0, None, None), instance(1, None, None)], [H1, H2])) == []


SENDER, RECEIVER = end_of("sender", 0.5), end_of("receiver", 0.5)


def lossy(lost: int, sender: dict[str, float | None], receiver: dict[str, float | None]) -> list[Flag]:
    """All that is told of datagrams and drops where 10,000 were sent."""
    one = replace(instance(0, None, None), packets=10_000, lost_packets=lost)
    ends = replace(SENDER, counters=sender), replace(RECEIVER, counters=receiver)
    told = load.is_lossy([one])
    dropped = [flag for end in ends for flag in network.drops(end, datagrams_told=told)]
    return [*load.datagrams(CASE, [one], ends[:1], ends[1:]), *dropped]


@pytest.mark.parametrize(("lost", "told"), [(0, False), (9, False), (10, True), (5000, True)])
def test_udp_loss_is_told_from_one_in_a_thousand(lost: int, told: bool) -> None:
    flags = lossy(lost, {}, {})
    assert codes(flags) == (["udp-loss"] if told else [])
    assert all(f"{lost} of 10000 datagrams lost" in flag.evidence for flag in flags)


def test_a_step_of_a_search_loses_on_purpose_and_that_is_no_finding() -> None:
    one = replace(instance(0, None, None), packets=10_000, lost_packets=5000)
    assert codes([*load.datagrams(CASE, [one], [SENDER], [RECEIVER])]) == ["udp-loss"]
    assert codes([*load.datagrams(replace(CASE, search="rate"), [one], [SENDER], [RECEIVER])]) == []


def test_what_is_lost_while_counters_are_read_once_is_nobody_elses() -> None:
    one = replace(instance(0, None, None), packets=10_000, lost_packets=1000)
    receiver = replace(RECEIVER, counters={"nstat.UdpRcvbufErrors": 1300.0})
    between = "counters are read every 10 s: 900 to 1300 in the window"
    for over, said in ((200, "300 of these were not the load's datagrams"), (400, between)):
        (flag,) = load.datagrams(CASE, [one], [SENDER], [receiver], Unsure(over=over, interval_s=10.0))
        assert flag.evidence.endswith(said)


def test_what_is_dropped_between_readings_and_not_by_the_load_is_at_no_place_not_known() -> None:
    one = replace(instance(0, None, None), packets=10_000, lost_packets=1000)
    ends = (
        replace(SENDER, counters={"qdisc.dropped": 0.0}),
        replace(RECEIVER, counters={"nic.rx_dropped": 600.0}),
    )
    for short, said in (
        (100, "400 at an unknown place"),
        (400, "counters are read every 1 s: 600 to 1000"),
    ):
        (flag,) = load.datagrams(CASE, [one], ends[:1], ends[1:], Unsure(short=short, interval_s=1.0))
        assert said in flag.evidence


@pytest.mark.parametrize(
    ("sender", "receiver", "where", "said"),
    [
        ({}, {"nstat.UdpRcvbufErrors": 990.0}, "h2", "990 in the receive buffer of the UDP socket on h2"),
        ({"qdisc.dropped": 1000.0}, {}, "h1", "1000 in the queueing discipline (qdisc) on h1"),
        ({"nic.tx_fifo_errors": 1000.0}, {}, "h1", "1000 in the sending NIC (errors) on h1"),
        ({"nstat.UdpSndbufErrors": 1000.0}, {}, "h1", "1000 in the send buffer of the UDP socket on h1"),
        ({}, {"nstat.IpInDiscards": 1000.0}, "h2", "1000 by IP on h2"),
        ({}, {"nstat.UdpMemErrors": 1000.0}, "h2", "1000 at the UDP socket (no memory) on h2"),
        (
            {"qdisc.dropped": 300.0},
            {"nstat.UdpRcvbufErrors": 400.0},
            "h2",
            "400 in the receive buffer of the UDP socket on h2, 300 in the queueing discipline (qdisc) on "
            "h1, 300 at an unknown place: no counter of either host recorded them",
        ),
        (
            {},
            {"nstat.UdpRcvbufErrors": 0.0},
            "h2",
            "1000 at an unknown place: no counters of h1 were read",
        ),
        (
            {"qdisc.dropped": 990.0, "nstat.IpOutDiscards": 990.0, "nstat.UdpSndbufErrors": 1000.0},
            {},
            "h1",
            "990 in the queueing discipline (qdisc) on h1, 10 in the send buffer of the UDP socket on h1",
        ),
        (
            {"qdisc.dropped": 0.0},
            {"nic.rx_dropped": 1500.0},
            "h2",
            "500 of these were not the load's datagrams",
        ),
    ],
)
def test_one_loss_is_told_once_with_the_place_where_it_was(
    sender: dict[str, float | None], receiver: dict[str, float | None], where: str, said: str
) -> None:
    (flag,) = lossy(
        1000, {"qdisc.dropped": 0.0, **sender} if receiver != {"nstat.UdpRcvbufErrors": 0.0} else {}, receiver
    )
    assert (flag.code, flag.where) == ("udp-loss", where)
    assert said in flag.evidence


def test_a_full_backlog_is_counted_once_though_two_counters_have_it() -> None:
    (flag,) = lossy(1000, {"qdisc.dropped": 0.0}, {"softnet.dropped": 1000.0, "nic.rx_dropped": 1000.0})
    assert flag.evidence.endswith("(10.00 %): 1000 in the backlog of a CPU (softnet) on h2")


def test_drops_that_are_not_the_loads_loss_are_told_beside_it() -> None:
    loss, drops = lossy(1000, {"nic.rx_missed_errors": 7.0}, {"nstat.UdpRcvbufErrors": 1000.0})
    assert (loss.code, drops.code, drops.where) == ("udp-loss", "packets-dropped", "h1")


def test_datagrams_out_of_order_are_told() -> None:
    one = replace(instance(0, None, None), packets=1000, lost_packets=0, out_of_order_packets=5)
    (told,) = load.datagrams(CASE, [one], [SENDER], [RECEIVER])
    assert (told.code, told.where) == ("udp-out-of-order", "h2")
    several = Case("udp-1500", **group_of("many-to-one", (("h1", "h2"), ("h3", "h2"))))
    (told,) = load.datagrams(several, [one], [SENDER], [RECEIVER])
    assert told.where == "h1 → h2", "of the pair whose instance it is"


def test_a_start_or_a_clock_that_is_not_known_well_is_told() -> None:
    clocks = {"h1": Offset(3.0, 0.2), "h2": Offset(-2.0, 0.001)}
    flags = list(window.alignment([run_of([1e9] * 3, uncertainty_s=0.4)], clocks))
    assert codes(flags) == ["start-uncertain", "clock-uncertain"]
    assert "±200 ms" in flags[1].evidence
    well = window.alignment([run_of([1e9] * 3, uncertainty_s=0.09)], {"h2": Offset(-2.0, 0.04)})
    assert codes(well) == []
    hardly = window.alignment([run_of([1e9] * 3, uncertainty_s=0.11)], {"h2": Offset(-2.0, 0.06)})
    assert codes(hardly) == ["start-uncertain", "clock-uncertain"]


@pytest.mark.parametrize(
    ("version", "rate_bps", "told"),
    [
        ("3.12", 1e9, False),
        ("3.16", 1e9, True),
        ("3.17.1+", 1e9, True),
        ("3.18", 1e9, False),
        ("3.17", None, False),
    ],
)
def test_an_iperf3_that_spins_between_packets_is_told(
    version: str, rate_bps: float | None, told: bool
) -> None:
    run = EndRun(LoadEnd(True, version, (), 1.0, None), 0.0, 0.0)
    flags = load.spinning(replace(CASE, rate_bps=rate_bps), [run], LOADS["iperf3"])
    assert codes(flags) == (["load-spins"] if told else [])


@pytest.mark.parametrize(
    "channel",
    [channel for cause in DROP_CAUSES if cause.is_drop and cause.is_packets for channel in cause.channels],
)
def test_whatever_a_soak_counts_as_a_drop_is_told_of_a_trial(channel: str) -> None:
    end = replace(end_of("receiver", 0.5), counters={channel: 12.0, "nstat.UdpNoPorts": 3.0})
    (flag,) = network.drops(end)
    assert flag.code == "packets-dropped"
    assert flag.evidence.startswith("dropped in the window: 12 ")
    assert f"({channel})" in flag.evidence


@pytest.mark.parametrize(("dropped", "told"), [(99.0, False), (100.0, True)])
def test_a_few_among_a_million_are_no_finding(dropped: float, told: bool) -> None:
    counters: dict[str, float | None] = {
        "nic.rx_dropped": dropped,
        "nic.rx_packets": 1e6,
        "nic.tx_packets": 9e9,
    }
    assert bool(list(network.drops(replace(end_of("receiver", 0.5), counters=counters)))) is told


def test_a_counter_that_could_not_be_read_is_not_taken_for_no_drops_nor_for_drops() -> None:
    assert list(network.drops(replace(end_of("receiver", 0.5), counters={"softnet.dropped": None}))) == []


def mpstat(received_s: float, stamp: str) -> Record:
    return Record(received_s, 1.0, f'"timestamp": "{stamp}",\n"cpu-load": [\n]')


def test_a_record_that_arrives_long_after_its_own_stamp_is_told() -> None:
    noon_s = 12 * 3600.0
    on_time = Reading("h1", "mpstat", (mpstat(noon_s + 0.4, "12:00:00"),))
    late = Reading("h1", "mpstat", (mpstat(noon_s + 4.4, "12:00:00"),))
    end = end_of("sender", 0.5)
    assert list(window.sensors(end, [on_time], Offset(0.0, 0.0))) == []
    assert codes(window.sensors(end, [late], Offset(0.0, 0.0))) == ["sensor-late"]


@pytest.mark.parametrize(
    ("since", "silent_s", "told"),
    [(12, 2.4, False), (12, 2.6, True), (3, 5.0, False), (6, 5.0, True), (15, 5.0, True), (16, 5.0, False)],
)
def test_a_host_of_which_nothing_was_heard_for_a_part_of_the_window_stood_still(
    since: int, silent_s: float, told: bool
) -> None:
    """A record a second but for one, and a window from 10 s to 16 s."""
    before = [Record(float(end_s), 1.0, "") for end_s in range(since + 1)]
    after = [Record(since + silent_s + later, 1.0, "") for later in range(1, 10)]
    reading = Reading("h1", "mpstat", (*before, Record(since + silent_s, silent_s, ""), *after))
    flags = list(window.standstill("h1", [reading], Window(10.0, 16.0)))
    assert codes(flags) == (["host-stood-still"] if told else [])
    other = replace(reading, source="bmc")
    assert list(window.standstill("h1", [other], Window(10.0, 16.0))) == []


def test_a_host_clock_that_is_apart_does_not_look_late() -> None:
    reading = Reading("h1", "mpstat", (mpstat(12 * 3600.0, "12:05:00"),))
    assert list(window.sensors(end_of("sender", 0.5), [reading], Offset(300.4, 0.001))) == []


def test_records_that_cannot_be_read_and_a_silent_mpstat_are_told() -> None:
    unreadable = Record(1.0, 1.0, "", problem="mpstat: the CPU table cannot be read")
    reading = Reading("h1", "mpstat", (unreadable,))
    flags = window.sensors(end_of("sender", None), [reading], Offset(0.0, 0.0))
    assert codes(flags) == ["sensor-unreadable", "cpu-missing"]
