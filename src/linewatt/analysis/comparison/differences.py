# SPDX-License-Identifier: Apache-2.0
"""How the surroundings of two sides differ: hosts fact by fact, roles mapped, and settings. Pure.

What is known to change such figures comes first. What a comparison is about is expected to differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.analysis.comparison.matching import Match, Side
from linewatt.hosts.facts.read import NOT_KNOWN, of_port
from linewatt.loads.registry import DEFAULT, LOADS

LOGIN = {"port", "user", "key_file", "known_hosts", "jump"}
"""how somebody logs in to a host"""
CONNECTION = {"facts", "name", "sudo", "limits", *LOGIN}
"""How linewatt reaches a host is no part of what was measured."""
IDENTITY = {
    "address",
    "data_ipv4",
    "data_ipv6",
    "ipv4_addresses",
    "ipv6_addresses",
    "shares_cpus_with",
    "hostname",
    "mac",
    "serial",
    "uuid",
    "machine_id",
    "boot_id",
}
"""These name a host; that they differ says nothing."""
HIDDEN = object()
SECRET = ("password", "secret", "token", "passphrase", "private_key", "community")

MATTERS = (
    *("kernel.release", "cpu.model", "cpu.microcode", "cpu.mitigations.", "cpu.governor", "cpu.boost"),
    *("cpu.no_turbo", "cpu.energy_preference", "cpu.smt", "nic.firmware", "nic.driver", "nic.driver_version"),
    *("nic.model", "nic.offloads.", "nic.mtu", "nic.speed_bps", "nic.kind", "nic.rings.", "nic.channels."),
    *("nic.coalescing.", "nic.pause.", "nic.pci_", "nic.numa_node", "nic.qdisc"),
    f"tools.{DEFAULT}",
    *("system.bios_version", "system.product", "kernel.command_line", "kernel.tuned_profile", "kernel.hz"),
    *("kernel.tuned_running", "kernel.tick_accounting", "kernel.irqbalance_running"),
    *("sysctl.", "firewall.", "host."),
    "campaign.",
    *(f"tools.{load}" for load in LOADS if load != DEFAULT),
    "table.",
)
"""facts that change what a packet costs, the first the most; one that ends in . or _ stands for all below"""
_NETWORK = ("nic.mtu", "nic.kind", "nic.qdisc", "nic.offloads.", "campaign.networks")
_EXPECTED = {
    "kernel": ("kernel.", "cpu.mitigations.", "sysctl.", "system.os", "nic.driver_version"),
    "network": _NETWORK,
}
"""what goes with a property that --by names"""
_CAMPAIGN = (
    *("placement", "smt", "steer", "order", "concurrent_pairs", "sysctl", "settings", "tail_s", "window_s"),
    *("omit_s", "idle_s", "sensors"),
)
"""keys of a campaign that say how its cases were run"""


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that two sides do not share. ``where`` names the host (or both); missing is ``None``.

    ``rank`` is its place among those that matter, ``None`` for the others; ``expected``: it goes with what
    is compared.
    """

    where: str
    fact: str
    base: str | None
    other: str | None
    rank: int | None
    expected: bool = False


def differences(
    base: Side,
    other: Side,
    matches: Sequence[Match],
    by: str | None,
    compared: tuple[str, str] | None = None,
) -> tuple[Difference, ...]:
    """What differs on the hosts of matched cases, and in how the campaigns ran; what matters first.

    A fact that only one side has on record is no difference.
    """
    pairs = tuple(dict.fromkeys(pair for one in matches for pair in one.hosts))
    return differences_of_hosts(base, other, pairs, by, compared)


def differences_of_hosts(
    base: Side,
    other: Side,
    pairs: Sequence[tuple[str, str]],
    by: str | None = None,
    compared: tuple[str, str] | None = None,
) -> tuple[Difference, ...]:
    """The same for ``pairs`` of hosts of which one stands for the other; ``by`` is of those ``compared``."""
    found: dict[tuple[str, str], Difference] = {}
    for own, theirs in pairs:
        where = own if own == theirs else f"{own} / {theirs}"
        left, right = _host(base, own), _host(other, theirs)
        for fact in dict.fromkeys([*left, *right]):
            expected = by if compared in (None, (own, theirs)) else None
            _note(found, where, fact, left.get(fact), right.get(fact), expected)
    settings = [_leaves(_campaign(side), "campaign") for side in (base, other)]
    for fact in dict.fromkeys([*settings[0], *settings[1]]):
        _note(found, "campaign", fact, settings[0].get(fact), settings[1].get(fact), by)
    return tuple(sorted(found.values(), key=_order))


def _order(one: Difference) -> tuple[bool, int, str]:
    return one.expected, len(MATTERS) if one.rank is None else one.rank, one.where


def _note(
    found: dict[tuple[str, str], Difference],
    where: str,
    fact: str,
    base: str | None,
    other: str | None,
    by: str | None,
) -> None:
    if base == other or base is None or other is None:
        return
    found[where, fact] = Difference(where, fact, base, other, rank_of(fact), is_expected(fact, by))


def digest(side: Side) -> str:
    """One text for all that matters of a campaign and its hosts: equal where none of it differs."""
    told = {
        f"{name} {fact}": text
        for name in side.hosts
        for fact, text in _host(side, name).items()
        if rank_of(fact) is not None
    }
    told |= _leaves(_campaign(side), "campaign")
    return hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest()[:16]


def rank_of(fact: str) -> int | None:
    """The place of a fact among those that matter; ``None`` for the others."""
    fact, _ = of_port(fact)
    for rank, name in enumerate(MATTERS):
        if fact == name or (name[-1] in "._" and fact.startswith(name)):
            return rank
    return None


def is_expected(fact: str, by: str | None) -> bool:
    """Whether a fact goes with what is compared."""
    if by is None:
        return False
    if by in ("host", "sender", "receiver"):
        return not fact.startswith("campaign.")
    return of_port(fact)[0].startswith(_EXPECTED.get(by, ())) or fact.rpartition(".")[2] == by


def _host(side: Side, name: str) -> dict[str, str | None]:
    host = side.hosts.get(name)
    own = {key: value for key, value in (host.said if host else {}).items() if key not in CONNECTION}
    facts = {section: found for section, found in side.facts(name).items() if section != NOT_KNOWN}
    return {**_leaves(own, "host"), **_leaves(facts, "")}


def _campaign(side: Side) -> dict[str, Any]:
    return {key: side.campaign.written[key] for key in _CAMPAIGN if key in side.campaign.written}


def _leaves(value: Any, path: str) -> dict[str, str | None]:
    """Texts of nested values by ``outer.inner``; names and secrets of hosts stay out."""
    every = leaves(value, path, lambda key: key in IDENTITY or is_secret(key))
    return {at: as_text(leaf) for at, leaf in every if leaf is not HIDDEN}


def leaves(value: Any, path: str, is_hidden: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """Leaves of nested values with their place, ``outer.inner``; what a hidden key has is one, HIDDEN."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            at = f"{path}.{key}" if path else str(key)
            if is_hidden(str(key)):
                yield at, HIDDEN
            else:
                yield from leaves(inner, at, is_hidden)
    elif isinstance(value, (list, tuple)) and any(isinstance(one, (Mapping, list, tuple)) for one in value):
        for number, inner in enumerate(value, start=1):
            yield from leaves(inner, f"{path}.{number}" if path else str(number), is_hidden)
    else:
        yield path, value


def is_secret(key: str) -> bool:
    """Whether what is called so may be a secret."""
    return any(word in key.lower() for word in SECRET)


def as_text(value: Any) -> str | None:
    """A fact in words; None where there is none."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return str(value)
