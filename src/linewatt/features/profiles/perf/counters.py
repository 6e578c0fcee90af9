# SPDX-License-Identifier: Apache-2.0
"""What the counters of CPUs say of a window: the lines of ``perf stat -x,``, as perf-stat(1) has them. Pure.

``<value>,<unit>,<event>,<ns it ran>,<percent of the time it was enabled>,<metric>,<its unit>``
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from linewatt.features.profiles.perf.model import Counted, Place
from linewatt.foreign import shortened

CYCLES = "cycles"
INSTRUCTIONS = "instructions"
REFERENCE = "ref-cycles"
"""at the CPU's nominal rate, while it is not halted: cycles over these are how far it was from base clock"""
MISSES = "LLC-load-misses"
EVENTS = (CYCLES, INSTRUCTIONS, REFERENCE, MISSES)
_FIELDS = 5


def parse_counts(place: Place, lines: Iterable[str]) -> Iterator[Counted]:
    """One for each event that a line is about; why there is no value is its reason.

    Events of CPUs with two kinds of cores (``cpu_core/cycles/``) come one a kind, and are summed up.
    """
    counted_by_event: dict[str, Counted] = {}
    for line in lines:
        parts = line.strip().split(",")
        if len(parts) < _FIELDS or (event := _event(parts[2])) is None:
            continue
        counted = _counted(place, event, parts[0], parts[4])
        counted_by_event[event] = (
            _sum(counted_by_event[event], counted) if event in counted_by_event else counted
        )
    yield from counted_by_event.values()


def _event(text: str) -> str | None:
    name = text.partition(":")[0].strip("/").rpartition("/")[2]
    return name if name in EVENTS else None


def _counted(place: Place, event: str, value: str, percent: str) -> Counted:
    if value == "<not supported>":
        return Counted(place, event, None, reason="the CPU has no such counter")
    if value == "<not counted>":
        return Counted(place, event, None, reason="its counter was never free in the window")
    try:
        count, ratio = float(value), float(percent) / 100
    except ValueError:
        return Counted(place, event, None, reason=f"perf stat says {shortened(value)!r}")
    if not (math.isfinite(count) and count >= 0 and 0 < ratio <= 1.001):
        return Counted(place, event, None, reason=f"perf stat says {shortened(value)!r}")
    return Counted(place, event, count, min(1.0, ratio))


def _sum(first: Counted, second: Counted) -> Counted:
    if first.value is None or second.value is None:
        return second if first.value is None else first
    ratio = min(first.running_ratio or 0.0, second.running_ratio or 0.0)
    return Counted(first.place, first.event, first.value + second.value, ratio)
