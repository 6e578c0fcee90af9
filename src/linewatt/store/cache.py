# SPDX-License-Identifier: Apache-2.0
"""What was made of a result, kept for the next time it is asked for.

It stands in the user's own cache (``$XDG_CACHE_HOME``, else ``~/.cache``), a file a result, not beside it: a
result never changes once written, may be read-only, and may be somebody else's, whose word on it is not
taken. What is kept counts only while every file that it was made of is as it was (name, size, times, inode)
and the program is the same; else it is made again. Where it cannot be kept, or is damaged, it is made each
time.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
FOLDER = "linewatt-results"
SETTLED_S = 2.0
"""A file that changed so shortly ago may change again without its times showing it: clocks of file systems
stand still for milliseconds, on some for two seconds."""
LARGE, LARGE_SETTLED_S = 500, 0.02
"""A result with so many files is read for seconds, so what is made of it at the end of its run is kept, too:
where the clock of the file system tells fractions of a second, it stands still for 10 ms at most."""
OLD_S = 90 * 86_400.0
_MOST_BYTES = 64 << 20


def cached_of_result(result: Path, kind: str, shape: type[T], make: Callable[[], T]) -> T:
    """What is kept of a result under the name ``kind``, or is made of it now and kept from then on."""
    root, name = os.path.split(result)
    # the parent without links: of the result itself it is known that it is none
    state, file = state_of_result(result), _file(f"{_resolved(root)}/{name}\0{kind}")
    if state is None or file is None:
        return make()
    adapter: TypeAdapter[T] = _adapter(cast(Any, shape))  # a type, which mypy takes for unhashable
    head = f"{kind} {_program()} {state}"
    stored = _read(file, head)
    if stored is not None:
        with suppress(ValidationError):
            return adapter.validate_json(stored)
    value = make()
    if state_of_result(result) == state:
        _keep(file, head, adapter.dump_json(value))
    return value


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def cached_bytes(name: str, version: str, make: Callable[[], bytes]) -> bytes:
    """What ``make`` gives, made once for each version of it: of no result, but as long to make."""
    file, head = _file(name), f"{name} {version}"
    if file is None:
        return make()
    content = _read(file, head)
    if content is None:
        content = make()
        _keep(file, head, content)
    return content


def _file(key: str) -> str | None:
    folder = cache_folder()
    return None if folder is None else f"{folder}/{hashlib.sha256(os.fsencode(key)).hexdigest()[:32]}"


@cache
def _resolved(path: str) -> Path:
    return Path(path).resolve()


def _read(file: str, head: str) -> bytes | None:
    """What was kept under this head; ``None`` where it is another, damaged, or may be another user's."""
    try:
        with open(file, "rb", buffering=0) as handle:  # noqa: PTH123  thousands of them
            seen = os.fstat(handle.fileno())
            if not _is_ours(seen, os.stat(os.path.dirname(file))):  # noqa: PTH116, PTH120
                return None
            size = min(seen.st_size, _MOST_BYTES)  # room for what it may have takes longer than reading it
            first, _, content = handle.read(size).partition(b"\n")
    except OSError:
        return None
    return content if first == _line(head, content) else None


def _line(head: str, content: bytes) -> bytes:
    return f"{head} {hashlib.sha256(content).hexdigest()}".encode()


def _keep(path: str, head: str, content: bytes) -> None:
    """Have it there for the next time, whole or not at all; it need not outlive a power cut."""
    file = Path(path)
    partial = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.write_bytes(_line(head, content) + b"\n" + content)
        partial.replace(file)
        _forget_old(file.parent)
    except OSError:
        with suppress(OSError):
            partial.unlink()


@cache
def _forget_old(cache: Path) -> None:
    """Remove what was made of results that were last others long ago. Raises OSError."""
    for file in cache.iterdir():
        if file.stat().st_mtime < time.time() - OLD_S:
            file.unlink()


def _is_ours(file: os.stat_result, folder: os.stat_result) -> bool:
    """Whether nobody else can have written a file."""
    return (
        stat.S_ISREG(file.st_mode)
        and all(seen.st_uid == os.geteuid() for seen in (file, folder))
        and not folder.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    )


def cache_folder() -> Path | None:
    """The user's cache; None without a home directory. A relative XDG_CACHE_HOME is ignored."""
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or "")
    try:
        return (cache_home if cache_home.is_absolute() else Path.home() / ".cache") / FOLDER
    except RuntimeError:
        return None


def state_of_result(result: Path) -> str | None:
    """A digest of a result's files and their change times; None where these are not certain.

    Of trials the documents count: samples and what tools wrote are not what a list is made of.
    """
    root = str(result)
    try:
        paths = _files(root)
        seen = list(map(os.stat, paths))
    except OSError:
        return None
    last_status_ns = max(map(_status_changed_ns, seen))
    newest_ns = max(max(map(_changed_ns, seen)), last_status_ns)
    has_fine_clock = last_status_ns % 1_000_000_000 != 0
    settled_s = LARGE_SETTLED_S if len(seen) >= LARGE and has_fine_clock else SETTLED_S
    if newest_ns >= (time.time() - settled_s) * 1e9:
        return None
    names = "\0".join([path[len(root) :] for path in paths])
    digest = hashlib.sha256(os.fsencode(names))
    digest.update(struct.pack("QQQQqq" * len(seen), *chain.from_iterable(map(_identity, seen))))
    return digest.hexdigest()


_changed_ns, _status_changed_ns = attrgetter("st_mtime_ns"), attrgetter("st_ctime_ns")
_identity = attrgetter("st_mode", "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def _files(folder: str) -> list[str]:
    """Paths of a result and all files below it, in a fixed order. Links raise OSError."""
    files, folders = [folder], list[str]()
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise OSError(f"{entry.path}: is a link")
            (folders if entry.is_dir() else files).append(entry.path)
    for path in folders:
        files += _trial_files(path) if path.endswith("/trials") else _files(path)
    return sorted(files)


def _trial_files(folder: str) -> list[str]:
    """A folder of trials, and of each its document, or what a crash left of it. Links raise OSError."""
    files = [folder]
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise OSError(f"{entry.path}: is a link")
            is_trial = entry.is_dir() and not entry.name.startswith(".")
            files.append(f"{entry.path}/trial.json" if is_trial else entry.path)
    return files


@cache
def _program() -> str:
    """Which linewatt this is: one of the same version may still make something else of a result."""
    import linewatt

    digest = hashlib.sha256()
    for base, folders, names in os.walk(os.path.dirname(linewatt.__file__)):  # noqa: PTH120
        folders[:] = sorted(folder for folder in folders if folder != "__pycache__")
        for name in sorted(names):
            if name.endswith(".py"):
                seen = os.stat(f"{base}/{name}")  # noqa: PTH116  hundreds
                digest.update(f"{name} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return digest.hexdigest()
