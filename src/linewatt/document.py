# SPDX-License-Identifier: Apache-2.0
"""A YAML file as plain values that remember where they stand, so that an error can say file:line:col.

Only data is read: no tags of other languages, no merge keys, no more than ``MAX_VALUES`` values once
aliases are followed. Mappings become ``dict`` with text keys, sequences ``list``.
"""

from __future__ import annotations

import os
import re
import select
import stat
import warnings
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from linewatt.errors import InvalidInput
from linewatt.foreign import one_line
from linewatt.units import did_you_mean

MAX_BYTES = 1 << 20
MAX_VALUES = 20_000
MAX_MARKS = 3 * MAX_VALUES
MAX_KEYS = 1000
"""of one mapping of a file that is written by hand, such as the hosts of a campaign"""
MAX_DEPTH = 32
MAX_OPEN_BRACKETS = 500
"""the parser's time grows with their square: 3000 take seconds"""
PIPE_LIMIT_S = 5.0

KeyPath = tuple[str | int, ...]


class AboutKey(str):
    """What is wrong with a key itself, which is missing or not known, and not with its value."""

    __slots__ = ()


class Part(BaseModel):
    """A mapping of a file: unknown keys are refused, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


FOREIGN = object()
"""stands for a value with a tag of another tool (Ansible's ``!vault``), where those are let through"""

_BRACKET = re.compile(r"[][{}]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_PLAIN_KEY = re.compile(r"[\w.-]+")
_HINTS = {
    "expected <block end>": "this does not belong to what stands above it; look at its indentation, "
    "and put all of a text between quotes",
    "mapping values are not allowed": "a second colon in one line; quote the text that holds it",
}
"""what the parser says, and what people have mostly done"""
_TOO_MANY = f"holds more than {MAX_VALUES} values (an alias counts each time it is used)"
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file as the user named it, line and column counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def error(self, message: str) -> InvalidInput:
        """An InvalidInput of one line, whatever the file is called and the message quotes."""
        return InvalidInput(f"{one_line(self.file)}:{self.line}:{self.column}: {one_line(message)}")


@dataclass(frozen=True, slots=True)
class Document:
    """The values of a YAML file and the place of each key and value, by its path from the top."""

    file: str
    text: str
    value: Any
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    values: dict[KeyPath, Place] = field(default_factory=dict)

    def place(self, path: KeyPath, *, key: bool = False) -> Place:
        """Place of the value at ``path`` (of its key with ``key``), or of its nearest ancestor's key."""
        if not key and path in self.values:
            return self.values[path]
        while path and path not in self.keys and path not in self.values:
            path = path[:-1]
            key = True
        if key and path in self.keys:
            return self.keys[path]
        return self.values.get(path, Place(self.file))


def show_path(path: KeyPath) -> str:
    """A path as users read it: ``tests[1].instances``."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
            continue
        name = part if _PLAIN_KEY.fullmatch(part) else show_value(part)
        shown += f".{name}" if shown else name
    return shown


def show_value(value: object) -> str:
    """A value as an error quotes it: short, and of one line."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, int) and abs(value) > 10**40:
        return "a huge number"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:56]}…{shown[-1]}"


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """What is in a file, cut after ``max_bytes`` bytes and one; a pipe is waited for, but not without end.

    Raises OSError, and ValueError with what is wrong in words.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb", buffering=0) as file:  # noqa: PTH123  it is opened already
        kind = os.fstat(opened).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(21, "is a directory")
        waits = not stat.S_ISREG(kind)
        content = bytearray()
        poll = select.poll()
        poll.register(opened, select.POLLIN)
        while len(content) <= max_bytes:
            if waits and not poll.poll(PIPE_LIMIT_S * 1000):
                raise ValueError(f"nothing came from it within {PIPE_LIMIT_S:g} s; name a file")
            chunk = file.read(min(max_bytes + 1 - len(content), 1 << 20))
            if chunk is None:
                continue
            if not chunk:
                break
            content += chunk
    return bytes(content)


def similar_files(path: Path) -> str:
    """``(did you mean two-hosts.yaml?)`` behind a file that is not there; empty where no name is alike."""
    try:
        names = [entry.name for entry in os.scandir(path.parent)]
    except OSError:
        return ""
    similar = did_you_mean(path.name, names, _LEAST_ALIKE)
    return f" ({one_line(similar)})" if similar else ""


def read_text(path: Path) -> str:
    """Text of a UTF-8 file of at most 1 MiB. Raises InvalidInput, of a bad byte with its place."""
    named = one_line(str(path))
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        raise InvalidInput(f"{named}: no such file{similar_files(path)}") from None
    except IsADirectoryError:
        raise InvalidInput(f"{named}: is a directory; name the file in it") from None
    except (OSError, ValueError) as error:
        why = one_line(str(getattr(error, "strerror", None) or error))
        raise InvalidInput(f"{named}: cannot be read: {why}") from None
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{named}: is larger than 1 MiB; this is not a file written for linewatt")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        raise _at_end_of(before, str(path)).error("is not UTF-8 text; save it as UTF-8") from None
    bad = _CONTROL.search(text)
    if bad:
        place = _at_end_of(text[: bad.start()], str(path))
        raise place.error(f"holds the control character {bad[0]!r}; take it out")
    return text


def read_yaml(path: Path, max_keys: int = MAX_VALUES) -> Document:
    """Read one YAML document, no mapping of which has more than ``max_keys`` keys.

    Raises InvalidInput as ``file:line:col: what``.
    """
    return parse_yaml(read_text(path), str(path), max_keys=max_keys)


_LEAST_ALIKE = 0.85
"""of names of files, which have their suffix in common"""
DENIED = "cannot be read by this user"


def file_problem(path: Path, *, or_pipe: bool = True, denied: str = DENIED) -> str | None:
    """Why a file that another one names cannot be read, or ``None``; opens it, and waits for no pipe."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return f"does not exist{similar_files(path)}"
    except PermissionError:
        return denied
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    try:
        kind = os.fstat(opened).st_mode
    finally:
        os.close(opened)
    if stat.S_ISDIR(kind):
        return "is a directory"
    return None if or_pipe or stat.S_ISREG(kind) else "is not a file"


def parse_yaml(text: str, file: str, *, foreign_tags: bool = False, max_keys: int = MAX_VALUES) -> Document:
    """Values and places of a YAML text; ``file`` is what errors call it. Raises InvalidInput.

    A value with a tag of another tool is an error, or with ``foreign_tags`` the object ``FOREIGN``.
    ``max_keys``: of any one mapping.
    """
    if text.count("\n") + text.count(",") > MAX_MARKS:  # composing it all first would take half a minute
        raise Place(file).error(
            f"has more than {MAX_MARKS} lines and commas; this is not written for linewatt"
        )
    if _most_open_brackets(text) > MAX_OPEN_BRACKETS:
        raise Place(file).error("is nested too deeply")
    document = Document(file, text, None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ruamel warns of a reused anchor; that is legal YAML
            yaml = YAML(typ="safe", pure=True)
            yaml.Composer = partial(_BoundedComposer, file, max_keys)  # type: ignore[assignment]
            node = yaml.compose(text)
        value = _Reader(document, foreign_tags).read(node, (), 0) if node is not None else None
    except MarkedYAMLError as error:
        raise _syntax_error(error, file) from None
    except RecursionError:
        raise Place(file).error("is nested too deeply") from None
    except (YAMLError, ValueError, KeyError, AttributeError, NotImplementedError) as error:
        first = (str(error).splitlines() or ["unreadable"])[0]
        raise Place(file).error(f"is not YAML: {first}") from None
    return Document(file, text, value, document.keys, document.values)


class _BoundedComposer(Composer):
    """Makes nodes of a text and refuses it at the first that is too many: making all takes many seconds."""

    def __init__(self, file: str, max_keys: int, loader: Any) -> None:
        super().__init__(loader)
        self._file = file
        self._max_keys = max_keys
        self._values = 0
        self._path: list[str | int] = []

    def compose_node(self, parent: Any, index: Any) -> Any:
        """``index``: of a list the position; of a mapping the node of the key, ``None`` for a key itself."""
        if isinstance(parent, MappingNode) and index is None:
            if len(parent.value) >= self._max_keys:
                shown = f"{show_path(tuple(self._path))}: " if self._path else ""
                limit = f"at most {self._max_keys} are possible"
                raise self._error(f"{shown}has more than {self._max_keys} keys; {limit}")
            return super().compose_node(parent, index)
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._error(_TOO_MANY)
        self._path += [] if parent is None else [str(index.value) if isinstance(index, Node) else index]
        node = super().compose_node(parent, index)
        del self._path[-1:]
        return node

    def _error(self, message: str) -> InvalidInput:
        mark = self.parser.peek_event().start_mark
        return Place(self._file, mark.line + 1, mark.column + 1).error(message)


def _most_open_brackets(text: str) -> int:
    """How many brackets are open at most. Those in quotes and comments count as well."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


class _Reader:
    """Turns nodes into plain values, noting places on the way."""

    def __init__(self, document: Document, foreign_tags: bool) -> None:
        self.document = document
        self.foreign_tags = foreign_tags
        self.count = 0

    def read(self, node: Node, path: KeyPath, depth: int) -> Any:
        place = _place(node, self.document.file)
        self.document.values.setdefault(path, place)
        self.count += 1
        if self.count > MAX_VALUES:
            raise place.error(_TOO_MANY)
        if depth > MAX_DEPTH:
            raise place.error("is nested too deeply")
        if self.foreign_tags and not str(node.tag).startswith(_TAG):
            return FOREIGN
        if isinstance(node, MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            _refuse_tag(node, place, "seq")
            return [self.read(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        return _scalar(node, place, path)

    def _mapping(self, node: MappingNode, path: KeyPath, depth: int) -> dict[str, Any]:
        _refuse_tag(node, _place(node, self.document.file), "map")
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            place = _place(key_node, self.document.file)
            key = _key(key_node, place, path)
            if key in values:
                raise place.error(f"{show_path((*path, key))}: appears twice; first on line {lines[key]}")
            lines[key] = place.line
            self.document.keys.setdefault((*path, key), place)
            values[key] = self.read(value_node, (*path, key), depth + 1)
        return values


def _key(node: Node, place: Place, path: KeyPath) -> str:
    if isinstance(node, ScalarNode) and node.tag != f"{_TAG}merge":
        return _whole_characters(str(node.value), place, path)
    where = f"{show_path(path)}: " if path else ""
    if isinstance(node, ScalarNode):
        raise place.error(f"{where}merge keys (<<) are not read; write the keys out")
    raise place.error(f"{where}a key must be text, not a list or a mapping")


class WrittenFloat(float):
    """A float that remembers how it was written: a kernel 5.10 is none 5.1."""

    text: str


def _scalar(node: Node, place: Place, path: KeyPath) -> Any:
    tag = str(node.tag).removeprefix(_TAG)
    text = str(node.value)
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() in ("true", "yes", "on")
    if tag in ("int", "float"):
        return _number(text, tag, place, path)
    _refuse_tag(node, place, "str", "timestamp", "value")
    return _whole_characters(text, place, path)


def _whole_characters(text: str, place: Place, path: KeyPath) -> str:
    """The text, without the halves of characters that an escape such as ``\\ud800`` may have given it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])[1:-1]
        where = f"{show_path(path)}: " if path else ""
        raise place.error(f"{where}{half} is half of a character; write the character itself") from None
    return text


def _number(text: str, tag: str, place: Place, path: KeyPath) -> int | float:
    digits = text.replace("_", "").lower()
    try:
        if tag == "int":
            return int(digits, 0) if re.match(r"[-+]?0[xob]", digits) else int(digits)
        number = WrittenFloat(re.sub(r"^([-+]?)\.(inf|nan)$", r"\1\2", digits))
        number.text = text
        return number
    except ValueError:
        where = f"{show_path(path)}: " if path else ""
        raise place.error(f"{where}{show_value(text)} is not a number linewatt can read") from None


def _refuse_tag(node: Node, place: Place, *allowed: str) -> None:
    tag = str(node.tag)
    if tag.removeprefix(_TAG) not in allowed:
        raise place.error(f"the tag {show_value(tag)} is not read; write plain values")


def _place(node: Node, file: str) -> Place:
    return Place(file, node.start_mark.line + 1, node.start_mark.column + 1)


def _at_end_of(before: str, file: str) -> Place:
    return Place(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _syntax_error(error: MarkedYAMLError, file: str) -> InvalidInput:
    mark = error.problem_mark or error.context_mark
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    problem = " ".join(str(error.problem or error.context or "unreadable").split())
    if "'\\t'" in problem or "tab" in problem.split():
        return place.error("is not YAML: a tab cannot indent; use spaces")
    if "expected a single document" in str(error.context):
        return place.error("holds a second document (---); keep one")
    problem = problem.replace("'<stream end>'", "the end of the file").replace(
        "end of stream", "end of the file"
    )
    for complaint, hint in _HINTS.items():
        if problem.startswith(complaint):
            return place.error(f"is not YAML: {hint}")
    context = " ".join(str(error.context).split()) if error.context and error.problem else ""
    return place.error(f"is not YAML: {problem}{f' ({context})' if context else ''}")
