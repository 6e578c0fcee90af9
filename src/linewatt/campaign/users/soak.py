# SPDX-License-Identifier: Apache-2.0
"""One long load in place of cases and trials, and the users that make it: what a campaign says of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.loads.users.job import Behaviour


@dataclass(frozen=True, slots=True)
class Soak:
    """How long the load runs, how often what was done is added up, and how long one test of its load is."""

    duration_s: float
    interval_s: float
    segment_s: float


@dataclass(frozen=True, slots=True)
class BestOf:
    """The best setting of the experiment ``result``, ``None`` until it was looked up.

    ``words`` say how good it is, ``notes`` what else a reader should know. ``by_hand`` are those of its
    factors that hands set.
    """

    result: str
    setting: tuple[tuple[str, str], ...] | None = None
    words: str = ""
    notes: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()

    def said(self) -> Iterator[str]:
        """A line for the setting, and one for each note."""
        shown = " ".join(f"{name}={level}" for name, level in self.setting or ())
        yield f"best of {self.result}: {shown} ({self.words})"
        yield from self.notes


@dataclass(frozen=True, slots=True)
class Group:
    """Clients that use one interface (or address) of the server; ``None``: its data interface."""

    name: str
    clients: tuple[str, ...]
    server: str | None = None


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A vsftpd that linewatt configures, starts and removes on one of the hosts."""

    host: str
    folder: str
    port: int
    passive_ports: tuple[int, int]
    max_clients: int
    options: tuple[tuple[str, str], ...] = ()
    """of vsftpd.conf(5) that the campaign names, sorted"""


@dataclass(frozen=True, slots=True)
class OtherServer:
    """A server that is there already. No password is kept, only where it is read."""

    url: str
    password_env: str | None
    password_file: str | None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of files: lognormal around a median; ``sigma`` 0: all alike. ``count`` is how many differ."""

    count: int
    median_bytes: int
    sigma: float


@dataclass(frozen=True)
class _Where:
    """``get`` are files that linewatt makes, ``get_paths`` those of a server that is there already."""

    server: OwnServer | OtherServer
    groups: tuple[Group, ...]
    users: int
    get: Sizes
    get_paths: tuple[str, ...]
    put: Sizes
    put_folder: str


@dataclass(frozen=True, kw_only=True)
class Users(Behaviour, _Where):
    """Scripted users: where they run, what they use, and what each does."""

    sustained_bps: float | None
    python: str | None

    @property
    def clients(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.clients)

    @property
    def server_host(self) -> str | None:
        return self.server.host if isinstance(self.server, OwnServer) else None

    @property
    def hosts(self) -> Iterator[str]:
        """The server first, where it is one of the hosts."""
        if self.server_host is not None:
            yield self.server_host
        yield from self.clients
