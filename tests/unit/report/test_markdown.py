# SPDX-License-Identifier: Apache-2.0
"""Results as Markdown and PDF: the same numbers as everywhere, and no text that acts."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.effect_factories import experiment_trials
from tests.fuzz.stored_results import CAMPAIGN, LEVELS, OLD, SOAK, results
from tests.report_factories import (
    DISAGREE,
    HOSTILE,
    demo_trials,
    failed,
    powered,
    renumbered,
    result,
    scaling_trials,
    stored,
)
from tests.soak_pairs import soak
from tests.unit.conftest import Run

from linewatt.model import Case
from linewatt.report.printing import markdown, pdf
from linewatt.report.printing.screen import MOST_ON_PAGE
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, text_cells

SPLIT = re.compile(r"(?<!\\)\|")


@pytest.fixture(scope="module")
def root() -> Path:
    return results.__wrapped__()


def rows(text: str) -> list[list[list[str]]]:
    """The tables of a document: rows of cells, the head first."""
    found: list[list[list[str]]] = []
    for before, line in zip(["", *text.splitlines()], text.splitlines(), strict=False):
        if line.startswith("|"):
            cells = [cell.strip() for cell in SPLIT.split(line)[1:-1]]
            if not before.startswith("|"):
                found.append([])
            found[-1].append(cells)
    return found


def well_formed(text: str) -> bool:
    """Every row of every table has as many cells as its head, and below that stands its rule."""
    return all(
        all(len(row) == len(table[0]) for row in table)
        and all(re.fullmatch("---:?", one) for one in table[1])
        for table in rows(text)
    )


@pytest.mark.parametrize("options", [("--md",), ("--md", "--full")])
@pytest.mark.parametrize("wanted", [CAMPAIGN, LEVELS, SOAK, OLD])
def test_every_kind_of_result_is_markdown_whose_tables_are_whole(
    root: Path, run: Run, wanted: str, options: tuple[str, ...]
) -> None:
    code, out, err = run("show", wanted, *options, "--results", str(root))
    assert (code, err) == (0, "")
    assert out.startswith("# " if "--full" in options else "## ")
    assert well_formed(out)
    assert rows(out) or (wanted == SOAK and len(options) == 1), "a soak begins with lists"
    assert "\n\n\n" not in out
    assert "Table(" not in out


def test_the_first_screen_as_markdown_says_the_answer_and_where_the_rest_is(run: Run) -> None:
    stored(Path("results"), result(powered(scaling_trials(), provenance="simulated")))
    code, out, _ = run("show", "--md")
    assert code == 0
    (answer, *_) = rows(out)
    assert answer[0][0] == "Series"
    assert "**110.4 Gbps**" in answer[2]
    assert any(cell.endswith(" sim") for cell in answer[2])
    assert "**Can I trust it?**" in out
    assert "`linewatt show 20260101-000000-x64-scaling --full`" in out


def test_what_was_found_of_a_soak_is_explained_in_its_first_screen_as_markdown(run: Run) -> None:
    path = soak(6, duration_s=600, server_dies_at=200, drops_at=300)
    _, out, _ = run("show", path.name, "--md")
    assert re.search(r"^- \*\*\(1\)\*\*: .+; do: ", out, re.MULTILINE)


def test_the_report_as_markdown_has_every_number_of_the_tables_and_every_finding(run: Run) -> None:
    trials = renumbered(demo_trials(), [failed(1, Case("tcp", "h1", "h2"), "gone | away")])
    stored(Path("results"), result(trials))
    assert run("report", "--format", "md")[0] == 0
    text = Path("20260101-000000-x64-scaling.md").read_text()
    assert well_formed(text)
    for section in (
        "Scalability",
        "Findings",
        "Failed trials",
        "Environment",
        "Every trial",
        "Campaign file",
    ):
        assert f"\n## {section}" in text
    for said in ("79.96 ± 0.30", "90.90 ± 0.90", DISAGREE.evidence, "gone \\| away", "name: x64-scaling"):
        assert said in text
    assert f"**What to do:** {DISAGREE.advice}" in text
    sizes = [len(table) - 2 for table in rows(text)]
    assert len(trials) in sizes, "every trial has its row"
    document = json.loads(run("show", "--json")[1])
    assert text.count("\n### (") == len(document["flags"])


def test_nothing_that_a_host_or_a_file_says_acts_as_markdown(run: Run) -> None:
    evil = "h|1* _x_ `ls` [a](http://evil.example) <img src=x> \x1b[2J # y"
    trials = [
        replace(one, case=replace(one.case, sender=evil), sender=replace(one.sender, host=evil))
        for one in demo_trials()
        if one.sender is not None
    ]
    stored(Path("results"), result(trials, name=HOSTILE, campaign_text="a: 1 # ````\n# ```\nb: 2\n"))
    for options in (("--md",), ("--md", "--full")):
        code, out, _ = run("show", *options)
        assert code == 0
        assert well_formed(out)
        outside = re.sub(r"(?s)(`{3,})\n.*?\n\1\n", "", out)
        assert not re.search(r"(?<!\\)<(?!!)[a-z/]", outside)
        assert not re.search(r"(?<!\\)\]\(", outside)
        assert "\x1b" not in out
    assert "`````\na: 1 # ````\n# ```\nb: 2\n`````" in out


TEXT = st.text(alphabet="ab1 |\\`*_<>[]#~{}\n\r\u2028é±", max_size=12)


def test_an_entity_stays_the_signs_that_were_written() -> None:
    assert markdown.plain("a &lt;b&gt; & c") == r"a \&lt;b\&gt; \& c"


@settings(max_examples=inputs(200), deadline=None, derandomize=True, database=None)
@given(cells=st.lists(TEXT, min_size=2, max_size=2), label=TEXT, note=TEXT)
def test_whatever_stands_in_a_table_stays_in_its_cell(cells: list[str], label: str, note: str) -> None:
    made = Table(
        "T",
        (Head("Key", kind="text"),),
        (Head("Value", "W"),),
        (RowGroup(label, (Row((Cell(cells[0]),), (Cell(cells[1]),)),)),),
        (Note("absence", note),),
    )
    out = markdown.document(markdown.markdown_table(made))
    (found,) = rows(out)
    assert [len(row) for row in found] == [len(found[0])] * 3
    shown = re.sub(r"\\([\\`*_\]<>|~#@])", r"\1", found[2][-1])
    assert (
        shown.split()
        == cells[1].replace("\n", "\\n").replace("\r", "\\r").replace("\u2028", "\\u2028").split()
    )


def test_a_row_of_fewer_cells_and_a_group_without_a_label_fill_their_columns() -> None:
    groups = (
        RowGroup("", (Row(text_cells("a"), text_cells("x")),)),
        RowGroup("B", (Row(text_cells("b"), text_cells("y", "z")),)),
    )
    made = Table("", (Head("K", kind="text"),), (Head("V"), Head("W", "W")), groups)
    assert rows("\n".join(markdown.bare_table(made))) == [
        [
            ["Case", "K", "V", "W (W)"],
            ["---", "---", "---:", "---:"],
            ["", "a", "x", ""],
            ["B", "b", "y", "z"],
        ]
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "--md", "--csv"), "--md: goes with --full alone"),
        (("show", "--md", "--trials"), "--md: goes with --full alone"),
        (("report", "--format", "docx"), "choose html, md, pdf"),
    ],
)
def test_what_does_not_go_together_is_one_line(run: Run, words: tuple[str, ...], says: str) -> None:
    stored(Path("results"), result(demo_trials()))
    code, out, err = run(*words)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert says in err


def test_without_a_chromium_pdf_is_one_line_that_says_how_to_get_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(Path("results"), result(demo_trials()))
    monkeypatch.delenv("LINEWATT_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    code, out, err = run("report", "--format", "pdf")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "needs a Chromium" in err
    assert "install" in err
    assert not list(Path().glob("*.pdf"))


@pytest.mark.parametrize(
    ("script", "says"),
    [("exit 3", "status 3"), ("echo no display >&2", "no display"), (None, "cannot be started")],
)
def test_a_browser_that_prints_nothing_leaves_no_file_and_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, says: str
) -> None:
    stored(Path("results"), result(demo_trials()))
    program = tmp_path / "chromium"
    program.write_text("\x00" if script is None else f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("LINEWATT_CHROMIUM", str(program))
    code, _, err = run("report", "--format", "pdf", "-o", "x.pdf")
    assert (code, len(err.splitlines())) == (1, 1)
    assert says in err
    assert not Path("x.pdf").exists()


@pytest.mark.browser
@pytest.mark.skipif(not any(map(shutil.which, pdf.NAMES)), reason="no Chromium on this machine")
def test_a_chromium_prints_the_report_as_pdf(run: Run) -> None:
    stored(Path("results"), result(demo_trials()))
    code, out, _ = run("report", "--format", "pdf")
    assert (code, out) == (0, "20260101-000000-x64-scaling.pdf\n")
    made = Path("20260101-000000-x64-scaling.pdf").read_bytes()
    assert made.startswith(b"%PDF")
    assert made.rstrip().endswith(b"%%EOF")
    assert len(made) > 50_000


def test_a_list_that_is_cut_says_where_the_rest_is_and_not_below_where_nothing_is(run: Run) -> None:
    factors = {f"f{at:02d}": ("off", "on") for at in range(MOST_ON_PAGE + 3)}
    ratios = {f"f{at:02d}": 1.1 + at / 100 for at in range(MOST_ON_PAGE + 3)}

    def effect(levels: Mapping[str, str]) -> float:
        return math.prod(ratios[name] for name, level in levels.items() if level == "on")

    trials = experiment_trials(factors=factors, effect=effect, trials=4)
    campaign = {"factors": {name: list(own) for name, own in factors.items()}, "design": "one-at-a-time"}
    stored(Path("results"), result(trials, campaign=campaign))
    pasted, whole = run("show", "--md")[1], run("show", "--md", "--full")[1]
    assert "3 more effects: show --full\n" in pasted
    assert "see below" not in pasted
    assert "3 more effects: see below\n" in whole
    assert run("report", "-o", "r.html")[0] == 0
    assert "3 more effects: see below<" in Path("r.html").read_text()
