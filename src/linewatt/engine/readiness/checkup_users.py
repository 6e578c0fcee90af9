# SPDX-License-Identifier: Apache-2.0
"""Whether scripted users can begin: their environment on each client, and what their server needs."""

from __future__ import annotations

from linewatt.campaign.soak import OwnServer, Users
from linewatt.engine.readiness.readiness import Check
from linewatt.engine.soak import vsftpd_ground as ground
from linewatt.engine.soak.clients import prepare
from linewatt.engine.soak.clients.prepare_scripts import last_line
from linewatt.errors import HostError, HostLost, WaitTimeout
from linewatt.hosts.base import Host

LIMIT_S = 10.0


async def ready_for_users(host: Host, users: Users | None) -> Check | None:
    """What this host is among the users; ``None``: it takes no part."""
    name = host.spec.name
    if users is None or name not in users.hosts:
        return None
    try:
        if name in users.clients:
            return Check(name, "users", "ok", await _client(host, users))
        return Check(name, "users", "ok", await _server(host, users))
    except (HostLost, WaitTimeout) as error:
        return Check(name, "users", "unknown", _without(name, error))
    except HostError as error:
        found, _, advice = _without(name, error).partition("; ")
        return Check(name, "users", "fail", found, advice.removeprefix("run: "))


async def _client(host: Host, users: Users) -> str:
    if users.python is None:
        return f"their environment is there: {(await prepare.environment(host)).python}"
    return f"{(await prepare.given(host, users.python)).python} has what they need"


async def _server(host: Host, users: Users) -> str:
    """Raises HostError saying what is missing."""
    assert isinstance(users.server, OwnServer)  # noqa: S101
    words = [users.server.folder, str(users.server.port)]
    argv = ["bash", "-c", ground.LOOK, "linewatt", *words]
    done = await host.run(argv, timeout_s=LIMIT_S, root=True)
    if done.status and "uid " not in done.stdout:
        raise HostError(last_line(done.stderr))
    found = ground.ground(host.spec.name, done.stdout, users.server.folder, users.server.port)
    room = f"{found.free_bytes / 1e9:.1f} GB in {found.folder}"
    return f"{found.program}, port {users.server.port} is free, {room}"


def _without(name: str, error: HostError) -> str:
    return str(error).removeprefix(f"{name}: ")
