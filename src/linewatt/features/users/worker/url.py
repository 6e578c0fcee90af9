# SPDX-License-Identifier: Apache-2.0
"""The address of a file server that is there already. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from linewatt.errors import InvalidInput

FTP_PORT = 21
_USER = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}"


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A server and its user; ``folder`` is where paths begin, empty for where a login lands."""

    host: str
    port: int
    user: str
    folder: str

    @property
    def is_anonymous(self) -> bool:
        """Whether any password will do (RFC 1635)."""
        return self.user in ("anonymous", "ftp")


def parse_url(text: str) -> ServerUrl:
    """``ftp://user@host:port/folder``; IPv6 in brackets. Raises InvalidInput, which repeats no password."""
    if re.match(r"[^:]*://[^@/]*:[^@]*@", text):  # a password may hold what ends a host
        raise InvalidInput("has a password in it; use password_env or password_file")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # its words would repeat part of what was written
        raise InvalidInput("is not an address; write it like ftp://perf@192.0.2.10:21/") from None
    if parts.scheme != "ftp" or not parts.hostname or parts.query or parts.fragment or not text.isprintable():
        raise InvalidInput("must be the address of an FTP server such as ftp://perf@192.0.2.10:21/")
    if not re.fullmatch(_USER, parts.username or "", re.ASCII):
        raise InvalidInput("must name the user who logs in, such as ftp://perf@192.0.2.10/")
    return ServerUrl(parts.hostname, port or FTP_PORT, parts.username or "", parts.path.strip("/"))
