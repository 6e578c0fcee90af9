# SPDX-License-Identifier: Apache-2.0
"""Which format a file is, told by what is in it and never by its name. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any

from linewatt.errors import FileRefused, LinewattError, ParseError
from linewatt.features.importing.captures import flent, ipmitool, netperf, sysstat, turbostat
from linewatt.features.importing.captures.folder import BEGINNING_BYTES, GZIP, CaptureFile
from linewatt.features.importing.captures.foreign_tools import name_of
from linewatt.features.importing.captures.model import Found
from linewatt.features.importing.captures.undated import dated, paired
from linewatt.foreign import contained, one_line, read_each_json
from linewatt.loads import LOADS

_OF_JSON: tuple[Callable[[CaptureFile, tuple[Any, ...]], Found | None], ...] = (flent.find, sysstat.find_json)
_OF_TEXT: tuple[Callable[[CaptureFile], Found | None], ...] = (
    netperf.find,
    sysstat.find_text,
    turbostat.find,
    ipmitool.find,
)
KNOWN = (
    *(load.by_hand for load in LOADS.values() if load.by_hand),
    "mpstat (text, -o JSON)",
    "sar (text), sadf -j or -d",
    "ipmitool sensor, sdr and dcmi power reading behind stamps",
    "turbostat with Time_Of_Day_Seconds",
    "flent (.flent.gz)",
    "netperf (text; -- -o, -- -k)",
)
"""in words, for messages"""
_READ = f"{'; '.join(KNOWN)}; a table (CSV) with the columns that docs/tables.md lists"
MOST_REFUSED = 20
"""files that one message names"""


def find(file: CaptureFile) -> Found:
    """What a file holds. Raises FileRefused, one line naming it, for what is damaged or no format that is
    read."""
    try:
        with contained("its content"):
            capture = _find(file)
    except FileRefused as error:
        raise FileRefused(_named(file, error.what), error.advice, skip=error.skip) from None
    except LinewattError as error:
        raise FileRefused(_named(file, str(error))) from None
    if capture is None:
        name = name_of(file.text, file.magic)
        what = (
            f"is {name}"
            if name is not None
            else f"is {_kind(file.text)} that import does not know; it reads {_READ}"
        )
        raise FileRefused(f"{file.name}: {what}")
    return capture


def _named(file: CaptureFile, what: str) -> str:
    return f"{file.name}: {one_line(what)}"


def _kind(text: str) -> str:
    """What a file is that nobody knows, as far as its characters tell."""
    beginning = text[:BEGINNING_BYTES]  # in which bytes that are no text have become signs for them
    if any(sign in beginning for sign in ("\N{SYMBOL FOR NULL}", "\0", "\N{REPLACEMENT CHARACTER}")):
        return "binary data"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return "text"
    return "JSON"


def is_table(beginning: bytes, columns: Collection[str]) -> bool:
    """Whether a file that begins so has rows with as many cells as its header, or any of these columns.

    Text of UTF-16 may be one: whoever reads tables says what to do.
    """
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    text = beginning.decode("utf-8-sig", errors="replace")
    header, *rows = [line for line in text.splitlines() if line.strip()] or [""]
    for between in ",;\t|":
        cells = [cell.strip().strip('"') for cell in header.split(between)]
        if len(cells) > 1 and (
            set(cells) & set(columns) or (rows and rows[0].count(between) == len(cells) - 1)
        ):
            return "\0" not in text
    return header.strip() in columns


def find_all(files: Iterable[CaptureFile]) -> tuple[Found, ...]:
    """What each file holds. Raises FileRefused, one line that names all that are not read, and why."""
    captures: list[Found] = []
    refused: list[FileRefused] = []
    for file in files:
        try:
            captures.append(find(file))
        except FileRefused as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    if refused:
        more = len(refused) - MOST_REFUSED
        raise FileRefused(
            f"{len(refused)} files are not read: {'; '.join(map(str, refused[:MOST_REFUSED]))}"
            f"{f'; and {more} more' if more > 0 else ''}",
            skip="leaves files out",
        )
    return dated(paired(captures))


def begins_capture(beginning: bytes) -> bool:
    """Whether a file that begins so is what a tool wrote, and no table."""
    text = beginning.decode(errors="replace").lstrip()
    return (
        beginning.startswith(GZIP)
        or text.startswith(("{", *(f"{name}:" for name in LOADS)))
        or netperf.begins(text)
        or sysstat.is_top(text.partition("\n")[0])
        or name_of(text, beginning) is not None
        or any(ipmitool.watts(line) is not None or turbostat.is_header(line) for line in text.splitlines())
    )


def _find(file: CaptureFile) -> Found | None:
    text = _after_warnings(file.text)
    if not text.strip():
        raise ParseError("is empty")
    if text.lstrip().startswith("{"):
        return _of_json(file, text)
    for load in LOADS.values():
        ends = load.ends_of_text(file.name, text)
        if ends is not None:
            return Found(file, load.name, ends=ends)
    return next((capture for find_in in _OF_TEXT if (capture := find_in(file)) is not None), None)


def _of_json(file: CaptureFile, text: str) -> Found | None:
    try:
        documents = tuple(read_each_json(text, "its JSON is cut off or damaged"))
    except ParseError:
        capture = sysstat.find_open_json(file)
        if capture is None:
            raise
        return capture
    for load in LOADS.values():
        ends = load.ends_of(file.name, file.text, documents)
        if ends is not None:
            return Found(file, load.name, ends=ends)
    return next((capture for find_in in _OF_JSON if (capture := find_in(file, documents)) is not None), None)


def _after_warnings(text: str) -> str:
    """The text without lines of a load's own words in front of its JSON."""
    start = text.find("\n{\n")
    before = text[: max(0, start)].strip().splitlines()
    says = ("warning:", *(f"{name}:" for name in LOADS))
    return text[start + 1 :] if before and all(line.startswith(says) for line in before) else text
