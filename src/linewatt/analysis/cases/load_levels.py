# SPDX-License-Identifier: Apache-2.0
"""Efficiency over graduated load, and one score for it: full load alone misleads. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.power.totals import SCOPE_WORDS, least_sure
from linewatt.analysis.statistics.stats import Estimate
from linewatt.missing import Missing, value_or_none
from linewatt.model import ENDS, Case, Provenance, Role

MISSED_RATIO = 0.02
"""A level whose throughput is further than this from what it asked for is not at that load. It is also how
far the targets of two pairs of hosts may be apart to count as the same arrival rate."""

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """One load level of one case at one end: 0..1 of the calibrated maximum.

    ``power`` is of the curve's scope, or ``None``. ``pairs_bps`` are the lowest and the highest target of all
    pairs of hosts at this level when they are not the same arrival rate.
    """

    level: float
    summary: CaseSummary
    role: Role
    power: EndPower | None
    pairs_bps: Span | None = None

    @property
    def throughput_bps(self) -> Estimate | None:
        return self.summary.throughput_bps

    @property
    def end_bps(self) -> Estimate | None:
        """What the end received, or sent."""
        sent_bps = self.summary.offered_bps if self.role == "sender" else None
        return sent_bps or self.throughput_bps

    @property
    def target_bps(self) -> Estimate | None:
        return self.summary.target_bps

    @property
    def cores(self) -> Estimate | None:
        summary = self.summary
        return summary.cpu_cores(self.role)

    @property
    def system_w(self) -> Estimate | None:
        return self.power.system_w if self.power else None

    @property
    def system_bps_per_w(self) -> Estimate | None:
        return self.power.system_bps_per_w if self.power else None

    @property
    def provenance(self) -> Provenance | None:
        """Of the system's watts; ``None`` where there are none."""
        return self.power.system_provenance if self.power and self.power.system_w else None

    @property
    def missed(self) -> bool | None:
        """Whether the throughput is not what was asked for; ``None``: not known. Idle asks for nothing."""
        if self.level == 0:
            return False
        off = self.summary.target_deviation_ratio
        return None if off is None else abs(off.mean) > MISSED_RATIO


@dataclass(frozen=True, slots=True)
class LevelCurve:
    """All levels of one case at one end, falling, with its overall score or why it has none.

    ``score_bps_per_w`` is Σ throughput ÷ Σ power over the levels, active idle included. ``scope`` says which
    watts these are, and ``provenance`` is that of the least sure of them.
    """

    case: Case
    role: Role
    host: str
    points: tuple[LevelPoint, ...]
    score_bps_per_w: float | None
    scope: str | None
    provenance: Provenance | None
    reason: str | None = None

    @property
    def missed(self) -> tuple[LevelPoint, ...]:
        """Its levels at which the load was not what was asked for."""
        return tuple(point for point in self.points if point.missed)


def level_curves(summaries: Iterable[CaseSummary]) -> tuple[LevelCurve, ...]:
    """The curves of a campaign with load levels, both ends of each case; ``()`` when it has none.

    Cases are in the order of ``summaries``, as they are at full rate.
    """
    by_case: dict[Case, list[CaseSummary]] = {}
    for summary in summaries:
        levels = by_case.setdefault(replace(summary.case, load_level=None), [])
        if summary.case.load_level is not None:
            levels.append(summary)
    by_case = {case: members for case, members in by_case.items() if members}
    pairs = _pairs([member for members in by_case.values() for member in members])
    return tuple(_curve(case, members, role, pairs) for case, members in by_case.items() for role in ENDS)


def _pairs(members: Sequence[CaseSummary]) -> dict[str, Span]:
    """Case key → lowest and highest mean target over pairs of hosts, where these are not the same rate."""
    targets: dict[str, list[float]] = {}
    for member in members:
        if member.target_bps is not None:
            targets.setdefault(member.case.key, []).append(member.target_bps.mean)
    spans = {key: (min(rates), max(rates)) for key, rates in targets.items()}
    return {key: span for key, span in spans.items() if span[1] > span[0] * (1 + MISSED_RATIO)}


def _curve(case: Case, members: list[CaseSummary], role: Role, pairs: Mapping[str, Span]) -> LevelCurve:
    falling = sorted(members, key=lambda member: member.case.load_level or 0.0, reverse=True)
    powers = [member.power(role) for member in falling]
    scope = next((power.system_scope for power in powers if power and power.system_scope), None)
    points = tuple(
        LevelPoint(
            level=member.case.load_level or 0.0,
            summary=member,
            role=role,
            power=_of_scope(power, scope),
            pairs_bps=pairs.get(member.case.key),
        )
        for member, power in zip(falling, powers, strict=True)
    )
    score = _score(points)
    return LevelCurve(
        case=case,
        role=role,
        host=case.host(role),
        points=points,
        score_bps_per_w=value_or_none(score),
        scope=scope,
        provenance=least_sure(point.provenance for point in points),
        reason=score.reason if isinstance(score, Missing) else None,
    )


def _of_scope(power: EndPower | None, scope: str | None) -> EndPower | None:
    """Power of one level, without the system's watts when they are of another scope than the curve's."""
    if power is None or power.system_scope in (None, scope):
        return power
    level_scope = power.system_scope or ""
    why = f"only {SCOPE_WORDS.get(level_scope, level_scope)} was read at this level"
    return replace(
        power,
        values={**power.values, "system_w": None, "system_bps_per_w": None},
        reasons=power.reasons | {"system_w": why, "system_bps_per_w": why},
    )


def _score(points: tuple[LevelPoint, ...]) -> float | Missing:
    if not any(point.level == 0 for point in points):
        return Missing("active idle (level 0) is not among the load levels")
    throughput = [rate.mean for point in points if (rate := point.end_bps) is not None]
    power = [point.system_w.mean for point in points if point.system_w is not None]
    if len(throughput) < len(points):
        return Missing("a level has no throughput")
    if len(power) < len(points):
        return Missing("a level has no system power")
    if sum(throughput) <= 0:
        return Missing("nothing arrived at any level")
    return sum(throughput) / sum(power) if sum(power) > 0 else Missing("power is not greater than 0")
