# SPDX-License-Identifier: Apache-2.0
"""A bundle whose every byte was looked at, before anything of it is unpacked."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from linewatt import foreign
from linewatt.errors import InvalidInput, ParseError
from linewatt.store.bundle import layout
from linewatt.store.bundle.frames import Frame, Unreadable, size_of_frame
from linewatt.store.bundle.layout import Contents, Entry
from linewatt.store.read import damaged


@dataclass(frozen=True, slots=True)
class Opened:
    """A bundle that is as it was written."""

    path: Path
    contents: Contents
    first_bytes: int
    """of the frame that lists the others"""
    file: BinaryIO

    def refused(self, name: str, why: str) -> InvalidInput:
        return refused(self.path, name, why)

    def frames(self) -> Iterator[tuple[int, Entry, Frame]]:
        """Each file's frame, with its place among them."""
        start = self.first_bytes
        for at, entry in enumerate(self.contents.files):
            yield at, entry, Frame(self.file, start, entry.packed_bytes)
            start += entry.packed_bytes


def refused(bundle: Path, name: str, why: str) -> InvalidInput:
    refusal = foreign.shortened(f"{bundle}: {name}: {why}")
    return InvalidInput(f"{refusal}; nothing was imported")


_AGAIN = "get the bundle again from where it was made"


@contextmanager
def opened(bundle: Path) -> Iterator[Opened]:
    """An open bundle whose checksums all match. Raises InvalidInput naming the part that does not."""
    try:
        file = os.fdopen(os.open(bundle, os.O_RDONLY | os.O_NONBLOCK), "rb")  # waits for no pipe's writer
    except OSError as error:
        raise InvalidInput(f"{bundle}: cannot be read: {error.strerror}") from error
    with file:
        try:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidInput(f"{bundle}: is not a regular file; a bundle is read from a file")
            bundle_file = _listed(bundle, file)
            _refuse_damaged(bundle_file, status.st_size)
        except OSError as error:
            raise InvalidInput(f"{bundle}: cannot be read: {error.strerror}") from error
        yield bundle_file


def _listed(bundle: Path, file: BinaryIO) -> Opened:
    """What a bundle says that it holds. Raises InvalidInput."""
    data, size = _first(bundle, file)
    head = layout.header(layout.LIST, 0)
    text = data[len(head) :].rstrip(b"\0").decode(errors="replace")
    try:
        values = foreign.read_json(text, "damaged", layout.LIMITS)
    except ParseError as error:
        raise refused(bundle, layout.LIST, f"{error}; {_AGAIN}") from None
    version = values.get("schema_version") if isinstance(values, dict) else None
    if version != layout.SCHEMA_VERSION:
        why = f"schema_version {version!r:.40}, this linewatt reads {layout.SCHEMA_VERSION}"
        raise refused(bundle, layout.LIST, why)
    try:
        contents = Contents.model_validate(values)
    except ValidationError as error:
        raise refused(bundle, str(damaged(layout.LIST, error)), "is not what linewatt writes") from None
    written = layout.header(layout.LIST, len(text.encode()))
    if data != written + text.encode() + layout.padding(len(text.encode())):
        raise refused(bundle, layout.LIST, f"damaged: is not packed as linewatt packs it; {_AGAIN}")
    return Opened(bundle, contents, size, file)


def _first(bundle: Path, file: BinaryIO) -> tuple[bytes, int]:
    """What is in the first frame, and its size in the file. Raises InvalidInput."""
    file.seek(0)
    if file.read(len(layout.MAGIC)) != layout.MAGIC:
        raise refused(bundle, layout.LIST, f"damaged, or this is not a linewatt bundle; {_AGAIN}")
    try:
        size = size_of_frame(file, 0)
        data = Frame(file, 0, size).unpacked().read(layout.MOST_OF_LIST + 1)
    except Unreadable as error:
        raise refused(bundle, layout.LIST, f"damaged: {error}; {_AGAIN}") from error
    if len(data) > layout.MOST_OF_LIST:
        raise refused(bundle, layout.LIST, f"is longer than {layout.MOST_OF_LIST} bytes")
    if not data.startswith(layout.LIST.encode() + b"\0"):
        name = foreign.entered(data[:100].split(b"\0")[0])
        raise refused(bundle, layout.LIST, f"this is not a linewatt bundle: it begins with {name!r:.60}")
    return data, size


def _refuse_damaged(archive: Opened, size: int) -> None:
    """Raise InvalidInput where bytes of the bundle were changed, added or removed."""
    end = archive.first_bytes
    for _, entry, frame in archive.frames():
        if frame.digest() != entry.packed_sha256:
            raise _damaged(archive, entry, frame, size)
        end += entry.packed_bytes
    archive.file.seek(end)
    tail = archive.file.read(layout.SEAL_BYTES + 1)
    if tail == layout.seal(_first_frame(archive)):
        return
    if len(tail) < layout.SEAL_BYTES:
        raise archive.refused("its end", f"is cut off; {_AGAIN}")
    name = _name_of(archive, end, size)
    if name is not None:
        raise archive.refused(name, "is in the bundle and is not listed")
    raise archive.refused(layout.LIST, f"damaged, or what is behind the last file is; {_AGAIN}")


def _damaged(archive: Opened, entry: Entry, frame: Frame, size: int) -> InvalidInput:
    """The error for a frame that does not match its checksum."""
    archive.file.seek(max(0, size - layout.SEAL_BYTES))
    tail = archive.file.read()
    if layout.is_seal(tail) and tail != layout.seal(_first_frame(archive)):
        return archive.refused(layout.LIST, f"damaged; {_AGAIN}")
    name = _name_of(archive, frame.start, size)
    if name is not None and name != entry.name:
        if any(listed_entry.name == name for listed_entry in archive.contents.files):
            return archive.refused(entry.name, f"is missing: {name} is in its place; {_AGAIN}")
        return archive.refused(name, f"is in the bundle and is not listed; {_AGAIN}")
    total = (
        archive.first_bytes
        + sum(listed_entry.packed_bytes for listed_entry in archive.contents.files)
        + layout.SEAL_BYTES
    )
    if size < frame.start + frame.size + layout.SEAL_BYTES:
        return archive.refused(
            entry.name,
            f"is missing or cut off: the bundle has {size} bytes and should have {total}; {_AGAIN}",
        )
    return archive.refused(entry.name, f"damaged: has another checksum than when it was packed; {_AGAIN}")


def _first_frame(archive: Opened) -> bytes:
    archive.file.seek(0)
    return archive.file.read(archive.first_bytes)


def _name_of(archive: Opened, start: int, size: int) -> str | None:
    """The name in the header of the frame that begins at ``start``; ``None`` without one."""
    member = Frame(archive.file, start, max(0, size - start)).member()
    return None if member is None else foreign.one_line(member.name.removeprefix(f"{archive.contents.id}/"))
