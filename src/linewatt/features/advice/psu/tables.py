# SPDX-License-Identifier: Apache-2.0
"""Efficiency of power supplies against their load: what 80 PLUS certifies, or a table of one's own. Pure.

A certificate holds at its load points and nowhere else. Between them a straight line is drawn; outside of
them there is no number, for efficiency falls fast below the first point, and differently in every unit. Below
it there are bounds: of a unit with this efficiency at the first point, neither efficiency nor loss grows as
the load falls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from linewatt.delimited import Row, parse_number, quoted, read_table, why_no_number
from linewatt.errors import InvalidInput
from linewatt.missing import Missing
from linewatt.units import percent_from_ratio, ratio_from_percent

Mains = Literal["230", "115"]
"""V: 230 as certified for redundant units, 115 for internal ones"""
Points = tuple[tuple[float, float], ...]

LOAD_COLUMN = "load_percent"
EFFICIENCY_COLUMN = "efficiency_percent"

MAINS_WORDS: Mapping[Mains, str] = {"230": "230 V, redundant", "115": "115 V, internal"}

# Least efficiency in % at each load in %, by mains voltage and level. Source: the 80 PLUS programme, "115 V
# Internal" and "230 V Internal Redundant" (https://www.clearesult.com/80plus/program-details; the same
# figures are in https://en.wikipedia.org/wiki/80_Plus, section "Efficiency level certifications").
CERTIFIED: Mapping[Mains, Mapping[str, Mapping[float, float]]] = {
    "230": {
        "bronze": {20: 81, 50: 85, 100: 81},
        "silver": {20: 85, 50: 89, 100: 85},
        "gold": {20: 88, 50: 92, 100: 88},
        "platinum": {20: 90, 50: 94, 100: 91},
        "titanium": {10: 90, 20: 94, 50: 96, 100: 91},
    },
    "115": {
        "bronze": {20: 82, 50: 85, 100: 82},
        "silver": {20: 85, 50: 88, 100: 85},
        "gold": {20: 87, 50: 90, 100: 87},
        "platinum": {20: 90, 50: 92, 100: 89},
        "titanium": {10: 90, 20: 92, 50: 94, 100: 90},
    },
}
LEVELS = tuple(CERTIFIED["230"])

_NEXT_DOUBLE = 1e-9
"""320 W in two 800 W units is 20 %, whatever the last bit of the quotient says"""


@dataclass(frozen=True, slots=True)
class EfficiencyTable:
    """Efficiency (0..1) at loads (0..1 of a unit's rating), loads ascending.

    ``certified``: these are the least values of a certificate, not readings of a unit.
    """

    name: str
    points: Points
    certified: bool

    def efficiency_ratio(self, load_ratio: float) -> float | Missing:
        """The efficiency at a load, on a straight line between two points; or why there is none."""
        (first, _), (last, _) = self.points[0], self.points[-1]
        if load_ratio < first * (1 - _NEXT_DOUBLE):
            return Missing(
                f"{percent(load_ratio)} of the rating is below the table, which begins at {percent(first)}"
            )
        if load_ratio > last * (1 + _NEXT_DOUBLE):
            return Missing(
                f"{percent(load_ratio)} of the rating is above the table, which ends at {percent(last)}"
            )
        return _between(self.points, min(max(load_ratio, first), last))

    def bounds_below(self, load_ratio: float) -> tuple[float, float] | None:
        """The lowest and highest efficiency at a load below the first point, by extrapolation.

        The lowest is that with the loss of the first point, the highest that of the first point. ``None`` at
        other loads, and for a table in which efficiency or loss falls from the first point to the second.
        """
        (first, at_first), (second, at_second) = self.points[:2]
        loss_first, loss_second = first / at_first - first, second / at_second - second
        if load_ratio >= first * (1 - _NEXT_DOUBLE) or at_first > at_second or loss_first > loss_second:
            return None
        return load_ratio / (load_ratio + loss_first), at_first


def certified(level: str, mains: Mains = "230") -> EfficiencyTable:
    """What a level certifies. Raises InvalidInput for a level that there is not."""
    if level.lower() not in CERTIFIED[mains]:
        raise InvalidInput(f"there is no level {quoted(level)}; the levels are {', '.join(LEVELS)}")
    name = f"80 PLUS {level.capitalize()} ({MAINS_WORDS[mains]})"
    return EfficiencyTable(name, _ratios(CERTIFIED[mains][level.lower()]), certified=True)


def read_efficiency_table(data: bytes, source: str) -> EfficiencyTable:
    """A table of one's own: columns ``load_percent`` and ``efficiency_percent``, rows in any order.

    Raises InvalidInput that begins with ``source:line:`` for what cannot be used; no row is skipped.
    """
    needed = (LOAD_COLUMN, EFFICIENCY_COLUMN)
    table, _ = read_table(data, source, known=needed)
    for column in needed:
        if column not in table.columns:
            raise InvalidInput(f"{source}:1: there is no column {column}; needed are {' and '.join(needed)}")
    efficiency_by_load: dict[float, float] = {}
    for row in table.rows:
        load = _percentage(row, LOAD_COLUMN, source)
        if load in efficiency_by_load:
            raise InvalidInput(f"{source}:{row.line}: {LOAD_COLUMN} {load:g} is there twice; once is enough")
        efficiency_by_load[load] = _percentage(row, EFFICIENCY_COLUMN, source)
    if len(efficiency_by_load) < 2:
        raise InvalidInput(f"{source}: a single row; at least two loads are needed")
    return EfficiencyTable(source, _ratios(efficiency_by_load), certified=False)


def percent(ratio: float) -> str:
    """A ratio as percent, in three digits: ``15.6 %``, ``20 %``."""
    return f"{percent_from_ratio(ratio):.3g} %"


def _percentage(row: Row, column: str, source: str) -> float:
    if not row.aligned:
        raise InvalidInput(f"{source}:{row.line}: more or fewer cells than the header has")
    cell = row.cells[column]
    value = parse_number(cell)
    if value is None:
        raise InvalidInput(f"{source}:{row.line}: {column}: {why_no_number(cell)}")
    if not 0 < value <= 100:
        raise InvalidInput(f"{source}:{row.line}: {column} must be above 0 and at most 100, got {value:g}")
    return value


def _ratios(percentages: Mapping[float, float]) -> Points:
    return tuple(
        (ratio_from_percent(load), ratio_from_percent(percentages[load])) for load in sorted(percentages)
    )


def _between(points: Points, load_ratio: float) -> float:
    for (low, at_low), (high, at_high) in pairwise(points):
        if load_ratio <= high:
            part = (load_ratio - low) / (high - low)
            return at_low * (1 - part) + at_high * part
    return points[-1][1]
