# SPDX-License-Identifier: Apache-2.0
"""Opening files of a result, which others may have made: it waits for nobody, and reading has an end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

MAX_DOCUMENT_BYTES = 32 << 20
"""of a document; the largest that linewatt writes, a manifest of 96 hosts, has a few MB"""
MAX_FILE_BYTES = 1 << 30
"""of any file: of more nothing is unpacked"""
_HOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_stored(path: Path | str) -> BufferedReader:
    """A file of a result, opened. Raises OSError, also for a link, pipe, device, folder or huge file."""
    return os.fdopen(_opened(path, MAX_FILE_BYTES), "rb")


def stored_bytes(path: Path | str, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """What a file of a result has. Raises OSError, also where it has more than ``max_bytes``."""
    handle = _opened(path, max_bytes)
    try:
        return os.read(handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)


def _opened(path: Path | str, max_bytes: int) -> int:
    try:
        handle = os.open(path, _HOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link, and no file of a result is one") from error
        raise
    opened = os.fstat(handle)
    if stat.S_ISREG(opened.st_mode) and opened.st_size <= max_bytes:
        return handle
    os.close(handle)
    if stat.S_ISREG(opened.st_mode):
        raise OSError(errno.EFBIG, f"is larger than {max_bytes >> 20:,} MiB, which no such file is")
    raise OSError(errno.EINVAL, "is not a regular file")
