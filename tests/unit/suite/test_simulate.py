# SPDX-License-Identifier: Apache-2.0
"""``make simulate`` in its quick mode: promises hold, and the page has its tables."""

from __future__ import annotations

import re
from functools import cache

import pytest
from scripts import simulate
from scripts.simulate import BEGIN, END, PAGE, QUICK, TABLES, Promise, Table

from linewatt.analysis.statistics.stats import runs_that_exclude


@cache
def simulated(at: int) -> Table:
    return TABLES[at](QUICK)


TABLE_INDEXES = range(len(TABLES))


@pytest.mark.thorough
@pytest.mark.parametrize("at", TABLE_INDEXES, ids=lambda at: TABLES[at].__name__)
def test_promises_hold_in_the_quick_simulation(at: int) -> None:
    promises = simulated(at).promises
    assert promises
    assert [promise for promise in promises if not promise.holds] == []


@pytest.mark.thorough
@pytest.mark.parametrize("at", TABLE_INDEXES, ids=lambda at: TABLES[at].__name__)
def test_the_page_has_the_table_and_its_rows(at: int) -> None:
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    table = simulated(at)
    assert f"### {table.title}\n\n{table.words}\n" in text
    assert "| " + " | ".join(table.heads) + " |" in text
    part = text.partition(f"### {table.title}")[2].partition("\n### ")[0]
    assert part.count("\n|") == len(table.rows) + 2


def test_a_broken_promise_is_seen() -> None:
    assert not Promise("false verdicts", 0.16, 400, 0.05).holds
    assert not Promise("coverage", 0.85, 1000, 0.93, is_upper=False).holds
    assert Promise("false verdicts", 0.06, 400, 0.05).holds


def test_a_mode_of_a_tenth_is_excluded_by_29_runs() -> None:
    assert runs_that_exclude(0.1) == 29
    assert 0.9**29 < 0.05 < 0.9**28
    assert simulate.excluded_share(29) == pytest.approx(0.1, abs=0.002)


def test_the_same_seed_gives_the_same_page() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter"
    table = Table("Title", "Words.", ("head",), (("1 %",),))
    written = simulate.with_tables(page, [table], QUICK)
    assert written == simulate.with_tables(written, [table], QUICK)
    assert written.startswith("before\n")
    assert written.endswith("\nafter")
    assert re.search(r"### Title\n\nWords\.\n\n\| head \|\n\| --- \|\n\| 1 % \|", written)
