# SPDX-License-Identifier: Apache-2.0
"""Documents as dataclasses: a field is a key, in the order of the class; metadata say what else it is.

A name that ends with ``_`` is a key without it: a word of Python.
:func:`document_of` makes JSON of them, :func:`linewatt.declare.of_class` their schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

SELDOM: Mapping[str, Any] = {"seldom": True}
"""metadata of a field that is no key of the document while it has its default"""
FLAT: Mapping[str, Any] = {"flat": "{key}"}
"""metadata of a part, or a mapping, whose keys are keys of the document itself; None: it has none of them"""
PREFIXED: Mapping[str, Any] = {"flat": "{name}_{key}"}
"""the same, each key behind the name of the field: ``base`` and ``mean`` are ``base_mean``"""


T = TypeVar("T")


def fill(kind: type[T], source: object, /, **others: Any) -> T:
    """A document whose fields are attributes of ``source`` of the same name, but for ``others``."""
    document_class: Any = kind
    names = (name for name, *_ in _fields(document_class) if name not in others)
    return kind(**others, **{name: getattr(source, name) for name in names})


def document_of(value: Any) -> dict[str, Any]:
    """A dataclass as plain values for JSON."""
    document: dict[str, Any] = {}
    document_class: Any = type(value)
    for name, is_seldom, default, flat in _fields(document_class):
        member = getattr(value, name)
        if flat is not None:
            part = {} if member is None else _plain(member)
            document |= {flat.format(name=name, key=key): part[key] for key in part}
        elif not is_seldom or member != default:
            document[name.rstrip("_")] = _plain(member)
    return document


@cache
def _fields(kind: type) -> tuple[tuple[str, bool, Any, str | None], ...]:
    """Name of each field, whether it is seldom, its default (None without one), how keys of a flat part are
    named."""
    return tuple(
        (about.name, "seldom" in about.metadata, _default(about), about.metadata.get("flat"))
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
