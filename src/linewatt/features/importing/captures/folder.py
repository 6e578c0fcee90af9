# SPDX-License-Identifier: Apache-2.0
"""The files of an import: within limits, no link followed, none left out unless it is asked for."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from linewatt.errors import FileRefused, InvalidInput
from linewatt.foreign import MIB, entered, one_line

MOST_FILES = 2000
MOST_FILE_BYTES = 64 * MIB
MOST_BYTES = 512 * MIB
MOST_FOLDERS = 500
MOST_DEPTH = 4
BEGINNING_BYTES = 16 << 10
MAGIC_BYTES = 16
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """One file: its name below the folder, what is in it (unpacked if it was gzip), and what it was as it
    lay there. ``magic`` are the first bytes of what is in it."""

    name: str
    text: str
    size_bytes: int
    sha256: str
    magic: bytes = b""
    modified_s: float = 0.0
    """when it was last changed, in Unix seconds"""

    @property
    def folder(self) -> str | None:
        """The first folder on the way to it: the host it is of; ``None``: it lies beside the others."""
        first, slash, _ = self.name.partition("/")
        return first if slash else None


def read_files(path: Path, skip: Collection[str] = ()) -> tuple[CaptureFile, ...]:
    """The files of a folder, by name, or the one that ``path`` is. Hidden ones are no captures.

    ``skip`` are patterns of names to leave out. Raises InvalidInput, one line naming the file.
    """
    if not path.is_dir():
        return (_read(path, path.name, MOST_BYTES, follow=True),)
    files: list[CaptureFile] = []
    bytes_left = MOST_BYTES
    for name in sorted(_names(path, skip)):
        file = _read(path / name, name, bytes_left, follow=False)
        bytes_left -= max(file.size_bytes, len(file.text))
        files.append(file)
    if not files:
        raise InvalidInput(
            f"{one_line(str(path))}: no file to import in it; docs/import.md says what is read"
        )
    return tuple(files)


def beginning_of(path: Path) -> bytes:
    """The first bytes of a file that somebody named; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(BEGINNING_BYTES)
    except OSError:
        return b""


def _names(root: Path, skip: Collection[str]) -> Iterator[str]:
    """Names of files below ``root``. Raises InvalidInput for what is no file, and for too many."""
    waiting = [("", 1)]
    files = folders = 0
    while waiting:
        below, depth = waiting.pop()
        folders += 1
        for entry in _entries(root, below):
            name = f"{below}{entry.name}"
            if entry.name.startswith(".") or any(fnmatchcase(name, pattern) for pattern in skip):
                continue
            _refuse_odd(root, name, entry)
            if entry.is_dir(follow_symlinks=False):
                if depth >= MOST_DEPTH or folders + len(waiting) >= MOST_FOLDERS:
                    raise InvalidInput(
                        f"{_shown(root, name)}: folders go too deep, or are too many; name one of them"
                    )
                waiting.append((f"{name}/", depth + 1))
                continue
            files += 1
            if files > MOST_FILES:
                raise InvalidInput(f"{one_line(str(root))}: more than {MOST_FILES} files; import it in parts")
            yield name


def _entries(root: Path, below: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / below) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise InvalidInput(f"{_shown(root, below)}: cannot be read: {error.strerror}") from None


def _refuse_odd(root: Path, name: str, entry: os.DirEntry[str]) -> None:
    if not name.isprintable():
        raise FileRefused(f"{_shown(root, name)}: a name that cannot be shown", "rename it")
    if entry.is_symlink():
        raise FileRefused(f"{_shown(root, name)}: is a symbolic link, and none is followed", "copy the file")


def _read(path: Path, name: str, bytes_left: int, *, follow: bool) -> CaptureFile:
    """Raises FileRefused."""
    shown = one_line(str(path))
    try:
        data = _bytes(path, shown, min(bytes_left, MOST_FILE_BYTES), follow=follow)
        modified_s = path.stat().st_mtime
    except OSError as error:
        why = "is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise FileRefused(f"{shown}: cannot be read: {why}") from None
    digest = hashlib.sha256(data).hexdigest()
    unpacked = _unpacked(data, bytes_left, shown)
    return CaptureFile(
        name, entered(unpacked), len(data), digest, unpacked[:MAGIC_BYTES], max(0.0, modified_s)
    )


def _bytes(path: Path, shown: str, most_bytes: int, *, follow: bool) -> bytes:
    """Raises OSError, FileRefused for what is no regular file, or larger."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    opened = os.open(path, flags)
    with open(opened, "rb") as file:  # noqa: PTH123  it is opened already
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise FileRefused(f"{shown}: is not a regular file")
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _too_large(shown, most_bytes)
    return data


def _unpacked(data: bytes, bytes_left: int, shown: str) -> bytes:
    """What a gzip file holds, if it is one. Raises FileRefused for one that is damaged, or holds too
    much."""
    if not data.startswith(GZIP):
        return data
    most_bytes = min(bytes_left, MOST_FILE_BYTES)
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        content = stream.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise FileRefused(f"{shown}: damaged: {error}") from None
    if len(content) > most_bytes:
        raise _too_large(shown, most_bytes)
    if not stream.eof or stream.unused_data:
        raise FileRefused(
            f"{shown}: damaged: its gzip data {'go on after their end' if stream.eof else 'end too early'}"
        )
    return content


def _too_large(shown: str, most_bytes: int) -> FileRefused:
    if most_bytes < MOST_FILE_BYTES:
        together = f"the files together are larger than {MOST_BYTES // MIB} MiB"
        return FileRefused(f"{shown}: {together}", "import them in parts")
    return FileRefused(f"{shown}: is larger than {MOST_FILE_BYTES // MIB} MiB, which no capture is")


def _shown(root: Path, name: str) -> str:
    return one_line(f"{root}/{name}")
