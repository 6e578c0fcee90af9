# SPDX-License-Identifier: Apache-2.0
"""One restore at a time for each state directory: a lock file there names the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from linewatt.engine.undo.host_lock import Holder
from linewatt.errors import ChangeError, JournalError
from linewatt.foreign import shortened

_NAME = "restore.lock"
_LONGEST_BYTES = 400


class RestoreAtWork(ChangeError):
    """Another restore, ``at_work``, holds the lock: its process and user, and since when."""

    def __init__(self, state: Path, at_work: str) -> None:
        super().__init__(
            f"another restore is at work ({at_work}); wait for its end, or use --wait", where=state
        )
        self.at_work = at_work


@contextmanager
def restore_lock(state: Path, holder: Holder) -> Iterator[None]:
    """Hold the lock of a state directory. Raises RestoreAtWork, JournalError."""
    path = state / _NAME
    handle = _locked(path)
    try:
        text = f"process {os.getpid()} of {holder.user}@{holder.controller}, since {holder.since}\n"
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, text.encode(), 0)
        except OSError as error:
            raise _unusable(path, error) from error
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _locked(path: Path) -> int:
    """The lock file, locked, and still there under its name."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.lstat()):
                return handle
        except FileNotFoundError:
            pass  # its former holder removed it meanwhile
        except BlockingIOError as error:
            holder = shortened(os.pread(handle, _LONGEST_BYTES, 0).decode(errors="replace").strip())
            os.close(handle)
            raise RestoreAtWork(path.parent, holder or "just started") from error
        except OSError as error:
            os.close(handle)
            raise _unusable(path, error) from error
        os.close(handle)


def _unusable(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"{path}: the lock of restore cannot be taken: {error.strerror}; make the state directory writable "
        "for this user, then: linewatt restore"
    )
