# SPDX-License-Identifier: Apache-2.0
"""Files of a result by name, for whoever may name anything: those that its checksums list, and no others.

A name is looked up in ``SHA256SUMS`` before it becomes a path, and a path is opened folder by folder without
following a link, so that nothing outside of the result is ever read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from linewatt.errors import StoreError
from linewatt.store import RAW_SUFFIX, SUMS_FILE, raw_texts_in, read_sums

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
        return self.is_folder and self.name.endswith(RAW_SUFFIX)


def names(result: Path) -> list[str]:
    """Names of all files that may be read. Raises StoreError where there is no list of them."""
    listed_names = [SUMS_FILE, *read_sums(result / SUMS_FILE)]
    for again in sorted(result.glob(f"derived/[0-9]*/{SUMS_FILE}")):
        prefix = again.parent.relative_to(result).as_posix()
        listed_names += [f"{prefix}/{name}" for name in (SUMS_FILE, *read_sums(again))]
    return list(dict.fromkeys(listed_names))


def entries(result: Path, folder: str) -> list[Entry]:
    """Entries of a folder (empty: the result), or of a packed file. Raises StoreError."""
    listed_names = names(result)
    if folder in listed_names and folder.endswith(RAW_SUFFIX):
        return [Entry(f"{folder}/{name}", is_folder=False) for name in sorted(texts(result, folder))]
    prefix = f"{folder}/" if folder else ""
    below = [name.removeprefix(prefix) for name in listed_names if name.startswith(prefix)]
    titles = sorted({name.split("/")[0] for name in below})
    if not titles:
        raise StoreError(f"{folder}: the result has no such folder")
    files = {name for name in below if "/" not in name}
    with _entered(result, folder) as handle:
        return [
            Entry(prefix + title, title.endswith(RAW_SUFFIX), _size(handle, title))
            if title in files
            else Entry(prefix + title, is_folder=True)
            for title in titles
        ]


def _size(folder: int, title: str) -> int | None:
    """Bytes of a regular file; None for anything else, and where there is none."""
    with suppress(OSError):
        seen = os.stat(title, dir_fd=folder, follow_symlinks=False)
        return seen.st_size if stat.S_ISREG(seen.st_mode) else None
    return None


@contextmanager
def _entered(result: Path, folder: str) -> Iterator[int]:
    """A descriptor of a folder of a result, opened without following links. Raises StoreError."""
    where = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    handles: list[int] = []
    try:
        handles.append(os.open(result, where))
        for part in folder.split("/") if folder else []:
            handles.append(os.open(part, where, dir_fd=handles[-1]))
        yield handles[-1]
    except OSError as error:
        raise StoreError(f"{folder or result.name}: cannot be read: {error.strerror}") from error
    finally:
        for handle in handles:
            os.close(handle)


def opened(result: Path, name: str) -> tuple[BinaryIO, int]:
    """A listed file, opened, and its size. Raises StoreError."""
    if name not in names(result):
        raise StoreError(f"{name}: is not a file of {result.name}")
    folder, _, title = name.rpartition("/")
    with _entered(result, folder) as inside:
        handle = os.open(title, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inside)
    seen = os.fstat(handle)
    if not stat.S_ISREG(seen.st_mode):
        os.close(handle)
        raise StoreError(f"{name}: is not a regular file")
    return os.fdopen(handle, "rb"), seen.st_size


def texts(result: Path, pack: str) -> dict[str, str]:
    """The texts in a listed packed file by name. Raises StoreError."""
    if not pack.endswith(RAW_SUFFIX):
        raise StoreError(f"{pack}: is not a file of packed texts")
    file, _ = opened(result, pack)
    with file:
        return raw_texts_in(file, pack, MOST_OPENED_BYTES)


def text(result: Path, name: str) -> str | None:
    """A text in a packed file, named as if that were a folder; None where no packed file is named so."""
    before, between, after = name.partition(f"{RAW_SUFFIX}/")
    if not between:
        return None
    pack = before + RAW_SUFFIX
    content = texts(result, pack).get(after)
    if content is None:
        raise StoreError(f"{name}: {pack} has no such text")
    return content
