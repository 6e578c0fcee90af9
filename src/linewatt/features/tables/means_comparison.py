# SPDX-License-Identifier: Apache-2.0
"""Two tables of published means with their SDs, row by row: what can be said without the runs. Pure.

Where both say over how many runs their means are, Welch's t of the two summaries has an interval and a p
(B. L. Welch, Biometrika 34 (1947) 28–35), and Holm's procedure counts all that are looked at. Else there is
the difference, and no word on whether it is one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.analysis.comparison import MATTERS_RATIO
from linewatt.analysis.statistics import ALPHA, CONFIDENCE_LEVEL, critical_t, holm_adjusted, two_sided_p
from linewatt.features.tables.published import Mean, MeanRow, Means

Kind = Literal["higher", "lower", "small", "same", "untested"]
NO_RUNS = "not tested: how many runs is not in the table"
ONE_RUN = "not tested: a mean of one run has no spread to test with"
NO_SD = "not tested: an SD is not in the table, or is 0 in both"


@dataclass(frozen=True, slots=True)
class MeanChange:
    """One figure of one row in both tables; ``low`` and ``high`` are the 95 % CI of B − A."""

    names: Mapping[str, str]
    figure: str
    a: Mean
    b: Mean
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    reason: str = ""

    @property
    def difference(self) -> float:
        return self.b.value - self.a.value

    @property
    def is_bounded(self) -> bool:
        """Whether it was tested with the largest SD that is possible."""
        return self.a.is_derived and self.p is not None

    @property
    def kind(self) -> Kind:
        """Higher or lower where it is beyond chance among all, and beyond what matters."""
        if self.p_holm is None:
            return "untested"
        if self.p_holm >= ALPHA:
            return "same"
        if abs(self.difference) < MATTERS_RATIO * abs(self.a.value):
            return "small"
        return "higher" if self.difference > 0 else "lower"


@dataclass(frozen=True, slots=True)
class MeansCompared:
    """What both tables have; ``apart``: one thing in A, another in B; ``alone``: what has no partner."""

    changes: tuple[MeanChange, ...]
    apart: Mapping[str, tuple[str, str]]
    alone: tuple[str, ...]

    @property
    def tested(self) -> bool:
        """Whether every difference could be."""
        return bool(self.changes) and all(change.kind != "untested" for change in self.changes)


def compare_means(a: Means, b: Means) -> MeansCompared:
    """Rows that agree in what both tables name, but for what does not vary in either and differs."""
    differing = dict(_apart(a, b))
    keys = [name for name in a.names if name in b.names and name not in differing]
    rows_a, rows_b = _by_key(a, keys), _by_key(b, keys)
    shared_keys = [key for key in rows_a if key in rows_b]
    pairs = (
        (key, name, figures_a[name], figures_b[name])
        for key in shared_keys
        for figures_a, figures_b in ((_figures(rows_a[key]), _figures(rows_b[key])),)
        for name in figures_a
        if name in figures_b
    )
    changes = [
        _change(dict(zip(keys, key, strict=True)), name, (rows_a[key], mean_a), (rows_b[key], mean_b))
        for key, name, mean_a, mean_b in pairs
        if mean_a is not None and mean_b is not None
    ]
    alone = (
        *(f"{name}: {', '.join(key)} stands twice, its first row counts" for name, key in _twice(a, b, keys)),
        *(f"A: {', '.join(key)}" for key in rows_a if key not in rows_b),
        *(f"B: {', '.join(key)}" for key in rows_b if key not in rows_a),
        *(f"A: {name}" for name in a.figures if name not in b.figures),
        *(f"B: {name}" for name in b.figures if name not in a.figures),
    )
    return MeansCompared(tuple(_among_all(changes)), differing, alone)


def levels_of(means: Means, column: str) -> tuple[str, ...]:
    """The different words of a column that says what a row is; none where no column of that name does."""
    return tuple(dict.fromkeys(row.names[column] for row in means.rows if column in row.names))


def of_level(means: Means, column: str, level: str) -> Means:
    """The rows with one of the words of a column."""
    return replace(means, rows=tuple(row for row in means.rows if row.names[column] == level))


def _figures(row: MeanRow) -> dict[str, Mean | None]:
    """Throughput and CPU costs of a row, then its means; throughput with its unit where that may vary."""
    rate = row.throughput
    means = {
        rate.label if rate is not None and name == rate.column else name: mean
        for name, mean in row.means.items()
    }
    return {**row.costs, **means}


def _apart(a: Means, b: Means) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in a.names:
        if name in b.names:
            values_a, values_b = ({row.names[name] for row in side.rows} for side in (a, b))
            if len(values_a) == len(values_b) == 1 and values_a != values_b:
                yield name, (values_a.pop(), values_b.pop())


def _twice(a: Means, b: Means, keys: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, side in (("A", a), ("B", b)):
        seen = Counter(tuple(row.names[key] for key in keys) for row in side.rows)
        yield from ((name, key) for key, count in seen.items() if count > 1)


def _by_key(side: Means, keys: Sequence[str]) -> dict[tuple[str, ...], MeanRow]:
    row_by_key: dict[tuple[str, ...], MeanRow] = {}
    for row in side.rows:
        row_by_key.setdefault(tuple(row.names[name] for name in keys), row)
    return row_by_key


def _change(
    names: Mapping[str, str], figure: str, a: tuple[MeanRow, Mean], b: tuple[MeanRow, Mean]
) -> MeanChange:
    (row_a, mean_a), (row_b, mean_b) = a, b
    plain = MeanChange(names, figure, mean_a, mean_b)
    runs = [n for n in (row_a.runs, row_b.runs) if n is not None]
    if len(runs) < 2:
        return replace(plain, reason=NO_RUNS)
    if min(runs) < 2:
        return replace(plain, reason=ONE_RUN)
    if mean_a.sd == mean_b.sd == plain.difference == 0:
        return replace(plain, low=0.0, high=0.0, p=1.0)
    if mean_a.sd is None or mean_b.sd is None or not (mean_a.sd or mean_b.sd):
        return replace(plain, reason=NO_SD)
    low, high, p = _welch(plain.difference, (mean_a.sd, runs[0]), (mean_b.sd, runs[1]))
    return replace(plain, low=low, high=high, p=p)


def _welch(difference: float, a: tuple[float, int], b: tuple[float, int]) -> tuple[float, float, float]:
    """The CI of a difference of means, and its p on both sides."""
    errors = [sd * sd / n for sd, n in (a, b)]
    error = math.sqrt(sum(errors))
    degrees = sum(errors) ** 2 / sum(
        error * error / (n - 1) for error, (_, n) in zip(errors, (a, b), strict=True)
    )
    reach = error * critical_t(1 - CONFIDENCE_LEVEL, degrees)
    return difference - reach, difference + reach, two_sided_p(difference / error, degrees)


def _among_all(changes: Sequence[MeanChange]) -> Iterator[MeanChange]:
    adjusted = iter(holm_adjusted([change.p for change in changes if change.p is not None]))
    for change in changes:
        yield change if change.p is None else replace(change, p_holm=next(adjusted))
