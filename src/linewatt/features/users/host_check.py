# SPDX-License-Identifier: Apache-2.0
"""Whether a host has what users, or the server that linewatt starts for them, need there."""

from __future__ import annotations

from linewatt.engine.readiness import AskedHost, Check
from linewatt.errors import HostError, HostLacks, HostLost, WaitTimeout
from linewatt.features.users import prepare
from linewatt.features.users import vsftpd_ground as ground
from linewatt.features.users.cpus import check_cpus
from linewatt.features.users.model import OwnServer, Users, users_in
from linewatt.foreign import last_line
from linewatt.hosts import Host

LIMIT_S = 10.0


async def users_check(asked_host: AskedHost) -> Check | None:
    """What this host is among the users; ``None``: it takes no part."""
    host, users = asked_host.host, users_in(asked_host.campaign)
    name = host.spec.name
    if users is None:
        return None
    if name in users.clients:
        client = _client(host, users)
    elif isinstance(users.server, OwnServer) and users.server.host == name:
        client = _server(host, users.server)
    else:
        return None
    try:
        return Check(name, "users", "ok", await client)
    except (HostLost, WaitTimeout) as error:
        return Check(name, "users", "unknown", error.without(name))
    except HostLacks as error:
        return Check(name, "users", "fail", error.what, error.advice)
    except HostError as error:
        return Check(name, "users", "fail", error.without(name))


async def _client(host: Host, users: Users) -> str:
    await check_cpus(host, users.client_cpus, "users.client_cpus")
    if users.python is None:
        return f"their environment is there: {(await prepare.environment(host)).python}"
    return f"{(await prepare.given(host, users.python)).python} has what they need"


async def _server(host: Host, server: OwnServer) -> str:
    """Raises HostError saying what is missing."""
    words = [server.folder, str(server.port)]
    argv = ["bash", "-c", ground.LOOK, "linewatt", *words]
    done = await host.run(argv, timeout_s=LIMIT_S, root=True)
    if done.status and "uid " not in done.stdout:
        raise HostError(last_line(done.stderr))
    await check_cpus(host, server.cpus, "users.server_cpus", root=True)
    server_ground = ground.ground(host.spec.name, done.stdout, server.folder, server.port)
    room = f"{server_ground.free_bytes / 1e9:.1f} GB in {server_ground.folder}"
    return f"{server_ground.program}, port {server.port} is free, {room}"
