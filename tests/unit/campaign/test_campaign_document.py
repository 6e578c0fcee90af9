# SPDX-License-Identifier: Apache-2.0
"""YAML that knows where its values stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt import document
from linewatt.document import FOREIGN, parse_yaml, read_text, show_path, show_value
from linewatt.errors import InvalidInput


def outcome(text: str) -> str:
    """The one line of its error, or a line as good."""
    try:
        parse_yaml(text, "f.yaml")
    except InvalidInput as error:
        return str(error) if str(error).isprintable() else "several lines"
    return "f.yaml: is fine"


def test_every_value_and_key_knows_its_line_and_column() -> None:
    document = parse_yaml("name: a\nwindow:\n  seconds: 5\ntests: [tcp, udp-60]\n", "c.yaml")
    seconds = document.place(("window", "seconds"))
    assert (seconds.line, seconds.column) == (3, 12)
    key = document.place(("window", "seconds"), key=True)
    assert (key.line, key.column) == (3, 3)
    second_test = document.place(("tests", 1))
    assert (second_test.line, second_test.column) == (4, 14)


def test_what_is_missing_is_placed_at_the_key_it_belongs_under() -> None:
    document = parse_yaml("a: 1\nhosts:\n  dut: {data: eth0}\n", "c.yaml")
    place = document.place(("hosts", "dut", "address"), key=True)
    assert (place.line, place.column) == (3, 3)


def test_scalars_are_those_of_yaml_1_2() -> None:
    text = "a: yes\nb: 017\nc: 0x1f\nd: 1_000\ne: 1:30\nf: 2024-01-01\ng: true\nh: ~\ni: 1e3\nj: 0-3,8\n"
    assert parse_yaml(text, "f").value == {
        "a": "yes",
        "b": 17,
        "c": 31,
        "d": 1000,
        "e": "1:30",
        "f": "2024-01-01",
        "g": True,
        "h": None,
        "i": 1000.0,
        "j": "0-3,8",
    }


def test_aliases_are_followed() -> None:
    assert parse_yaml("a: &x [1, 2]\nb: *x\n", "f").value == {"a": [1, 2], "b": [1, 2]}


def test_a_reused_anchor_is_legal_and_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    assert parse_yaml("- &a 1\n- &a 2\n- *a\n", "f").value == [1, 2, 2]
    assert not recwarn.list


def test_tags_of_other_tools_are_refused_or_let_through_as_nothing() -> None:
    text = "a: !vault |\n  0123\nb: 1\n"
    with pytest.raises(InvalidInput, match="'!vault' is not read"):
        parse_yaml(text, "f")
    assert parse_yaml(text, "f", foreign_tags=True).value == {"a": FOREIGN, "b": 1}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read_text(path) == "name: a\n"


@given(st.text(max_size=300))
def test_any_text_gives_values_or_one_clear_line(text: str) -> None:
    assert outcome(text).startswith("f.yaml:")


@given(st.text(alphabet="[]{}:,-*&!|>'\"#%@` \n\tab1", max_size=60))
def test_any_punctuation_gives_values_or_one_clear_line(text: str) -> None:
    assert outcome(text).startswith("f.yaml:")


@pytest.mark.parametrize("text", ["a\n" * 100_000, f"[{'a,' * 100_000}]"])
def test_a_file_of_far_too_many_values_is_refused_before_it_is_parsed(text: str) -> None:
    with pytest.raises(InvalidInput, match="more than 60000 lines and commas"):
        parse_yaml(text, "f.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hosts:\n" + "".join(f"  h{number}: {{}}\n" for number in range(20)), "f.yaml:12:3: hosts: has"),
        ("".join(f"h{number}: 1\n" for number in range(20)), "f.yaml:11:1: has"),
        ("a:\n- {" + ",".join(f"h{number}: 1" for number in range(20)) + "}\n", "f.yaml:2:64: a[0]: has"),
    ],
)
def test_the_first_key_too_many_is_refused_before_the_others_are_read(text: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_yaml(text + "]", "f.yaml", max_keys=10)
    assert str(caught.value) == f"{expected} more than 10 keys; at most 10 are possible"


def test_the_first_value_too_many_is_refused_before_the_others_are_read() -> None:
    with pytest.raises(InvalidInput, match=r"f.yaml:20000:3: holds more than 20000 values"):
        parse_yaml("- 1\n" * 25_000 + "]", "f.yaml")


@pytest.mark.parametrize("text", ["[" * 3000 + "\nname: x", "{a: [" * 300, "a: [" + "]}[[[" * 2000])
def test_a_file_of_far_too_many_open_brackets_is_refused_before_it_is_parsed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "YAML", None)
    with pytest.raises(InvalidInput, match=r"f.yaml:1:1: is nested too deeply"):
        parse_yaml(text, "f.yaml")


def test_paths_are_shown_as_they_are_written() -> None:
    assert show_path(("tests", 1, "instances", 0)) == "tests[1].instances[0]"
    assert show_path(("hosts", "a b")) == "hosts.'a b'"


def test_long_values_are_shown_short() -> None:
    assert len(show_value("x" * 1000)) <= 60
    assert show_value(10**50) == "a huge number"
