# SPDX-License-Identifier: Apache-2.0
"""Power at a throughput that somebody asks for, of cases that differ in how much was sent. Pure.

Measured, where a case that held its rate carried so much. Else on the straight line between the two cases
next to it, and no nearer than both of these are: a clock or a fan may step anywhere between them. Leaving
active idle is such a step, so that nothing is told between it and the lowest rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.power.totals import least_sure
from linewatt.findings import REACHED_RATE_RATIO
from linewatt.model import ENDS, Case, Provenance, Role
from linewatt.units import format_rate

NEAR = 0.01
"""a case whose throughput is as near as this carried so much"""


@dataclass(frozen=True, slots=True)
class Point:
    """A case at the throughput that it carried, and the watts of one end; without any ``lacks`` says why.

    ``reach_w`` is its ±: the longer arm of the interval over trials and the meter's bound; without both
    ``unknown`` says which part is not known.
    """

    summary: CaseSummary
    bps: float
    power_w: float | None = None
    reach_w: float | None = None
    unknown: str | None = None
    lacks: str | None = None


@dataclass(frozen=True, slots=True)
class WattsAt:
    """Power of one end at a throughput, or why there is none.

    ``points`` are what it was made of: one case that carried as much, or the two next to it. ``case`` is
    what the cases have in common. ``reach_w`` is that of the points, and ``ends_w`` beyond it: how far the
    further of the two is. ``unknown``: why a part of ``reach_w`` is not known.
    """

    case: Case
    role: Role
    host: str
    bps: float
    points: tuple[Point, ...] = ()
    power_w: float | None = None
    reach_w: float | None = None
    ends_w: float | None = None
    unknown: str | None = None
    scope: str | None = None
    provenance: Provenance | None = None
    reason: str | None = None


def watts_at(summaries: Iterable[CaseSummary], bps: float) -> Iterator[WattsAt]:
    """Of each end with watts: of loads that carried as much, or were sent at several rates or levels."""
    groups: dict[Case, list[CaseSummary]] = {}
    for summary in summaries:
        if not summary.case.search:
            groups.setdefault(replace(summary.case, rate_bps=None, load_level=None), []).append(summary)
    for case, group in groups.items():
        for role in ENDS:
            powers = [summary.power(role) for summary in group]
            scope = next((power.system_scope for power in powers if power and power.system_scope), None)
            if any(powers):
                blank = WattsAt(case, role, case.host(role), bps, scope=scope)
                watts = _at([*_points(group, role, scope)], blank)
                if len(group) > 1 or not watts.reason:
                    sure = least_sure(_provenance(point, role) for point in watts.points)
                    yield replace(watts, provenance=sure)


def _provenance(point: Point, role: Role) -> Provenance | None:
    power = point.summary.power(role)
    return power.system_provenance if power else None


def _points(case_summaries: Sequence[CaseSummary], role: Role, scope: str | None) -> Iterator[Point]:
    """Every case that can be placed: by what arrived, else by what was asked for."""
    for case_summary in case_summaries:
        target_bps, arrived = _asked_bps(case_summary), 0.0 if case_summary.case.load_level == 0 else None
        if arrived is None and case_summary.throughput_bps is not None:
            arrived = case_summary.throughput_bps.mean
        place = target_bps if arrived is None else arrived
        if place is not None:
            yield _with_watts(Point(case_summary, place), target_bps, role, scope, held=arrived is not None)


def _asked_bps(case_summary: CaseSummary) -> float | None:
    if case_summary.case.load_level == 0:
        return 0.0
    if case_summary.target_bps is not None:
        return case_summary.target_bps.mean
    return (
        None
        if case_summary.case.rate_bps is None
        else case_summary.case.rate_bps * case_summary.case.processes
    )


def _with_watts(
    point: Point, target_bps: float | None, role: Role, scope: str | None, *, held: bool
) -> Point:
    power, at = point.summary.power(role), format_rate(point.bps, 4)
    if not held:
        return replace(point, lacks=f"no trial at {at} has a number")
    if target_bps and point.bps < REACHED_RATE_RATIO * target_bps:
        return replace(
            point, lacks=f"{at} is what arrived of {format_rate(target_bps, 4)}: more than it carries"
        )
    if power is None or power.system_w is None:
        why = power.reasons.get("system_w", "not known") if power else "no source was read"
        return replace(point, lacks=f"no watts at {at}: {why}")
    if power.system_scope != scope:
        return replace(point, lacks=f"watts at {at} are of another scope")
    spread, bound = power.system_w.interval(), power.uncertainty_w
    if spread is None or bound is None:
        why = "one trial: its spread is not known" if spread is None else "the meter's error is not known"
        return replace(point, power_w=power.system_w.mean, unknown=why)
    mean_w = power.system_w.mean
    return replace(point, power_w=mean_w, reach_w=math.hypot(spread.longer_arm(mean_w), bound.mean))


def _at(points: Sequence[Point], blank: WattsAt) -> WattsAt:
    bps = blank.bps
    rising = sorted(points, key=lambda point: point.bps)
    near = [point for point in rising if abs(point.bps - bps) <= NEAR * bps]
    near.sort(key=lambda point: (point.power_w is None, not point.summary.case.paced, abs(point.bps - bps)))
    if near and near[0].power_w is not None:
        nearest = near[0]
        watts = replace(blank, points=(nearest,), power_w=nearest.power_w, reach_w=nearest.reach_w)
        return replace(watts, unknown=nearest.unknown)
    if near:
        return replace(blank, reason=near[0].lacks)
    below = [point for point in rising if point.bps < bps]
    above = [point for point in rising if point.bps > bps]
    if not below or not above:
        ends = f"above {format_rate(below[-1].bps, 4)}" if below else "as little as that"
        return replace(blank, reason=f"nothing {ends} was measured")
    return _between(below[-1], above[0], blank)


def _between(low: Point, high: Point, blank: WattsAt) -> WattsAt:
    lacks = low.lacks or high.lacks
    if lacks is not None or low.power_w is None or high.power_w is None:
        return replace(blank, reason=lacks)
    if low.bps == 0:
        rate_text = format_rate(high.bps, 4)
        why = f"between active idle and {rate_text} power is not a straight line: measure at this rate"
        return replace(blank, reason=why)
    part = (blank.bps - low.bps) / (high.bps - low.bps)
    power_w = low.power_w + part * (high.power_w - low.power_w)
    ends_w = max(abs(power_w - low.power_w), abs(high.power_w - power_w))
    interpolated = replace(blank, points=(low, high), power_w=power_w, ends_w=ends_w)
    if low.reach_w is None or high.reach_w is None:
        return replace(interpolated, unknown=low.unknown or high.unknown)
    return replace(interpolated, reach_w=(1 - part) * low.reach_w + part * high.reach_w + ends_w)
