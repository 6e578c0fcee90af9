# SPDX-License-Identifier: Apache-2.0
"""Which power supplies would lose less: hot standby, fewer units, smaller units, or both. Pure.

Nothing is proposed that could not carry the server's highest load with as much redundancy as now: with
several units, one may fail, and the others are then loaded to GOOD_TO at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.errors import InvalidInput
from linewatt.features.advice.psu.supplies import (
    GOOD_FROM,
    GOOD_TO,
    NO_TABLE,
    Measured,
    Operation,
    Supply,
    operate,
    redundancy_warning,
)
from linewatt.features.advice.psu.tables import EfficiencyTable

Change = Literal["standby", "share", "fewer", "smaller", "smaller-standby"]

BOTH: Change = "smaller-standby"

# Ratings that hot-plug units for servers are sold with; makers differ in which of them they offer.
RATINGS_W = (
    *(350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 1000, 1100),
    *(1200, 1300, 1400, 1600, 1800, 2000, 2200, 2400, 2700, 3000),
)
BEST_AT = 0.5
"""Every certificate asks for most at this load."""

LEAST_SAVED_W = 1.0
"""No change is worth proposing for less."""

HOURS_PER_YEAR = 8760
_W_PER_KW = 1000


@dataclass(frozen=True, slots=True)
class UnitPrices:
    """What a unit costs: by its rating in W, else ``of_any`` rating."""

    of_any: float | None = None
    by_rating: tuple[tuple[float, float], ...] = ()

    def of(self, rating_w: float) -> float | None:
        """``None``: not known."""
        return dict(self.by_rating).get(rating_w, self.of_any)

    @property
    def ratings_w(self) -> tuple[float, ...]:
        """Ratings of units that may be proposed: those with a price if no price is of all."""
        priced = tuple(rating_w for rating_w, _ in self.by_rating)
        return priced if priced and self.of_any is None else tuple(sorted({*RATINGS_W, *priced}))


@dataclass(frozen=True, slots=True)
class Question:
    """A supply, the server's load (DC) and the highest that it ever draws, and what is known of the units."""

    supply: Supply
    load_w: float
    peak_w: float
    table: EfficiencyTable | None = None
    measured: Measured | None = None
    price_per_kwh: float | None = None
    unit_prices: UnitPrices | None = None
    currency: str = ""
    """the user's word for the unit of all prices"""


@dataclass(frozen=True, slots=True)
class Payback:
    """What the new units of a change cost, and after how many years the saved energy has paid them.

    ``years`` are the fewest and the most, which differ where what is saved is extrapolated. Without interest,
    and without what old units are still worth. ``None`` with a reason.
    """

    cost: float | None
    years: tuple[float, float] | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A change and what it would save at this load all year: an estimate, ``None`` with a reason.

    ``saved_bounds_w`` are the least and the most that it saves by extrapolation, where ``saved_w`` is not
    known. ``payback`` is ``None`` where no prices of units are given.
    """

    change: Change
    operation: Operation
    saved_w: float | None
    saved_kwh_per_year: float | None
    saved_cost_per_year: float | None
    reason: str | None
    saved_bounds_w: tuple[float, float] | None = None
    payback: Payback | None = None

    @property
    def saved_range_w(self) -> tuple[float, float] | None:
        """The least and the most that it saves: equal where that is known."""
        return self.saved_bounds_w if self.saved_w is None else (self.saved_w, self.saved_w)


@dataclass(frozen=True, slots=True)
class Advice:
    """The supply as it is, and options, best first. ``redundant`` is ``None`` for a single unit."""

    question: Question
    operation: Operation
    redundant: bool | None
    options: tuple[Option, ...]
    warnings: tuple[str, ...]


def advise(question: Question) -> Advice:
    """What is, and what would be better. Raises InvalidInput when the units cannot carry the load."""
    supply = question.supply
    now = operate(supply, question.load_w, question.table)
    if question.peak_w < question.load_w:
        raise InvalidInput(
            f"the most it draws, {question.peak_w:g} W, is less than the load, {question.load_w:g} W"
        )
    operate(supply, question.peak_w, None)
    warning = redundancy_warning(supply, question.peak_w)
    possible_options = (_option(question, now, *candidate) for candidate in _candidates(question))
    options = _worth_both([option for option in possible_options if option is not None])
    if question.unit_prices is not None:
        options = [replace(option, payback=_payback(question, option)) for option in options]
    return Advice(
        question=question,
        operation=now,
        redundant=None if supply.count == 1 else warning is None,
        options=tuple(sorted(options, key=lambda option: -(option.saved_range_w or (0.0,))[0])),
        warnings=() if warning is None else (warning,),
    )


def _worth_both(options: list[Option]) -> list[Option]:
    """Without the two changes at once, unless they are better than either of them alone."""
    combined = next((option for option in options if option.change == BOTH), None)
    if combined is None:
        return options
    parts = [option for option in options if option.change in ("standby", "smaller")]
    is_worth = all(_is_better(combined, part) for part in parts)
    return options if is_worth else [option for option in options if option is not combined]


def _is_better(combined: Option, part: Option) -> bool:
    """Whether less goes in, or where that is not known, the load is nearer to where efficiency is good."""
    inputs_w = combined.operation.input_w, part.operation.input_w
    if inputs_w[0] is not None and inputs_w[1] is not None:
        return inputs_w[0] + LEAST_SAVED_W <= inputs_w[1]
    return _outside(combined.operation.load_ratio, None) < _outside(part.operation.load_ratio, None)


def carries(supply: Supply, peak_w: float) -> bool:
    """Whether the units carry a load with room to spare, also when one of several fails."""
    bearing_w = supply.rating_w if supply.count == 1 else supply.surviving_w
    return peak_w <= GOOD_TO * bearing_w


def _candidates(question: Question) -> Iterator[tuple[Change, Operation]]:
    """Changes that carry the load, the best of each kind."""
    supply = question.supply
    other_change: Change = "standby" if supply.mode == "shared" else "share"
    may_sleep = supply.count > 1 and supply.mode == "shared"
    counts = range(2, supply.count)
    prices = question.unit_prices or UnitPrices()
    ratings = [rating_w for rating_w in prices.ratings_w if rating_w < supply.rating_w]
    kinds: tuple[tuple[Change, list[Supply]], ...] = (
        (other_change, [_other_mode(supply)] if supply.count > 1 else []),
        ("fewer", [replace(supply, count=count) for count in counts]),
        ("smaller", [replace(supply, rating_w=float(rating_w)) for rating_w in ratings]),
        (
            BOTH,
            [replace(supply, rating_w=float(rating_w), mode="standby") for rating_w in ratings if may_sleep],
        ),
    )
    for change, supplies in kinds:
        able = [supply for supply in supplies if carries(supply, question.peak_w)]
        operations = [operate(supply, question.load_w, question.table) for supply in able]
        if operations:
            yield change, min(operations, key=lambda operation: _rank(operation, question.table))


def _other_mode(supply: Supply) -> Supply:
    return replace(supply, mode="standby" if supply.mode == "shared" else "shared")


def _rank(operation: Operation, table: EfficiencyTable | None) -> tuple[float, float]:
    """Smaller is better: near the known range, then the least input or, where that is unknown, half load."""
    off_half = abs(operation.load_ratio - BEST_AT)
    return _outside(operation.load_ratio, table), off_half if operation.input_w is None else operation.input_w


def _outside(load_ratio: float, table: EfficiencyTable | None) -> float:
    """How far a load is from the loads that are known to be good, or that the table covers."""
    low, high = (GOOD_FROM, GOOD_TO) if table is None else (table.points[0][0], table.points[-1][0])
    return max(low - load_ratio, load_ratio - high, 0.0)


def _option(question: Question, now: Operation, change: Change, new: Operation) -> Option | None:
    """The change with what it saves, or ``None`` when it is no better."""
    readings = _readings(question) if now.input_w is None else None
    input_w = now.input_w if readings is None else readings.in_w
    if input_w is None or new.input_w is None:
        nearer = _outside(new.load_ratio, question.table) < _outside(now.load_ratio, question.table)
        bounds_w = _saved_bounds_w(now, new)
        return Option(change, new, None, None, None, _unknown(now, new), bounds_w) if nearer else None
    saved_w = input_w - new.input_w
    if saved_w < LEAST_SAVED_W:
        return None
    if readings is not None and saved_w <= (off_w := readings.tolerance_ratio * readings.in_w):
        reason = f"{saved_w:.1f} W less would go in, but {readings.in_w:g} W may be off by {off_w:.1f} W"
        return Option(change, new, None, None, None, reason)
    kwh = kwh_per_year(saved_w)
    price = question.price_per_kwh
    return Option(change, new, saved_w, kwh, None if price is None else kwh * price, None)


def kwh_per_year(power_w: float) -> float:
    return power_w * HOURS_PER_YEAR / _W_PER_KW


def _saved_bounds_w(now: Operation, new: Operation) -> tuple[float, float] | None:
    """The least and the most that a change saves by extrapolation; ``None`` if it may cost energy."""
    now_range_w, new_range_w = now.input_range_w, new.input_range_w
    if now_range_w is None or new_range_w is None or now_range_w[0] <= new_range_w[1]:
        return None
    return now_range_w[0] - new_range_w[1], now_range_w[1] - new_range_w[0]


def _payback(question: Question, option: Option) -> Payback:
    """What the units of a change cost; nothing where those that are there stay."""
    supply, prices = option.operation.supply, question.unit_prices or UnitPrices()
    if supply.rating_w == question.supply.rating_w:
        return Payback(0.0, (0.0, 0.0))
    price = prices.of(supply.rating_w)
    if price is None:
        return Payback(None, None, f"no price of {supply.rating_w:g} W units is given")
    cost, saved_w = supply.count * price, option.saved_range_w
    if saved_w is None:
        return Payback(cost, None, "what the change saves is not known")
    if question.price_per_kwh is None:
        return Payback(cost, None, "no price of energy is given")
    price_per_kwh = question.price_per_kwh
    lowest, highest = (kwh_per_year(power_w) * price_per_kwh for power_w in saved_w)
    return Payback(cost, (cost / highest, cost / lowest))


def _readings(question: Question) -> Measured | None:
    """Readings that say what goes in at this load, where the table does not."""
    readings = question.measured
    usable = (
        readings is not None and readings.efficiency_ratio is not None and readings.out_w == question.load_w
    )
    return readings if usable else None


def _unknown(now: Operation, new: Operation) -> str:
    if now.reason is None:
        return f"after the change, {new.reason}"
    return now.reason if now.reason == NO_TABLE else f"now, {now.reason}"
