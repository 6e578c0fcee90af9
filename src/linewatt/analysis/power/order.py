# SPDX-License-Identifier: Apache-2.0
"""Which scopes of power contradict each other, by single readings before a run. Pure.

What goes into a host goes into its supplies, out of them and into its parts, so that
wall >= psu-in >= psu-out >= CPU + memory + fans; and what firmware says of the whole host is about the sum of
its supplies. Single readings are of different moments: they may differ by a part (:data:`LOOSE`) and some W.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from linewatt.analysis.power.totals import SCOPE_WORDS, repeat
from linewatt.findings import FAR_MORE_RATIO, MIN_OUT_RATIO

LOOSE, LOOSE_W = 0.1, 5.0
"""Two readings of different moments may contradict by this part of the larger one, and by so many W."""
PARTS = "parts"
_FLOW = ("wall", "psu-in", "psu-out", PARTS)
"""in the order of the flow: none shows more than one before it"""
_PARTS = (("cpu", "package"), ("memory", "dram"), ("fan",), ("gpu",), ("nic",))
"""of each pair the first that is there: RAPL's packages are the CPUs"""
_FIRST_REFUSED = ("psu-in", "psu-out", PARTS, "wall", "system")
"""which scope is refused where two contradict and no third decides"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A reading, W, at one moment."""

    source: str
    channel: str
    scope: str
    power_w: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A scope of a source that contradicts others, and how."""

    source: str
    scope: str
    evidence: str


def refused_scopes(readings: Sequence[Shown]) -> list[Refused]:
    """The scopes of one host that break what physics orders; the one that breaks most is the first."""
    refusals: list[Refused] = []
    sums = _sums(readings)
    while contradictions := list(_broken(sums, readings)):
        counts = Counter(scope for contradiction in contradictions for scope in contradiction[:2])
        worst_scope = max(counts, key=lambda scope: (counts[scope], -_FIRST_REFUSED.index(scope)))
        why = next(
            evidence for scope, other_scope, evidence in contradictions if worst_scope in (scope, other_scope)
        )
        refusals.append(Refused(sums[worst_scope].source, worst_scope, why))
        del sums[worst_scope]
    return refusals


def _sums(readings: Sequence[Shown]) -> dict[str, Shown]:
    """The sum of each scope of the first source that has it, and of all parts."""
    sums: dict[str, Shown] = {}
    for kind in dict.fromkeys(reading.scope.partition(":")[0] for reading in readings):
        of_kind = [reading for reading in readings if reading.scope.partition(":")[0] == kind]
        of_source = {
            reading.scope: reading for reading in reversed(of_kind) if reading.source == of_kind[0].source
        }
        undivided = of_source.get(kind)
        power_w = undivided.power_w if undivided else sum(reading.power_w for reading in of_source.values())
        channels = ", ".join(reading.channel for reading in of_kind if reading.source == of_kind[0].source)
        sums[kind] = Shown(of_kind[0].source, channels, kind, power_w)
    part_sums = [next((sums[kind] for kind in kinds if kind in sums), None) for kinds in _PARTS]
    drawing = [part_sum for part_sum in part_sums if part_sum is not None and part_sum.power_w > 0]
    if drawing:
        channels = " + ".join(SCOPE_WORDS[part_sum.scope] for part_sum in drawing)
        sums[PARTS] = Shown(drawing[0].source, channels, PARTS, sum(part_sum.power_w for part_sum in drawing))
    return {
        scope: scope_sum
        for scope, scope_sum in sums.items()
        if scope in (*_FLOW, "system") and scope_sum.power_w > 0
    }


def _broken(sums: Mapping[str, Shown], readings: Sequence[Shown]) -> Iterator[tuple[str, str, str]]:
    """(one scope, another, what contradicts) of each pair that cannot be."""
    for upstream, downstream in combinations([sums[scope] for scope in _FLOW if scope in sums], 2):
        if _exceeds(downstream, upstream):
            yield upstream.scope, downstream.scope, _against(downstream, upstream)
    yield from _units(sums, readings)
    system = sums.get("system")
    if system is None:
        return
    for side in ("psu-in", "psu-out"):
        if side in sums and (why := _unlike(sums[side], system, readings)):
            yield side, "system", f"{_against(sums[side], system)}: {why}"
    for scope, exceeding, exceeded in (("wall", "system", "wall"), (PARTS, PARTS, "system")):
        if scope in sums and _exceeds(sums[exceeding], sums[exceeded]):
            yield scope, "system", _against(sums[exceeding], sums[exceeded])


def _units(sums: Mapping[str, Shown], readings: Sequence[Shown]) -> Iterator[tuple[str, str, str]]:
    """Each supply by itself, where the sums hide it."""
    if "psu-in" not in sums or "psu-out" not in sums or _exceeds(sums["psu-out"], sums["psu-in"]):
        return
    reading_of = {(reading.source, reading.scope): reading for reading in readings}
    for output in readings:
        supply_input = reading_of.get((output.source, output.scope.replace("psu-out", "psu-in")))
        if (
            output.scope.startswith("psu-out:")
            and supply_input is not None
            and _exceeds(output, supply_input)
        ):
            yield (
                "psu-in",
                "psu-out",
                f"{output.channel} {output.power_w:.1f} W against"
                f" {supply_input.channel} {supply_input.power_w:.1f} W",
            )


def _unlike(supplies: Shown, system: Shown, readings: Sequence[Shown]) -> str | None:
    """Why all supplies together are not about what the system draws."""
    units_w = [
        reading.power_w
        for reading in readings
        if reading.source == supplies.source and reading.scope.partition(":")[0] == supplies.scope
    ]
    if repeat(units_w, system.power_w):
        return f"each of the {len(units_w)} repeats the whole"
    if supplies.power_w > FAR_MORE_RATIO * system.power_w + LOOSE_W:
        return "they are ratings, or feed more than this host"
    if supplies.scope == "psu-out" and _exceeds(supplies, system):
        return "more comes out than goes in"
    if supplies.power_w < MIN_OUT_RATIO * system.power_w - LOOSE_W:
        return "not every supply is read"
    if supplies.scope == "psu-in" and _exceeds(system, supplies):
        return "less goes in than the host draws"
    return None


def _exceeds(reading: Shown, limit: Shown) -> bool:
    return reading.power_w > limit.power_w * (1 + LOOSE) + LOOSE_W


def _against(reading: Shown, contradicted: Shown) -> str:
    return f"{_words(reading)} against {_words(contradicted)}"


def _words(reading: Shown) -> str:
    quantity = reading.channel if reading.scope == PARTS else SCOPE_WORDS[reading.scope]
    return f"{reading.power_w:.1f} W of {quantity} ({reading.source})"
