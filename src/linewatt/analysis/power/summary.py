# SPDX-License-Identifier: Apache-2.0
"""Power at one end of a case: means over its trials, and what follows from them. SI inside.

As everywhere, a derived value is computed in each trial and then averaged, for the trial is the unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.analysis.metrics.metric import Mean, of_some
from linewatt.analysis.metrics.of_power import BOUNDS, POWER_METRICS, EndOfTrial
from linewatt.analysis.power import totals as power
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.model import EndResult, Provenance, Role, Trial

NO_IDLE = "no idle power of the same channels"
FEWEST_RUNS = 5
"""Runs from which their spread says whether a mean above idle may be 0; of two it says next to nothing."""


@dataclass(frozen=True, slots=True)
class PartPower:
    """Mean power of one channel."""

    source: str
    channel: str
    scope: str
    provenance: Provenance
    power_w: Estimate


@dataclass(frozen=True, slots=True)
class EndPower:
    """Power at one end. ``None`` where no trial has a value; ``reasons`` says why, by field name.

    ``system_scope`` and ``cpu_scope`` say which watts these are (keys of ``power.SCOPE_WORDS``), and the
    provenances whether they were measured. ``uncertainty_w`` is the bound of one trial's system power, the
    mean over the trials; ``dynamic_uncertainty_w`` that of the power above idle. ``dynamic_w`` is the mean
    over all trials, those at or below idle among them; costs above idle are only given where it is above 0
    beyond its bound and its spread.
    """

    system_w = Mean()
    uncertainty_w = Mean()
    cpu_w = Mean()
    cpu_bps_per_w = Mean()
    idle_w = Mean()
    idle_uncertainty_w = Mean()
    system_bps_per_w = Mean()
    dynamic_w = Mean()
    dynamic_uncertainty_w = Mean()
    dynamic_w_per_bps = Mean()
    dynamic_uncertainty_w_per_bps = Mean()

    host: str
    role: Role
    system_scope: str | None = None
    system_provenance: Provenance | None = None
    cpu_scope: str | None = None
    cpu_provenance: Provenance | None = None
    values: Mapping[str, Estimate | None] = field(default_factory=dict)
    """of every metric of power, and of the bounds of their errors, by name"""
    parts: tuple[PartPower, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    idle_drift: str | None = None
    """why there is no one idle power to compare with"""
    idle_doubt: str | None = None
    """what still moved when idle was measured"""

    @property
    def provenance(self) -> Provenance | None:
        """Of what is made of both the system's and the CPU's power: the lesser one."""
        known = [one for one in (self.system_provenance, self.cpu_provenance) if one is not None]
        return max(known, key=power.WEIGHT.__getitem__, default=None)


_READS = {**{metric.name: metric.read for metric in POWER_METRICS}, **BOUNDS}
_OF = {metric.name: metric.of for metric in POWER_METRICS}
_ABOVE_IDLE = {metric.name for metric in POWER_METRICS if metric.figure == "above_idle"}
_COSTS = ("dynamic_w_per_bps", "dynamic_energy_j_per_bit")


def end_power(trials: Sequence[Trial], role: Role) -> EndPower | None:
    """Power of one end over the done trials of a case; ``None`` when no source of power was named there."""
    ends = [(trial, end) for trial in trials if (end := trial.end(role)) is not None]
    named = [end for _, end in ends if end.power or any(key.startswith("power.") for key in end.reasons)]
    if not named:
        return None
    systems = _of_one_scope([power.system(end.power) for _, end in ends])
    cpus = _of_one_scope([power.cpu(end.power) for _, end in ends])
    each = [
        EndOfTrial(trial.throughput_bps, system, cpu)
        for (trial, _), system, cpu in zip(ends, systems, cpus, strict=True)
    ]
    values = {name: estimate(read(one) for one in each) for name, read in _READS.items()}
    reasons = _reasons(each, named)
    unclear = indistinct(values["dynamic_w"], values["dynamic_uncertainty_w"])
    if unclear is not None:
        values |= dict.fromkeys(_COSTS)
        reasons |= dict.fromkeys(_COSTS, unclear)
    system = next((one.system for one in each if isinstance(one.system, power.Total)), None)
    cpu = next((one.cpu for one in each if isinstance(one.cpu, power.Total)), None)
    return EndPower(
        host=named[0].host,
        role=role,
        system_scope=system.scope if system else None,
        system_provenance=_least_sure(systems),
        cpu_scope=cpu.scope if cpu else None,
        cpu_provenance=_least_sure(cpus),
        parts=_parts(named),
        reasons=reasons,
        idle_drift=next((one.drift for one in each if one.drift), None),
        idle_doubt=next((one.total.idle_doubt for one in each if one.total and one.total.idle_doubt), None),
        values=values,
    )


def indistinct(above: Estimate | None, bound: Estimate | None) -> str | None:
    """Why no cost can be told from a mean power above idle: with its ± it may be 0; ``None``: it can."""
    if above is None:
        return None
    bound_w = bound.mean if bound is not None and bound.n == above.n else 0.0
    if above.mean - bound_w <= 0:
        if not bound_w:
            return "the load drew no more than idle"
        said = "below idle" if above.mean + bound_w < 0 else "not distinguishable from idle"
        return f"{said}: {_w(above.mean)} ± {bound_w:.1f} W"
    ci = above.interval() if above.n >= FEWEST_RUNS else None
    if ci is not None and ci.low <= 0:
        return f"not distinguishable from idle: {_w(above.mean)} W, 95 % CI {_w(ci.low)} to {_w(ci.high)} W"
    return None


def _w(watts: float) -> str:
    return f"{watts:.1f}".replace("-", "−")


def _of_one_scope(totals: Sequence[power.Total | str]) -> list[power.Total | str]:
    """The totals of the first one's scope: watts of another scope are not averaged with them."""
    scope = next((one.scope for one in totals if isinstance(one, power.Total)), None)
    return [
        one
        if isinstance(one, str) or one.scope == scope
        else f"only {power.SCOPE_WORDS[one.scope]} was read in some trials"
        for one in totals
    ]


def _least_sure(totals: Sequence[power.Total | str]) -> Provenance | None:
    known = [one.provenance for one in totals if isinstance(one, power.Total)]
    return max(known, key=power.WEIGHT.__getitem__, default=None)


def _reasons(each: Sequence[EndOfTrial], ends: Sequence[EndResult]) -> dict[str, str]:
    """Why trials lack a value, by its field; how many, unless all do."""
    reasons = {}
    for name, read in _READS.items():
        lacking = [one for one in each if read(one) is None]
        if lacking and name not in BOUNDS:
            reasons[name] = of_some([_why(name, lacking, ends)], len(lacking), len(each))
    return reasons


def _why(name: str, each: Sequence[EndOfTrial], ends: Sequence[EndResult]) -> str:
    """Why none of these trials has a value: the source's own words where there are some."""
    of_system = [] if _OF[name] == "cpu" else [one.system for one in each]
    of_cpu = [one.cpu for one in each] if _OF[name] != "system" else []
    whys = list(dict.fromkeys(one for one in [*of_system, *of_cpu] if isinstance(one, str)))
    down = [
        f"{key.removeprefix('power.')}: {why}"
        for end in ends
        for key, why in end.reasons.items()
        if key.startswith("power.")
    ]
    if whys:
        return "; ".join(dict.fromkeys([*down, *([] if down else whys)]))
    if name == "uncertainty_w":
        return "the error of the source is not known"
    if name in _ABOVE_IDLE and all(one.idle_w is None for one in each):
        return NO_IDLE
    drifts = [one.drift for one in each if one.drift is not None]
    if name in _ABOVE_IDLE - {"idle_w"} and drifts:
        return drifts[0]
    if all(one.throughput_bps == 0 for one in each):
        return "nothing arrived"
    return "throughput not recorded"


def _parts(ends: Sequence[EndResult]) -> tuple[PartPower, ...]:
    """Every channel with a number, its mean over the trials that have it, in the order they are read in."""
    found: dict[tuple[str, str, str, Provenance], list[float]] = {}
    for end in ends:
        for one in end.power:
            if one.power_w is not None:
                key = (one.source, one.channel, one.scope, one.provenance)
                found.setdefault(key, []).append(one.power_w)
    return tuple(
        PartPower(*key, value) for key, values in found.items() if (value := estimate(values)) is not None
    )
