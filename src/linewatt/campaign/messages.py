# SPDX-License-Identifier: Apache-2.0
"""From pydantic's findings to one line a person can act on: where, what, and what would be right."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from linewatt.document import AboutKey, Document, KeyPath, Place, show_value
from linewatt.errors import InvalidInput

_EXPECTED = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "greater_than": "must be greater than {gt:.12g}",
    "greater_than_equal": "must be at least {ge:.12g}",
    "less_than": "must be less than {lt:.12g}",
    "less_than_equal": "must be at most {le:.12g}",
    "multiple_of": "must be a multiple of {multiple_of:.12g}",
    "literal_error": "must be {expected}",
}
"""type of an error of pydantic → what is expected, with what its context names"""
_LISTS = ("tuple_type", "list_type")
_MAPPINGS = ("model_type", "model_attributes_type")
_MEANT = {
    "bandwidth": "rate",
    "bitrate": "rate",
    "dev": "data",
    "device": "data",
    "duration": "window",
    "host": "address",
    "hostname": "address",
    "interface": "data",
    "ip": "address",
    "iterations": "trials",
    "key": "key_file",
    "label": "factors",
    "login": "user",
    "nic": "data",
    "parallel": "streams",
    "pin": "placement",
    "protocol": "tests",
    "private_key": "key_file",
    "proxyjump": "jump",
    "repeat": "trials",
    "repetitions": "trials",
    "runs": "trials",
    "ssh_key": "key_file",
    "threads": "streams",
    "time": "window",
    "username": "user",
}
"""what others call a key, and what it is called here"""
_PARENTS = ("settings", "window")
"""whose keys are often written one level too high"""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file: its place, and where, what and what would be right in one text."""

    place: Place
    message: str


class Locate(Protocol):
    """Finds values of a file, or of the inventory that it names."""

    document: Document

    def __call__(self, path: KeyPath, key: bool) -> tuple[Place, str]:
        """Place of the value (with ``key``: of the key) at a path, and the path as the user wrote it."""

    def key(self, at: KeyPath, name: str) -> str:
        """How a key below ``at`` is written, up to its value."""


def raise_first(problems: Iterable[Problem], file: str) -> None:
    """Raise InvalidInput with a line for each of the first problems of ``file``, and how many more."""
    ordered = sorted(problems, key=lambda p: (p.place.file != file, p.place.line, p.place.column))
    if not ordered:
        return
    lines = [str(problem.place.error(problem.message)) for problem in ordered[:PROBLEMS_SHOWN]]
    if len(ordered) > PROBLEMS_SHOWN:
        lines.append(f"and {len(ordered) - PROBLEMS_SHOWN} more")
    raise InvalidInput("\n".join(lines))


PROBLEMS_SHOWN = 5
NAMES_SHOWN = 60
"""of those that are known where none is like the one that is not"""


def refuse(findings: Iterable[tuple[KeyPath, str]], locate: Locate) -> None:
    """Raise InvalidInput for the findings that come first in the file."""
    raise_first((problem(locate, path, text) for path, text in findings), locate.document.file)


def find_problems(model: type[BaseModel], value: Any, at: KeyPath, locate: Locate) -> list[Problem]:
    """What is wrong with ``value`` as a ``model``; ``at`` is where it stands in its file."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        return list(_problems(errors, model, value, at, locate))
    return []


def problem(locate: Locate, path: KeyPath, message: str) -> Problem:
    """A problem at a path of the file, its text led by the path.

    The place is that of the value; of a message that is :class:`AboutKey`, of the key.
    """
    place, shown = locate(path, isinstance(message, AboutKey))
    return Problem(place, f"{shown}: {message}" if shown else message)


def suggest(wrong: str, choices: Iterable[str]) -> str:
    """``did you mean x?``, or the list of what is known when nothing is near."""
    names = sorted(choices)
    translated = [name for name in names if name == _MEANT.get(wrong.lower())]
    meant = translated or difflib.get_close_matches(wrong.lower(), names, n=1)
    if meant:
        return f"did you mean {meant[0]}?"
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"known here: {', '.join(names[:NAMES_SHOWN]) or 'none'}{more}"


def _problems(
    errors: list[ErrorDetails], model: type[BaseModel], value: Any, at: KeyPath, locate: Locate
) -> Iterator[Problem]:
    for error in errors:
        kind = error["type"]
        if kind == "too_short" and error["input"]:
            continue  # its items are wrong, and each is reported itself
        path, leaf = _path(value, error["loc"]), error["loc"][-1] if error["loc"] else None
        if kind == "extra_forbidden":
            hint = _deeper(model, error["loc"]) or suggest(str(leaf), _known_keys(model, error["loc"][:-1]))
            yield problem(locate, (*at, *path), AboutKey(f"unknown key; {hint}"))
        elif kind == "missing":
            field = _field(model, error["loc"])
            example = ""
            if leaf == "label" and path[-1:] in (("sysctl",), ("offload",)):
                text = f"name each one as a factor, such as `{path[-1]}.NAME: [A, B]`"
                yield problem(locate, (*at, *path), AboutKey(text))
                return
            if field and field.examples:
                example = f", for example `{locate.key(at, str(leaf))}{field.examples[0]}`"
            yield problem(locate, (*at, *path, str(leaf)), AboutKey(f"is missing; add it{example}"))
        elif kind in _MAPPINGS and (names := _first_names(model, error["loc"])):
            yield problem(
                locate, (*at, *path), _with_value(f"must be a mapping with keys such as {names}", error)
            )
        elif kind in _LISTS and isinstance(error["input"], str):
            text = _not_a_list(error["input"], _choices(_field(model, error["loc"])))
            yield problem(locate, (*at, *path), _with_value(text, error))
        else:
            message = _message(error)
            yield problem(locate, (*at, *path), AboutKey(message) if leaf == "[key]" else message)


def _deeper(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    """Where a key of the whole file is known one level deeper, as ``mtu`` is below ``settings``."""
    if len(loc) > 1:
        return ""
    leaf = str(loc[0])
    parents = (parent for parent in _PARENTS if leaf in _known_keys(model, (parent,)))
    return next((f"did you mean {parent}.{leaf}?" for parent in parents), "")


def _not_a_list(text: str, choices: Sequence[str]) -> str:
    """What is expected in place of the text ``text``, with an example that would be accepted; ``choices``
    are all that the list may hold, none where they are not known."""
    example = show_value(text).strip("'") if text in choices or not choices else ", ".join(choices)
    return f"must be a list such as [{example}]"


def _choices(field: FieldInfo | None) -> list[str]:
    """The texts that a field with a list of literals accepts; empty where it accepts others."""
    return [] if field is None else list(_literals(field.annotation))


def _literals(annotation: Any) -> Iterator[str]:
    for argument in typing.get_args(annotation):
        if isinstance(argument, str):
            yield argument
        else:
            yield from _literals(argument)


def _path(value: Any, loc: tuple[int | str, ...]) -> KeyPath:
    """The part of ``loc`` that exists in the file (pydantic adds names of union members)."""
    path: list[str | int] = []
    for part in loc:
        in_list = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if in_list or (isinstance(value, dict) and part in value):
            value = value[part]
            path.append(part)
    return tuple(path)


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    kind = error["type"]
    if isinstance(error["input"], str) and "{{" in error["input"]:
        return _with_value("templates are not read; write the value itself", error)
    if kind == "value_error":
        text = str(context["error"])
        return text if "got " in text or not text.startswith("must") else _with_value(text, error)
    if kind == "union_tag_not_found":
        return f"must be a mapping with the key {context['discriminator']}"
    if kind == "union_tag_invalid":
        expected_tags = context["expected_tags"].replace("'", "")
        return f"unknown {context['discriminator']} {context['tag']!r}; known here: {expected_tags}"
    if kind in ("too_short", "string_too_short"):
        return f"must not be empty; give at least {context['min_length']}"
    if kind == "too_long":
        return f"must hold at most {context['max_length']} entries, got {len(error['input'])}"
    if kind in _EXPECTED:
        return _with_value(_EXPECTED[kind].format(**context), error)
    text = error["msg"].removeprefix("Input should be ")
    return _with_value(f"must be {text}" if text != error["msg"] else text, error)


def _with_value(text: str, error: ErrorDetails) -> str:
    return f"{text}, got {show_value(error['input'])}"


def _field(model: type[BaseModel], loc: tuple[int | str, ...]) -> FieldInfo | None:
    for candidate in _models(model, loc[:-1]):
        if loc[-1] in _fields(candidate):
            return _fields(candidate)[str(loc[-1])]
    return None


def _known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> set[str]:
    return {name for candidate in _models(model, loc) for name in _fields(candidate)}


def _first_names(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    """Two of the keys that may stand at ``loc`` whatever it is, those that must be there first."""
    first, *others = [*map(_fields, _models(model, loc))] or [{}]
    names = [name for name in first if all(name in fields for fields in others)]
    names.sort(key=lambda name: name != "driver" and not first[name].is_required())
    return " and ".join(f"`{name}:`" for name in names[:2])


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Fields by the keys they have in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """The models that may stand at ``loc``: follows field names, and names of models in a union."""
    models = [model]
    for part in loc:
        named = [candidate for candidate in models if candidate.__name__ == part]
        inside = [fields[str(part)] for candidate in models if part in (fields := _fields(candidate))]
        if named:
            models = named
        elif inside:
            models = [model for field in inside for model in _models_in(field.annotation)]
        elif part == "mapping":
            models = [candidate for candidate in models if candidate.__name__ == "HostEntry"]
    return models


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def not_a_mapping(document_value: Any, top: Place, what: str) -> InvalidInput:
    """The error for a file whose top is not a mapping."""
    if document_value is None:
        return top.error(f"is empty; a {what} starts with `name:`, `hosts:` and `tests:`")
    return top.error(f"must be a mapping of keys such as `name:`, got {show_value(document_value)}")
