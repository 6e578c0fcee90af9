# SPDX-License-Identifier: Apache-2.0
"""A bundle into a directory of results: anybody may have written it, and all of it is there or nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from linewatt import durable
from linewatt.errors import DiskFull, StoreError
from linewatt.foreign import MIB
from linewatt.store import read, sums
from linewatt.store.bundle import layout
from linewatt.store.bundle.frames import PIECE, Frame, Unreadable, digest_of
from linewatt.store.bundle.layout import Contents, Entry
from linewatt.store.bundle.opened import Opened, opened
from linewatt.store.verify import verify_result
from linewatt.store.write import unstored_text


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A result that came in a bundle; ``was_there``: so it did before, and is the same."""

    path: Path
    contents: Contents
    was_there: bool


def unpack_bundle(bundle: Path, root: Path) -> Unpacked:
    """Have the result of a bundle below ``root``, or nothing.

    Raises InvalidInput for a bundle that is damaged or that no linewatt wrote, StoreError where another
    result has its id or it cannot be stored; DiskFull.
    """
    with opened(bundle) as packed:
        contents, final = packed.contents, root / packed.contents.id
        try:
            durable.make_folder(root)
            _refuse_too_large(root, contents)
            with durable.whole_folder(final, shared=True) as partial:
                _write(packed, partial)
                _refuse_untrue(packed, partial)
                if os.path.lexists(final):
                    raise FileExistsError
        except OSError as error:
            if not os.path.lexists(final):
                raise unstored_text(final, "what the bundle holds", error) from error
            _refuse_another(final, contents)
            return Unpacked(final, contents, was_there=True)
        return Unpacked(final, contents, was_there=False)


def _refuse_too_large(root: Path, contents: Contents) -> None:
    free = shutil.disk_usage(root).free
    if contents.total_bytes > free:
        raise DiskFull(
            f"{root}: the result of the bundle has {contents.total_bytes / MIB:,.0f} MiB, and the disk has "
            f"room for {free / MIB:,.0f} MiB: make room, or name another directory with --results"
        )


def _write(packed: Opened, folder: Path) -> None:
    """Write every file of a bundle, and have it on disk. Raises InvalidInput, OSError."""
    (folder / "trials").mkdir()  # also of a result that has none
    folders = {"trials"}
    for at, entry, frame in packed.frames():
        path = folder / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        folders |= {above.as_posix() for above in Path(entry.name).parents}
        is_last = at == len(packed.contents.files) - 1
        with path.open("xb") as file:
            try:
                _copy(packed, entry, frame, file, layout.END if is_last else b"")
            except Unreadable as error:
                raise packed.refused(entry.name, f"cannot be unpacked: {error}") from error
            file.flush()
            os.fsync(file.fileno())
    for name in folders:
        durable.sync_folder(folder / name)


def _copy(packed: Opened, entry: Entry, frame: Frame, file: BinaryIO, behind: bytes) -> None:
    """Write the file in a frame; at most the listed size is unpacked."""
    head = layout.header(f"{packed.contents.id}/{entry.name}", entry.bytes)
    stream, digest, remaining = frame.unpacked(), hashlib.sha256(), entry.bytes
    if stream.read(len(head)) != head:
        raise packed.refused(entry.name, frame.oddity(packed.contents.id, entry.name))
    while remaining:
        piece = stream.read(min(remaining, PIECE))
        if not piece:
            raise packed.refused(entry.name, "holds less than is listed")
        digest.update(piece)
        file.write(piece)
        remaining -= len(piece)
    ending = layout.padding(entry.bytes) + behind
    if stream.read(len(ending) + 1) != ending:
        raise packed.refused(entry.name, "holds more than is listed")
    if digest.hexdigest() != entry.sha256:
        raise packed.refused(entry.name, "is not what its checksum is of")


def _refuse_untrue(packed: Opened, folder: Path) -> None:
    """Raise InvalidInput for files that are not a result, or do not match its list of checksums."""
    check = verify_result(folder)
    for problem in check.problems:
        raise packed.refused(problem.name, f"{problem.why} (of the result that is in the bundle)")
    try:
        read.load_manifest(folder)
    except StoreError:
        raise packed.refused("manifest.json", "is missing, or none that this linewatt reads") from None


def _refuse_another(final: Path, contents: Contents) -> None:
    """Raise StoreError where a different result with the same id exists already."""
    listed = {entry.name: entry.sha256 for entry in contents.files}
    stored = set(sums.files(final)) | ({sums.SUMS_FILE} if sums.has_list(final) else set())
    for name in sorted(listed.keys() | stored):
        if name in listed and name in stored:
            if digest_of(final / name) == listed[name]:
                continue
            what = f"{name} is another"
        else:
            what = f"{name} is only in {'the bundle' if name in listed else 'that'}"
        raise StoreError(
            f"{final}: a result with this id is there already and is not the same: {what}; "
            "rename that folder, or name another directory with --results"
        )
