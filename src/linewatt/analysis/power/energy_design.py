# SPDX-License-Identifier: Apache-2.0
"""Rows of traffic and watts as a design of three columns: its least squares, and how well it fits. Pure.

- Conditioning: of the design with columns of unit length (D. Belsley, E. Kuh, R. Welsch, Regression
  Diagnostics, 1980): from 30 on columns depend on each other.
- 95 % CI: the widest of Student's t from the scatter of all rows; of Student's t from how the means of rows
  with the same traffic lie about the model, with as many degrees of freedom as these are more than the
  figures, since what is off in a state is off in all its rows; and of the bounds of the meter, which errs in
  the same way in all rows of one state.
- Structure: whether one more column, a bend over the rate or over the packet size, explains more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linewatt.analysis.statistics.stats import t_quantile

COLUMNS = 3
"""power without traffic, bit/s, packets/s"""
SAME_RATIO = 0.01
"""rates and packet sizes nearer than this are one"""
MOST_CONDITION = 30.0
MOST_CHANCE = 1e-3
"""of what is called no chance: that the rates explain the watts, that means lie off, that power bends"""
EXACT_RATIO = 1e-9
"""of all that traffic adds: watts that differ by less are the same"""
ODD_CHANCE = 1e-5
"""that any of the rows is so far off the others' fit, among as many as there are"""


@dataclass(frozen=True, slots=True)
class Row:
    """One state of a device: its traffic in bit/s and packets/s, 0 for none, and W.

    ``bound_w`` is a bound of the meter's error but for its gain, ``name`` what a warning calls the row.
    """

    bit_per_s: float
    packets_per_s: float
    power_w: float
    name: str
    bound_w: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """Rows of the same traffic together: how many, their mean W, and what the model has."""

    bit_per_s: float
    packets_per_s: float
    rows: int
    power_w: float
    model_w: float


class Design:
    """Rows as a design: columns of unit length, so that neither bits nor packets outweigh the other."""

    def __init__(self, rows: Sequence[Row]) -> None:
        import numpy as np

        self.rows = rows
        self.bits, self.packets, self.watts, self.bounds_w = (
            np.array([getattr(one, name) for one in rows])
            for name in ("bit_per_s", "packets_per_s", "power_w", "bound_w")
        )
        columns = np.column_stack([np.ones(len(rows)), self.bits, self.packets])
        self.lengths = np.linalg.norm(columns, axis=0)
        self.columns = columns / self.lengths
        self.condition = float(np.linalg.cond(self.columns))

    @property
    def collinear(self) -> str | None:
        """Why bits and packets cannot be told apart; ``None``: they can."""
        if self.condition <= MOST_CONDITION:
            return None
        return (
            "bit/s, packets/s and power without traffic cannot be told apart: condition number "
            f"{self.condition:.3g}, above {MOST_CONDITION:g}; measure sizes or rates further apart"
        )

    @cached_property
    def weights(self) -> Any:
        """What each row adds to each figure, for 1 W: figures × rows."""
        import numpy as np

        return np.linalg.pinv(self.columns) / self.lengths[:, None]

    @cached_property
    def figures(self) -> Any:
        return self.weights @ self.watts

    @cached_property
    def modelled_w(self) -> Any:
        return self.columns @ (self.figures * self.lengths)

    @cached_property
    def rest_w(self) -> Any:
        """What the model leaves of each row."""
        return self.watts - self.modelled_w

    @property
    def degrees(self) -> int:
        return len(self.rows) - COLUMNS

    @cached_property
    def sd_w(self) -> float:
        """Of the rows about the model."""
        return math.sqrt(float(self.rest_w @ self.rest_w) / self.degrees)

    @cached_property
    def span_w(self) -> float:
        """What traffic adds at most, by the model."""
        return float(self.modelled_w.max() - self.modelled_w.min())

    @cached_property
    def groups(self) -> list[list[int]]:
        """Rows of the same traffic, by their number: all near the first of them."""
        found: dict[tuple[int, int], list[list[int]]] = {}
        for at, one in enumerate(self.rows):
            bits, packets = (math.log(max(1.0, value)) for value in (one.bit_per_s, one.packets_per_s))
            bin_bits, bin_packets = int(bits / SAME_RATIO), int(packets / SAME_RATIO)
            around = ((bin_bits + x, bin_packets + y) for x in (-1, 0, 1) for y in (-1, 0, 1))
            near = (
                nearest for place in around for nearest in found.get(place, ()) if self._same(nearest[0], at)
            )
            nearest = next(near, None)
            if nearest is None:
                found.setdefault((bin_bits, bin_packets), []).append([at])
            else:
                nearest.append(at)
        return [nearest for groups in found.values() for nearest in groups]

    def _same(self, first: int, other: int) -> bool:
        pairs = ((self.bits[first], self.bits[other]), (self.packets[first], self.packets[other]))
        return all(abs(one - two) <= SAME_RATIO * max(one, two) for one, two in pairs)

    @cached_property
    def r2(self) -> float:
        """What part of how the watts vary the model explains."""
        about = self.watts - self.watts.mean()
        return 1 - float(self.rest_w @ self.rest_w) / float(about @ about)

    @property
    def quality(self) -> dict[str, Any]:
        """How well the model fits, for the result."""
        points = tuple(
            Point(
                float(self.bits[own].mean()),
                float(self.packets[own].mean()),
                len(own),
                float(self.watts[own].mean()),
                float(self.modelled_w[own].mean()),
            )
            for own in self.groups
        )
        largest = max(self.rest_w.tolist(), key=abs)
        return {
            "points": points,
            "residual_sd_w": self.sd_w,
            "largest_residual_w": largest,
            "r2": self.r2,
        }

    @cached_property
    def means_off_w(self) -> Any:
        """What the model leaves of the mean of each state."""
        import numpy as np

        return np.array([self.rest_w[own].mean() for own in self.groups])

    @cached_property
    def off_w(self) -> float | None:
        """SD of means of the same traffic about the model, where they lie further off than chance allows."""
        from scipy.special import fdtrc

        points, within = len(self.groups) - COLUMNS, len(self.rows) - len(self.groups)
        if points < 1 or within < 1:
            return None
        counts = [len(own) for own in self.groups]
        off = float(counts @ self.means_off_w**2) / points
        apart = math.fsum(float(self.rest_w[own].var()) * len(own) for own in self.groups) / within
        if math.sqrt(off) <= EXACT_RATIO * self.span_w:
            return None
        if apart > (EXACT_RATIO * self.span_w) ** 2 and fdtrc(points, within, off / apart) > MOST_CHANCE:
            return None
        return math.sqrt(float(self.means_off_w @ self.means_off_w) / points)

    @cached_property
    def reaches(self) -> Any:
        """Half of the 95 % CI of each figure."""
        return self.reaches_of(self.weights)

    def reaches_of(self, weights: Any) -> Any:
        """The same of figures that are other sums of the watts: figures × rows."""
        import numpy as np

        scatter = t_quantile(self.degrees) * self.sd_w * np.linalg.norm(weights, axis=1)
        meter = [
            math.hypot(*(float(abs(one[own]) @ self.bounds_w[own]) for own in self.groups)) for one in weights
        ]
        return np.maximum.reduce([scatter, self._reaches_by_means(weights), meter])

    def _reaches_by_means(self, weights: Any) -> Any:
        """As the means of states lie about the model; 0 where no more states than figures are known of."""
        import numpy as np

        points = len(self.groups) - COLUMNS
        if points < 1:
            return np.zeros(len(weights))
        noise_w = t_quantile(points) * math.sqrt(float(self.means_off_w @ self.means_off_w) / points)
        by_state = np.column_stack([weights[:, own].sum(axis=1) for own in self.groups])
        return noise_w * np.linalg.norm(by_state, axis=1)

    def bend(self, extra: Any) -> float:
        """The part of what traffic adds by which one more column bends the model; 0 where that is chance."""
        import numpy as np
        from scipy.special import stdtr

        degrees = self.degrees - 1
        column = extra / (np.linalg.norm(extra) or 1.0)
        own = column - self.columns @ (np.linalg.pinv(self.columns) @ column)
        length = float(np.linalg.norm(own))
        if degrees < 1 or length < 1e-3 or self.span_w <= 0:
            return 0.0
        height = float(own @ self.rest_w) / length**2
        rest = self.rest_w - height * own
        error = math.sqrt(float(rest @ rest) / degrees) / length
        if error > 0 and 2 * stdtr(degrees, -abs(height) / error) > MOST_CHANCE:
            return 0.0
        return abs(height) * float(own.max() - own.min()) / self.span_w

    def odd(self) -> int | None:
        """The row that is off the fit of all others by more than chance allows, the furthest of them."""
        import numpy as np
        from scipy.special import stdtr

        leverage = np.einsum("ij,ji->i", self.columns, np.linalg.pinv(self.columns))
        free = np.maximum(1 - leverage, 1e-9)
        squares = float(self.rest_w @ self.rest_w)
        others = np.maximum(squares - self.rest_w**2 / free, 1e-12 * squares) / (self.degrees - 1)
        apart = np.abs(self.rest_w) / np.sqrt(np.maximum(others * free, 1e-300))
        at = int(apart.argmax())
        chance = 2 * len(self.rows) * float(stdtr(self.degrees - 1, -apart[at]))
        return at if chance < ODD_CHANCE and abs(self.rest_w[at]) > EXACT_RATIO * self.span_w else None
