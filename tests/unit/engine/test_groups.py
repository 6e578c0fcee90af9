# SPDX-License-Identifier: Apache-2.0
"""Pairs of hosts that run at once: from the file to the plan, one trial of them, and what is told of each."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.compare_factories import courses_of_sides
from tests.documents import valid
from tests.groups import DUT, EVEN, group
from tests.report_factories import host, result
from tests.unit.program.test_campaign_bad import BAD
from tests.wiring import GOODPUT_BPS, SECONDS, Change, Given, both, counters, cpu, rates, story

from linewatt.analysis.cases import regimes
from linewatt.analysis.cases.flows import flow_trials
from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.comparison.case_runs import CaseRuns, Measured, runs_by_case
from linewatt.analysis.comparison.matching import Side, match_two
from linewatt.analysis.flags.group import slower_pairs
from linewatt.analysis.limits.group import verdicts
from linewatt.analysis.limits.verdict import Limit
from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign, Group
from linewatt.campaign.entries.pairs import parse_pair
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live.line_rate import LineLimit, line_of_group
from linewatt.engine.live.trial_run import together
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.checks import network
from linewatt.engine.measuring.checks.load import datagrams
from linewatt.engine.measuring.measure import measure
from linewatt.engine.measuring.plain_json import decoded, encoded
from linewatt.json_document import document_of
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import FTP, Case, CpuShares, Flag, FlowResult, TcpState, Trial, group_of
from linewatt.records import Campaign as Asked
from linewatt.report.printing.html import render_html
from linewatt.report.series import case_labels
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.answer.limits import limit_forms
from linewatt.report.trials.digest import case_rows, digest_document, digest_of, trial_rows
from linewatt.report.trials.every_trial import trials_table

HOSTS = {
    name: {"address": f"192.0.2.{at}", "data": "eth1", "app_cpus": cpus}
    for at, (name, cpus) in enumerate({"g1": "0-3", "g2": "0-3", "g3": "0-3", "dut": "0-7"}.items(), start=1)
}
TO_DUT = (("g1", "dut"), ("g2", "dut"), ("g3", "dut"))
SLOW: dict[int, Change] = {
    2: both(cpu("h1", 0, usr=0.05, sys=0.945), story(load_cores={"h1": 0.99, "h2": 0.6}))
}
"""the third generator's CPU is full"""


def loaded(tmp_path: Path, *pairs: str, **keys: Any) -> Campaign:
    file = tmp_path / "groups.yaml"
    document = {"name": "n", "hosts": HOSTS, "pairs": pairs, "tests": ["tcp"], "trials": 1, **keys}
    file.write_text(json.dumps(document))
    return load_campaign(file)


# --- the file and the plan


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a -> b", ("a", "b")),
        ("a+b -> c", Group("many-to-one", (("a", "c"), ("b", "c")))),
        (" a -> b  +c ", Group("one-to-many", (("a", "b"), ("a", "c")))),
        ("a-1 <-> b", Group("both-ways", (("a-1", "b"), ("b", "a-1")))),
        ("a → b", ("a", "b")),
        ("a ⇄ b", Group("both-ways", (("a", "b"), ("b", "a")))),
        ("a→b→c→a", Group("ring", (("a", "b"), ("b", "c"), ("c", "a")))),
    ],
)
def test_an_entry_of_pairs_says_who_sends_to_whom_at_once(text: str, found: object) -> None:
    assert parse_pair(text) == found


def test_every_process_on_the_shared_host_has_a_cpu_and_a_port_of_its_own(tmp_path: Path) -> None:
    found = plan_campaign(loaded(tmp_path, "g1 + g2 + g3 -> dut", instances=[2]), 0)
    (trial,) = found.trials
    assert trial.case.hosts == ("g1", "g2", "g3", "dut")
    assert (trial.case.sender, trial.case.receiver) == ("g1 + g2 + g3", "dut")
    assert [one.receiver_cpu for one in trial.instances] == ["0", "1", "2", "3", "4", "5"]
    assert [one.sender_cpu for one in trial.instances] == ["0", "1"] * 3
    assert len({one.port for one in trial.instances}) == 6
    assert [(one.case.sender, [each.instance for each in one.instances]) for one in trial.flows] == [
        ("g1", [0, 1]),
        ("g2", [2, 3]),
        ("g3", [4, 5]),
    ]


def test_both_ways_a_host_sends_and_receives_on_cpus_apart(tmp_path: Path) -> None:
    (trial,) = plan_campaign(loaded(tmp_path, "g1 <-> dut"), 0).trials
    assert [(one.sender_cpu, one.receiver_cpu) for one in trial.instances] == [("0", "0"), ("1", "1")]
    assert [flow.case.hosts for flow in trial.flows] == [("g1", "dut"), ("dut", "g1")]
    assert trial.case.way == "g1 ⇄ dut"


def test_processes_of_all_pairs_that_share_cpus_of_a_host_are_noted(tmp_path: Path) -> None:
    found = plan_campaign(loaded(tmp_path, "g1 + g2 + g3 -> dut", instances=[3]), 0)
    assert "dut: 9 instances on 8 CPUs (0-7), so that they share" in found.notes


def test_a_group_is_a_case_of_its_own_and_is_read_back(tmp_path: Path) -> None:
    found = loaded(tmp_path, "g1 + g2 + g3 -> dut", "g1 -> dut")
    alone, together_ = plan_campaign(found, 0).cases
    assert alone.key == Case("tcp", "g1", "dut").key, "beside a group, a pair is what it ever was"
    assert len({one.key for one in (alone, together_, *together_.pairs)}) == 3
    document = plan_as_dict(plan_campaign(found, 0))
    assert "shape" not in document["cases"][0]
    assert document["cases"][1]["shape"] == "many-to-one"
    assert json.loads(json.dumps(document)) == document, "or resume takes it for another plan"
    assert (
        stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(found)))).groups
        == found.groups
    )
    assert decoded(Case, json.loads(json.dumps(encoded(together_)))) == together_


def test_a_campaign_without_groups_is_in_documents_as_it_ever_was(tmp_path: Path) -> None:
    found = loaded(tmp_path, "g1 -> dut")
    assert "groups" not in stored.campaign_as_dict(found)
    one = Trial(1, 1, Case("tcp", "a", "b"), "k", "failed", 0.0)
    assert not {"shape", "flows", "flow_of", "pairs"} & {*document_of(one), *document_of(one)["case"]}
    assert not {"shape", "flows", "flow_of"} & {*encoded(one.case)}


def test_groups_of_several_shapes_may_have_a_pair_in_common(tmp_path: Path) -> None:
    pairs = ("g1 + g2 + g3 -> dut", "dut -> g1 + g2", "g1 <-> dut", "g1 -> dut")
    groups = loaded(tmp_path, *pairs).groups
    flows = [pair for one in groups for pair in Case("tcp", **group_of(one.shape, one.flows)).pairs]
    assert len({*case_labels(flows).values()}) == len({(one.key, one.ways) for one in flows}) == 7


def test_what_a_group_cannot_be_combined_with_is_refused_file_by_file() -> None:
    """tests/unit/program/test_campaign_bad.py reads every one of them."""
    assert len([*BAD.glob("group-with-*.yaml")]) >= 10


# --- one trial


def test_sums_are_those_of_all_pairs_and_the_shared_host_is_counted_once() -> None:
    trial = group().trial()
    assert trial.status == "done", trial.reason
    assert not trial.flags
    flows = [*flow_trials(trial)]
    assert trial.throughput_bps == sum(one.throughput_bps or 0 for one in flows)
    assert trial.receiver is not None
    assert trial.receiver.host == DUT
    assert trial.receiver.load_cpu_cores == pytest.approx(3 * 0.6)
    assert trial.receiver.app_cpu is not None
    assert trial.receiver.app_cpu.cpus == (0, 2, 3)
    assert trial.sender is None, "three hosts send: none of them is the sender"
    assert [one.sender.host for one in flows if one.sender] == ["g1", "g2", "g3"]
    assert all(one.receiver is None for one in flows), "nobody knows which part of it is whose"
    assert all(flow.end and flow.end.power and flow.end.cpu_cores for flow in trial.flows)


def test_a_pair_of_which_no_line_and_end_are_stored_has_what_its_instances_counted() -> None:
    trial = group().trial()
    whole = [*flow_trials(trial)]
    damaged = [*flow_trials(replace(trial, flows=trial.flows[:0:-1]))]
    assert [one.throughput_bps for one in damaged] == [one.throughput_bps for one in whole]
    assert [one.sender for one in damaged] == [None, whole[1].sender, whole[2].sender]


def test_one_to_many_the_sender_is_the_shared_host() -> None:
    trial = group(shape="one-to-many").trial()
    assert trial.sender is not None
    assert (trial.sender.host, trial.receiver) == (DUT, None)
    assert [one.receiver.host for one in flow_trials(trial) if one.receiver] == ["g1", "g2", "g3"]


def test_the_groups_own_packets_are_nobody_elses_and_those_of_others_are_told() -> None:
    assert "neighbour-traffic" not in codes(group().trial())
    noisy = group(dut=counters("h2", "nic.rx_bytes", 20e9)).trial()
    assert [one.where for one in noisy.flags if one.code == "neighbour-traffic"] == [DUT]


def test_others_on_the_shared_host_are_told_beside_the_processes_of_all_pairs() -> None:
    assert "foreign-load" not in codes(group().trial())
    busy = group(dut=cpu("h2", 3, usr=0.35, sys=0.6)).trial()
    (flag,) = [one for one in busy.flags if one.code == "foreign-load"]
    assert flag.where == DUT
    assert "app CPU 0,2-3" in flag.evidence


def test_a_pair_of_which_nothing_arrived_fails_the_trial_and_is_named() -> None:
    trial = group((EVEN[0], 0.0, EVEN[2])).trial()
    assert trial.status == "failed"
    assert "nothing of g2's arrived at dut" in str(trial.reason)
    assert [one.status for one in flow_trials(trial)] == ["failed"] * 3


def test_a_pair_whose_load_failed_is_named_in_the_trials_reason() -> None:
    given = group()
    runs = [replace(given.run, planned=one) for one in given.run.planned.flows]
    runs[1] = replace(runs[1], failure="iperf3 was refused")
    found = together(given.run.planned, runs, None)
    assert found.failure == "g2 → dut: iperf3 was refused"


def test_what_keeps_all_pairs_from_beginning_is_laid_to_none_of_them() -> None:
    given = group()
    why = "g3: mtu eth1 was set to '9000' but reads '1500'; the kernel does not take this value"
    runs = [replace(given.run, planned=one, failure=why) for one in given.run.planned.flows]
    assert together(given.run.planned, runs, None).failure == why
    assert together(given.run.planned, runs[:1], None).failure == f"g1 → dut: {why}", "the others were ready"
    runs[1] = replace(runs[1], failure="iperf3 was refused")
    assert together(given.run.planned, runs, None).failure == f"g1 → dut: {why} (and 2 more pairs)"


def test_a_trial_is_the_same_made_again_from_what_is_kept_of_it() -> None:
    given = group()
    first = measure(given.run, given.readings, given.setup, Iperf3(), 0.05)
    again = run_record.read(first.raw["run.json"], first.raw, given.setup.hosts, Iperf3())
    assert again.run.planned == given.run.planned
    assert again.run.flows == given.run.flows
    measured = measure(again.run, given.readings, again.setup, Iperf3(), 0.05)
    assert document_of(measured.trial) == document_of(first.trial)


WAYS = {"one": LineLimit(1e9, "link", "g1"), "two": LineLimit(2e9, "shaper", "g2")}
"""what the lines of two pairs carry"""


@pytest.mark.parametrize(
    ("shape", "shared_bps", "found"),
    [
        ("many-to-one", 2.5e9, (2.5e9, "dut")),
        ("many-to-one", 10e9, (3e9, "g1, g2")),
        ("both-ways", None, (3e9, "g1, g2")),
        ("many-to-one", None, None),
    ],
)
def test_a_group_gets_what_its_narrowest_line_or_all_of_the_others_carry(
    shape: Any, shared_bps: float | None, found: tuple[float, str] | None
) -> None:
    flows = (("g1", "dut"), ("dut", "g1")) if shape == "both-ways" else TO_DUT[:2]
    shared = None if shared_bps is None else LineLimit(shared_bps, "link", "dut")
    limit = line_of_group(Case("tcp", **group_of(shape, flows)), [*WAYS.values()], shared)
    assert (limit and (limit.goodput_bps, limit.host)) == found
    assert line_of_group(Case("tcp", **group_of(shape, flows)), [WAYS["one"], None], shared) is None


# --- what is told


def codes(trial: Trial) -> list[str]:
    return [flag.code for flag in trial.flags]


def trials(given: Given, count: int = 3) -> list[Trial]:
    one = given.trial()
    return [replace(one, number=number, repetition=number) for number in range(1, count + 1)]


def told(given: Given) -> dict[str, CaseSummary]:
    return {one.case.way: one for one in summarise(trials(given))}


def test_a_row_of_all_and_a_row_a_pair_each_with_the_ends_whose_figures_it_has() -> None:
    rows = told(group())
    assert [*rows] == ["g1 + g2 + g3 → dut", "g1 → dut", "g2 → dut", "g3 → dut"]
    whole, first, *_ = rows.values()
    assert whole.throughput_bps
    assert whole.throughput_bps.mean == pytest.approx(sum(EVEN), rel=1e-4)
    assert whole.efficiency_receiver_bps_per_core
    cores = whole.cpu_cores("receiver")
    assert cores
    assert whole.efficiency_receiver_bps_per_core.mean == pytest.approx(sum(EVEN) / cores.mean, rel=1e-4)
    assert whole.receiver_power
    assert whole.receiver_power.values["energy_j_per_bit"]
    energy = whole.receiver_power.values["energy_j_per_bit"]
    assert whole.receiver_power.system_w
    assert energy
    assert energy.mean == pytest.approx(whole.receiver_power.system_w.mean / sum(EVEN), rel=1e-4)
    assert whole.sender_power is None
    assert (
        whole.reasons["sender_cpu_cores"] == "several hosts: the CPU use of each sender is shown at its pair"
    )
    assert first.sender_power is not None
    assert first.receiver_power is None
    why = "dut is in 3 pairs at once: its CPU use covers all of them together"
    assert first.reasons["receiver_cpu_cores"] == first.reasons["receiver_power"] == why


def test_what_limits_all_pairs_limits_each_of_which_nothing_else_is_known_to() -> None:
    rows = told(group())
    assert {one.limit.kind for one in rows.values()} == {"line-rate"}
    assert rows["g1 → dut"].limit.evidence.startswith("of all pairs together: ")
    assert not any(one.case_flags for one in rows.values())


def test_a_slow_generator_is_named_with_its_own_limit_and_the_others_are_not() -> None:
    rows = told(group((3e9, 3e9, 1e9), generators=SLOW))
    whole = rows["g1 + g2 + g3 → dut"]
    (slower,) = [flag for flag in whole.case_flags if flag.code == "slower-pair"]
    assert slower.where == "g3 → dut"
    assert "1.00 Gbps; the other pairs have 3.00 Gbps" in slower.evidence
    assert "single pairs are limited by the sender's app CPU (g3)" in whole.limit.words
    assert limit_forms(whole)[-1] == "no limit found but that of g3"
    assert rows["g3 → dut"].limit.kind == "sender-app-cpu"
    flagged = {way: [flag.code for flag in one.case_flags] for way, one in rows.items()}
    assert flagged["g3 → dut"] == ["test-bed-is-the-limit"]
    assert flagged["g1 → dut"] == flagged["g2 → dut"] == []


@pytest.mark.parametrize(
    ("shape", "limited", "brief"),
    [
        ("many-to-one", ("g1",), "no limit found but that of g1"),
        ("many-to-one", ("g1", "g2"), "no limit found but those of g1, g2"),
        ("both-ways", ("dut",), "no limit found but that of dut → g1"),
        ("both-ways", (), "no limit found"),
    ],
)
def test_where_nothing_limits_all_pairs_the_fewest_words_name_those_that_have_a_limit(
    shape: Any, limited: tuple[str, ...], brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("tcp", **group_of(shape, (("g1", DUT), (DUT, "g1")) if shape == "both-ways" else TO_DUT))
    full = Limit(("sender-app-cpu",), "the sender's app CPU", ("99 %",))
    free = Limit(("not-found",), "no limit found", ())
    known: Any = {one: full if one.sender in limited else free for one in (case, *case.pairs)}
    monkeypatch.setattr("linewatt.analysis.limits.group.verdict", lambda own: own)
    whole: Any = SimpleNamespace(case=case, limit=verdicts(known)[case])
    assert limit_forms(whole)[-1] == brief


def test_a_generator_is_no_limit_of_the_test_bed_where_the_shared_host_is_full() -> None:
    full = cpu("h2", 0, usr=0.05, sys=0.94)
    rows = told(group((3e9, 3e9, 1e9), generators=SLOW, dut=full))
    assert not any(flag.code == "test-bed-is-the-limit" for one in rows.values() for flag in one.case_flags)


def test_a_generator_whose_own_line_is_full_is_the_test_bed_too() -> None:
    given = group((3e9, 3e9, 1e9))
    line = LineLimit(1.01e9, "link", "g3")
    given = replace(given, run=replace(given.run, flows=(*given.run.flows[:2], line)))
    rows = told(given)
    assert rows["g3 → dut"].limit.kind == "line-rate"
    flagged = {way: [flag.code for flag in one.case_flags] for way, one in rows.items()}
    assert flagged["g3 → dut"] == ["test-bed-is-the-limit"]


def test_a_full_line_of_the_shared_host_is_no_generators_fault() -> None:
    given = group((4e9, 4e9, 1e9), generators=SLOW)
    rows = told(given)
    assert rows["g1 + g2 + g3 → dut"].limit.kind == "line-rate"
    assert rows["g3 → dut"].limit.kind == "sender-app-cpu"
    assert not any(flag.code == "test-bed-is-the-limit" for one in rows.values() for flag in one.case_flags)


def test_a_paced_generator_is_no_limit_of_the_test_bed() -> None:
    given = group((3e9, 3e9, 1e9), generators=SLOW)
    case = replace(given.run.planned.case, rate_bps=3e9)
    rows = summarise([replace(one, case=case, case_key=case.key) for one in trials(given)])
    found = {flag.code for one in rows for flag in one.case_flags}
    assert "test-bed-is-the-limit" not in found
    assert {"slower-pair", "rate-not-reached"} <= found


def test_a_pair_that_waits_for_the_shared_hosts_window_is_no_fault_of_its_generator() -> None:
    one = group((3e9, 3e9, 1e9)).trial()
    states = [
        TcpState(1, busy_s=10.0, rwnd_limited_s=waited_s, sndbuf_limited_s=0.0) for waited_s in (0, 0, 9)
    ]
    waiting = tuple(replace(own, tcp=tcp) for own, tcp in zip(one.instances, states, strict=True))
    rows = {row.case.way: row for row in summarise([replace(one, instances=waiting)])}
    assert rows["g3 → dut"].limit.kind == "receive-window"
    assert not any(flag.code == "test-bed-is-the-limit" for flag in rows["g3 → dut"].case_flags)


@pytest.mark.parametrize(("bps", "kind"), [(EVEN, "line-rate"), ((1e9, 1e9, 1e9), "retransmits")])
def test_a_pair_that_loses_segments_is_limited_by_that_unless_a_line_of_all_is_full(
    bps: tuple[float, ...], kind: str
) -> None:
    rows = summarise([group(bps, generators={1: story(again=0.03)}).trial()])
    assert [row.limit.kind for row in rows if row.case.sender == "g2"] == [kind]


def lossy(*lost: int, packets: int = 1_000_000, socket: float = 0.0) -> list[Trial]:
    """Datagrams of three pairs, of which so many are lost, ``socket`` of them at the DUT's."""
    model = group().trial()
    case = Case("udp-1500", **group_of("many-to-one", TO_DUT))
    instances = tuple(
        replace(
            one,
            packets=packets,
            lost_packets=gone,
            tcp=None,
            throughput_bps=3e9 * (1 - gone / packets),
            offered_bps=3e9,
        )
        for one, gone in zip(model.instances, lost, strict=True)
    )
    assert model.receiver is not None
    one = replace(
        model,
        case=case,
        case_key=case.key,
        instances=instances,
        receiver=replace(model.receiver, counters={"nstat.UdpRcvbufErrors": socket}),
        throughput_bps=sum(each.throughput_bps for each in instances),
        offered_bps=9e9,
        packets=3 * packets,
        lost_packets=sum(lost),
        lost_ratio=sum(lost) / 3 / packets,
        line_goodput_bps=40e9,
        flows=tuple(replace(flow, line_goodput_bps=40e9) for flow in model.flows),
        flags=(),
    )
    return [replace(one, number=number, repetition=number) for number in (1, 2, 3)]


def test_what_drops_datagrams_of_one_pair_is_no_limit_of_those_that_lose_none() -> None:
    rows = {one.case.way: one for one in summarise(lossy(0, 0, 300_000, socket=300_000))}
    assert rows["g1 + g2 + g3 → dut"].limit.kind == "receiver-socket-buffer"
    assert rows["g3 → dut"].limit.kind == "receiver-socket-buffer"
    for way in ("g1 → dut", "g2 → dut"):
        assert rows[way].limit.kind == "not-found"
        assert "did not arrive" not in rows[way].limit.words


def flags_of(*lost: int) -> list[tuple[str, str]]:
    one = lossy(*lost)[0]
    assert one.receiver is not None
    found = datagrams(one.case, one.instances, (), (one.receiver,))
    return [(flag.where, flag.evidence.partition(":")[0]) for flag in found if flag.code == "udp-loss"]


def test_loss_is_judged_and_told_pair_by_pair() -> None:
    of_one = ("g3 → dut", "4000 of 1000000 datagrams lost in the window (0.40 %)")
    assert flags_of(0, 0, 4000) == flags_of(0, 100, 4000) == [of_one]
    assert [where for where, _ in flags_of(2000, 0, 4000)] == ["g1 → dut", "g3 → dut"]
    one = replace(lossy(0, 0, 4000)[0], flags=(Flag("udp-loss", "g3 → dut", "evidence", "advice"),))
    assert [flow.case.sender for flow in flow_trials(one) if flow.flags] == ["g3"]


def test_regimes_count_the_processes_of_all_pairs() -> None:
    rows = told(group())
    whole = rows["g1 + g2 + g3 → dut"].regime
    assert whole is not None
    assert (whole.regime, whole.why[:9]) == ("saturated", "limited b")
    several = replace(group().run.planned.case, instances=4)
    cpus = SimpleNamespace(host=DUT, role=CpuShares((0,) * 8, 0, 0, 0, 0, 0, 0))
    generator = SimpleNamespace(host="g1", role=cpus.role)
    for case in (several, several.pairs[0]):
        assert regimes._is_crowded(cpus, case)  # type: ignore[arg-type]
        assert not regimes._is_crowded(generator, case)  # type: ignore[arg-type]


def test_a_pair_that_a_full_line_of_all_pairs_limits_is_not_said_to_have_room() -> None:
    four = [replace(one, case=replace(one.case, instances=4), case_key="") for one in trials(group())]
    for row in summarise(four):
        if row.limit.kind == "line-rate":
            assert row.regime is not None
            assert row.regime.regime == "saturated"


def test_one_to_many_a_neighbour_is_told_although_others_of_the_sender_lose_segments() -> None:
    again = counters("h1", "nstat.TcpRetransSegs", 5e6)
    noisy = {1: counters("h2", "nic.rx_bytes", 2e9)}
    trial = group(shape="one-to-many", dut=again, generators=noisy).trial()
    assert "g2" in [one.where for one in trial.flags if one.code == "neighbour-traffic"]


def test_datagrams_of_a_pair_are_those_of_its_instances_where_all_are_known() -> None:
    one = group().trial()
    counts = [(100, 1), (200, 4), (300, 0)]
    counted = tuple(
        replace(own, packets=packets, lost_packets=lost)
        for own, (packets, lost) in zip(one.instances, counts, strict=True)
    )
    flows = [*flow_trials(replace(one, instances=counted))]
    assert [(flow.packets, flow.lost_packets, flow.lost_ratio) for flow in flows] == [
        (100, 1, 0.01),
        (200, 4, 0.02),
        (300, 0, 0.0),
    ]
    two = Case("udp-1500", **group_of("many-to-one", TO_DUT[:2]), instances=2)
    every = tuple(
        replace(one.instances[0], instance=at, packets=None if at == 3 else 10, lost_packets=1)
        for at in range(4)
    )
    pair = replace(one, case=two, instances=every, flows=(FlowResult("g1", "dut"), FlowResult("g2", "dut")))
    found = [(flow.packets, flow.lost_packets, flow.lost_ratio) for flow in flow_trials(pair)]
    assert found == [(20, 2, 0.1), (None, 2, None)]


def test_one_to_many_a_full_receiver_is_the_test_bed() -> None:
    slow = cpu("h2", 0, usr=0.05, sys=0.945)
    rows = told(group((3e9, 3e9, 1e9), shape="one-to-many", generators={2: slow}))
    (flag,) = [one for one in rows["dut → g3"].case_flags if one.code == "test-bed-is-the-limit"]
    assert flag.where == "g3"
    assert "g3 is the limit of its pair, not dut" in flag.evidence


def test_a_client_of_which_nothing_is_known_is_not_said_to_be_slow() -> None:
    flows = tuple((name, "dut") for name in ("c1", "c2", "c3"))

    def trial(*rates_bps: float | None) -> Trial:
        case = Case(FTP, **group_of("many-to-one", flows))
        found = tuple(FlowResult(*way, users_bps=bps) for way, bps in zip(flows, rates_bps, strict=True))
        return Trial(*(1, 1, case, case.key, "done", 0.0), throughput_bps=2e9, flows=found)

    def slow(*found: Trial) -> list[str]:
        return [flag.where for flag in slower_pairs(found)]

    assert slow(trial(1e9, None, 1e9)) == []
    assert slow(trial(1e9, 1e8, 1e9)) == ["c2 → dut"]
    assert slow(trial(1e9, 1e8, 1e9), trial(1e9, None, 1e9)) == ["c2 → dut"], "of the one that is known"


def test_pairs_that_differ_by_little_are_not_named() -> None:
    rows = told(group((3e9, 2.9e9, 2.6e9)))
    assert not any(flag.code == "slower-pair" for one in rows.values() for flag in one.case_flags)


def test_pairs_that_are_all_limited_by_themselves_limit_the_group() -> None:
    rows = told(group((1e9, 1e9, 1e9), generators=dict.fromkeys(range(3), SLOW[2])))
    whole = rows["g1 + g2 + g3 → dut"].limit
    assert whole.kinds == ("sender-app-cpu",)
    assert whole.what == "the sender's app CPU (g1, g2, g3)"


def test_an_asked_rate_is_that_of_all_processes() -> None:
    given = group((1e9, 1e9, 1e9))
    case = replace(given.run.planned.case, rate_bps=1e9)
    paced = [replace(one, case=case, case_key=case.key) for one in trials(given)]
    rows = {one.case.way: one.limit for one in summarise(paced)}
    assert {one.kind for one in rows.values()} == {"paced"}
    assert "3.00 Gbps" in rows["g1 + g2 + g3 → dut"].evidence


def test_rows_of_csv_and_the_first_screen_have_all_together_and_each_pair() -> None:
    view = digest_of(
        result(trials(group((3e9, 3e9, 1e9), generators=SLOW)), hosts={name: host(name) for name in HOSTS})
    )
    rows = case_rows(view)
    assert [(row["sender"], row.get("pairs"), row.get("flow_of")) for row in rows] == [
        ("g1 + g2 + g3", 3, None),
        ("g1", None, 3),
        ("g2", None, 3),
        ("g3", None, 3),
    ]
    assert [row["number"] for row in trial_rows(view.result.trials)] == [1] * 4 + [2] * 4 + [3] * 4
    assert (view.done, view.result.trials_planned) == (3, 3), "a pair is no trial of its own"
    screen = first_screen_of_trials(view)
    assert screen is not None
    shown, cost = ([line for entry in block.entries for line in entry[:1]] for block in screen.blocks[:2])
    assert [line.name for line in shown][:4] == [
        "TCP, g1 + g2 + g3 → dut",
        *(f"TCP, g{at} → dut, of 3 at once" for at in (1, 2, 3)),
    ]
    assert [line.name for line in cost][:4] == ["receiver dut", "sender g1", "sender g2", "sender g3"]


def test_a_page_has_all_together_and_each_pair() -> None:
    page = render_html(digest_of(result(trials(group()), hosts={name: host(name) for name in HOSTS})))
    assert "g1 + g2 + g3 → dut" in page
    for at in (1, 2, 3):
        assert f"g{at} → dut, of 3 at once" in page


def test_rows_of_a_pair_name_those_that_ran_at_once_with_it() -> None:
    view = digest_of(result(trials(group()), hosts={name: host(name) for name in HOSTS}))
    document = json.loads(json.dumps(digest_document(view)))
    valid("show", document)
    assert [row.get("beside") for row in document["cases"]] == [
        None,
        [["g2", "dut"], ["g3", "dut"]],
        [["g1", "dut"], ["g3", "dut"]],
        [["g1", "dut"], ["g2", "dut"]],
    ]
    for rows in (case_rows(view), trial_rows(view.result.trials)):
        assert [row.get("beside") for row in rows[:3]] == [None, "g2 → dut, g3 → dut", "g1 → dut, g3 → dut"]


def test_a_finding_of_a_host_is_told_once_for_the_group_and_its_pair() -> None:
    given = group(generators={1: counters("h1", "nic.tx_bytes", 20e9)})
    view = digest_of(result(trials(given), hosts={name: host(name) for name in HOSTS}))
    (found,) = [one for one in view.findings.every if one.code == "neighbour-traffic"]
    assert {case.way for case in found.cases} == {"g1 + g2 + g3 → dut", "g2 → dut"}
    assert len(found.sightings) == 1


@pytest.mark.parametrize(
    ("code", "where", "pairs"),
    [
        ("hosts-share-cpus", "g1, g2, g3, dut", "g1 g2 g3"),
        ("foreign-load", "g2", "g2"),
        ("foreign-load", "dut", ""),
        ("clock-uncertain", "g3", "g3"),
        ("throughput-dips", "throughput", "g1 g2 g3"),
        ("instance-got-nothing", "g2 → dut", "g2"),
        ("path-not-proven", "g1 + g2 + g3 → dut", "g1 g2 g3"),
    ],
)
def test_a_flag_of_a_group_is_one_of_the_pairs_whose_figures_it_doubts(
    code: str, where: str, pairs: str
) -> None:
    trial = replace(group().trial(), flags=(Flag(code, where, "evidence", "advice"),))
    assert [one.case.sender for one in flow_trials(trial) if one.flags] == pairs.split()


def test_runs_to_compare_are_of_the_group_and_of_each_pair() -> None:
    runs = runs_by_case(trials(group()))
    assert [case.way for case in runs][:2] == ["g1 + g2 + g3 → dut", "g1 → dut"]
    whole = next(iter(runs.values()))
    logs = whole.measured["throughput_bps"].values
    assert [math.exp(one) for one in logs] == pytest.approx([sum(EVEN)] * 3, rel=1e-4)
    assert whole.limit == ("line-rate", "the line rate")


def test_a_pair_in_a_group_is_no_repetition_of_it_alone() -> None:
    case = group().run.planned.case
    assert {pair.key for pair in case.pairs} != {Case("tcp", "g1", DUT).key}
    assert len({pair.key for pair in case.pairs}) == 1
    assert case.processes == 3
    assert GOODPUT_BPS > 0


def test_a_pair_beside_others_is_another_one_and_neither_pooled_compared_nor_joined_with_it() -> None:
    ways = (("g1", "dut"), ("g2", "dut")), (("g1", "dut"), ("g9", "dut"))
    one, two = (Case("tcp", **group_of("many-to-one", flows)).pairs[0] for flows in ways)
    assert (one.key, one.hosts) == (two.key, two.hosts)
    assert len({one, two}) == len({one.ways, two.ways}) == 2

    def side(name: str, *cases: Case) -> Side:
        measured = {"throughput_bps": Measured((20.0, 20.1))}
        runs = {case: CaseRuns(case, 2, 0, (), measured) for case in cases}
        return Side(name, name, Asked(written={}), {}, runs)

    names = [name.rpartition(", of 2 at once, ")[2] for name in case_labels([one, two]).values()]
    assert names == ["beside g2", "beside g9"]
    assert case_labels([one])[one] == "g1 → dut, of 2 at once"
    alone = Case("tcp", "g1", "g2")
    sides = side("A", one, alone), side("B", two, alone)
    assert [match.base for match in match_two(*sides, None).matches] == [alone]
    assert len(courses_of_sides(sides, THROUGHPUT)) == 3


def test_both_ways_datagrams_that_a_host_dropped_on_either_way_are_told_once() -> None:
    one = group().trial().receiver
    assert one is not None
    end = replace(one, counters={**one.counters, "qdisc.dropped": 500.0, "nstat.UdpRcvbufErrors": 500.0})
    assert len(list(network.drops(end, datagrams_told=True))) == 1, "what left it was no load of a receiver's"
    assert list(network.drops(end, datagrams_told=True, both_ways=True)) == []


def test_a_table_of_trials_says_where_what_it_lacks_stands() -> None:
    view = digest_of(result(trials(group()), hosts={name: host(name) for name in HOSTS}))
    (first, *_) = trials_table(view, power=True).rows
    assert {cell.reason for cell in first.cells if cell.reason} == {
        "several hosts: the CPU use of each sender is shown at its pair"
    }


def test_a_pair_that_gives_what_another_takes_is_told_although_all_together_are_steady() -> None:
    even = EVEN[0]
    half = [at < SECONDS // 2 for at in range(SECONDS)]
    falls = rates([1.6 * even if first else 0.4 * even for first in half])
    rises = rates([0.4 * even if first else 1.6 * even for first in half])
    trial = group(generators={0: falls, 1: rises}).trial()
    unsteady = [one for one in trial.flags if one.code.startswith("throughput-")]
    assert [(one.code, one.where) for one in unsteady] == [
        ("throughput-drifts", "g1 → dut"),
        ("throughput-drifts", "g2 → dut"),
    ]
    assert "falls" in unsteady[0].evidence
    assert "rises" in unsteady[1].evidence
    own = {one.case.sender: {flag.code for flag in one.flags} for one in flow_trials(trial)}
    assert "throughput-drifts" in own["g1"]
    assert "throughput-drifts" not in own["g3"]
