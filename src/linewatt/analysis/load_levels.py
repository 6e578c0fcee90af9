# SPDX-License-Identifier: Apache-2.0
"""Efficiency over graduated load, and one score for it: full load alone misleads. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from linewatt.analysis.power_summary import EndPower
from linewatt.analysis.stats import Estimate
from linewatt.analysis.summary import CaseSummary
from linewatt.model import Case, Provenance, Role


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """One load level: 0..1 of the calibrated maximum, what arrived, what both ends used."""

    level: float
    throughput_bps: Estimate | None
    cores: Estimate | None
    system_w: Estimate | None
    system_bps_per_w: Estimate | None


@dataclass(frozen=True, slots=True)
class LevelCurve:
    """All levels of one case at one end, falling, with its overall score or why it has none.

    ``score_bps_per_w`` is Σ throughput ÷ Σ power over the levels, active idle included.
    """

    case: Case
    role: Role
    host: str
    points: tuple[LevelPoint, ...]
    score_bps_per_w: float | None
    scope: str | None
    provenance: Provenance | None
    reason: str | None = None


def curves(summaries: Iterable[CaseSummary]) -> tuple[LevelCurve, ...]:
    """The curves of a campaign with load levels, both ends of each case; ``()`` when it has none."""
    by_case: dict[Case, list[CaseSummary]] = {}
    for summary in summaries:
        if summary.case.load_level is not None:
            by_case.setdefault(replace(summary.case, load_level=None), []).append(summary)
    ends: tuple[Role, Role] = ("receiver", "sender")
    return tuple(_curve(case, members, role) for case, members in by_case.items() for role in ends)


def _curve(case: Case, members: list[CaseSummary], role: Role) -> LevelCurve:
    falling = sorted(members, key=lambda one: one.case.load_level or 0.0, reverse=True)
    points = tuple(_point(one, role) for one in falling)
    powers = [power for one in falling if (power := _power(one, role)) is not None]
    score, reason = _score(points)
    return LevelCurve(
        case=case,
        role=role,
        host=case.receiver if role == "receiver" else case.sender,
        points=points,
        score_bps_per_w=score,
        scope=next((power.system_scope for power in powers if power.system_scope), None),
        provenance=next((power.system_provenance for power in powers if power.system_provenance), None),
        reason=reason,
    )


def _point(summary: CaseSummary, role: Role) -> LevelPoint:
    power = _power(summary, role)
    return LevelPoint(
        level=summary.case.load_level or 0.0,
        throughput_bps=summary.throughput_bps,
        cores=summary.receiver_cpu_cores if role == "receiver" else summary.sender_cpu_cores,
        system_w=power.system_w if power else None,
        system_bps_per_w=power.system_bps_per_w if power else None,
    )


def _power(summary: CaseSummary, role: Role) -> EndPower | None:
    return summary.receiver_power if role == "receiver" else summary.sender_power


def _score(points: tuple[LevelPoint, ...]) -> tuple[float | None, str | None]:
    if not any(point.level == 0 for point in points):
        return None, "active idle (level 0) is not among the load levels"
    throughput = [point.throughput_bps.mean for point in points if point.throughput_bps is not None]
    power = [point.system_w.mean for point in points if point.system_w is not None]
    if len(throughput) < len(points):
        return None, "a level has no throughput"
    if len(power) < len(points):
        return None, "a level has no system power"
    return (sum(throughput) / sum(power), None) if sum(power) > 0 else (None, "power is not greater than 0")
