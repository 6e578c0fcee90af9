# SPDX-License-Identifier: Apache-2.0
"""What tools wrote, word for word: one packed file of a trial or an idle window, ``raw.tar.gz``.

``tar -xzf raw.tar.gz`` makes the folder of it that results of before have, ``raw/<host>/<file>``; both are
read here. Nothing is ever unpacked to a disk: a file of somebody else names no path.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from linewatt.core.feature import further_trials
from linewatt.errors import StoreError
from linewatt.store.stored_file import open_stored, stored_bytes

RAW_SUFFIX = ".tar.gz"
LEVEL = 5
"""a tenth smaller than level 4 in a quarter more of its time; beyond it only the time grows"""
MOST_BYTES = 1 << 30
"""of all that is packed: more is not read into memory"""


def raw_pack_of(folder: Path) -> Path:
    """The file in which what ``folder`` would hold is packed."""
    return folder.with_name(folder.name + RAW_SUFFIX)


def folder_of(pack: Path) -> Path:
    """The folder that a packed file stands for."""
    return pack.with_name(pack.name.removesuffix(RAW_SUFFIX))


def packs(result: Path) -> list[Path]:
    """The packed files of a result."""
    folders = ("trials/[0-9]*", *(f"{trials.name}/[0-9]*" for trials in further_trials()), "raw")
    return sorted(path for folder in folders for path in result.glob(f"{folder}/*{RAW_SUFFIX}"))


def pack_raw(folder: str, texts: Mapping[str, str]) -> bytes:
    """Texts by name below a folder; the same bytes for the same texts."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name in sorted(texts, key=_alike):
            data = texts[name].encode()
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(tar.getvalue(), LEVEL, mtime=0)


def _alike(name: str) -> tuple[str, str]:
    """What the same tool wrote on two hosts stands together: a tenth smaller."""
    return name.rpartition("/")[2].split("-")[0], name


def raw_texts(folder: Path) -> dict[str, str]:
    """Relative name → text of what ``folder`` holds, packed or not; none where there is neither.

    Raises StoreError naming the damaged file.
    """
    pack = raw_pack_of(folder)
    if not os.path.lexists(pack):
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): raw_text(path) for path in paths}
    try:
        with open_stored(pack) as file:
            return raw_texts_in(file, str(pack), MOST_BYTES)
    except OSError as error:
        raise StoreError(f"{pack}: cannot be read: {error.strerror or error}") from error


def raw_texts_in(file: BinaryIO, pack: str, most_bytes: int) -> dict[str, str]:
    """Relative name → text of what is packed in an open file called ``pack``. Raises StoreError; OSError."""
    folder = pack.rpartition("/")[2].removesuffix(RAW_SUFFIX)
    try:
        return dict(_members(_unpacked(file, most_bytes), folder))
    except (ValueError, EOFError, OverflowError, tarfile.TarError, zlib.error) as error:
        raise StoreError(f"{pack}: damaged: {error}") from error


def raw_text(path: Path) -> str:
    """Raises StoreError."""
    try:
        return stored_bytes(path, MOST_BYTES).decode()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error


def _unpacked(file: BinaryIO, most_bytes: int) -> bytes:
    """Raises OSError, ValueError, zlib.error."""
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    data = stream.decompress(file.read(most_bytes), most_bytes)
    if stream.unconsumed_tail:
        raise ValueError(f"holds more than {most_bytes >> 20} MiB; tar -xzf reads it")
    if not stream.eof:
        raise ValueError("ends too early")
    if stream.unused_data:
        raise ValueError("goes on after its end")
    return data


def _members(tar: bytes, folder: str) -> Iterator[tuple[str, str]]:
    """Raises ValueError, tarfile.TarError."""
    before = set()
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for member in archive:
            name = member.name.removeprefix(f"{folder}/")
            content = archive.extractfile(member) if member.isreg() and name != member.name else None
            if content is None or name in before:
                raise ValueError(f"has {member.name!r:.80}, which no trial has")
            before.add(name)
            yield name, content.read().decode()
