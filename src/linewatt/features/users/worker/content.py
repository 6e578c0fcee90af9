# SPDX-License-Identifier: Apache-2.0
"""What files of a load hold: the first bytes of one endless pattern, so that any size has one content.

The pattern repeats after :data:`PERIOD_BYTES`, which is no multiple of any block size: a block that is lost,
doubled or swapped changes the checksum.
"""

from __future__ import annotations

import functools
import hashlib
import os
import zlib
from collections.abc import Iterable

PERIOD_BYTES = 16 * 1024 * 1024 + 4096
"""a whole number of pages, which sendfile hands on without copying"""
_SEED = b"linewatt users 1"


@functools.cache
def period() -> bytes:
    """The pattern once: SHAKE-128 of a constant, so that any language can make it (FIPS 202)."""
    return hashlib.shake_128(_SEED).digest(PERIOD_BYTES)


@functools.lru_cache(maxsize=4096)
def crc32(size_bytes: int) -> int:
    """CRC-32 of the content of a file of that size (zlib's)."""
    return crc32s((size_bytes,))[size_bytes]


def crc32s(sizes: Iterable[int]) -> dict[int, int]:
    """CRC-32 of the contents of many sizes, for the work of the largest one: each begins as the next does."""
    period_bytes = memoryview(period())
    checksums, crc, at = {}, 0, 0
    for size in sorted(set(sizes)):
        while at < size:
            begin = at % PERIOD_BYTES
            piece = period_bytes[begin : begin + size - at]
            crc, at = zlib.crc32(piece, crc), at + len(piece)
        checksums[size] = crc
    return checksums


class MemoryFile:
    """The pattern in a file of memory, which all users send from. Nothing of it is on a disk."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("linewatt-users", os.MFD_CLOEXEC)
        with os.fdopen(os.dup(self.descriptor), "wb") as file:
            file.write(period())

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> MemoryFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
