# SPDX-License-Identifier: Apache-2.0
"""The first screen: how fast, limited by what, at what cost, and whether to trust it; and it is short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console
from tests.report_factories import (
    DISAGREE,
    SHARED,
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
from linewatt.report.table import Table
from linewatt.report.trials.answer import MOST_SERIES, Answer, answer, limit_words
from linewatt.report.trials.digest import digest
from linewatt.report.trials.first_screen import first_screen

TCP = Case("tcp", "h1", "h2")


def answer_of(*trials: Trial) -> Answer:
    found = answer(digest(result(trials)))
    assert found is not None
    return found


def column(table: Table, title: str) -> list[str]:
    at = [head.title for head in table.heads].index(title)
    return [row.cells[at].text for row in table.rows]


def printed(trials: Sequence[Trial], width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(first_screen(digest(result(trials)), width))
    return captured.get().splitlines()


def test_a_series_is_told_by_its_case_with_the_most_throughput() -> None:
    found = answer_of(*scaling_trials((1, 2, 4)))
    assert column(found.result, "Throughput") == ["79.96 ± 0.30 Gbps"]
    assert column(found.result, "Instances") == ["4"]
    assert found.cost.title == "What it cost: TCP"
    assert column(found.cost, "Per core")[0] == "11,863"
    [limit] = found.limits
    assert (
        limit.sentence
        == "TCP: limited by the receiver's IRQ CPUs (h2, 99.5 %); the busiest CPU of h1 is at 56 %"
    )


def test_loss_stands_beside_what_arrived() -> None:
    found = answer_of(*demo_trials())
    assert column(found.result, "Throughput")[1] == "3.737 ± 0.037 Gbps"
    assert column(found.result, "Loss") == ["–", "12.5", "12.5"]


def test_one_trial_has_no_interval_and_says_why() -> None:
    found = answer_of(*scaling_trials((1,), 1))
    [row] = found.result.rows
    assert row.cells[1].missing
    assert row.cells[1].reason == "one trial: its spread is not known"
    assert "throughput: one trial each, spread not known" in found.trust[0].text


def test_a_cost_that_is_not_known_says_why() -> None:
    read = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    lost = replace(read, app_cpu=None, irq_cpu=None)
    found = answer_of(*(replace(each, receiver=lost, sender=None) for each in scaling_trials((1,))))
    assert any("mpstat ended early" in note.text for note in found.cost.notes)


def test_of_an_imported_table_nothing_is_said_that_it_cannot_know() -> None:
    """It has what the app and IRQ CPUs did, and nothing of the whole host or of runs."""
    row = "tcp,arm,gen,{},{},26.8,Gbits/sec,0.80,98.02,0.00,0.00,1.18,0.00,0.02,0.00,98.16,1.81\n"
    head = ",".join((*REQUIRED, *SHARE_COLUMNS)) + "\n"
    text = head + row.format("arm", "receiver") + row.format("gen", "sender")
    table, _ = read_table(text.encode(), "t.csv")
    found = answer(digest(result(import_table(table, "t.csv", 1e9).trials, imported_from="t.csv")))
    assert found is not None
    assert column(found.cost, "App + IRQ CPU")[0] == "7.35"
    assert any("CPU, Per core: not in the imported table" in note.text for note in found.cost.notes)
    assert found.result.rows[0].cells[1].reason == "t.csv says nothing of runs"


def test_a_series_without_any_number_is_named_with_its_reason() -> None:
    trials = renumbered(scaling_trials((1,)), [failed(1, replace(TCP, test="udp-60"), "h2: no iperf3")])
    [note] = answer_of(*trials).result.notes
    assert note.sentence == "UDP 60, h1 → h2: no number: trial 4: h2: no iperf3"
    assert answer(digest(result([failed(1, TCP, "h2: no iperf3")]))) is None


def test_what_is_doubtful_is_said_with_evidence_and_remedy() -> None:
    grave = replace(DISAGREE, code="cpu-accounting-disagrees")
    found = answer_of(*(replace(each, flags=(grave,)) for each in scaling_trials((1,))))
    assert "CPU: doubtful (a)" in found.trust[0].text
    assert "throughput: no doubt found" in found.trust[0].text
    doubts = [note.text for note in found.trust if note.kind == "doubt"]
    assert len(doubts) == 1
    assert DISAGREE.evidence in doubts[0]
    assert DISAGREE.advice in doubts[0]


def test_watts_are_marked_where_they_were_not_measured() -> None:
    found = answer_of(*powered(scaling_trials(), provenance="simulated"))
    receiver, _ = found.cost.rows
    marked = [cell.mark for cell in receiver.cells if cell.mark]
    assert marked == ["sim"] * len(marked)
    assert len(marked) >= 2
    assert (
        "watts: simulated for 1 of 2 ends" in found.trust[0].text or "watts: simulated" in found.trust[0].text
    )
    measured = answer_of(*powered(scaling_trials()))
    assert not any(cell.mark for row in measured.cost.rows for cell in row.cells)
    assert "watts: no doubt found" in measured.trust[0].text


def test_of_many_series_the_fastest_are_shown_and_the_rest_is_counted() -> None:
    hosts = [f"h{number}" for number in range(2, 2 + MOST_SERIES + 3)]
    trials = renumbered(*(scaling_trials((1,), receiver=host) for host in hosts))
    found = answer_of(*trials)
    assert len(found.result.rows) == len(found.limits) == MOST_SERIES
    assert found.result.notes[0].text.startswith("3 more series have less: ")


@pytest.mark.parametrize("width", [80, 120])
def test_a_campaign_of_three_tests_is_answered_on_one_screen(width: int) -> None:
    lines = printed(powered(demo_trials(), provenance="simulated"), width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 36
    assert not any("…" in line for line in lines)
    assert sum(SHARED.advice in line for line in lines) == 0


def test_a_limit_that_many_series_share_is_said_once() -> None:
    hosts = [f"h{number}" for number in range(2, 7)]
    trials = renumbered(*(scaling_trials((4,), receiver=host) for host in hosts[:2]))
    lines = printed([replace(one, receiver=trials[0].receiver) for one in trials], 200)
    assert sum("limited by" in line for line in lines) == 1
    assert any(line.startswith("TCP, h1 → h2, TCP, h1 → h3: limited by") for line in lines)
    trials = renumbered(*(scaling_trials((4,), receiver=host) for host in hosts))
    lines = printed([replace(one, receiver=trials[0].receiver) for one in trials], 200)
    assert any(line.startswith("each of the 5: limited by") for line in lines)
    assert not any("Watts of" in line for line in lines)


def test_what_is_withheld_is_not_called_doubtful_and_is_of_the_case_whose_cost_is_shown() -> None:
    drift = Flag("idle-drifted", "h2", "180 W before, 210 W after", "measure idle again")
    trials = powered(demo_trials())
    everywhere = [replace(one, flags=(drift,)) for one in trials]
    [said] = [note.text for note in answer_of(*everywhere).trust[:1]]
    assert "watts above idle: withheld (a)" in said
    assert "throughput: no doubt found" in said
    slow = [replace(one, flags=(drift,) if one.case.test == "udp-60" else ()) for one in trials]
    assert "withheld" not in answer_of(*slow).trust[0].text


def test_networks_are_followed_by_the_command_that_compares_them() -> None:
    both = renumbered(scaling_trials((1,)), scaling_trials((1,), network="vxlan"))
    hint = "What each network costs: linewatt compare 20260101-000000-x64-scaling --by network"
    assert hint in printed(both, 120)
    assert hint not in printed(scaling_trials((1,)), 120)


def test_a_ceiling_that_only_the_series_shows_is_said_with_its_evidence() -> None:
    """A limit inside the device or the path is no candidate of any trial."""
    [summary] = summarise(scaling_trials((1,)))
    hidden = Limit(
        ("device-or-path",), "a limit inside the device or the path", "near 110 Gbps; no CPU is full"
    )
    said = limit_words(replace(summary, limit=hidden))
    assert said == "limited by a limit inside the device or the path (near 110 Gbps)"
