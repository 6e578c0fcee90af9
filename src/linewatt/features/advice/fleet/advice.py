# SPDX-License-Identifier: Apache-2.0
"""Advice on a fleet, whole: what every printer shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.errors import InvalidInput
from linewatt.features.advice.fleet.choice import Choice, Trade, choose, front, trade
from linewatt.features.advice.fleet.measure_next import Measurement, measure_next
from linewatt.features.advice.fleet.points import OperatingPoint
from linewatt.features.advice.fleet.question import Question, check
from linewatt.features.advice.fleet.totals import Fleet, fleets, why_not_through_supplies
from linewatt.features.advice.psu.advice import Advice as SupplyAdvice
from linewatt.features.advice.psu.advice import Question as SupplyQuestion
from linewatt.features.advice.psu.advice import advise as advise_supplies
from linewatt.missing import Missing
from linewatt.model import Role


@dataclass(frozen=True, slots=True)
class FleetAdvice:
    """``title`` names the series. ``front`` is by instances, ``None`` where too little is known.

    ``supplies``: of the cheapest point's servers, or why there is none; ``""`` where nobody asked.
    """

    title: str
    role: Role
    question: Question
    fleets: tuple[Fleet, ...]
    choice: Choice
    front: tuple[int, ...] | None
    trade: Trade | None
    next: tuple[Measurement, ...]
    not_through_supplies: str | None
    supplies: SupplyAdvice | Missing | None
    """what other supplies would save, or why that is not known; None: no supply was named"""


def advise_fleet(title: str, role: Role, points: Sequence[OperatingPoint], question: Question) -> FleetAdvice:
    """Everything of one series. Raises InvalidInput for what cannot be asked."""
    check(question)
    point_fleets = fleets(points, question)
    choice = choose(point_fleets, question)
    return FleetAdvice(
        title=title,
        role=role,
        question=question,
        fleets=point_fleets,
        choice=choice,
        front=front(points),
        trade=trade(point_fleets, choice.left_out),
        next=measure_next(point_fleets, choice, question),
        not_through_supplies=why_not_through_supplies(points, question),
        supplies=_supplies(points, choice, question),
    )


def _supplies(
    points: Sequence[OperatingPoint], choice: Choice, question: Question
) -> SupplyAdvice | Missing | None:
    """What other supplies would do for the cheapest point's servers, at the watts that were measured."""
    best = choice.cheapest
    if question.supply is None:
        return None
    if best is None or best.point.power_w is None or best.point.scope != "psu-out":
        return Missing("their DC output is not known")
    alike = [point.power_w.mean for point in points if point.power_w and point.scope == best.point.scope]
    try:
        return advise_supplies(
            SupplyQuestion(
                question.supply,
                round(best.point.power_w.mean, 1),
                round(max(alike), 1),
                question.table,
                None,
                question.price_per_kwh,
            )
        )
    except InvalidInput as error:
        return Missing(str(error))
