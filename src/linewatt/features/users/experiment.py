# SPDX-License-Identifier: Apache-2.0
"""Trials of users with factors: what of a campaign file contradicts itself in them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from linewatt.campaign import PLACEMENT_FACTOR, ZEROCOPY_FACTOR, settings_of_design
from linewatt.campaign.entries import BARE_NETWORK, CampaignFile, levels_of_factors
from linewatt.document import AboutKey, KeyPath
from linewatt.errors import LinewattError
from linewatt.features.users.entries import ServerEntry, UsersEntry, check_users, groups_of
from linewatt.features.users.factors import PREFIX, SERVER_CPUS, SPREAD, START, USERS, value_of
from linewatt.hosts.facts import format_cpulist
from linewatt.loads import load_of_prefix
from linewatt.tuning import ALL_CPUS, CPUS_ONLINE, switched_off

_OF_TESTS = (
    *("tests", "pairs", "directions", "instances", "streams", "rate", "search", "zerocopy", "load"),
    *("load_levels", "ports", "smt", "steer", "concurrent_pairs"),
)
_OWN_PLACEMENT = (
    "chooses CPUs for each process of a test; for users write users.server_cpus, users.client_cpus, and the "
    "settings or factors irq_affinity and cpus_online"
)


def check_experiment(
    entry: CampaignFile, users: UsersEntry, host_names: Collection[str]
) -> Iterator[tuple[KeyPath, str]]:
    """Users as the load of trials."""
    if not entry.factors:
        text = 'is missing; say how long users work, such as "48h", or name factors to vary in trials'
        yield ("soak",), AboutKey(text)
        return
    yield from _of_tests(entry)
    if entry.networks != (BARE_NETWORK,):
        yield ("networks",), "an experiment on users has bare interfaces; take it out"
    yield from check_users(users, host_names)
    if isinstance(users.server, ServerEntry):
        yield ("users", "server"), "an experiment measures the server, too; name the host of one"
    yield from _check_levels(entry, users)


def _of_tests(entry: CampaignFile) -> Iterator[tuple[KeyPath, str]]:
    """Keys and factors that say nothing where users are the load."""
    for name in _OF_TESTS:
        if name in entry.model_fields_set:
            yield (name,), "is of tests between pairs, and users are the load of these trials; take it out"
    if "placement" in entry.model_fields_set:
        yield ("placement",), _OWN_PLACEMENT
    for name in entry.factors:
        if name == PLACEMENT_FACTOR:
            yield ("factors", name), _OWN_PLACEMENT
        elif name == ZEROCOPY_FACTOR or load_of_prefix(name):
            text = f"is of the processes of a load; users have {PREFIX}<key>, and hosts every knob"
            yield ("factors", name), text


def _check_levels(entry: CampaignFile, users: UsersEntry) -> Iterator[tuple[KeyPath, str]]:
    """Levels that no number of clients, and no window, can meet."""
    clients = sum(len(group.clients) for group in groups_of(users))
    for index, level in enumerate(_values(entry, USERS)):
        if level < clients:
            text = f"{level} users cannot be on {clients} clients; name at least one for each"
            yield ("factors", USERS, index), text
    yield from _check_online(entry, users)
    beginning_s = [spread_s for start, spread_s in _beginnings(entry, users) if start != "synchronised"]
    if max(beginning_s, default=0.0) > entry.window.omit:
        text = f"must be at least users.spread, {max(beginning_s):g} s: until then users are still beginning"
        yield ("window", "omit"), text


def _check_online(entry: CampaignFile, users: UsersEntry) -> Iterator[tuple[KeyPath, str]]:
    """CPUs of the server that a setting of the experiment has offline."""
    path: KeyPath = ("factors", SERVER_CPUS) if SERVER_CPUS in entry.factors else ("users", "server_cpus")
    for levels in _settings_of(entry, SERVER_CPUS, CPUS_ONLINE):
        with suppress(LinewattError):  # told by check_factors
            server_cpus = value_of(SERVER_CPUS, levels[SERVER_CPUS]) if SERVER_CPUS in levels else None
            online = levels.get(CPUS_ONLINE, ALL_CPUS)
            if offline := switched_off(online, server_cpus or users.server_cpus or ()):
                yield path, f"CPU {format_cpulist(offline)} is offline at {CPUS_ONLINE}={online}; name others"
                return


def _settings_of(entry: CampaignFile, *names: str) -> Iterator[Mapping[str, str]]:
    """The levels of some factors that are run together: a fraction has each two levels of two factors."""
    design = entry.design if entry.design == "one-at-a-time" else "full"
    levels_by_name = {name: levels for name, levels in levels_of_factors(entry).items() if name in names}
    yield from map(dict, settings_of_design(levels_by_name, design))


def _beginnings(entry: CampaignFile, users: UsersEntry) -> Iterator[tuple[str, float]]:
    """Every start with every spread that is run."""
    for setting in _settings_of(entry, START, SPREAD):
        with suppress(LinewattError):  # told by check_factors
            levels = {name: value_of(name, level) for name, level in setting.items()}
            yield levels.get(START, users.start), levels.get(SPREAD, users.spread)


def _values(entry: CampaignFile, name: str) -> Iterator[float]:
    for level in levels_of_factors(entry).get(name, ()):
        with suppress(LinewattError):  # told by check_factors
            yield value_of(name, level)
