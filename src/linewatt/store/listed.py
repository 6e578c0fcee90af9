# SPDX-License-Identifier: Apache-2.0
"""Files of a result by name, for whoever may name anything: those that its checksums list, and no others.

A name is looked up in ``SHA256SUMS`` before it becomes a path, and a path is opened folder by folder without
following a link, so that nothing outside of the result is ever read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from linewatt.errors import StoreError
from linewatt.store import raw, sums

MOST_OPENED_BYTES = 256 << 20
"""of what is packed in one file, when a text in it is asked for"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a folder of a result has: ``name`` below the result, whether more is below it, its size."""

    name: str
    is_folder: bool
    bytes: int | None = None

    @property
    def title(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def is_pack(self) -> bool:
        """Whether it is a file that holds texts."""
        return self.is_folder and self.name.endswith(raw.SUFFIX)


def names(result: Path) -> list[str]:
    """Names of all files that may be read. Raises StoreError where there is no list of them."""
    found = [sums.NAME, *sums.read(result / sums.NAME)]
    for again in sorted(result.glob(f"derived/[0-9]*/{sums.NAME}")):
        prefix = again.parent.relative_to(result).as_posix()
        found += [f"{prefix}/{name}" for name in (sums.NAME, *sums.read(again))]
    return list(dict.fromkeys(found))


def entries(result: Path, folder: str) -> list[Entry]:
    """What stands in a folder (empty: the result), or in a packed file of it. Raises StoreError."""
    every = names(result)
    if folder in every and folder.endswith(raw.SUFFIX):
        return [Entry(f"{folder}/{name}", is_folder=False) for name in sorted(texts(result, folder))]
    prefix = f"{folder}/" if folder else ""
    below = sorted({prefix + name.removeprefix(prefix).split("/")[0] for name in _within(every, prefix)})
    if not below:
        raise StoreError(f"{folder}: the result has no such folder")
    return [_entry(result, name, every) for name in below]


def _within(every: Iterable[str], prefix: str) -> list[str]:
    return [name for name in every if name.startswith(prefix)]


def _entry(result: Path, name: str, every: list[str]) -> Entry:
    if name not in every:
        return Entry(name, is_folder=True)
    size = None
    with suppress(OSError):
        seen = os.lstat(result / name)
        size = seen.st_size if stat.S_ISREG(seen.st_mode) else None
    return Entry(name, name.endswith(raw.SUFFIX), size)


def opened(result: Path, name: str) -> tuple[BinaryIO, int]:
    """A listed file, opened, and its size. Raises StoreError."""
    if name not in names(result):
        raise StoreError(f"{name}: is none of the files of {result.name}")
    handles: list[int] = []
    try:
        *folders, last = name.split("/")
        handles.append(os.open(result, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        for one in folders:
            where = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            handles.append(os.open(one, where, dir_fd=handles[-1]))
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handles[-1])
        handles.append(file)
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            raise StoreError(f"{name}: is no regular file")
        return os.fdopen(handles.pop(), "rb"), seen.st_size
    except OSError as error:
        raise StoreError(f"{name}: cannot be read: {error.strerror}") from error
    finally:
        for handle in handles:
            os.close(handle)


def texts(result: Path, pack: str) -> dict[str, str]:
    """The texts in a listed packed file by name. Raises StoreError."""
    if not pack.endswith(raw.SUFFIX):
        raise StoreError(f"{pack}: is no file of packed texts")
    file, _ = opened(result, pack)
    with file:
        return raw.texts_in(file, pack, MOST_OPENED_BYTES)


def text(result: Path, name: str) -> str | None:
    """A text in a packed file, named as if that were a folder; None where no packed file is named so."""
    before, between, after = name.partition(f"{raw.SUFFIX}/")
    if not between:
        return None
    pack = before + raw.SUFFIX
    found = texts(result, pack).get(after)
    if found is None:
        raise StoreError(f"{name}: {pack} has no such text")
    return found
