# SPDX-License-Identifier: Apache-2.0
"""How the surroundings of two sides differ: hosts fact by fact, roles mapped, and settings. Pure.

What is known to change such figures comes first. What a comparison is about is expected to differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.analysis.comparison.case_runs import CaseRuns
from linewatt.analysis.comparison.matching import Match, Side
from linewatt.analysis.comparison.observed_settings import SETTING, in_force
from linewatt.hosts.facts import NOT_KNOWN, fact_of_port
from linewatt.loads import DEFAULT_LOAD, LOADS
from linewatt.model import Case
from linewatt.tuning import OFFLOAD_ABBREVIATIONS

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
    f"tools.{DEFAULT_LOAD}",
    *("system.bios_version", "system.product", "kernel.command_line", "kernel.tuned_profile", "kernel.hz"),
    *("kernel.tuned_running", "kernel.tick_accounting", "kernel.irqbalance_running"),
    SETTING,
    *("sysctl.", "firewall.", "host."),
    "campaign.",
    *(f"tools.{load}" for load in LOADS if load != DEFAULT_LOAD),
    "table.",
)
"""facts that change what a packet costs, the first the most; one that ends in . or _ stands for all below"""
_NETWORK = ("nic.mtu", "nic.kind", "nic.qdisc", "nic.offloads.", "campaign.networks")
_EXPECTED = {
    "kernel": ("kernel.", "cpu.mitigations.", "sysctl.", "system.os", "nic.driver_version"),
    "network": _NETWORK,
    **{knob: (f"nic.{knob}.",) for knob in ("rings", "channels", "coalescing", "pause")},
    "turbo": ("cpu.no_turbo", "cpu.boost"),
    "epp": ("cpu.energy_preference",),
    "rfs": ("sysctl.net.core.rps_sock_flow_entries",),
    "udp_gro_list": ("nic.offloads.rx-gro-list",),
    "tuned": ("nic.", "cpu.", "sysctl.", "kernel.tuned_profile"),
}
"""what goes with a property that --by names"""
_CAMPAIGN = (
    *("placement", "smt", "steer", "order", "concurrent_pairs", "sysctl", "settings", "factors", "tail_s"),
    *("window_s", "omit_s", "idle_s", "sensors"),
)
"""keys of a campaign that say how its cases were run"""
_EMPTY_UNLESS_NAMED = ("sysctl", "settings", "factors")
"""keys of a campaign without which nothing is set"""
NOT_SET, NOT_ON_RECORD = "not set", "not on record"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that two sides do not share. ``where`` names the host (or both); ``None``: that side has no such
    fact or setting (:attr:`missing`).

    ``rank`` is its place among those that matter, ``None`` for the others; ``expected``: it goes with what
    is compared.
    """

    where: str
    fact: str
    base: str | None
    other: str | None
    rank: int | None
    expected: bool = False

    @property
    def missing(self) -> str:
        """What a side without a value has instead: a setting is not set, a fact not on record."""
        return NOT_SET if self.fact.startswith(("campaign.", "host.", SETTING)) else NOT_ON_RECORD


def differences_of_sides(
    base: Side,
    other_side: Side,
    matches: Sequence[Match],
    by: str | None = None,
    compared: tuple[str, str] | None = None,
) -> tuple[Difference, ...]:
    """What differs on the hosts of matched cases while they ran, and in how the campaigns ran; what matters
    first.

    Of facts that only one side has, those that matter are differences where the other side has others of the
    same section and does not say that it could not learn them.
    """
    by_place: dict[tuple[str, str], Difference] = {}
    for match in matches:
        runs = _runs(base, match.base), _runs(other_side, match.other)
        for difference in _of_hosts(base, other_side, match.hosts, runs, by, compared):
            by_place.setdefault((difference.where, difference.fact), difference)
    return tuple(sorted([*by_place.values(), *_of_campaigns(base, other_side, by)], key=_order))


def _runs(side: Side, case: object) -> CaseRuns | None:
    return side.cases.get(case) if isinstance(case, Case) else None


def _of_hosts(
    base: Side,
    other_side: Side,
    pairs: Iterable[tuple[str, str]],
    runs: tuple[CaseRuns | None, CaseRuns | None],
    by: str | None,
    compared: tuple[str, str] | None,
) -> Iterator[Difference]:
    for base_host, other_host in dict.fromkeys(pairs):
        where = base_host if base_host == other_host else f"{base_host} / {other_host}"
        base_facts, other_facts = _host(base, base_host, runs[0]), _host(other_side, other_host, runs[1])
        sections = {*map(_section, base_facts)} & {*map(_section, other_facts)}
        not_known = _not_known(base, base_host) | _not_known(other_side, other_host)
        compared_property = by if compared in (None, (base_host, other_host)) else None
        for fact in dict.fromkeys([*base_facts, *other_facts]):
            base_text, other_text = base_facts.get(fact), other_facts.get(fact)
            if base_text == other_text:
                continue
            if None in (base_text, other_text) and not _is_one_sided(fact, sections, not_known):
                continue
            yield Difference(
                where, fact, base_text, other_text, rank_of(fact), is_expected(fact, compared_property)
            )


def _section(fact: str) -> str:
    return fact.partition(".")[0]


def _not_known(side: Side, host: str) -> set[str]:
    """Facts of which a host says why they could not be learnt."""
    return {*side.facts(host).get(NOT_KNOWN, {})}


def _is_one_sided(fact: str, sections: Collection[str], not_known: Collection[str]) -> bool:
    """Whether a fact of one side is a difference though the other has none."""
    if fact.startswith(SETTING):
        return True
    fact_and_parent = {fact, ".".join(fact.split(".")[:2])}
    return rank_of(fact) is not None and _section(fact) in sections and not fact_and_parent & {*not_known}


def _of_campaigns(base: Side, other_side: Side, by: str | None) -> Iterator[Difference]:
    """How the cases were run; what only one campaign sets is a difference, what only one has on record is
    none."""
    campaigns = _campaign(base), _campaign(other_side)
    base_texts, other_texts = (_leaves(campaign, "campaign") for campaign in campaigns)
    for fact in dict.fromkeys([*base_texts, *other_texts]):
        base_text, other_text = base_texts.get(fact), other_texts.get(fact)
        is_in_both = all(fact.split(".")[1] in campaign for campaign in campaigns)
        is_nested = fact.count(".") > 1
        if base_text != other_text and (None not in (base_text, other_text) or (is_in_both and is_nested)):
            yield Difference("campaign", fact, base_text, other_text, rank_of(fact), is_expected(fact, by))


def _order(difference: Difference) -> tuple[bool, int, str]:
    return difference.expected, len(MATTERS) if difference.rank is None else difference.rank, difference.where


def digest_of_side(side: Side) -> str:
    """One text for all that matters of a campaign and its hosts: equal where none of it differs."""
    text_by_name = {
        f"{name} {fact}": text
        for name in side.hosts
        for fact, text in _host(side, name).items()
        if rank_of(fact) is not None
    }
    text_by_name |= _leaves(_campaign(side), "campaign")
    return hashlib.sha256(repr(sorted(text_by_name.items())).encode()).hexdigest()[:16]


def rank_of(fact: str) -> int | None:
    """The place of a fact among those that matter; ``None`` for the others."""
    fact, _ = fact_of_port(fact)
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
    if by.startswith("sysctl."):
        return fact in (by, f"campaign.settings.{by}")
    fact, short_name = fact_of_port(fact)[0], by.removeprefix("offload.")
    return fact.startswith((*_EXPECTED.get(by, ()), f"{SETTING}{by}")) or fact.rpartition(".")[2] in (
        short_name,
        OFFLOAD_ABBREVIATIONS.get(short_name, short_name),
    )


def _host(side: Side, name: str, runs: CaseRuns | None = None) -> dict[str, str]:
    """Facts of a host by name, as the trials of ``runs`` had them."""
    host = side.hosts.get(name)
    host_values = {key: value for key, value in (host.said if host else {}).items() if key not in CONNECTION}
    facts = {
        section: section_facts for section, section_facts in side.facts(name).items() if section != NOT_KNOWN
    }
    settings = runs.settings.get(name, {}) if runs else {}
    facts_in_force = in_force(_leaves(facts, ""), settings, host.data if host else None)
    return {**_leaves(host_values, "host"), **facts_in_force}


def _campaign(side: Side) -> dict[str, Any]:
    """What a campaign says of how its cases are run; of one without a record, nothing."""
    written = side.campaign.written
    empty: dict[str, Any] = {key: {} for key in _EMPTY_UNLESS_NAMED} if written else {}
    return empty | {key: written[key] for key in _CAMPAIGN if key in written}


def _leaves(value: Any, path: str) -> dict[str, str]:
    """Texts of nested values by ``outer.inner``; names, secrets and what has no text stay out."""
    all_leaves = leaves_of(value, path, lambda key: key in IDENTITY or is_secret(key))
    texts = {leaf_path: as_text(leaf) for leaf_path, leaf in all_leaves if leaf is not HIDDEN}
    return {leaf_path: text for leaf_path, text in texts.items() if text is not None}


def leaves_of(value: Any, path: str, is_hidden: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """Leaves of nested values with their place, ``outer.inner``; what a hidden key has is one, HIDDEN."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            inner_path = f"{path}.{key}" if path else str(key)
            if is_hidden(str(key)):
                yield inner_path, HIDDEN
            else:
                yield from leaves_of(inner, inner_path, is_hidden)
    elif isinstance(value, (list, tuple)) and any(isinstance(item, (Mapping, list, tuple)) for item in value):
        for number, inner in enumerate(value, start=1):
            yield from leaves_of(inner, f"{path}.{number}" if path else str(number), is_hidden)
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
