# SPDX-License-Identifier: Apache-2.0
"""A printed figure beside the derived one, whether they agree, and the lines that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linewatt.delimited import parse_number
from linewatt.report.charts.figure import Figure
from linewatt.units import format_cut

WITHIN = 0.12
"""of what is read off a chart (docs/published/README.md)"""
MOST_SHOWN = 6
Status = Literal["met", "as printed", "**not met**", "cannot be"]
STATUSES: tuple[Status, ...] = ("met", "as printed", "**not met**", "cannot be")


@dataclass(frozen=True, slots=True)
class Value:
    """One figure: at which row, as printed, and as derived.

    ``cut``: decimals beyond the printed ones were cut, not rounded; ``read_off``: it was read off a chart.
    """

    at: str
    printed: str
    derived: float | None
    cut: bool = False
    read_off: bool = False

    @property
    def decimals(self) -> int:
        return len(self.printed.partition(".")[2])

    @property
    def number(self) -> float:
        found = parse_number(self.printed)
        if found is None:
            raise ValueError(f"{self.at}: {self.printed!r} is no number")
        return found

    @property
    def apart(self) -> float:
        """Derived less printed, of a chart as a part of what is printed."""
        if self.derived is None:
            raise ValueError(f"{self.at}: nothing is derived")
        return self.derived / self.number - 1 if self.read_off else self.derived - self.number

    @property
    def met(self) -> bool:
        """Cut: the same digits; else less than one of the last printed digit away; of a chart within 12 %."""
        if self.derived is None:
            return False
        if self.read_off:
            return abs(self.apart) <= WITHIN
        if self.cut:
            return parse_number(self._cut.replace(",", "")) == self.number
        return abs(self.apart) < 10.0**-self.decimals

    @property
    def _cut(self) -> str:
        return format_cut(self.derived, self.decimals)

    @property
    def derived_words(self) -> str:
        if self.derived is None:
            return "–"
        if self.read_off:
            return f"{self.derived:.4g}"
        return (self._cut if self.cut else f"{self.derived:.{self.decimals}f}").replace(",", "")

    @property
    def difference(self) -> str:
        if self.derived is None:
            return "not derived"
        return f"{100 * self.apart:+.1f} %" if self.read_off else f"{self.apart:+.{self.decimals}f}"


@dataclass(frozen=True, slots=True)
class Line:
    """One published figure or table: how it is made, what was printed and derived, and its pictures."""

    what: str
    command: str
    printed: str
    derived: str
    difference: str
    status: Status
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Study:
    """What is made of one table, with the components of its host beside it; ``words`` are above its lines."""

    title: str
    table: str
    words: str
    lines: tuple[Line, ...]
    figures: Mapping[str, Figure]
    components: str | None = None


def compared(what: str, command: str, values: Sequence[Value], *pictures: str) -> Line:
    """Printed figures beside derived ones: all met, or which are not."""
    off = [one for one in values if not one.met]
    shown = values if len(values) <= MOST_SHOWN else values[:3]
    more = f" … ({len(values)})" if len(shown) < len(values) else ""
    return Line(
        what,
        command,
        ", ".join(one.printed for one in shown) + more,
        ", ".join(one.derived_words for one in shown) + more,
        _difference(values, off),
        "**not met**" if off else "met",
        pictures,
    )


def _difference(values: Sequence[Value], off: Sequence[Value]) -> str:
    if off:
        said = "; ".join(f"{one.at}: {one.difference}" for one in off)
        others = len(values) - len(off)
        return f"{said}; the other {others} are met" if others else said
    if values[0].read_off:
        return f"{', '.join(one.difference for one in values)}: within the 12 % of a chart"
    return "none: digit for digit, cut" if values[0].cut else "none: less than one of the last printed digit"


def shown(what: str, command: str, printed: str, picture: str, figures: Mapping[str, Any]) -> Line:
    """Raw figures: nothing is derived, so that there is nothing to differ."""
    if picture not in figures:
        return Line(what, command, printed, "–", "no chart of it is drawn", "**not met**")
    return Line(what, command, printed, "–", "none: raw figures", "as printed", (picture,))


def absent(what: str, why: str) -> Line:
    """What the report has and its table does not say."""
    return Line(what, "–", "in the report", "–", why, "cannot be")
