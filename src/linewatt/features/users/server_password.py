# SPDX-License-Identifier: Apache-2.0
"""The password of a file server that is there already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linewatt.campaign import Campaign
from linewatt.engine.live import password_from_environment, password_from_file
from linewatt.features.users.model import OtherServer, users_in

_WHERE = "users.server"


def _server(campaign: Campaign) -> OtherServer | None:
    users = users_in(campaign)
    return users.server if users is not None and isinstance(users.server, OtherServer) else None


def server_password(campaign: Campaign) -> str | None:
    """Raises InvalidInput where it is named and not there."""
    server = _server(campaign)
    if server is None:
        return None
    if server.password_file is not None:
        return password_from_file(_WHERE, Path(server.password_file))
    return None if server.password_env is None else password_from_environment(_WHERE, server.password_env)


def password_files(campaign: Campaign) -> Iterator[tuple[str, Path]]:
    """Where the campaign names its file, and the file."""
    server = _server(campaign)
    if server is not None and server.password_file is not None:
        yield _WHERE, Path(server.password_file)
