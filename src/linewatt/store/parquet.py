# SPDX-License-Identifier: Apache-2.0
"""Parquet of columns whose distinct values are known: words of a few kinds, numbers of which many are alike.

A trial's samples are stored between two loads, and a database that writes them takes four times as long, and
has to be started first. What is written is the plainest form of the format that every reader knows: one row
group, each column a dictionary page and a data page (v1) of positions in it, gzip where that is worth it.

Source: github.com/apache/parquet-format (README, Encodings, parquet.thrift); Thrift's compact protocol.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MAGIC = b"PAR1"
_DOUBLE, _BYTE_ARRAY = 5, 6
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_UNCOMPRESSED, _GZIP = 0, 2
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_LEVEL = 4
"""of zlib; beyond it only the time grows"""
_SMALL = 256
"""bytes of a column that take longer to pack than they are worth"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it can hold, and for each row the position of what it holds; −1 where it is NULL.

    ``held`` are words (a list) or numbers (an array of doubles).
    """

    name: str
    held: Any
    positions: Any
    nullable: bool = False


def file_of(columns: Sequence[Column], created_by: str) -> bytes:
    """A whole file. Every column has as many rows."""
    rows = len(columns[0].positions)
    pieces, chunks = [_MAGIC], []
    at = len(_MAGIC)
    for column in columns if rows else ():
        pages, chunk = _chunk(column, at)
        pieces.append(pages)
        chunks.append(chunk)
        at += len(pages)
    group = _struct((1, _list(_STRUCT, chunks)), (2, _i64(at - len(_MAGIC))), (3, _i64(rows)))
    footer = _struct(
        (1, _i32(2)),
        (2, _list(_STRUCT, [_root(len(columns)), *map(_element, columns)])),
        (3, _i64(rows)),
        (4, _list(_STRUCT, [group[1]] if rows else [])),
        (6, _text(created_by)),
        (7, _list(_STRUCT, [_BY_TYPE] * len(columns))),
    )[1]
    return b"".join((*pieces, footer, len(footer).to_bytes(4, "little"), _MAGIC))


def column_of(name: str, numbers: Any, *, nullable: bool = False) -> Column:
    """A column of doubles, NULL where they are NaN; bit for bit, so that −0 stays −0."""
    import numpy as np

    bits, positions = np.unique(numbers.view(np.int64), return_inverse=True)
    if nullable:
        positions = np.where(np.isnan(numbers), -1, positions)
    return Column(name, bits.view(np.float64), positions, nullable)


def _chunk(column: Column, at: int) -> tuple[bytes, bytes]:
    """Pages of a column that begin at this byte of the file, and what the footer says of them."""
    import numpy as np

    held, rows = len(column.held), len(column.positions)
    dictionary, known = _plain(column.held), column.positions
    levels = b""
    if column.nullable:
        known = known[known >= 0]
        levels = _packed((column.positions >= 0).astype(np.int32), 1)
        levels = len(levels).to_bytes(4, "little") + levels
    width = max(1, (held - 1).bit_length())
    data = b"".join((levels, bytes([width]), _packed(known, width)))
    codec = _GZIP if len(dictionary) + len(data) > _SMALL else _UNCOMPRESSED
    of_held = _struct((1, _i32(held)), (2, _i32(_PLAIN)))
    of_rows = _struct((1, _i32(rows)), (2, _i32(_RLE_DICTIONARY)), (3, _i32(_RLE)), (4, _i32(_RLE)))
    first, first_size = _page(_DICTIONARY_PAGE, dictionary, codec, (7, of_held))
    second, second_size = _page(_DATA_PAGE, data, codec, (5, of_rows))
    about = _struct(
        (1, _i32(_type(column))),
        (2, _list(_I32, [_i32(one)[1] for one in (_PLAIN, _RLE, _RLE_DICTIONARY)])),
        (3, _list(_BINARY, [_text(column.name)[1]])),
        (4, _i32(codec)),
        (5, _i64(rows)),
        (6, _i64(first_size + second_size)),
        (7, _i64(len(first) + len(second))),
        (9, _i64(at + len(first))),
        (11, _i64(at)),
        *_statistics(column),
    )
    return first + second, _struct((2, _i64(at)), (3, about))[1]


def _page(kind: int, data: bytes, codec: int, about: tuple[int, _Value]) -> tuple[bytes, int]:
    """A page with its header, and how large both are before they are packed."""
    small = data
    if codec == _GZIP:
        packer = zlib.compressobj(_LEVEL, wbits=16 + zlib.MAX_WBITS)
        small = packer.compress(data) + packer.flush()
    header = _struct((1, _i32(kind)), (2, _i32(len(data))), (3, _i32(len(small))), about)[1]
    return header + small, len(header) + len(data)


def _packed(positions: Any, width: int) -> bytes:
    """The hybrid of runs and bit-packing: all as runs, or all packed, whichever is smaller."""
    import numpy as np

    rows, bytes_each = len(positions), -(-width // 8)
    starts = np.flatnonzero(np.diff(positions, prepend=-2))
    if len(starts) * (2 + bytes_each) * 8 < rows * width:
        lengths = np.diff(starts, append=rows).tolist()
        runs = zip(lengths, positions[starts].tolist(), strict=True)
        return b"".join(_varint(length << 1) + at.to_bytes(bytes_each, "little") for length, at in runs)
    groups = -(-rows // 8)  # of eight, lowest bit first
    places = np.zeros((groups * 8, 1), "<u4")
    places[:rows, 0] = positions
    bits = np.unpackbits(places.view(np.uint8), axis=1, count=width, bitorder="little")
    return _varint(groups << 1 | 1) + np.packbits(bits, bitorder="little").tobytes()


def _plain(held: Any) -> bytes:
    if not isinstance(held, list):
        return bytes(held.astype("<f8").tobytes())
    words = [word.encode() for word in held]
    return b"".join(len(word).to_bytes(4, "little") + word for word in words)


def _statistics(column: Column) -> tuple[tuple[int, _Value], ...]:
    """The least and the most, by which readers pass over a file; not of numbers that may be none."""
    if column.nullable:
        return ()
    if isinstance(column.held, list):
        words = sorted(word.encode() for word in column.held)
        least, most = words[0], words[-1]
    else:
        least, most = _plain(column.held.min()), _plain(column.held.max())
    return ((12, _struct((5, _bytes(most)), (6, _bytes(least)))),)


def _type(column: Column) -> int:
    return _BYTE_ARRAY if isinstance(column.held, list) else _DOUBLE


def _element(column: Column) -> bytes:
    """A column in the schema; text is marked as such, for readers of before and since logical types."""
    text = ((6, _i32(0)), (10, _struct((1, _struct())))) if _type(column) == _BYTE_ARRAY else ()
    about = ((1, _i32(_type(column))), (3, _i32(int(column.nullable))), (4, _text(column.name)))
    return _struct(*about, *text)[1]


_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
"""types of Thrift's compact protocol"""
_Value = tuple[int, bytes]


def _struct(*fields: tuple[int, _Value]) -> _Value:
    """Fields by number, rising by less than 16 from one to the next."""
    written, before = bytearray(), 0
    for number, (kind, data) in fields:
        written.append((number - before) << 4 | kind)
        written += data
        before = number
    return _STRUCT, bytes(written) + b"\0"


def _list(kind: int, data: Sequence[bytes]) -> _Value:
    size = len(data)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)
    return _LIST, head + b"".join(data)


def _i32(number: int) -> _Value:
    return _I32, _varint(number << 1)


def _i64(number: int) -> _Value:
    return _I64, _varint(number << 1)


def _text(text: str) -> _Value:
    return _bytes(text.encode())


def _bytes(data: bytes) -> _Value:
    return _BINARY, _varint(len(data)) + data


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(written) + bytes([number])


def _root(columns: int) -> bytes:
    return _struct((4, _text("schema")), (5, _i32(columns)))[1]


_BY_TYPE = _struct((1, _struct()))[1]
"""that the least and the most are as the type orders them"""
