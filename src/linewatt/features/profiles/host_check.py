# SPDX-License-Identifier: Apache-2.0
"""Whether perf can look at the CPUs of a host, for ``linewatt check``."""

from __future__ import annotations

from linewatt.engine.readiness import AskedHost, Check
from linewatt.features.profiles.perf import ability
from linewatt.features.profiles.perf.ability import Ability

LIMIT_S = 10.0


async def perf_check(asked_host: AskedHost) -> Check:
    """What perf can do there. Raises HostError."""
    spec = asked_host.host.spec
    cpus = (*(spec.cpus or ()), *(asked_host.facts["cpus"].get("online") or ()), 0)
    done = await asked_host.host.run(ability.command(cpus[0]), timeout_s=LIMIT_S, root=asked_host.root)
    return check_of(spec.name, ability.parse(done.stdout))


def check_of(name: str, able: Ability) -> Check:
    """Where perf cannot look at CPUs, profiles say so and nothing else fails."""
    if able.problem:
        return Check(name, "perf", "warn", f"{able.problem}: its profiles will be empty", able.advice)
    if able.hidden:
        evidence = f"perf {able.version}, but kernel functions have no names: their addresses are hidden"
        return Check(name, "perf", "warn", evidence, "sysctl kernel.kptr_restrict=0")
    clock = (
        f"{able.no_counters}: the kernel's clock takes samples" if able.no_counters else "hardware counters"
    )
    return Check(name, "perf", "ok", f"perf {able.version}, {clock}")
