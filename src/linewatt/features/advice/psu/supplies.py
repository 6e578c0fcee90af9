# SPDX-License-Identifier: Apache-2.0
"""How far power supplies are loaded, and what they lose. Pure.

The load is what the server draws from its supplies (DC). Efficiency is good from about 20 % to 90 % of a
unit's rating and falls fast below, so large redundant units in a server that draws little waste most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from linewatt.errors import InvalidInput
from linewatt.features.advice.psu.tables import EfficiencyTable, percent
from linewatt.missing import Missing

Mode = Literal["shared", "standby"]
MODES: tuple[Mode, ...] = ("shared", "standby")

GOOD_FROM = 0.2
GOOD_TO = 0.9
"""Loads of a unit, as parts of its rating, between which efficiency is good."""

# What makers promise of the power readings of server supplies: ± 15 % of the reading up to 20 % load, ± 5 %
# above (Intel Server System SR1690WB, Technical Product Specification, 3.8.4 "Accuracy", READ_PIN).
TOLERANCE_LOW_RATIO = 0.15
TOLERANCE_RATIO = 0.05

NO_TABLE = "neither a certification level nor a table is given"
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


@dataclass(frozen=True, slots=True)
class Supply:
    """Alike units that carry a server together: all share its load, or one is on hot standby."""

    count: int
    rating_w: float
    mode: Mode = "shared"

    @property
    def capacity_w(self) -> float:
        """What all units carry."""
        return self.count * self.rating_w

    @property
    def surviving_w(self) -> float:
        """What is still carried when one unit fails; a single unit has no other."""
        return (self.count - 1) * self.rating_w

    def active(self, load_w: float) -> int:
        """Units that carry this load: a unit on standby wakes for what the others cannot carry."""
        asleep = self.mode == "standby" and load_w <= self.surviving_w
        return self.count - 1 if asleep else self.count

    def __str__(self) -> str:
        return f"{in_words(self.count)} {self.rating_w:g} W {'unit' if self.count == 1 else 'units'}"


@dataclass(frozen=True, slots=True)
class Operation:
    """A supply under a load. ``good_from_w`` is the load that brings the active units to GOOD_FROM.

    Without efficiency there is no input and no loss, and ``reason`` says why. ``input_bounds_w`` is then the
    lowest and the highest input by extrapolation, where there is one.
    """

    supply: Supply
    load_w: float
    active: int
    unit_w: float
    load_ratio: float
    good_from_w: float
    efficiency_ratio: float | None
    input_w: float | None
    loss_w: float | None
    reason: str | None
    input_bounds_w: tuple[float, float] | None = None

    @property
    def input_range_w(self) -> tuple[float, float] | None:
        """The lowest and the highest input: equal where the table has the efficiency."""
        return self.input_bounds_w if self.input_w is None else (self.input_w, self.input_w)


@dataclass(frozen=True, slots=True)
class Measured:
    """Readings of what goes in and what comes out, and what can be said of the efficiency from them.

    ``tolerance_ratio`` is the accuracy of both readings, ``error_w`` how far in − out may be off for it (both
    readings off in opposite directions). Where in − out is not larger there is no efficiency, and ``reason``
    says so; else it lies between ``lowest_ratio`` and ``highest_ratio``.
    """

    in_w: float
    out_w: float
    load_ratio: float
    tolerance_ratio: float
    error_w: float
    loss_w: float | None = None
    efficiency_ratio: float | None = None
    lowest_ratio: float | None = None
    highest_ratio: float | None = None
    reason: str | None = None


def operate(supply: Supply, load_w: float, table: EfficiencyTable | None) -> Operation:
    """A supply under a load. Raises InvalidInput when its units cannot carry it."""
    if supply.mode == "standby" and supply.count == 1:
        raise InvalidInput("a single unit cannot be on standby: name two or more units, or mode shared")
    if load_w > supply.capacity_w:
        raise InvalidInput(
            f"{supply} cannot carry {load_w:g} W, only {supply.capacity_w:g}: check load and rating"
        )
    active = supply.active(load_w)
    load_ratio = load_w / active / supply.rating_w
    efficiency = Missing(NO_TABLE) if table is None else table.efficiency_ratio(load_ratio)
    input_w = load_w / efficiency if isinstance(efficiency, float) else None
    bounds = None if table is None else table.bounds_below(load_ratio)
    return Operation(
        supply=supply,
        load_w=load_w,
        active=active,
        unit_w=load_w / active,
        load_ratio=load_ratio,
        good_from_w=active * GOOD_FROM * supply.rating_w,
        efficiency_ratio=efficiency if isinstance(efficiency, float) else None,
        input_w=input_w,
        loss_w=None if input_w is None else input_w - load_w,
        reason=efficiency.reason if isinstance(efficiency, Missing) else None,
        input_bounds_w=None if bounds is None else (load_w / bounds[1], load_w / bounds[0]),
    )


def measured(supply: Supply, in_w: float, out_w: float, tolerance_ratio: float | None = None) -> Measured:
    """What readings of all units together say of the efficiency.

    Without a ``tolerance_ratio`` it is the usual one at this load. Raises InvalidInput when the units cannot
    give ``out_w``.
    """
    load_ratio = operate(supply, out_w, None).load_ratio
    usual = TOLERANCE_RATIO if load_ratio >= GOOD_FROM else TOLERANCE_LOW_RATIO
    off = usual if tolerance_ratio is None else tolerance_ratio
    loss_w, error_w = in_w - out_w, off * (in_w + out_w)
    readings = Measured(in_w, out_w, load_ratio, off, error_w)
    if loss_w <= error_w:
        return replace(readings, reason=_doubt(readings))
    return replace(
        readings,
        loss_w=loss_w,
        efficiency_ratio=out_w / in_w,
        lowest_ratio=out_w * (1 - off) / (in_w * (1 + off)),
        highest_ratio=out_w * (1 + off) / (in_w * (1 - off)),
    )


def _doubt(readings: Measured) -> str:
    loss_w = readings.in_w - readings.out_w
    if loss_w < -readings.error_w:
        return (
            f"{readings.out_w:g} W come out of {readings.in_w:g} W, more than readings good to "
            f"± {percent(readings.tolerance_ratio)} explain: check that both are of the same units and time"
        )
    return (
        f"in − out is {loss_w:.1f} W and may be off by {readings.error_w:.1f} W, as each reading is good to "
        f"± {percent(readings.tolerance_ratio)}: the efficiency cannot be told from these readings"
    )


def redundancy_warning(supply: Supply, peak_w: float) -> str | None:
    """What fails with one of several units at ``peak_w``; ``None`` when the others carry it."""
    if supply.count == 1 or peak_w <= supply.surviving_w:
        return None
    others = Supply(supply.count - 1, supply.rating_w)
    wakes = "; the unit on standby has to carry part of it" if supply.mode == "standby" else ""
    return f"not redundant: {others} cannot carry {peak_w:g} W when another fails{wakes}"


def in_words(count: int) -> str:
    """``two`` for 2; digits from 9 on."""
    return _WORDS[count] if count < len(_WORDS) else str(count)
