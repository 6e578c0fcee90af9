# SPDX-License-Identifier: Apache-2.0
"""Whether hosts of several names are one machine, and run or are counted on the same CPUs. Pure.

The kernel makes ``/proc/sys/kernel/random/boot_id`` anew at each boot; network namespaces and containers have
that of their machine. Source: kernel, Documentation/admin-guide/sysctl/kernel.rst, "random".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from linewatt.hosts import HostSpec
from linewatt.hosts.facts import Facts, format_cpulist


@dataclass(frozen=True, slots=True)
class SharedCpus:
    """Two hosts that are one machine. ``cpus`` are those that logins at both may use; none: logins are kept
    apart, but CPU figures of both count the same CPUs, because ``/proc/stat`` shows all of the machine."""

    hosts: tuple[str, str]
    cpus: frozenset[int]

    @property
    def text(self) -> str:
        first, second = self.hosts
        shared = f" and share CPU{'' if len(self.cpus) == 1 else 's'} {format_cpulist(self.cpus)}"
        return f"{first} and {second} are one machine (the same boot id){shared if self.cpus else ''}"

    @property
    def effect(self) -> str:
        """What follows for the figures."""
        return "what one uses, the other lacks" if self.cpus else "CPU figures of each count the work of both"


def find_shared_cpus(
    facts_by_host: Mapping[str, Facts], specs: Mapping[str, HostSpec]
) -> Iterator[SharedCpus]:
    """Every two hosts that are one machine and use or count common CPUs, but for those of which it is known.

    In the order of ``specs``: facts come in as hosts answer.
    """
    for first, second in combinations((name for name in specs if name in facts_by_host), 2):
        if not are_one_machine(facts_by_host[first], facts_by_host[second]):
            continue
        if second in specs[first].shares_cpus_with or first in specs[second].shares_cpus_with:
            continue
        facts = facts_by_host[first], facts_by_host[second]
        usable_cpus = _usable_cpus(facts[0]) & _usable_cpus(facts[1])
        if usable_cpus or _counted_cpus(facts[0], specs[first]) & _counted_cpus(facts[1], specs[second]):
            yield SharedCpus((first, second), usable_cpus)


def are_one_machine(first: Facts, second: Facts) -> bool:
    """Whether two hosts are known to be the same machine."""
    boot_id = _boot_id(first)
    return boot_id is not None and boot_id == _boot_id(second)


def with_shared_cpus(specs: Mapping[str, HostSpec], shared: Iterable[SharedCpus]) -> dict[str, HostSpec]:
    """The same hosts, each with those it shares CPUs with."""
    neighbours: dict[str, list[str]] = {name: list(spec.shares_cpus_with) for name, spec in specs.items()}
    for pair in shared:
        first, second = pair.hosts
        neighbours[first].append(second)
        neighbours[second].append(first)
    return {name: replace(spec, shares_cpus_with=tuple(neighbours[name])) for name, spec in specs.items()}


def _boot_id(facts: Facts) -> str | None:
    boot_id = facts.get("system", {}).get("boot_id")
    return boot_id if isinstance(boot_id, str) and boot_id else None


def _usable_cpus(facts: Facts) -> frozenset[int]:
    cpus = facts.get("cpus", {})
    return frozenset(cpus.get("allowed") or cpus.get("online") or ())


def _counted_cpus(facts: Facts, spec: HostSpec) -> frozenset[int]:
    """Those whose use is the host's CPU use."""
    return frozenset(facts.get("cpus", {}).get("online") or () if spec.cpus is None else spec.cpus)
