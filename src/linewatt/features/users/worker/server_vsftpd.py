# SPDX-License-Identifier: Apache-2.0
"""vsftpd for scripted users: its configuration, and what it logged. Pure text, no I/O.

Users log in as ``ftp`` (anonymous, so always in a chroot) with one password: neither PAM nor an account of
the system is involved. The folder is not writable for them, only ``put`` below it is. Checked with vsftpd
3.0.3; options are those of vsftpd.conf(5). **Its log has the password.**
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from linewatt.errors import InvalidInput

USER = "ftp"
GET_FOLDER = "get"
PUT_FOLDER = "put"
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104
"""what is not written to vsftpd.conf: vsftpd 3.0.3 reads ``listen_address6=::`` as whatever is in memory"""
STALL_LIMIT_S = 300
"""after that long without a byte a transfer is given up, however long a session may be idle"""


OPTIONS: dict[str, tuple[int, int] | None] = {
    "use_sendfile": None,
    "one_process_model": None,
    "setproctitle_enable": None,
    "seccomp_sandbox": None,
    "isolate": None,
    "isolate_network": None,
    "trans_chunk_size": (4096, 2**27),
    "max_per_ip": (0, 100_000),
}
"""what of vsftpd.conf(5) a campaign may set: a switch, or a number from … to …"""


def option(name: str, value: str) -> str:
    """The value of one of these as it is compared: ``on``, ``off`` or a number. Raises InvalidInput."""
    if name not in OPTIONS:
        raise InvalidInput(f"vsftpd.{name} is not an option that can be set: {', '.join(OPTIONS)}")
    bounds = OPTIONS[name]
    if bounds is None:
        if value not in ("on", "off"):
            raise InvalidInput(f"vsftpd.{name} must be on or off, got {value!r}")
        return value
    minimum, maximum = bounds
    if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) or not minimum <= int(value) <= maximum:
        raise InvalidInput(f"vsftpd.{name} must be a number from {minimum} to {maximum}, got {value!r}")
    return str(int(value))


@dataclass(frozen=True, slots=True)
class VsftpdSettings:
    """``addresses`` are the server's own, one for each group; ``get_sizes`` those of the files to get.

    ``put_sizes`` are what ``users`` put, each one file at a time. The log is read every ``read_every_s``.
    ``0`` in ``max_clients`` means no limit, as in vsftpd.
    """

    addresses: tuple[str, ...]
    users: int
    get_sizes: tuple[int, ...] = ()
    put_sizes: tuple[int, ...] = ()
    folder: str = "/dev/shm"  # noqa: S108  a name of linewatt's own is made below it
    port: int = 2121
    passive_ports: tuple[int, int] = (20000, 29999)
    max_clients: int = 0
    idle_limit_s: int = 3600
    """a session that asks for nothing as long is ended: more than users think"""
    read_every_s: float = 10.0
    options: tuple[tuple[str, str], ...] = ()
    """of OPTIONS, those that are not as they would be"""

    def __post_init__(self) -> None:
        first, last = self.passive_ports
        if not 1024 <= first <= last <= 65535:
            raise InvalidInput(f"vsftpd: passive ports {first} to {last}: name a range within 1024 to 65535")
        if not self.addresses:
            raise InvalidInput("users.server: it has no address that users could reach")
        if first <= self.port <= last:
            raise InvalidInput(
                f"users.passive_ports: {first}-{last} has port {self.port} in it; move one of them"
            )

    @property
    def listen_address(self) -> str:
        """The one address there is; every one where there are several, for vsftpd listens on one socket."""
        if len(set(self.addresses)) == 1:
            return self.addresses[0]
        return "::" if any(":" in address for address in self.addresses) else "0.0.0.0"  # noqa: S104

    @property
    def put_bytes(self) -> int:
        return self.users * max(self.put_sizes, default=0)


_SWITCHES = {"on": True, "off": False}


def configuration(settings: VsftpdSettings, folder: PurePosixPath, system_user: str) -> str:
    """The text of vsftpd.conf. Raises InvalidInput for a path that such a file cannot name.

    ``folder`` has ``home``, which is not writable, with ``get`` and ``put``; and ``empty``, which is root's.
    """
    address = settings.listen_address
    listen: dict[str, bool | str] = {"listen": ":" not in address, "listen_ipv6": ":" in address}
    if address not in EVERY_ADDRESS:
        listen["listen_address6" if ":" in address else "listen_address"] = address
    first, last = settings.passive_ports
    options: dict[str, str | int | bool | PurePosixPath] = {
        **listen,
        "listen_port": settings.port,
        "background": False,
        **_anonymous(folder, system_user),
        "pasv_min_port": first,
        "pasv_max_port": last,
        "port_enable": False,
        "max_clients": settings.max_clients,
        "idle_session_timeout": settings.idle_limit_s,
        "data_connection_timeout": min(settings.idle_limit_s, STALL_LIMIT_S),
        "xferlog_enable": True,
        "xferlog_std_format": False,
        "vsftpd_log_file": folder / "server.log",
        "use_localtime": False,
        # A filter for an older C library kills the session (ECONNRESET at login); namespaces of its own
        # cost each session milliseconds and are refused in containers.
        "seccomp_sandbox": False,
        "isolate": False,
        "isolate_network": False,
        **{name: _SWITCHES.get(value, value) for name, value in settings.options},
    }
    return "".join(f"{name}={_word(name, value)}\n" for name, value in options.items())


_LOGGED = re.compile(
    r'.{24} \[pid \d+\] (?:\[.*?\] )?(?:(OK|FAIL) ([A-Z]+)|CONNECT): Client "[^"]*"(.*)', re.ASCII
)
_LOGGED_BYTES = re.compile(r", (\d+) bytes, [\d.]+Kbyte/sec\Z", re.ASCII)


@dataclass(slots=True)
class LogTotals:
    """What the server's own log says, added up: running totals, for it may be read a piece at a time.

    A transfer that it calls failed is incomplete, one of a missing file too; what a session that was killed
    had moved is in no log. ``logins_refused``: wrong credentials, and connections refused because there
    were too many. ``unknown`` lines are of no known shape.
    """

    sent_bytes: int = 0
    received_bytes: int = 0
    incomplete_sent_bytes: int = 0
    incomplete_received_bytes: int = 0
    gets: int = 0
    puts: int = 0
    incomplete_gets: int = 0
    incomplete_puts: int = 0
    logins: int = 0
    logins_refused: int = 0
    unknown: int = 0
    _begun: str = field(default="", repr=False)

    def take(self, text: str) -> None:
        """The next piece of the log; it may begin and end within a line."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._take_line(line)

    def cut(self) -> None:
        """The log goes on in another file: a line that was not ended there never will be."""
        if self._begun:
            self._begun = ""
            self.unknown += 1

    def _take_line(self, line: str) -> None:
        match = _LOGGED.fullmatch(line)
        if match is None:
            self.unknown += 1
            return
        outcome, action, details = match.groups()
        if action in {"DOWNLOAD", "UPLOAD"}:
            moved = _LOGGED_BYTES.search(details)
            self._take_transfer(action == "DOWNLOAD", outcome == "OK", int(moved[1]) if moved else 0)
        elif action == "LOGIN" and outcome == "OK":
            self.logins += 1
        elif action == "LOGIN" or (action is None and details.startswith(', "Connection refused')):
            self.logins_refused += 1

    def _take_transfer(self, is_get: bool, complete: bool, moved_bytes: int) -> None:
        if is_get and complete:
            self.gets, self.sent_bytes = self.gets + 1, self.sent_bytes + moved_bytes
        elif is_get:
            self.incomplete_gets += 1
            self.incomplete_sent_bytes += moved_bytes
        elif complete:
            self.puts, self.received_bytes = self.puts + 1, self.received_bytes + moved_bytes
        else:
            self.incomplete_puts += 1
            self.incomplete_received_bytes += moved_bytes


def _anonymous(folder: PurePosixPath, system_user: str) -> dict[str, str | bool | PurePosixPath]:
    return {
        "local_enable": False,
        "anonymous_enable": True,
        "ftp_username": system_user,
        "anon_root": folder / "home",
        "secure_chroot_dir": folder / "empty",
        "secure_email_list_enable": True,  # only these passwords are let in
        "email_password_file": folder / "passwords",
        "write_enable": True,
        "anon_upload_enable": True,
        "anon_other_write_enable": True,  # to write a file again, and to delete it
        "anon_world_readable_only": False,
        "anon_umask": "022",
    }


def _word(name: str, value: str | int | bool | PurePosixPath) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    text = str(value)
    if not text or text != text.strip() or not text.isprintable():
        raise InvalidInput(f"vsftpd: {name}: {text!r} cannot be written in vsftpd.conf; choose another")
    return text
