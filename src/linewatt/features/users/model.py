# SPDX-License-Identifier: Apache-2.0
"""Users of a file server as a campaign has them: where they run, what they use, and what each does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from linewatt.campaign import Campaign
from linewatt.declare import SELDOM
from linewatt.features.users.worker.job import Behaviour, lognormal_sizes
from linewatt.hosts.facts import format_cpulist

KEY = "users"
"""of campaign files"""


@dataclass(frozen=True, slots=True)
class Group:
    """Clients that use one interface (or address) of the server; ``None``: its data interface.

    ``switch`` is what joins them, for the diagram of a report.
    """

    name: str
    clients: tuple[str, ...]
    server: str | None = None
    switch: str | None = field(default=None, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A vsftpd that linewatt configures, starts and removes on one of the hosts."""

    host: str
    folder: str
    port: int
    passive_ports: tuple[int, int]
    max_clients: int
    options: tuple[tuple[str, str], ...] = field(default=(), metadata=SELDOM)
    """of vsftpd.conf(5) that the campaign names, sorted"""
    cpus: tuple[int, ...] | None = field(default=None, metadata=SELDOM)
    """of its processes; ``None``: any"""


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
    client_cpus: tuple[int, ...] | None = field(default=None, metadata=SELDOM)
    """of the users' processes, on each client; ``None``: any"""

    @property
    def clients(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.clients)

    @property
    def server_host(self) -> str | None:
        return self.server.host if isinstance(self.server, OwnServer) else None

    def described(self) -> Iterator[str]:
        """How many, where, what each does, and how they reach the server; a line each."""
        clients = f"{len(self.clients)} client{'' if len(self.clients) == 1 else 's'}"
        if self.client_cpus:
            clients += f", on CPUs {format_cpulist(self.client_cpus)} of each"
        yield f"{self.users} users on {clients}, {_server_text(self.server)}"
        yield f"each: {_work_text(self)}"
        if self.server_host is not None and len({group.server for group in self.groups}) > 1:
            yield (
                "it listens on every address of its host, for vsftpd has one socket and the groups use "
                "several: also on the management network"
            )
        for group in self.groups if len(self.groups) > 1 else ():
            path = [", ".join(group.clients), group.switch, group.server or "data interface"]
            yield f"group {group.name}: {' → '.join(filter(None, path))}"


def _server_text(server: OwnServer | OtherServer) -> str:
    if not isinstance(server, OwnServer):
        return f"server {server.url}"
    options = "".join(f", {name}={value}" for name, value in server.options)
    cpus = f", on CPUs {format_cpulist(server.cpus)}" if server.cpus else ""
    return f"a vsftpd on {server.host}, port {server.port}, its files below {server.folder}{options}{cpus}"


def _work_text(users: Users) -> str:
    gets = f"files of {users.get.median_bytes / 1e6:g} MB"
    if users.get_paths:
        gets = f"{len(users.get_paths)} files of the server"
    puts = f"{users.put.median_bytes / 1e6:g} MB"
    words = {0.0: f"puts {puts}", 1.0: f"gets {gets}"}
    mix = words.get(users.get_share, f"{100 * users.get_share:g} % gets of {gets}, the rest puts of {puts}")
    pace = f"; {users.arrival_rate_hz:g} transfers a second in all" if users.arrival_rate_hz else ""
    think = f"; {users.think_s:g} s of thought between" if users.think_s else ""
    return f"{mix}{think}{pace}; {users.start} start"


def users_in(campaign: Campaign) -> Users | None:
    """The users of a campaign, be they the load of its trials or of a soak."""
    users: Users | None = campaign.feature_values.get(KEY)
    return users


def sizes(of: Sizes) -> tuple[int, ...]:
    """Sizes in bytes, as many as there are."""
    if not of.sigma:
        return (of.median_bytes,) * of.count
    return lognormal_sizes(of.median_bytes, of.sigma, of.count)
