# SPDX-License-Identifier: Apache-2.0
"""Which CPUs of a host are looked at while a case runs, and what each is there for. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.campaign.planning.plan import PlannedTrial
from linewatt.hosts.facts.cpulist import parse_cpulist
from linewatt.profiles.model import Place


def places(planned: PlannedTrial, host: str, every: tuple[int, ...]) -> Mapping[Place, tuple[int, ...]]:
    """CPUs by what they are there for; ``every`` CPU of the host where the system places its load."""
    app: set[int] = set()
    irq: set[int] = set()
    placed = True
    for pair in planned.pairs:
        if host not in pair.case.hosts:
            continue
        own = [one.sender_cpu if host == pair.case.sender else one.receiver_cpu for one in pair.instances]
        placed = placed and None not in own
        app.update(cpu for text in own if text is not None for cpu in parse_cpulist(text))
        irq.update(pair.irq_cpus(host))
    if not placed or not app:
        return {"host": every}
    found: dict[Place, set[int]] = {"app": app - irq, "irq": irq - app, "app + irq": app & irq}
    return {place: tuple(sorted(cpus)) for place, cpus in found.items() if cpus}
