# SPDX-License-Identifier: Apache-2.0
"""A stored result into a bundle: every file of it as it was stored, or no bundle."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from linewatt import __version__, durable
from linewatt.errors import InvalidInput, StoreError
from linewatt.store import sums
from linewatt.store.bundle import layout
from linewatt.store.bundle.layout import Contents, Entry
from linewatt.store.stored_file import open_stored
from linewatt.store.verify import verify_result

LEVEL = 9
"""raw output and samples are packed already; documents, the rest, are a tenth smaller than with level 3"""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A bundle that was written, and what of the result's folder is not in it."""

    path: Path
    contents: Contents
    bytes: int
    sha256: str
    left_out: tuple[str, ...]


def pack_bundle(result: Path, target: Path) -> Packed:
    """Write a bundle of a result: all of it is there, or nothing.

    Raises InvalidInput for a folder that is called as no result is; StoreError where the result is not as it
    was stored, changes meanwhile, or the bundle cannot be written.
    """
    result = result.resolve()
    if not re.match(layout.ID, result.name, re.ASCII):
        raise InvalidInput(
            f"{result.name!r}: rename this folder to letters, digits, dots, underscores and dashes first"
        )
    names, left_out = _names_to_pack(result)
    partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with tempfile.TemporaryFile(dir=target.parent) as frames:
            entries = list(_packed(result, names, frames))
            _refuse_changed(result, entries)
            contents = Contents(
                schema_version=1,
                kind="linewatt-bundle",
                id=result.name,
                linewatt_version=__version__,
                files=entries,
            )
            size, digest = _written(partial, contents, frames)
        partial.replace(target)
        durable.sync_folder(target.parent)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return Packed(target, contents, size, digest, left_out)


def _names_to_pack(result: Path) -> tuple[list[str], tuple[str, ...]]:
    """Names of the files to pack, and of foreign files left out. Raises StoreError for a damaged result."""
    check = verify_result(result)
    wrong = [problem for problem in check.problems if problem.kind != "foreign"]
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise StoreError(
            f"{result.name}: {wrong[0].name} {wrong[0].why}{more}: a bundle would carry that on; "
            "'linewatt verify' lists what is wrong"
        )
    left_out = tuple(problem.name for problem in check.problems)
    return _names(result, left_out), left_out


def _names(result: Path, left_out: tuple[str, ...]) -> list[str]:
    packed_names = {name for name in sums.files(result) if name not in left_out}
    return sorted(packed_names | ({sums.SUMS_FILE} if sums.has_list(result) else set()))


def _packed(result: Path, names: list[str], frames: BinaryIO) -> Iterator[Entry]:
    """Write a frame for each file. Raises OSError."""
    for name in names:
        behind = layout.END if name == names[-1] else b""
        yield _frame(result / name, f"{result.name}/{name}", name, frames, behind)


def _frame(path: Path, member: str, name: str, frames: BinaryIO, behind: bytes) -> Entry:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise StoreError(f"{path}: is not a regular file; results contain only regular files; remove it")
    with open_stored(path) as file:
        size = os.fstat(file.fileno()).st_size
        head, pad = layout.header(member, size), layout.padding(size)
        digest, packed, start = hashlib.sha256(), hashlib.sha256(), frames.tell()
        packing = _compressor().compressobj(size=len(head) + size + len(pad) + len(behind))

        def put(data: bytes) -> None:
            packed.update(data)
            frames.write(data)

        put(packing.compress(head))
        remaining = size
        while remaining:
            piece = file.read(min(remaining, _PIECE))
            if not piece:
                raise OSError(f"{name} became shorter while it was read")
            digest.update(piece)
            put(packing.compress(piece))
            remaining -= len(piece)
        put(packing.compress(pad + behind))
        put(packing.flush())
    return Entry(
        name=name,
        bytes=size,
        sha256=digest.hexdigest(),
        packed_bytes=frames.tell() - start,
        packed_sha256=packed.hexdigest(),
    )


def _compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)


def _refuse_changed(result: Path, entries: list[Entry]) -> None:
    """Raise StoreError where the packed files differ from the result's list of checksums."""
    packed = {entry.name: entry.sha256 for entry in entries}
    if not sums.has_list(result):
        return
    listed = sums.read_sums(result / sums.SUMS_FILE)
    changed = [name for name, digest in listed.items() if packed.get(name) != digest]
    if changed or packed[sums.SUMS_FILE] != sums.sha256_of_file(result / sums.SUMS_FILE):
        raise StoreError(
            f"{result.name}: {changed[0] if changed else sums.SUMS_FILE} is being written, or was when the "
            "campaign was stopped: export the result when that has ended, or 'linewatt resume' has ended it"
        )


def _written(path: Path, contents: Contents, frames: BinaryIO) -> tuple[int, str]:
    """Write the bundle. Returns its size and checksum. Raises OSError."""
    data = json.dumps(contents.model_dump(), indent=1).encode() + b"\n"
    first = _compressor().compress(layout.header(layout.LIST, len(data)) + data + layout.padding(len(data)))
    with path.open("wb") as file:
        file.write(first)
        frames.seek(0)
        shutil.copyfileobj(frames, file, _PIECE)
        file.write(layout.seal(first))
        size = file.tell()
        file.flush()
        os.fsync(file.fileno())
    return size, sums.sha256_of_file(path)
