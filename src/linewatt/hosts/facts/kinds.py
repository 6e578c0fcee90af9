# SPDX-License-Identifier: Apache-2.0
"""Which cores of a machine are slower than others, by what hwloc or Linux tells of their kinds. Pure.

Intel has performance cores, efficiency cores (``IntelAtom``, ``/sys/devices/cpu_atom``) and, in some
processors, low-power ones beside these (``IntelLowPower``, ``cpu_lowpower``); AMD has compact ones, which are
the same design at a lower highest clock, or which hwloc calls efficiency cores; Arm tells a capacity.
Source: hwloc's manual, "Kinds of CPU cores"; kernel, Documentation/arch/arm64/cpu-capacity.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

APART = 0.8
"""Favoured cores of one kind differ by a few percent, kinds of core by a fifth and more."""

FASTEST, EFFICIENT, LOW_POWER_KINDS = range(3)
_LOW_POWER = re.compile(r"low[-_ ]?power", re.IGNORECASE)
_EFFICIENT = re.compile(r"atom|e-?core|efficien|compact|dense|little", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kind:
    """CPUs of one kind: what it is called, its capacity (1024: the fastest), its highest clock in MHz."""

    cpus: frozenset[int]
    name: str = ""
    capacity: int | None = None
    max_mhz: float | None = None


def faster_kinds(kinds: Iterable[Kind]) -> dict[int, int]:
    """CPU → how many kinds of core of the machine are faster than its own; CPUs of the fastest are left out.

    The name decides, then the capacity, then the highest clock: these count only where they lie clearly
    apart (:data:`APART`). Low-power cores have 2 or more, also where there are no efficiency cores.
    """
    ranked: dict[int, tuple[int, int, int]] = {}
    several = tuple(kinds)
    for rank in (FASTEST, EFFICIENT, LOW_POWER_KINDS):
        capacities = [(kind.capacity or 1024, kind) for kind in several if _rank(kind.name) == rank]
        for at, able in enumerate(_cut(capacities, in_steps=False)):
            for step, alike in enumerate(_by_clock(able)):
                for kind in alike:
                    ranked |= dict.fromkeys(kind.cpus, (rank, at, step))
    order = {key: place for place, key in enumerate(sorted(set(ranked.values())))}
    fewest_faster = {LOW_POWER_KINDS: LOW_POWER_KINDS} if len(order) > 1 else {}
    faster_by_cpu = {cpu: max(order[key], fewest_faster.get(key[0], 0)) for cpu, key in ranked.items()}
    return {cpu: slower for cpu, slower in faster_by_cpu.items() if slower}


def _rank(name: str) -> int:
    if _LOW_POWER.search(name):
        return LOW_POWER_KINDS
    return EFFICIENT if _EFFICIENT.search(name) else FASTEST


def _by_clock(kinds: list[Kind]) -> list[list[Kind]]:
    """With favoured cores, clocks of one kind reach far, in small steps. Not cut where one is not known."""
    clocks = [(kind.max_mhz, kind) for kind in kinds if kind.max_mhz]
    return [kinds] if len(clocks) < len(kinds) else _cut(clocks, in_steps=True)


def _cut(speeds: Iterable[tuple[float, Kind]], *, in_steps: bool) -> list[list[Kind]]:
    """The fastest first, cut where a speed is clearly (:data:`APART`) below the fastest of its group, or with
    ``in_steps`` below the next higher one."""
    groups: list[list[Kind]] = []
    reference = 0.0
    for speed, kind in sorted(speeds, key=lambda pair: -pair[0]):
        is_alike = bool(groups) and speed >= APART * reference
        if is_alike:
            groups[-1].append(kind)
        else:
            groups.append([kind])
        if in_steps or not is_alike:
            reference = speed
    return groups
