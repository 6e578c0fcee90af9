# SPDX-License-Identifier: Apache-2.0
"""The lines of an undo journal: made, and read back with whatever became of them meanwhile. Pure.

A line is a JSON object with the number of its line and a checksum of all else in it, so that no damage goes
unnoticed: a line that was changed, one that is missing, one that is there twice. A last line without its end
was cut off by a crash and never acted upon.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from linewatt.errors import ParseError
from linewatt.foreign import STORED, read_json
from linewatt.hosts.base import HostSpec

VERSION = 2
_CHECKSUM = re.compile(rb', "crc": "([0-9a-f]{8})"\}\Z')

Place = tuple[str, int]
"""address and port: what a host is, whatever a campaign calls it"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change: the setting before, the one asked for, and (once made) as it was read back."""

    number: int
    host: str
    knob: str
    target: str
    before: str
    wanted: str
    after: str | None = None


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    """Made when a journal is read, which few runs do."""
    return TypeAdapter(kind)


def _read_as(kind: Any, value: object) -> Any:
    """A part of a line. Raises ValidationError."""
    return _reader(kind).validate_python(value)


@dataclass(frozen=True, slots=True)
class Content:
    """What a journal says: hosts, changes not yet undone in the order they were made, and what is damaged.

    ``places`` are the hosts it may have changed; ``None`` where it is too damaged to tell.
    """

    hosts: dict[str, HostSpec]
    entries: tuple[Entry, ...]
    damage: tuple[str, ...] = ()
    places: frozenset[Place] | None = frozenset()


def encoded(event: Mapping[str, Any], line: int) -> bytes:
    """An event as the ``line``-th line of a journal, counted from 1."""
    body = json.dumps({**event, "line": line}, sort_keys=True).encode()
    return body[:-1] + f', "crc": "{zlib.crc32(body):08x}"}}\n'.encode()


def cut_off(data: bytes) -> int:
    """How many bytes at the end are a last line that a crash cut off; 0 where that is all there is."""
    tail = data[data.rfind(b"\n") + 1 :]
    return 0 if len(tail) == len(data) or _is_line(tail) else len(tail)


def parse(data: bytes) -> Content:
    """Read a journal: whatever it has, this raises nothing."""
    reader = _Reader()
    for line in data[: len(data) - cut_off(data)].removesuffix(b"\n").split(b"\n"):
        reader.read(line)
    return reader.content()


class _Damaged(Exception):
    """A line that is not as it was written; its text says why."""


@dataclass(slots=True)
class _Reader:
    """Reads line by line; what follows a damaged line is read all the same."""

    hosts: dict[str, HostSpec] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    places: set[Place] = field(default_factory=set)
    placed: bool = True
    """whether every change that was read says where its host is"""
    damage: list[str] = field(default_factory=list)
    version: int | None = None
    at: int = 0
    written: int = 0
    """the number that the last good line has of itself"""

    def read(self, line: bytes) -> None:
        self.at += 1
        if self.version not in (None, VERSION):
            return
        expected = self.written + 1
        try:
            event = _event(line)
            self._check(event)
            self._take(event)
        except _Damaged as error:
            self.damage.append(f"line {self.at}: {error}")
            self.written = max(self.written, expected)
        except (ValidationError, KeyError, TypeError, ValueError, OverflowError):
            self.damage.append(f"line {self.at}: lacks a part, or has one that cannot be")

    def _check(self, event: dict[str, Any]) -> None:
        """Whether it is the line that belongs here. Raises _Damaged."""
        if event.get("event") == "hosts":
            self.version = event.get("schema_version")
            if self.version != VERSION:
                self.placed = False
                raise _Damaged(f"schema_version {self.version!r:.40}; this linewatt reads {VERSION}")
        number = _read_as(int, event["line"])
        expected, self.written = self.written + 1, number
        if number != expected:
            self.damage.append(f"line {self.at}: is line {number} where line {expected} belongs")

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "hosts":
            hosts = _read_as(list[HostSpec], event["hosts"])
            self.hosts |= {spec.name: spec for spec in hosts}
            self.places |= {(spec.address, spec.port) for spec in hosts}
        elif kind == "intend":
            self._intend(event)
        elif kind == "applied":
            number, after = self._number_of_change(event), _read_as(str, event["after"])
            if number in self.entries:
                self.entries[number] = replace(self.entries[number], after=after)
        elif kind == "undone":
            self.entries.pop(self._number_of_change(event), None)
        else:
            raise _Damaged(f"event {kind!r:.40} is unknown to this linewatt")

    def _intend(self, event: dict[str, Any]) -> None:
        entry = _read_as(Entry, event)
        if entry.number in self.seen:
            raise _Damaged(f"change {entry.number} is there twice")
        self.seen.add(entry.number)
        self.entries[entry.number] = entry
        if "address" in event:
            self.places.add((_read_as(str, event["address"]), _read_as(int, event["port"])))
        else:
            self.placed = False

    def _number_of_change(self, event: dict[str, Any]) -> int:
        """The number of the change that an event is about. Raises _Damaged: there was none."""
        number: int = _read_as(int, event["number"])
        if number not in self.seen:
            raise _Damaged(f"change {number} is not there")
        return number

    def content(self) -> Content:
        entries = [self.entries[number] for number in sorted(self.entries)]
        lost = {entry.host for entry in entries if entry.host not in self.hosts}
        self.damage += [f"how {name} is reached is not there" for name in sorted(lost)]
        only_hosts_lost = len(self.damage) == 1 + len(lost) and self.placed and bool(self.places)
        return Content(
            self.hosts,
            tuple(entry for entry in entries if entry.host not in lost),
            tuple(self.damage),
            frozenset(self.places) if self.hosts or only_hosts_lost else None,
        )


def _event(line: bytes) -> dict[str, Any]:
    """The object of a line. Raises _Damaged."""
    checksum = _CHECKSUM.search(line)
    if checksum and f"{zlib.crc32(line[: checksum.start()] + b'}'):08x}".encode() != checksum[1]:
        raise _Damaged("its checksum is that of another text")
    try:
        event = read_json(line.decode(), "it", STORED)
    except (ValueError, ParseError) as error:
        raise _Damaged("is no JSON" if line.strip() else "is empty") from error
    if not isinstance(event, dict):
        raise _Damaged("is no JSON object")
    if checksum is None:
        raise _Damaged("has no checksum")
    return event


def _is_line(line: bytes) -> bool:
    try:
        _event(line)
    except _Damaged:
        return not line
    return True
