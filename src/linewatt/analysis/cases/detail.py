# SPDX-License-Identifier: Apache-2.0
"""One end of a case in full, as studies of a host matrix print it: a block a host. Pure, SI inside.

Costs are per bit that *this end* handled: what it received at the receiver, what it sent at the sender,
both where it does both (docs/metrics.md). As everywhere they are computed in each trial and then averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from linewatt.analysis.cases.flows import with_flows
from linewatt.analysis.cases.shares import ShareSpread, share_spread
from linewatt.analysis.metrics import formulas
from linewatt.analysis.metrics.cpu_shares import PARTS, app_and_irq_cores, busy_cores, shares_of, why_no_end
from linewatt.analysis.metrics.metric import Mean, Value, estimates
from linewatt.analysis.power.summary import EndPower, end_power
from linewatt.analysis.statistics.stats import Estimate
from linewatt.missing import Missing, NotRecorded
from linewatt.model import ENDS, Case, Provenance, Role, Trial

NOT_NAMED = "no source of power is named for this host"
SHARED = "app and IRQ CPUs are the same, so their use cannot be told apart"


@dataclass(frozen=True, slots=True)
class DetailBlock:
    """One end of one case; ``None`` where no trial has a value, ``reasons`` says why, by field name.

    ``throughput_bps`` is this end's own rate. ``cpu_used_cores`` is what its application CPUs and IRQ CPUs
    used together; ``app_cores_per_bps`` and ``irq_cores_per_bps`` are the parts of ``cpu_cores_per_bps``
    where the roles have CPUs of their own. ``provenance`` is that of all its watts.
    """

    throughput_bps = Mean()
    cpu_used_cores = Mean()
    cpu_cores_per_bps = Mean()
    app_cores_per_bps = Mean()
    irq_cores_per_bps = Mean()
    power_w = Mean()
    idle_w = Mean()
    dynamic_w_per_bps = Mean()

    case: Case
    role: Role
    trials: int
    values: Mapping[str, Estimate | None] = field(default_factory=dict)
    """of these figures and of the bounds of their errors, by name"""
    app: ShareSpread | None = None
    irq: ShareSpread | None = None
    power_scope: str | None = None
    provenance: Provenance | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return self.case.receiver if self.role == "receiver" else self.case.sender

    @property
    def connection(self) -> Literal["server", "client", "both"]:
        """Who of the two opened the connection; a host that does both opened those of what it sends."""
        if self.case.ends_do_both:
            return "both"
        return "server" if self.case.server == self.host else "client"


def detail_blocks(trials: Sequence[Trial]) -> tuple[DetailBlock, ...]:
    """Both ends of every case, the receiver first; cases in the order of their first trial.

    Of a group and its pairs each end stands where its figures are.
    """
    cases: dict[Case, list[Trial]] = {}
    for trial in with_flows(trials):
        done_trials = cases.setdefault(trial.case, [])
        if trial.status == "done":
            done_trials.append(trial)
    return tuple(
        _block(case, role, done_trials)
        for case, done_trials in cases.items()
        for role in ENDS
        if not case.told_elsewhere(role)
    )


def _block(case: Case, role: Role, trials: Sequence[Trial]) -> DetailBlock:
    values, whys = estimates({name: partial(read, role) for name, read in _VALUES.items()}, trials)
    reasons = {**whys}
    app, irq = (share_spread(shares_of(trials, role, part, part, reasons)) for part in PARTS)
    power = end_power(trials, role)
    reasons |= _power_reasons(power, role, trials)
    watts = {} if power is None else {name: power.values[theirs] for name, theirs in _POWER.items()}
    return DetailBlock(
        case=case,
        role=role,
        trials=len(trials),
        values={**values, **watts},
        app=app,
        irq=irq,
        power_scope=power.system_scope if power else None,
        provenance=power.system_provenance if power else None,
        reasons=reasons,
    )


_POWER = {
    "power_w": "system_w",
    "idle_w": "idle_w",
    "idle_uncertainty_w": "idle_uncertainty_w",
    "dynamic_w_per_bps": "dynamic_w_per_bps",
    "dynamic_uncertainty_w_per_bps": "dynamic_uncertainty_w_per_bps",
}
"""figures of a block and their names among those of an end's power"""


def _power_reasons(power: EndPower | None, role: Role, trials: Sequence[Trial]) -> dict[str, str]:
    names = {"power_w": "system_w", "idle_w": "idle_w", "dynamic_w_per_bps": "dynamic_w_per_bps"}
    if power is None:
        imported = next((trial.reason for trial in trials if trial.reason), None)
        return dict.fromkeys(names, imported or NOT_NAMED)
    reasons = {name: power.reasons[theirs] for name, theirs in names.items() if theirs in power.reasons}
    rates = [_rate(role, trial) for trial in trials]
    if all(isinstance(rate, Missing) for rate in rates) and "dynamic_w_per_bps" in reasons:
        first = rates[0] if rates else NotRecorded()
        reasons["dynamic_w_per_bps"] = (
            "throughput not recorded" if isinstance(first, NotRecorded) else str(first)
        )
    return reasons


def _rate(role: Role, trial: Trial) -> Value:
    rate_bps = trial.end_bps(role)
    if rate_bps is None:
        return Missing(trial.reason) if trial.reason else NotRecorded()
    return rate_bps


def _used(role: Role, trial: Trial) -> Value:
    end = trial.end(role)
    return why_no_end(trial, role) if end is None else app_and_irq_cores(end)


def _cost(role: Role, trial: Trial) -> Value:
    cores, rate = _used(role, trial), _rate(role, trial)
    if isinstance(cores, Missing):
        return cores
    if isinstance(rate, Missing):
        return rate
    cost = formulas.cpu_cores_per_bps(cores, rate)
    return Missing("throughput and CPU use must both be greater than 0") if cost is None else cost


def _part_cost(part: Literal["app", "irq"]) -> Callable[[Role, Trial], Value]:
    def read(role: Role, trial: Trial) -> Value:
        end = trial.end(role)
        if end is None or end.app_cpu is None or end.irq_cpu is None:
            return _used(role, trial)
        if set(end.app_cpu.cpus) & set(end.irq_cpu.cpus):
            return Missing(SHARED)
        shares = end.app_cpu if part == "app" else end.irq_cpu
        rate = _rate(role, trial)
        if isinstance(rate, Missing):
            return rate
        # 0 is a number here: an IRQ CPU may have nothing to do
        return busy_cores(shares) / rate if rate else Missing("nothing arrived")

    return read


_VALUES: dict[str, Callable[[Role, Trial], Value]] = {
    "throughput_bps": _rate,
    "cpu_used_cores": _used,
    "cpu_cores_per_bps": _cost,
    "app_cores_per_bps": _part_cost("app"),
    "irq_cores_per_bps": _part_cost("irq"),
}
