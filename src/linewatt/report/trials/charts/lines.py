# SPDX-License-Identifier: Apache-2.0
"""Figures of lines: a quantity of cases against their instances or their load, a line a series.

Up to four lines of a panel are named at their ends; more series, and those with two parts (both ends, system
and CPU), have a panel each. What the line can carry and what was offered are references, named likewise. Of
many series only the highest and the lowest are drawn: the tables have all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.analysis.statistics import Estimate
from linewatt.model import Case
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import Read, Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.units import format_significant

MOST_DOTS = 2000
"""beyond which only means are drawn"""
_REACH = 1.6
"""a reference that is more times the largest value is beyond the chart: it would flatten what was measured"""
_LONG_LABEL = 18
_WIDER = 0.25
"""a reader's letters, and those on a phone (style.css), may be wider by this part"""


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
    most: float | None = None
    """what the line between the hosts can carry, SI; None: not known, or no limit of what is shown"""
    offered: tuple[tuple[float, float], ...] = ()
    """at each place what was offered, SI, where the load is held to a rate"""

    @property
    def top(self) -> float:
        return max(point.value.mean for point in self.points)

    def words(self, quantity: Quantity) -> str:
        """What it shows, for whoever cannot see it."""
        places: dict[str, list[str]] = {}
        for point in self.points:
            label = f"{point.part} {quantity.text(point.value.mean)}{point.remark}".strip()
            places.setdefault(point.place, []).append(label)
        points = (f"{place} {' and '.join(label)}" for place, label in places.items())
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
    size_px: tuple[int, int] = (460, 260)
    """of one chart with the names of its lines; panels are smaller"""
    places: tuple[float, ...] = ()
    """where its axis has marks, if not where there are points"""
    names_px: int = 0
    """room for the names of lines at the least, so that charts beside each other are equally wide"""
    brief: bool = False
    """whether what lines, bars and dots are is said elsewhere"""

    def figure(self, runs: Runs) -> Figure | None:
        """The chart; ``None`` where there is no line."""
        if not self.lines:
            return None
        shown = data.few(self.lines, lambda line: line.top)
        dots = sum(len(runs.get(point.case, ())) for line in shown for point in line.points)
        drawn = runs if dots <= MOST_DOTS else {}
        rows = [row for line in shown for row in self._rows(line, drawn)]
        measured = data.largest_drawn(rows)
        marks = _References(self, shown, _REACH * measured)
        top = specs.HEADROOM * max([measured, *marks.within])
        labels = [line.label for line in shown]
        parts = list(dict.fromkeys(point.part for line in shown for point in line.points if point.part))
        in_panels = len(labels) > 1 if parts else len(labels) > len(specs.LINES)
        field = "part" if parts else "series"
        spread = "" if self.brief else spread_words(dots, spread=any("low" in row for row in rows))
        omitted_words = data.few_words(shown, self.lines, "lines")
        size = (400, 200) if in_panels else self.size_px
        references = marks.rows(top, apart=in_panels)
        ends = _end_labels(rows, field, size[1] / top if top else 1.0, in_panels=in_panels)
        named = max((row["wide"] for row in ends), default=0.0)
        width = round(size[0] - max(self.names_px, named))
        spec = specs.lines(
            [*rows, *references, *ends],
            [
                *(specs.reference_layers() if references else ()),
                *self._layers(rows, parts),
                *(specs.end_label_layers() if ends else ()),
            ],
            self._encoding(labels, parts, top),
            labels if in_panels else (),
            (width, size[1]),
            right_px=round(max(0.0, self.names_px - named) + _WIDER * named),
        )
        return Figure(
            name=self.name,
            title=self.title,
            caption=" ".join(filter(None, (self.caption, marks.words, spread))) + omitted_words,
            description="; ".join(line.words(self.quantity) for line in shown),
            spec=spec,
            wide=in_panels,
        )

    def _rows(self, line: Line, runs: Runs) -> Iterator[Row]:
        for point in line.points:
            base: Row = {"series": line.label, "x": point.x}
            base |= {"part": point.part} if point.part else {}
            trials = runs.get(point.case, ())
            mean, *dots = data.value_rows(base, point.value, self.quantity.from_si, trials, point.read)
            yield mean | dict(point.look)
            yield from dots

    def _layers(self, rows: Sequence[Row], parts: Sequence[str]) -> Sequence[Spec]:
        if self.layers is not None:
            return self.layers(rows)
        plain = specs.pair_layers("part", parts) if parts else specs.line_layers()
        return [*(specs.ideal_layers() if self.ideal else ()), *plain]

    def _encoding(self, labels: Sequence[str], parts: Sequence[str], top: float) -> Spec:
        title = [self.quantity.title, self.axis_note] if self.axis_note else self.quantity.title
        if parts:
            colour = specs.colours("part", parts, legend=None)
        elif 1 < len(labels) <= len(specs.LINES):
            colour = specs.colours("series", labels, legend=None)
        else:
            colour = {"value": specs.RECEIVER}
        places = self.places or sorted({point.x for line in self.lines for point in line.points})
        x = (self.axis or _instances)(places)
        return {"x": x, "y": specs.amount("value", title, (0, top)), "color": colour}


@dataclass(frozen=True, slots=True)
class _References:
    """What the line carries, what was offered, and linear growth: drawn up to ``reach``, the chart's unit."""

    chart: LineChart
    lines: Sequence[Line]
    reach: float

    @property
    def within(self) -> list[float]:
        """The references that the chart's scale takes in."""
        from_si = self.chart.quantity.from_si
        line_rates = [from_si(line.most) for line in self.lines if line.most is not None]
        offered = [value for line in self.lines for _, value in self._offered(line)]
        return [value for value in (*line_rates, *offered) if value <= self.reach]

    @property
    def words(self) -> str:
        """What the caption says of them."""
        sentences = []
        if self.chart.ideal and any(any(self._linear(line, math.inf)) for line in self.lines):
            sentences.append("Dashed: ideal linear scaling.")
        if any(line.offered for line in self.lines):
            sentences.append("Dotted: what was offered.")
        line_rates = [line.most for line in self.lines if line.most is not None]
        beyond = {rate_bps for rate_bps in line_rates if self.chart.quantity.from_si(rate_bps) > self.reach}
        if beyond:
            rates = " and ".join(map(self.chart.quantity.text, sorted(beyond)))
            sentences.append(f"Line rate: {rates} of payload, beyond the chart.")
        elif line_rates:
            sentences.append("Line rate: the payload that it carries.")
        return " ".join(sentences)

    def rows(self, top: float, *, apart: bool) -> list[Row]:
        """Rows of all references; what is the same for all lines is drawn once unless they stand apart."""
        reference_rows: list[Row] = []
        seen: set[object] = set()
        for line in self.lines:
            if line.most is not None:
                line_rate = self.chart.quantity.from_si(line.most)
                if line_rate <= top and (apart or line_rate not in seen):
                    seen.add(line_rate)
                    text = f"line rate {self.chart.quantity.text(line.most)}"
                    reference_rows.append(
                        {"kind": "reference", "series": line.label, "value": line_rate, "text": text}
                    )
            linear = [("ideal", part, course) for part, course in self._linear(line, top)]
            for kind, part, course in (("offered", "", self._offered(line)), *linear):
                drawn = _up_to(course, top)
                if len(drawn) > 1 and (apart or kind == "ideal" or tuple(drawn) not in seen):
                    seen.add(tuple(drawn))
                    base: Row = {"kind": kind, "series": line.label} | ({"part": part} if part else {})
                    last = len(drawn) - 1 if apart or kind not in seen else -1
                    seen.add(kind)  # its name stands once
                    reference_rows += [
                        base | {"x": x, "value": value, "end": at == last}
                        for at, (x, value) in enumerate(drawn)
                    ]
        return reference_rows

    def _offered(self, line: Line) -> list[tuple[float, float]]:
        return [(x, self.chart.quantity.from_si(value)) for x, value in line.offered]

    def _linear(self, line: Line, top: float) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        """Of each part the ends of linear growth from one instance; none where growth follows a rate."""
        if not self.chart.ideal or line.offered:
            return
        for part in dict.fromkeys(point.part for point in line.points):
            part_points = [point for point in line.points if point.part == part]
            single, last = part_points[0], part_points[-1]
            at_one = self.chart.quantity.from_si(single.value.mean)
            if single.x == 1 and 0 < at_one < top and last.x > 1:
                yield part, [(1.0, at_one), (last.x, last.x * at_one)]


def _up_to(course: Sequence[tuple[float, float]], top: float) -> list[tuple[float, float]]:
    """The course of a reference as far as it stays in the chart, with the place where it leaves it."""
    shown_points: list[tuple[float, float]] = []
    for x, value in course:
        if value <= top:
            shown_points.append((x, value))
            continue
        if shown_points:
            before_x, before = shown_points[-1]
            shown_points.append((before_x + (x - before_x) * (top - before) / (value - before), top))
        break
    return shown_points


def _end_labels(rows: Sequence[Row], field: str, px_per_unit: float, *, in_panels: bool) -> list[Row]:
    """The name of each line beside its end, moved up or down as far as names need; none of a lone line."""
    ends: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["kind"] == "mean":
            panel = row["series"] if in_panels else ""
            if row["x"] >= ends.get((panel, row[field]), row)["x"]:
                ends[panel, row[field]] = row
    if field == "series" and (in_panels or len(ends) < 2):
        return []
    label_rows: list[Row] = []
    for panel in dict.fromkeys(panel for panel, _ in ends):
        by_value = sorted((end["value"], name) for (where, name), end in ends.items() if where == panel)
        places = data.spread_labels([(value, len(_broken(name))) for value, name in by_value], px_per_unit)
        for (value, name), at in zip(by_value, places, strict=True):
            wide = data.LETTER_PX * max(map(len, _broken(name))) + 20
            base = ends[panel, name] | {"kind": "label", "end": value, "value": at}
            label_rows.append(base | {"text": _broken(name), "wide": wide})
    return label_rows


def _broken(name: str) -> list[str]:
    """A long name in lines: at its commas, else before what is in brackets or behind an arrow."""
    if len(name) <= _LONG_LABEL:
        return [name]
    for mark in (", ", ": ", " (", " → "):
        head, separator, tail = name.partition(mark)
        if separator:
            head_end, moved = (separator.rstrip(), "") if mark != " (" else ("", "(")
            return [head + head_end, *_broken(moved + tail)]
    return [name]


def _instances(counts: Sequence[float]) -> Spec:
    axis: Spec = {"values": list(counts), "format": "d", "grid": False, "labelOverlap": "greedy"}
    return specs.amount("x", "Instances", (0, counts[-1] * 1.04), **axis)


def spread_words(dots: int, *, spread: bool) -> str:
    """What lines, bars and dots are."""
    if not spread:
        return "Line: one trial per case."
    seen = f"small dots: {'every trial' if dots <= MOST_DOTS else 'left out of so many trials'}"
    return f"Line: mean of the trials; bars: standard deviation; {seen}."
