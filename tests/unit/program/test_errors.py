# SPDX-License-Identifier: Apache-2.0
"""Errors: what they are about, and their text with and without it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from linewatt.errors import (
    ChangeError,
    DamagedFile,
    HostError,
    HostLacks,
    HostRefused,
    InvalidInput,
    LinewattError,
    NoJson,
)
from linewatt.foreign import MOST_SAID, contained

ERRORS = [
    (HostError("no route", where="h1"), "h1: no route", "no route"),
    (HostError("(10.0.0.1:22): no route", where="h1", joint=" "), "h1 (10.0.0.1:22): no route", None),
    (HostLacks("h1", "no vsftpd", "install it"), "h1: no vsftpd; install it", "no vsftpd; install it"),
    (HostRefused("too few CPUs", where="h1"), "h1: too few CPUs", "too few CPUs"),
    (
        DamagedFile("not a JSON object", where=Path("/r/a.json")),
        "/r/a.json: damaged: not a JSON object",
        None,
    ),
    (NoJson("it is empty", where="ip"), "ip: is no JSON: it is empty", None),
    (InvalidInput("h1: is no level"), "h1: is no level", "h1: is no level"),
]


@pytest.mark.parametrize(("error", "text", "without"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_has_its_place_and_its_problem(error: LinewattError, text: str, without: str | None) -> None:
    assert str(error) == text
    assert error.without(error.where or "h1") == (error.problem if without is None else without)
    assert error.without("h2") == text, "about something else: all of it"


def test_an_error_comes_through_a_process_pool_as_it_was() -> None:
    error = pickle.loads(pickle.dumps(DamagedFile("not a JSON object", where="a.json")))  # noqa: S301
    assert (str(error), error.what, error.where) == (
        "a.json: damaged: not a JSON object",
        "not a JSON object",
        "a.json",
    )


def test_a_long_error_is_cut_and_still_says_where() -> None:
    with pytest.raises(ChangeError) as caught, contained("its answer"):
        raise ChangeError("x" * 2 * MOST_SAID, where="h1")
    assert str(caught.value) == f"h1: {'x' * (MOST_SAID - 5)}…"
    assert caught.value.without("h1") == f"{'x' * (MOST_SAID - 5)}…"


def test_whatever_a_parser_trips_over_is_of_the_host() -> None:
    with pytest.raises(LinewattError) as caught, contained("what python3 says", where="h1"):
        raise ValueError("no number")
    assert caught.value.without("h1") == "what python3 says cannot be read: ValueError: no number"
