# SPDX-License-Identifier: Apache-2.0
"""Where runs can be watched: a Unix socket each, in a folder of its user's, named after the result.

A socket gets its name once it listens, so that one which refuses connections was left by a kill -9.
"""

from __future__ import annotations

import errno
import itertools
import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

from linewatt.durable import make_folder

FOLDER = "live"
SUFFIX = ".sock"
WAITING = 8
"""connections that wait to be accepted"""
_PEER = struct.Struct("3i")
_count = itertools.count()


def ids(state: Path) -> list[str]:
    """Results whose runs have left a socket, the oldest first; whether they still run shows in a look."""
    try:
        names = [one.name for one in (state / FOLDER).iterdir()]
    except OSError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX) and name[0] != ".")


def listened(state: Path) -> frozenset[str]:
    """Of these, the results whose runs can be watched now."""
    return frozenset(one for one in ids(state) if _answers(path_of(state, one)))


def path_of(state: Path, result_id: str) -> Path:
    """Where a run is to be watched. ``result_id``: one of :func:`ids`, or of a result that is there."""
    return state / FOLDER / f"{result_id}{SUFFIX}"


def listening(state: Path, result_id: str) -> socket.socket:
    """A socket that listens under its name. Raises OSError; FileExistsError where another one does."""
    folder = state / FOLDER
    make_folder(folder, 0o700)
    _refuse_open(folder)
    path = path_of(state, result_id)
    if _answers(path):
        raise FileExistsError(errno.EEXIST, "another process offers it", str(path))
    temporary = folder / f".{os.getpid()}-{next(_count)}"
    made = _unix()
    try:
        temporary.unlink(missing_ok=True)
        _bind(made, folder, temporary.name)
        temporary.chmod(0o600)
        made.listen(WAITING)
        temporary.rename(path)
    except OSError:
        made.close()
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return made


def connected(path: Path) -> socket.socket:
    """A connection to who listens there. Raises OSError; a socket that nobody listens at is removed.

    Only one of our own is connected to, through the file itself: an address has 107 bytes (unix(7)).
    """
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        about = os.fstat(handle)
        if not stat.S_ISSOCK(about.st_mode) or os.geteuid() not in (0, about.st_uid):
            raise PermissionError(errno.EPERM, "is no socket of this user", str(path))
        made = _unix()
        try:
            made.connect(f"/proc/self/fd/{handle}")
        except ConnectionRefusedError:
            made.close()
            with suppress(OSError):
                if path.lstat().st_ino == about.st_ino:
                    path.unlink()
            raise
        except OSError:
            made.close()
            raise
        return made
    finally:
        os.close(handle)


def peer(of: socket.socket) -> tuple[int, int]:
    """Process and user at the other end of a connection, as the kernel tells them. Raises OSError."""
    pid, uid, _ = _PEER.unpack(of.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return pid, uid


def is_ours(uid: int) -> bool:
    """Whether a user may watch and stop what we run: we ourselves, and root, who may do so anyway."""
    return uid in (0, os.geteuid())


def _unix() -> socket.socket:
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    return socket.socket(socket.AF_UNIX, kind)


def _answers(path: Path) -> bool:
    try:
        connected(path).close()
    except BlockingIOError:  # more wait already than it accepts
        return True
    except OSError:
        return False
    return True


def _bind(made: socket.socket, folder: Path, name: str) -> None:
    """Bind it in a folder whose path may be longer than an address."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        made.bind(f"/proc/self/fd/{handle}/{name}")
    finally:
        os.close(handle)


def _refuse_open(folder: Path) -> None:
    """Raises PermissionError for a folder that others may use, or that is not our own."""
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "is no folder that only its owner can use", str(folder))
