# SPDX-License-Identifier: Apache-2.0
"""What each end of a stored campaign drew at which traffic, as rows for :mod:`energy_fit`. Pure.

Traffic is what the data interface counted in the window: what a sender's sent, what a receiver's received.
That is all that passed, of this load or another, with what sockets dropped later; an interface counts frames
without FCS, preamble and gap. Only UDP: TCP's segments may be counted before they are cut.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.flows import with_flows
from linewatt.analysis.power import totals
from linewatt.analysis.power.energy_design import Row
from linewatt.analysis.power.energy_fit import BASE_POWER, KINDS, EnergyFit, Figure, as_wide, fit_energy
from linewatt.analysis.power.idle_drift import IdleDrift, drift_of
from linewatt.missing import Missing
from linewatt.model import (
    ENDS,
    Case,
    EndResult,
    PowerResult,
    Provenance,
    Role,
    Trial,
    is_request_response,
)
from linewatt.records import Idle, IdleHost

OTHER_WAY_RATIO = 0.05
"""of the packets, that may go the other way"""
UNCOUNTED_RATIO = 0.9
"""An interface that counted fewer of the packets that the load received counts joined ones."""


@dataclass(frozen=True, slots=True)
class EndEnergy:
    """The fit of one end, over the trials that differ in packet size and rate only; ``case`` has the rest."""

    case: Case
    role: Role
    fit: EnergyFit
    provenance: Provenance | None = None
    scope: str = ""
    source: str = ""
    tolerance_ratio: float | None = None
    """of the meter's gain: it is in all three figures alike, and not in their CIs"""
    trials: tuple[int, ...] = ()
    """numbers of those that are rows"""
    drift: IdleDrift | None = None
    """what idle drifted by between them, which their watts are less"""
    has_meter: bool = True
    """whether any of its trials has a meter of system power at this end, read or not"""

    @property
    def host(self) -> str:
        return self.case.host(self.role)


@dataclass(frozen=True, slots=True)
class _Reading:
    row: Row
    total: totals.Total
    tolerance_ratio: float
    number: int
    """of its trial"""
    time_s: float
    """the middle of its window"""


def end_energies(trials: Iterable[Trial], idle: Sequence[Idle] = ()) -> list[EndEnergy]:
    """The fits of each end of each kind of case; receivers first. ``idle`` are all idle windows."""
    groups: dict[Case, list[Trial]] = {}
    for trial_or_pair in with_flows(trials):
        if not trial_or_pair.case.is_tcp and not is_request_response(trial_or_pair.case.test):
            group_case = replace(trial_or_pair.case, test="udp-60", rate_bps=None, load_level=None)
            groups.setdefault(group_case, []).append(trial_or_pair)
    return [
        _end(case, role, group, [idle_window for idle_window in idle if idle_window.is_of(case)])
        for role in ENDS
        for case, group in groups.items()
        if not case.told_elsewhere(role)
    ]


def _end(case: Case, role: Role, trials: Sequence[Trial], idle: Sequence[Idle]) -> EndEnergy:
    readings: list[_Reading] = []
    lost: Counter[str] = Counter()
    for trial in trials:
        reading = _reading(trial, role, readings[0].total if readings else None)
        if isinstance(reading, Missing):
            lost[reading.reason] += 1
        else:
            readings.append(reading)
    left_out = tuple(f"{count} of {len(trials)} trials left out: {why}" for why, count in lost.items())
    if not readings:
        blank = EnergyFit({kind.key: Figure(None) for kind in KINDS}, rows=0)
        fit = blank.withheld("; ".join(left_out) or "it has no trials")
        return EndEnergy(case, role, fit, has_meter=any(_has_meter(trial.end(role)) for trial in trials))
    total = readings[0].total
    means_w, bound_w = _idle_windows(idle, case.host(role), total)
    drift = drift_of(means_w)
    fit = _fit(readings) if drift is None else _fit_without(drift, readings, bound_w)
    return EndEnergy(
        case,
        role,
        replace(fit, warnings=(*left_out, *fit.warnings)),
        totals.least_sure(reading.total.provenance for reading in readings),
        total.scope,
        total.source,
        max(reading.tolerance_ratio for reading in readings) or None,
        tuple(reading.number for reading in readings),
        drift,
    )


def _has_meter(end: EndResult | None) -> bool:
    """Whether a meter of the whole system is on record, also where nothing was read of it."""
    return end is not None and any(
        power_result.scope.partition(":")[0] in totals.SYSTEM_SCOPES for power_result in end.power
    )


def _reading(trial: Trial, role: Role, first_total: totals.Total | None) -> _Reading | Missing:
    """What an end drew at which traffic, or why that is not known."""
    end = trial.end(role)
    if trial.status != "done":
        return Missing(trial.status)
    if trial.case.ends_do_both:
        return Missing("it sent and received at the same time, and its watts cannot be split")
    if end is None or trial.window is None:
        return Missing("this end was not recorded") if end is None else Missing("no window was recorded")
    total = totals.power_of_system(end.power)
    if isinstance(total, Missing):
        return total
    if first_total is not None and (total.scope, total.source) != (first_total.scope, first_total.source):
        return Missing(
            f"its watts are of {total.source} ({total.scope}), not of {first_total.source} "
            f"({first_total.scope})"
        )
    traffic = _traffic(trial, end, role, trial.window.seconds)
    if isinstance(traffic, Missing):
        return traffic
    bits, packets = traffic
    power_results = total.channels_of(end.power)
    middle_s = (trial.window.start_s + trial.window.end_s) / 2
    row = Row(
        bits, packets, total.power_w, f"trial {trial.number}", sum(map(_bound_w, power_results)), middle_s
    )
    tolerance_ratio = max(
        (power_result.tolerance_ratio or 0.0 for power_result in power_results), default=0.0
    )
    return _Reading(row, total, tolerance_ratio, trial.number, middle_s)


def _traffic(trial: Trial, end: EndResult, role: Role, seconds: float) -> tuple[float, float] | Missing:
    """Bit/s and packets/s of the interface in the window, or why they are not known."""
    if trial.packets is None or trial.lost_packets is None:
        return Missing("the load did not count packets, so the interface's count cannot be checked")
    way, opposite = ("tx", "rx") if role == "sender" else ("rx", "tx")
    names = [f"nic.{way}_bytes", f"nic.{way}_packets", f"nic.{opposite}_packets"]
    counted = [end.counters.get(name) for name in names]
    counts = [count for count in counted if count is not None]
    if len(counts) < len(names):
        name = names[counted.index(None)]
        return Missing(f"{name} of {end.host}: {end.reasons.get(name, 'not read')}")
    count_bytes, packets, other_way = counts
    if other_way > OTHER_WAY_RATIO * packets:
        return Missing(f"{other_way:.0f} packets went in the other direction, {packets:.0f} in this one")
    received = trial.packets - trial.lost_packets
    if packets < UNCOUNTED_RATIO * received:
        return Missing(
            f"the interface counted {packets:.0f} packets for {received} that arrived: they were merged"
        )
    return 8 * count_bytes / seconds, packets / seconds


def _bound_w(power_result: PowerResult) -> float:
    """A bound of a channel's error without the meter's gain, which errs alike in all trials."""
    if power_result.energy_uncertainty_j is None or not power_result.energy_j or power_result.power_w is None:
        return power_result.step_w or 0.0
    bound_w = power_result.energy_uncertainty_j * power_result.power_w / power_result.energy_j
    return _without_gain_w(bound_w, power_result.power_w, power_result.tolerance_ratio)


def _without_gain_w(bound_w: float, power_w: float, tolerance_ratio: float | None) -> float:
    return math.sqrt(max(0.0, bound_w**2 - ((tolerance_ratio or 0.0) * power_w) ** 2))


def _idle_windows(
    windows: Iterable[Idle], host: str, total: totals.Total
) -> tuple[list[tuple[float, float]], float]:
    """Idle windows of one host as its total counts them: (middle, W) of each, and what their meter leaves
    open, but for its gain."""
    means_w: list[tuple[float, float]] = []
    bounds_w: list[float] = []
    for window in windows:
        power_results = total.channels_of(window.hosts.get(host, IdleHost()).power)
        watts = [power_result.power_w for power_result in power_results if power_result.power_w is not None]
        if len(watts) == len(total.channels):
            means_w.append(((window.window.start_s + window.window.end_s) / 2, math.fsum(watts)))
            bounds_w.append(math.fsum(map(_bound_w, power_results)))
    return means_w, max(bounds_w, default=0.0)


def _fit(readings: Sequence[_Reading]) -> EnergyFit:
    """Of the trials, with idle windows as rows without traffic where they lie on the model of the trials."""
    total = readings[0].total
    alone = fit_energy([reading.row for reading in readings], total.step_w or None)
    if total.idle_drift is not None:
        return alone.warned(f"idle windows are not used in the fit: {total.idle_drift}")
    return _with_idle(alone, readings, list(_idle_rows(readings[0])))


def _fit_without(drift: IdleDrift, readings: Sequence[_Reading], bound_w: float) -> EnergyFit:
    """The same of trials less what idle had drifted by at each; idle is then one row, its mean."""
    still = [
        replace(
            reading,
            row=replace(reading.row, power_w=reading.row.power_w - drift.at(reading.time_s), time_s=None),
        )
        for reading in readings
    ]
    alone = fit_energy([reading.row for reading in still], still[0].total.step_w or None)
    return _with_idle(alone, still, [Row(0.0, 0.0, drift.mean_w, "idle windows", bound_w)])


def _with_idle(alone: EnergyFit, readings: Sequence[_Reading], idle: Sequence[Row]) -> EnergyFit:
    base = alone.line_base or alone.figures[BASE_POWER.key]
    if not idle:
        return alone
    if base.value is None or base.low is None or base.high is None:
        return alone.warned(
            "idle windows are not used in the fit: the trials alone have no power without traffic, so that "
            "nothing shows whether idle lies on the model"
        )
    idle_w = math.fsum(row.power_w for row in idle) / len(idle)
    if base.low - idle[0].bound_w <= idle_w <= base.high + idle[0].bound_w:
        step_w = readings[0].total.step_w or None
        return _no_surer(fit_energy([*(reading.row for reading in readings), *idle], step_w), alone)
    base_words = BASE_POWER.said(base.value, (base.high - base.low) / 2)
    return alone.warned(
        f"idle is {idle_w:.1f} W, and the model has {base_words} without traffic: "
        f"{base.value - idle_w:+.1f} W "
        "as soon as packets flow, whatever their rate; idle windows are not used in the fit"
    )


def _no_surer(joint: EnergyFit, alone: EnergyFit) -> EnergyFit:
    """With no figure that the trials alone do not carry, and no CI that leaves out any of theirs: idle may be
    off the model by as much as these leave open.
    """
    for kind in KINDS:
        joint_figure, alone_figure = joint.figures[kind.key], alone.figures[kind.key]
        if kind is BASE_POWER and alone.line_base is not None and alone_figure.value is not None:
            alone_figure = alone.line_base
        if joint_figure.low is None or joint_figure.high is None:
            continue
        if alone_figure.low is None or alone_figure.high is None:
            joint = joint.withheld(f"by the trials without idle: {alone_figure.reason}", kind)
            continue
        joint = replace(joint, figures={**joint.figures, kind.key: as_wide(joint_figure, alone_figure)})
    return joint


def _idle_rows(reading: _Reading) -> Iterator[Row]:
    total = reading.total
    bound_w = total.idle_uncertainty_w or 0.0
    for number, power_w in enumerate(total.idle_windows_w, 1):
        free_w = _without_gain_w(bound_w, power_w, reading.tolerance_ratio)
        yield Row(0.0, 0.0, power_w, f"idle window {number}", free_w)
