# SPDX-License-Identifier: Apache-2.0
"""Values as plain JSON and back, nothing lost: a whole number stays one, mappings keep keys of any kind."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_PAIRS = "[key, value]"
"""the only key of an object that stands for a mapping whose keys are no text"""


def encoded(value: Any) -> Any:
    """A value of dataclasses, mappings, sequences and numbers as what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        members = ((member, getattr(value, member.name)) for member in fields(value))
        return {
            member.name: encoded(part)
            for member, part in members
            if "seldom" not in member.metadata or part not in (None, ())
        }
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: encoded(part) for key, part in value.items()}
        return {_PAIRS: [[encoded(key), encoded(part)] for key, part in value.items()]}
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Sequence | AbstractSet):
        return [encoded(part) for part in (sorted(value) if isinstance(value, AbstractSet) else value)]
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON")


def decoded(kind: Any, value: Any) -> Any:
    """The value of a type that :func:`encoded` made this of. A field that is not there has its default.

    Raises TypeError or KeyError for what is of another shape.
    """
    if kind is Any or value is None:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return decoded(next(choice for choice in inner if _fits(choice, value)), value)
    if origin is Literal:
        return value
    plain = origin or kind
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        arguments = {
            member.name: decoded(hints[member.name], value[member.name])
            for member in fields(kind)
            if member.name in value
        }
        return kind(**arguments)
    if issubclass(plain, Mapping):
        key_kind, value_kind = inner or (Any, Any)
        pairs = value[_PAIRS] if value.keys() == {_PAIRS} else value.items()
        return {decoded(key_kind, key): decoded(value_kind, part) for key, part in pairs}
    if issubclass(plain, tuple):
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(decoded(inner[0], part) for part in value)
        return tuple(decoded(part_kind, part) for part_kind, part in zip(inner, value, strict=True))
    if issubclass(plain, AbstractSet):
        return plain(decoded(inner[0], part) for part in value)
    if issubclass(plain, Sequence) and not issubclass(plain, str):
        return [decoded((inner or (Any,))[0], part) for part in value]
    return value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(kind: Any, value: Any) -> bool:
    """Whether a JSON value may be of one of the types of a union."""
    if kind is type(None):
        return False
    plain = get_origin(kind) or kind
    if plain in (Any, Literal):
        return True
    if isinstance(value, dict):
        return is_dataclass(plain) or issubclass(plain, Mapping)
    if isinstance(value, list):
        return not is_dataclass(plain) and issubclass(plain, Sequence | AbstractSet) and plain is not str
    return plain in (float, type(value)) and (plain is not float or isinstance(value, int | float))
