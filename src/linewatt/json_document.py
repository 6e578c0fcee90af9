# SPDX-License-Identifier: Apache-2.0
"""Documents as dataclasses: a field is a key, in the order of the class; metadata say what else it is.

A name that ends with ``_`` is a key without it: a word of Python.
:func:`document_of` makes JSON of them, :func:`of_class` their schema.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from linewatt.declare import Schema, maybe, plain, said

T = TypeVar("T")


def fill(kind: type[T], source: object, /, **others: Any) -> T:
    """A document whose fields are attributes of ``source`` of the same name, but for ``others``."""
    document_class: Any = kind
    names = (name for name, *_ in _keys(document_class) if name not in others)
    return kind(**others, **{name: getattr(source, name) for name in names})


def document_of(value: Any) -> dict[str, Any]:
    """A dataclass as plain values for JSON."""
    document: dict[str, Any] = {}
    document_class: Any = type(value)
    for name, is_seldom, default, flat in _keys(document_class):
        member = getattr(value, name)
        if flat is not None:
            part = {} if member is None else _plain(member)
            document |= {flat.format(name=name, key=key): part[key] for key in part}
        elif not is_seldom or member != default:
            document[name.rstrip("_")] = _plain(member)
    return document


class _Key(NamedTuple):
    name: str
    is_seldom: bool
    default: Any
    """None where there is none"""
    flat: str | None
    """how keys of a part are named; None: it is no flat part"""


@cache
def _keys(kind: type) -> tuple[_Key, ...]:
    """One for each field of a class."""
    return tuple(
        _Key(about.name, "seldom" in about.metadata, _default(about), about.metadata.get("flat"))
        for about in fields(kind)
    )


def _default(about: Field[Any]) -> Any:
    if about.default_factory is not MISSING:
        return about.default_factory()
    return None if about.default is MISSING else about.default


def _plain(value: Any) -> Any:
    """As ``dataclasses.asdict`` has it, which takes three times as long."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if is_dataclass(kind):
        return document_of(value)
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(member) for member in value] if kind is list else tuple(map(_plain, value))
    return value


_SCALARS = frozenset({float, int, str, bool, type(None)})


def of_class(kind: Any, *, stored: bool = False, closed: bool = True) -> Schema:
    """The schema of a dataclass, a model or a type of such, as JSON has its values.

    What stands below a field in its class is what it means. ``stored``: the document may be of an older
    linewatt, so that fields with a default need not be there. ``closed``: no other key may be.
    """
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Strict(GenerateJsonSchema):
        """Of pydantic's schema what a document is held to."""

        def dataclass_schema(self, schema: Any) -> Any:
            return _strict(super().dataclass_schema(schema), schema["cls"], stored=stored, closed=closed)

        def model_schema(self, schema: Any) -> Any:
            return _strict(super().model_schema(schema), schema["cls"], stored=stored, closed=closed)

        def nullable_schema(self, schema: Any) -> Any:
            return maybe(self.generate_inner(schema["schema"]))

    return _flattened(_tidied(TypeAdapter(kind).json_schema(mode="serialization", schema_generator=Strict)))


def _strict(schema: Schema, kind: type, *, stored: bool, closed: bool) -> Schema:
    """With what stands below each field, and what its metadata say of it."""
    docs = _docs(kind)
    marks = {name: about.metadata for name, about in getattr(kind, "__dataclass_fields__", {}).items()}
    properties = {
        name.rstrip("_"): said(_marked(part, marks.get(name, {}), stored=stored), docs.get(name, ""))
        for name, part in schema.get("properties", {}).items()
    }
    schema["properties"] = properties
    schema.pop("additionalProperties", None)
    if not stored:
        schema["required"] = [name for name in properties if "seldom" not in marks.get(name, ())]
    if closed:
        schema["additionalProperties"] = False
    return said(schema, _doc(kind))


def _marked(schema: Schema, marks: Mapping[str, Any], *, stored: bool) -> Schema:
    """The schema of a field with its metadata: a key that is not there in place of ``null`` is never that."""
    if "flat" in marks:
        return {**schema, _FLAT: marks["flat"]}
    if "seldom" not in marks or stored:
        return schema
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return {**schema, "type": kinds[0]}
    members = [member for member in schema.get("anyOf", ()) if member != {"type": "null"}]
    return members[0] if len(members) == 1 else schema


_FLAT = "x-flat"
"""how keys of a part are named among those of the record that has it; in no schema that is finished"""


def _flattened(schema: Schema) -> Schema:
    """With keys of flat parts among those of the record that has them."""
    definitions = schema.get("$defs", {})
    for node in (schema, *definitions.values()):
        _flatten(node, definitions)
    text = json.dumps(schema)
    for name in [name for name in definitions if f'"#/$defs/{name}"' not in text]:
        del definitions[name]
    return schema


def _flatten(node: Schema, definitions: Mapping[str, Schema]) -> None:
    properties: dict[str, Schema] = {}
    required = {*node.get("required", ())}
    for name, part in node.get("properties", {}).items():
        if _FLAT not in part:
            properties[name] = part
            continue
        required.discard(name)
        if "additionalProperties" in part:
            node["additionalProperties"] = said(part["additionalProperties"], part.get("description", ""))
            continue
        is_seldom = "anyOf" in part
        reference = part["anyOf"][0]["$ref"] if is_seldom else part["$ref"]
        record_part = definitions[reference.rpartition("/")[2]]
        _flatten(record_part, definitions)
        meaning = part.get("description", "")
        for key, member in record_part["properties"].items():
            flat_name = part[_FLAT].format(name=name, key=key)
            properties[flat_name] = said(member, meaning)
            required |= {flat_name} if key in record_part["required"] and not is_seldom else set()
            meaning = ""
    if "properties" in node:
        node["properties"] = properties
        node["required"] = [name for name in properties if name in required]


def _doc(kind: type) -> str:
    """What a class says of itself; nothing where it has what Python makes of a dataclass."""
    text = kind.__dict__.get("__doc__") or ""
    return "" if text.startswith(f"{kind.__name__}(") else plain(text)


def _docs(kind: type) -> dict[str, str]:
    """Field → the text below it, in this class or one that it extends."""
    docs: dict[str, str] = {}
    for ancestor in reversed(kind.__mro__):
        if ancestor.__module__.startswith(f"{__package__}."):
            docs |= _documented(ancestor.__module__).get(ancestor.__qualname__, {})
    return docs


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Class of a module → field → the text below it: for one class, too, Python reads the whole module."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:  # a program without its sources
        return {}
    return dict(_classes(tree, ""))


def _classes(node: ast.AST, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield f"{prefix}{child.name}", dict(_fields(child))
            yield from _classes(child, f"{prefix}{child.name}.")


def _fields(kind: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(kind.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and (text := _text(below)):
            yield field.target.id, plain(text)


def _text(node: ast.stmt) -> str:
    """What a statement says that is nothing but a text."""
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _tidied(node: Any) -> Any:
    """Without the titles and defaults that pydantic makes of fields."""
    if isinstance(node, list):
        return [_tidied(member) for member in node]
    if not isinstance(node, dict):
        return node
    dropped = {"default", *(["title"] if isinstance(node.get("title"), str) else [])}
    return {
        key: {name: _tidied(member) for name, member in value.items()}
        if key == "properties" and isinstance(value, dict)
        else _tidied(value)
        for key, value in node.items()
        if key not in dropped
    }
