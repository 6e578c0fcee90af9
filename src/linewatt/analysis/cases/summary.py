# SPDX-License-Identifier: Apache-2.0
"""One summary per case: means and standard deviations over its trials, SI inside.

A derived value is computed in each trial and then averaged, as the trial is the unit
(docs/metrics.md). Failed trials are counted and give their reason; they never become a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from linewatt.analysis.cases.flows import with_flows
from linewatt.analysis.cases.regimes import RowRegime, unscaled
from linewatt.analysis.cases.series import flagged, with_series
from linewatt.analysis.cases.shares import mean_shares
from linewatt.analysis.flags.case import FlagCount as FlagCount
from linewatt.analysis.flags.case import case_flags, case_modes, case_unresolved, idle_flags, limit_flags
from linewatt.analysis.flags.case import count_flags as count_flags
from linewatt.analysis.flags.directions import direction_flags
from linewatt.analysis.flags.effects import light_codes
from linewatt.analysis.flags.group import slower_pairs
from linewatt.analysis.limits.group import verdicts
from linewatt.analysis.limits.verdict import UNKNOWN, Limit
from linewatt.analysis.metrics.cpu_shares import PARTS, shares_of, why_no_end
from linewatt.analysis.metrics.made_by_name import MadeByName
from linewatt.analysis.metrics.metric import Mean, Value, estimates, means_something
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.power.summary import EndPower, end_power
from linewatt.analysis.statistics.few_runs import Unresolved
from linewatt.analysis.statistics.modes import Modes
from linewatt.analysis.statistics.stats import Estimate, known_mean
from linewatt.missing import Missing, NotRecorded, value_or_none
from linewatt.model import Case, CpuShares, Flag, Role, Trial
from linewatt.sizes import rank


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """What the trials of one case (hosts included) say together.

    What no trial has is ``None``. ``reasons`` says why, by the name of the metric or the field, also when
    only some of the done trials lack it (then ``n`` of the estimate is smaller than ``trials_done``).
    """

    throughput_bps = Mean()
    offered_bps = Mean()
    target_bps = Mean()
    target_deviation_ratio = Mean()
    lost_ratio = Mean()
    retransmits = Mean()
    efficiency_receiver_bps_per_core = Mean()
    efficiency_sender_bps_per_core = Mean()
    receiver_cpu_cores_per_bps = Mean()

    case: Case
    trials_done: int
    trials_failed: int
    failures: tuple[str, ...] = ()
    """one line per failed trial: ``trial 3: reason``"""

    values: Mapping[str, Estimate | None] = field(default_factory=dict)
    """of every metric that a trial has, by its name"""
    scalings: Mapping[str, float | None] = field(default_factory=dict)
    """of those that only a series has: against its 1-instance case"""

    sender_app: CpuShares | None = None
    """mean shares over the trials, per CPU of this role"""
    sender_irq: CpuShares | None = None
    receiver_app: CpuShares | None = None
    receiver_irq: CpuShares | None = None

    sender_power: EndPower | None = None
    """``None`` where no source of power was named"""
    receiver_power: EndPower | None = None

    flags: tuple[FlagCount, ...] = ()
    """by code, in order of first appearance; those of failed trials too"""
    reasons: dict[str, str] | MadeByName[str] = field(default_factory=dict)
    modes: Modes | None = None
    """of throughput, where its runs fall into two groups: the mean is of neither"""
    unresolved: Unresolved | None = None
    """of throughput, where its runs may fall into two groups, and are too few to tell"""
    case_flags: tuple[Flag, ...] = ()
    """those of ``flags`` that are about the case as a whole, not about one trial"""
    limit: Limit = UNKNOWN
    """what limits the case, from all its trials; the one place that all printers read it from"""
    regime: RowRegime | None = None
    """among the cases of its series"""
    window_s: float | None = None
    """the mean over its trials"""
    sent_segments: float | None = None
    """of TCP that the host of a single sender sent per trial, by its own count; the mean"""

    def cpu_cores(self, role: Role) -> Estimate | None:
        """Σ over all CPUs of one end of (1 − idle − iowait − steal)."""
        return self.values.get(f"{role}_cpu_cores")

    def power(self, role: Role) -> EndPower | None:
        """At one end; ``None`` where no source of power was named."""
        return self.sender_power if role == "sender" else self.receiver_power


def mean_bps(summary: CaseSummary) -> float:
    """Its throughput for an order among cases: 0 where no trial has any."""
    return summary.throughput_bps.mean if summary.throughput_bps else 0.0


def fastest_case(summaries: Iterable[CaseSummary]) -> CaseSummary | None:
    """That with the most throughput, of equals the first; ``None`` where none has any."""
    return max((summary for summary in summaries if summary.throughput_bps), key=mean_bps, default=None)


def summarise(trials: Sequence[Trial]) -> tuple[CaseSummary, ...]:
    """One summary per case, hosts included; each pair of a group has one behind that of the group.

    Sorted by test (tcp, UDP from the largest frame on); within a test, series in order of first appearance
    (a series is the cases that differ in instances only), and instances ascending. An empty sequence gives
    ``()``.
    """
    groups: dict[Case, list[Trial]] = {}
    for trial in with_flows(trials):
        groups.setdefault(trial.case, []).append(trial)
    limits = verdicts(groups)
    of_pair = {pair: limits[case] for case in groups if case.flows for pair in case.pairs}
    summaries = {
        case: _summarise_case(case, members, limits[case], of_pair.get(case))
        for case, members in groups.items()
    }
    base_by_series = {_single(case): summary for case, summary in summaries.items() if case.instances == 1}
    scaled = _by_series([_with_scaling(summary, base_by_series) for summary in summaries.values()])
    series = {case: number for number, case in enumerate(dict.fromkeys(map(_single, groups)))}
    scaled.sort(key=lambda item: (rank(item.case.test), series[_single(item.case)], item.case.instances))
    unlike = dict(direction_flags(scaled))
    return tuple(
        flagged(summary, [unlike[summary.case]]) if summary.case in unlike else summary for summary in scaled
    )


def _by_series(summaries: Sequence[CaseSummary]) -> list[CaseSummary]:
    members: dict[Case, list[CaseSummary]] = {}
    for summary in summaries:
        members.setdefault(_single(summary.case), []).append(summary)
    return [
        summary
        for series in members.values()
        for summary in with_series(sorted(series, key=lambda member: member.case.instances))
    ]


def _single(case: Case) -> Case:
    """The 1-instance case of otherwise equal parameters and the same hosts."""
    return case.single


def _summarise_case(case: Case, trials: Sequence[Trial], limit: Limit, of_group: Limit | None) -> CaseSummary:
    """``of_group``: of a pair of a group, what limits all of its pairs together."""
    done = [trial for trial in trials if trial.status == "done"]
    failed = [trial for trial in trials if trial.status == "failed"]
    reasons: dict[str, str] = {}
    values, whys = estimates(_reads_of(case, done), done, _QUANTITIES, _ONLY_RECORDED)
    measured: dict[str, Any] = {}
    for role in _ROLES:
        for part in PARTS:
            name = f"{role}_{part}"
            measured[name] = mean_shares(shares_of(done, role, part, name, reasons))
        measured[f"{role}_power"] = end_power(done, role)
        if measured[f"{role}_power"] is None:
            elsewhere = done and case.told_elsewhere(role)
            reasons[f"{role}_power"] = (
                str(why_no_end(done[0], role)) if elsewhere else "no source of power is named for this host"
            )
    modes, unclear = case_modes(done), case_unresolved(done)
    of_idle = idle_flags(measured[f"{role}_power"] for role in _ROLES)
    own_flags = (
        *case_flags(case, done, modes, unclear),
        *limit_flags(case, done, limit, of_group),
        *of_idle,
        *slower_pairs(done),
    )
    return CaseSummary(
        case=case,
        values=values,
        modes=modes,
        unresolved=unclear,
        case_flags=own_flags,
        limit=limit,
        window_s=known_mean(None if trial.window is None else trial.window.seconds for trial in done),
        sent_segments=_sent_segments(case, done),
        trials_done=len(done),
        trials_failed=len(failed),
        failures=tuple(f"trial {trial.number}: {trial.reason or 'no reason recorded'}" for trial in failed),
        flags=count_flags(trials, light_codes(done))
        + tuple(FlagCount(flag.code, 1, len(done), flag) for flag in own_flags),
        reasons=whys | reasons,
        **measured,
    )


def _sent_segments(case: Case, done: Sequence[Trial]) -> float | None:
    senders = [] if case.flows else [trial.sender for trial in done if trial.sender is not None]
    return known_mean(end.counters.get("nstat.TcpOutSegs") or None for end in senders)


_ROLES: tuple[Role, Role] = ("sender", "receiver")
_QUANTITIES = {metric.name: metric.quantity for metric in METRICS}
_ONLY_RECORDED = frozenset(metric.name for metric in METRICS if metric.only_recorded)


def _explained(read: Callable[[Trial], Value]) -> Callable[[Trial], Value]:
    """The value of an imported trial, which has itself the reason for what its table lacks."""

    def explained(trial: Trial) -> Value:
        value = read(trial)
        if trial.reason is None or not isinstance(value, Missing):
            return value
        is_silent = isinstance(value, NotRecorded) or value.reason == trial.reason
        return Missing(trial.reason) if is_silent else value

    return explained


def _reads_of(case: Case, done: Sequence[Trial]) -> dict[str, Callable[[Trial], Value]]:
    """What a case has; latency is only there where messages go there and back."""
    reads = _reads(has_latency=means_something("request-response", case.test))
    if not any(trial.reason for trial in done):
        return reads
    return {name: _explained(read) for name, read in reads.items()}


@cache
def _reads(*, has_latency: bool) -> dict[str, Callable[[Trial], Value]]:
    """One for all cases: each keeps it for what is not read yet."""
    return {
        metric.name: metric.read
        for metric in METRICS
        if metric.read is not None and (has_latency or metric.loads != "request-response")
    }


def _scaled(summary: CaseSummary, single: CaseSummary | None) -> dict[str, Value]:
    scaled = {metric.name: metric.scaled for metric in METRICS if metric.scaled is not None}
    if single is None:
        why = "no case with 1 instance and otherwise the same parameters and hosts"
        return dict.fromkeys(scaled, Missing(why))
    if summary.case.paced:
        return dict.fromkeys(scaled, Missing(unscaled(summary)))
    return {name: scale(summary, single) for name, scale in scaled.items()}


def _with_scaling(summary: CaseSummary, base_by_series: Mapping[Case, CaseSummary]) -> CaseSummary:
    """``summary`` with its scalings against its 1-instance case, or with the reasons why not."""
    values = _scaled(summary, base_by_series.get(_single(summary.case)))
    reasons = {name: str(value) for name, value in values.items() if isinstance(value, Missing)}
    scalings = {name: value_or_none(value) for name, value in values.items()}
    return replace(summary, scalings=scalings, reasons=summary.reasons | reasons)
