# SPDX-License-Identifier: Apache-2.0
"""Operating points: what a server carried, used and drew at each number of instances that was measured. Pure.

Nothing stands between two points. Whose watts they are is the role's: those of the other end are of another
machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.analysis import Findings
from linewatt.analysis.cases import CaseSummary, power_rows
from linewatt.analysis.power import EndPower, power_outliers
from linewatt.analysis.statistics import Estimate
from linewatt.delimited import is_figure
from linewatt.findings import Figure, kind_of
from linewatt.model import Provenance, Role, is_request_response

NO_SOURCE = "no source of power is named"


@dataclass(frozen=True, slots=True)
class Reading:
    """A mean over runs with its 95 % CI, and a bound by which all runs may be off alike.

    Without a CI (one run) nothing is known of its spread. More runs make the CI narrower, never the bound.
    """

    mean: float
    runs: int
    low: float | None = None
    high: float | None = None
    bound: float | None = None

    @classmethod
    def of(cls, estimate: Estimate, bound: float | None = None) -> Reading:
        """What trials have together."""
        ci = estimate.interval()
        return cls(estimate.mean, estimate.n, ci.low if ci else None, ci.high if ci else None, bound)

    def ends(self, *, meter: bool = True) -> tuple[float, float] | None:
        """From where to where it may be; without ``meter`` by the spread of runs alone."""
        if self.low is None or self.high is None:
            return None
        beyond = (self.bound or 0.0) if meter else 0.0
        return max(0.0, self.low - beyond), self.high + beyond


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One case of a series as a server would run it. What is missing is ``None``, with why in ``reasons``.

    ``doubts`` are findings that make its figures doubtful, by code; ``expected_w`` is what the other points
    say of its watts, where these stand out.
    """

    instances: int
    runs: int
    failed: int
    throughput_bps: Reading
    cores: Reading | None
    power_w: Reading | None
    idle_w: Reading | None
    bps_per_core: Reading | None
    bps_per_w: Reading | None
    scope: str | None = None
    provenance: Provenance | None = None
    regime: str | None = None
    lost_ratio: float | None = None
    limit: str | None = None
    """what limits it, in words; ``None``: not found or not known"""
    held_back: bool = False
    """whether all that limits it is of the other end: a server may carry more"""
    reasons: Mapping[str, str] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)
    expected_w: float | None = None


def why_no_point(summary: CaseSummary, role: Role) -> str | None:
    """Why a case is no operating point of a server; ``None``: it is one."""
    case = summary.case
    if case.of_users or is_request_response(case.test):
        return "the rates of users and requests do not add up over servers"
    if case.paced:
        return "a case that is held to a rate does not say what a server carries"
    if case.is_both_ways or case.is_ring or case.ends_do_both:
        return "figures of hosts that send and receive are not of one role"
    if case.told_elsewhere(role):
        return "figures of this host are told of the group or of its pairs"
    rate = _reading(summary.throughput_bps)
    if rate is None or rate.mean <= 0:
        return "no trial has a throughput"
    return None


def operating_points(
    series: Sequence[CaseSummary], role: Role, findings: Findings, tolerance_ratio: float | None = None
) -> tuple[OperatingPoint, ...]:
    """Those of a series, instances ascending.

    ``tolerance_ratio`` is the accuracy of watts whose source says none.
    """
    expected = {
        outlier.row.instances: outlier.expected_w for outlier in power_outliers(power_rows(series, role))
    }
    return tuple(
        _point(
            summary,
            summary.throughput_bps,
            role,
            findings,
            tolerance_ratio,
            expected.get(summary.case.instances),
        )
        for summary in series
        if summary.throughput_bps is not None and why_no_point(summary, role) is None
    )


def _point(
    summary: CaseSummary,
    throughput: Estimate,
    role: Role,
    findings: Findings,
    tolerance_ratio: float | None,
    expected_w: float | None,
) -> OperatingPoint:
    power, doubts = summary.power(role), dict(_doubts(summary, role, findings))
    reasons = {"power_w": _why_no_watts(summary, power, role)}
    idle = None if power is None else _idle(power, reasons)
    cores = summary.cpu_cores(role)
    if cores is None:
        reasons["cores"] = summary.reasons.get(f"{role}_cpu_cores", "not known")
    return OperatingPoint(
        instances=summary.case.processes,
        runs=summary.trials_done,
        failed=summary.trials_failed,
        throughput_bps=Reading.of(throughput),
        cores=_reading(cores),
        power_w=None if power is None else _reading(power.system_w, _bound(power, tolerance_ratio)),
        idle_w=idle,
        bps_per_core=_reading(summary.values.get(f"efficiency_{role}_bps_per_core")),
        bps_per_w=None if power is None else _reading(power.system_bps_per_w),
        scope=power.system_scope if power else None,
        provenance=power.system_provenance if power else None,
        regime=summary.regime.regime if summary.regime else None,
        lost_ratio=summary.lost_ratio.mean if summary.lost_ratio else None,
        limit=summary.limit.lead if summary.limit.found else None,
        held_back=bool(summary.limit.named)
        and all(limit.end == _other(role) for limit in summary.limit.named),
        reasons={name: why for name, why in reasons.items() if why},
        doubts=doubts,
        expected_w=expected_w,
    )


def _other(role: Role) -> Role:
    return "sender" if role == "receiver" else "receiver"


def _reading(estimate: Estimate | None, bound: float | None = None) -> Reading | None:
    return None if estimate is None or not is_figure(estimate.mean) else Reading.of(estimate, bound)


def _bound(power: EndPower, tolerance_ratio: float | None) -> float | None:
    """How far off the meter may be: as its source has it, else by the accuracy that somebody named."""
    if power.uncertainty_w is not None:
        return power.uncertainty_w.mean
    if tolerance_ratio is None or power.system_w is None:
        return None
    return tolerance_ratio * power.system_w.mean


def _idle(power: EndPower, reasons: dict[str, str]) -> Reading | None:
    """Its windows are the campaign's, the same in every trial: what is open of them is in the bound."""
    if power.idle_w is None or power.idle_drift is not None:
        reasons["idle_w"] = power.idle_drift or power.reasons.get("idle_w", "no idle power was measured")
        return None
    bound = None if power.idle_uncertainty_w is None else power.idle_uncertainty_w.mean
    mean = power.idle_w.mean
    return Reading(mean, power.idle_w.n, mean, mean, bound)


def _why_no_watts(summary: CaseSummary, power: EndPower | None, role: Role) -> str:
    if power is None:
        return summary.reasons.get(f"{role}_power", NO_SOURCE)
    return "" if power.system_w is not None else power.reasons.get("system_w", "not known")


def _doubts(summary: CaseSummary, role: Role, findings: Findings) -> Iterator[tuple[str, str]]:
    """Findings on what fleets are made of, by code: ``Power outlier: 339.2 W, where …``."""
    figures: tuple[Figure, ...] = ("throughput", "cpu", "power")
    codes = dict.fromkeys(code for figure in figures for code in findings.doubts(summary.case, figure, role))
    for code in codes:
        seen = next(
            (
                seen
                for finding in findings.of(summary.case)
                if finding.code == code
                for seen in finding.sightings
                if seen.is_of(summary.case.host(role), summary.case.hosts)
            ),
            None,
        )
        words = kind_of(code).title
        yield code, f"{words}: {seen.evidence.partition('; ')[0]}" if seen else words
