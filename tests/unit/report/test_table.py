# SPDX-License-Identifier: Apache-2.0
"""The one table: why values are missing, what a terminal prints of it, and what a page does."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from linewatt.report.printing.html import environment_of_pages
from linewatt.report.printing.text_table import render_table
from linewatt.report.section import Section
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences, text_cells

HEADS = (Head("Rate", "% per Gbps", key="rate_mean", show_sd=True), Head("In words", kind="prose"))


def row(name: str, *cells: Cell, kind: str = "") -> Row:
    return Row(text_cells(name), cells, kind=kind)


def table(*groups: RowGroup, heads: tuple[Head, ...] = HEADS, notes: tuple[Note, ...] = ()) -> Table:
    return Table("Rates", (Head("Case", kind="text"),), heads, groups, notes, group_title="Series")


def printed(made: Table, width: int | None = None) -> list[str]:
    console = Console(file=io.StringIO(), width=width or 1000, color_system=None)
    console.print(render_table(made, width))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def page(made: Table) -> str:
    template = environment_of_pages().from_string(
        '{% from "table.html.j2" import section with context %}{{ section(one) }}'
    )
    return template.render(one=Section("Rates", "rates", (made,)), lab=False, elsewhere=None)


def said(lacks: list[Lack], places: int, noun: str = "") -> list[str]:
    return [note.text for note in absences(lacks, places, noun)]


def test_columns_that_lack_values_for_one_reason_in_the_same_rows_share_a_line() -> None:
    lacks = [Lack(title, "gone", "", row) for title in ("CPU", "Loss") for row in ("1", "2")]
    assert said(lacks, 3, "instance") == ["CPU, Loss: 1, 2 instances: gone"]
    assert said([*lacks, Lack("CPU", "late", "", "4")], 3, "instance")[1] == "CPU: 4 instances: late"


def test_nothing_is_said_of_where_when_all_rows_lack_a_value_or_the_reason_says_it() -> None:
    assert said([Lack("CPU", "gone", "", "1"), Lack("CPU", "gone", "", "2")], 2) == ["CPU: gone"]
    assert said([Lack("CPU", "idle sends nothing")], 5) == ["CPU: idle sends nothing"]


def test_rows_are_named_by_group_and_no_more_than_six_groups_are() -> None:
    lacks = [Lack("CPU", "gone", f"h{n} → h0", "1") for n in range(1, 9)]
    (line,) = said(lacks, 20, "instance")
    assert line.startswith("CPU: h1 → h0, 1 instance; h2 → h0, 1 instance; ")
    assert line.endswith("h6 → h0, 1 instance and 2 more: gone")


def test_a_group_is_named_beside_its_first_row_and_a_row_without_all_cells_has_blanks() -> None:
    made = table(
        RowGroup("h1 → h2", (row("one", Cell("1.5", sd="0.1"), Cell("fine")), row("two", Cell("2.5")))),
        RowGroup("h3 → h4", (row("one", Cell("3.5", doubts=("c",)), Cell("odd", doubts=("a",))),)),
    )
    lines = printed(made)
    assert lines[0] == "Rates"
    assert [line.split() for line in lines[1:3]] == [["Rate"], ["Series", "Case", "%/Gbps", "In", "words"]]
    assert [line.split() for line in lines[4:7]] == [
        ["h1", "→", "h2", "one", "1.5", "±", "0.1", "fine"],
        ["two", "2.5"],
        ["h3", "→", "h4", "one", "3.5*", "odd*"],
    ]
    assert lines[7] == "* doubtful: see (a), (c)"


def test_a_file_gets_what_a_wide_terminal_gets() -> None:
    made = table(
        RowGroup("ℓ日本", (row("one", Cell("1.5", sd="0.1"), Cell("fine", mark="sim", note="n=2")),)),
        RowGroup("ascii", (row("two", Cell("–", reason="gone"), Cell("not so fine", warning="missed")),)),
        notes=(Note("legend", "sim: simulated"), Note("absence", "gone", "Rate"), Note("doubt", "odd")),
    )
    assert printed(made) == printed(made, 400)
    assert printed(made)[-3:] == ["sim: simulated", "– Rate: gone", "! odd"]


def test_columns_that_only_a_page_has_room_for_stay_out_of_a_terminal() -> None:
    made = table(
        RowGroup("", (row("one", Cell("1.5")),)), heads=(Head("Rate"), Head("Width", page_only=True))
    )
    assert "Width" not in "".join(printed(made))
    assert "Width" in page(made)


def test_names_from_outside_neither_move_a_terminal_nor_mark_up_a_page() -> None:
    bad = "<b>\x1b[2Jx\ny"
    heads = (Head(bad, bad, lines=bad), Head(bad, group=bad))
    notes = (Note("remark", bad),)
    made = table(RowGroup(bad, (row(bad, Cell(bad, sd=bad), Cell(bad)),)), heads=heads, notes=notes)
    assert not [line for line in printed(made) if "\x1b" in line or ("[2J" not in line and "x" in line)]
    assert "<b>" not in page(made)


def test_a_page_says_which_header_is_of_what() -> None:
    heads = (Head("usr", group="App CPU"), Head("sys", group="App CPU"), Head("Cost", "W", key="cost_mean"))
    full = row("one", Cell("1"), Cell("2"), Cell("3.0", si=3.0), kind="better")
    made = table(RowGroup("h1 → h2", (full, row("two", Cell("nothing was read")))), heads=heads)
    text = re.sub(r"\s+", " ", page(made))
    for part in (
        '<th scope="colgroup" colspan="2">App CPU</th>',
        '<th scope="col" rowspan="2" class="text">Case</th>',
        '<th scope="rowgroup" colspan="4">h1 → h2</th>',
        '<tr data-kind="better">',
        '<th scope="row" class="text">one</th>',
        '<th scope="col" rowspan="2" data-key="cost_mean">Cost <span class="unit">W</span></th>',
        '<td data-si="3.0">3.0</td>',
        '<td colspan="3">nothing was read</td>',
    ):
        assert part in text


def test_a_page_may_break_the_name_of_a_column_and_never_an_sd() -> None:
    made = table(RowGroup("", (row("one", Cell("6.5", sd="0.1")),)), heads=(Head("cpu_pct_per_gbps"),))
    assert ">cpu_<wbr>pct_<wbr>per_<wbr>gbps</th>" in page(made)
    assert "<i>±\u00a00.1</i>" in page(made)


@pytest.mark.parametrize(("folded", "details"), [("", 0), ("2 cases", 1)])
def test_a_folded_table_is_opened_by_its_reader(folded: str, details: int) -> None:
    made = Table("Rates", (Head("Case"),), (), (), folded=folded)
    assert page(made).count("<details>") == details
