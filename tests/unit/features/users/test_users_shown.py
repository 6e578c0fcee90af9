# SPDX-License-Identifier: Apache-2.0
"""Trials of users where they are shown and compared: by their number, and by what they do."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from tests.report_factories import host, result
from tests.unit.features.users.test_users_experiment import CASE, SETUP, SIZE, WHOLE, run_of

from linewatt.analysis.comparison.case_runs import CaseRuns
from linewatt.analysis.comparison.matching import Side, match_two
from linewatt.engine.case_text import describe_case
from linewatt.engine.measuring.measure import measure
from linewatt.loads.registry import DEFAULT_LOAD, LOADS
from linewatt.model import Case, PowerResult, Trial
from linewatt.records import Campaign as Asked
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.report.trials.settings.scalability import scalability_table
from linewatt.report.trials.terminal import show_trials


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (replace(CASE, users=(("users", "12"),)), "ftp, c1 → dut, 12 users"),
        (replace(CASE, factors=(("users.users", "1"),)), "ftp, c1 → dut, 1 user, users.users=1"),
        (CASE, "ftp, c1 → dut"),
        (Case("tcp", "c1", "dut"), "tcp, c1 → dut, 1 inst."),
    ],
)
def test_a_run_says_how_many_users_there_are_and_no_instances(case: Case, said: str) -> None:
    assert describe_case(case) == said


def trial_with(number: int, users: str) -> Trial:
    case = replace(CASE, factors=(("users.users", users),))
    trial = measure(run_of(*WHOLE), {}, SETUP, LOADS[DEFAULT_LOAD], 0.1).trial
    watts = PowerResult("bmc", "w", "psu-out", "measured", "", 100.0 + number, 400.0)
    made = replace(trial, number=number, case=case, case_key=case.key)
    return made.with_ends(lambda end: replace(end, power=(watts,), cpu_cores=0.5))


def test_tables_of_users_have_their_number_and_neither_instances_nor_a_regime() -> None:
    trials = [trial_with(1, "20"), trial_with(2, "40")]
    view = digest_of(result(trials, hosts={name: host(name) for name in ("c1", "dut")}))
    (group,) = view.groups
    table = scalability_table(group, view.marks)
    tables = [table, *map(power_table, power_cases(view.groups))]
    assert len(tables) == 3
    for one in tables:
        assert [head.title for head in one.keys] == ["Users"]
        assert [row.keys[0].text for row in one.rows] == ["20", "40"]
        assert "Regime" not in {head.title for head in one.heads}
        assert all(len(row.cells) == len(one.heads) for row in one.rows)
    console = Console(width=120, file=io.StringIO(), force_terminal=False)
    console.print(show_trials(view, width=120))
    assert isinstance(console.file, io.StringIO)
    assert "Users" in console.file.getvalue()
    assert "inst" not in console.file.getvalue().lower()


def side(name: str, *users: tuple[str, str]) -> Side:
    cases = [replace(CASE, users=users, factors=((SIZE, size),)) for size in ("20k", "1M")]
    runs = {case: CaseRuns(case, 2, 0, (), {}) for case in cases}
    return Side(name, name, Asked(written={}), {}, runs)


def test_users_that_do_something_else_are_not_compared_and_it_is_told_what() -> None:
    one = side("A", ("think", "0s"), ("users", "4"))
    assert len(match_two(one, side("B", ("think", "0s"), ("users", "4")), None).matches) == 2
    found = match_two(one, side("B", ("spread", "1s"), ("think", "2s"), ("users", "4")), None)
    assert not found.matches
    assert not found.left_over
    assert [unlike.what for unlike in found.unlike] == [
        "what users do differs: spread not set in A, 1s in B; think 0s in A, 2s in B"
    ] * 2
    many = side("B", *((f"key{at}", "1") for at in range(9)))
    assert match_two(one, many, None).unlike[0].what.endswith(" and 8 more")
