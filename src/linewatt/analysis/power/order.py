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
from linewatt.findings.power import FAR_MORE, MIN_OUT_RATIO

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


def refused(shown: Sequence[Shown]) -> list[Refused]:
    """The scopes of one host that break what physics orders; the one that breaks most is the first."""
    found: list[Refused] = []
    left = _sums(shown)
    while broken := list(_broken(left, shown)):
        counts = Counter(scope for pair in broken for scope in pair[:2])
        worst = max(counts, key=lambda scope: (counts[scope], -_FIRST_REFUSED.index(scope)))
        why = next(evidence for one, other, evidence in broken if worst in (one, other))
        found.append(Refused(left[worst].source, worst, why))
        del left[worst]
    return found


def _sums(shown: Sequence[Shown]) -> dict[str, Shown]:
    """The sum of each scope of the first source that has it, and of all parts."""
    sums: dict[str, Shown] = {}
    for kind in dict.fromkeys(one.scope.partition(":")[0] for one in shown):
        own = [one for one in shown if one.scope.partition(":")[0] == kind]
        of_source = {one.scope: one for one in reversed(own) if one.source == own[0].source}
        whole = of_source.get(kind)
        watts = whole.power_w if whole else sum(one.power_w for one in of_source.values())
        names = ", ".join(one.channel for one in own if one.source == own[0].source)
        sums[kind] = Shown(own[0].source, names, kind, watts)
    parts = [next((sums[kind] for kind in kinds if kind in sums), None) for kinds in _PARTS]
    there = [one for one in parts if one is not None and one.power_w > 0]
    if there:
        names = " + ".join(SCOPE_WORDS[one.scope] for one in there)
        sums[PARTS] = Shown(there[0].source, names, PARTS, sum(one.power_w for one in there))
    return {scope: one for scope, one in sums.items() if scope in (*_FLOW, "system") and one.power_w > 0}


def _broken(sums: Mapping[str, Shown], shown: Sequence[Shown]) -> Iterator[tuple[str, str, str]]:
    """(one scope, another, what contradicts) of each pair that cannot be."""
    for before, after in combinations([sums[one] for one in _FLOW if one in sums], 2):
        if _exceeds(after, before):
            yield before.scope, after.scope, _against(after, before)
    yield from _units(sums, shown)
    system = sums.get("system")
    if system is None:
        return
    for side in ("psu-in", "psu-out"):
        if side in sums and (why := _unlike(sums[side], system, shown)):
            yield side, "system", f"{_against(sums[side], system)}: {why}"
    for scope, more, less in (("wall", "system", "wall"), (PARTS, PARTS, "system")):
        if scope in sums and _exceeds(sums[more], sums[less]):
            yield scope, "system", _against(sums[more], sums[less])


def _units(sums: Mapping[str, Shown], shown: Sequence[Shown]) -> Iterator[tuple[str, str, str]]:
    """Each supply by itself, where the sums hide it."""
    if "psu-in" not in sums or "psu-out" not in sums or _exceeds(sums["psu-out"], sums["psu-in"]):
        return
    into = {(one.source, one.scope): one for one in shown}
    for out in shown:
        own = into.get((out.source, out.scope.replace("psu-out", "psu-in")))
        if out.scope.startswith("psu-out:") and own is not None and _exceeds(out, own):
            yield (
                "psu-in",
                "psu-out",
                f"{out.channel} {out.power_w:.1f} W against {own.channel} {own.power_w:.1f} W",
            )


def _unlike(supplies: Shown, system: Shown, shown: Sequence[Shown]) -> str | None:
    """Why all supplies together are not about what the system draws."""
    units = [
        one.power_w
        for one in shown
        if one.source == supplies.source and one.scope.partition(":")[0] == supplies.scope
    ]
    if repeat(units, system.power_w):
        return f"each of the {len(units)} repeats the whole"
    if supplies.power_w > FAR_MORE * system.power_w + LOOSE_W:
        return "they are ratings, or feed more than this host"
    if supplies.scope == "psu-out" and _exceeds(supplies, system):
        return "more comes out than goes in"
    if supplies.power_w < MIN_OUT_RATIO * system.power_w - LOOSE_W:
        return "not every supply is read"
    if supplies.scope == "psu-in" and _exceeds(system, supplies):
        return "less goes in than the host draws"
    return None


def _exceeds(one: Shown, other: Shown) -> bool:
    return one.power_w > other.power_w * (1 + LOOSE) + LOOSE_W


def _against(one: Shown, other: Shown) -> str:
    return f"{_words(one)} against {_words(other)}"


def _words(one: Shown) -> str:
    what = one.channel if one.scope == PARTS else SCOPE_WORDS[one.scope]
    return f"{one.power_w:.1f} W of {what} ({one.source})"
