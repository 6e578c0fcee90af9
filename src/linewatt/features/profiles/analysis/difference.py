# SPDX-License-Identifier: Apache-2.0
"""What differs between two profiles: which functions, and which kinds of work, gained or lost share.

Each side is one trial: intervals tell how shares vary within its window, not from trial to trial. They hold
together for all functions that are compared (Bonferroni), because the one that gained most is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from linewatt.features.profiles.analysis.groups import GROUPS
from linewatt.features.profiles.analysis.shares import (
    Floats,
    PlaceProfile,
    blocks_of,
    kinds_of,
    quantile,
    share_errors,
)
from linewatt.features.profiles.perf.model import Function

LEAST_RATIO = 0.005
"""of busy samples on either side, below which a function is not compared"""


@dataclass(frozen=True, slots=True)
class Change:
    """What a function, or a kind of work, had of busy samples on each side (0..1).

    ``half_width`` is that of the interval of their difference, B minus A.
    """

    name: str
    binary: str
    work: str
    a_ratio: float
    b_ratio: float
    half_width: float

    @property
    def gain(self) -> float:
        return self.b_ratio - self.a_ratio

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return abs(self.gain) > self.half_width


@dataclass(frozen=True, slots=True)
class Difference:
    """Two profiles of a role side by side; ``reason`` says why nothing is told.

    ``functions`` stand by their gain: what surely gained, then what may be chance, what surely lost.
    """

    a: PlaceProfile
    b: PlaceProfile
    functions: tuple[Change, ...] = ()
    work: tuple[Change, ...] = ()
    reason: str | None = None

    @property
    def most_gained(self) -> Change | None:
        """The function that surely gained most, if any did."""
        first = next(iter(self.functions), None)
        return first if first is not None and first.certain and first.gain > 0 else None


def difference(a: PlaceProfile, b: PlaceProfile) -> Difference:
    """B against A."""
    whys = [
        f"{side}: {why}"
        for side, profile in (("A", a), ("B", b))
        if (why := profile.why_not_ranked) is not None
    ]
    if whys:
        return Difference(a, b, reason="; ".join(whys))
    if a.host.event != b.host.event:
        reason = f"A was sampled by {a.host.event}, B by {b.host.event}: their shares do not compare"
        return Difference(a, b, reason=reason)
    return Difference(a, b, _functions(a, b), _work(a, b))


def _functions(a: PlaceProfile, b: PlaceProfile) -> tuple[Change, ...]:
    columns = {side: _columns(profile.functions, profile.own) for side, profile in (("a", a), ("b", b))}
    kinds = kinds_of(a) | kinds_of(b)
    names = [function for function in dict.fromkeys((*b.functions, *a.functions)) if function.is_known]
    names = [
        function
        for function in names
        if max(_ratio(columns["a"].get(function), a.busy), _ratio(columns["b"].get(function), b.busy))
        >= LEAST_RATIO
    ]
    changes = _changes(
        [(function.symbol, function.binary, kinds.get(function, "")) for function in names],
        _stacked(columns["a"], names, len(a.own)),
        _stacked(columns["b"], names, len(b.own)),
        (a.own.sum(axis=1), b.own.sum(axis=1)),
    )
    return tuple(sorted(changes, key=_rank))


def _rank(change: Change) -> tuple[int, float]:
    if not change.certain:
        return 1, -change.gain
    return (0 if change.gain > 0 else 2), -change.gain


def _work(a: PlaceProfile, b: PlaceProfile) -> tuple[Change, ...]:
    seen = [
        at
        for at in range(len(GROUPS))
        if max(_ratio(profile.work[:, at], profile.busy) for profile in (a, b)) >= LEAST_RATIO
    ]
    changes = _changes(
        [(GROUPS[at], "", GROUPS[at]) for at in seen],
        a.work[:, seen],
        b.work[:, seen],
        (a.own.sum(axis=1), b.own.sum(axis=1)),
    )
    return tuple(sorted(changes, key=lambda change: -change.gain))


def _changes(
    names: Sequence[tuple[str, str, str]], a: Floats, b: Floats, wholes: tuple[Floats, Floats]
) -> Iterable[Change]:
    whole_a, whole_b = wholes
    errors = np.hypot(share_errors(a, whole_a), share_errors(b, whole_b))
    blocks = blocks_of(len(whole_a))[1] + blocks_of(len(whole_b))[1] - 1
    reach = quantile(blocks, len(names))
    ratios_a, ratios_b = a.sum(axis=0) / whole_a.sum(), b.sum(axis=0) / whole_b.sum()
    for at, (name, binary, work) in enumerate(names):
        yield Change(name, binary, work, float(ratios_a[at]), float(ratios_b[at]), float(reach * errors[at]))


def _columns(functions: Sequence[Function], self_samples: Floats) -> dict[Function, Floats]:
    return {function: self_samples[:, at] for at, function in enumerate(functions)}


def _ratio(column: Floats | None, busy: int) -> float:
    return 0.0 if column is None else float(column.sum()) / max(1, busy)


def _stacked(columns: dict[Function, Floats], names: Sequence[Function], slices: int) -> Floats:
    nothing = np.zeros(slices)
    return (
        np.column_stack([columns.get(function, nothing) for function in names])
        if names
        else np.zeros((slices, 0))
    )
