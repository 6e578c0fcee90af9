# SPDX-License-Identifier: Apache-2.0
"""What a measurement says: values against a target, beside a peer; the table and JSON made of it. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Verdict = Literal["met", "not met here", "cannot tell here", ""]
Unit = Literal["ratio", "s", "percent", "count", "mib", "gbit_per_cpu_s"]

_SUFFIX: dict[Unit, str] = {
    "ratio": "",
    "s": " s",
    "percent": " %",
    "count": "",
    "mib": " MiB",
    "gbit_per_cpu_s": " Gbit/CPU-s",
}
_COLUMNS = ("measurement", "what", "target", "measured: median [min to max]", "beside it", "ratio", "verdict")


class MeasurementFailed(Exception):
    """A measurement came to no result; its text says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """The range that a statistic should be in; ``None`` is open."""

    at_most: float | None = None
    at_least: float | None = None

    def met(self, value: float) -> bool:
        return (self.at_most is None or value <= self.at_most) and (
            self.at_least is None or value >= self.at_least
        )

    def misses(self, low: float, high: float) -> bool:
        """Whether everything from ``low`` to ``high`` is outside."""
        return (self.at_most is not None and low > self.at_most) or (
            self.at_least is not None and high < self.at_least
        )


@dataclass(frozen=True, slots=True)
class Peer:
    """The same thing measured without linewatt, in the same run."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Without a ``target`` it only informs; ``note`` says what a reader must know.

    ``by_interval``: the figure is about as small as the machine's own noise, so the verdict is that of the
    95 % interval of the median, and there is none where the interval lies across an edge of the target.
    """

    what: str
    unit: Unit
    values: tuple[float, ...]
    target: Target | None = None
    peer: Peer | None = None
    note: str = ""
    by_interval: bool = False

    def __post_init__(self) -> None:
        if not self.values or (self.peer is not None and not self.peer.values):
            raise MeasurementFailed(f"{self.what}: there are no values")

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the median; ``None`` where it is not asked for, or the values are too few."""
        return median_interval(self.values) if self.by_interval else None

    @property
    def verdict(self) -> Verdict:
        if self.target is None:
            return ""
        if not self.by_interval:
            return "met" if self.target.met(self.median) else "not met here"
        if self.interval is None:
            return "cannot tell here"
        low, high = self.interval
        if self.target.met(low) and self.target.met(high):
            return "met"
        return "not met here" if self.target.misses(low, high) else "cannot tell here"

    @property
    def ratio(self) -> float | None:
        """Median over the peer's; ``None`` where there is no peer, or it is 0."""
        if self.peer is None or statistics.median(self.peer.values) == 0:
            return None
        return self.median / statistics.median(self.peer.values)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The rows of one measurement, and how many cores others used meanwhile (``None``: not known)."""

    name: str
    rows: tuple[Row, ...]
    others_cores: float | None
    took_s: float
    failure: str | None = None


def quantile(values: Iterable[float], share: float) -> float:
    """The smallest value that ``share`` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the median, from ranks alone (sign test); ``None`` for fewer than six values.

    Source: Conover, Practical Nonparametric Statistics, 3rd ed., ch. 3.2.
    """
    ordered, count = sorted(values), len(values)
    below, outside = 0, 0.0
    while below < count and outside + math.comb(count, below) / 2**count <= 0.025:
        outside += math.comb(count, below) / 2**count
        below += 1
    return (ordered[below - 1], ordered[count - below]) if below else None


def table(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Aligned lines, a row each, and below them the notes."""
    cells: list[tuple[str, ...]] = [_COLUMNS]
    for one in measurements:
        cells += [_cells(one.name, row) for row in one.rows]
        if one.failure is not None:
            cells.append((one.name, "(see below)", "", "", "", "", "failed"))
    widths = [max(len(row[at]) for row in cells) for at in range(len(_COLUMNS))]
    cells.insert(1, tuple("─" * width for width in widths))
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    for one in measurements:
        if one.others_cores is not None:
            yield f"{one.name}: what is no part of the bench used {one.others_cores:.2f} cores meanwhile"
        if one.failure is not None:
            yield f"{one.name} FAILED: {one.failure}"
        for row in one.rows:
            if row.note:
                yield f"{one.name}, {row.what}: {row.note}"
            if row.interval is not None:
                low, high = (_number(edge, row.unit) for edge in row.interval)
                yield f"{one.name}, {row.what}: 95 % interval of the median {low} to {high}"


def of_a_part(rows: Iterable[Row]) -> list[Row]:
    """Rows of less than what their targets are of: nothing is met by them, or missed."""
    return [replace(row, target=None) for row in rows]


def markdown(measurements: Sequence[Measurement]) -> Iterator[str]:
    """The table of docs/bench.md, a row each; what failed has its place, and says why."""
    yield "| what | target | measured | beside it | verdict |"
    yield "| --- | --- | --- | --- | --- |"
    for one in measurements:
        for row in one.rows:
            _, what, target, measured, peer, ratio, verdict = _cells(one.name, row)
            beside = f"{peer}: {ratio} ×" if ratio else peer
            marked = f"**{verdict}**" if verdict == "not met here" else verdict
            cells = map(_one_cell, (what, target, measured, beside, marked))
            yield f"| {' | '.join(cells)} |"
        if one.failure is not None:
            yield f"| `{one.name}` | | failed: {_one_cell(one.failure)} | | |"


def _one_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _cells(name: str, row: Row) -> tuple[str, ...]:
    peer = "" if row.peer is None else f"{row.peer.name} {_spread(row.peer.values, row.unit)}"
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    return (name, row.what, _target(row), _spread(row.values, row.unit), peer, ratio, row.verdict)


def _spread(values: Sequence[float], unit: Unit) -> str:
    middle = _number(statistics.median(values), unit)
    if len(values) == 1:
        return middle + _SUFFIX[unit]
    return f"{middle} [{_number(min(values), unit)} to {_number(max(values), unit)}]{_SUFFIX[unit]}"


def _number(value: float, unit: Unit) -> str:
    if unit in ("count", "mib"):
        return f"{value:.0f}"
    if unit == "percent":
        return f"{value:.2f}"
    if unit == "s" and abs(value) < 0.001:
        return f"{value:.6f}"
    return f"{value:.4f}" if unit == "ratio" or abs(value) < 0.1 else f"{value:.3f}"


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    low, high = row.target.at_least, row.target.at_most
    suffix = _SUFFIX[row.unit]
    if low is not None and high is not None:
        return f"{low:g}" + (f" to {high:g}" if low != high else "") + suffix
    return f"≤ {high:g}{suffix}" if high is not None else f"≥ {low:g}{suffix}"


def as_dict(measurement: Measurement) -> dict[str, Any]:
    """A measurement as plain values; the unit is in the keys."""
    return {
        "measurement": measurement.name,
        "failure": measurement.failure,
        "others_cores": measurement.others_cores,
        "took_s": measurement.took_s,
        "rows": [_row_dict(row) for row in measurement.rows],
    }


def _row_dict(row: Row) -> dict[str, Any]:
    unit, target, peer = row.unit, row.target, row.peer
    return {
        "what": row.what,
        f"target_min_{unit}": None if target is None else target.at_least,
        f"target_max_{unit}": None if target is None else target.at_most,
        f"median_{unit}": row.median,
        f"min_{unit}": min(row.values),
        f"max_{unit}": max(row.values),
        f"values_{unit}": list(row.values),
        "peer": None if peer is None else peer.name,
        f"peer_median_{unit}": None if peer is None else statistics.median(peer.values),
        f"peer_values_{unit}": None if peer is None else list(peer.values),
        "ratio": row.ratio,
        f"interval_{unit}": row.interval,
        "verdict": row.verdict,
        "note": row.note,
    }
