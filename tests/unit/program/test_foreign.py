# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import (
    ANSWER,
    LARGEST,
    NUL,
    STORED,
    Limits,
    entered,
    number,
    one_line,
    read_json,
    scrubbed,
    shown,
    understood,
)


@dataclass(frozen=True)
class _Pair:
    name: str
    value: float


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NaN", "NaN, which is not a number"),
        ("[1, -Infinity]", "-Infinity, which is not a number"),
        ("1e999", "'1e999' is too large"),
        ("[1e308]", "'1e308' is too large"),
        ("9" * 39, "too large"),
        ("1" * 5000, "a number of 5000 digits"),
        ("[" * 40 + "]" * 40, "nests values more than 32 deep"),
        ("[" * 100_000, "nests values too deeply"),
        ('"\\ud800"', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ('"\ud800"', "half a character"),
        ("", "is no JSON"),
        ("{'a': 1}", "is no JSON"),
        ('"a\x1bb"', "is no JSON"),
    ],
)
def test_json_of_an_answer_is_refused_with_its_reason(text: str, said: str) -> None:
    with pytest.raises(ParseError) as refused:
        read_json(text, "h1: a tool")
    assert str(refused.value).startswith("h1: a tool: ")
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_an_answer_longer_than_its_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ParseError, match="longer than 10 characters"):
        read_json("[" * 11, "h1", Limits(10, 32, LARGEST, scrubs=True))


def test_texts_of_an_answer_lose_their_control_characters_and_stored_ones_do_not() -> None:
    text = json.dumps({"a\x1b": ["b\x07\n\x9b", "whole \U0001f600"]})
    assert read_json(text, "h1") == {"a␛": ["b␇\n�", "whole \U0001f600"]}
    assert read_json(text, "file", STORED) == json.loads(text)


def test_a_stored_square_of_a_large_number_is_read_and_infinity_is_not() -> None:
    assert read_json("1e60", "file", STORED) == 1e60
    with pytest.raises(ParseError):
        read_json("1e309", "file", STORED)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(-1e30, 1e30) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_what_json_can_hold_is_read_as_it_was_stored(value: object) -> None:
    assert read_json(json.dumps(value), "file", STORED) == value


@given(st.text() | st.binary().map(lambda data: data.decode(errors="replace")))
def test_any_text_is_a_value_or_a_reason(text: str) -> None:
    for limits in (ANSWER, STORED):
        with suppress(ParseError):
            json.dumps(read_json(text, "h1", limits), allow_nan=False).encode()


@given(st.binary())
def test_bytes_enter_as_text_that_can_be_shown_and_stored(data: bytes) -> None:
    text = entered(data)
    assert all(one in "\n\t\r" or one.isprintable() or ord(one) > 0x9F for one in text)
    assert "\r" not in text.replace("\r\n", "")
    text.encode()
    assert entered(text.encode()).replace("�", "") == "".join(
        one for one in text if not 0x2400 <= ord(one) <= 0x2421 and one != "�"
    )


def test_a_control_character_becomes_its_picture_and_a_picture_cannot_pass_for_one() -> None:
    assert entered(b"a\x00b\x1b[31mc\x7f\r\nd\re\tf") == "a␀b␛[31mc␡\r\nd␍e\tf"
    assert entered("a␀b".encode()) == "a�b"
    assert entered(b"\0") == NUL
    assert scrubbed("\x9b31m\ud800") == "�31m�"


def test_digits_without_end_enter_as_their_count() -> None:
    """Whole numbers of thousands of digits are a ValueError wherever one is read."""
    assert entered(b"cpu 3.11 " + b"9" * 5000 + b" ok") == "cpu 3.11 (5000 digits) ok"
    assert entered("٣".encode() * 101) == "(101 digits)"
    assert entered(b"9" * 100) == "9" * 100


@given(st.integers(0, 170), st.integers(95, 210), st.integers(0, 170))
def test_digits_without_end_are_found_wherever_they_begin(before: int, digits: int, behind: int) -> None:
    told = f"({digits} digits)" if digits > 100 else "7" * digits
    assert entered(b"x" * before + b"7" * digits + b"y" * behind) == "x" * before + told + "y" * behind


def test_what_is_shown_on_a_terminal_has_lines_and_no_control_sequences() -> None:
    assert shown("a\n\tb\u00a0±\x1b]0;x\x07\r\u202e\ud800") == "a\n\tb\u00a0±\\x1b]0;x\\x07\\r\\u202e\\ud800"
    assert one_line("a\nb\x1b") == "a\\nb\\x1b"


@given(st.text(alphabet=st.characters()))
def test_nothing_shown_is_a_control_character(text: str) -> None:
    assert all(one in "\n\t" or ord(one) >= 0x20 for one in shown(text))
    assert not any(0x7F <= ord(one) <= 0x9F for one in shown(text))
    shown(text).encode()


def _recurse(depth: int = 0) -> int:
    return _recurse(depth + 1) + 1


@pytest.mark.parametrize(
    ("parse", "said"),
    [
        (lambda: dict[str, int]()["a"], "KeyError: 'a'"),
        (lambda: int("x\x1b"), "ValueError"),
        (lambda: [][1], "IndexError"),
        (lambda: getattr("a", "b" + "c"), "AttributeError"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: float(10**400), "OverflowError"),
        (_recurse, "RecursionError"),
        (lambda: next(iter(())), "StopIteration"),
    ],
)
def test_whatever_a_parser_trips_over_is_a_parse_error_of_a_line(parse: object, said: str) -> None:
    with pytest.raises(ParseError) as refused:
        understood(parse, "h1: a tool")  # type: ignore[arg-type]
    assert str(refused.value).startswith("h1: a tool cannot be read: ")
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_what_is_raised_on_purpose_is_raised_as_it_is() -> None:
    def parse() -> int:
        raise InvalidInput("there is no such channel")

    with pytest.raises(InvalidInput, match="there is no such channel"):
        understood(parse, "h1")


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -1e31,
        10**40,
        {"a": [1.0, (2.0, math.nan)]},
        _Pair("a", math.inf),
        _Pair("\ud800", 1.0),
        {"\udfff": 1},
    ],
)
def test_an_answer_that_could_not_be_stored_is_refused(value: object) -> None:
    with pytest.raises(ParseError, match=r"^h1: "):
        understood(lambda: value, "h1")


def test_an_answer_within_bounds_is_what_the_parser_made_of_it() -> None:
    value = {"a": [1.0, None, True, 2**64, _Pair("ü", -1e30)]}
    assert understood(lambda: value, "h1") is value


@pytest.mark.parametrize("word", ["x", b"\xff", "nan", "inf", "1e999", "1e31", ""])
def test_a_number_from_outside_is_finite_or_refused(word: str | bytes) -> None:
    with pytest.raises(ParseError, match=r"^h1: "):
        number(word, "h1")
    assert number(b"1.5", "h1") == 1.5
