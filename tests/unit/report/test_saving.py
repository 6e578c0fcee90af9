# SPDX-License-Identifier: Apache-2.0
"""What a page lets its reader save: the same numbers, for programs, and nothing that acts."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from tests.amounts import inputs
from tests.report_factories import HOSTILE, demo_trials, powered, renumbered, result, scaling_trials
from tests.saved_files import saved

from linewatt.report.printing import html, saving
from linewatt.report.printing.saving import MOST_BYTES, MOST_ROWS, MOST_ROWS_OF_CSV, csv_text, save_table
from linewatt.report.table import Cell, Head, Row, RowGroup, Table
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.selection import MOST_SERIES, selection


class Links(HTMLParser):
    """Every file in a page, and how often it has tables and figures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.files: list[tuple[str, str]] = []
        self.labels: list[str] = []
        self.seen: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if "download" in dict(attrs):
            self.files.append(saved(dict(attrs)))
            self.labels.append(dict(attrs)["aria-label"] or "")


def page() -> Links:
    trials = renumbered(demo_trials(), powered(scaling_trials((1, 2), sender="h3"), provenance="simulated"))
    return Links(html.render_html(digest_of(result(trials, name=HOSTILE))))


def test_each_figure_and_each_table_of_a_page_can_be_saved() -> None:
    made = page()
    kinds = [name.rpartition(".")[2] for name, _ in made.files]
    assert kinds.count("svg") == made.seen.count("figure") > 2
    assert kinds.count("csv") == made.seen.count("table") > 5
    assert kinds.count("md") == kinds.count("csv")
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*\.(csv|md|svg)", name) for name, _ in made.files)
    assert all(re.fullmatch(r"(?s)Save .+ as (CSV|Markdown|SVG)", label) for label in made.labels)
    for name, text in made.files:
        if name.endswith(".svg"):
            assert text.startswith("<svg xmlns=")


def row_of(*cells: Cell, key: str = "1") -> Row:
    return Row((Cell(key),), cells)


def read(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(table))))


def test_a_csv_has_numbers_for_programs_and_what_stands_beside_them() -> None:
    heads = (Head("Throughput", "Mbps", show_sd=True, show_ci=True), Head("Power", "W", group="h2"))
    rows = (
        row_of(Cell("12,053.5", sd="1,000.1", ci="11,000 to 13,000"), Cell("157.2", mark="sim")),
        row_of(Cell("−3.5"), Cell("–", reason="no answer"), key="2"),
    )
    made = Table("T", (Head("Instances"),), heads, (RowGroup("a, b", rows[:1]), RowGroup("=1+1", rows[1:])))
    first, second = read(made)
    assert first == {
        "Case": "a, b",
        "Instances": "1",
        "Throughput (Mbps)": "12053.5",
        "Throughput (Mbps): SD": "1000.1",
        "Throughput (Mbps): 95 % CI": "11,000 to 13,000",
        "h2: Power (W)": "157.2",
        "h2: Power (W): is": "sim",
        "h2: Power (W): why missing": "",
    }
    assert second["Case"] == "'=1+1", "no cell is a formula to a spreadsheet"
    assert second["Throughput (Mbps)"] == "-3.5"
    assert (second["h2: Power (W)"], second["h2: Power (W): why missing"]) == ("", "no answer")


def test_a_long_table_is_there_as_csv_alone_and_an_empty_one_not_at_all() -> None:
    def links(count: int) -> list[str]:
        rows = tuple(row_of(Cell("1"), key=str(at)) for at in range(count))
        found = Links(save_table(Table("T", (Head("K"),), (Head("V"),), (RowGroup("", rows),))))
        return [name for name, _ in found.files]

    assert links(MOST_ROWS) == ["t.csv", "t.md"]
    assert links(MOST_ROWS + 1) == ["t.csv"]
    assert links(MOST_ROWS_OF_CSV) == ["t.csv"]
    assert links(0) == []


def test_of_a_very_long_table_no_file_is_made_and_its_place_says_where_the_numbers_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(saving, "csv_text", None)
    rows = tuple(row_of(Cell("1"), key=str(at)) for at in range(MOST_ROWS_OF_CSV + 1))
    made = save_table(Table("T", (Head("K"),), (Head("V"),), (RowGroup("", rows),)))
    assert Links(made).files == []
    assert "CSV (501 rows are not in this file twice; --json has its numbers)" in made


def test_what_a_large_page_leaves_out_is_looked_up_and_not_made_anew_for_each_case() -> None:
    many = renumbered(*(scaling_trials((1,), sender=f"s{at}") for at in range(MOST_SERIES + 5)))
    chosen = selection(digest_of(result(many)).groups)
    assert chosen.others
    assert chosen.left_out is chosen.left_out


def test_what_is_large_is_not_in_the_page_twice_and_its_place_says_so() -> None:
    rows = tuple(row_of(Cell("x" * 300), key=str(at)) for at in range(MOST_BYTES // 300 + 2))
    made = save_table(Table("T", (Head("K"),), (Head("V", kind="text"),), (RowGroup("", rows),)))
    assert Links(made).files == []
    assert len(made) < 200
    assert "CSV (66 kB are not in this file twice; --json has its numbers)" in made


@settings(max_examples=inputs(200), deadline=None, derandomize=True, database=None)
@given(title=st.text(max_size=20), cell=st.text(max_size=20))
def test_whatever_a_table_says_stays_in_its_file(title: str, cell: str) -> None:
    made = Table(title, (Head("K"),), (Head("V", kind="text"),), (RowGroup("", (row_of(Cell(cell)),)),))
    link = save_table(made)
    assert isinstance(link, Markup)
    found = Links(link)
    assert found.seen == ["p", "a", "a"]
    (_, text), _ = found.files
    assert text == csv_text(made)
    assert len(list(csv.reader(io.StringIO(text)))) == 2
