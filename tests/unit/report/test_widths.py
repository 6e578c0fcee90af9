# SPDX-License-Identifier: Apache-2.0
"""Terminals of 40 to 200 columns: no number is cut or parted from its unit, what is left out is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import RenderableType
from rich.text import Text
from tests.amounts import inputs
from tests.fuzz.stored_results import CAMPAIGN, LEVELS, OLD, OTHER_SOAK, SOAK, results

from linewatt.cli import entry_point as cli
from linewatt.cli.output import console
from linewatt.report.printing.text_table import render_table
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, text_cells

Render = Callable[[int | None], RenderableType]

COMMANDS: dict[str, tuple[str, ...]] = {  # first screens have tests of their own
    "list": ("list",),
    "history": ("history",),
    "compare soaks": ("compare", SOAK, OTHER_SOAK, "--full"),
    "compare levels": ("compare", LEVELS, "--by", "gro", "--full"),
    "campaign": ("show", CAMPAIGN, "--full"),
    "levels": ("show", LEVELS, "--full"),
    "soak": ("show", SOAK, "--full"),
    "method 1": ("show", OLD, "--full"),
    "every trial": ("show", OLD, "--full", "--trials"),
}
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
UNIT = re.compile(r"\s*(?:%|[kMGTµmnp]?(?:bps|bit/s|pps|W|J|Hz|s|B)\b|min\b|h\b|±)")
WIDTHS = st.integers(40, 200)


@pytest.fixture(scope="module")
def root() -> Path:
    return results.__wrapped__()


@pytest.fixture(scope="module")
def renders(root: Path) -> dict[str, list[Render]]:
    """What each command prints, as what is made for a width."""
    found: dict[str, list[Render]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, words in COMMANDS.items():
            own = found.setdefault(name, [])
            for module in (f"cli.actions.{name}" for name in ("list", "show", "show_all", "compare")):
                patch.setattr(import_module(f"linewatt.{module}"), "print_rich", own.append)
            patch.setattr("linewatt.features.history.action.print_rich", own.append)
            patch.setattr(sys, "argv", ["linewatt", *words, "--results", str(root)])
            with pytest.raises(SystemExit):
                cli.main()
    return found


def printed(made: RenderableType, width: int) -> str:
    screen = console(width=width, force_terminal=True, color_system=None)
    with screen.capture() as captured:
        screen.print(made)
    return captured.get()


def numbers(text: str) -> set[str]:
    return set(NUMBER.findall(text))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_number_is_cut_or_parted_from_its_unit_at_any_width(
    renders: dict[str, list[Render]], name: str
) -> None:
    assert renders[name]
    wholes = [(made, printed(made(None), 100_000)) for made in renders[name]]

    @settings(max_examples=inputs(25), deadline=None, derandomize=True, database=None)
    @given(width=WIDTHS)
    @example(width=51)  # the least room of a name between whole and short ids
    def holds(width: int) -> None:
        for made, wide in wholes:
            out = printed(made(width), width)
            assert "…" not in out or "…" in wide
            left_out = f"Not at {width} columns: " in out
            assert numbers(out) <= numbers(wide) | ({str(width)} if left_out else set()), "a number was cut"
            if not left_out:
                assert numbers(wide) <= numbers(out), "a number is gone, and nothing says so"
            lines = [line.rstrip() for line in out.split("\n")]
            for line, after in pairwise(lines):
                prose = "  " not in line.strip() and "  " not in after.strip()
                parted = re.search(r"[\d±]$", line) and UNIT.match(after)
                assert not (prose and len(line) > width // 2 and parted), (line, after)

    holds()


NAMES = st.lists(st.integers(0, 3), min_size=1, max_size=9)


@settings(max_examples=inputs(150), deadline=None, derandomize=True, database=None)
@given(width=WIDTHS, ranks=NAMES, key=st.integers(1, 90), digits=st.integers(3, 12))
def test_columns_go_by_rank_and_are_named_and_whatever_stays_is_whole(
    width: int, ranks: list[int], key: int, digits: int
) -> None:
    heads = tuple(Head(f"Column{at}", rank=rank) for at, rank in enumerate(ranks))
    values = ["8" * digits + f".{at}" for at in range(len(ranks))]
    words = " ".join(["word"] * (key // 5 + 1))
    row = Row((Cell(words),), tuple(map(Cell, values)))
    out = printed(
        render_table(Table("", (Head("Key", kind="text"),), heads, (RowGroup("", (row,)),)), width), width
    )
    shown = [rank for rank, value in zip(ranks, values, strict=True) if re.search(rf"\b{value}\b", out)]
    gone = [at for at, value in enumerate(values) if not re.search(rf"\b{value}\b", out)]
    assert numbers(out) <= {*values, str(width), *(str(at) for at in range(9))}
    named = " ".join(out.split()).partition(f"Not at {width} columns: ")[2]
    assert [f"Column{at}" in named for at in range(len(ranks))] == [at in gone for at in range(len(ranks))]
    assert all(ranks[at] > 0 for at in gone), "what has no rank stays"
    assert not gone or not shown or max(shown) <= min(ranks[at] for at in gone)
    assert out.count("word") >= words.count("word")


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("sender CPU 42 %, receiver CPU 98 %", 15, ["sender CPU 42 %,", "receiver CPU", "98 %"]),
        ("mean 9.15 ± 0.10 Gbps", 16, ["mean", "9.15 ± 0.10 Gbps"]),
        ("58.29 Mbps/W and 1 min 00 s", 13, ["58.29 Mbps/W", "and 1 min", "00 s"]),
        ("4 words that wrap", 8, ["4 words", "that", "wrap"]),
        ("1 2 3 4 5 6 7 8", 10, ["1 2 3 4 5", "6 7 8"]),
        ("fits 5 %", 80, ["fits 5 %"]),
    ],
)
def test_a_line_ends_before_a_number_not_behind_it(text: str, width: int, lines: list[str]) -> None:
    width = max(width, *map(len, lines))
    found = [line.rstrip() for line in printed(Text(text, style="dim"), width).strip("\n").split("\n")]
    assert found == lines


def test_cells_of_one_row_stay_on_it() -> None:
    row = Row(text_cells("a long name of a case"), (Cell("9.15", sd="0.10"), Cell("98.5", mark="sim")))
    heads = (Head("Throughput", "Gbps", show_sd=True), Head("Power", "W"))
    out = printed(
        render_table(Table("", (Head("Case", kind="text"),), heads, (RowGroup("", (row,)),)), 40), 40
    )
    assert "9.15 ± 0.10" in out
    assert "98.5 sim" in out


def test_words_of_a_group_that_are_too_long_for_a_column_stand_above_its_rows() -> None:
    setting = "h1 → h2, coalescing=adaptive governor=performance mtu={}"
    heads = (Head("Throughput (Gbps)"), Head("Watts (W)"))
    groups = tuple(
        RowGroup(setting.format(mtu), (Row(text_cells("1"), text_cells("20.00 ± 0.08", "210.0 ± 0.7")),))
        for mtu in (1500, 9000)
    )
    made = Table("", (Head("Instances"),), heads, groups)
    lines = printed(render_table(made, 60), 60).rstrip("\n").split("\n")
    assert lines[2:] == [
        "h1 → h2, coalescing=adaptive governor=performance mtu=1500",
        "        1       20.00 ± 0.08  210.0 ± 0.7",
        "h1 → h2, coalescing=adaptive governor=performance mtu=9000",
        "        1       20.00 ± 0.08  210.0 ± 0.7",
    ]
    assert "mtu=1500          1" in printed(render_table(made, 120), 120)


def test_a_portion_of_a_table_has_only_the_rows_in_which_it_says_something() -> None:
    def group(label: str, *rows: Row) -> RowGroup:
        return RowGroup(label, rows)

    wide = "123,456,789,012,345"
    rows = (Row(text_cells("first"), text_cells(wide, "")), Row(text_cells("second"), text_cells(wide, wide)))
    made = Table(
        "",
        (Head("What", kind="text"),),
        (Head("Clients"), Head("Server")),
        (group("Bytes", *rows), group("Drops", Row(text_cells("third"), text_cells("", "–")))),
    )
    said = [line.split() for line in printed(render_table(made, 40), 40).rstrip("\n").split("\n")]
    clients, gap, server = said[2:4], said[4], said[7:]
    assert gap == []
    assert clients == [["Bytes", "first", wide], ["second", wide]]
    assert server == [["Bytes", "second", wide], ["Drops", "third", "–"]]


def test_what_stands_beside_words_that_wrap_is_on_their_first_line() -> None:
    rows = (Row(text_cells("first"), text_cells("1", "four words that wrap")),)
    heads = (Head("Count", lines="Count\n± SD"), Head("Verdict", kind="prose"))
    made = Table("", (Head("Case", kind="text"),), heads, (RowGroup("", rows),))
    lines = printed(render_table(made, 28), 28)
    assert [line.split() for line in lines.rstrip("\n").split("\n")] == [
        ["Count"],
        ["Case", "±", "SD", "Verdict"],
        ["─" * 28],
        ["first", "1", "four", "words"],
        ["that", "wrap"],
    ]
