# SPDX-License-Identifier: Apache-2.0
"""Frames of a bundle, unpacked piece by piece: never more memory than a window, whatever they hold."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path
from typing import BinaryIO

import zstandard

from linewatt.store import sums
from linewatt.store.bundle import layout

PIECE = 1 << 20
_LONGEST_HEAD = 18
_SAME_BYTE = 1
"""kind of a block that is one byte, so many times"""
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.DIRTYPE: "a folder",
}


class Unreadable(Exception):
    """A frame that cannot be unpacked."""


class _Part(io.RawIOBase):
    """So many bytes of a file from a place on."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._at, self._end = file, start, start + size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        remaining = self._end - self._at
        self._file.seek(self._at)
        data = self._file.read(remaining if size < 0 else min(size, remaining))
        self._at += len(data)
        return data


class Stream:
    """What is in a frame."""

    def __init__(self, part: _Part) -> None:
        unpacking = zstandard.ZstdDecompressor(max_window_size=layout.MOST_WINDOW)
        self._reader = unpacking.stream_reader(part)  # type: ignore[arg-type]

    def read(self, size: int) -> bytes:
        """So many bytes, or all that are left. Raises Unreadable."""
        pieces: list[bytes] = []
        remaining = size
        try:
            while remaining and (piece := self._reader.read(remaining)):
                pieces.append(piece)
                remaining -= len(piece)
        except (zstandard.ZstdError, MemoryError) as error:
            raise Unreadable(str(error)) from error
        return b"".join(pieces)


class Frame:
    """A frame of a bundle."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self.start, self.size = file, start, size

    def digest(self) -> str:
        digest, part = hashlib.sha256(), _Part(self._file, self.start, self.size)
        while piece := part.read(PIECE):
            digest.update(piece)
        return digest.hexdigest()

    def unpacked(self) -> Stream:
        return Stream(_Part(self._file, self.start, self.size))

    def member(self) -> tarfile.TarInfo | None:
        """What its tar header says that it holds; ``None`` where it has none."""
        try:
            head = self.unpacked().read(20 * layout.BLOCK)
            with tarfile.open(fileobj=io.BytesIO(head)) as archive:
                return archive.next()
        except (Unreadable, tarfile.TarError, ValueError, OSError):
            return None

    def oddity(self, result: str, name: str) -> str:
        """Why it is not the frame of this file."""
        member = self.member()
        if member is None:
            return "is not a member of a tar archive"
        if not member.isreg():
            return f"is {_KINDS.get(member.type, 'no regular file')}, not a regular file"
        if member.name != f"{result}/{name}":
            return f"is called {member.name!r} in the archive"
        return "is not packed as linewatt packs a file"


def size_of_frame(file: BinaryIO, start: int) -> int:
    """Bytes of the frame that begins at a place, from the heads of its blocks (RFC 8878, 3.1.1).

    Raises Unreadable where it does not end, OSError.
    """
    file.seek(start)
    head = file.read(_LONGEST_HEAD)
    try:
        at = start + zstandard.frame_header_size(head)
        checksum = 4 if zstandard.get_frame_parameters(head).has_checksum else 0
    except zstandard.ZstdError as error:
        raise Unreadable(str(error)) from error
    is_last = False
    while not is_last:
        file.seek(at)
        block = int.from_bytes(word := file.read(3), "little")
        if len(word) < 3:
            raise Unreadable("is cut off")
        is_last = bool(block & 1)
        at += 3 + (1 if block >> 1 & 3 == _SAME_BYTE else block >> 3)
    if at + checksum > file.seek(0, os.SEEK_END):
        raise Unreadable("is cut off")
    return at + checksum - start


def digest_of(path: Path) -> str | None:
    """Checksum of a file; ``None`` where it cannot be read."""
    try:
        return sums.sha256_of_file(path)
    except OSError:
        return None
