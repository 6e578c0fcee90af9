# SPDX-License-Identifier: Apache-2.0
"""Which operating point is the cheapest, how sure that is, what it gives up, and the Pareto front. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.power.totals import SCOPE_WORDS, WEIGHT
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
    rest = [one for one in fleets if one.point.instances not in left_out]
    order = sorted(rest, key=lambda one: (worth(one.totals, by), one.totals.servers, one.point.instances))
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
    known = [one for one in fleets if getattr(one.totals, by) is not None]
    surest = min((one.point.provenance for one in known if one.point.provenance), key=_weight, default=None)
    alike = [one for one in known if one.point.provenance == surest]
    scopes = Counter(one.point.scope for one in alike).most_common(1)
    found = []
    for one in fleets:
        point = one.point
        why = None
        if getattr(one.totals, by) is None:
            why = one.reasons.get(by, "not known")
        elif point.provenance != surest:
            why = f"its watts are {_WORDS[point.provenance]}, others are {_WORDS[surest]}"
        elif point.scope != scopes[0][0]:
            why = f"its watts are those of another scope ({SCOPE_WORDS.get(point.scope or '', point.scope)})"
        if why is not None:
            found.append((point.instances, why))
    return found


_WORDS: dict[Provenance | None, str] = {
    None: "of unknown origin",
    "measured": "measured",
    "corrected": "corrected by a calibration",
    "datasheet": "from a datasheet",
    "estimate": "estimated",
    "simulated": "simulated",
}


def _weight(provenance: Provenance) -> int:
    return WEIGHT[provenance]


def _how_sure(cheapest: Fleet, others: Sequence[Fleet], by: By) -> tuple[Sure, tuple[Fleet, ...]]:
    """By intervals that do not touch, each at 95 %: stricter than a test of the difference."""
    every = (cheapest, *others)
    if any(one.low is None or one.high is None or getattr(one.high, by) is None for one in every):
        return "not-known", ()
    rivals = tuple(one for one in others if _overlap(cheapest.high, one.low, by))
    if not rivals:
        return "clear", ()
    by_runs = tuple(one for one in others if _overlap(cheapest.high_runs, one.low_runs, by))
    return ("open", by_runs) if by_runs else ("clear-if-meter-errs-alike", rivals)


def _overlap(high: Totals | None, low: Totals | None, by: By) -> bool:
    return high is None or low is None or worth(low, by) <= worth(high, by)


def front(points: Sequence[OperatingPoint]) -> tuple[int, ...] | None:
    """Instances of the points that no other beats both per core and per W.

    ``None`` where fewer than two have both, or where their watts are not of one scope and provenance.
    """
    known = [one for one in points if one.bps_per_core is not None and one.bps_per_w is not None]
    kinds = [(one.scope, one.provenance) for one in known]
    if len(known) < 2 or len(set(kinds)) > 1:
        return None
    at = {
        one.instances: (one.bps_per_core.mean, one.bps_per_w.mean)
        for one in known
        if one.bps_per_core and one.bps_per_w
    }
    return tuple(
        own
        for own, (core, watt) in at.items()
        if not any(_beats(other, (core, watt)) for other in at.values())
    )


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other


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
    known = [
        (one, one.point.bps_per_core.mean, one.point.bps_per_w.mean)
        for one in fleets
        if one.point.bps_per_core and one.point.bps_per_w and one.point.instances not in left_out
    ]
    if not known:
        return None
    core = max(known, key=lambda one: one[1])
    watt = max(known, key=lambda one: one[2])
    if core[0] is watt[0]:
        return None
    return Trade(core[0], watt[0], watt[1] / core[1], watt[2] / core[2])
