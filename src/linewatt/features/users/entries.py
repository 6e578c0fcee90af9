# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``users``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, create_model

from linewatt.campaign import suggest
from linewatt.campaign.entries import Duration, Share, Size, fields
from linewatt.document import KeyPath, Part
from linewatt.errors import InvalidInput
from linewatt.features.users.model import Group, OtherServer, OwnServer, Sizes, Users
from linewatt.features.users.worker.job import Discard, LoginPer, Start, ThinkKind
from linewatt.features.users.worker.server_vsftpd import OPTIONS
from linewatt.features.users.worker.url import parse_url
from linewatt.hosts import is_ip
from linewatt.sensors.power import text_matching

MAX_USERS = 100_000
MAX_FILES = 100_000
ONE_GROUP = "all"
ANY_CPU = "any"
"""how a level of a factor says that the system chooses CPUs"""

_Folder = text_matching(
    r"/(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,254}/?){0,16}",
    "must be an absolute path of letters, digits, dots, underscores and dashes",
    "/dev/shm",  # noqa: S108  an example
)
_ServerPart = text_matching(
    r"[A-Za-z0-9_:][A-Za-z0-9_.:-]{0,44}", "must be an interface of the server, or its address", "eth1"
)
_ServerPath = text_matching(
    r"[A-Za-z0-9_./][A-Za-z0-9_. /-]{0,254}",
    "must be a path on the server of letters, digits, . _ - and /",
    "pub/1",
)
_SwitchName = text_matching(
    r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,15}",
    "must be a name of 1 to 16 letters, digits, dots, colons, underscores and dashes",
    "sw1",
)
_Variable = text_matching(
    r"[A-Za-z_][A-Za-z0-9_]{0,63}", "must be the name of an environment variable", "FTP_PASSWORD"
)


class ServerEntry(Part):
    """A server that is there already."""

    url: str = Field(
        examples=["ftp://perf@192.0.2.10:21/"], description="`ftp://user@host:port/`, no password."
    )
    password_env: _Variable | None = Field(  # type: ignore[valid-type]
        default=None, description="Environment variable here that holds the password."
    )
    password_file: fields.FilePath | None = Field(
        default=None, description="File here that holds the password, relative to the campaign file."
    )


class GroupEntry(Part):
    """Clients that use one port of the server."""

    clients: Annotated[tuple[fields.HostName, ...], Field(min_length=1), fields.AsTuple, fields.Unique] = (
        Field(description="Hosts on which users run.")
    )
    server: _ServerPart | None = Field(  # type: ignore[valid-type]
        default=None,
        description="The server's interface or address for them; left out: its data interface or the URL's.",
    )
    switch: _SwitchName | None = Field(  # type: ignore[valid-type]
        default=None, examples=["sw1"], description="Name of their switch, for the diagram in the report."
    )


class GetEntry(Part):
    """What users find on the server."""

    files: int = Field(default=16, ge=1, le=MAX_FILES, description="How many linewatt makes on the server.")
    size: Size = Field(
        default="16M", validate_default=True, description="Their size; the median where it varies."
    )
    sigma: float = Field(
        default=0.0, ge=0, le=4, description="Spread of a lognormal distribution of sizes; 0: all alike."
    )
    paths: Annotated[tuple[_ServerPath, ...], fields.AsTuple, fields.Unique] = Field(  # type: ignore[valid-type]
        default=(), description="Files of a server that is there already; then nothing else is given here."
    )


class PutEntry(Part):
    """What users write to the server."""

    size: Size = Field(
        default="16M", validate_default=True, description="Their size; the median where it varies."
    )
    sigma: float = Field(
        default=0.0, ge=0, le=4, description="Spread of a lognormal distribution of sizes; 0: all alike."
    )
    folder: _ServerPath = Field(  # type: ignore[valid-type]
        default="put", description="Where users may write on a server that is there already."
    )


def _switch(value: object) -> object:
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def _vsftpd_field(bounds: tuple[int, int] | None) -> Any:
    if bounds is None:
        switch = Annotated[bool, BeforeValidator(_switch, json_schema_input_type=bool | Literal["on", "off"])]
        return (switch | None, Field(default=None, description="`on` or `off`."))
    lowest, highest = bounds
    return (int | None, Field(default=None, ge=lowest, le=highest, description="Bytes, or how many."))


VsftpdEntry: Any = create_model(
    "VsftpdEntry",
    __base__=Part,
    __doc__="Options of vsftpd.conf(5) for the server that linewatt starts.",
    **{name: _vsftpd_field(bounds) for name, bounds in OPTIONS.items()},
)


def _any_is_none(value: object) -> object:
    return None if value == ANY_CPU else value


_Cpus = Annotated[
    fields.CpuSet | None,
    BeforeValidator(_any_is_none, json_schema_input_type=fields.CpuSet | Literal["any"] | None),
]


class UsersEntry(Part):
    """Scripted users of a file server, on any number of client hosts."""

    server: Annotated[
        Annotated[fields.HostName, Tag("host")] | Annotated[ServerEntry, Tag("ServerEntry")],
        Discriminator(lambda value: "ServerEntry" if isinstance(value, (dict, ServerEntry)) else "host"),
    ] = Field(
        examples=["dut"],
        description="A host, where linewatt starts a vsftpd and removes it again; or `{url: …}` of a server.",
    )
    clients: (
        Annotated[tuple[fields.HostName, ...], Field(min_length=1), fields.AsTuple, fields.Unique] | None
    ) = Field(default=None, description="Hosts on which users run, all in one group.")
    groups: dict[fields.HostName, GroupEntry] | None = Field(
        default=None,
        examples=["{port1: {clients: [c1, c2], server: eth1}}"],
        description="Clients in groups, each with a port of the server; in place of `clients`.",
    )
    users: int = Field(ge=1, le=MAX_USERS, examples=[300], description="How many, evenly over all clients.")
    get: GetEntry = Field(default_factory=GetEntry, description="Files that users get.")
    put: PutEntry = Field(default_factory=PutEntry, description="Files that users put.")
    get_share: Share = Field(
        default="50%",
        validate_default=True,
        description='Transfers that are gets, evenly spread; "50%" alternates.',
    )
    think: Duration = Field(
        default="0s", validate_default=True, description="Pause between two transfers of a user."
    )
    think_kind: ThinkKind = Field(default="fixed", description="Whether that pause varies.")
    login_per: LoginPer = Field(
        default="session", description="`session`: log in once. `cycle`: log out after `cycle_transfers`."
    )
    cycle_transfers: int = Field(
        default=2, ge=1, description="Transfers of one login with `login_per: cycle`."
    )
    checked: Share = Field(
        default="1%",
        validate_default=True,
        description="Transfers whose content is compared, not only the size.",
    )
    start: Start = Field(
        default="independent",
        description="`independent`: each at random within `spread`. `ramped`: one after the other. "
        "`synchronised`: all log in, then begin at once.",
    )
    spread: Duration = Field(default="1s", validate_default=True, description="Over how long users begin.")
    arrival_rate: float | None = Field(
        default=None,
        gt=0,
        description="Transfers a second of an open loop, all users together; left out: a closed loop.",
    )
    seed: int = Field(default=1, ge=0, le=2**53, description="Of every choice that users make.")
    discard: Discard = Field(
        default="kernel",
        description="Where received bytes end: dropped in the kernel, or copied to the user.",
    )
    sustained_at: fields.Rate | None = Field(
        default=None, description='Rate that a user must reach to count as sustained, such as "1M".'
    )
    folder: _Folder = Field(  # type: ignore[valid-type]
        default="/dev/shm",  # noqa: S108  a name of linewatt's own is made below it
        description="Directory of the server below which its files are made.",
    )
    port: int = Field(default=2121, ge=1, le=65535, description="Port of the server that linewatt starts.")
    passive_ports: fields.Ports = Field(
        default="20000-29999", validate_default=True, description="Its ports for data connections."
    )
    max_clients: int = Field(default=0, ge=0, description="Logins that it allows at once; 0: any number.")
    vsftpd: VsftpdEntry = Field(
        default=VsftpdEntry(),
        examples=["{use_sendfile: off}"],
        description="Options of vsftpd.conf(5) for it; what is left out is as docs/users.md says.",
    )
    server_cpus: _Cpus = Field(
        default=None, examples=["0-3"], description="CPUs of that server's processes; left out: any."
    )
    client_cpus: _Cpus = Field(
        default=None,
        examples=["0"],
        description="CPUs of the users' process on each client; left out: any.",
    )
    python: fields.FilePath | None = Field(
        default=None,
        description="Python on the clients with linewatt[users], in place of what `linewatt prepare` made.",
    )


USERS_FIELD = (
    UsersEntry | None,
    Field(
        default=None, description="Scripted users of a file server, throughout the soak; see docs/users.md."
    ),
)


def users_of(entry: UsersEntry, password_file: str | None) -> Users:
    """The users as the rest of the house sees them; ``password_file`` is resolved."""
    return Users(
        server=_server(entry, password_file),
        groups=groups_of(entry),
        users=entry.users,
        get=Sizes(entry.get.files, entry.get.size, entry.get.sigma),
        get_paths=entry.get.paths,
        put=Sizes(entry.get.files, entry.put.size, entry.put.sigma),
        put_folder=entry.put.folder,
        think=entry.think_kind,
        think_s=entry.think,
        checked_share=entry.checked,
        spread_s=entry.spread,
        arrival_rate_hz=entry.arrival_rate,
        sustained_bps=entry.sustained_at,
        **{name: getattr(entry, name) for name in _AS_WRITTEN},
    )


_AS_WRITTEN = (
    "get_share",
    "login_per",
    "cycle_transfers",
    "start",
    "seed",
    "discard",
    "python",
    "client_cpus",
)


def _server(entry: UsersEntry, password_file: str | None) -> OwnServer | OtherServer:
    if isinstance(entry.server, ServerEntry):
        return OtherServer(entry.server.url, entry.server.password_env, password_file)
    ports = entry.port, entry.passive_ports
    options = options_of(entry.vsftpd)
    return OwnServer(entry.server, entry.folder, *ports, entry.max_clients, options, entry.server_cpus)


def options_of(entry: Any) -> tuple[tuple[str, str], ...]:
    """Options of vsftpd as the file names them, sorted."""
    named = ((name, value) for name, value in sorted(dict(entry).items()) if value is not None)
    return tuple(
        (name, str(value) if not isinstance(value, bool) else _ON_OFF[value]) for name, value in named
    )


_ON_OFF = {True: "on", False: "off"}


def groups_of(entry: UsersEntry) -> tuple[Group, ...]:
    """The groups; clients without any are one."""
    if entry.groups is None:
        return (Group(ONE_GROUP, entry.clients or ()),)
    return tuple(
        Group(name, group.clients, group.server, group.switch) for name, group in entry.groups.items()
    )


_OF_OWN_SERVER = ("folder", "port", "passive_ports", "max_clients", "vsftpd", "server_cpus")


def check_users(users: UsersEntry, host_names: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    """What contradicts itself in users, whatever they are for."""
    if (users.clients is None) == (users.groups is None):
        yield ("users",), "needs one of clients and groups: the hosts on which users run"
        return
    yield from _check_names(users, host_names)
    clients = sum(len(group.clients) for group in groups_of(users))
    if users.users < clients:
        yield ("users", "users"), f"{users.users} cannot be on {clients} clients; name at least one for each"
    if isinstance(users.server, ServerEntry):
        yield from _check_other(users, users.server)
    elif users.get.paths:
        yield ("users", "get", "paths"), "are of a server that is there already; give files and size"


def _check_names(users: UsersEntry, host_names: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(users.server, str) and users.server not in host_names:
        yield ("users", "server"), f"there is no host {users.server}; {suggest(users.server, host_names)}"
    client_counts = Counter(name for group in groups_of(users) for name in group.clients)
    for name, times in client_counts.items():
        at: KeyPath = ("users", "clients" if users.groups is None else "groups")
        if name not in host_names:
            yield at, f"there is no host {name}; {suggest(name, host_names)}"
        elif name == users.server:
            yield at, f"{name} is the server; users run on other hosts"
        elif times > 1:
            yield at, f"{name} is in {times} groups; name it in one"


def _check_other(users: UsersEntry, server: ServerEntry) -> Iterator[tuple[KeyPath, str]]:
    anonymous = False
    try:
        anonymous = parse_url(server.url).is_anonymous
    except InvalidInput as error:
        yield ("users", "server", "url"), str(error)
    named = [
        password_source
        for password_source in (server.password_env, server.password_file)
        if password_source is not None
    ]
    if len(named) > 1 or not (named or anonymous):
        yield ("users", "server"), "needs one of password_env and password_file"
    if users.get_share > 0 and not users.get.paths:
        yield ("users", "get"), "paths is missing; name files of the server, or set get_share to 0%"
    for group in groups_of(users):
        if group.server is not None and not is_ip(group.server):
            text = "must be an address of the server: which interfaces it has is not looked at beside a url"
            yield ("users", "groups", group.name, "server"), text
    for name in _OF_OWN_SERVER:
        if name in users.model_fields_set:
            yield ("users", name), "is of a server that linewatt starts; take it out beside a url"
