# SPDX-License-Identifier: Apache-2.0
"""Hosts in a ring, each of which sends to the next: each way is told, and each host once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.groups import EVEN, RING, group, ring
from tests.report_factories import host, result
from tests.unit.engine.test_groups import HOSTS, loaded
from tests.wiring import Given, both, counters, cpu, story, without

from linewatt.analysis.cases.detail import detail_blocks
from linewatt.analysis.cases.flows import flow_trials
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.comparison.case_runs import runs_by_case
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.power.energy_rows import end_energies
from linewatt.campaign import stored
from linewatt.campaign.campaign import Group
from linewatt.campaign.entries.pairs import parse_pair
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.engine.live.line_rate import LineLimit, line_of_group
from linewatt.engine.live.session import Session
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.measure import measure
from linewatt.engine.measuring.plain_json import decoded, encoded
from linewatt.json_document import document_of
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Case, Trial, group_of
from linewatt.report.series import OF_RING
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.detail import layout
from linewatt.report.trials.digest import case_rows, digest_of
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.report.trials.searches.watts_at import watts_table
from linewatt.report.trials.settings.placements import placements
from linewatt.report.trials.settings.scalability import scalability_table

WAYS = ["a → b → c → a", "a → b", "b → c", "c → a"]


def trials(made: Given, count: int = 3) -> list[Trial]:
    one = made.trial()
    return [replace(one, number=number, repetition=number) for number in range(1, count + 1)]


def told(made: Given) -> dict[str, CaseSummary]:
    return {one.case.way: one for one in summarise(trials(made))}


@given(st.lists(st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True), min_size=3, max_size=8, unique=True))
def test_in_a_ring_each_host_sends_once_and_receives_once(hosts: list[str]) -> None:
    found = parse_pair(" -> ".join([*hosts, hosts[0]]))
    assert isinstance(found, Group)
    assert [sender for sender, _ in found.flows] == hosts
    assert sorted(receiver for _, receiver in found.flows) == sorted(hosts)
    case = Case("tcp", **group_of(found.shape, found.flows))
    assert dict(case.ends) == dict.fromkeys(hosts, "sender")
    assert {case.taking_part(one) for one in hosts} == {2}
    assert sum(not pair.told_elsewhere("sender") for pair in case.pairs) == len(hosts)
    assert all(pair.told_elsewhere("receiver") for pair in case.pairs)
    assert case.told_elsewhere("sender")
    assert case.told_elsewhere("receiver")


def test_each_process_of_a_host_has_a_cpu_and_each_a_port_of_its_own(tmp_path: Path) -> None:
    found = loaded(tmp_path, "g1 -> g2 -> dut -> g1", instances=[2])
    (trial,) = plan_campaign(found, 0).trials
    assert trial.case.way == "g1 → g2 → dut → g1"
    assert len({one.port for one in trial.instances}) == 6
    at: dict[str, list[str | None]] = {}
    for flow in trial.flows:
        for one in flow.instances:
            at.setdefault(flow.case.sender, []).append(one.sender_cpu)
            at.setdefault(flow.case.receiver, []).append(one.receiver_cpu)
    assert {host: sorted(map(str, cpus)) for host, cpus in at.items()} == {
        "g1": ["0", "1", "2", "3"],
        "g2": ["0", "1", "2", "3"],
        "dut": ["0", "1", "2", "3"],
    }
    document = plan_as_dict(plan_campaign(found, 0))
    assert document["cases"][0]["shape"] == "ring"
    assert json.loads(json.dumps(document)) == document
    assert (
        stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(found)))).groups
        == found.groups
    )
    assert decoded(Case, json.loads(json.dumps(encoded(trial.case)))) == trial.case


def test_a_ring_that_runs_the_other_way_is_another_one(tmp_path: Path) -> None:
    one, other = loaded(tmp_path, "g1 -> g2 -> dut -> g1", "g1 -> dut -> g2 -> g1").groups
    assert not {*one.flows} & {*other.flows}


def test_a_trial_has_each_way_and_each_host_once_and_no_findings() -> None:
    trial = ring().trial()
    assert trial.status == "done", trial.reason
    assert trial.flags == ()
    assert (trial.sender, trial.receiver) == (None, None)
    ends = [flow.end for flow in trial.flows]
    assert [end.host for end in ends if end] == ["a", "b", "c"]
    assert all(end and end.cpu_cores and end.power for end in ends)
    assert all(end and end.app_cpu and end.app_cpu.cpus == (0, 2) for end in ends)
    assert all(end and end.load_cpu_cores == pytest.approx(1.1) for end in ends), "of both of its processes"
    assert trial.throughput_bps == sum(one.throughput_bps or 0 for one in flow_trials(trial))


def test_a_trial_is_the_same_made_again_from_what_is_kept_of_it() -> None:
    made = ring()
    first = measure(made.run, made.readings, made.setup, Iperf3(), 0.05)
    again = run_record.read(first.raw["run.json"], first.raw, made.setup.hosts, Iperf3())
    measured = measure(again.run, made.readings, again.setup, Iperf3(), 0.05)
    assert document_of(measured.trial) == document_of(first.trial)
    assert "incoming" not in document_of(first.trial)


def test_what_a_host_used_is_for_all_that_it_sent_and_received() -> None:
    rates = (3e9, 2e9, 1e9)
    rows = told(ring(rates))
    assert [*rows] == WAYS
    for at, way in enumerate(WAYS[1:]):
        row, both_bps = rows[way], rates[at] + rates[at - 1]
        cores = row.cpu_cores("sender")
        assert row.throughput_bps
        assert row.throughput_bps.mean == pytest.approx(rates[at], rel=1e-3)
        assert cores
        assert row.efficiency_sender_bps_per_core
        assert row.efficiency_sender_bps_per_core.mean == pytest.approx(both_bps / cores.mean, rel=1e-3)
        power = row.sender_power
        assert power
        assert power.system_w
        energy = power.values["energy_j_per_bit"]
        assert energy
        assert energy.mean == pytest.approx(power.system_w.mean / both_bps, rel=1e-3)
        assert (row.cpu_cores("receiver"), row.receiver_power) == (None, None)
        why = f"{row.case.receiver} also sends: its CPU use for both is shown at the pair in which it sends"
        assert row.reasons["receiver_cpu_cores"] == row.reasons["receiver_power"] == why
    whole = rows[WAYS[0]]
    why = "several hosts: the CPU use of each is shown at the pair in which it sends"
    assert whole.reasons["sender_cpu_cores"] == whole.reasons["receiver_power"] == why
    runs = runs_by_case(trials(ring(rates)))
    assert [case.way for case in runs] == WAYS


def test_blocks_of_hosts_have_what_each_sent_and_received() -> None:
    blocks = detail_blocks(trials(ring((3e9, 2e9, 1e9))))
    assert [(one.host, one.throughput_bps and round(one.throughput_bps.mean / 1e9, 2)) for one in blocks] == [
        ("a", 4.0),
        ("b", 5.0),
        ("c", 3.0),
    ]
    for one in blocks:
        shown = layout(one)
        assert shown.role == "srv+clt(rcv+snd)"
        assert shown.rates[0].title == "Throughput, sent and received"


def test_packets_that_are_a_host_s_own_are_no_neighbours_and_those_of_others_are_told() -> None:
    noisy = ring(hosts={"b": counters("h1", "nic.rx_bytes", 20e9)}).trial()
    assert [one.where for one in noisy.flags if one.code == "neighbour-traffic"] == ["b"]


FULL = {"usr": 0.05, "sys": 0.945}


def test_a_full_sending_cpu_limits_the_pair_that_it_sends_for() -> None:
    rows = told(
        ring(
            (3e9, 1e9, 3e9),
            hosts={"b": both(cpu("h1", 0, **FULL), story(load_cores={"h1": 0.99, "h2": 0.6}))},
        )
    )
    assert rows["b → c"].limit.kinds == ("sender-app-cpu",)
    assert not rows["a → b"].limit.found, "b receives on another CPU, which has room"
    assert not rows["c → a"].limit.found
    whole = rows[WAYS[0]]
    assert "single pairs are limited by one of the sender's 2 app CPUs (b → c)" in whole.limit.words
    assert [flag.where for flag in whole.case_flags if flag.code == "slower-pair"] == ["b → c"]
    codes = {flag.code for row in rows.values() for flag in row.case_flags}
    assert "test-bed-is-the-limit" not in codes, "no host of a ring is the one under test"


def test_a_full_receiving_cpu_limits_the_pair_that_it_receives_for() -> None:
    rows = told(ring((1e9, 3e9, 3e9), hosts={"b": cpu("h1", 2, **FULL)}))
    assert rows["a → b"].limit.kinds == ("receiver-app-cpu",)
    assert not rows["b → c"].limit.found, "b sends on another CPU"


def unknown_of(made: Given) -> dict[str, tuple[str, ...]]:
    """Way → what a limit may hide in."""
    limits: dict[str, Limit] = {way: row.limit for way, row in told(made).items()}
    return {way: limit.unknown for way, limit in limits.items()}


def test_cpus_of_which_nothing_is_known_are_named_at_the_pairs_that_they_serve() -> None:
    assert unknown_of(ring(hosts={"b": without("h1", "mpstat")})) == {
        "a → b → c → a": (),
        "a → b": ("the receiver's IRQ CPU",),
        "b → c": ("the sender's IRQ CPU",),
        "c → a": (),
    }
    shared = unknown_of(group())
    assert shared.pop("g1 → dut") == shared.pop("g2 → dut") == (), "the DUT's are told with the group"


def test_full_lines_of_all_pairs_limit_the_ring() -> None:
    rows = told(ring((9.4e9, 9.4e9, 9.4e9)))
    assert {row.limit.kind for row in rows.values()} == {"line-rate"}
    lines = [LineLimit(bps, "link", name) for bps, name in ((1e9, "a"), (2e9, "b"), (3e9, "c"))]
    assert line_of_group(RING, lines, None) == LineLimit(6e9, "link", "a, b, c")
    assert line_of_group(RING, [*lines[:2], None], None) is None
    asked = cast(Any, None)  # no host is in all pairs: nothing is asked of any
    assert Session.line_of_group(asked, RING, lines) == LineLimit(6e9, "link", "a, b, c")


def test_a_first_screen_and_rows_say_whose_figures_are_whose() -> None:
    view = digest_of(result(trials(ring()), hosts={name: host(name) for name in "abc"}))
    rows = case_rows(view)
    assert [(row["sender"], row["receiver"], row.get("pairs")) for row in rows] == [
        ("a + b + c", "b + c + a", 3),
        ("a", "b", None),
        ("b", "c", None),
        ("c", "a", None),
    ]
    screen = first_screen_of_trials(view)
    assert screen is not None
    shown, cost = ([line for entry in block.entries for line in entry[:1]] for block in screen.blocks[:2])
    assert [line.name for line in shown][:4] == [
        "TCP, a → b → c → a",
        *(f"TCP, {way}, of 3 at once" for way in WAYS[1:]),
    ]
    assert [line.name for line in cost][:3] == ["sender a", "sender b", "sender c"]
    assert any("of all that it sent and received" in line for line in screen.caveats)
    (group,) = view.groups
    tables = [scalability_table(group, view.marks), *map(power_table, power_cases(view.groups))]
    assert len(tables) == 2
    assert all([note.text for note in table.notes].count(OF_RING) == 1 for table in tables)
    assert any(OF_RING in note.text for note in watts_table(view, [EVEN[0]]).notes)


def test_a_placement_has_the_processes_that_send_and_those_that_receive() -> None:
    view = digest_of(result(trials(ring()), hosts={name: host(name) for name in "abc"}))
    (placed,) = placements(view, "a")
    assert (placed.processes, placed.at_once) == ((0, 2), 2)


def test_what_a_packet_costs_is_not_told_of_hosts_that_send_and_receive() -> None:
    one = ring().trial()
    case = replace(one.case, test="udp-512")
    udp = replace(
        one, case=case, instances=tuple(replace(each, packets=9, lost_packets=0) for each in one.instances)
    )
    (first, *_) = [each for each in end_energies([udp]) if each.host == "a"]
    reason = "it sent and received at the same time, and its watts cannot be split"
    assert all(reason in str(figure.reason) for figure in first.fit.figures.values())


def test_a_pair_of_which_nothing_arrived_fails_the_trial_and_is_named() -> None:
    trial = ring((EVEN[0], 0.0, EVEN[2])).trial()
    assert trial.status == "failed"
    assert "nothing of b's arrived at c" in str(trial.reason)


def test_the_cost_of_a_packet_is_not_promised_of_hosts_in_a_ring(tmp_path: Path) -> None:
    hosts = {name: one | {"power": {"rapl": {"driver": "rapl"}}} for name, one in HOSTS.items()}
    tests = [{"test": f"udp-{size}", "rate": rate} for rate in ("1G", "2G") for size in (512, 1500)]

    def told(pair: str) -> bool:
        notes = plan_campaign(loaded(tmp_path, pair, hosts=hosts, tests=tests), 0).notes
        return any(one.startswith("energy of") for one in notes)

    assert told("g1 -> dut")
    assert not told("g1 -> g2 -> dut -> g1")
