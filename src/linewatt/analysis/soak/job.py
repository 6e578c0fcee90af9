# SPDX-License-Identifier: Apache-2.0
"""What a soak was asked to do, apart from where: which soaks are repetitions of one another. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linewatt.loads.registry import DEFAULT, SOAKING
from linewatt.units import format_percent, format_rate, format_seconds

SoakCode = Literal["job", "server", "network", "window"]
"""what of a job refuses a verdict where it differs; ``--allow`` may name it"""
Campaign = Mapping[str, Any]
"""as a manifest has it"""
DRIFT, SUSTAINED = "drift_ratio_per_day", "sustained_ratio"
"""quantities that hang on what is no part of a job"""


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a campaign asks of a soak.

    ``read`` gives it as JSON knows it, ``None`` where it is not on record. It is part of the job unless only
    ``responses`` hang on it; without a ``code`` it is just listed.
    """

    name: str
    title: str
    code: SoakCode | None
    read: Callable[[Campaign], Any]
    show: Callable[[Any], str] = str
    responses: tuple[str, ...] | None = None

    @property
    def is_job(self) -> bool:
        return self.code is not None and self.responses is None


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked of a soak. ``server`` is the name or address of what served, ``None`` without users;
    ``hosts`` are the server first, then clients in the order of their groups, then those of a load beside."""

    parameters: Mapping[str, Any]
    server: str | None
    hosts: tuple[str, ...]

    def __hash__(self) -> int:
        return hash((self.key, self.hosts))

    @property
    def key(self) -> str:
        """Stable 12-digit hash of :attr:`parameters`; the same on every host, kernel and year."""
        text = json.dumps(self.parameters, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(f"soak:{text}".encode()).hexdigest()[:12]

    @property
    def under_test(self) -> tuple[str, ...]:
        """Hosts whose change makes another course: the server; without one all that the load ran on."""
        return self.hosts if self.server is None else (self.server,)


def job_of(campaign: Campaign) -> Job:
    """The job of a soak's campaign."""
    found = {one.name: one.read(campaign) for one in ASKED if one.is_job}
    parameters = {name: value for name, value in found.items() if value is not None}
    return Job(parameters, _server_name(campaign), tuple(dict.fromkeys(_hosts(campaign))))


def host_pairs(base: Job, other: Job) -> tuple[tuple[str, str], ...]:
    """Which host stands for which: server for server, and the others by name if all names are the same, by
    their order if there are as many, else those whose names both have."""
    pairs, own, theirs = [], list(base.hosts), list(other.hosts)
    if own and theirs and own[0] == base.server and theirs[0] == other.server:
        pairs.append((own.pop(0), theirs.pop(0)))
    if len(own) == len(theirs) and set(own) != set(theirs):
        return (*pairs, *zip(own, theirs, strict=True))
    return (*pairs, *((name, name) for name in own if name in theirs))


def users_of(campaign: Campaign) -> Mapping[str, Any]:
    """The users of a campaign; empty without any."""
    return campaign.get("users") or {}


def clients_of(campaign: Campaign) -> tuple[str, ...]:
    """Hosts on which users ran, in the order of their groups."""
    return tuple(dict.fromkeys(name for group in _groups(campaign) for name in group.get("clients") or ()))


def _groups(campaign: Campaign) -> Sequence[Mapping[str, Any]]:
    return users_of(campaign).get("groups") or ()


def _hosts(campaign: Campaign) -> Iterator[str]:
    server = _server(campaign)
    if server.get("host"):
        yield str(server["host"])
    yield from clients_of(campaign)
    for pair in campaign.get("pairs") or ():
        yield from map(str, pair)


def _server(campaign: Campaign) -> Mapping[str, Any]:
    return users_of(campaign).get("server") or {}


def _server_name(campaign: Campaign) -> str | None:
    server = _server(campaign)
    found = server.get("host") or server.get("url")
    return None if found is None else str(found)


def _server_kind(campaign: Campaign) -> str | None:
    server = _server(campaign)
    if not server:
        return None
    return "one that was there already" if "url" in server else "one that linewatt starts"


def _clients(campaign: Campaign) -> list[int] | None:
    return [len(group.get("clients") or ()) for group in _groups(campaign)] or None


def _network(campaign: Campaign) -> str | None:
    networks = campaign.get("networks") or ()
    return str(networks[0]) if networks else None


def _users(campaign: Campaign) -> Any:
    """How many; 0 where the campaign says that there are none."""
    return users_of(campaign).get("users") if users_of(campaign) else 0 if "users" in campaign else None


def _arrival_rate(campaign: Campaign) -> Any:
    """Transfers a second; 0 is a closed loop."""
    users = users_of(campaign)
    return (users["arrival_rate_hz"] or 0.0) if "arrival_rate_hz" in users else None


def _rate_text(rate_hz: float) -> str:
    return f"{rate_hz:g}/s" if rate_hz else "a closed loop"


def _tests(load: str) -> Callable[[Campaign], Any]:
    def read(campaign: Campaign) -> Any:
        own = campaign.get("load", DEFAULT) == load
        return list(campaign["tests"]) if own and "tests" in campaign else None

    return read


def _of_users(*path: str) -> Callable[[Campaign], Any]:
    def read(campaign: Campaign) -> Any:
        found: Any = users_of(campaign)
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return list(found) if isinstance(found, tuple) else found

    return read


def _of_load(load: str) -> Iterator[Asked]:
    """What only means something where this load has tests."""

    def own(read: Callable[[Campaign], Any]) -> Callable[[Campaign], Any]:
        return lambda campaign: read(campaign) if _tests(load)(campaign) else None

    yield Asked(load, f"tests of {load}", "job", _tests(load), _test_text)
    yield Asked(f"{load}_pairs", f"pairs of {load}", "job", own(lambda one: len(one.get("pairs") or ())))
    yield Asked(f"{load}_directions", "directions", "job", own(lambda one: one.get("directions")), _plain)
    yield Asked(f"{load}_families", "families", "job", own(lambda one: one.get("families")), _plain)
    yield Asked(f"{load}_concurrent", "pairs at once", "job", own(lambda one: one.get("concurrent_pairs")))
    yield Asked(f"{load}_segment_s", "segment", "window", own(_of_soak("segment_s")), format_seconds)


def _of_soak(name: str) -> Callable[[Campaign], Any]:
    return lambda campaign: (campaign.get("soak") or {}).get(name)


def _test_text(tests: Sequence[Mapping[str, Any]]) -> str:
    said = (" ".join(f"{name}={_plain(value)}" for name, value in one.items()) for one in tests)
    return "; ".join(said) or "none"


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _size(value: float) -> str:
    return f"{value:,.0f} B"


def _share(value: float) -> str:
    return format_percent(value, 1)


def _by_group(value: Sequence[int]) -> str:
    return " + ".join(map(str, value))


ASKED: tuple[Asked, ...] = (
    Asked("duration_s", "duration", "window", _of_soak("duration_s"), format_seconds),
    Asked("interval_s", "slices", "window", _of_soak("interval_s"), format_seconds, (DRIFT,)),
    Asked("network", "network", "network", _network),
    Asked("users", "users", "job", _users),
    Asked("clients", "clients by group", "job", _clients, _by_group),
    Asked("get_files", "files to get", "job", _of_users("get", "count")),
    Asked("get_bytes", "size of gets", "job", _of_users("get", "median_bytes"), _size),
    Asked("get_sigma", "spread of the sizes of gets", "job", _of_users("get", "sigma"), _plain),
    Asked("get_paths", "files to get", "job", _of_users("get_paths"), _plain),
    Asked("put_bytes", "size of puts", "job", _of_users("put", "median_bytes"), _size),
    Asked("put_sigma", "spread of the sizes of puts", "job", _of_users("put", "sigma"), _plain),
    Asked("get_share_ratio", "share of gets", "job", _of_users("get_share"), _share),
    Asked("think_s", "think time", "job", _of_users("think_s"), format_seconds),
    Asked("think", "kind of think time", "job", _of_users("think")),
    Asked("login_per", "login per", "job", _of_users("login_per")),
    Asked("cycle_transfers", "transfers of a login", "job", _of_users("cycle_transfers")),
    Asked("checked_ratio", "share whose content is checked", "job", _of_users("checked_share"), _share),
    Asked("start", "start", "job", _of_users("start")),
    Asked("spread_s", "spread of the start", "job", _of_users("spread_s"), format_seconds),
    Asked("arrival_rate_hz", "arrival rate", "job", _arrival_rate, _rate_text),
    Asked("discard", "where received bytes end", "job", _of_users("discard")),
    Asked("server", "server", "server", _server_kind),
    Asked("server_folder", "folder of the server", "server", _of_users("server", "folder")),
    Asked("server_logins", "logins the server allows", "server", _of_users("server", "max_clients")),
    *(asked for load in SOAKING for asked in _of_load(load)),
    Asked(
        "sustained_at_bps",
        "rate from which a user is sustained",
        "job",
        _of_users("sustained_bps"),
        format_rate,
        (SUSTAINED,),
    ),
    Asked("seed", "seed", None, _of_users("seed")),
    Asked("server_port", "port of the server", None, _of_users("server", "port")),
    Asked("server_passive_ports", "passive ports", None, _of_users("server", "passive_ports"), _plain),
)
"""In the order in which differences are told. One that is added later and is part of the job is left out
(``None``) where it is what was done before, so that keys stay."""
