# SPDX-License-Identifier: Apache-2.0
"""Two hosts that send to each other at once: each has both roles, and is told by its name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.groups import DUT, both_ways
from tests.unit.engine.test_groups import HOSTS

from linewatt.analysis.cases.detail import detail_blocks
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.limits.ceiling import Ceiling, ceiling
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.model import TcpState
from linewatt.report.trials.answer.limits import limit_forms
from linewatt.report.trials.charts.paired_bars import paired_figures
from linewatt.report.trials.detail import layout

WAYS = ["dut ⇄ g1", "dut → g1", "g1 → dut"]
LOST: dict[str, dict[str, Any]] = {
    "dut → g1": {"lost": (500_000, 0), "offered": (6e9, 3e9)},
    "g1 → dut": {"lost": (0, 500_000), "offered": (3e9, 6e9)},
}
"""half of what is sent one of the ways does not arrive"""


def told(*args: Any, **keys: Any) -> dict[str, CaseSummary]:
    return {one.case.way: one for one in summarise(both_ways(*args, **keys))}


@pytest.mark.parametrize("test", ["tcp", "udp-1472"])
@pytest.mark.parametrize("host", [DUT, "g1"])
def test_a_full_host_is_the_limit_of_both_ways_by_its_name_and_no_fault_of_the_test_bed(
    host: str, test: str
) -> None:
    rows = told(host, test=test)
    assert [*rows] == WAYS
    assert {one.limit.what for one in rows.values()} == {f"{host}'s app CPU"}
    assert [rows[way].limit.kind for way in WAYS[1:]] == [
        "sender-app-cpu" if way.startswith(host) else "receiver-app-cpu" for way in WAYS[1:]
    ]
    whole = rows["dut ⇄ g1"].limit
    other = "g1" if host == DUT else DUT
    assert whole.margin == f"the next is {other}'s app CPU, 35.0 %"
    assert set(whole.unknown) == {"dut's IRQ CPU", "g1's IRQ CPU"}
    assert not any(one.case_flags for one in rows.values())


def test_few_words_of_a_limit_have_its_host_once() -> None:
    fullest, *_ = limit_forms(told(DUT)["dut ⇄ g1"])
    assert fullest == "limited by dut's app CPU (99.5 %), not by g1, whose busiest CPU is at 35 %"


def test_windows_that_fill_up_before_a_full_host_limit_neither_of_its_pairs() -> None:
    waiting = TcpState(1, busy_s=10.0, rwnd_limited_s=9.5, sndbuf_limited_s=0.0)

    def whats(full: str | None) -> list[str]:
        trials = [
            replace(one, instances=tuple(replace(each, tcp=waiting) for each in one.instances))
            for one in both_ways(full, test="tcp")
        ]
        return [one.limit.what for one in summarise(trials)]

    assert whats(DUT) == ["dut's app CPU"] * 3
    window = "the receiver's TCP window"
    assert whats(None) == [f"{window} (dut → g1, g1 → dut)", window, window]


def test_a_full_line_one_of_the_ways_is_no_limit_inside_the_device() -> None:
    def level(*rates: float) -> Ceiling | None:
        known = [
            one.with_ends(lambda end: replace(end, irq_cpu=end.app_cpu, hottest_irq=end.hottest_app))
            for one in both_ways(rates=(rates[0], rates[1]))
        ]
        whole, *_ = summarise(known)
        assert not whole.limit.found
        return ceiling([whole], 0, ("more instances bring no more",))

    room = level(3e9, 3e9)
    assert room
    assert "no full CPU: busiest g1's app CPU, 35.0 %" in room.evidence
    assert level(9.3e9, 3e9) is None


def test_where_nothing_is_full_the_busiest_is_named_by_its_host() -> None:
    limit = told()["dut ⇄ g1"].limit
    assert limit.kind == "not-found"
    assert "busiest: g1's app CPU, 35.0 %" in limit.words
    assert "sender" not in limit.words + limit.margin
    assert "receiver" not in limit.words + limit.margin


@pytest.mark.parametrize("host", [DUT, "g1"])
@pytest.mark.parametrize("process", [(0.99, 0.3), (0.3, 0.99)])
def test_a_busy_process_is_that_of_the_host_it_runs_on(host: str, process: tuple[float, float]) -> None:
    cores = {DUT: (0.3, 0.3), "g1": (0.3, 0.3)} | {host: process}
    whole = told(test="tcp", cores=cores)["dut ⇄ g1"].limit
    assert whole.what == f"{host}'s app CPU"
    assert [one.host for one in whole.named] == [host]


def test_detail_counts_at_a_host_what_it_sent_and_what_it_received() -> None:
    trials = [
        one.with_ends(lambda end: replace(end, irq_cpu=end.app_cpu))
        for one in both_ways(rates=(1e9, 1e9), offered=(1e9, 10e9), lost=(0, 900_000))
    ]
    blocks = {one.host: one for one in detail_blocks(trials)}
    assert {host: one.throughput_bps and one.throughput_bps.mean for host, one in blocks.items()} == {
        DUT: pytest.approx(2e9),
        "g1": pytest.approx(11e9),
    }
    dut = blocks[DUT]
    assert dut.cpu_used_cores
    assert dut.cpu_cores_per_bps
    assert dut.cpu_cores_per_bps.mean == pytest.approx(dut.cpu_used_cores.mean / 2e9)
    for block in blocks.values():
        shown = layout(block)
        assert (block.connection, shown.role) == ("both", "srv+clt(rcv+snd)")
        assert shown.rates[0].title == "Throughput, sent and received"


def test_no_bars_of_what_was_generated_and_what_was_received_where_hosts_do_both() -> None:
    blocks = detail_blocks(both_ways())
    other = [replace(one, case=replace(one.case, network="vxlan")) for one in blocks]
    assert paired_figures([*blocks, *other], {}) == ()


@pytest.mark.parametrize("way", [*LOST])
@pytest.mark.parametrize(
    ("counter", "at_sender", "kind", "words"),
    [
        ("qdisc.dropped", True, "sender-queue", "queueing discipline"),
        ("nic.rx_missed_errors", False, "receiver-ring", "NIC ring"),
        ("softnet.dropped", False, "receiver-backlog", "softnet backlog"),
        ("nstat.UdpRcvbufErrors", False, "receiver-socket-buffer", "UDP socket buffer"),
    ],
)
def test_every_queue_of_either_host_explains_the_loss_of_its_own_way(
    way: str, counter: str, at_sender: bool, kind: str, words: str
) -> None:
    sender, receiver = way.split(" → ")
    host, other = (sender, receiver) if at_sender else (receiver, sender)
    rows = told(**LOST[way], dropped={host: {counter: 5e5}})
    for limit in (rows["dut ⇄ g1"].limit, rows[way].limit):
        assert (limit.kinds, limit.what) == ((kind,), f"{host}'s {words}")
        assert f"dropped most of what was lost on {way}" in limit.evidence
    assert not rows[f"{receiver} → {sender}"].limit.found, "all of that way arrives"
    elsewhere = told(**LOST[way], dropped={other: {counter: 5e5}})["dut ⇄ g1"].limit
    assert not elsewhere.found, "it is on the other way, of which all arrives"


def test_queues_of_both_hosts_are_both_named() -> None:
    drops = {host: {"nstat.UdpRcvbufErrors": 5e5} for host in (DUT, "g1")}
    rows = told(lost=(500_000, 500_000), offered=(6e9, 6e9), dropped=drops)
    limit = rows["dut ⇄ g1"].limit
    assert limit.what == "g1's UDP socket buffer and dut's UDP socket buffer"
    assert limit.kinds == ("receiver-socket-buffer",)
    assert rows["dut → g1"].limit.what == "g1's UDP socket buffer"
    assert rows["g1 → dut"].limit.what == "dut's UDP socket buffer"


def test_the_cost_of_a_packet_is_not_promised_where_a_host_sends_and_receives(tmp_path: Path) -> None:
    def notes(pair: str) -> str:
        meter = {"power": {"rapl": {"driver": "rapl"}}}
        hosts = {name: HOSTS[name] | meter for name in ("g1", DUT)}
        tests = [{"test": f"udp-{size}", "rate": rate} for rate in ("1G", "2G") for size in (512, 1500)]
        file = tmp_path / "both.yaml"
        file.write_text(
            json.dumps({"name": "n", "hosts": hosts, "pairs": [pair], "tests": tests, "trials": 1})
        )
        return "\n".join(plan_campaign(load_campaign(file), 0).notes)

    assert "tells what a packet costs" in notes("g1 -> dut")
    assert "tells what a packet costs" not in notes("g1 <-> dut")
