# SPDX-License-Identifier: Apache-2.0
"""Power at one end of a case: means over its trials, and what follows from them. SI inside.

As everywhere, a derived value is computed in each trial and then averaged, for the trial is the unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from linewatt.analysis.metrics.made_by_name import MadeByName
from linewatt.analysis.metrics.metric import FromTrials, Mean, of_some
from linewatt.analysis.metrics.of_power import BOUNDS, POWER_METRICS, EndOfTrial
from linewatt.analysis.metrics.reading import end_packets_per_s
from linewatt.analysis.power import totals as power
from linewatt.analysis.power.machine_conditions import Beside, beside_of
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.missing import Missing, value_or_none
from linewatt.model import EndResult, Provenance, Role, Trial

NO_IDLE = "no idle power of the same channels"
FEWEST_RUNS = 5
"""Runs from which their spread says whether a mean above idle may be 0; of two it says next to nothing."""


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
    reasons: dict[str, str] | MadeByName[str] = field(default_factory=dict)
    idle_drift: str | None = None
    """why there is no one idle power to compare with"""
    idle_doubt: str | None = None
    """what still moved when idle was measured"""
    ends: tuple[EndResult, ...] = field(default=(), repr=False)
    """of the trials that have a source of power there"""

    def beside(self) -> Beside:
        """What stood beside the watts, the mean over the trials."""
        return beside_of(self.ends)

    @property
    def provenance(self) -> Provenance | None:
        """Of what is made of both the system's and the CPU's power: the lesser one."""
        return power.least_sure((self.system_provenance, self.cpu_provenance))


_READS = {metric.name: metric.read for metric in POWER_METRICS if metric.read is not None} | BOUNDS
_WATTS = {metric.name: metric.watts for metric in POWER_METRICS}
_QUANTITIES = {metric.name: metric.quantity for metric in POWER_METRICS}
_ABOVE_IDLE = {metric.name for metric in POWER_METRICS if metric.figure == "above_idle"}
_OF_PACKETS = {metric.name for metric in POWER_METRICS if metric.only_recorded}
_COSTS = ("dynamic_w_per_bps", "dynamic_energy_j_per_bit")


def end_power(trials: Sequence[Trial], role: Role) -> EndPower | None:
    """Power of one end over the done trials of a case; ``None`` when no source of power was named there.

    Costs are for what that end received or sent.
    """
    ends = [(trial, end) for trial in trials if (end := trial.end(role)) is not None]
    named = [end for _, end in ends if end.power or any(key.startswith("power.") for key in end.reasons)]
    if not named:
        return None
    systems = _of_one_scope([power.power_of_system(end.power) for _, end in ends])
    cpus = _of_one_scope([power.power_of_cpus(end.power) for _, end in ends])
    packets_of = end_packets_per_s(role)
    of_trials = [
        EndOfTrial(trial.end_bps(role), system, cpu, value_or_none(packets_of(trial)))
        for (trial, _), system, cpu in zip(ends, systems, cpus, strict=True)
    ]
    system = next((total for total in systems if isinstance(total, power.Total)), None)
    cpu = next((total for total in cpus if isinstance(total, power.Total)), None)
    values, reasons = _values_and_reasons(of_trials, named)
    return EndPower(
        host=named[0].host,
        role=role,
        system_scope=system.scope if system else None,
        system_provenance=_provenance(systems),
        cpu_scope=cpu.scope if cpu else None,
        cpu_provenance=_provenance(cpus),
        values=values,
        reasons=reasons,
        idle_drift=_first_said(of_trials, "idle_drift"),
        idle_doubt=_first_said(of_trials, "idle_doubt"),
        ends=tuple(named),
    )


def _values_and_reasons(
    trial_ends: Sequence[EndOfTrial], ends: Sequence[EndResult]
) -> tuple[MadeByName[Estimate | None], MadeByName[str]]:
    """Figures of one end by name, and why trials lack them; how many, unless all do."""
    has_packets = any(trial_end.packets_per_s is not None for trial_end in trial_ends)
    names = tuple(name for name in _READS if has_packets or name not in _OF_PACKETS)

    @cache
    def read_trials(name: str) -> FromTrials:
        values = [*map(_READS[name], trial_ends)]
        why = None
        if None in values and name not in BOUNDS:
            lacking = [end for end, value in zip(trial_ends, values, strict=True) if value is None]
            why = of_some([_why(name, lacking, ends)], len(lacking), len(trial_ends))
        return FromTrials(estimate(values, _QUANTITIES.get(name, "positive")), why)

    @cache
    def why_no_cost() -> str | None:
        return indistinct(read_trials("dynamic_w").mean, read_trials("dynamic_uncertainty_w").mean)

    def mean(name: str) -> Estimate | None:
        return None if name in _COSTS and why_no_cost() is not None else read_trials(name).mean

    def reason(name: str) -> str:
        why = why_no_cost() if name in _COSTS else None
        if (why := why or read_trials(name).why_missing) is None:
            raise KeyError(name)
        return why

    return MadeByName(names, mean), MadeByName(names, reason)


def indistinct(above: Estimate | None, bound: Estimate | None) -> str | None:
    """Why no cost can be told from a mean power above idle: with its ± it may be 0; ``None``: it can."""
    if above is None:
        return None
    bound_w = bound.mean if bound is not None and bound.n == above.n else 0.0
    if above.mean - bound_w <= 0:
        if not bound_w:
            return "the load drew no more than idle"
        relation = "below idle" if above.mean + bound_w < 0 else "not distinguishable from idle"
        return f"{relation}: {_w(above.mean)} ± {bound_w:.1f} W"
    ci = above.interval() if above.n >= FEWEST_RUNS else None
    if ci is not None and ci.low <= 0:
        return f"not distinguishable from idle: {_w(above.mean)} W, 95 % CI {_w(ci.low)} to {_w(ci.high)} W"
    return None


def _w(watts: float) -> str:
    return f"{watts:.1f}".replace("-", "−")


def _of_one_scope(totals: Sequence[power.Total | Missing]) -> list[power.Total | Missing]:
    """The totals of the first one's scope: watts of another scope are not averaged with them."""
    scope = next((total.scope for total in totals if isinstance(total, power.Total)), None)
    return [
        total
        if isinstance(total, Missing) or total.scope == scope
        else Missing(f"only {power.SCOPE_WORDS[total.scope]} was read in some trials")
        for total in totals
    ]


def _provenance(totals: Sequence[power.Total | Missing]) -> Provenance | None:
    return power.least_sure(total.provenance for total in totals if isinstance(total, power.Total))


def _why(name: str, trial_ends: Sequence[EndOfTrial], ends: Sequence[EndResult]) -> str:
    """Why none of these trials has a value: the source's own words where there are some."""
    of_system = [] if _WATTS[name] == "cpu" else [of_trial.system for of_trial in trial_ends]
    of_cpu = [of_trial.cpu for of_trial in trial_ends] if _WATTS[name] != "system" else []
    whys = [total.reason for total in [*of_system, *of_cpu] if isinstance(total, Missing)]
    down = [
        f"{key.removeprefix('power.')}: {why}"
        for end in ends
        for key, why in end.reasons.items()
        if key.startswith("power.")
    ]
    if whys:
        return "; ".join(dict.fromkeys(down or whys))
    if name == "uncertainty_w":
        return "the error of the source is not known"
    if name in _ABOVE_IDLE and all(of_trial.of_system("idle_w") is None for of_trial in trial_ends):
        return NO_IDLE
    drift = _first_said(trial_ends, "idle_drift")
    if name in _ABOVE_IDLE - {"idle_w"} and drift is not None:
        return drift
    if name in _OF_PACKETS and any(of_trial.packets_per_s is None for of_trial in trial_ends):
        return "packets or lost packets not recorded"
    if all(of_trial.throughput_bps == 0 for of_trial in trial_ends):
        return "nothing arrived"
    return "throughput not recorded"


def _first_said(trial_ends: Sequence[EndOfTrial], name: str) -> str | None:
    """What the first total that has any says of itself."""
    return next(
        (statement for of_trial in trial_ends if (statement := getattr(of_trial.system, name, None))), None
    )
