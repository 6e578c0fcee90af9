# SPDX-License-Identifier: Apache-2.0
"""What of users an experiment may vary: ``users.<key>``, as the key stands below ``users`` in the file. Pure.

Beside these ``users.file_size`` is the size of gets and of puts at once, and ``users.vsftpd.<option>`` an
option of the server that linewatt starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from linewatt.campaign import Setting, suggest
from linewatt.errors import InvalidInput
from linewatt.features.users.entries import ANY_CPU, GetEntry, PutEntry, UsersEntry
from linewatt.features.users.model import OwnServer, Users
from linewatt.features.users.worker import server_vsftpd
from linewatt.hosts.facts import format_cpulist

PREFIX = "users."
SPREAD = f"{PREFIX}spread"
START = f"{PREFIX}start"
ARRIVAL_RATE = f"{PREFIX}arrival_rate"
THINK = f"{PREFIX}think"
USERS = f"{PREFIX}users"
SERVER_CPUS = f"{PREFIX}server_cpus"
_VSFTPD = "vsftpd."
_UNSET = "none"


def _size(value: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)


def _number(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _seconds(value: float) -> str:
    return f"{_number(value)}s"


def _cpus(cpus: tuple[int, ...] | None) -> str:
    return format_cpulist(cpus) if cpus else ANY_CPU


def _percent(value: float) -> str:
    return f"{_number(100 * value)}%"


@dataclass(frozen=True, slots=True)
class _Factor:
    """``entry`` and ``key`` are where its values are declared; ``into`` is its field of :class:`Users`."""

    entry: Any
    key: str
    into: str
    text: Callable[[Any], str] = _number
    within: tuple[str, ...] = ()
    """parts of users that the field is of, each of them"""

    @property
    def kind(self) -> TypeAdapter[Any]:
        field = self.entry.model_fields[self.key]
        kind: Any = Annotated[(field.annotation, self.key, *field.metadata)]
        return TypeAdapter(kind)

    def of(self, users: Users) -> str:
        """What users have of it, as a level is written; what is not set is ``none``."""
        value = getattr(getattr(users, self.within[0]) if self.within else users, self.into)
        return _UNSET if value is None else self.text(value)

    def put(self, users: Users, value: Any) -> Users:
        if not self.within:
            return replace(users, **{self.into: value})
        parts = {part: replace(getattr(users, part), **{self.into: value}) for part in self.within}
        return replace(users, **parts)


_FACTORS = {
    "users": _Factor(UsersEntry, "users", "users"),
    "file_size": _Factor(GetEntry, "size", "median_bytes", _size, ("get", "put")),
    "get.size": _Factor(GetEntry, "size", "median_bytes", _size, ("get",)),
    "get.files": _Factor(GetEntry, "files", "count", within=("get", "put")),
    "get.sigma": _Factor(GetEntry, "sigma", "sigma", within=("get",)),
    "put.size": _Factor(PutEntry, "size", "median_bytes", _size, ("put",)),
    "put.sigma": _Factor(PutEntry, "sigma", "sigma", within=("put",)),
    "get_share": _Factor(UsersEntry, "get_share", "get_share", _percent),
    "think": _Factor(UsersEntry, "think", "think_s", _seconds),
    "think_kind": _Factor(UsersEntry, "think_kind", "think"),
    "login_per": _Factor(UsersEntry, "login_per", "login_per"),
    "cycle_transfers": _Factor(UsersEntry, "cycle_transfers", "cycle_transfers"),
    "checked": _Factor(UsersEntry, "checked", "checked_share", _percent),
    "start": _Factor(UsersEntry, "start", "start"),
    "spread": _Factor(UsersEntry, "spread", "spread_s", _seconds),
    "arrival_rate": _Factor(UsersEntry, "arrival_rate", "arrival_rate_hz"),
    "discard": _Factor(UsersEntry, "discard", "discard"),
    "max_clients": _Factor(UsersEntry, "max_clients", "max_clients", within=("server",)),
    "server_cpus": _Factor(UsersEntry, "server_cpus", "cpus", _cpus, within=("server",)),
    "client_cpus": _Factor(UsersEntry, "client_cpus", "client_cpus", _cpus),
}
_ADDED_LATER = frozenset({"server_cpus", "client_cpus"})
"""left out of what is the same in trials where they are not set: keys of cases stay"""
NAMES = (
    *(f"{PREFIX}{name}" for name in _FACTORS),
    *(f"{PREFIX}{_VSFTPD}{option}" for option in server_vsftpd.OPTIONS),
)


def is_of_users(name: str) -> bool:
    """Whether a factor is of users, or of the server that they use."""
    return name.startswith(PREFIX)


@cache
def value_of(name: str, text: str) -> Any:
    """What a level is. Raises InvalidInput: no such factor, no such level."""
    short_name = name.removeprefix(PREFIX)
    if short_name.startswith(_VSFTPD):
        return server_vsftpd.option(short_name.removeprefix(_VSFTPD), text)
    factor = _FACTORS.get(short_name)
    if factor is None:
        raise InvalidInput(f"users have no {short_name!r} to vary; {suggest(name, NAMES)}")
    why = ""
    for written in (_as_written(text), text):
        try:
            return factor.kind.validate_python(written, strict=True)
        except ValidationError as error:
            why = why or str(error.errors(include_url=False)[0]["msg"]).removeprefix("Value error, ")
    raise InvalidInput(f"{text!r} is not a level of {name}: {why[:1].lower()}{why[1:]}")


def _as_written(text: str) -> object:
    """A level as YAML would have it: numbers are numbers."""
    if re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        return int(text)
    return float(text) if re.fullmatch(r"[0-9]{1,18}\.[0-9]{1,18}", text, re.ASCII) else text


def check(name: str, text: str) -> str:
    """A level in its one spelling. Raises InvalidInput."""
    value = value_of(name, text)
    factor = _FACTORS.get(name.removeprefix(PREFIX))
    return str(value) if factor is None else factor.text(value)


def applied(users: Users, setting: Iterable[tuple[str, str]]) -> Users:
    """The users with the levels of a setting; what is not of users is left out. Raises InvalidInput."""
    for name, level in setting:
        if not is_of_users(name):
            continue
        short_name, value = name.removeprefix(PREFIX), value_of(name, level)
        if short_name.startswith(_VSFTPD):
            users = _with_option(users, short_name.removeprefix(_VSFTPD), value)
        else:
            users = _FACTORS[short_name].put(users, value)
    return users


def described(users: Users, varied: Collection[str]) -> Setting:
    """What of users makes trials of theirs the same, but for what ``varied`` factors say; sorted."""
    excluded = {*varied, f"{PREFIX}file_size"}
    if f"{PREFIX}file_size" in varied:
        excluded |= {f"{PREFIX}get.size", f"{PREFIX}put.size"}
    values_by_name = {name: factor.of(users) for name, factor in _FACTORS.items()}
    for name in _ADDED_LATER:
        if values_by_name[name] == _UNSET:
            del values_by_name[name]
    values_by_name |= {"clients": str(len(users.clients)), "seed": str(users.seed)}
    if isinstance(users.server, OwnServer):
        values_by_name |= {f"{_VSFTPD}{name}": value for name, value in users.server.options}
        values_by_name["folder"] = users.server.folder
    return tuple(
        sorted((name, value) for name, value in values_by_name.items() if f"{PREFIX}{name}" not in excluded)
    )


def _with_option(users: Users, name: str, value: str) -> Users:
    server = users.server
    if not isinstance(server, OwnServer):
        raise InvalidInput(f"vsftpd.{name} is of a server that linewatt starts")
    options = tuple(sorted({**dict(server.options), name: value}.items()))
    return replace(users, server=replace(server, options=options))
