# SPDX-License-Identifier: Apache-2.0
"""Power at one end of a case: means over its trials, and what follows from them. SI inside.

As everywhere, a derived value is computed in each trial and then averaged, for the trial is the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.analysis.metrics.metric import Mean, of_some
from linewatt.analysis.metrics.of_power import BOUNDS, POWER_METRICS, EndOfTrial
from linewatt.analysis.metrics.reading import ends_packets_per_s
from linewatt.analysis.power import totals as power
from linewatt.analysis.power.beside import NOTHING, Beside, beside_of
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.missing import Missing
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
    reasons: dict[str, str] = field(default_factory=dict)
    idle_drift: str | None = None
    """why there is no one idle power to compare with"""
    idle_doubt: str | None = None
    """what still moved when idle was measured"""
    beside: Beside = NOTHING
    """the mean over the trials"""

    @property
    def provenance(self) -> Provenance | None:
        """Of what is made of both the system's and the CPU's power: the lesser one."""
        return power.least_sure((self.system_provenance, self.cpu_provenance))


_READS = {**{metric.name: metric.read for metric in POWER_METRICS}, **BOUNDS}
_OF = {metric.name: metric.of for metric in POWER_METRICS}
_QUANTITIES = {metric.name: metric.quantity for metric in POWER_METRICS}
_ABOVE_IDLE = {metric.name for metric in POWER_METRICS if metric.figure == "above_idle"}
_OF_PACKETS = {metric.name for metric in POWER_METRICS if metric.of_packets}
_COSTS = ("dynamic_w_per_bps", "dynamic_energy_j_per_bit")


def end_power(
    trials: Sequence[Trial],
    role: Role,
    rate: Callable[[Trial], float | None] = lambda trial: trial.ends_bps,
    names: Iterable[str] = _READS,
) -> EndPower | None:
    """Power of one end over the done trials of a case; ``None`` when no source of power was named there.

    Costs are of what arrived, or of another ``rate``; ``names`` are the values that are asked for.
    """
    ends = [(trial, end) for trial in trials if (end := trial.end(role)) is not None]
    named = [end for _, end in ends if end.power or any(key.startswith("power.") for key in end.reasons)]
    if not named:
        return None
    systems = _of_one_scope([power.system(end.power) for _, end in ends])
    cpus = _of_one_scope([power.cpu(end.power) for _, end in ends])
    each = [
        EndOfTrial(rate(trial), system, cpu, ends_packets_per_s(trial)[0])
        for (trial, _), system, cpu in zip(ends, systems, cpus, strict=True)
    ]
    counted = any(one.packets_per_s is not None for one in each)
    read = {name: [*map(_READS[name], each)] for name in names if counted or name not in _OF_PACKETS}
    values = {name: estimate(found, _QUANTITIES.get(name, "positive")) for name, found in read.items()}
    reasons = _reasons(read, each, named)
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
        system_provenance=_provenance(systems),
        cpu_scope=cpu.scope if cpu else None,
        cpu_provenance=_provenance(cpus),
        reasons=reasons,
        idle_drift=_first_said(each, "idle_drift"),
        idle_doubt=_first_said(each, "idle_doubt"),
        values=values,
        beside=beside_of(named),
    )


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
    scope = next((one.scope for one in totals if isinstance(one, power.Total)), None)
    return [
        one
        if isinstance(one, Missing) or one.scope == scope
        else Missing(f"only {power.SCOPE_WORDS[one.scope]} was read in some trials")
        for one in totals
    ]


def _provenance(totals: Sequence[power.Total | Missing]) -> Provenance | None:
    return power.least_sure(one.provenance for one in totals if isinstance(one, power.Total))


def _reasons(
    read: Mapping[str, Sequence[float | None]], each: Sequence[EndOfTrial], ends: Sequence[EndResult]
) -> dict[str, str]:
    """Why trials lack a value, by its field; how many, unless all do."""
    reasons = {}
    for name, values in read.items():
        lacking = [one for one, value in zip(each, values, strict=True) if value is None]
        if lacking and name not in BOUNDS:
            reasons[name] = of_some([_why(name, lacking, ends)], len(lacking), len(each))
    return reasons


def _why(name: str, each: Sequence[EndOfTrial], ends: Sequence[EndResult]) -> str:
    """Why none of these trials has a value: the source's own words where there are some."""
    of_system = [] if _OF[name] == "cpu" else [one.system for one in each]
    of_cpu = [one.cpu for one in each] if _OF[name] != "system" else []
    whys = list(dict.fromkeys(one.reason for one in [*of_system, *of_cpu] if isinstance(one, Missing)))
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
    if name in _ABOVE_IDLE and all(one.of_system("idle_w") is None for one in each):
        return NO_IDLE
    drift = _first_said(each, "idle_drift")
    if name in _ABOVE_IDLE - {"idle_w"} and drift is not None:
        return drift
    if name in _OF_PACKETS and any(one.packets_per_s is None for one in each):
        return "packets or lost packets not recorded"
    if all(one.throughput_bps == 0 for one in each):
        return "nothing arrived"
    return "throughput not recorded"


def _first_said(each: Sequence[EndOfTrial], name: str) -> str | None:
    """What the first total that has any says of itself."""
    return next((said for one in each if (said := getattr(one.system, name, None))), None)
