# SPDX-License-Identifier: Apache-2.0
"""Anybody's table: from the bytes of a delimited text file to named cells, and cells to numbers."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from linewatt.errors import InvalidInput

DELIMITERS = (",", ";", "\t")
_LARGEST = 1e30
"""squares of larger numbers overflow soon"""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?[0-9][0-9.]*(?:,[0-9]+)+(?:\.[0-9]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Row:
    """One record. ``number`` counts records from 1, ``line`` is where it begins in the file (header is 1).

    A record that is not ``aligned`` has fewer or more cells than the header: which cell belongs to which
    column is then unknown, so nothing may be computed from it.
    """

    number: int
    line: int
    cells: Mapping[str, str]
    aligned: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Column names in order, and the records; cells are text as found, without surrounding blanks."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class TableWarning:
    """Something about the table that a reader of the result must know.

    ``row`` and ``line`` are ``None`` when it is about a column as a whole.
    """

    message: str
    row: int | None = None
    line: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        place = [f"row {self.row} (line {self.line})"] if self.row is not None else []
        place += [f"column {self.column}"] if self.column is not None else []
        return f"{', '.join(place)}: {self.message}" if place else self.message


def read_table(data: bytes, source: str, known: Container[str] = ()) -> tuple[Table, list[TableWarning]]:
    """Parse comma-, semicolon- or tab-separated text with a header line; UTF-8, a BOM and CRLF are fine.

    The delimiter is the one whose header holds most names in ``known``, then most columns. Lines without
    any content are skipped. Raises InvalidInput (one line, beginning with ``source``) for anything that is
    no such table: empty, not UTF-8, binary, broken quoting, a name twice, a header without records.
    """
    text = _decode(data, source)
    records = _records(text, _delimiter(text, known), source)
    header = next(records, None)
    if header is None:
        raise InvalidInput(f"{source}: the file is empty; a header line and at least one row are needed")
    columns = _column_names(header[1], source)
    warnings: list[TableWarning] = []
    rows = [_row(number, line, cells, columns, warnings) for number, (line, cells) in enumerate(records, 1)]
    if not rows:
        raise InvalidInput(f"{source}: the file has a header but no rows")
    return Table(columns, tuple(rows)), warnings


def parse_number(cell: str) -> float | None:
    """The number a cell holds; ``None`` for text, NaN, infinity, thousands separators, decimal commas."""
    if not _NUMBER.fullmatch(cell):
        return None
    value = float(cell)
    return value if math.isfinite(value) else None


def is_figure(value: float) -> bool:
    """Whether a number is neither too large nor too small to compute with: what is made of it is a number."""
    return value == 0 or 1 / _LARGEST <= abs(value) <= _LARGEST


def why_no_number(cell: str) -> str:
    """What is wrong with a cell that :func:`parse_number` refuses, for a warning."""
    if not cell:
        return "the cell is empty"
    if _WITH_COMMA.fullmatch(cell):
        return f"{quoted(cell)} is not a number: write a decimal point and no thousands separators"
    return f"{quoted(cell)} is not a number"


def quoted(cell: str) -> str:
    """A cell for a message: in quotes, control characters escaped, cut when long."""
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")


def _decode(data: bytes, source: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"{source}: the file is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{source}:{line}: the file is not UTF-8 text; save it as UTF-8") from None
    if "\0" in text:
        raise InvalidInput(f"{source}: the file is binary, not a table of text")
    return text


def _delimiter(text: str, expected_names: Container[str]) -> str:
    def score(delimiter: str) -> tuple[int, int]:
        try:
            header = next(_records(text, delimiter, ""))[1]
        except (StopIteration, InvalidInput):
            return (-1, 0)
        return (sum(_clean_name(name) in expected_names for name in header), len(header))

    return max(DELIMITERS, key=score)


def _records(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """(first line, stripped cells) of each record that has content."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield line, stripped
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(
            f"{source}:{line}: the quoting is broken or a cell is too long ({error})"
        ) from None


def _clean_name(name: str) -> str:
    return " ".join(name.split())


def _column_names(header: list[str], source: str) -> tuple[str, ...]:
    names: list[str] = []
    while not header[-1]:  # a delimiter at the line's end makes no column
        header = header[:-1]
    for position, cell in enumerate(header, 1):
        name = _clean_name(cell) or f"column_{position}"
        if not name.isprintable():
            raise InvalidInput(f"{source}:1: the name of column {position} holds control characters")
        if name in names:
            first = names.index(name) + 1
            raise InvalidInput(f"{source}:1: columns {first} and {position} are both named {quoted(name)}")
        names.append(name)
    return tuple(names)


def _row(
    number: int, line: int, cells: list[str], columns: tuple[str, ...], warnings: list[TableWarning]
) -> Row:
    beyond = cells[len(columns) :]
    aligned = len(cells) >= len(columns) and not any(beyond)
    if not aligned:
        message = f"{len(cells)} cells where the header has {len(columns)}: nothing is derived from this row"
        warnings.append(TableWarning(message, row=number, line=line))
    padded = cells + [""] * (len(columns) - len(cells))
    return Row(number, line, dict(zip(columns, padded, strict=False)), aligned)
