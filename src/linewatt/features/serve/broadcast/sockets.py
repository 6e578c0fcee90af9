# SPDX-License-Identifier: Apache-2.0
"""Unix sockets of running campaigns, one per run, named after the result, in a private folder of the user.

A socket is renamed to its final name after it listens, so a socket that refuses connections is left over from
a killed run.
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
    """Ids of all results with a socket, sorted; the run may have ended."""
    try:
        names = [path.name for path in (state / FOLDER).iterdir()]
    except OSError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX) and name[0] != ".")


def watchable_ids(state: Path) -> frozenset[str]:
    """Ids of the runs that can be watched now."""
    return frozenset(result_id for result_id in ids(state) if _answers(path_of(state, result_id)))


def path_of(state: Path, result_id: str) -> Path:
    """The socket of a run. ``result_id``: from :func:`ids`, or of a stored result."""
    return state / FOLDER / f"{result_id}{SUFFIX}"


def listen(state: Path, result_id: str) -> socket.socket:
    """Open the listening socket of a run. Raises OSError; FileExistsError if another process listens."""
    folder = state / FOLDER
    make_folder(folder, 0o700)
    _check_private(folder)
    path = path_of(state, result_id)
    if _answers(path):
        raise FileExistsError(errno.EEXIST, "another process offers it", str(path))
    temporary = folder / f".{os.getpid()}-{next(_count)}"
    unix_socket = _new_socket()
    try:
        temporary.unlink(missing_ok=True)
        _bind(unix_socket, folder, temporary.name)
        temporary.chmod(0o600)
        unix_socket.listen(WAITING)
        temporary.rename(path)
    except OSError:
        unix_socket.close()
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return unix_socket


def connect(path: Path) -> socket.socket:
    """Connect to a socket. Raises OSError; a socket without a listener is removed.

    Only sockets of this user or root are accepted. The path goes through /proc/self/fd, because an address is
    limited to 107 bytes (unix(7)).
    """
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        about = os.fstat(handle)
        if not stat.S_ISSOCK(about.st_mode) or os.geteuid() not in (0, about.st_uid):
            raise PermissionError(errno.EPERM, "is not a socket of this user", str(path))
        unix_socket = _new_socket()
        try:
            unix_socket.connect(f"/proc/self/fd/{handle}")
        except ConnectionRefusedError:
            unix_socket.close()
            with suppress(OSError):
                if path.lstat().st_ino == about.st_ino:
                    path.unlink()
            raise
        except OSError:
            unix_socket.close()
            raise
        return unix_socket
    finally:
        os.close(handle)


def peer(of: socket.socket) -> tuple[int, int]:
    """Process id and user id of the peer, from the kernel. Raises OSError."""
    pid, uid, _ = _PEER.unpack(of.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return pid, uid


def is_ours(uid: int) -> bool:
    """Whether a user may watch and stop the run: the same user, or root."""
    return uid in (0, os.geteuid())


def _new_socket() -> socket.socket:
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    return socket.socket(socket.AF_UNIX, kind)


def _answers(path: Path) -> bool:
    try:
        connect(path).close()
    except BlockingIOError:  # its backlog is full
        return True
    except OSError:
        return False
    return True


def _bind(unix_socket: socket.socket, folder: Path, name: str) -> None:
    """Bind in a folder whose path may be longer than a socket address."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        unix_socket.bind(f"/proc/self/fd/{handle}/{name}")
    finally:
        os.close(handle)


def _check_private(folder: Path) -> None:
    """Raises PermissionError if the folder belongs to, or is open to, other users."""
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "is not a folder that only its owner can use", str(folder))
