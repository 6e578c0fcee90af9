# SPDX-License-Identifier: Apache-2.0
"""Checksums of what a result holds: ``SHA256SUMS``, which ``sha256sum -c`` reads as well.

A file is listed, on disk, before it is given its name: what is listed and not there was taken away, unless it
still stands under the name it was written with, as a crash leaves it. Where a name is listed twice the last
line counts: a trial that was deleted and run again. Results stored before there were checksums have none, and
what is made again by a later method (``derived/``) has a list of its own, so that it can be taken away.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from linewatt.errors import StoreError
from linewatt.store.stored_file import open_stored, stored_bytes

SUMS_FILE = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_LONGEST = 200
"""bytes of a file's name, with room for what it is called while it is written"""
_LONGEST_PATH = 1024
"""bytes of its path below the result"""
_PIECE = 8 << 10
"""more than a line"""
_MAX_BYTES = 256 << 20
"""lines of a million files"""
_lock = threading.Lock()


def sha256_of_data(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines(digests: Mapping[str, str]) -> bytes:
    """Relative name → checksum as the file has them."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode()


@contextmanager
def list_sums(result: Path, digests: Mapping[str, str]) -> Iterator[None]:
    """List files that are given their names within; not if that fails. Raises OSError."""
    path = result / SUMS_FILE
    with _lock:
        if not path.exists():  # stored by a linewatt that listed nothing
            yield
            return
        with path.open("r+b") as file:
            size = _end_of_file(file)
            file.truncate(size)
            file.seek(size)
            try:
                file.write(lines(digests))
                file.flush()
                os.fsync(file.fileno())
                yield
            except BaseException:
                file.truncate(size)
                raise


def _end_of_lines(data: bytes) -> int:
    """A line that a crash cut off was about a file that has no name yet."""
    return data.rfind(b"\n") + 1


def _end_of_file(file: BinaryIO) -> int:
    """Where the lines of a file end; of a long one only the last piece is read. Raises OSError."""
    size = file.seek(0, os.SEEK_END)
    for piece in (_PIECE, size):
        start = file.seek(max(0, size - piece))
        if end := _end_of_lines(file.read()):
            return start + end
    return 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A file of a result that is not as it was written."""

    kind: Literal["damaged", "missing", "foreign"]
    name: str
    why: str


def has_list(result: Path) -> bool:
    """Whether checksums were stored with the result; not of one that this user may not enter."""
    return os.path.exists(result / SUMS_FILE)  # noqa: PTH110  Path.exists() raises PermissionError


def damage(result: Path) -> Problem | None:
    """The first file that was stored and is not as it was written; what was added counts for nothing."""
    return next((problem for problem in problems(result) if problem.kind != "foreign"), None)


def listed_files_gone(result: Path) -> list[str]:
    """Names of files that were stored and are not there; none where no list says what was stored."""
    try:
        digests = read_sums(result / SUMS_FILE)
    except StoreError:
        return []
    return [name for name in digests if not (result / name).exists() and not _is_being_written(result, name)]


def problems(result: Path) -> Iterator[Problem]:
    """What is not as it was written, by name: of the result, and of what was made again from it."""
    derived = sorted(path.parent for path in result.glob(f"derived/[0-9]*/{SUMS_FILE}"))
    folders = [path.relative_to(result).as_posix() + "/" for path in derived]
    yield from _problems(result, "", folders)
    for folder, prefix in zip(derived, folders, strict=True):
        yield from _problems(folder, prefix, ())


def is_name(name: str) -> bool:
    """Whether a file below the result can be called so."""
    if "\0" in name or len(name.encode()) > _LONGEST_PATH:
        return False
    return all(part not in ("", "..") and len(part.encode()) <= _LONGEST for part in name.split("/"))


def _problems(folder: Path, prefix: str, others: Sequence[str]) -> Iterator[Problem]:
    try:
        digests = read_sums(folder / SUMS_FILE)
    except StoreError as error:
        yield Problem("damaged", prefix + SUMS_FILE, str(error))
        return
    present = {name for name in files(folder) if not name.startswith(tuple(others))}
    for name in sorted(digests.keys() | present):
        if name not in present:
            if not _is_being_written(folder, name):
                yield Problem("missing", prefix + name, "was stored and is not there")
        elif name not in digests:
            yield Problem("foreign", prefix + name, "was not stored by linewatt")
        elif (why := _differs(folder / name, digests[name])) is not None:
            yield Problem("damaged", prefix + name, why)


def files(folder: Path) -> Iterator[str]:
    """Names of all files below a folder, but those that are, or were, being written."""
    for base, folders, names in os.walk(folder):
        folders[:] = [child for child in folders if not _is_partial(child)]
        links = [child for child in folders if (Path(base) / child).is_symlink()]
        for name in (*names, *links):
            path = (Path(base) / name).relative_to(folder).as_posix()
            if path != SUMS_FILE and not _is_partial(name):
                yield path


def _is_partial(name: str) -> bool:
    return name.startswith(".") and (name.endswith(".tmp") or name.startswith(".writing-"))


def _is_being_written(folder: Path, name: str) -> bool:
    """Whether a crash left it under the name that files have until they are whole."""
    path = Path(name)
    for at, part in enumerate(path.parts):
        above, below = Path(*path.parts[:at]), Path(*path.parts[at + 1 :])
        escaped = glob.escape(part)
        patterns = [f".{escaped}.tmp", f".{escaped}.*.tmp", *((".writing-*",) if below == Path() else ())]
        for pattern in patterns:
            remainder = name.rpartition("/")[2] if pattern == ".writing-*" else below
            if any((partial / remainder).exists() for partial in (folder / above).glob(pattern)):
                return True
    return False


def _differs(path: Path, digest: str) -> str | None:
    try:
        with open_stored(path) as file:
            is_same = hashlib.file_digest(file, "sha256").hexdigest() == digest
        return None if is_same else "has another checksum than when it was stored"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def read_sums(path: Path) -> dict[str, str]:
    """Relative name → checksum. Raises StoreError naming file and line."""
    try:
        data = stored_bytes(path, _MAX_BYTES)
        text = data[: _end_of_lines(data)].decode()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise StoreError(f"{path}: damaged: is not text") from error
    digests: dict[str, str] = {}
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        match = _LINE.fullmatch(line)
        if match is None or not is_name(match[2]):
            raise StoreError(f"{path}:{number}: damaged: is not a checksum and a name")
        digests[match[2]] = match[1]
    return digests
