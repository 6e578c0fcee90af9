# SPDX-License-Identifier: Apache-2.0
"""How much better a step, or a line, explains a series than noise whose neighbours are alike. Pure.

Twice the logarithm of the likelihood ratio of a level with a step at any place, or of a line, and of one
level; in each the noise is what fits best of AR(1) with any correlation from 0 to 0.95, plus white noise that
has at least the variance of the runs. Nights that follow one another look like steps: a step has to explain
more than they do. Thresholds are simulated (``make simulate``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from linewatt.features.history.change_points import FEWEST

MOST_VALUES = 80
"""on both sides of a step together that are looked at: more know no more of it"""
_CORRELATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_WHITE_PARTS = (0.02, 0.1, 0.25, 0.5)
"""of the variance of a value"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Twice the logarithms of the likelihood ratios of a step and of a line against neither."""

    step: float
    line: float


@dataclass(frozen=True, slots=True)
class _Noises:
    """Kinds of noise, as what makes values with them white: arrays with a kind a row."""

    white_parts: Any
    log_determinants: Any
    whitening: Any
    level: Any
    """what a value adds to a level, of unit length"""
    steps: Any
    """the same of a step at each place, beside the level"""
    line: Any


def evidence(levels: Sequence[float], white_variance: float, floor: float) -> Evidence:
    """Of at least 2 · :data:`FEWEST` values; ``floor``, above 0: no value has a smaller variance."""
    import numpy as np

    count, noises = len(levels), _noises(len(levels))
    values = np.asarray(levels) - float(np.mean(levels))
    lowest_variance = np.maximum(floor, white_variance / noises.white_parts)
    about_level = ((noises.whitening @ values) ** 2).sum(axis=1) - (noises.level @ values) ** 2

    def likelihood(explained: Any) -> float:
        remaining = np.maximum(0.0, about_level - explained)
        variances = np.maximum(remaining / count, lowest_variance)
        return float((-count * np.log(variances) - remaining / variances - noises.log_determinants).max())

    none = likelihood(0.0)
    step = likelihood(((noises.steps @ values) ** 2).max(axis=1))
    return Evidence(step - none, likelihood((noises.line @ values) ** 2) - none)


@lru_cache(maxsize=16)
def _noises(count: int) -> _Noises:
    import numpy as np

    places = np.arange(count)
    distances = np.abs(places[:, None] - places[None, :])
    kinds = [(0.0, 1.0), *((alike, white) for alike in _CORRELATIONS for white in _WHITE_PARTS)]
    rows: list[tuple[Any, ...]] = []
    for alike, white in kinds:
        root = np.linalg.cholesky((1 - white) * alike**distances + white * np.eye(count))
        whitening = np.linalg.inv(root)
        level = _unit(whitening @ np.ones(count))
        ends = range(FEWEST, count - FEWEST + 1)
        steps = np.array([_beside(whitening @ (places >= end).astype(float), level) for end in ends])
        line = _beside(whitening @ (places - places.mean()), level)
        log_determinant = 2 * float(np.log(np.diag(root)).sum())
        rows.append(
            (white, log_determinant, whitening, level @ whitening, steps @ whitening, line @ whitening)
        )
    return _Noises(*map(np.array, zip(*rows, strict=True)))


def _beside(column: Any, level: Any) -> Any:
    return _unit(column - (column @ level) * level)


def _unit(column: Any) -> Any:
    import numpy as np

    return column / np.linalg.norm(column)
