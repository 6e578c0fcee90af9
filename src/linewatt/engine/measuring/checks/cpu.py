# SPDX-License-Identifier: Apache-2.0
"""Whether CPU time can be believed, and whose it is. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.engine.measuring.seen import Seen
from linewatt.findings.cpu import BUSY_IDLE_CORES
from linewatt.hosts.base import HostSpec
from linewatt.model import Case, EndResult, Flag
from linewatt.sensors import cpu_check


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from cpu(end, seen.case, seen.spec(end), seen.setup.tick_accounting.get(end.host))
        yield from background(end, seen.setup.idle_cores.get(end.host))


def cpu(end: EndResult, case: Case, host: HostSpec, tick_accounting: bool | None) -> list[Flag]:
    """CPU accounting that disagrees with what the load says of itself."""
    return cpu_check.check(
        end,
        paced=case.paced,
        tick_accounting=tick_accounting,
        dedicated=_dedicated(end, host),
    )


def _dedicated(end: EndResult, host: HostSpec) -> bool:
    """Whether the app CPUs are for the load alone: no receive work, and no other host, is put there."""
    if end.app_cpu is None or host.shares_cpus_with:
        return False
    return not set(end.app_cpu.cpus) & set(host.irq_cpus or ())


def background(end: EndResult, idle_cores: float | None) -> list[Flag]:
    """A host that was busy before any load ran: its CPU figures contain somebody else's work."""
    if idle_cores is None or idle_cores <= BUSY_IDLE_CORES:
        return []
    return [
        Flag(
            "host-not-idle",
            end.host,
            f"{idle_cores:.2f} cores were busy in the idle window",
            "find what else runs there (top, systemd timers) and measure again",
        )
    ]
