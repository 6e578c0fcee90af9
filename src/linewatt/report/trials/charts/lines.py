# SPDX-License-Identifier: Apache-2.0
"""Figures of lines: a quantity of cases against their instances or their load, a line a series.

Few series are told apart by colour; more of them, and those with two parts (both ends, system and CPU), have
a panel each. Of many only the highest and the lowest are drawn: the tables have all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Case
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import Read, Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.units import format_significant

MOST_DOTS = 2000
"""beyond which only means are drawn"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What figures show: its words, the unit people read, and the way there from SI."""

    words: str
    unit: str
    from_si: Callable[[float], float]

    def text(self, value: float) -> str:
        """``250.1 W`` of a value in SI."""
        return f"{format_significant(self.from_si(value), 4)} {self.unit}"

    @property
    def title(self) -> str:
        """Of its axis."""
        return f"{self.words[:1].upper()}{self.words[1:]} ({self.unit})"


@dataclass(frozen=True, slots=True)
class Point:
    """One mean of a line: at ``x``, in words ``place``; ``read`` takes it from each trial of its case.

    ``part`` names which of several quantities of a panel it is; ``look`` is what its row has beside.
    """

    x: float
    place: str
    case: Case
    value: Estimate
    read: Read
    part: str = ""
    look: Mapping[str, object] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """The points of one series, from left to right."""

    label: str
    points: tuple[Point, ...]

    @property
    def top(self) -> float:
        return max(point.value.mean for point in self.points)

    def words(self, quantity: Quantity) -> str:
        """What it shows, for whoever cannot see it."""
        places: dict[str, list[str]] = {}
        for point in self.points:
            said = f"{point.part} {quantity.text(point.value.mean)}{point.remark}".strip()
            places.setdefault(point.place, []).append(said)
        points = (f"{place} {' and '.join(said)}" for place, said in places.items())
        return f"{self.label}: {', '.join(points)}"


@dataclass(frozen=True, slots=True)
class LineChart:
    """What is drawn, and what its page says of it; ``caption`` explains what is there beside means."""

    name: str
    title: str
    quantity: Quantity
    lines: Sequence[Line]
    caption: str = ""
    ideal: bool = False
    """with linear growth from one instance"""
    axis: Callable[[Sequence[float]], Spec] | None = None
    """that of the places of points, in place of instances"""
    axis_note: str = ""
    layers: Callable[[Sequence[Row]], Sequence[Spec]] | None = None
    """in place of plain lines"""

    def figure(self, runs: Runs) -> Figure | None:
        """The chart; ``None`` where there is no line."""
        if not self.lines:
            return None
        shown = data.few(self.lines, lambda line: line.top)
        dots = sum(len(runs.get(point.case, ())) for line in shown for point in line.points)
        drawn = runs if dots <= MOST_DOTS else {}
        rows = [row for line in shown for row in self._rows(line, drawn)]
        top = specs.HEADROOM * data.top_of(rows)
        if self.ideal:
            rows += [row for line in shown for row in self._linear(line, top)]
        labels = [line.label for line in shown]
        parts = list(dict.fromkeys(point.part for line in shown for point in line.points if point.part))
        apart = len(labels) > 1 if parts else len(labels) > len(specs.LINES)
        spread = _spread_words(dots, spread=any("low" in row for row in rows))
        left = data.few_words(shown, self.lines, "lines")
        return Figure(
            name=self.name,
            title=self.title,
            caption=" ".join(filter(None, (self.caption, spread))) + left,
            description="; ".join(line.words(self.quantity) for line in shown),
            spec=specs.lines(
                rows, self._layers(rows, parts), self._encoding(labels, parts, top), labels if apart else ()
            ),
            wide=apart,
        )

    def _rows(self, line: Line, runs: Runs) -> Iterator[Row]:
        for point in line.points:
            base: Row = {"series": line.label, "x": point.x}
            base |= {"part": point.part} if point.part else {}
            trials = runs.get(point.case, ())
            mean, *dots = data.value_rows(base, point.value, self.quantity.from_si, trials, point.read)
            yield mean | dict(point.look)
            yield from dots

    def _linear(self, line: Line, top: float) -> list[Row]:
        """Ends of the line of linear growth from one instance, cut where it would leave the chart."""
        single, last = line.points[0], line.points[-1]
        rate = self.quantity.from_si(single.value.mean)
        most = min(last.x, top / rate) if single.x == 1 and rate > 0 else 0.0
        if most <= 1:
            return []
        base: Row = {"kind": "ideal", "series": line.label}
        return [base | {"x": count, "value": count * rate, "end": count == most} for count in (1.0, most)]

    def _layers(self, rows: Sequence[Row], parts: Sequence[str]) -> Sequence[Spec]:
        if self.layers is not None:
            return self.layers(rows)
        plain = specs.pair_layers("part", parts) if parts else specs.line_layers()
        return [*(specs.ideal_layers() if self.ideal else ()), *plain]

    def _encoding(self, labels: Sequence[str], parts: Sequence[str], top: float) -> Spec:
        title = [self.quantity.title, self.axis_note] if self.axis_note else self.quantity.title
        if parts:
            colour = specs.colours("part", parts)
        elif 1 < len(labels) <= len(specs.LINES):
            colour = specs.colours("series", labels, symbolType="circle")
        else:
            colour = {"value": specs.RECEIVER}
        places = sorted({point.x for line in self.lines for point in line.points})
        x = (self.axis or _instances)(places)
        return {"x": x, "y": specs.amount("value", title, (0, top)), "color": colour}


def _instances(counts: Sequence[float]) -> Spec:
    axis: Spec = {"values": list(counts), "format": "d", "grid": False, "labelOverlap": "greedy"}
    return specs.amount("x", "Instances", (0, counts[-1] * 1.04), **axis)


def _spread_words(dots: int, *, spread: bool) -> str:
    if not spread:
        return "Line: one trial a case."
    seen = f"small dots: {'every trial' if dots <= MOST_DOTS else 'left out of so many trials'}"
    return f"Line: mean of the trials; bars: standard deviation; {seen}."
