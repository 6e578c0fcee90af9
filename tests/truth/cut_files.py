# SPDX-License-Identifier: Apache-2.0
"""A file server on loopback that delivers less than its files have, and one user that gets them.

It speaks as much of FTP (RFC 959, 2428) as a user of linewatt asks for.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from tests import users_in_threads

from linewatt.features.users.worker.base import ActionFailed, ByteCount, RemoteFile
from linewatt.features.users.worker.ftp import FtpUser, Surroundings
from linewatt.features.users.worker.job import Limits, Target

FILE_BYTES = 65_536
LIMIT_S = 10.0


class _Session(socketserver.StreamRequestHandler):
    """One control connection."""

    server: _Server

    def handle(self) -> None:
        self._say("220 ready")
        data: socket.socket | None = None
        while line := self.rfile.readline().decode().strip():
            command = line.partition(" ")[0].upper()
            if command == "EPSV":
                data = socket.create_server(("127.0.0.1", 0))
                data.settimeout(LIMIT_S)
                self._say(f"229 extended passive mode (|||{data.getsockname()[1]}|)")
            elif command == "RETR" and data is not None:
                with data, data.accept()[0] as connection:
                    if not self._send(connection):
                        return
            else:
                self._say(self._reply(command))

    def _send(self, connection: socket.socket) -> bool:
        """One file, or a part of it; whether the session goes on."""
        self.server.sent += 1
        is_cut = self.server.sent % self.server.cut_every == 0
        self._say(f"150 here it comes{f' ({FILE_BYTES} bytes)' if self.server.says_size else ''}")
        connection.sendall(bytes(FILE_BYTES // 4 if is_cut else FILE_BYTES))
        connection.shutdown(socket.SHUT_WR)
        if is_cut and self.server.ends == "closes":
            return False
        self._say("226 transfer complete")
        return True

    def _reply(self, command: str) -> str:
        if command == "SIZE" and not self.server.says_size:
            return "502 not implemented"
        return {"USER": "331 password", "PASS": "230 in", "SIZE": f"213 {FILE_BYTES}"}.get(command, "200 ok")

    def _say(self, reply: str) -> None:
        self.wfile.write(f"{reply}\r\n".encode())


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, cut_every: int, ends: Literal["completes", "closes"], *, says_size: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.cut_every, self.ends, self.says_size, self.sent = cut_every, ends, says_size, 0


@dataclass
class Got:
    """What one user got of some files: whole ones, bytes of all, failures by kind, and their first line."""

    gets: int = 0
    received_bytes: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    line: str = ""


def got(gets: int, cut_every: int, ends: Literal["completes", "closes"], *, says_size: bool) -> Got:
    """What a user gets of a server that cuts each file of so many."""
    total, counted = Got(), ByteCount()
    with _running(_Server(cut_every, ends, says_size=says_size)) as port:
        limits, until_s = Limits(LIMIT_S, LIMIT_S, LIMIT_S), time.monotonic() + 6 * LIMIT_S
        around = Surroundings(None, limits, until_s, users_in_threads.wait_writable)
        user = FtpUser(Target("127.0.0.1", port, "anonymous", "x"), "put/a", counted, around)
        for _ in range(gets):
            try:
                user.login()
                user.get(RemoteFile("get/a"), check=False)
                total.gets += 1
            except ActionFailed as error:
                total.failures[f"get {error.failure}"] += 1
                total.line = total.line or str(error)
        user.drop()
    total.received_bytes = counted.received_bytes
    return total


@contextmanager
def _running(server: _Server) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(LIMIT_S)
