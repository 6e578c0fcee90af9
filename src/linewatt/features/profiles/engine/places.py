# SPDX-License-Identifier: Apache-2.0
"""Which CPUs of a host are looked at while a case runs, and what each is there for. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.campaign.planning import PlannedTrial
from linewatt.features.profiles.perf.model import Place


def places(planned: PlannedTrial, host: str, host_cpus: tuple[int, ...]) -> Mapping[Place, tuple[int, ...]]:
    """CPUs by what they are there for; ``host_cpus`` CPU of the host where the system places its load."""
    app = set(planned.app_cpus(host))
    irq = {cpu for pair in planned.pairs if host in pair.case.hosts for cpu in pair.irq_cpus(host)}
    if not app:
        return {"host": host_cpus}
    cpus_by_place: dict[Place, set[int]] = {"app": app - irq, "irq": irq - app, "app + irq": app & irq}
    return {place: tuple(sorted(cpus)) for place, cpus in cpus_by_place.items() if cpus}
