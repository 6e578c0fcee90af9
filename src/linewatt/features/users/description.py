# SPDX-License-Identifier: Apache-2.0
"""Users in words, for ``linewatt plan``."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.features.users.model import OwnServer, Users


def describe_users(users: Users) -> Iterator[str]:
    """How many, where, what each does, and how they reach the server; a line each."""
    clients = f"{len(users.clients)} client{'' if len(users.clients) == 1 else 's'}"
    yield f"{users.users} users on {clients}, {_server(users)}"
    yield f"each: {_work(users)}"
    if users.server_host is not None and len({group.server for group in users.groups}) > 1:
        yield (
            "it listens on every address of its host, for vsftpd has one socket and the groups use "
            "several: also on the management network"
        )
    for group in users.groups if len(users.groups) > 1 else ():
        yield f"group {group.name}: {', '.join(group.clients)} → {group.server or 'data interface'}"


def _server(users: Users) -> str:
    if not isinstance(users.server, OwnServer):
        return f"server {users.server.url}"
    server = users.server
    options = "".join(f", {name}={value}" for name, value in server.options)
    return f"a vsftpd on {server.host}, port {server.port}, its files below {server.folder}{options}"


def _work(users: Users) -> str:
    gets = f"files of {users.get.median_bytes / 1e6:g} MB"
    if users.get_paths:
        gets = f"{len(users.get_paths)} files of the server"
    puts = f"{users.put.median_bytes / 1e6:g} MB"
    words = {0.0: f"puts {puts}", 1.0: f"gets {gets}"}
    mix = words.get(users.get_share, f"{100 * users.get_share:g} % gets of {gets}, the rest puts of {puts}")
    pace = f"; {users.arrival_rate_hz:g} transfers a second in all" if users.arrival_rate_hz else ""
    think = f"; {users.think_s:g} s of thought between" if users.think_s else ""
    return f"{mix}{think}{pace}; {users.start} start"
