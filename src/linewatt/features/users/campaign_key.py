# SPDX-License-Identifier: Apache-2.0
"""What a campaign has of the key ``users`` of its file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from linewatt.campaign.entries import CampaignFile, HostEntry
from linewatt.campaign.reading import Finding, check_one_port, path_text
from linewatt.features.users.entries import ServerEntry, UsersEntry, check_users, groups_of, users_of
from linewatt.features.users.experiment import check_experiment
from linewatt.features.users.model import KEY, Users


def read_users(entry: CampaignFile, base: Path) -> Users | None:
    """The users of a campaign; ``base``: where the files that it names are relative to."""
    users: UsersEntry | None = entry.value_of(KEY)
    if users is None:
        return None
    server = users.server
    return users_of(users, path_text(base, server.password_file) if isinstance(server, ServerEntry) else None)


def users_hosts(entry: CampaignFile) -> set[str]:
    """Hosts that take part as the server or as clients."""
    users: UsersEntry | None = entry.value_of(KEY)
    if users is None:
        return set()
    server_hosts = {users.server} if isinstance(users.server, str) else set()
    return server_hosts | {name for group in groups_of(users) for name in group.clients}


def check_users_key(
    entry: CampaignFile, names: Collection[str], hosts: Mapping[str, HostEntry]
) -> Iterator[Finding]:
    """What contradicts itself in users, be they the load of a soak or of trials."""
    users: UsersEntry | None = entry.value_of(KEY)
    if users is None:
        return
    if entry.replaces_trials:
        yield from check_users(users, names)
    else:
        yield from check_one_port(hosts, "users have")
        yield from check_experiment(entry, users, names)
