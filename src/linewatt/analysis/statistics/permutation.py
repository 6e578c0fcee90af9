# SPDX-License-Identifier: Apache-2.0
"""Whether shuffled runs differ as much: a test that takes no distribution for granted. Pure.

The statistic is Welch's t, so that sides of unequal spread do not look different for that alone (A. Janssen,
Statistics & Probability Letters 36, 1997, 9–21). All ways to deal the runs to two sides are looked at where
they are few, else a fixed number of random ones; the deal that was run counts among them, so p is never 0
(B. Phipson, G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 9, 2010, 39).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EXACT_MOST = 20_000
"""ways to deal runs up to which all of them are looked at"""
DRAWS = 9_999
_AT_ONCE = 1_000
_COLUMNS = 512
_CACHED_RUNS = 40
"""runs of both sides up to which deals are cached: at most 7 MB for one pair of numbers of runs"""
_TIE = 1e-9
_ROUNDING = 1e-20
"""of squares of values that are at most 1"""

Sides = tuple[Sequence[float], Sequence[float]]


def smallest_p(base_runs: int, other_runs: int) -> float:
    """The smallest two-sided p that so many runs can give: two of all ways to deal them are as extreme."""
    return min(1.0, 2 / math.comb(base_runs + other_runs, base_runs))


def permutation_ps(pairs: Sequence[Sides], seed: int) -> list[float]:
    """The two-sided p of each pair of sides (at least two runs each), exact or from random deals.

    Pairs with as many runs share their deals, which leaves each p what it is alone.
    """
    import numpy as np

    ps = [1.0] * len(pairs)
    alike: dict[tuple[int, int], list[int]] = {}
    for at, (base, other_values) in enumerate(pairs):
        alike.setdefault((len(base), len(other_values)), []).append(at)
    for (base_runs, other_runs), places in alike.items():
        for start in range(0, len(places), _COLUMNS):
            part = places[start : start + _COLUMNS]
            runs = np.array([[*pairs[at][0], *pairs[at][1]] for at in part], dtype=float).T
            for at, p in zip(part, _ps(runs, base_runs, other_runs, seed), strict=True):
                ps[at] = float(p)
    return ps


def _ps(runs: Floats, base_runs: int, other_runs: int, seed: int) -> Floats:
    """p of each column of ``runs``, whose last ``other_runs`` rows are the other side."""
    import numpy as np

    scaled = runs - runs.mean(axis=0)
    spread = np.abs(scaled).max(axis=0)
    scaled = scaled / np.where(spread > 0, spread, 1.0)
    as_run = np.zeros((1, base_runs + other_runs))
    as_run[0, base_runs:] = 1.0
    observed = _squared_t(scaled, as_run)[0] * (1 - _TIE) - _ROUNDING
    exact = _are_few(base_runs, other_runs)
    hits = np.zeros(runs.shape[1])
    deals = 0
    for dealt in _deals(base_runs, other_runs, seed):
        hits += (_squared_t(scaled, dealt) >= observed).sum(axis=0)
        deals += len(dealt)
    p: Floats = hits / deals if exact else (hits + 1) / (deals + 1)
    return p


def _squared_t(runs: Floats, dealt: Floats) -> Floats:
    """What orders deals as Welch's t² does, a row a deal; infinite for sides without spread that differ."""
    import numpy as np

    if 2 * dealt[0].sum() == len(runs):  # all runs together stay what they are: t grows with the gap alone
        other_sum: Floats = dealt @ runs
        other_sum -= runs.sum(axis=0) / 2
        other_sum *= other_sum
        return other_sum
    gap, spread = _gap_and_spread(runs, dealt)
    with np.errstate(divide="ignore", invalid="ignore"):
        squared: Floats = np.where(
            spread > _TIE**1.5, gap * gap / spread, np.where(np.abs(gap) > _TIE, np.inf, 0.0)
        )
    return squared


def _deals(base_runs: int, other_runs: int, seed: int) -> Iterable[Floats]:
    """All deals where they are few, else random ones; cached for the next comparison where runs are few."""
    make_deals = _cached_deals if base_runs + other_runs <= _CACHED_RUNS else _new_deals
    return make_deals(base_runs, other_runs, seed)


def _new_deals(base_runs: int, other_runs: int, seed: int) -> Iterator[Floats]:
    if _are_few(base_runs, other_runs):
        return _all_deals(base_runs, other_runs)
    return _random_deals(base_runs, other_runs, seed)


@lru_cache(maxsize=4)
def _cached_deals(base_runs: int, other_runs: int, seed: int) -> tuple[Floats, ...]:
    return tuple(_new_deals(base_runs, other_runs, seed))


def _are_few(base_runs: int, other_runs: int) -> bool:
    return math.comb(base_runs + other_runs, other_runs) <= EXACT_MOST


def _all_deals(base_runs: int, other_runs: int) -> Iterator[Floats]:
    import numpy as np

    runs = base_runs + other_runs
    deals = combinations(range(runs), other_runs)
    while chosen := list(islice(deals, _AT_ONCE)):
        dealt = np.zeros((len(chosen), runs))
        np.put_along_axis(dealt, np.array(chosen), 1.0, axis=1)
        yield dealt


def _random_deals(base_runs: int, other_runs: int, seed: int) -> Iterator[Floats]:
    import numpy as np

    draw: Any = np.random.default_rng(seed)
    runs = base_runs + other_runs
    remaining_draws = DRAWS
    while remaining_draws:
        count = min(remaining_draws, _AT_ONCE)
        order = draw.random((count, runs)).argsort(axis=1)
        yield (order < other_runs).astype(float)
        remaining_draws -= count


STRATA_DRAWS = 1_999


def strata_p(strata: Sequence[Sides], seed: int) -> float:
    """The two-sided p of the difference over strata, when runs are dealt within each of them.

    At least two runs a side. The statistic is that of :func:`contrasts.over_strata`; random deals.
    """
    import numpy as np

    gap, spread = np.zeros(STRATA_DRAWS + 1), np.zeros(STRATA_DRAWS + 1)
    numbers = tuple((len(base), len(other_values)) for base, other_values in strata)
    make_deals = _cached_strata_deals if sum(map(sum, numbers)) <= _CACHED_RUNS else _strata_deals
    for (base, other_values), dealt in zip(strata, make_deals(numbers, seed), strict=True):
        runs = np.array([*base, *other_values], dtype=float)
        runs -= runs.mean()
        own_gap, own_spread = _gap_and_spread(runs, dealt)
        gap += own_gap
        spread += own_spread
    scale = max(float(spread.max()), _ROUNDING)
    squared = np.where(spread > scale * _TIE, gap * gap / np.maximum(spread, scale * _TIE), np.inf)
    squared = np.where(np.abs(gap) > math.sqrt(scale) * _TIE, squared, 0.0)
    hits = int((squared[1:] >= squared[0] * (1 - _TIE)).sum())
    return (hits + 1) / (STRATA_DRAWS + 1)


def _strata_deals(numbers: Sequence[tuple[int, int]], seed: int) -> Iterator[Floats]:
    """For each stratum of so many runs a side: the deal that was run, and random ones, a row a deal."""
    import numpy as np

    draw: Any = np.random.default_rng(seed)
    for base_runs, other_runs in numbers:
        runs = base_runs + other_runs
        order = draw.random((STRATA_DRAWS, runs)).argsort(axis=1)
        as_run = np.arange(runs) >= base_runs
        yield np.vstack([as_run, order >= base_runs]).astype(float)


@lru_cache(maxsize=4)
def _cached_strata_deals(numbers: Sequence[tuple[int, int]], seed: int) -> tuple[Floats, ...]:
    return tuple(_strata_deals(numbers, seed))


def _gap_and_spread(runs: Floats, dealt: Floats) -> tuple[Floats, Floats]:
    """Of each deal, a row, the difference of both means and its squared standard error; of each column of
    ``runs`` that has several."""
    others = dealt[0].sum()
    bases = len(runs) - others
    squares = runs * runs
    other_sum, other_squares = dealt @ runs, dealt @ squares
    base_sum, base_squares = runs.sum(axis=0) - other_sum, squares.sum(axis=0) - other_squares
    spread = (other_squares - other_sum**2 / others) / (others - 1) / others
    spread = spread + (base_squares - base_sum**2 / bases) / (bases - 1) / bases
    return other_sum / others - base_sum / bases, spread
