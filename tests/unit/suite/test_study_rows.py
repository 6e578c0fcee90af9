# SPDX-License-Identifier: Apache-2.0
"""docs/studies/rows.md says of each row of the studies what the program prints today."""

from __future__ import annotations

from collections import Counter

import pytest
from scripts.gallery.rows.model import (
    ROOT,
    STATES,
    Column,
    Printed,
    Row,
    agrees,
    run_command,
    values_in,
)
from scripts.gallery.rows.page import PAGE, STUDIES, page, rows

ROWS_OF_STUDIES = {
    "000: x64 energy": 28,
    "001: ARM energy": 24,
    "002: NUMA and PSU": 29,
    "003: VXLAN on Arm": 17,
    "004: the 48-hour soak": 17,
}


@pytest.fixture(scope="module")
def studies() -> dict[str, tuple[Printed, ...]]:
    return rows()


def test_the_page_is_made_of_what_the_commands_print(studies: dict[str, tuple[Printed, ...]]) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(studies), "run `make gallery`"


def test_every_row_of_the_studies_is_there_once() -> None:
    assert {title: len(rows_of_study) for title, rows_of_study in STUDIES.items()} == ROWS_OF_STUDIES
    for title, rows_of_study in STUDIES.items():
        assert Counter(row.name for row in rows_of_study).most_common(1)[0][1] == 1, title


def test_each_state_is_backed(studies: dict[str, tuple[Printed, ...]]) -> None:
    """By values, a reason, or a test that is there."""
    printed = [row for rows_of_study in studies.values() for row in rows_of_study]
    assert {row.state for row in printed} == set(STATES)
    for one in printed:
        row = one.row
        assert bool(one.values) == (one.state in {"right", "**differs**"}), row.name
        if one.values:
            assert any(one.published), row.name
        assert bool(row.reason) == (one.state in {"**differs**", "not published"}), row.name
        if row.test:
            assert (ROOT / row.test).is_file(), row.name


def test_what_differs_is_what_contradicts_arithmetic_or_cannot_be_tested(
    studies: dict[str, tuple[Printed, ...]],
) -> None:
    """A row that differs from now on is a mistake of the program, or of the row."""
    printed = [row for rows_of_study in studies.values() for row in rows_of_study]
    assert [row.row.name for row in printed if row.state == "**differs**"] == [
        "Table 1 Mbps/core",
        "Table 1 operating regime column",
        "Table 2 PSU out, CPU W, Mbps/W, CPU share",
        "Is ARM more efficient? verdict by host",
        "CPU efficiency Mbit/s/W",
        "'results were the same' test",
        "6.5 v 6.12 Gbit/s",
    ]


def test_what_is_not_published_is_an_sd_and_a_network() -> None:
    printed = [Printed(row, ()) for rows_of_study in STUDIES.values() for row in rows_of_study if row.test]
    assert [row.row.name for row in printed if row.state == "not published"] == [
        "SD bars on throughput",
        "18 charts",
    ]


@pytest.mark.parametrize(
    ("published", "printed", "is_right"),
    [
        (["24.3 Gbps"], ["24.29"], True),
        (["24.3 Gbps"], ["24.41"], False),
        (["942.52"], ["942.56"], False),
        (["94,237.26"], ["94237.264"], True),
        ([".691", ".566"], ["0.691", "0.566"], True),
        (["17", "42"], ["+17.6 %", "+42.7 %"], True),
        (["1", "2"], ["1"], False),
        (["−90 W"], ["−90.2"], True),
        (["single", "multi"], ["single, multi"], False),
        (["saturated"], ["saturated"], True),
    ],
)
def test_numbers_agree_to_the_last_digit_of_the_coarser(
    published: list[str], printed: list[str], is_right: bool
) -> None:
    assert agrees(published, printed) is is_right


def test_a_value_that_was_read_from_a_chart_may_be_off_by_a_share() -> None:
    assert agrees(["2.5"], ["2.75"], within=0.12)
    assert not agrees(["2.5"], ["2.85"], within=0.12)


def test_published_values_may_be_cells_of_a_shipped_table() -> None:
    assert Column("x64_components", ("power_w",)).values == ("136", "48", "20", "2", "32", "11")
    received = Column("arm_vs_intel_all", ("throughput",), (("test", "udp-60"), ("role", "receiver")))
    assert received.values == ("169", "108", "139", "108", "139", "151")
    both = Column("arm_vs_intel_all", ("test", "role"), order="test").values
    assert both[:2] == ("tcp-tput", "receiver")
    assert both[-2:] == ("udp-60", "sender")


@pytest.mark.parametrize(
    ("pattern", "section", "values"),
    [
        (r"b (\d)", "", ("1", "2")),
        (r"b (\d)", r"^two.*", ("2",)),
        (r"(a) b (\d)", r"^one.*?$", ("a", "1")),
        (r"a +b", r"^one.*?$", ("a b",)),
    ],
)
def test_values_are_matches_in_a_section_of_the_output(
    pattern: str, section: str, values: tuple[str, ...]
) -> None:
    row = Row("x", "c", "1", pattern=pattern, section=section)
    assert values_in(row, "one: a b 1\ntwo: a b 2\n") == values


def test_values_may_be_columns_of_an_output() -> None:
    assert values_in(Row("x", "c", "1", columns=("b", "a")), "a,b\n1,2\n3,4\n") == ("2", "1", "4", "3")


def test_an_output_without_the_value_and_a_command_that_fails_are_errors() -> None:
    with pytest.raises(ValueError, match="x: c prints nothing like '' 'no such text'"):
        values_in(Row("x", "c", "1", pattern="no such text"), "some text")
    with pytest.raises(ValueError, match=r"exit 2: .*no-such-table\.csv"):
        run_command("linewatt derive no-such-table.csv")
