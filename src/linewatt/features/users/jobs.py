# SPDX-License-Identifier: Apache-2.0
"""From what a campaign says of its users to what a server, a client and a user are told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from linewatt.campaign import Campaign
from linewatt.campaign.planning import PlannedTrial
from linewatt.engine.live import SensorFeed, Session
from linewatt.engine.undo import Settings
from linewatt.errors import HostError
from linewatt.features.users import prepare
from linewatt.features.users.factors import applied
from linewatt.features.users.fleet import Client
from linewatt.features.users.model import Group, OtherServer, Users, sizes, users_in
from linewatt.features.users.server import ExistingServer, Server
from linewatt.features.users.vsftpd import Say, VsftpdServer
from linewatt.features.users.worker.decisions import seed_of_repetition
from linewatt.features.users.worker.job import UsersJob
from linewatt.features.users.worker.server_vsftpd import VsftpdSettings
from linewatt.features.users.worker.url import parse_url
from linewatt.foreign import contained, read_json
from linewatt.hosts import Host, is_ip
from linewatt.model import Family
from linewatt.sensors import SENSORS

ASK_LIMIT_S = 10.0
COUNTERS = ("netcounters", "qdisc")
_IDLE_MARGIN_S = 600.0
"""beyond a user's longest pause, before the server takes a session for one that nobody uses"""


def users_of_trial(users: Users, planned: PlannedTrial) -> Users:
    """The users of one trial: with the levels of its setting, and choices of its repetition's own."""
    trial_users = applied(users, planned.case.factors)
    return replace(trial_users, seed=seed_of_repetition(trial_users.seed, planned.repetition))


async def addresses(users: Users, session: Session, family: Family) -> dict[str, str]:
    """Group → the server's address for it; empty where that is the URL's. Raises HostError."""

    async def of(group: Group) -> str:
        if group.server is not None and is_ip(group.server):
            return group.server
        if users.server_host is None:
            return ""
        if group.server is None:
            return session.data_address(users.server_host, family)
        return await _of_interface(session.hosts[users.server_host], group.server, family)

    group_addresses = await asyncio.gather(*map(of, users.groups))
    return {group.name: address for group, address in zip(users.groups, group_addresses, strict=True)}


async def _of_interface(host: Host, interface: str, family: Family) -> str:
    done = await host.run(
        ["env", "LC_ALL=C", "ip", "-j", "address", "show", "dev", interface], timeout_s=ASK_LIMIT_S
    )
    where = f"{host.spec.name}: {interface}"
    if done.status != 0:
        raise HostError(f"{where}: no such interface; name one that `ip link` shows there")
    kind = "inet6" if family == "ipv6" else "inet"
    with contained(f"{where}: what ip shows"):
        for shown in read_json(done.stdout, where):
            for address in shown.get("addr_info", ()):
                if address.get("family") == kind and address.get("scope") == "global":
                    return str(address["local"])
    raise HostError(f"{where} has no {family} address; give it one, or name the address itself")


def counter_feeds(campaign: Campaign) -> list[SensorFeed]:
    """Counters of the server's interfaces beside its data interface."""
    users = users_in(campaign)
    if users is None or users.server_host is None:
        return []
    host, data_interface = users.server_host, campaign.hosts[users.server_host].data
    named = dict.fromkeys(group.server for group in users.groups if group.server is not None)
    return [
        SensorFeed(host, SENSORS[sensor], campaign.sensors[sensor], f"{sensor}:{name}", interface=name)
        for name in named
        if name != data_interface and not is_ip(name)
        for sensor in COUNTERS
        if sensor in campaign.sensors
    ]


def make_server(
    users: Users,
    hosts: Mapping[str, Host],
    reached_by: Mapping[str, str],
    password: str | None,
    undoable: Settings,
    say: Say,
    interval_s: float,
) -> Server:
    """The server as the campaign has it; nothing is started yet. Raises InvalidInput.

    ``undoable``: settings of which none is in force.
    """
    server = users.server
    if isinstance(server, OtherServer):
        return ExistingServer(parse_url(server.url), password, users.get_paths, users.put_folder)
    settings = VsftpdSettings(
        addresses=tuple(dict.fromkeys(reached_by.values())),
        users=users.users,
        get_sizes=sizes(users.get) if users.get_share > 0 else (),
        put_sizes=_put_sizes(users),
        folder=server.folder,
        port=server.port,
        passive_ports=server.passive_ports,
        max_clients=server.max_clients,
        idle_limit_s=round(users.think_s + users.spread_s + _IDLE_MARGIN_S),
        read_every_s=interval_s,
        options=server.options,
    )
    return VsftpdServer(hosts[server.host], settings, undoable, say, server.cpus)


def _put_sizes(users: Users) -> tuple[int, ...]:
    return tuple(dict.fromkeys(sizes(users.put))) if users.get_share < 1 else ()


def job_of(users: Users, server: Server, address: str, duration_s: float) -> UsersJob:
    """What users do; its target is that of one group. Raises InvalidInput."""
    return UsersJob(
        target=server.target_for(address),
        users=users.users,
        duration_s=duration_s,
        files=server.files,
        put_sizes=_put_sizes(users),
        put_folder=server.put_folder,
        **users.behaviour,
    )


async def environments(users: Users, session: Session) -> dict[str, prepare.Environment]:
    """Client → where its Python is. Raises HostError for one that is not prepared."""
    client_environments = await asyncio.gather(
        *(_python(session.hosts[name], users) for name in users.clients)
    )
    return dict(zip(users.clients, client_environments, strict=True))


async def clients_of(
    users: Users, session: Session, server: Server, reached_by: Mapping[str, str]
) -> list[Client]:
    """Every client with its Python and its target, groups in turn: so users are even over them, too.

    Raises HostError for one that is not prepared.
    """
    environment_by_client = await environments(users, session)
    return [
        Client(
            name,
            environment_by_client[name].python,
            environment_by_client[name].python_path,
            server.target_for(reached_by[group]),
            saturates=not session.specs[name].shares_cpus_with,
            cpus=users.client_cpus,
        )
        for group, name in in_turn(users.groups)
    ]


def in_turn(groups: Sequence[Group]) -> list[tuple[str, str]]:
    """(group, client): the first client of each group, then the second of each …"""
    columns = zip_longest(*([(group.name, name) for name in group.clients] for group in groups))
    return [group_client for column in columns for group_client in column if group_client is not None]


async def _python(host: Host, users: Users) -> prepare.Environment:
    if users.python is not None:
        return await prepare.given(host, users.python)
    return await prepare.environment(host)
