# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all, and are still there after a power cut."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from linewatt.errors import InvalidInput


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and have its contents on disk; its folder is still to be synced. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Have on disk which files a folder has. Raises OSError."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Have on disk what somebody else wrote into a file. Raises OSError."""
    _sync(path, os.O_RDONLY)


def _sync(path: Path, how: int) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Have a file with this data: all of it, or the path stays as it was. Raises OSError.

    ``mode``: who may read it, where that is not for the umask to say.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_synced(partial, data)
        if mode is not None:
            partial.chmod(mode)
        partial.replace(path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def whole_folder(path: Path, *, shared: bool = False) -> Iterator[Path]:
    """A folder to write files into, each synced, which gets its name at the end: with all of them, or never.

    What a kill left of an earlier attempt goes first; not where others may make it now (``shared``). Raises
    OSError: also where its name is taken.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp" if shared else f".{path.name}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        yield partial
        sync_folder(partial)
        partial.rename(path)
        sync_folder(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Have a folder and those above it; what is new is on disk. Raises OSError."""
    if path.is_dir():
        return
    if path.exists():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    make_folder(path.parent)
    path.mkdir(mode, exist_ok=True)
    sync_folder(path.parent)


def can_be_made(name: str, path: Path) -> None:
    """See that a directory can be written in, or be made; ``name`` is what asks. Raises InvalidInput."""
    import tempfile

    existing = path
    while not existing.exists() and existing != existing.parent:
        if existing.is_symlink():
            raise InvalidInput(
                f"{name} {path}: {existing} is a link to {existing.readlink()}, which does not exist; make "
                "that directory, or name another place"
            )
        existing = existing.parent
    if not existing.is_dir():
        raise InvalidInput(f"{name} {path}: {existing} is not a directory; name another place")
    try:
        handle, probe = tempfile.mkstemp(
            dir=existing, prefix=".linewatt-"
        )  # root may write in /proc and cannot
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why, advice = ("the disk is full", "make room, or name") if full else ("", "name")
        reason = f"nothing can be written in {existing}{why and ': '}{why}; {advice} another place"
        raise InvalidInput(f"{name} {path}: {reason}") from error
    os.close(handle)
    Path(probe).unlink()
