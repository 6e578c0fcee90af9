# SPDX-License-Identifier: Apache-2.0
"""Which watts are the system's and which are the CPU's, without counting anything twice. Pure.

The system's power is the DC output of its power supplies where that is known, because their losses depend on
how they are loaded (docs/metrics.md); else the next best scope, by name. A total is only made of channels of
one scope and one source, and only when all of them have a number. An estimate is taken only where nothing
measures, and 0 W of a host that runs is no reading.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.model import PowerResult, Provenance

SYSTEM_SCOPES = ("psu-out", "system", "wall", "psu-in", "psys")
IDLE_DRIFT_RATIO = 0.05
"""The same idle host may draw this much more or less without a word about it."""
CPU_SCOPES = ("cpu", "package")
SCOPE_WORDS = {
    "psu-out": "PSU DC out",
    "psu-in": "PSU AC in",
    "system": "system",
    "wall": "wall",
    "psys": "platform (RAPL)",
    "cpu": "CPU",
    "package": "CPU package (RAPL)",
    "core": "CPU cores (RAPL)",
    "uncore": "CPU uncore (RAPL)",
    "dram": "DRAM (RAPL)",
    "memory": "memory",
    "fan": "fans",
    "gpu": "GPU",
    "nic": "NIC",
    "other": "other",
}
WEIGHT: dict[Provenance, int] = {"measured": 0, "datasheet": 1, "estimate": 2, "simulated": 3}


@dataclass(frozen=True, slots=True)
class Total:
    """Power of one scope: mean over the window and idle in W, a bound of its error, and where it is from."""

    power_w: float
    idle_w: float | None
    uncertainty_w: float | None
    scope: str
    provenance: Provenance
    source: str
    channels: tuple[str, ...]


def system(power: Sequence[PowerResult]) -> Total | str:
    """The system's power, or why there is none."""
    return _first(power, SYSTEM_SCOPES, "no source of system power is named")


def cpu(power: Sequence[PowerResult]) -> Total | str:
    """The CPUs' power, or why there is none."""
    return _first(power, CPU_SCOPES, "no source of CPU power is named")


def total(power: Sequence[PowerResult], scope: str) -> Total | str | None:
    """All channels of one scope of the first source that has it; ``None`` when none has."""
    every = [one for one in power if one.scope.partition(":")[0] == scope]
    of_scope = [one for one in every if one.provenance != "estimate"] or every
    if not of_scope:
        return None
    own = _once_each([one for one in of_scope if one.source == of_scope[0].source])
    values = [one.power_w for one in own if one.power_w is not None]
    if len(values) < len(own):
        missing = next(one for one in own if one.power_w is None)
        return f"{missing.source} {missing.channel}: {missing.reason or 'not read'}"
    if scope in (*SYSTEM_SCOPES, *CPU_SCOPES) and sum(values) == 0:
        return f"{own[0].source} {own[0].channel}: 0 W of a host that runs is no reading"
    return Total(
        power_w=sum(values),
        idle_w=_idle_w(own),
        uncertainty_w=_uncertainty_w(own),
        scope=scope,
        provenance=max((one.provenance for one in own), key=WEIGHT.__getitem__),
        source=own[0].source,
        channels=tuple(one.channel for one in own),
    )


def _once_each(power: Sequence[PowerResult]) -> list[PowerResult]:
    """One channel of each part: a source may tell the same watts as power and as a total of energy, and the
    whole (``wall``) beside its parts (``wall:outlet1``)."""
    found: dict[str, PowerResult] = {}
    for one in power:
        if one.scope not in found or found[one.scope].power_w is None:
            found[one.scope] = one
    whole = next((one for scope, one in found.items() if ":" not in scope), None)
    if whole is None or len(found) == 1:
        return list(found.values())
    return [whole] if whole.power_w is not None else [one for one in found.values() if one is not whole]


def _idle_w(power: Sequence[PowerResult]) -> float | None:
    known = [one.idle_w for one in power if one.idle_w is not None]
    return sum(known) if len(known) == len(power) else None


def _first(power: Sequence[PowerResult], scopes: Sequence[str], none: str) -> Total | str:
    measured = [one for one in power if one.provenance != "estimate"]
    for results in (measured, power):
        for scope in scopes:
            found = total(results, scope)
            if found is not None:
                return found
    return none


def _uncertainty_w(power: Sequence[PowerResult]) -> float | None:
    """Bounds of channels of one kind are not independent, so they are added; ``None`` if one is unknown."""
    seconds = next((one.energy_j / one.power_w for one in power if one.energy_j and one.power_w), None)
    bounds_j = [one.energy_uncertainty_j for one in power if one.energy_uncertainty_j is not None]
    return math.fsum(bounds_j) / seconds if seconds and len(bounds_j) == len(power) else None
