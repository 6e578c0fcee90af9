# SPDX-License-Identifier: Apache-2.0
"""What a soak was asked to do, apart from where: which soaks are repetitions of one another. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linewatt.analysis.comparison import Task
from linewatt.declare import ANYTHING, TEXT, Keys, listing, maybe, table
from linewatt.declare import said as described
from linewatt.hosts.facts import format_cpulist
from linewatt.loads import DEFAULT_LOAD, SOAKING_LOADS
from linewatt.records import Campaign, UserServer
from linewatt.units import format_given_rate, format_percent, format_rate, format_seconds

SoakCode = Literal["job", "server", "network", "window"]
"""what of a job refuses a verdict where it differs; ``--allow`` may name it"""
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
    def test(self) -> str:
        return "soak"

    @property
    def title(self) -> str:
        """``soak of 48 h, 300 users on 96 clients, server dut``."""
        parts = [f"soak of {format_seconds(self.parameters.get('duration_s'))}"]
        if self.server is not None:
            users, clients = self.parameters.get("users", 0), sum(self.parameters.get("clients", ()))
            parts.append(f"{_count(users, 'user')} on {_count(clients, 'client')}")
            parts.append(f"server {self.server}")
        for load in SOAKING_LOADS:
            if self.parameters.get(load):
                parts.append(load if self.server is not None else f"{load} on {', '.join(self.hosts)}")
        return ", ".join(parts)

    @property
    def hosts_under_test(self) -> tuple[str, ...]:
        """The server; without one all that the load ran on."""
        return self.hosts if self.server is None else (self.server,)

    def pairs_with(self, other: Task) -> tuple[tuple[str, str], ...]:
        """Server for server, and the others by name if all names are the same, by their order if there are
        as many, else those whose names both have."""
        pairs, hosts, other_hosts = [], list(self.hosts), list(other.hosts)
        other_server = other.server if isinstance(other, Job) else None
        if (self.server, other_server) == (*hosts[:1], *other_hosts[:1]):
            pairs.append((hosts.pop(0), other_hosts.pop(0)))
        if len(hosts) == len(other_hosts) and set(hosts) != set(other_hosts):
            return (*pairs, *zip(hosts, other_hosts, strict=True))
        return (*pairs, *((name, name) for name in hosts if name in other_hosts))

    def document(self) -> dict[str, Any]:
        return {
            "job_key": self.key,
            "server": self.server,
            "hosts": list(self.hosts),
            "job": dict(self.parameters),
        }


DOCUMENT_KEYS: Keys = {
    "job_key": described(TEXT, "Stable hash of what a soak was asked to do."),
    "server": maybe(TEXT),
    "hosts": listing(TEXT),
    "job": table(ANYTHING),
}
"""of :meth:`Job.document`"""


def job_of(campaign: Campaign) -> Job:
    """The job of a soak's campaign."""
    values = {question.name: question.read(campaign) for question in ASKED if question.is_job}
    parameters = {name: value for name, value in values.items() if value is not None}
    return Job(parameters, _server_name(campaign), tuple(dict.fromkeys(_hosts(campaign))))


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _hosts(campaign: Campaign) -> Iterator[str]:
    if campaign.users is not None:
        if campaign.users.server.host:
            yield campaign.users.server.host
        yield from campaign.users.clients
    yield from campaign.paired


def _server_name(campaign: Campaign) -> str | None:
    server = campaign.users.server if campaign.users else UserServer()
    return server.host or server.url


def _server_kind(campaign: Campaign) -> str | None:
    server = campaign.users.server if campaign.users else UserServer()
    if server.url is not None:
        return "one that was there already"
    return None if server.host is None else "one that linewatt starts"


def _clients(campaign: Campaign) -> list[int] | None:
    return [len(group.clients) for group in campaign.users.groups] or None if campaign.users else None


def _network(campaign: Campaign) -> str | None:
    return next(iter(campaign.networks), None)


def _users(campaign: Campaign) -> int | None:
    """How many; 0 where the campaign says that there are none."""
    return campaign.users.users if campaign.users else 0 if "users" in campaign.model_fields_set else None


def _arrival_rate(campaign: Campaign) -> float | None:
    """Transfers a second; 0 is a closed loop."""
    users = campaign.users
    return (users.arrival_rate_hz or 0.0) if users and "arrival_rate_hz" in users.model_fields_set else None


def _options(campaign: Campaign) -> list[str] | None:
    """As they are written in vsftpd.conf; ``None`` where all are as they would be."""
    options = _of("users", "server", "options")(campaign) or ()
    return [f"{name}={value}" for name, value in options] or None


def _rate_text(rate_hz: float) -> str:
    return f"{rate_hz:g}/s" if rate_hz else "a closed loop"


def _of(*path: str) -> Callable[[Campaign], Any]:
    """What is on record at a path of the campaign."""

    def read(campaign: Campaign) -> Any:
        value: Any = campaign
        for name in path:
            value = None if value is None else getattr(value, name)
        return value

    return read


def _of_load(load: str) -> Iterator[Asked]:
    """What only means something where this load has tests."""

    def own(read: Callable[[Campaign], Any]) -> Callable[[Campaign], Any]:
        return lambda campaign: read(campaign) if tests(campaign) else None

    def tests(campaign: Campaign) -> Any:
        return campaign.written.get("tests") if (campaign.load or DEFAULT_LOAD) == load else None

    yield Asked(load, f"tests of {load}", "job", tests, _test_text)
    yield Asked(f"{load}_pairs", f"pairs of {load}", "job", own(lambda campaign: len(campaign.pairs)))
    yield Asked(f"{load}_directions", "directions", "job", own(_of("directions")), _plain)
    yield Asked(f"{load}_families", "families", "job", own(_of("families")), _plain)
    yield Asked(f"{load}_concurrent", "pairs at once", "job", own(_of("concurrent_pairs")))
    yield Asked(f"{load}_segment_s", "segment", "window", own(_of("soak", "segment_s")), format_seconds)


def _test_text(tests: Sequence[Mapping[str, Any]]) -> str:
    texts = (" ".join(_named(name, value) for name, value in test.items()) for test in tests)
    return "; ".join(texts) or "none"


def _named(name: str, value: Any) -> str:
    if name == "rate_bps" and (value is None or isinstance(value, (int, float))):
        return f"rate={'unlimited' if value is None else format_given_rate(value)}"
    return f"{name}={_plain(value)}"


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
    Asked("duration_s", "duration", "window", _of("soak", "duration_s"), format_seconds),
    Asked("interval_s", "slices", "window", _of("soak", "interval_s"), format_seconds, (DRIFT,)),
    Asked("network", "network", "network", _network),
    Asked("users", "users", "job", _users),
    Asked("clients", "clients by group", "job", _clients, _by_group),
    Asked("get_files", "files to get", "job", _of("users", "get", "count")),
    Asked("get_bytes", "size of gets", "job", _of("users", "get", "median_bytes"), _size),
    Asked("get_sigma", "spread of the sizes of gets", "job", _of("users", "get", "sigma"), _plain),
    Asked("get_paths", "files to get", "job", _of("users", "get_paths"), _plain),
    Asked("put_bytes", "size of puts", "job", _of("users", "put", "median_bytes"), _size),
    Asked("put_sigma", "spread of the sizes of puts", "job", _of("users", "put", "sigma"), _plain),
    Asked("get_share_ratio", "share of gets", "job", _of("users", "get_share"), _share),
    Asked("think_s", "think time", "job", _of("users", "think_s"), format_seconds),
    Asked("think", "kind of think time", "job", _of("users", "think")),
    Asked("login_per", "login per", "job", _of("users", "login_per")),
    Asked("cycle_transfers", "transfers of a login", "job", _of("users", "cycle_transfers")),
    Asked("checked_ratio", "share whose content is checked", "job", _of("users", "checked_share"), _share),
    Asked("start", "start", "job", _of("users", "start")),
    Asked("spread_s", "spread of the start", "job", _of("users", "spread_s"), format_seconds),
    Asked("arrival_rate_hz", "arrival rate", "job", _arrival_rate, _rate_text),
    Asked("discard", "where received bytes end", "job", _of("users", "discard")),
    Asked("server", "server", "server", _server_kind),
    Asked("server_folder", "folder of the server", "server", _of("users", "server", "folder")),
    Asked("server_logins", "logins the server allows", "server", _of("users", "server", "max_clients")),
    Asked("server_options", "options of vsftpd", "job", _options, ", ".join),
    Asked("server_cpus", "CPUs of the server", "job", _of("users", "server", "cpus"), format_cpulist),
    Asked("client_cpus", "CPUs of users on each client", "job", _of("users", "client_cpus"), format_cpulist),
    *(question for load in SOAKING_LOADS for question in _of_load(load)),
    Asked(
        "sustained_at_bps",
        "rate from which a user is sustained",
        "job",
        _of("users", "sustained_bps"),
        format_rate,
        (SUSTAINED,),
    ),
    Asked("seed", "seed", None, _of("users", "seed")),
    Asked("server_port", "port of the server", None, _of("users", "server", "port")),
    Asked("server_passive_ports", "passive ports", None, _of("users", "server", "passive_ports"), _plain),
)
"""In the order in which differences are told. One that is added later and is part of the job is left out
(``None``) where it is what was done before, so that keys stay."""
