# SPDX-License-Identifier: Apache-2.0
"""What else differs between two sides of a comparison, so that it is in the ratio, too. Pure.

Unlike what must be equal (:mod:`linewatt.analysis.comparison.comparable`), it refuses no verdict; but it is
said with the verdict itself. What goes with ``--by`` is what the comparison is about, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.comparison.case_runs import CaseRuns
from linewatt.analysis.comparison.comparable import EFFICIENCY_OF, Ends, hosts_by_role, load_version
from linewatt.analysis.comparison.differences import is_expected
from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.limits.sockets import CONGESTION, SOCKET_LIMITS
from linewatt.core.feature import feature_functions
from linewatt.hosts.facts import core_is
from linewatt.loads import DEFAULT_LOAD, LOADS
from linewatt.model import Role


@dataclass(frozen=True, slots=True)
class Beside:
    """One thing that differs, too: in short, with both values; ``response``: of this one only."""

    short: str
    words: str
    response: str | None = None

    def concerns(self, response: str) -> bool:
        return self.response in (None, response)


def besides(ends: Ends) -> list[Beside]:
    """All of it; what is not on record on a side is no difference."""
    differing_facts = list(_time(ends))
    for role, hosts in hosts_by_role(ends):
        differing_facts += _of_end(ends, role, hosts)
        for differences_of in feature_functions("differences"):
            differing_facts += differences_of(ends, role, hosts)
    return differing_facts


def also_different(differences: Sequence[Beside]) -> str:
    """What follows a verdict with something else in it."""
    short = list(dict.fromkeys(difference.short for difference in differences))
    return f"; also different: {', '.join(short)}" if short else ""


def _time(ends: Ends) -> Iterator[Beside]:
    """Levels of one result that were not measured in turn; two results never are, as their heading says."""
    if ends.base.id != ends.other.id:
        return
    if measured_first(ends) is not None:
        yield Beside(
            "the time (not interleaved)",
            f"all trials of {ends.base.name} and of {ends.other.name} lie apart in time: what drifted "
            "meanwhile is in the ratio (order: interleaved)",
        )


def measured_first(ends: Ends) -> Literal["base", "other"] | None:
    """The side whose runs all began before those of the other; ``None`` where they were interleaved, or where
    a side has a single run."""
    base_s, other_s = ends.own.started_s, ends.theirs.started_s
    if base_s is None or other_s is None or ends.own.done < 2 or ends.theirs.done < 2:
        return None
    return "base" if base_s[1] < other_s[0] else "other" if other_s[1] < base_s[0] else None


def _of_end(ends: Ends, role: Role, hosts: tuple[str, str]) -> Iterator[Beside]:
    base_host, other_host = hosts
    sides = ((ends.base, base_host, ends.own), (ends.other, other_host, ends.theirs))

    def differing(short: str, facts: dict[str, str], response: str | None = None) -> Iterator[Beside]:
        differences = []
        for title, fact in facts.items():
            if is_expected(fact, ends.by_of(hosts)):
                continue
            base_value, other_value = (_value(side, host, runs, fact) for side, host, runs in sides)
            if base_value is not None and other_value is not None and base_value != other_value:
                differences.append(
                    f"{title} {base_value} in {ends.base.name}, {other_value} in {ends.other.name}"
                )
        if differences:
            yield Beside(
                f"{short} of the {role}", f"{ends.words(role, hosts)}: {'; '.join(differences)}", response
            )

    protocol = "tcp" if ends.case.is_tcp else "udp"
    load = ends.case.load or DEFAULT_LOAD
    yield from differing(load, {load: f"tools.{load}"})
    if protocol == "tcp" and role == "sender":
        yield from differing("congestion control", {"congestion control": f"sysctl.{CONGESTION}"})
    limits = SOCKET_LIMITS[role][protocol]
    yield from differing("socket limits", {name: f"sysctl.{name}" for name in limits})
    yield from differing(
        "firewall",
        {
            "firewall rules": "firewall.rules",
            "their digest": "firewall.digest",
            "conntrack": "firewall.conntrack",
        },
    )
    if (base_host, role) in ends.case.ends:
        yield from differing("what a core is", {"a core is": "cpu.core_is"}, EFFICIENCY_OF[role])


def _value(side: Side, host: str, runs: CaseRuns, fact: str) -> object:
    """A fact of an end as its trials had it set, else as its host showed it before."""
    section, _, name = fact.partition(".")
    if fact == "cpu.core_is":
        return core_is(side.facts(host))
    if section == "tools" and name in LOADS:
        version = load_version(side, host, LOADS[name])
        return None if version is None else ".".join(map(str, version))
    if section == "sysctl":
        setting = runs.settings.get(host, {}).get(f"sysctl {name}")
        if setting is not None:
            return setting
    return side.fact(host, section, name)
