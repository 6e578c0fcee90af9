# SPDX-License-Identifier: Apache-2.0
"""What users work with: a file server and its files.

A second kind of server is one more file with a class that keeps to :class:`Server`; ``vsftpd.py`` is the one
that linewatt starts itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from linewatt.errors import InvalidInput
from linewatt.features.users.worker.base import RemoteFile
from linewatt.features.users.worker.job import Target
from linewatt.features.users.worker.url import ServerUrl
from linewatt.model import Family

ANY_PASSWORD = "linewatt@"  # noqa: S105  a name by custom, as RFC 1635 asks of anonymous users


class Server(Protocol):
    """A server from start to stop. ``put_folder`` is where users may write."""

    put_folder: str

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        """What users may get; known before the server is started."""

    async def start(self) -> None:
        """Have it ready for users. Raises LinewattError; nothing of it is left then."""

    def target_for(self, group_address: str) -> Target:
        """How users of a group log in; ``group_address`` is the server's address for them."""

    async def stop(self) -> None:
        """End it and remove what was put there for it. Bounded; what fails is told, and in the journal."""


class ExistingServer:
    """A server that is there already: nothing of it is started, changed or read."""

    def __init__(self, url: ServerUrl, password: str | None, paths: Sequence[str], put_folder: str) -> None:
        """Paths are below the folder of ``url`` unless they begin with ``/``. Raises InvalidInput."""
        if password is None and not url.is_anonymous:
            raise InvalidInput(
                f"users.server: {url.user} needs a password; name password_env or password_file"
            )
        self._url = url
        self._password = ANY_PASSWORD if password is None else password
        self.files = tuple(RemoteFile(self._below(path)) for path in paths)
        self.put_folder = self._below(put_folder)

    def _below(self, path: str) -> str:
        return path if path.startswith("/") or not self._url.folder else f"{self._url.folder}/{path}"

    async def start(self) -> None: ...

    def target_for(self, group_address: str) -> Target:
        """Without an address it is that of the URL."""
        host = group_address or self._url.host
        return Target(host, self._url.port, self._url.user, self._password, family_of(host))

    async def stop(self) -> None: ...


def family_of(address: str) -> Family:
    """The family of a literal address; of a name it is IPv4."""
    return "ipv6" if ":" in address else "ipv4"
