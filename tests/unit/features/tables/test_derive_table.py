# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.delimited import Table, parse_number, read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables.inputs import RECOGNISED

CAPTURES = Path(__file__).resolve().parents[3] / "captures" / "derive"


def read(data: bytes) -> Table:
    table, warnings = read_table(data, "t.csv", known=RECOGNISED)
    assert not warnings
    return table


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiter_line_ends_and_byte_order_mark_make_no_difference(
    delimiter: str, newline: str, mark: bytes
) -> None:
    lines = [["instances", "note", "cpu_pct"], ["1", "a b", "50"], ["2", "", "90"]]
    text = newline.join(delimiter.join(line) for line in lines)
    table = read(mark + text.encode())
    assert table.columns == ("instances", "note", "cpu_pct")
    assert [list(row.cells.values()) for row in table.rows] == lines[1:]
    assert [row.line for row in table.rows] == [2, 3]


def test_the_delimiter_is_the_one_that_gives_known_names() -> None:
    table = read(b"notes, long; and, wordy;throughput_mbps;cpu_pct\nx;y;1;2\n")
    assert table.columns == ("notes, long", "and, wordy", "throughput_mbps", "cpu_pct")


def test_one_column_needs_no_delimiter() -> None:
    assert read(b"throughput_mbps\n1\n").columns == ("throughput_mbps",)


def test_lines_without_content_are_skipped_and_lines_still_counted() -> None:
    table = read(b"\ninstances,cpu_pct\n\n1,2\n,,,\n3,4\n\n")
    assert [(row.number, row.line) for row in table.rows] == [(1, 4), (2, 6)]


def test_a_quoted_cell_may_hold_delimiters_quotes_and_line_breaks() -> None:
    table = read(b'instances,note\n1,"a, ""b""\nc"\n2,d\n')
    assert table.rows[0].cells["note"] == 'a, "b"\nc'
    assert table.rows[1].line == 4


def test_blanks_around_names_and_cells_do_not_count() -> None:
    table = read(b' instances ,"mean\nrate"\n 1 , 2\n')
    assert table.columns == ("instances", "mean rate")
    assert table.rows[0].cells == {"instances": "1", "mean rate": "2"}


def test_a_column_without_a_name_gets_its_number() -> None:
    assert read(b",instances\n0,1\n").columns == ("column_1", "instances")


def test_a_delimiter_at_the_end_of_lines_makes_no_column() -> None:
    table = read(b"instances,cpu_pct,\n1,2,\n3,4\n")
    assert table.columns == ("instances", "cpu_pct")
    assert all(row.aligned for row in table.rows)


def test_rows_with_too_few_or_too_many_cells_are_marked_and_said() -> None:
    table, warnings = read_table((CAPTURES / "ragged.csv").read_bytes(), "t.csv")
    assert [row.aligned for row in table.rows] == [True, False, False, True]
    assert [str(warning) for warning in warnings] == [
        "row 2 (line 3): 4 cells where the header has 3: nothing is derived from this row",
        "row 3 (line 4): 2 cells where the header has 3: nothing is derived from this row",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad_empty.csv", "t.csv: the file is empty"),
        ("bad_no_rows.csv", "t.csv: the file has a header but no rows"),
        ("bad_duplicate_header.csv", "t.csv:1: columns 1 and 3 are both named 'instances'"),
        ("bad_latin1.csv", "t.csv:2: the file is not UTF-8"),
        ("bad_utf16.csv", "t.csv: the file is UTF-16"),
        ("bad_binary.csv", "t.csv: the file is binary"),
        ("bad_quote.csv", "t.csv:2: the quoting is broken"),
    ],
)
def test_what_is_no_table_is_refused_with_one_line_that_says_where(name: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_table((CAPTURES / name).read_bytes(), "t.csv")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_name_with_control_characters_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the name of column 2 holds control characters"):
        read_table(b"instances,\x1b[31mred\n1,2\n", "t.csv")


def test_a_cell_beyond_what_csv_readers_take_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a cell is too long"):
        read_table(b"instances\n" + b"1" * 200_000 + b"\n", "t.csv")


@pytest.mark.parametrize("cell", ["1", "-1", "+1.5", ".866", "1.", "1e3", "1.5E-3", "007"])
def test_plain_decimal_numbers_are_numbers(cell: str) -> None:
    assert parse_number(cell) == float(cell)


@pytest.mark.parametrize(
    "cell", ["", " ", "nan", "inf", "Infinity", "1e999", "1,5", "1_0", "0x1", "1 2", "1%", "٣"]
)
def test_everything_else_is_not(cell: str) -> None:
    assert parse_number(cell) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_invalid_input_of_one_line(data: bytes) -> None:
    try:
        table, _ = read_table(data, "t.csv", known=RECOGNISED)
    except InvalidInput as error:
        message = str(error)
    else:
        message = ""
        assert table.columns
        assert all(tuple(row.cells) == table.columns for row in table.rows)
    assert "\n" not in message
