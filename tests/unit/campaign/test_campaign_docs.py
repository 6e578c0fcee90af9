# SPDX-License-Identifier: Apache-2.0
"""Schema, reference and examples say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign.entries.schema import json_schema
from linewatt.campaign.reading.file import load_campaign
from linewatt.hosts.inventory.read import HOST_KEYS
from linewatt.tuning.factors import FACTORS

REFERENCE = (Path(__file__).parents[3] / "docs" / "campaign.md").read_text()
SCHEMA = json_schema()


def keys(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(dotted key, its schema), free names as ``*``."""
    if "$ref" in node:
        yield from keys(SCHEMA["$defs"][node["$ref"].rpartition("/")[2]], path)
    for kind in ("anyOf", "oneOf"):
        for choice in node.get(kind, ()):
            yield from keys(choice, path)
    if "items" in node:
        yield from keys(node["items"], path)
    for name, value in node.get("properties", {}).items():
        dotted = f"{path}.{name}".lstrip(".")
        yield dotted, value
        yield from keys(value, dotted)
    for value in node.get("patternProperties", {}).values():
        yield from keys(value, f"{path}.*")


OF_A_DRIVER = "hosts.*.power.*."
"""Settings of power sources are in sensors.md; test_plugins looks for them there."""

OF_A_KNOB = {f"settings.{name}" for name in FACTORS}
"""Settings of hosts are in knobs.md; test_knobs_docs looks for them there."""

KEYS = {key: value for key, value in keys(SCHEMA) if not key.startswith(OF_A_DRIVER) and key not in OF_A_KNOB}


@pytest.mark.parametrize("key", KEYS)
def test_every_key_has_a_row_in_the_reference(key: str) -> None:
    assert re.search(rf"^\| `{re.escape(key)}` \|", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("key", [key for key in KEYS if not key.startswith("sensors.")])
def test_every_key_is_described_in_the_schema(key: str) -> None:
    assert KEYS[key]["description"].endswith(".")


def test_reference_has_no_row_for_a_key_that_does_not_exist() -> None:
    rows = re.findall(r"^\| `([a-z_.*0-9]+)` \|", REFERENCE, re.MULTILINE)
    variables = {row for row in rows if row.startswith(("ansible_", "linewatt_"))}
    assert set(rows) - variables == set(KEYS)


@pytest.mark.parametrize(
    "key", [key for key, value in KEYS.items() if isinstance(value.get("default"), (int, float, str, bool))]
)
def test_reference_names_the_default_of_every_plain_key(key: str) -> None:
    default = KEYS[key]["default"]
    shown = (
        str(default).lower()
        if isinstance(default, bool)
        else f"{default:g}"
        if default != str(default)
        else default
    )
    row = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{key}` |"))
    assert f"`{shown}`" in row or (default == "" and "empty" in row)


def test_inventories_know_every_key_of_a_host() -> None:
    in_file = {key.split(".")[2] for key in KEYS if key.startswith("hosts.*.")}
    assert in_file | {"lab", "emulated", "shares_cpus_with"} == HOST_KEYS


def test_first_example_of_the_reference_is_a_good_campaign(tmp_path: Path) -> None:
    text = REFERENCE.partition("```yaml\n")[2].partition("```")[0]
    file = tmp_path / "campaign.yaml"
    file.write_text(text)
    assert load_campaign(file).name == "vxlan-cost"


def test_every_object_of_the_schema_refuses_unknown_keys() -> None:
    def objects(node: Any) -> Iterator[dict[str, Any]]:
        if isinstance(node, dict):
            if node.get("type") == "object":
                yield node
            for value in node.values():
                yield from objects(value)
        elif isinstance(node, list):
            for value in node:
                yield from objects(value)

    assert all(found["additionalProperties"] is False for found in objects(SCHEMA))
