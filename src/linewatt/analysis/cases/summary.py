# SPDX-License-Identifier: Apache-2.0
"""One summary per case: means and standard deviations over its trials, SI inside.

A derived value is computed in each trial and then averaged, as the trial is the unit
(docs/metrics.md). Failed trials are counted and give their reason; they never become a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Literal

from linewatt.analysis.cases.flag_counts import FlagCount as FlagCount
from linewatt.analysis.cases.flag_counts import count_flags as count_flags
from linewatt.analysis.cases.regimes import RowRegime
from linewatt.analysis.cases.series import with_series
from linewatt.analysis.cases.shares import mean_shares
from linewatt.analysis.flags.case import case_flags, case_modes
from linewatt.analysis.flags.idle import idle_flags
from linewatt.analysis.limits import UNKNOWN, Limit, limit_flags, verdict
from linewatt.analysis.metrics import formulas
from linewatt.analysis.power.summary import EndPower, end_power
from linewatt.analysis.statistics.modes import Modes
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.model import Case, CpuShares, EndResult, Flag, Role, Trial

TEST_ORDER = ("tcp", "udp-1500", "udp-60")


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """What the trials of one case (hosts included) say together.

    A field is ``None`` when no trial has it. ``reasons`` says why, by field name, also when only some of
    the done trials lack it (then ``n`` of the estimate is smaller than ``trials_done``).
    """

    case: Case
    trials_done: int
    trials_failed: int
    failures: tuple[str, ...] = ()
    """one line per failed trial: ``trial 3: reason``"""

    throughput_bps: Estimate | None = None
    """goodput at the receiver"""
    offered_bps: Estimate | None = None
    """what the sender sent"""
    target_bps: Estimate | None = None
    """what a load level asked for, all instances together"""
    target_deviation_ratio: Estimate | None = None
    """throughput ÷ that − 1: how far the load is from what the level asked for"""
    line_rate_ratio: Estimate | None = None
    """throughput ÷ the most payload that the line can carry"""
    lost_ratio: Estimate | None = None
    packets_per_s: Estimate | None = None
    """datagrams a second that the receiver got (UDP)"""
    out_of_order_packets: Estimate | None = None
    """a trial"""
    retransmits: Estimate | None = None
    """a trial"""

    sender_cpu_cores: Estimate | None = None
    """Σ over all CPUs of the sending host of (1 − idle − iowait − steal)"""
    receiver_cpu_cores: Estimate | None = None
    """Σ over all CPUs of the receiving host of (1 − idle − iowait − steal)"""
    efficiency_sender_bps_per_core: Estimate | None = None
    efficiency_receiver_bps_per_core: Estimate | None = None
    """the headline: throughput ÷ receiver_cpu_cores"""
    efficiency_at_3ghz_bps_per_core: Estimate | None = None
    """of the receiver"""
    sender_cpu_cores_per_bps: Estimate | None = None
    """application and IRQ CPUs only; ``units.percent_per_gbps`` gives the % per Gbps users read"""
    receiver_cpu_cores_per_bps: Estimate | None = None
    """application and IRQ CPUs only"""

    scaling_factor: float | None = None
    """ratio of the mean receiver efficiencies of this case and its 1-instance case"""
    throughput_scaling: float | None = None
    """T(N) / (N · T(1)), of the mean throughputs"""

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
    reasons: dict[str, str] = field(default_factory=dict)
    modes: Modes | None = None
    """of throughput, where its runs fall into two groups: the mean is of neither"""
    case_flags: tuple[Flag, ...] = ()
    """those of ``flags`` that are about the case as a whole, not about one trial"""
    limit: Limit = UNKNOWN
    """what limits the case, from all its trials; the one place that all printers read it from"""
    regime: RowRegime | None = None
    """among the cases of its series"""
    window_s: float | None = None
    """the mean over its trials"""

    def power(self, role: Role) -> EndPower | None:
        """At one end; ``None`` where no source of power was named."""
        return self.sender_power if role == "sender" else self.receiver_power


def summarise(trials: Sequence[Trial]) -> tuple[CaseSummary, ...]:
    """One summary per case, hosts included.

    Sorted by test (tcp, udp-1500, udp-60); within a test, series in order of first appearance (a series is
    the cases that differ in instances only), and instances ascending. An empty sequence gives ``()``.
    """
    groups: dict[Case, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.case, []).append(trial)
    summaries = {case: _summarise_case(case, members) for case, members in groups.items()}
    scaled = _by_series([_with_scaling(summary, summaries) for summary in summaries.values()])
    series = {case: number for number, case in enumerate(dict.fromkeys(map(_single, groups)))}
    scaled.sort(key=lambda item: (_test_rank(item.case), series[_single(item.case)], item.case.instances))
    return tuple(scaled)


def _by_series(summaries: Sequence[CaseSummary]) -> list[CaseSummary]:
    members: dict[Case, list[CaseSummary]] = {}
    for summary in summaries:
        members.setdefault(_single(summary.case), []).append(summary)
    return [
        one
        for series in members.values()
        for one in with_series(sorted(series, key=lambda each: each.case.instances))
    ]


def _single(case: Case) -> Case:
    """The 1-instance case of otherwise equal parameters and the same hosts."""
    return replace(case, instances=1)


def _test_rank(case: Case) -> int:
    return TEST_ORDER.index(case.test) if case.test in TEST_ORDER else len(TEST_ORDER)


def _summarise_case(case: Case, trials: Sequence[Trial]) -> CaseSummary:
    done = [trial for trial in trials if trial.status == "done"]
    failed = [trial for trial in trials if trial.status == "failed"]
    reasons: dict[str, str] = {}
    measured: dict[str, Any] = {name: _estimate(name, read, done, reasons) for name, read in _VALUES.items()}
    for role in _ROLES:
        measured[f"{role}_app"] = _shares(role, "app", done, reasons)
        measured[f"{role}_irq"] = _shares(role, "irq", done, reasons)
        measured[f"{role}_power"] = end_power(done, role)
        if measured[f"{role}_power"] is None:
            reasons[f"{role}_power"] = "no source of power is named for this host"
    modes = case_modes(done)
    of_idle = idle_flags(measured[f"{role}_power"] for role in _ROLES)
    limit = verdict(done)
    own_flags = (*case_flags(case, done, modes), *limit_flags(case, done, limit), *of_idle)
    return CaseSummary(
        case=case,
        modes=modes,
        case_flags=own_flags,
        limit=limit,
        window_s=_window_s(done),
        trials_done=len(done),
        trials_failed=len(failed),
        failures=tuple(f"trial {trial.number}: {trial.reason or 'no reason recorded'}" for trial in failed),
        flags=count_flags(trials) + tuple(FlagCount(one.code, 1, len(done), one) for one in own_flags),
        reasons=reasons,
        **measured,
    )


def _window_s(done: Sequence[Trial]) -> float | None:
    known = [trial.window.seconds for trial in done if trial.window is not None]
    return fmean(known) if known else None


# A value of one trial, or None with the reason.
_Value = tuple[float | None, str | None]
_ROLES: tuple[Role, Role] = ("sender", "receiver")


def _estimate(
    name: str, read: Callable[[Trial], _Value], trials: Sequence[Trial], reasons: dict[str, str]
) -> Estimate | None:
    values = [_explained(read(trial), trial) for trial in trials]
    _note_missing(name, values, reasons)
    return estimate(value for value, _ in values)


def _explained(value: _Value, trial: Trial) -> _Value:
    """The value of a done trial; an imported one has itself the reason for what its table lacks."""
    found, why = value
    lacking = why is None or why.endswith(("not recorded", trial.reason or "not recorded"))
    return found, trial.reason if trial.reason and lacking else why


def _note_missing(name: str, values: Sequence[tuple[object, str | None]], reasons: dict[str, str]) -> None:
    if not values:
        reasons[name] = "no trial of this case is done"
    missing = [why for value, why in values if value is None]
    if not missing:
        return
    whys = "; ".join(dict.fromkeys(why or "not recorded" for why in missing))
    reasons[name] = (
        whys if len(missing) == len(values) else f"in {len(missing)} of {len(values)} trials: {whys}"
    )


def _recorded(name: str) -> Callable[[Trial], _Value]:
    """A field of the trial itself."""

    def read(trial: Trial) -> _Value:
        return getattr(trial, name), None

    return read


def _target(trial: Trial) -> _Value:
    why = "target not recorded" if trial.case.load_level is not None else "not at a load level"
    return trial.target_bps, why


def _target_deviation(trial: Trial) -> _Value:
    target_bps, why = _target(trial)
    if target_bps is None or trial.throughput_bps is None:
        return None, why if target_bps is None else "throughput not recorded"
    if target_bps <= 0:
        return None, "nothing is sent at active idle"
    return trial.throughput_bps / target_bps - 1, None


def _line_rate_ratio(trial: Trial) -> _Value:
    if trial.line_goodput_bps is None or trial.throughput_bps is None:
        return None, "the line rate between the hosts is not known"
    return trial.throughput_bps / trial.line_goodput_bps, None


def _udp_only(name: str) -> Callable[[Trial], _Value]:
    def read(trial: Trial) -> _Value:
        value = getattr(trial, name)
        return value, "TCP has no datagrams to count" if trial.case.test == "tcp" else None

    return read


def _retransmits(trial: Trial) -> _Value:
    return trial.retransmits, None if trial.case.test == "tcp" else "UDP does not retransmit"


def _packets_per_s(trial: Trial) -> _Value:
    if trial.case.test == "tcp":
        return None, "TCP has no datagrams to count"
    if trial.packets is None or trial.lost_packets is None:
        return None, "packets or lost packets not recorded"
    if trial.window is None or trial.window.seconds <= 0:
        return None, "window not recorded"
    # packets are received plus lost (loads/base.py)
    return (trial.packets - trial.lost_packets) / trial.window.seconds, None


def _cpu_cores(role: Role) -> Callable[[Trial], _Value]:
    def read(trial: Trial) -> _Value:
        end = trial.end(role)
        if end is None:
            return None, f"the {role} was not recorded"
        return end.cpu_cores, _why(end, "cpu_cores", "CPU use")

    return read


def _why(end: EndResult, name: str, what: str) -> str:
    return f"{end.host}: {end.reasons.get(name, f'{what} not recorded')}"


def _efficiency(role: Role) -> Callable[[Trial], _Value]:
    cores_of = _cpu_cores(role)

    def read(trial: Trial) -> _Value:
        cores, why = cores_of(trial)
        value = formulas.efficiency_bps_per_core(trial.throughput_bps, cores)
        return value, why if cores is None else _unusable(trial, cores)

    return read


def _unusable(trial: Trial, cores: float) -> str:
    """Why nothing can be derived from a throughput and CPU use that are there, or from a missing rate."""
    if trial.throughput_bps is None:
        return "throughput not recorded"
    return (
        f"throughput {trial.throughput_bps:g} bit/s and CPU use {cores:g} cores must both be greater than 0"
    )


def _efficiency_at_3ghz(trial: Trial) -> _Value:
    efficiency, why = _efficiency("receiver")(trial)
    if efficiency is None or trial.receiver is None:
        return None, why
    value = formulas.at_3ghz(efficiency, trial.receiver.base_frequency_hz)
    return value, _why(trial.receiver, "base_frequency_hz", "base frequency")


def _cores_per_bps(role: Role) -> Callable[[Trial], _Value]:
    def read(trial: Trial) -> _Value:
        end = trial.end(role)
        if end is None:
            return None, f"the {role} was not recorded"
        cores, why = app_and_irq_cores(end)
        if cores is None:
            return None, why
        return formulas.cpu_cores_per_bps(cores, trial.throughput_bps), _unusable(trial, cores)

    return read


def app_and_irq_cores(end: EndResult) -> _Value:
    """What the application CPUs and the IRQ CPUs of one end used together, in cores; or why it is unknown.

    A CPU that is in both roles counts once; when the two sets overlap only in part the shares, which are
    means over a set, cannot be told apart.
    """
    if end.app_cpu is None:
        return None, _why(end, "app_cpu", "app CPU shares")
    if end.irq_cpu is None:
        return None, _why(end, "irq_cpu", "irq CPU shares")
    app, irq = set(end.app_cpu.cpus), set(end.irq_cpu.cpus)
    if end.app_cpu.unnumbered or end.irq_cpu.unnumbered:  # a table that tells them apart says so
        return _cores(end.app_cpu) + _cores(end.irq_cpu), None
    if app >= irq:
        return _cores(end.app_cpu), None
    if app < irq:
        return _cores(end.irq_cpu), None
    if app & irq:
        both = ", ".join(map(str, sorted(app & irq)))
        return None, f"{end.host}: CPUs {both} have both roles, so app and IRQ use cannot be added"
    return _cores(end.app_cpu) + _cores(end.irq_cpu), None


def _cores(shares: CpuShares) -> float:
    return (len(set(shares.cpus)) + shares.unnumbered) * shares.busy_ratio


_VALUES: Mapping[str, Callable[[Trial], _Value]] = {
    "throughput_bps": _recorded("throughput_bps"),
    "offered_bps": _recorded("offered_bps"),
    "target_bps": _target,
    "target_deviation_ratio": _target_deviation,
    "line_rate_ratio": _line_rate_ratio,
    "lost_ratio": _udp_only("lost_ratio"),
    "packets_per_s": _packets_per_s,
    "out_of_order_packets": _udp_only("out_of_order_packets"),
    "retransmits": _retransmits,
    "sender_cpu_cores": _cpu_cores("sender"),
    "receiver_cpu_cores": _cpu_cores("receiver"),
    "efficiency_sender_bps_per_core": _efficiency("sender"),
    "efficiency_receiver_bps_per_core": _efficiency("receiver"),
    "efficiency_at_3ghz_bps_per_core": _efficiency_at_3ghz,
    "sender_cpu_cores_per_bps": _cores_per_bps("sender"),
    "receiver_cpu_cores_per_bps": _cores_per_bps("receiver"),
}


def _shares(
    role: Role, part: Literal["app", "irq"], trials: Sequence[Trial], reasons: dict[str, str]
) -> CpuShares | None:
    values: list[tuple[CpuShares | None, str | None]] = []
    for trial in trials:
        end = trial.end(role)
        if end is None:
            values.append((None, f"the {role} was not recorded"))
            continue
        shares = end.app_cpu if part == "app" else end.irq_cpu
        values.append((shares, _why(end, f"{part}_cpu", f"{part} CPU shares")))
    _note_missing(f"{role}_{part}", values, reasons)
    return mean_shares([shares for shares, _ in values if shares is not None])


def _with_scaling(summary: CaseSummary, summaries: Mapping[Case, CaseSummary]) -> CaseSummary:
    """``summary`` with both scalings against its 1-instance case, or with the reasons why not."""
    single = summaries.get(_single(summary.case))
    if single is None:
        why = "no case with 1 instance and otherwise the same parameters and hosts"
        return replace(summary, reasons=summary.reasons | {"scaling_factor": why, "throughput_scaling": why})
    if summary.case.paced:
        what = "a rate" if summary.case.load_level is None else "a load level"
        why = f"held to {what}: how much is sent says nothing of how it scales"
        return replace(summary, reasons=summary.reasons | {"scaling_factor": why, "throughput_scaling": why})
    factor = formulas.scaling_factor(
        _mean(summary.efficiency_receiver_bps_per_core), _mean(single.efficiency_receiver_bps_per_core)
    )
    throughput = formulas.throughput_scaling(
        _mean(summary.throughput_bps), _mean(single.throughput_bps), summary.case.instances
    )
    reasons = dict(summary.reasons)
    if factor is None:
        reasons["scaling_factor"] = (
            "the receiver's efficiency of this case or of its 1-instance case is missing"
        )
    if throughput is None:
        reasons["throughput_scaling"] = "the throughput of this case or of its 1-instance case is missing"
    return replace(summary, scaling_factor=factor, throughput_scaling=throughput, reasons=reasons)


def _mean(value: Estimate | None) -> float | None:
    return None if value is None else value.mean
