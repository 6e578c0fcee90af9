# SPDX-License-Identifier: Apache-2.0
"""An FTP user (RFC 959, 2428, 3659): binary, passive; its data goes nowhere and comes from memory.

The control connection is ftplib's. The data path is our own, because it is the instrument: what is got goes
into one block that is used again and again, or is dropped by the kernel where nobody looks at it; what is put
comes from a file of memory by sendfile(2). Both are counted at the socket.
"""

from __future__ import annotations

import ftplib
import os
import re
import socket
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from linewatt.errors import InvalidInput
from linewatt.features.users.worker import content
from linewatt.features.users.worker.base import (
    BLOCK_BYTES,
    Action,
    ActionFailed,
    ByteCount,
    Failure,
    RemoteFile,
    Stopped,
    Transfer,
)
from linewatt.features.users.worker.job import Discard, Limits, Target

SEND_BYTES = 8 * 1024 * 1024
"""at most this much by one call, so that a put notices that its time is over"""
_GONE = (EOFError, OSError, ftplib.Error)
_LAST_WORD_S = 2.0
"""how long a server that broke a transfer off may take to say why"""


@dataclass(slots=True)
class Surroundings:
    """What a user shares with others: the memory file, limits, when all is over, and how it waits.

    ``until_s`` is when transfers are cut, on ``time.monotonic``'s line; who ends users early brings it
    forward. ``source`` may be missing where nothing is put. ``wait_writable(descriptor, limit_s)`` raises
    TimeoutError. ``came_bytes`` has what first came of each file whose size neither the job nor the server
    says: files of a load stay as they are.
    """

    source: content.MemoryFile | None
    limits: Limits
    until_s: float
    wait_writable: Callable[[int, float], None]
    discard: Discard = "kernel"
    came_bytes: dict[str, int] = field(default_factory=dict)


class FtpUser:
    """One user with one control connection, in one thread; the file it puts is its own.

    What it does raises ActionFailed, transfers raise Stopped too, and nothing waits without a limit.
    """

    def __init__(self, target: Target, put_path: str, counted: ByteCount, around: Surroundings) -> None:
        self._target = target
        self._put_path = put_path
        self._counted = counted
        self._around = around
        self._block = bytearray(BLOCK_BYTES)
        self._control: ftplib.FTP | None = None
        self._written_bytes: int | None = None
        self._may_exist = False

    def login(self) -> None:
        target, limits = self._target, self._around.limits
        self.drop()
        family = socket.AF_INET6 if target.family == "ipv6" else socket.AF_INET
        control = ftplib.FTP(timeout=limits.connect_s)  # noqa: S321 (FTP is what is measured)
        self._control = control
        try:
            address = socket.getaddrinfo(target.host, target.port, family, socket.SOCK_STREAM)[0][4]
            control.connect(str(address[0]), target.port)
        except ftplib.Error as error:
            raise self._refused(error, "login") from error
        except (OSError, EOFError) as error:
            raise self._failed(
                Failure.UNREACHABLE, "login", f"no connection: {_error_text(error)}"
            ) from error
        _set_limit(control, limits.reply_s)
        self._send_command("login", lambda: control.login(target.user, target.password))
        self._send_command("login", lambda: control.voidcmd("TYPE I"))

    def get(self, file: RemoteFile, *, check: bool) -> Transfer:
        began_s = time.monotonic()
        with self._data("get") as data:
            promised = self._begin("get", f"RETR {file.path}")
            try:
                count, first_s, crc = self._receive(data, check=check)
            except (TimeoutError, OSError) as error:
                raise self._broken(data, "get", error) from error
        self._end("get", file, count, promised)
        if check and file.crc32 is not None and crc != file.crc32:
            raise self._failed(
                Failure.CHECKSUM, "get", f"{file.path}: CRC-32 {crc:08x} in place of {file.crc32:08x}"
            )
        return Transfer(
            count,
            (first_s or time.monotonic()) - began_s,
            time.monotonic() - began_s,
            check and file.crc32 is not None,
        )

    def put(self, size_bytes: int) -> Transfer:
        """Write the user's one file anew."""
        began_s = time.monotonic()
        self._written_bytes = None
        with self._data("put") as data:
            self._begin("put", f"STOR {self._put_path}")
            self._may_exist = True
            first_s = time.monotonic()
            try:
                self._send(data, size_bytes)
                data.shutdown(socket.SHUT_WR)
            except (TimeoutError, OSError) as error:
                raise self._broken(data, "put", error) from error
        self._send_command("put", self._connected("put").voidresp)
        total_s = time.monotonic() - began_s
        stored_bytes = self._size("put", self._put_path)
        if stored_bytes is not None and (wrong := size_failure(stored_bytes, size_bytes)):
            raise self._failed(
                wrong, "put", f"{self._put_path}: {size_bytes} bytes sent, {stored_bytes} are there"
            )
        self._written_bytes = size_bytes
        return Transfer(size_bytes, first_s - began_s, total_s)

    def written(self) -> RemoteFile | None:
        """The file that the last put left, to be read back; ``None`` without one."""
        size = self._written_bytes
        return None if size is None else RemoteFile(self._put_path, size, content.crc32(size))

    def leave(self) -> None:
        """Remove what was put and log out. Raises ActionFailed where a file may be left."""
        if self._may_exist:
            if self._control is None:
                self.login()
            try:
                self._send_command("put", lambda: self._connected("put").delete(self._put_path))
            except ActionFailed as error:
                if error.failure is not Failure.REFUSED:  # 550: it never came to be
                    raise
            self._may_exist, self._written_bytes = False, None
        if self._control is not None:
            with suppress(*_GONE):
                _set_limit(self._control, _LAST_WORD_S)
                self._control.quit()
        self.drop()

    def drop(self) -> None:
        """Close what is open without a word to the server; never fails."""
        control, self._control = self._control, None
        if control is not None:
            with suppress(*_GONE):
                control.close()

    # --- the data connection ---------------------------------------------------------------------------

    def _data(self, action: Action) -> socket.socket:
        """A connection to the passive port, always at the server's own address, whatever PASV says."""
        control = self._connected(action)
        if control.sock is None:
            raise self._failed(Failure.CONNECTION_LOST, action, "not connected")
        try:
            peer = control.sock.getpeername()  # raises where the connection was reset meanwhile
            port = ftplib.parse229(control.sendcmd("EPSV"), peer)[1]  # noqa: S321
        except ftplib.error_perm as error:
            if str(error)[:3] not in {"500", "501", "502", "522"} or self._target.family == "ipv6":
                raise self._refused(error, action) from error
            reply = self._send_command(action, lambda: control.sendcmd("PASV"))
            port = ftplib.parse227(reply)[1]  # noqa: S321
        except (ftplib.Error, OSError, EOFError) as error:
            raise self._lost(error, action) from error
        try:
            data = socket.create_connection((peer[0], port), self._around.limits.connect_s)
        except OSError as error:
            raise self._no_data(port, action, error) from error
        data.settimeout(self._around.limits.stall_s)
        return data

    def _no_data(self, port: int, action: Action, error: OSError) -> ActionFailed:
        """A blocked port, or a server that has just gone: then the control connection has gone with it."""
        try:
            _set_limit(self._connected(action), _LAST_WORD_S)
            self._connected(action).voidcmd("NOOP")
        except _GONE as gone:
            return self._lost(gone, action)
        return self._failed(
            Failure.PASSIVE_PORT_BLOCKED, action, f"no data connection to port {port}: {_error_text(error)}"
        )

    def _begin(self, action: Action, command: str) -> int | None:
        """The bytes that the server promises with its 150; ``None`` where it does not say."""
        reply = self._send_command(action, lambda: self._connected(action).sendcmd(command))
        if reply[:1] != "1":
            raise self._failed(Failure.REFUSED, action, f"{command} was answered with {reply!r}")
        return ftplib.parse150(reply) if reply[:3] == "150" else None  # noqa: S321

    def _receive(self, data: socket.socket, *, check: bool) -> tuple[int, float | None, int]:
        """Bytes, when the first came, and their CRC-32 (0 uncounted), until the server ends."""
        block, counted, around = memoryview(self._block), self._counted, self._around
        # tcp(7): MSG_TRUNC discards what is received in place of copying it
        flags = 0 if check or around.discard == "copy" else socket.MSG_TRUNC
        count, first_s, crc = 0, None, 0
        while got := data.recv_into(block, BLOCK_BYTES, flags):
            first_s = first_s or time.monotonic()
            count += got
            counted.received_bytes += got
            if check:
                crc = zlib.crc32(block[:got], crc)
            if time.monotonic() > around.until_s:
                raise Stopped("the time was over")
        return count, first_s, crc

    def _send(self, data: socket.socket, size_bytes: int) -> None:
        around, counted = self._around, self._counted
        if around.source is None:
            raise InvalidInput("users: no file to put; give the users a memory file")
        target, source, at = data.fileno(), around.source.descriptor, 0
        while at < size_bytes:
            offset = at % content.PERIOD_BYTES
            piece_bytes = min(size_bytes - at, content.PERIOD_BYTES - offset, SEND_BYTES)
            try:
                sent = os.sendfile(target, source, offset, piece_bytes)
            except BlockingIOError:
                around.wait_writable(target, around.limits.stall_s)
                continue
            at += sent
            counted.sent_bytes += sent
            if at < size_bytes and time.monotonic() > around.until_s:
                raise Stopped("the time was over")

    # --- what went wrong -------------------------------------------------------------------------------

    def _end(self, action: Action, file: RemoteFile, count: int, promised: int | None) -> None:
        """The last reply of a get, and whether all came. A server may well say 226 after half a file."""
        expected = promised if file.size_bytes is None else file.size_bytes
        try:
            self._connected(action).voidresp()
        except ftplib.Error as error:
            # The connection ended in order, and too early: it is the file that is short.
            if expected is not None and count < expected:
                raise self._wrong_size(file, count, expected, str(error)) from error
            raise self._refused(error, action) from error
        except (OSError, EOFError) as error:
            raise self._lost(error, action) from error
        if expected is None:
            expected = self._size(action, file.path)
        for expected_bytes in (promised, expected):
            if expected_bytes is not None and count != expected_bytes:
                raise self._wrong_size(file, count, expected_bytes, "the server says that it is complete")
        if expected is None and promised is None:
            before_bytes = self._around.came_bytes.setdefault(file.path, count)
            if count != before_bytes:
                reply = "so many came when it was first got, and the server does not say its size"
                raise self._wrong_size(file, count, before_bytes, reply)

    def _wrong_size(self, file: RemoteFile, count: int, expected: int, reply: str) -> ActionFailed:
        failure = size_failure(count, expected) or Failure.FILE_SHORT
        return self._failed(failure, "get", f"{file.path}: {count} bytes of {expected} came; {reply}")

    def _broken(self, data: socket.socket, action: Action, error: OSError) -> ActionFailed:
        """A data connection that failed: the server's last word says more than the socket's error."""
        data.close()
        if isinstance(error, TimeoutError):
            limit_s = self._around.limits.stall_s
            return self._failed(Failure.STALLED, action, f"no byte passed for {limit_s:g} s")
        control = self._connected(action)
        _set_limit(control, _LAST_WORD_S)
        try:
            control.voidresp()
        except ftplib.Error as said:
            return self._refused(said, action)
        except (OSError, EOFError) as gone:
            return self._lost(gone, action)
        finally:
            _set_limit(control, self._around.limits.reply_s)
        return self._failed(
            Failure.CONNECTION_LOST, action, f"in the middle of a transfer: {_error_text(error)}"
        )

    def _send_command(self, action: Action, ask: Callable[[], str]) -> str:
        try:
            return ask()
        except ftplib.Error as error:
            raise self._refused(error, action) from error
        except (OSError, EOFError) as error:
            raise self._lost(error, action) from error

    def _size(self, action: Action, path: str) -> int | None:
        """What SIZE says (RFC 3659); ``None`` where the server does not know the command."""
        try:
            reply = self._connected(action).sendcmd(f"SIZE {path}")
        except ftplib.error_perm as error:
            if str(error)[:3] in {"500", "502", "504"}:
                return None
            raise self._refused(error, action) from error
        except (ftplib.Error, OSError, EOFError) as error:
            raise self._lost(error, action) from error
        return int(reply[4:]) if reply[:3] == "213" and reply[4:].strip().isdigit() else None

    def _connected(self, action: Action) -> ftplib.FTP:
        if self._control is None:
            raise self._failed(Failure.CONNECTION_LOST, action, "not logged in")
        return self._control

    def _refused(self, error: ftplib.Error, action: Action) -> ActionFailed:
        reply = " ".join(str(error).split())
        return self._failed(failure_of(reply, action), action, f"the server says {reply!r}")

    def _lost(self, error: BaseException, action: Action) -> ActionFailed:
        if isinstance(error, ftplib.Error):
            return self._refused(error, action)
        if isinstance(error, TimeoutError):
            limit_s = self._around.limits.reply_s
            return self._failed(Failure.STALLED, action, f"no reply was read within {limit_s:g} s")
        return self._failed(Failure.CONNECTION_LOST, action, f"control connection: {_error_text(error)}")

    def _failed(self, failure: Failure, action: Action, what: str) -> ActionFailed:
        where = f"{self._target.host}:{self._target.port}"
        return ActionFailed(failure, f"{where}: {action}: {failure}: {what}; {ADVICE[failure]}")


def _set_limit(control: ftplib.FTP, limit_s: float) -> None:
    if control.sock is not None:
        control.sock.settimeout(limit_s)


def _error_text(error: BaseException) -> str:
    return str(error) or type(error).__name__


_TOO_MANY = re.compile(
    r"too many|maximum number|user limit|connections? limit|max(imum)? clients", re.IGNORECASE
)
_NO_SPACE = re.compile(r"no space|disk full|quota|insufficient storage|writing to local file", re.IGNORECASE)
_DIED = re.compile(r"^500 OOPS: (child died|priv_sock_\w+)")
"""what one of the two processes of a vsftpd 3.0.3 session says when the other one is gone"""
_NOT_ALLOWED = re.compile(r"permission|denied|not allowed", re.IGNORECASE)

_BY_CODE = {
    425: Failure.PASSIVE_PORT_BLOCKED,
    426: Failure.CONNECTION_LOST,
    430: Failure.WRONG_CREDENTIALS,
    452: Failure.DISK_FULL,
    530: Failure.WRONG_CREDENTIALS,
    532: Failure.WRONG_CREDENTIALS,
    552: Failure.DISK_FULL,
}

ADVICE = {
    Failure.WRONG_CREDENTIALS: "check user and password",
    Failure.SERVER_FULL: "raise the server's limits of clients, or have fewer users",
    Failure.DISK_FULL: "make room where the server puts files, or put smaller ones",
    Failure.UNREACHABLE: "check address, port, and that the server runs",
    Failure.PASSIVE_PORT_BLOCKED: "open the server's passive ports to the clients",
    Failure.CONNECTION_LOST: "see the server's log and whether it was restarted",
    Failure.STALLED: "see whether the server or the way to it is overloaded",
    Failure.FILE_SHORT: "see whether the file changed or was cut on the server",
    Failure.FILE_LONG: "see whether the file changed on the server",
    Failure.FILE_MISSING: "make the files of the load on the server",
    Failure.CHECKSUM: "compare the file with its source; something on the way changes data",
    Failure.REFUSED: "see what the server's configuration allows",
}


def failure_of(reply: str, action: Action) -> Failure:
    """What a reply of 4xx or 5xx to a part of ``action`` means. Total: any text has an answer."""
    code = int(reply[:3]) if re.match(r"[0-9]{3}", reply) else 0
    if code in (421, 530) and _TOO_MANY.search(reply):
        return Failure.SERVER_FULL
    if code == 421:  # RFC 959: "service not available, closing control connection"
        return Failure.SERVER_FULL if action == "login" else Failure.CONNECTION_LOST
    if 400 <= code < 600 and action == "put" and _NO_SPACE.search(reply):
        return Failure.DISK_FULL
    if code == 550 and action == "get" and not _NOT_ALLOWED.search(reply):
        return Failure.FILE_MISSING
    if _DIED.search(reply):
        return Failure.CONNECTION_LOST
    return _BY_CODE.get(code, Failure.REFUSED)


def size_failure(transferred_bytes: int, promised_bytes: int) -> Failure | None:
    """Whether a file is shorter or longer than promised."""
    if transferred_bytes == promised_bytes:
        return None
    return Failure.FILE_SHORT if transferred_bytes < promised_bytes else Failure.FILE_LONG
