# SPDX-License-Identifier: Apache-2.0
"""A document's class says which keys it has: its JSON and its schema agree."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from linewatt.declare import FLAT, PREFIXED, SELDOM, finished
from linewatt.json_document import document_of, fill, of_class


@dataclass(frozen=True, slots=True)
class Spread:
    mean: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Quota:
    quota_cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    number: int
    rate_bps: Spread = field(metadata=PREFIXED)
    quota: Quota | None = field(metadata=FLAT)
    for_: tuple[str, ...]
    reason: str | None = field(default=None, metadata=SELDOM)
    is_least: bool = field(default=False, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Row:
    names: dict[str, str] = field(metadata=FLAT)
    value: float


SHORT = Line(number=1, rate_bps=Spread(None, 0), quota=None, for_=())
LONG = Line(number=0, rate_bps=Spread(2.0, 3), quota=Quota(0.5), for_=("a",), reason="r", is_least=True)
ALL_KEYS = ["number", "rate_bps_mean", "rate_bps_n", "quota_cores", "for", "reason", "is_least"]
SCHEMA = finished("line", 1, "A line.", of_class(Line))


def written(line: Line) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(document_of(line)))
    return document


def test_a_document_has_the_keys_of_its_parts_in_their_place() -> None:
    assert list(document_of(LONG)) == ALL_KEYS
    assert document_of(LONG)["rate_bps_mean"] == 2.0


def test_a_document_lacks_seldom_keys_that_have_their_default_and_parts_that_are_none() -> None:
    assert list(document_of(SHORT)) == ["number", "rate_bps_mean", "rate_bps_n", "for"]


@pytest.mark.parametrize("line", [SHORT, LONG])
def test_a_document_is_valid_by_the_schema_of_its_class(line: Line) -> None:
    Draft202012Validator(SCHEMA).validate(written(line))
    assert list(SCHEMA["properties"]) == ALL_KEYS


@pytest.mark.parametrize("wrong", [{"reason": None}, {"quota": None}, {"rate_bps": {}}, {"for_": []}])
def test_no_other_key_is_valid_nor_null_for_one_that_may_be_left_out(wrong: dict[str, object]) -> None:
    assert not Draft202012Validator(SCHEMA).is_valid(written(SHORT) | wrong)


def test_a_part_has_the_unit_of_its_name() -> None:
    mean = SCHEMA["properties"]["rate_bps_mean"]
    assert (mean["x-unit"], mean["type"]) == ("bit/s", ["number", "null"])


def test_keys_of_a_mapping_stand_among_those_of_its_document() -> None:
    assert document_of(Row({"kernel": "6.8"}, 1.0)) == {"kernel": "6.8", "value": 1.0}
    rows = Draft202012Validator(of_class(Row))
    assert rows.is_valid({"kernel": "6.8", "value": 1.0})
    assert not rows.is_valid({"kernel": 6.8, "value": 1.0})


def test_a_document_is_filled_from_attributes_but_for_those_that_are_named() -> None:
    assert fill(Spread, Spread(1.0, 2), mean=3.0) == Spread(3.0, 2)
    with pytest.raises(AttributeError):
        fill(Quota, Spread(1.0, 2))
