# SPDX-License-Identifier: Apache-2.0
"""What an FTP server's reply says of a failed action. Pure.

Codes are those of RFC 959 and RFC 2428; texts are of vsftpd 3.0.3, ProFTPD 1.3.8 and Pure-FTPd 1.0.50, which
use one code for several things.
"""

from __future__ import annotations

import re

from linewatt.loads.users.base import Action, Failure

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
