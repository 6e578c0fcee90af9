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

from linewatt.analysis.comparison.verdicts import MATTERS_RATIO
from linewatt.analysis.statistics.contrasts import ALPHA, holm
from linewatt.analysis.statistics.stats import LEVEL
from linewatt.analysis.statistics.student import critical_t, two_sided_p
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
        return bool(self.changes) and all(one.kind != "untested" for one in self.changes)


def compare_means(a: Means, b: Means) -> MeansCompared:
    """Rows that agree in what both tables name, but for what does not vary in either and differs."""
    apart = dict(_apart(a, b))
    keys = [name for name in a.names if name in b.names and name not in apart]
    left, right = _by_key(a, keys), _by_key(b, keys)
    both = [key for key in left if key in right]
    figures = [name for name in a.figures if name in b.figures]
    pairs = ((key, name, left[key].means[name], right[key].means[name]) for key in both for name in figures)
    changes = [
        _change(dict(zip(keys, key, strict=True)), name, (left[key], one), (right[key], other))
        for key, name, one, other in pairs
        if one is not None and other is not None
    ]
    alone = (
        *(f"{name}: {', '.join(key)} stands twice, its first row counts" for name, key in _twice(a, b, keys)),
        *(f"A: {', '.join(key)}" for key in left if key not in right),
        *(f"B: {', '.join(key)}" for key in right if key not in left),
        *(f"A: {name}" for name in a.figures if name not in b.figures),
        *(f"B: {name}" for name in b.figures if name not in a.figures),
    )
    return MeansCompared(tuple(_among_all(changes)), apart, alone)


def _apart(a: Means, b: Means) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in a.names:
        if name in b.names:
            one, other = ({row.names[name] for row in side.rows} for side in (a, b))
            if len(one) == len(other) == 1 and one != other:
                yield name, (one.pop(), other.pop())


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
    (row_a, one), (row_b, other) = a, b
    plain = MeanChange(names, figure, one, other)
    runs = [n for n in (row_a.runs, row_b.runs) if n is not None]
    if len(runs) < 2:
        return replace(plain, reason=NO_RUNS)
    if min(runs) < 2:
        return replace(plain, reason=ONE_RUN)
    if one.sd == other.sd == plain.difference == 0:
        return replace(plain, low=0.0, high=0.0, p=1.0)
    if one.sd is None or other.sd is None or not (one.sd or other.sd):
        return replace(plain, reason=NO_SD)
    low, high, p = _welch(plain.difference, (one.sd, runs[0]), (other.sd, runs[1]))
    return replace(plain, low=low, high=high, p=p)


def _welch(difference: float, a: tuple[float, int], b: tuple[float, int]) -> tuple[float, float, float]:
    """The CI of a difference of means, and its p on both sides."""
    errors = [sd * sd / n for sd, n in (a, b)]
    error = math.sqrt(sum(errors))
    degrees = sum(errors) ** 2 / sum(one * one / (n - 1) for one, (_, n) in zip(errors, (a, b), strict=True))
    reach = error * critical_t(1 - LEVEL, degrees)
    return difference - reach, difference + reach, two_sided_p(difference / error, degrees)


def _among_all(changes: Sequence[MeanChange]) -> Iterator[MeanChange]:
    adjusted = iter(holm([one.p for one in changes if one.p is not None]))
    for one in changes:
        yield one if one.p is None else replace(one, p_holm=next(adjusted))
