# SPDX-License-Identifier: Apache-2.0
"""What a campaign says of supplies and components: checked at the door, and what analysis takes."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from linewatt.campaign.entries.power import ComponentEntry, Components, PsuEntry
from linewatt.features.advice.psu.supplies import MODES
from linewatt.features.advice.psu.tables import LEVELS
from linewatt.records import Component, ComponentKind, Supplies

COMPONENTS: TypeAdapter[tuple[ComponentEntry, ...]] = TypeAdapter(Components)
DDR5 = {"name": "DDR5 module", "power_w": 4, "provenance": "datasheet", "count": 12, "kind": "memory"}


def choices(model: Any, field: str) -> set[str]:
    schema = model.model_json_schema()["properties"][field]
    kinds = [schema, *schema.get("anyOf", [])]
    return {choice for kind in kinds for choice in kind.get("enum", ())}


def test_an_entry_is_a_component_as_it_stands() -> None:
    (entry,) = COMPONENTS.validate_python([DDR5])
    assert Component(**entry.model_dump()) == Component("DDR5 module", 4.0, "datasheet", 12, "memory")
    (short,) = COMPONENTS.validate_python([{"name": "SSD", "power_w": 2.5, "provenance": "estimate"}])
    assert Component(**short.model_dump()) == Component("SSD", 2.5, "estimate")


def test_an_entry_is_what_is_on_record_of_supplies_as_it_stands() -> None:
    entry = PsuEntry.model_validate({"rating_w": 800, "level": "platinum"})
    on_record = Supplies(count=2, rating_w=800, level="platinum", mode="shared")
    assert Supplies(**entry.model_dump()) == on_record


def test_files_and_analysis_know_the_same_words() -> None:
    assert choices(PsuEntry, "level") == set(LEVELS)
    assert choices(PsuEntry, "mode") == set(MODES)
    assert choices(ComponentEntry, "kind") == set(get_args(ComponentKind))
    assert choices(ComponentEntry, "provenance") == {"datasheet", "estimate"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"power_w": 0}, "greater than 0"),
        ({"power_w": -4}, "greater than 0"),
        ({"power_w": "4 W"}, "valid number"),
        ({"power_w": float("nan")}, "finite"),
        ({"power_w": 1e9}, "less than or equal to 100000"),
        ({"count": 0}, "greater than or equal to 1"),
        ({"count": 1.5}, "valid integer"),
        ({"provenance": "measured"}, "'datasheet' or 'estimate'"),
        ({"kind": "psu"}, "'cpu', 'memory'"),
        ({"watts": 4}, "not permitted"),
        ({"name": ""}, "must be 1 to 60 characters"),
        ({"name": "x" * 61}, "must be 1 to 60 characters"),
        ({"name": "a\nb"}, "without quotes"),
        ({"name": "$(touch here)"}, "without quotes"),
        ({"name": "-rf"}, "without quotes"),
        ({"name": "\u202eevil"}, "without quotes"),
    ],
)
def test_a_bad_component_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        COMPONENTS.validate_python([DDR5 | changed])


@pytest.mark.parametrize("name", ["12 DDR5 modules", "ConnectX-6 Dx (2 × 100 GbE)", "PSU-Lüfter", "riser #2"])
def test_names_that_people_give_are_taken(name: str) -> None:
    assert COMPONENTS.validate_python([DDR5 | {"name": name}])[0].name == name


def test_one_name_twice_is_refused() -> None:
    with pytest.raises(ValidationError, match="names 'DDR5 module' twice; use count, or two names"):
        COMPONENTS.validate_python([DDR5, DDR5])


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "required"),
        ({"rating_w": 0}, "greater than 0"),
        ({"rating_w": 800, "count": 0}, "greater than or equal to 1"),
        ({"rating_w": 800, "count": 17}, "less than or equal to 16"),
        ({"rating_w": 800, "level": "white"}, "'bronze', 'silver'"),
        ({"rating_w": 800, "mode": "spare"}, "'shared' or 'standby'"),
        ({"rating_w": 800, "count": 1, "mode": "standby"}, "mode standby needs two or more units"),
    ],
)
def test_a_bad_supply_is_refused(entry: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PsuEntry.model_validate(entry)


@pytest.mark.parametrize("model", [ComponentEntry, PsuEntry])
def test_every_key_is_described_in_the_schema(model: Any) -> None:
    schema = model.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all(value["description"].endswith(".") for value in schema["properties"].values())
