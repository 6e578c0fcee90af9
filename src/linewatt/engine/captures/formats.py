# SPDX-License-Identifier: Apache-2.0
"""Which format a file is, told by what is in it and never by its name. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linewatt.engine.captures import iperf3, ipmitool, sysstat, turbostat
from linewatt.engine.captures.folder import GZIP, CaptureFile
from linewatt.engine.captures.model import Found
from linewatt.errors import InvalidInput, LinewattError, ParseError
from linewatt.foreign import contained, one_line, read_each_json

_OF_JSON: tuple[Callable[[CaptureFile, tuple[Any, ...]], Found | None], ...] = (
    iperf3.find,
    sysstat.find_json,
)
_OF_TEXT: tuple[Callable[[CaptureFile], Found | None], ...] = (
    sysstat.find_text,
    turbostat.find,
    ipmitool.find,
)
KNOWN = (
    "iperf3 --json",
    "mpstat (text, -o JSON)",
    "sar (text), sadf -j",
    "ipmitool sensor, sdr and dcmi power reading behind stamps",
    "turbostat with Time_Of_Day_Seconds",
)
"""in words, for messages"""


def find(file: CaptureFile) -> Found:
    """What a file holds. Raises InvalidInput, one line naming it, for what is damaged or no format that is
    read."""
    try:
        with contained(file.name):
            found = _find(file)
    except LinewattError as error:
        said = one_line(str(error))
        named = said if said.startswith(file.name) else f"{file.name}: {said}"
        raise InvalidInput(named if "--skip" in said else f"{named}; --skip leaves it out") from None
    if found is None:
        raise InvalidInput(f"{file.name}: is none of {'; '.join(KNOWN)}; --skip leaves it out")
    return found


def begins_capture(beginning: bytes) -> bool:
    """Whether a file that begins so is what a tool wrote, and no table."""
    text = beginning.decode(errors="replace").lstrip()
    return (
        beginning.startswith(GZIP)
        or text.startswith(("{", "iperf3:"))
        or sysstat.is_top(text.partition("\n")[0])
        or any(ipmitool.watts(line) is not None or turbostat.is_header(line) for line in text.splitlines())
    )


def _find(file: CaptureFile) -> Found | None:
    text = iperf3.after_warnings(file.text)
    if not text.strip():
        raise ParseError("is empty")
    if text.lstrip().startswith("{"):
        return _of_json(file, text)
    return next((found for find_in in _OF_TEXT if (found := find_in(file)) is not None), None)


def _of_json(file: CaptureFile, text: str) -> Found | None:
    try:
        documents = tuple(read_each_json(text, "its JSON is cut off or damaged"))
    except ParseError:
        found = sysstat.find_open_json(file)
        if found is None:
            raise
        return found
    return next((found for find_in in _OF_JSON if (found := find_in(file, documents)) is not None), None)
