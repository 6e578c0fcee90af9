# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all, and are still there after a power cut."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and have its contents on disk; its folder is still to be synced. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Have on disk which files a folder has. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Have a file with this data: all of it, or the path stays as it was. Raises OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_synced(partial, data)
        partial.replace(path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Have a folder and those above it; what is new is on disk. Raises OSError."""
    if path.is_dir():
        return
    if path.exists():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    make_folder(path.parent)
    path.mkdir(mode, exist_ok=True)
    sync_folder(path.parent)
