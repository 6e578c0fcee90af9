# SPDX-License-Identifier: Apache-2.0
"""Runs of a full or fractional factorial as a linear model: main effects, and factors acting together. Pure.

Least squares on the means of settings, weighted by their runs, with sum-to-zero coding: a main effect is the
difference of a level and the base in the mean over the levels of all other factors. Interactions of two
factors are in the model as far as the settings tell them from everything else in it. The error is that of
repeated runs of a setting (pure error); without enough repeats it is what the model leaves over. Source:
D. C. Montgomery, *Design and Analysis of Experiments*, chapters 5, 6, 8; NIST/SEMATECH e-Handbook 5.4, 5.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from linewatt.analysis.statistics.contrasts import MIN_DF, Contrast
from linewatt.missing import Missing

MAX_COLUMNS = 400
"""columns of a model; interactions that would make more are left out"""

Cell = tuple[int, ...]
"""a setting: the place of each factor's level, 0 the base"""
Pair = tuple[int, int]
"""two factors by their places"""
Block = tuple[int, ...]
"""the factors of a main effect or an interaction"""
_Array = Any


@dataclass(frozen=True, slots=True)
class Joint:
    """Two factors acting together: the largest departure from the sum of their own effects, and where.

    ``levels`` are the levels it is at; ``p`` is of the F test that there is no departure at any levels.
    """

    factors: Pair
    levels: tuple[int, int]
    departure: Contrast
    p: float


@dataclass(frozen=True)
class Model:
    """A fitted model."""

    blocks: Mapping[Block, slice]
    counts: Sequence[int]
    coefficients: _Array
    inverse: _Array
    means: Mapping[Cell, float]
    runs: Mapping[Cell, int]
    sd: float
    df: int

    def main(self, factor: int, level: int) -> Contrast:
        """A level against the base of its factor, in the mean over all else."""
        return self._contrast((factor,), _step(level, self.counts[factor]))

    def joint(self) -> list[Joint]:
        """Every interaction that the model has."""
        return [self._joint((block[0], block[1])) for block in self.blocks if len(block) == 2]

    def between(self, base: Cell, other_cell: Cell) -> Contrast:
        """Two settings against each other, by their own runs and the error of all."""
        se = self.sd * math.sqrt(1 / self.runs[base] + 1 / self.runs[other_cell])
        return Contrast(self.means[other_cell] - self.means[base], se, self.df)

    def _joint(self, pair: Pair) -> Joint:
        import numpy as np

        first_levels, second_levels = (self.counts[at] for at in pair)
        effects = [
            ((i, j), self._contrast(pair, np.kron(_step(i, first_levels), _step(j, second_levels))))
            for i in range(1, first_levels)
            for j in range(1, second_levels)
        ]
        levels, departure = max(effects, key=lambda effect: abs(effect[1].value))
        return Joint(pair, levels, departure, self._f_test(pair))

    def _contrast(self, block: Block, weights: _Array) -> Contrast:
        at = self.blocks[block]
        value = float(weights @ self.coefficients[at])
        return Contrast(value, self.sd * math.sqrt(float(weights @ self.inverse[at, at] @ weights)), self.df)

    def _f_test(self, block: Block) -> float:
        import numpy as np
        from scipy.special import fdtrc

        at = self.blocks[block]
        coefficients = self.coefficients[at]
        explained = float(coefficients @ np.linalg.solve(self.inverse[at, at], coefficients)) / len(
            coefficients
        )
        if self.sd == 0:
            return 1.0 if explained == 0 else 0.0
        return float(fdtrc(len(coefficients), self.df, explained / self.sd**2))


def fit(runs: Mapping[Cell, Sequence[float]]) -> Model | Missing:
    """The model of runs by setting; or why there is none.

    Every factor has a place in each setting; one whose level never changes is left out of the model.
    """
    if not runs:
        return Missing("no trial has a value")
    cells = list(runs)
    counts = [1 + max(levels) for levels in zip(*cells, strict=True)]
    if any(len({cell[at] for cell in cells}) < count for at, count in enumerate(counts)):
        return Missing("all trials at one level failed")
    mains: dict[Block, _Array] = {
        (at,): _coded(cells, at, count) for at, count in enumerate(counts) if count > 1
    }
    if 1 + sum(len(columns[0]) for columns in mains.values()) > MAX_COLUMNS:
        return Missing(f"more than {MAX_COLUMNS} effects")
    repeated = sum(map(len, runs.values())) - len(cells)
    for blocks in (mains | _pairs(mains), mains):
        rank, columns = _rank(blocks, len(cells))
        if rank == columns and max(repeated, len(cells) - columns) >= MIN_DF:
            return _solve(blocks, counts, runs)
        if rank < columns and blocks is mains:
            return Missing("too many settings have no trial: effects cannot be told apart")
    return Missing(
        f"{sum(map(len, runs.values()))} trials leave fewer than {MIN_DF} degrees of freedom to separate "
        "effects from chance"
    )


def _step(level: int, count: int) -> _Array:
    """Weights of a factor's coefficients that make a level's mean minus the base's."""
    import numpy as np

    weights = np.ones(count - 1)
    weights[level - 1] += 1
    return weights


def _coded(cells: Sequence[Cell], at: int, count: int) -> _Array:
    """Sum-to-zero columns of a factor: 1 at a level, −1 at the base."""
    import numpy as np

    levels = np.array([cell[at] for cell in cells])
    columns = (levels[:, None] == np.arange(1, count)[None, :]).astype(float)
    columns[levels == 0] = -1.0
    return columns


def _pairs(mains: Mapping[Block, _Array]) -> dict[Block, _Array]:
    """Columns of each interaction of two factors that is not mixed up with a main effect or another one.

    In a regular fraction, columns that are mixed up are equal up to sign; what else cannot be told apart
    shows in the rank of the model.
    """
    import numpy as np

    interactions: dict[Block, _Array] = {}
    room = MAX_COLUMNS - 1 - sum(block.shape[1] for block in mains.values())
    for (first,), (second,) in combinations(mains, 2):
        first_columns, second_columns = mains[first,], mains[second,]
        room -= first_columns.shape[1] * second_columns.shape[1]
        if room < 0:
            return {}
        interactions[first, second] = np.einsum("ni,nj->nij", first_columns, second_columns).reshape(
            len(first_columns), -1
        )
    times: dict[bytes, int] = {}
    keys = {
        block: [_key(column) for column in columns.T] for block, columns in {**mains, **interactions}.items()
    }
    for block_keys in keys.values():
        for key in block_keys:
            times[key] = times.get(key, 0) + 1
    return {
        pair: columns for pair, columns in interactions.items() if all(times[key] == 1 for key in keys[pair])
    }


def _key(column: _Array) -> bytes:
    """The same for columns that are equal up to sign."""
    first = next((value for value in column if value), 1.0)
    key: bytes = (column * first + 0.0).tobytes()
    return key


def _rank(blocks: Mapping[Block, _Array], rows: int) -> tuple[int, int]:
    import numpy as np

    matrix = np.hstack([np.ones((rows, 1)), *blocks.values()])
    return int(np.linalg.matrix_rank(matrix)), matrix.shape[1]


def _solve(
    blocks: Mapping[Block, _Array], counts: Sequence[int], runs: Mapping[Cell, Sequence[float]]
) -> Model:
    import numpy as np

    sizes = np.array([len(values) for values in runs.values()], dtype=float)
    means = {cell: math.fsum(values) / len(values) for cell, values in runs.items()}
    matrix = np.hstack([np.ones((len(runs), 1)), *blocks.values()])
    inverse = np.linalg.inv(matrix.T @ (matrix * sizes[:, None]))
    observed = np.array(list(means.values()))
    coefficients = inverse @ (matrix.T @ (observed * sizes))
    repeated = int(sizes.sum()) - len(runs)
    if repeated >= MIN_DF:
        squares = math.fsum((value - means[cell]) ** 2 for cell in runs for value in runs[cell])
        df = repeated
    else:
        residuals = [
            value - at for cell, at in zip(runs, matrix @ coefficients, strict=True) for value in runs[cell]
        ]
        squares = math.fsum(residual**2 for residual in residuals)
        df = int(sizes.sum()) - matrix.shape[1]
    return Model(
        blocks=_places(blocks),
        counts=counts,
        coefficients=coefficients,
        inverse=inverse,
        means=means,
        runs={cell: len(values) for cell, values in runs.items()},
        sd=math.sqrt(squares / df),
        df=df,
    )


def _places(blocks: Mapping[Block, _Array]) -> dict[Block, slice]:
    """Where each block's coefficients are; the first one is the mean of all."""
    places = {}
    at = 1
    for block, columns in blocks.items():
        places[block] = slice(at, at + columns.shape[1])
        at += columns.shape[1]
    return places
