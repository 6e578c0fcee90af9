# SPDX-License-Identifier: Apache-2.0
"""Power at a throughput that somebody asks for, of cases that differ in how much was sent. Pure.

Measured, where a case carried so much; else on the straight line between the two cases next to it. How far
power may bend away from that line is what second differences say of the cases around (the error of linear
interpolation is at most half the curvature times both distances). It is added to the ± of the cases, which is
Student's t over trials and the meter's bound; meters err alike in both, so that these do not even out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.power.totals import least_sure
from linewatt.model import ENDS, Case, Provenance, Role
from linewatt.units import format_rate

NEAR = 0.01
"""a case whose throughput is as near as this carried so much"""
APART = 0.02
"""of two cases nearer than this one is left out: differences between them are those of chance"""


@dataclass(frozen=True, slots=True)
class Point:
    """A case with its throughput and the watts of one end; ``reach_w`` is its ±, None: not known."""

    summary: CaseSummary
    bps: float
    power_w: float
    reach_w: float | None


@dataclass(frozen=True, slots=True)
class WattsAt:
    """Power of one end at a throughput, or why there is none.

    ``points`` are what it was made of: one case that carried as much, or the two next to it. ``case`` is
    what the cases have in common, ``bend_w`` what of ``reach_w`` is for how power may bend between them.
    """

    case: Case
    role: Role
    host: str
    bps: float
    points: tuple[Point, ...] = ()
    power_w: float | None = None
    reach_w: float | None = None
    bend_w: float | None = None
    scope: str | None = None
    provenance: Provenance | None = None
    reason: str | None = None


def watts_at(summaries: Iterable[CaseSummary], bps: float) -> Iterator[WattsAt]:
    """Of each end with watts: of loads that carried as much, or were sent at several rates or levels."""
    groups: dict[Case, list[CaseSummary]] = {}
    for one in summaries:
        if not one.case.search:
            groups.setdefault(replace(one.case, rate_bps=None, load_level=None), []).append(one)
    for case, own in groups.items():
        for role in ENDS:
            powers = [one.power(role) for one in own]
            scope = next((power.system_scope for power in powers if power and power.system_scope), None)
            if any(powers):
                found = _at([*_points(own, role, scope)], bps)
                if len(own) == 1 and found.reason:
                    continue
                lacking = _lacking(own, role, scope) if found.reason else None
                reason = f"{found.reason}; {lacking}" if lacking else found.reason
                sure = least_sure(_provenance(point, role) for point in found.points)
                named = replace(found, case=case, role=role, host=case.host(role), reason=reason)
                yield replace(named, scope=scope, provenance=sure)


def _provenance(point: Point, role: Role) -> Provenance | None:
    power = point.summary.power(role)
    return power.system_provenance if power else None


def _points(own: Sequence[CaseSummary], role: Role, scope: str | None) -> Iterator[Point]:
    for one in own:
        power, sent = one.power(role), 0.0 if one.case.load_level == 0 else None
        if one.throughput_bps is not None and sent is None:
            sent = one.throughput_bps.mean
        if power is None or power.system_w is None or power.system_scope != scope or sent is None:
            continue
        spread, bound = power.system_w.interval(), power.uncertainty_w
        parts = ([] if spread is None else [spread.half_width]) + ([] if bound is None else [bound.mean])
        yield Point(one, sent, power.system_w.mean, math.hypot(*parts) if parts else None)


def _lacking(own: Sequence[CaseSummary], role: Role, scope: str | None) -> str | None:
    """Why a case of these has no watts."""
    for one in own:
        power = one.power(role)
        if power is not None and (power.system_w is None or power.system_scope != scope):
            sent = format_rate(one.throughput_bps.mean) if one.throughput_bps else "a case without throughput"
            why = power.reasons.get("system_w", "they are of another scope")
            return f"watts at {sent} cannot be used: {why}"
    return None


_NOBODY = Case("tcp", "", "")


def _at(points: Sequence[Point], bps: float) -> WattsAt:
    blank = WattsAt(_NOBODY, "sender", "", bps)
    rising = sorted(points, key=lambda one: one.bps)
    if not rising:
        return replace(blank, reason="no case has watts and a throughput")
    nearest = min(rising, key=lambda one: (abs(one.bps - bps), not one.summary.case.paced))
    if abs(nearest.bps - bps) <= NEAR * bps:
        return replace(blank, points=(nearest,), power_w=nearest.power_w, reach_w=nearest.reach_w)
    apart = _apart(rising)
    if bps > apart[-1].bps:
        return replace(blank, reason=f"no watts above {format_rate(apart[-1].bps, 4)} are known")
    if bps < apart[0].bps:
        return replace(blank, reason=f"no watts below {format_rate(apart[0].bps, 4)} are known")
    if len(apart) == 2:
        two = " and ".join(format_rate(one.bps, 4) for one in apart)
        why = f"{two} alone do not say how power bends between them; measure one more rate or load level"
        return replace(blank, reason=why)
    return _between(apart, bps, blank)


def _apart(rising: Sequence[Point]) -> list[Point]:
    """Without cases that carried the same: of such the one that was held to it."""
    kept: list[Point] = []
    for one in rising:
        if kept and one.bps - kept[-1].bps <= APART * one.bps:
            if one.summary.case.paced and not kept[-1].summary.case.paced:
                kept[-1] = one
            continue
        kept.append(one)
    return kept


def _between(apart: Sequence[Point], bps: float, blank: WattsAt) -> WattsAt:
    at = next(number for number, one in enumerate(apart) if one.bps > bps)
    low, high = apart[at - 1], apart[at]
    part = (bps - low.bps) / (high.bps - low.bps)
    triples = [apart[first : first + 3] for first in (at - 2, at - 1) if 0 <= first <= len(apart) - 3]
    curvature = max(abs(_second_difference(one)) for one in triples)
    bend_w = curvature * (bps - low.bps) * (high.bps - bps)
    known = low.reach_w is not None and high.reach_w is not None
    reach_w = (1 - part) * (low.reach_w or 0.0) + part * (high.reach_w or 0.0) + bend_w
    return replace(
        blank,
        points=(low, high),
        power_w=low.power_w + part * (high.power_w - low.power_w),
        reach_w=reach_w if known else None,
        bend_w=bend_w,
    )


def _second_difference(points: Sequence[Point]) -> float:
    """W per (bit/s)², divided: half the curvature."""
    first, middle, last = points
    rise = (last.power_w - middle.power_w) / (last.bps - middle.bps)
    before = (middle.power_w - first.power_w) / (middle.bps - first.bps)
    return (rise - before) / (last.bps - first.bps)
