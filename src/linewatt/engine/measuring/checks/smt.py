# SPDX-License-Identifier: Apache-2.0
"""Whether a CPU of the load had its core for itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.engine.measuring.ends import shares_of
from linewatt.engine.measuring.seen import Seen
from linewatt.findings.cpu import SIBLING_BUSY
from linewatt.hosts.cpulist import format_cpulist
from linewatt.model import EndResult, Flag


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from siblings(seen, end)


def siblings(seen: Seen, end: EndResult) -> Iterator[Flag]:
    """Threads beside those of the load that were busy with something else."""
    own = {cpu for role in (end.app_cpu, end.irq_cpu) if role is not None for cpu in role.cpus}
    cores = [
        (sorted(own & set(core)), sorted(set(core) - own))
        for core in seen.setup.cores.get(end.host, ())
        if own & set(core)
    ]
    shares = shares_of({cpu for _, beside in cores for cpu in beside}, seen.readings(end), seen.window)
    for used, beside in cores:
        busy = {cpu: share.busy_ratio for cpu in beside if (share := shares.get(cpu)) is not None}
        worst = max(busy, key=lambda cpu: busy[cpu], default=None)
        if worst is not None and busy[worst] >= SIBLING_BUSY:
            yield Flag(
                "smt-sibling-busy",
                end.host,
                f"CPU {worst} was {100 * busy[worst]:.0f} % busy; it is a thread of the same core as CPU "
                f"{format_cpulist(used)} of the load",
                "find what runs there, or keep it free (isolcpus, cgroups, another placement)",
            )
