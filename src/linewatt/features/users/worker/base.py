# SPDX-License-Identifier: Apache-2.0
"""What users of a server do: files, transfers of them, and by name what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from linewatt.errors import HostError

Action = Literal["login", "get", "put"]
BLOCK_BYTES = 262144
"""what a get reads at once; with 8 KiB most of the CPU time is system calls"""


class Failure(StrEnum):
    """Everything that a user's action can fail of; each is counted under its own name."""

    WRONG_CREDENTIALS = "wrong-credentials"
    SERVER_FULL = "server-full"
    DISK_FULL = "disk-full"
    UNREACHABLE = "server-unreachable"
    PASSIVE_PORT_BLOCKED = "passive-port-blocked"
    CONNECTION_LOST = "connection-lost"
    STALLED = "stalled"
    FILE_SHORT = "file-short"
    FILE_LONG = "file-long"
    FILE_MISSING = "file-missing"
    CHECKSUM = "checksum-differs"
    REFUSED = "refused"


KEEPS_SESSION = frozenset(
    {
        Failure.FILE_MISSING,
        Failure.FILE_SHORT,
        Failure.FILE_LONG,
        Failure.CHECKSUM,
        Failure.DISK_FULL,
        Failure.REFUSED,
    }
)
"""after these the same login goes on; after any other a user logs in again"""


class ActionFailed(HostError):
    """An action of a user failed; the text is one line that says what, where and what to do."""

    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(text)
        self.failure = failure


class Stopped(HostError):
    """The time was over before a transfer was; it is neither done nor failed."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to get. Without ``size_bytes`` the server's word counts, without ``crc32`` any content."""

    path: str
    size_bytes: int | None = None
    crc32: int | None = None


@dataclass(frozen=True, slots=True)
class Transfer:
    """One transfer that was done, and of the size it should have.

    Times are seconds from the request for a data connection. The first byte of a put may go when the server
    says that it waits for it. ``is_checked``: the content was compared too.
    """

    transferred_bytes: int
    first_byte_s: float
    total_s: float
    is_checked: bool = False


@dataclass(slots=True)
class ByteCount:
    """Bytes that passed one user's data sockets until now, of transfers that then failed too.

    Only its user writes it, so that others may read it at any time.
    """

    received_bytes: int = 0
    sent_bytes: int = 0
