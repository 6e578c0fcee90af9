# SPDX-License-Identifier: Apache-2.0
"""Watts of packages, cores and memory as ``turbostat`` prints them over time, with ``Time_Of_Day_Seconds``.
Pure.

A line with the names of columns stands before each interval, or once; with ``--Summary`` a line an interval
follows, else the first one behind it is of the whole system and the others of CPUs. A figure is the mean over
the time since the interval before, so that watts are kept as the energy that they add up to. Without that
column, which turbostat shows only if it is asked to, nobody knows when it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linewatt.engine.live import Record
from linewatt.errors import ParseError
from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.features.importing.captures.model import Found, Track
from linewatt.foreign import number
from linewatt.model import Channel

NAME = "turbostat"
STAMP = "Time_Of_Day_Seconds"
SCOPES = {
    "PkgWatt": ("package", "package:all"),
    "CorWatt": ("core", "core:all"),
    "RAMWatt": ("dram", "dram:all"),
}
"""column → beginning of the channel's name, and its scope: all sockets together"""
_TOPOLOGY = ("Package", "Die", "Node", "Core", "CPU")
_KNOWN = (*SCOPES, "Busy%", "Bzy_MHz", "Avg_MHz", "TSC_MHz", STAMP)
STEP_S = 1e-6
LEAST_COLUMNS = 2
MOST_W = 1e5
HOW = "run turbostat --enable Time_Of_Day_Seconds, or --Summary --show Time_Of_Day_Seconds,PkgWatt,RAMWatt"


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of figures; ``is_first``: it stands behind the names of the columns."""

    cells: tuple[str, ...]
    is_first: bool


def is_header(line: str) -> bool:
    """Whether a line has names of turbostat's columns, and one of watts or clocks among them."""
    words = line.split()
    return len(words) >= LEAST_COLUMNS and sum(word in _KNOWN for word in words) >= LEAST_COLUMNS


def find(file: CaptureFile) -> Found | None:
    """What turbostat printed over time; ``None``: it did not. Raises ParseError."""
    lines = file.text.splitlines()
    at = next((number for number, line in enumerate(lines) if is_header(line)), None)
    if at is None:
        return None
    columns = lines[at].split()
    if STAMP not in columns:
        raise ParseError(f"holds readings of turbostat without a time; {HOW}")
    watts = [name for name in SCOPES if name in columns]
    if not watts:
        raise ParseError(f"holds no watts of turbostat; {HOW}")
    rows = _of_system(columns, list(_rows(lines[at:], columns)))
    times_s = [number(row[columns.index(STAMP)], STAMP) for row in rows]
    if any(after <= before for before, after in pairwise(times_s)):
        raise ParseError("its times do not go up: the clock was set, or files were joined")
    if len(rows) < LEAST_COLUMNS:
        raise ParseError("holds one interval of turbostat; measure several (--interval 1)")
    readings = [{name: _watts(row[columns.index(name)], name) for name in watts} for row in rows]
    return Found(file, NAME, tracks=(_track(file, times_s, readings, rows),))


def _watts(cell: str, name: str) -> float:
    """Raises ParseError."""
    value = number(cell, name)
    if not 0 <= value <= MOST_W:
        raise ParseError(f"{name} reads {value:g} W, which no host draws")
    return value


def _rows(lines: Sequence[str], columns: Sequence[str]) -> Iterator[_Row]:
    """Lines of figures. Raises ParseError where columns change."""
    is_first = False
    for line in lines:
        words = tuple(line.split())
        if is_header(line):
            if list(words) != list(columns):
                raise ParseError("its columns change; keep one run in a file")
            is_first = True
        elif words and _is_stamp(words[min(columns.index(STAMP), len(words) - 1)]):
            yield _Row(words, is_first)
            is_first = False


def _is_stamp(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


def _of_system(columns: Sequence[str], rows: Sequence[_Row]) -> list[tuple[str, ...]]:
    """The lines that are of the whole system. Raises ParseError where that cannot be told."""
    place = next((columns.index(name) for name in _TOPOLOGY if name in columns), None)
    if place is not None:
        system_lines = [
            row.cells for row in rows if len(row.cells) == len(columns) and row.cells[place] == "-"
        ]
    elif sum(row.is_first for row in rows) > 1:
        system_lines = [row.cells for row in rows if row.is_first]
    else:
        system_lines = [row.cells for row in rows]
    if not system_lines or any(len(cells) != len(columns) for cells in system_lines):
        raise ParseError("it cannot be told which lines are of the whole system; run turbostat --Summary")
    return system_lines


def _track(
    file: CaptureFile,
    times_s: Sequence[float],
    readings: Sequence[Mapping[str, float]],
    rows: Sequence[tuple[str, ...]],
) -> Track:
    totals_j = dict.fromkeys(readings[0], 0.0)
    records = []
    for at, (time_s, watts) in enumerate(zip(times_s, readings, strict=True)):
        span_s = time_s - times_s[at - 1] if at else 0.0
        totals_j = {name: total + watts[name] * span_s for name, total in totals_j.items()}
        values: dict[str, float | None] = {_channel(name).name: total for name, total in totals_j.items()}
        records.append(Record(time_s, span_s, "\t".join(rows[at]), values))
    return Track(
        file=file,
        source=NAME,
        records=tuple(records),
        channels={_channel(name).name: _channel(name) for name in totals_j},
        clock="unix",
        resolution_s=STEP_S,
        is_power=True,
        is_dated=True,
    )


def _channel(column: str) -> Channel:
    part, scope = SCOPES[column]
    return Channel(
        f"{part}.energy_j", "J", "counter", scope, method=f"RAPL, {column} of turbostat, all sockets"
    )
