# SPDX-License-Identifier: Apache-2.0
"""The first screen: how fast, limited by what, at what cost, and whether to trust it; and it is short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.report_factories import (
    DISAGREE,
    demo_trials,
    end,
    failed,
    powered,
    renumbered,
    result,
    scaling_trials,
)

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.tables.imported import REQUIRED, SHARE_COLUMNS, import_table
from linewatt.analysis.tables.table import read_table
from linewatt.model import Case, Flag, Trial
from linewatt.report.screen import Block, Line, fitted
from linewatt.report.trials.answer import MOST_SERIES, Answer, answer
from linewatt.report.trials.digest import digest
from linewatt.report.trials.first_screen import first_screen
from linewatt.report.trials.limits import limit_words

TCP = Case("tcp", "h1", "h2")


def answer_of(*trials: Trial) -> Answer:
    found = answer(digest(result(trials)))
    assert found is not None
    return found


def said(block: Block) -> list[Line]:
    """Each entry at its longest."""
    return [entry[0] for entry in block.entries]


def words(block: Block) -> str:
    return "; ".join(" ".join((line.name, *line.figures, line.prose)) for line in said(block))


def printed(trials: Sequence[Trial], width: int) -> list[str]:
    screen = first_screen(digest(result(trials)))
    assert screen is not None
    return [line for line, _ in fitted(screen, width)]


def test_a_series_is_told_by_its_case_with_the_most_throughput() -> None:
    found = answer_of(*scaling_trials((1, 2, 4)))
    [line] = said(found.result)
    assert line.figures[:3] == ("79.96 Gbps", "(79.21 to 80.71)", "4 instances")
    assert found.result.remark == "mean (95 % CI) of 3 trials"
    assert found.cost.heading == "COST OF TCP"
    assert said(found.cost)[0].figures[1] == "11,863 Mbps/core"
    limit = "limited by the receiver's IRQ CPUs (h2, 99.5 %), not by h1, whose busiest CPU is at 56 %"
    assert line.prose == limit
    assert found.sentence == f"TCP: 79.96 Gbps (95 % CI 79.21 to 80.71); {limit}."
    assert found.result.entries[0][1].prose == "limited by the receiver's IRQ CPUs (h2, 99.5 %)"


def test_loss_stands_beside_what_arrived() -> None:
    tcp, udp, small = said(answer_of(*demo_trials()).result)[:3]
    assert udp.figures[0] == "3.737 Gbps"
    assert [line.figures[-1] for line in (udp, small)] == ["12.5 % lost"] * 2
    assert "lost" not in " ".join(tcp.figures)


def test_one_trial_has_no_interval_and_says_why() -> None:
    found = answer_of(*scaling_trials((1,), 1))
    [line] = said(found.result)
    assert line.figures[1] == "(one trial: its spread is not known)"
    assert "throughput: one trial each, spread not known" in found.trust


def test_trials_are_counted_at_each_series_where_some_failed() -> None:
    lost = failed(9, Case("udp-60", "h1", "h2"), "h2: no iperf3")
    trials = renumbered(demo_trials(), [lost])
    found = answer_of(*trials)
    assert found.result.remark == "mean (95 % CI)"
    assert [line.figures[3] for line in said(found.result)[:3]] == ["3 trials", "3 trials", "3/4 trials"]


def test_a_cost_that_is_not_known_says_why() -> None:
    read = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    lost = replace(read, app_cpu=None, irq_cpu=None)
    found = answer_of(*(replace(each, receiver=lost, sender=None) for each in scaling_trials((1,))))
    assert "mpstat ended early" in words(found.cost)


def test_of_an_imported_table_nothing_is_said_that_it_cannot_know() -> None:
    """It has what the app and IRQ CPUs did, and nothing of the whole host or of runs."""
    row = "tcp,arm,gen,{},{},26.8,Gbits/sec,0.80,98.02,0.00,0.00,1.18,0.00,0.02,0.00,98.16,1.81\n"
    head = ",".join((*REQUIRED, *SHARE_COLUMNS)) + "\n"
    text = head + row.format("arm", "receiver") + row.format("gen", "sender")
    table, _ = read_table(text.encode(), "t.csv")
    found = answer(digest(result(import_table(table, "t.csv", 1e9).trials, imported_from="t.csv")))
    assert found is not None
    assert said(found.cost)[0].figures[0] == "7.35 % per Gbps on app and IRQ CPUs"
    assert "CPU, Per core: not in the imported table" in words(found.cost)
    assert said(found.result)[0].figures[1] == "(CI not known)"
    assert found.result.remark == "as t.csv has it"


def test_a_series_without_any_number_is_named_with_its_reason() -> None:
    trials = renumbered(scaling_trials((1,)), [failed(1, replace(TCP, test="udp-60"), "h2: no iperf3")])
    found = answer_of(*trials)
    reason = "UDP 60, h1 → h2: no number: trial 4: h2: no iperf3"
    assert said(found.result)[-1].prose == reason
    assert [note.sentence for note in found.series.notes] == [reason]
    assert answer(digest(result([failed(1, TCP, "h2: no iperf3")]))) is None


def test_what_is_doubtful_is_said_with_evidence_and_remedy() -> None:
    grave = replace(DISAGREE, code="cpu-accounting-disagrees")
    found = answer_of(*(replace(each, flags=(grave,)) for each in scaling_trials((1,))))
    assert "CPU: doubtful (a)" in found.trust
    assert "throughput: no doubt found" in found.trust
    [full, short, _] = next(entry for entry in found.doubts.entries if entry[0].name == "(a)")
    assert DISAGREE.evidence in full.prose
    assert DISAGREE.advice in full.prose
    assert DISAGREE.evidence not in short.prose
    assert DISAGREE.advice in short.prose
    assert "(a)" in said(found.cost)[0].figures[0]


def test_watts_are_marked_where_they_were_not_measured() -> None:
    found = answer_of(*powered(scaling_trials(), provenance="simulated"))
    receiver = said(found.cost)[0]
    assert [figure for figure in receiver.figures if " sim" in figure] == list(receiver.figures[2:])
    assert len(receiver.figures) >= 4
    assert "watts, watts above idle: simulated" in found.trust
    measured = answer_of(*powered(scaling_trials()))
    assert " sim" not in words(measured.cost)
    assert measured.trust == "throughput, CPU, watts, watts above idle: no doubt found"


def test_of_many_series_the_fastest_are_shown_and_the_rest_is_counted() -> None:
    hosts = [f"h{number}" for number in range(2, 2 + MOST_SERIES + 3)]
    trials = renumbered(*(scaling_trials((1,), receiver=host) for host in hosts))
    found = answer_of(*trials)
    assert len(found.series.rows) == MOST_SERIES
    assert sum(bool(line.figures) for line in said(found.result)) == MOST_SERIES
    assert found.result.left == 3
    assert found.series.notes[0].text.startswith("3 more series have less: ")


def test_a_limit_that_many_series_share_is_said_once() -> None:
    hosts = [f"h{number}" for number in range(2, 7)]
    slow = [
        replace(one, sender=end("h1", "sender", 1.0, 1.0, 0.2))
        for one in scaling_trials((1,), test="udp-1500")
    ]
    trials = renumbered(*(scaling_trials((4,), receiver=host) for host in hosts[:2]), slow)
    shared = [replace(one, receiver=trials[0].receiver) for one in trials[:6]]
    spare = end("h2", "receiver", 1.0, 0.2, 0.2)
    lines = said(answer_of(*shared, *(replace(one, receiver=spare) for one in trials[6:])).result)
    assert sum("limited by the receiver's IRQ CPUs" in line.prose for line in lines) == 1
    assert any(line.prose.startswith("TCP, h1 → h2; TCP, h1 → h3: limited by") for line in lines)
    trials = renumbered(*(scaling_trials((4,), receiver=host) for host in hosts))
    every = said(answer_of(*(replace(one, receiver=trials[0].receiver) for one in trials)).result)
    assert every[-1].prose.startswith("each of the 5: limited by")
    assert [line.prose for line in every[:-1]] == [""] * 5


def test_what_is_withheld_is_not_called_doubtful_and_is_of_the_case_whose_cost_is_shown() -> None:
    drift = Flag("idle-drifted", "h2", "180 W before, 210 W after", "measure idle again")
    trials = powered(demo_trials())
    trust = answer_of(*(replace(one, flags=(drift,)) for one in trials)).trust
    assert "watts above idle: withheld (a)" in trust
    assert "no doubt found" in trust.partition("throughput")[2].partition(" · ")[0]
    slow = [replace(one, flags=(drift,) if one.case.test == "udp-60" else ()) for one in trials]
    assert "withheld" not in answer_of(*slow).trust


def test_networks_are_followed_by_the_command_that_compares_them() -> None:
    both = renumbered(scaling_trials((1,)), scaling_trials((1,), network="vxlan"))
    hint = "linewatt compare 20260101-000000-x64-scaling --by network"
    assert hint in " ".join(printed(both, 120))
    assert hint not in " ".join(printed(scaling_trials((1,)), 120))


def test_a_toll_is_not_told_of_runs_that_are_too_few() -> None:
    both = renumbered(scaling_trials((1,), 2), scaling_trials((1,), 2, network="vxlan"))
    [line] = [line for line in printed(both, 500) if "vxlan: throughput" in line]
    assert "not enough runs" in line
    assert "%" not in line.partition("not enough runs")[0]


def test_a_line_that_is_full_is_not_called_a_limit_of_a_host() -> None:
    spare = end("h2", "receiver", 1.0, 0.5, 0.6)
    full = [replace(one, receiver=spare, line_goodput_bps=24.3e9) for one in scaling_trials((1,))]
    assert said(answer_of(*full).result)[0].prose.endswith(
        ", not by a host: the busiest CPU, of h2, is at 60 %"
    )


def test_a_ceiling_that_only_the_series_shows_is_said_with_its_evidence() -> None:
    """A limit inside the device or the path is no candidate of any trial."""
    [summary] = summarise(scaling_trials((1,)))
    hidden = Limit(
        ("device-or-path",), "a limit inside the device or the path", "near 110 Gbps; no CPU is full"
    )
    sentence = limit_words(replace(summary, limit=hidden))
    assert sentence == "limited by a limit inside the device or the path (near 110 Gbps)"
