# SPDX-License-Identifier: Apache-2.0
"""Which part of a host draws how much: measured parts, declared ones, and the rest of the system. Pure.

The parts and the rest always sum to the system's power. No part is counted twice: of what measures the same
thing one is taken, and a declared part gives way to a measured one of its kind. What was left out is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from linewatt.analysis.power import totals as power
from linewatt.analysis.power.totals import SCOPE_WORDS, Total
from linewatt.missing import Missing
from linewatt.model import Flag, PowerResult, Provenance, Role, Trial
from linewatt.records import Component, ComponentKind

# What may measure a kind, best first; a later scope is taken only when no earlier one has a number.
SCOPES: Mapping[ComponentKind, tuple[str, ...]] = {
    "cpu": power.CPU_SCOPES,
    "memory": ("memory", "dram"),
    "fan": ("fan",),
    "gpu": ("gpu",),
    "nic": ("nic",),
}
_NOT_PARTS = {
    "core": "part of the CPU",
    "uncore": "part of the CPU",
    "other": "what it covers is not known, so it may be in another part",
}
_WITH_LOSSES = ("wall", "psu-in", "system")
"""Scopes of what goes into the power supplies, as far as is known."""

_ROUNDING = 1e-9
"""of binary fractions: parts that sum to the system leave no negative rest"""

EXCEEDS = "components-exceed-system"


@dataclass(frozen=True, slots=True)
class Part:
    """One row of a breakdown. Of kind ``rest`` it is what is left of the system, which may be negative."""

    name: str
    kind: ComponentKind | Literal["rest"]
    power_w: float
    provenance: Provenance
    uncertainty_w: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A host's power by part; the last part is the rest. ``trials`` is how many it is the mean of.

    Without the system's power there is no rest, and ``reason`` says why. ``left_out`` says what was read or
    declared and not counted, and why.
    """

    host: str
    parts: tuple[Part, ...]
    system_w: float | None = None
    system_scope: str | None = None
    system_provenance: Provenance | None = None
    trials: int = 0
    reason: str | None = None
    left_out: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()

    @property
    def rest(self) -> Part | None:
        """What the parts leave of the system."""
        return next((part for part in self.parts if part.kind == "rest"), None)


@dataclass(frozen=True, slots=True)
class MeasuredParts:
    """A total for each kind that is measured, and what was left out."""

    totals: Mapping[ComponentKind, Total]
    left_out: tuple[str, ...]


def measured_parts(results: Sequence[PowerResult]) -> MeasuredParts:
    """The channels of an end that measure parts of the host, one total a kind."""
    totals: dict[ComponentKind, Total] = {}
    left_out: list[str] = []
    for kind, scopes in SCOPES.items():
        by_scope = {
            scope: total for scope in scopes if (total := power.total_of_scope(results, scope)) is not None
        }
        usable = [total for total in by_scope.values() if isinstance(total, Total)]
        left_out += [
            f"{SCOPE_WORDS[s]}: {why.reason}" for s, why in by_scope.items() if isinstance(why, Missing)
        ]
        if usable:
            totals[kind] = usable[0]
            left_out += _same_again(usable, results)
    for result in results:
        why = _NOT_PARTS.get(_scope(result))
        if why is not None:
            left_out.append(f"{result.source} {result.channel} ({SCOPE_WORDS[_scope(result)]}): {why}")
    return MeasuredParts(totals, tuple(left_out))


def breakdown(
    host: str,
    system: Total | Missing,
    measured: MeasuredParts,
    declared: Sequence[Component],
    trials: int = 1,
) -> Breakdown:
    """Parts of one host's power that sum to ``system``, or parts without a rest where that is not known."""
    replaced = [component for component in declared if component.kind in measured.totals]
    parts = [_measured(kind, total) for kind, total in measured.totals.items()]
    parts += [_declared(component) for component in declared if component not in replaced]
    replaced_words = (
        f"{component.label} ({component.total_w:g} W, {component.provenance}): {component.kind} is measured"
        for component in replaced
    )
    left_out = (*measured.left_out, *replaced_words)
    if isinstance(system, Missing):
        return Breakdown(host, tuple(parts), reason=system.reason, left_out=left_out)
    remainder = _rest(system, parts)
    return Breakdown(
        host=host,
        parts=(*parts, remainder),
        system_w=system.power_w,
        system_scope=system.scope,
        system_provenance=system.provenance,
        trials=trials,
        left_out=left_out,
        flags=tuple(_exceeding(host, system, parts, remainder)),
    )


def end_breakdown(trials: Sequence[Trial], role: Role, declared: Sequence[Component]) -> Breakdown | None:
    """Of one end of a case: means over the done trials in which every part has a number, so that they sum.

    ``None`` when no source of power was named there and nothing is declared.
    """
    ends = [end for trial in trials if trial.status == "done" and (end := trial.end(role)) is not None]
    if not ends or not (declared or any(end.power for end in ends)):
        return None
    systems_and_parts = [(power.power_of_system(end.power), measured_parts(end.power)) for end in ends]
    systems = [system for system, _ in systems_and_parts if isinstance(system, Total)]
    if not systems:
        whys = dict.fromkeys(system.reason for system, _ in systems_and_parts if isinstance(system, Missing))
        return breakdown(ends[0].host, Missing("; ".join(whys)), systems_and_parts[0][1], declared)
    kinds = {kind: total.scope for _, parts in systems_and_parts for kind, total in parts.totals.items()}
    complete = [
        (system, parts)
        for system, parts in systems_and_parts
        if isinstance(system, Total)
        and system.scope == systems[0].scope
        and {kind: total.scope for kind, total in parts.totals.items()} == kinds
    ]
    if not complete:
        return breakdown(
            ends[0].host, Missing("no trial has readings of all parts"), systems_and_parts[0][1], declared
        )
    means = {kind: _mean([parts.totals[kind] for _, parts in complete]) for kind in SCOPES if kind in kinds}
    measured = MeasuredParts(means, complete[0][1].left_out)
    return breakdown(
        ends[0].host, _mean([system for system, _ in complete]), measured, declared, len(complete)
    )


def _scope(result: PowerResult) -> str:
    return result.scope.partition(":")[0]


def _same_again(usable: Sequence[Total], results: Sequence[PowerResult]) -> Iterator[str]:
    """What else measures a kind of component that has its total already."""
    taken = usable[0]
    for total in usable[1:]:
        yield f"{total.source} {SCOPE_WORDS[total.scope]}: {taken.source} {SCOPE_WORDS[taken.scope]} is taken"
    for total in usable:
        others = {result.source for result in results if _scope(result) == total.scope} - {total.source}
        for source in sorted(others):
            yield f"{source} {SCOPE_WORDS[total.scope]}: {taken.source} {SCOPE_WORDS[taken.scope]} is taken"


def _measured(kind: ComponentKind, total: Total) -> Part:
    name = SCOPE_WORDS[total.scope]
    return Part(
        name[:1].upper() + name[1:], kind, total.power_w, total.provenance, total.uncertainty_w, total.source
    )


def _declared(component: Component) -> Part:
    return Part(component.label, component.kind, component.total_w, component.provenance)


def _rest(system: Total, parts: Sequence[Part]) -> Part:
    """What the parts leave: an estimate at best, and simulated when anything it is made of is."""
    worst = power.least_sure([system.provenance, *(part.provenance for part in parts)])
    name = "Rest and power supply losses" if system.scope in _WITH_LOSSES else "Rest"
    left_w = math.fsum([system.power_w, *(-part.power_w for part in parts)])
    return Part(name, "rest", left_w, "simulated" if worst == "simulated" else "estimate")


def _exceeding(host: str, system: Total, parts: Sequence[Part], remainder: Part) -> Iterator[Flag]:
    if remainder.power_w >= -_ROUNDING * system.power_w:
        return
    summed = " + ".join(f"{part.name} {part.power_w:g} W ({part.provenance})" for part in parts)
    bounds = [system.uncertainty_w, *(part.uncertainty_w for part in parts)]
    bounds_w = [bound_w for bound_w in bounds if bound_w is not None]
    off = f"; the readings are good to ± {math.fsum(bounds_w):.1f} W" if bounds_w else ""
    yield Flag(
        EXCEEDS,
        host,
        f"{summed} is {-remainder.power_w:.1f} W more than the system's {system.power_w:g} W "
        f"({SCOPE_WORDS[system.scope]}){off}",
        "check the declared watts (of one piece, at this load) and that no part is in another",
    )


def _mean(totals: Sequence[Total]) -> Total:
    """One total over the trials; a bound or a provenance is that of the worst."""
    bounds = [total.uncertainty_w for total in totals if total.uncertainty_w is not None]
    idle = [total.idle_w for total in totals if total.idle_w is not None]
    return replace(
        totals[0],
        power_w=fmean(total.power_w for total in totals),
        idle_w=fmean(idle) if len(idle) == len(totals) else None,
        uncertainty_w=max(bounds) if len(bounds) == len(totals) else None,
        provenance=power.least_sure(total.provenance for total in totals) or "measured",
    )
