# SPDX-License-Identifier: Apache-2.0
"""What the cores of a host's figures are: physical ones, hardware threads, or what a hypervisor gives. Pure.

Operating systems count CPUs. Where a core runs two threads, each of them counts as one, and two busy ones do
not do the work of two cores.
"""

from __future__ import annotations

from typing import Literal

from linewatt.errors import InvalidInput
from linewatt.hosts.facts.cpulist import parse_cpulist
from linewatt.hosts.facts.read import Facts

CoreKind = Literal["physical core", "hardware thread", "virtual CPU"]
CORE_WORDS: dict[CoreKind, str] = {
    "physical core": "a physical core",
    "hardware thread": "a hardware thread: two busy ones of a core do less than two cores",
    "virtual CPU": "a virtual CPU: whether the hypervisor gives it a whole core is not known",
}


def core_groups(facts: Facts) -> tuple[tuple[int, ...], ...]:
    """The CPUs of each core, online ones; empty where the facts do not tell."""
    groups = facts.get("cpus", {}).get("cores")
    try:
        return tuple(tuple(parse_cpulist(str(group))) for group in groups or ())
    except (InvalidInput, TypeError):
        return ()


def core_is(facts: Facts) -> CoreKind | None:
    """What one CPU of the host is; ``None`` where the facts do not tell."""
    cpu = facts.get("cpu", {})
    if cpu.get("hypervisor"):
        return "virtual CPU"
    groups = core_groups(facts)
    threads = max(map(len, groups), default=cpu.get("threads_per_core"))
    if not isinstance(threads, int):
        return None
    return "hardware thread" if threads > 1 else "physical core"
