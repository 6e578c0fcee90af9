# SPDX-License-Identifier: Apache-2.0
"""vsftpd for scripted users: its configuration, and the transfers it logged. Pure text, no I/O.

Users log in as ``ftp`` (anonymous, so always in a chroot) with one password: neither PAM nor an account of
the system is involved. The folder is not writable for them, only ``put`` below it is. Checked with vsftpd
3.0.3; options are those of vsftpd.conf(5), the log is that of xferlog(5). **Its logs have the password.**
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from linewatt.errors import InvalidInput, ParseError

USER = "ftp"
GET_FOLDER = "get"
PUT_FOLDER = "put"


@dataclass(frozen=True, slots=True)
class Vsftpd:
    """One server. ``home`` has ``get`` and ``put`` and is not writable; ``empty`` is an empty folder of root.

    ``0`` in ``max_clients``, ``max_per_address`` and ``max_rate_bytes_per_s`` means no limit, as in vsftpd.
    """

    address: str
    port: int
    passive_ports: tuple[int, int]
    home: PurePosixPath
    empty: PurePosixPath
    passwords_file: PurePosixPath
    transfers_log: PurePosixPath
    server_log: PurePosixPath
    system_user: str = "ftp"
    max_clients: int = 0
    max_per_address: int = 0
    max_rate_bytes_per_s: int = 0
    idle_limit_s: int = 300

    def __post_init__(self) -> None:
        first, last = self.passive_ports
        if not 1024 <= first <= last <= 65535:
            raise InvalidInput(f"vsftpd: passive ports {first} to {last}: name a range within 1024 to 65535")


@dataclass(frozen=True, slots=True)
class LoggedTransfer:
    """A line of the transfer log. ``direction`` is the client's: ``get`` left the server."""

    client: str
    path: str
    transferred_bytes: int
    direction: Literal["get", "put"]
    complete: bool


def configuration(server: Vsftpd) -> str:
    """The text of vsftpd.conf. Raises InvalidInput for a path that such a file cannot name."""
    listen = {"listen": ":" not in server.address, "listen_ipv6": ":" in server.address}
    address = "listen_address6" if ":" in server.address else "listen_address"
    first, last = server.passive_ports
    options: dict[str, str | int | bool | PurePosixPath] = {
        **listen,
        address: server.address,
        "listen_port": server.port,
        "background": False,
        **_anonymous(server),
        "pasv_min_port": first,
        "pasv_max_port": last,
        "port_enable": False,
        "max_clients": server.max_clients,
        "max_per_ip": server.max_per_address,
        "anon_max_rate": server.max_rate_bytes_per_s,
        "idle_session_timeout": server.idle_limit_s,
        "data_connection_timeout": server.idle_limit_s,
        **_logs(server),
        # A filter for an older C library kills the session (ECONNRESET at login); namespaces of its own
        # cost each session milliseconds and are refused in containers.
        "seccomp_sandbox": False,
        "isolate": False,
        "isolate_network": False,
    }
    return "".join(f"{name}={_word(name, value)}\n" for name, value in options.items())


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
        raise ParseError(f"vsftpd's transfer log: {line.strip()!r} is no line of xferlog(5)")
    return LoggedTransfer(
        client=words[6],
        path=" ".join(words[8:-9]),
        transferred_bytes=int(words[7]),
        direction="get" if words[-7] == "o" else "put",
        complete=words[-1] == "c",
    )


def _anonymous(server: Vsftpd) -> dict[str, str | bool | PurePosixPath]:
    return {
        "local_enable": False,
        "anonymous_enable": True,
        "ftp_username": server.system_user,
        "anon_root": server.home,
        "secure_chroot_dir": server.empty,
        "secure_email_list_enable": True,  # only these passwords are let in
        "email_password_file": server.passwords_file,
        "write_enable": True,
        "anon_upload_enable": True,
        "anon_other_write_enable": True,  # to write a file again, and to delete it
        "anon_world_readable_only": False,
        "anon_umask": "022",
    }


def _logs(server: Vsftpd) -> dict[str, bool | PurePosixPath]:
    return {
        "xferlog_enable": True,
        "xferlog_std_format": True,
        "xferlog_file": server.transfers_log,
        "dual_log_enable": True,
        "vsftpd_log_file": server.server_log,
        "use_localtime": False,
    }


def _word(name: str, value: str | int | bool | PurePosixPath) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    text = str(value)
    if not text or text != text.strip() or not text.isprintable():
        raise InvalidInput(f"vsftpd: {name}: {text!r} cannot be written in vsftpd.conf; choose another")
    return text
