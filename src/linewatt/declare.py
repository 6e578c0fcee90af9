# SPDX-License-Identifier: Apache-2.0
"""JSON Schema (draft 2020-12) of what linewatt writes: what documents are declared with, beside their makers.

Records are strict: who adds a key to a document adds it to its schema, or no document is valid any more.
Units are those that names end with (:func:`unit_of`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
Keys = Mapping[str, Schema]
"""key → its schema; a key that ends in ``?`` need not be there"""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
UNIT = "x-unit"
"""the keyword that has the unit of a number, of all numbers of a list, or of a table's"""

SELDOM: Mapping[str, Any] = {"seldom": True}
"""metadata of a field that is no key of the document while it has its default"""
FLAT: Mapping[str, Any] = {"flat": "{key}"}
"""metadata of a part, or a mapping, whose keys are keys of the document itself; None: it has none of them"""
PREFIXED: Mapping[str, Any] = {"flat": "{name}_{key}"}
"""the same, each key behind the name of the field: ``base`` and ``mean`` are ``base_mean``"""

NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
ANYTHING: Schema = {}


def maybe(schema: Schema) -> Schema:
    """What may be missing: ``null`` then."""
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def said(schema: Schema, meaning: str) -> Schema:
    """The same with what it means."""
    return {**schema, "description": plain(meaning)} if meaning else schema


def choice(*values: str) -> Schema:
    """One of a few words."""
    return {"type": "string", "enum": list(values)}


def version(number: int) -> Schema:
    """The ``schema_version`` of a document."""
    return {
        "const": number,
        "description": "Counts up when a key is removed, renamed, or means another thing.",
    }


def record(keys: Keys, meaning: str = "") -> Schema:
    """An object with these keys and no other."""
    properties = {name.removesuffix("?"): schema for name, schema in keys.items()}
    required = [name for name in keys if not name.endswith("?")]
    return said(
        {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        meaning,
    )


def listing(schema: Schema, meaning: str = "") -> Schema:
    """Any number of the same."""
    return said({"type": "array", "items": schema}, meaning)


def table(values: Schema, meaning: str = "") -> Schema:
    """Values of one kind under keys that are no part of the schema: names of hosts, of channels."""
    return said({"type": "object", "additionalProperties": values}, meaning)


def one_of(*schemas: Schema) -> Schema:
    """A document of one of several kinds."""
    return {"oneOf": list(schemas)}


def sometimes(keys: Keys) -> Keys:
    """The same keys, none of which need be there."""
    return {f"{name.removesuffix('?')}?": schema for name, schema in keys.items()}


def keys_of(schema: Schema) -> Keys:
    """The keys of a record, to be part of another one; the first has the definitions of all."""
    required, definitions = schema["required"], schema.get("$defs")
    keys = {
        name if name in required else f"{name}?": property_schema
        for name, property_schema in schema["properties"].items()
    }
    first = next(iter(keys))
    return keys | {first: {**keys[first], "$defs": definitions}} if definitions else keys


def finished(name: str, number: int, meaning: str, schema: Schema) -> Schema:
    """A schema that stands alone: with ``$id`` and units, and definitions of all its parts at its top."""
    shared: dict[str, Schema] = {}
    body = _with_units(_lifted(schema, shared))
    head = {
        "$schema": DIALECT,
        "$id": f"urn:linewatt:schema:{name}:{number}",
        "title": f"linewatt {name}",
        "description": meaning,
    }
    body.pop("description", None)
    definitions = {part: _with_units(shared[part]) for part in sorted(shared)}
    return {**head, **body, **({"$defs": definitions} if definitions else {})}


def _lifted(node: Any, shared: dict[str, Schema]) -> Any:
    """Without the definitions of its parts, which go into ``shared``."""
    if isinstance(node, list):
        return [_lifted(member, shared) for member in node]
    if not isinstance(node, dict):
        return node
    definitions = node.get("$defs", {})
    for name, schema in definitions.items():
        lifted = _lifted(schema, shared)
        if shared.setdefault(name, lifted) != lifted:
            raise TypeError(f"{name}: two schemas have this name")
    return {key: _lifted(member, shared) for key, member in node.items() if key != "$defs"}


_STATISTIC = re.compile(
    r"_(?:mean|sd|low|high|ci95|ci95_low|ci95_high|uncertainty|half_width|as_read|before|after)$"
)
"""behind the unit of what it is of"""
UNITS = {
    "bps_per_core": "bit/s per core",
    "packets_per_core_s": "packets/s per core",
    "bits_per_cycle": "bit per cycle",
    "cores_per_bps": "cores per bit/s",
    "cpu_s_per_gbit": "CPU seconds per Gbit",
    "w_per_bps": "W per bit/s",
    "w_per_gbps": "W per Gbit/s",
    "mbps_per_w": "Mbit/s per W",
    "bps_per_w": "bit/s per W",
    "pj_per_bit": "pJ/bit",
    "nj_per_packet": "nJ/packet",
    "packets_per_j": "packets/J",
    "j_per_gb": "J/GB",
    "packets_per_s": "packets/s",
    "bytes_per_s": "byte/s",
    "bps_per_instance": "bit/s per instance",
    "per_packet": "per packet",
    "per_s": "1/s",
    "per_trial": "per trial",
    "per_day": "per day",
    "bps": "bit/s",
    "hz": "Hz",
    "rpm": "1/min",
    "cores": "cores",
    "bytes": "byte",
    "ratio": "1",
    "pct": "%",
    "pj": "pJ",
    "nj": "nJ",
    "s": "s",
    "w": "W",
    "j": "J",
    "c": "°C",
}
"""how names end, the longest first where one ends like another → the unit of the number"""


def unit_of(name: str) -> str | None:
    """The unit that a name ends with; ``None``: it has none, as counts and texts do not."""
    bare = name
    while (shorter := _STATISTIC.sub("", bare)) != bare:
        bare = shorter
    return next((unit for end, unit in UNITS.items() if bare == end or bare.endswith(f"_{end}")), None)


def _with_units(node: Any) -> Any:
    """With the unit of each number that a key names."""
    if isinstance(node, list):
        return [_with_units(member) for member in node]
    if not isinstance(node, dict):
        return node
    converted = {key: _with_units(member) for key, member in node.items()}
    properties = converted.get("properties")
    if isinstance(properties, dict):
        converted["properties"] = {
            name: _with_unit(name, property_schema) for name, property_schema in properties.items()
        }
    return converted


def _with_unit(name: str, schema: Schema) -> Schema:
    unit = unit_of(name)
    return {**schema, UNIT: unit} if unit is not None and _has_numbers(schema) else schema


def _has_numbers(schema: Any) -> bool:
    """Whether it is a number, or may be one, or holds nothing else."""
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    inner = (*schema.get("anyOf", ()), *schema.get("prefixItems", ()))
    held = (schema.get("items"), schema.get("additionalProperties"))
    return bool({"number", "integer"} & {*kinds}) or any(map(_has_numbers, (*inner, *held)))


def plain(text: str) -> str:
    """The text of a docstring in one line, its markup as Markdown has it."""
    line = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    return " ".join(line.split())
