# SPDX-License-Identifier: Apache-2.0
"""Which operating point is the cheapest, how sure that is, what it gives up, and the Pareto front. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.power import PROVENANCE_WEIGHT, SCOPE_WORDS
from linewatt.features.advice.fleet.points import OperatingPoint
from linewatt.features.advice.fleet.question import Question
from linewatt.features.advice.fleet.totals import Fleet, Totals
from linewatt.model import Provenance

Sure = Literal["clear", "clear-if-meter-errs-alike", "open", "not-known", "alone"]
"""``clear``: its interval is apart from that of every other. ``clear-if-meter-errs-alike``: apart by the
spread of runs, but not by the meter's bound. ``open``: they overlap. ``not-known``: an interval is missing.
``alone``: there is no other."""
By = Literal["cost_year", "energy_kwh_year"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The cheapest of the points that can be compared, by money or, without a price, by energy.

    ``rivals`` may be as cheap; ``dearer_ratio`` is by how much the second is dearer. ``left_out`` says which
    points were not compared, and why, by instances.
    """

    by: By
    cheapest: Fleet | None
    second: Fleet | None
    sure: Sure
    rivals: tuple[Fleet, ...]
    dearer_ratio: float | None
    left_out: Mapping[int, str]


def choose(fleets: Sequence[Fleet], question: Question) -> Choice:
    """The cheapest: only among watts of one scope and one provenance, those that are surest."""
    by: By = "energy_kwh_year" if question.price_per_kwh is None else "cost_year"
    left_out = dict(_left_out(fleets, by))
    comparable = [fleet for fleet in fleets if fleet.point.instances not in left_out]
    order = sorted(
        comparable, key=lambda fleet: (worth(fleet.totals, by), fleet.totals.servers, fleet.point.instances)
    )
    if not order:
        return Choice(by, None, None, "not-known", (), None, left_out)
    cheapest, *others = order
    if not others:
        return Choice(by, cheapest, None, "alone", (), None, left_out)
    sure, rivals = _how_sure(cheapest, others, by)
    dearer = worth(others[0].totals, by) / worth(cheapest.totals, by) - 1
    return Choice(by, cheapest, others[0], sure, rivals, dearer, left_out)


def worth(totals: Totals, by: By) -> float:
    """What is compared; only of fleets that have it."""
    value = totals.cost_year if by == "cost_year" else totals.energy_kwh_year
    return float("inf") if value is None else value


def _left_out(fleets: Sequence[Fleet], by: By) -> list[tuple[int, str]]:
    with_totals = [fleet for fleet in fleets if getattr(fleet.totals, by) is not None]
    surest = min(
        (fleet.point.provenance for fleet in with_totals if fleet.point.provenance), key=_weight, default=None
    )
    alike = [fleet for fleet in with_totals if fleet.point.provenance == surest]
    scopes = Counter(fleet.point.scope for fleet in alike).most_common(1)
    reasons = []
    for fleet in fleets:
        point = fleet.point
        why = None
        if getattr(fleet.totals, by) is None:
            why = fleet.reasons.get(by, "not known")
        elif point.provenance != surest:
            why = f"its watts are {_WORDS[point.provenance]}, others are {_WORDS[surest]}"
        elif point.scope != scopes[0][0]:
            why = f"its watts are those of another scope ({SCOPE_WORDS.get(point.scope or '', point.scope)})"
        if why is not None:
            reasons.append((point.instances, why))
    return reasons


_WORDS: dict[Provenance | None, str] = {
    None: "of unknown origin",
    "measured": "measured",
    "corrected": "corrected by a calibration",
    "datasheet": "from a datasheet",
    "estimate": "estimated",
    "simulated": "simulated",
}


def _weight(provenance: Provenance) -> int:
    return PROVENANCE_WEIGHT[provenance]


def _how_sure(cheapest: Fleet, others: Sequence[Fleet], by: By) -> tuple[Sure, tuple[Fleet, ...]]:
    """By intervals that do not touch, each at 95 %: stricter than a test of the difference."""
    candidates = (cheapest, *others)
    if any(
        fleet.low is None or fleet.high is None or getattr(fleet.high, by) is None for fleet in candidates
    ):
        return "not-known", ()
    rivals = tuple(fleet for fleet in others if _overlap(cheapest.high, fleet.low, by))
    if not rivals:
        return "clear", ()
    by_runs = tuple(fleet for fleet in others if _overlap(cheapest.high_runs, fleet.low_runs, by))
    return ("open", by_runs) if by_runs else ("clear-if-meter-errs-alike", rivals)


def _overlap(high: Totals | None, low: Totals | None, by: By) -> bool:
    return high is None or low is None or worth(low, by) <= worth(high, by)


def front(points: Sequence[OperatingPoint]) -> tuple[int, ...] | None:
    """Instances of the points that no other beats both per core and per W.

    ``None`` where fewer than two have both, or where their watts are not of one scope and provenance.
    """
    complete_points = [
        point for point in points if point.bps_per_core is not None and point.bps_per_w is not None
    ]
    kinds = [(point.scope, point.provenance) for point in complete_points]
    if len(complete_points) < 2 or len(set(kinds)) > 1:
        return None
    at = {
        point.instances: (point.bps_per_core.mean, point.bps_per_w.mean)
        for point in complete_points
        if point.bps_per_core and point.bps_per_w
    }
    return tuple(
        instances
        for instances, (core, watt) in at.items()
        if not any(_beats(rival, (core, watt)) for rival in at.values())
    )


def _beats(rival: tuple[float, float], base: tuple[float, float]) -> bool:
    return rival[0] >= base[0] and rival[1] >= base[1] and rival != base


@dataclass(frozen=True, slots=True)
class Trade:
    """More work of a core against more work of a watt: the best point of each, where they are not one."""

    per_core: Fleet
    per_watt: Fleet
    core_ratio: float
    """Mbps/core of ``per_watt`` against that of ``per_core``"""
    watt_ratio: float
    """the same of Mbps/W"""


def trade(fleets: Sequence[Fleet], left_out: Mapping[int, str]) -> Trade | None:
    """The two ends of the front; ``None`` where one point is the best of both, or too little is known."""
    efficiencies = [
        (fleet, fleet.point.bps_per_core.mean, fleet.point.bps_per_w.mean)
        for fleet in fleets
        if fleet.point.bps_per_core and fleet.point.bps_per_w and fleet.point.instances not in left_out
    ]
    if not efficiencies:
        return None
    core = max(efficiencies, key=lambda efficiency: efficiency[1])
    watt = max(efficiencies, key=lambda efficiency: efficiency[2])
    if core[0] is watt[0]:
        return None
    return Trade(core[0], watt[0], watt[1] / core[1], watt[2] / core[2])
