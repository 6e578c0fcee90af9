# SPDX-License-Identifier: Apache-2.0
"""Power at one end of a case: means over its trials, and what follows from them. SI inside.

As everywhere, a derived value is computed in each trial and then averaged, for the trial is the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from linewatt.analysis.metrics import formulas
from linewatt.analysis.metrics.metric import of_some
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

    host: str
    role: Role
    system_scope: str | None = None
    system_provenance: Provenance | None = None
    cpu_scope: str | None = None
    cpu_provenance: Provenance | None = None
    system_w: Estimate | None = None
    uncertainty_w: Estimate | None = None
    cpu_w: Estimate | None = None
    idle_w: Estimate | None = None
    idle_uncertainty_w: Estimate | None = None
    system_bps_per_w: Estimate | None = None
    cpu_bps_per_w: Estimate | None = None
    cpu_power_ratio: Estimate | None = None
    dynamic_w: Estimate | None = None
    dynamic_uncertainty_w: Estimate | None = None
    dynamic_w_per_bps: Estimate | None = None
    dynamic_uncertainty_w_per_bps: Estimate | None = None
    """bound of both costs above idle, W per bit/s, which is J/bit"""
    energy_j_per_bit: Estimate | None = None
    dynamic_energy_j_per_bit: Estimate | None = None
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


@dataclass(frozen=True, slots=True)
class _OneTrial:
    """One end of one trial: throughput, and its totals or why there are none."""

    throughput_bps: float | None
    system: power.Total | str
    cpu: power.Total | str

    @property
    def system_w(self) -> float | None:
        return self.system.power_w if isinstance(self.system, power.Total) else None

    @property
    def cpu_w(self) -> float | None:
        return self.cpu.power_w if isinstance(self.cpu, power.Total) else None

    @property
    def total(self) -> power.Total | None:
        """The system's power, where it is known."""
        return self.system if isinstance(self.system, power.Total) else None

    @property
    def idle_w(self) -> float | None:
        return self.total.idle_w if self.total is not None else None

    @property
    def dynamic_w(self) -> float | None:
        """Power above idle, 0 or less included: to leave such trials out would make the mean too large."""
        return self.total.above_idle_w if self.total is not None else None

    @property
    def dynamic_uncertainty_w(self) -> float | None:
        if self.total is None or self.dynamic_w is None:
            return None
        return self.total.above_idle_uncertainty_w

    @property
    def uncertainty_w(self) -> float | None:
        return self.total.uncertainty_w if self.total is not None else None

    @property
    def idle_uncertainty_w(self) -> float | None:
        return self.total.idle_uncertainty_w if self.total is not None else None

    @property
    def drift(self) -> str | None:
        """Why there is no one idle power."""
        return self.total.idle_drift if self.total is not None else None

    def per_bps(self, power_w: float | None) -> float | None:
        """A cost that may be 0 or less; None where nothing arrived."""
        return power_w / self.throughput_bps if power_w is not None and self.throughput_bps else None


_VALUES: dict[str, Callable[[_OneTrial], float | None]] = {
    "system_w": lambda one: one.system_w,
    "uncertainty_w": lambda one: one.uncertainty_w,
    "cpu_w": lambda one: one.cpu_w,
    "idle_w": lambda one: one.idle_w,
    "idle_uncertainty_w": lambda one: one.idle_uncertainty_w,
    "system_bps_per_w": lambda one: formulas.bps_per_w(one.throughput_bps, one.system_w),
    "cpu_bps_per_w": lambda one: formulas.bps_per_w(one.throughput_bps, one.cpu_w),
    "cpu_power_ratio": lambda one: formulas.cpu_power_ratio(one.cpu_w, one.system_w),
    "dynamic_w": lambda one: one.dynamic_w,
    "dynamic_uncertainty_w": lambda one: one.dynamic_uncertainty_w,
    "dynamic_w_per_bps": lambda one: one.per_bps(one.dynamic_w),
    "dynamic_uncertainty_w_per_bps": lambda one: one.per_bps(one.dynamic_uncertainty_w),
    "energy_j_per_bit": lambda one: formulas.energy_j_per_bit(one.system_w, one.throughput_bps),
    "dynamic_energy_j_per_bit": lambda one: one.per_bps(one.dynamic_w),
}
_OF_CPU = {"cpu_w", "cpu_bps_per_w"}
_OF_BOTH = {"cpu_power_ratio"}
_COSTS = ("dynamic_w_per_bps", "dynamic_energy_j_per_bit")
_BOUNDS = ("idle_uncertainty_w", "dynamic_uncertainty_w", "dynamic_uncertainty_w_per_bps")
_ABOVE_IDLE = {"dynamic_w", *_COSTS}


def end_power(trials: Sequence[Trial], role: Role) -> EndPower | None:
    """Power of one end over the done trials of a case; ``None`` when no source of power was named there."""
    ends = [(trial, end) for trial in trials if (end := trial.end(role)) is not None]
    named = [end for _, end in ends if end.power or any(key.startswith("power.") for key in end.reasons)]
    if not named:
        return None
    systems = _of_one_scope([power.system(end.power) for _, end in ends])
    cpus = _of_one_scope([power.cpu(end.power) for _, end in ends])
    each = [
        _OneTrial(trial.throughput_bps, system, cpu)
        for (trial, _), system, cpu in zip(ends, systems, cpus, strict=True)
    ]
    values = {name: estimate(read(one) for one in each) for name, read in _VALUES.items()}
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
        **values,
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


def _reasons(each: Sequence[_OneTrial], ends: Sequence[EndResult]) -> dict[str, str]:
    """Why trials lack a value, by its field; how many, unless all do."""
    reasons = {}
    for name, read in _VALUES.items():
        lacking = [one for one in each if read(one) is None]
        if lacking and name not in _BOUNDS:
            reasons[name] = of_some([_why(name, lacking, ends)], len(lacking), len(each))
    return reasons


def _why(name: str, each: Sequence[_OneTrial], ends: Sequence[EndResult]) -> str:
    """Why none of these trials has a value: the source's own words where there are some."""
    of_system = [] if name in _OF_CPU else [one.system for one in each]
    of_cpu = [one.cpu for one in each] if name in _OF_CPU | _OF_BOTH else []
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
    if name in {"idle_w", *_ABOVE_IDLE} and all(one.idle_w is None for one in each):
        return NO_IDLE
    drifts = [one.drift for one in each if one.drift is not None]
    if name in _ABOVE_IDLE and drifts:
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
