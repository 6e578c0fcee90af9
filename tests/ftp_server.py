# SPDX-License-Identifier: Apache-2.0
"""A real vsftpd with a configuration of its own, its files in memory: ended by process id, no service."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Literal

from linewatt.errors import ParseError
from linewatt.features.users.worker import content
from linewatt.features.users.worker.base import RemoteFile
from linewatt.features.users.worker.job import Target
from linewatt.features.users.worker.server_vsftpd import (
    GET_FOLDER,
    PUT_FOLDER,
    USER,
    VsftpdSettings,
    configuration,
)

PASSWORD = "only for this test"  # noqa: S105
LIMIT_S = 60.0
_LOOK_S = 0.01
_PASSIVE = (20000, 20999)
_IDLE_LIMIT_S = 300
_PORTS = range(21000, 32000)
"""below what the kernel gives to clients, as those above"""
_WORKERS = 16
_LISTENS = "0A"  # include/net/tcp_states.h


@dataclass(frozen=True, slots=True)
class LoggedTransfer:
    """A line of the transfer log. ``direction`` is the client's: ``get`` left the server."""

    client: str
    path: str
    transferred_bytes: int
    direction: Literal["get", "put"]
    complete: bool


def transfers(log: str) -> Iterator[LoggedTransfer]:
    """What the transfer log says, oldest first, without a last line that is still being written.

    Raises ParseError for a line of another shape.
    """
    for line in log.splitlines(keepends=True):
        if line.endswith("\n"):
            yield _transfer(line)


def _transfer(line: str) -> LoggedTransfer:
    # Nine fields follow the name, which may hold blanks; vsftpd writes those as underscores.
    words = line.split()
    if len(words) < 18 or words[-7] not in {"o", "i"} or not words[7].isdigit():
        raise ParseError(f"vsftpd's transfer log: {line.strip()!r} is not a line of xferlog(5)")
    return LoggedTransfer(
        client=words[6],
        path=" ".join(words[8:-9]),
        transferred_bytes=int(words[7]),
        direction="get" if words[-7] == "o" else "put",
        complete=words[-1] == "c",
    )


def why_not() -> str | None:
    """Why no vsftpd can be had here; ``None`` if it can."""
    if os.geteuid() != 0:
        return "vsftpd with a chroot needs root"
    return None if program() else "vsftpd is not installed"


def program() -> str | None:
    return shutil.which("vsftpd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class Server:
    """One vsftpd; ``namespace`` is the network namespace it is in, ``None`` the caller's."""

    def __init__(self, folder: Path, settings: VsftpdSettings, namespace: str | None) -> None:
        self.folder = folder
        self.settings = settings
        self.home = folder / "home"
        self.log = folder / "server.log"
        self.max_rate_bytes_per_s = 0
        self._inside = ["ip", "netns", "exec", namespace] if namespace else []
        self._process: subprocess.Popen[bytes] | None = None

    def target(self, password: str = PASSWORD) -> Target:
        address = self.settings.listen_address
        family = "ipv6" if ":" in address else "ipv4"
        return Target(address, self.settings.port, USER, password, family)  # type: ignore[arg-type]

    def file(self, name: str) -> RemoteFile:
        size = (self.home / GET_FOLDER / name).stat().st_size
        return RemoteFile(f"{GET_FOLDER}/{name}", size, content.crc32(size))

    def logged(self) -> list[LoggedTransfer]:
        log = self.folder / "transfers.log"
        return list(transfers(log.read_text())) if log.exists() else []

    def left(self) -> list[str]:
        """Files that users left."""
        return sorted(path.name for path in (self.home / PUT_FOLDER).iterdir())

    def start(self, max_rate_bytes_per_s: int | None = None, **changed: int) -> None:
        """Start it and wait until it listens; ``changed`` are settings that differ from now on.

        Beside its own log it writes one of transfers alone (xferlog(5)), as linewatt has none written.
        """
        if max_rate_bytes_per_s is not None:
            self.max_rate_bytes_per_s = max_rate_bytes_per_s
        own = {
            "anon_max_rate": self.max_rate_bytes_per_s,
            "xferlog_std_format": "YES",
            "xferlog_file": self.folder / "transfers.log",
            "dual_log_enable": "YES",
        }
        self.settings = replace(self.settings, **changed)  # type: ignore[arg-type]
        text = self.folder / "vsftpd.conf"
        lines = "".join(f"{name}={value}\n" for name, value in own.items())
        text.write_text(configuration(self.settings, PurePosixPath(self.folder), "ftp") + lines)
        argv = [*self._inside, str(program()), str(text)]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
        end_s = time.monotonic() + LIMIT_S
        while not _listens(self._process.pid, self.settings.port):
            if self._process.poll() is not None or time.monotonic() > end_s:
                raise AssertionError(
                    f"vsftpd to listen on {self.settings.port} was awaited for {LIMIT_S:g} s"
                )
            time.sleep(_LOOK_S)

    def sessions(self) -> list[int]:
        """The processes of its sessions, those with more rights first."""
        return [] if self._process is None else below(self._process.pid)

    def kill(self) -> None:
        """SIGKILL to the listener and its sessions, which are in no process group together."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)  # from here on it starts no session
        tree = [process.pid, *below(process.pid)]
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none may speak for one that is gone already
            for each in tree:
                with suppress(ProcessLookupError):
                    os.kill(each, number)
        process.wait(LIMIT_S)
        end_s = time.monotonic() + LIMIT_S
        while any(_runs(each) for each in tree):
            assert time.monotonic() < end_s, f"vsftpd's {tree} to end were awaited for {LIMIT_S:g} s"
            time.sleep(_LOOK_S)


@contextmanager
def vsftpd(
    folder: Path,
    files: Mapping[str, int],
    *,
    memory: str = "64m",
    address: str = "127.0.0.1",
    namespace: str | None = None,
    **settings: int,
) -> Iterator[Server]:
    """A running server with these files (name → bytes) in memory of that size; everything is gone after."""
    home = folder / "home"
    for each in (home, folder / "empty"):
        each.mkdir(mode=0o755)
    (folder / "passwords").write_text(PASSWORD + "\n")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={memory},mode=0755", "tmpfs", home], check=True)
    try:
        _fill(home, files)
        port = 2121 if namespace else free_port(address)
        own = VsftpdSettings((address,), 1, port=port, passive_ports=_PASSIVE, idle_limit_s=_IDLE_LIMIT_S)
        server = Server(folder, own, namespace)
        try:
            server.start(**settings)
            yield server
        finally:
            server.kill()
    finally:
        subprocess.run(["umount", home], check=True)


def free_port(address: str) -> int:
    """One that neither the kernel gives to clients nor another worker of these tests takes: it stays free.

    A client that calls while nobody listens could else be given this very port, and reach itself.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    own = _PORTS[worker::_WORKERS]
    first = os.getpid() % len(own)  # another run of tests has workers of the same names
    for port in chain(own[first:], own[:first]):
        with socket.socket(family, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.bind((address, port))
            return port
    raise AssertionError(f"every port of {_PORTS} that is this worker's is taken on {address}")


def content_of(size: int) -> bytes:
    """What a file of that size holds."""
    return (content.period() * (size // content.PERIOD_BYTES + 1))[:size]


def _fill(home: Path, files: Mapping[str, int]) -> None:
    user = pwd.getpwnam("ftp")
    for name in (GET_FOLDER, PUT_FOLDER):
        (home / name).mkdir(mode=0o755)
    os.chown(home / PUT_FOLDER, user.pw_uid, user.pw_gid)
    for name, size in files.items():
        (home / GET_FOLDER / name).write_bytes(content_of(size))
        (home / GET_FOLDER / name).chmod(0o644)


def _listens(process: int, port: int) -> bool:
    """Asked of the kernel and not by connecting: a caller would count as a client."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for row in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state, *_ = row.split()
                if state == _LISTENS and local.endswith(f":{port:04X}"):
                    return True
    return False


def below(process: int) -> list[int]:
    """Children of a process, theirs, and so on, also those that ended and that nobody asked about yet."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found, at = [process], 0
    while at < len(found):
        found += parents.get(found[at], [])
        at += 1
    return found[1:]


def _runs(process: int) -> bool:
    try:
        return (Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]) != "Z"
    except OSError:
        return False
