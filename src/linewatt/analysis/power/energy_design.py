# SPDX-License-Identifier: Apache-2.0
"""Rows of traffic and watts as a design of three columns: its least squares, and how well it fits. Pure.

- 95 % CI: the widest of Student's t from the scatter of all rows; of Student's t from how the means of rows
  with the same traffic lie about the model, with as many degrees of freedom as these are more than the
  figures, since what is off in a state is off in all its rows; and of the bounds of the meter, which errs in
  the same way in all rows of one state.
- Structure: whether one more column, a bend over the rate or over the packet size, a curve from no traffic on
  (as J. W. Tukey's one degree of freedom, Biometrics 5, 1949), or the time of each row, explains more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linewatt.analysis.statistics.stats import t_quantile
from linewatt.analysis.statistics.student import two_sided_p
from linewatt.energy_model import COLUMNS, Traffic

MOST_CHANCE = 1e-3
"""of what is called no chance: that the rates explain the watts, that means lie off, that power bends"""
EXACT_RATIO = 1e-9
"""of all that traffic adds: watts that differ by less are the same"""
MOST_EXTENDED_CONDITION = 1e4
"""of the design with one more column: beyond it the others have that column already"""
FEWEST_REPEATS = 3
"""degrees of freedom of rows that repeat a state, from which these alone tell a drift"""
ODD_CHANCE = 1e-5
"""that any of the rows is so far off the others' fit, among as many as there are"""


@dataclass(frozen=True, slots=True)
class Row:
    """One state of a device: its traffic in bit/s and packets/s, 0 for none, and W.

    ``bound_w`` is a bound of the meter's error but for its gain, ``name`` what a warning calls the row,
    ``time_s`` when it was measured, where that is on record.
    """

    bit_per_s: float
    packets_per_s: float
    power_w: float
    name: str
    bound_w: float = 0.0
    time_s: float | None = None


@dataclass(frozen=True, slots=True)
class Extension:
    """Least squares with one more column: the three figures, half of their 95 % CI, and of the column.

    ``height_w`` is what the column adds over the rows, ``chance`` that of as much where it adds nothing.
    """

    figures: tuple[float, ...]
    reaches: tuple[float, ...]
    height_w: float
    chance: float


@dataclass(frozen=True, slots=True)
class Drift:
    """What power rises by from the first row to the last beside the traffic, with the chance of as much."""

    rise_w: float
    chance: float


@dataclass(frozen=True, slots=True)
class Point:
    """Rows of the same traffic together: how many, their mean W, and what the model has."""

    bit_per_s: float
    packets_per_s: float
    rows: int
    power_w: float
    model_w: float


class Design(Traffic):
    """Rows of a device as a design, and their least squares."""

    def __init__(self, rows: Sequence[Row]) -> None:
        import numpy as np

        super().__init__([row.bit_per_s for row in rows], [row.packets_per_s for row in rows])
        self.rows = rows
        self.watts = np.array([row.power_w for row in rows])
        self.bounds_w = np.array([row.bound_w for row in rows])

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
    def r2(self) -> float:
        """What part of how the watts vary the model explains."""
        about = self.watts - self.watts.mean()
        return 1 - float(self.rest_w @ self.rest_w) / float(about @ about)

    @property
    def quality(self) -> dict[str, Any]:
        """How well the model fits, for the result."""
        bits, packets, watts, modelled_w = (
            self._group_means(values).tolist()
            for values in (self.bits, self.packets, self.watts, self.modelled_w)
        )
        counts = map(len, self.groups)
        points = tuple(map(Point, bits, packets, counts, watts, modelled_w))
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
        return self._group_means(self.rest_w)

    def _group_means(self, values: Any) -> Any:
        """Of a value for each row, the mean in each state."""
        return values @ self.membership / self.group_sizes

    @cached_property
    def off_w(self) -> float | None:
        """SD of means of the same traffic about the model, where they lie further off than chance allows."""
        from scipy.special import fdtrc

        points, pure_degrees = len(self.groups) - COLUMNS, len(self.rows) - len(self.groups)
        if points < 1 or pure_degrees < 1:
            return None
        off = float(self.group_sizes @ self.means_off_w**2) / points
        pure_w = self.rest_w - self.membership @ self.means_off_w
        pure_variance = float(pure_w @ pure_w) / pure_degrees
        if math.sqrt(off) <= EXACT_RATIO * self.span_w:
            return None
        if (
            pure_variance > (EXACT_RATIO * self.span_w) ** 2
            and fdtrc(points, pure_degrees, off / pure_variance) > MOST_CHANCE
        ):
            return None
        return math.sqrt(float(self.means_off_w @ self.means_off_w) / points)

    @cached_property
    def reaches(self) -> Any:
        """Half of the 95 % CI of each figure."""
        return self.reaches_of(self.weights)

    def reaches_of(self, weights: Any) -> Any:
        """The same of figures that are other sums of the watts: figures × rows."""
        return self._reaches_about(weights, self.rest_w, COLUMNS)

    def _reaches_about(self, weights: Any, rest_w: Any, parameters: int) -> Any:
        """Of sums of the watts, where a model with so many parameters leaves ``rest_w`` of the rows."""
        import numpy as np

        degrees = len(self.rows) - parameters
        sd_w = math.sqrt(float(rest_w @ rest_w) / degrees)
        scatter = t_quantile(degrees) * sd_w * np.linalg.norm(weights, axis=1)
        by_means, points = self._errors_by_means(weights, rest_w, parameters)
        by_means = by_means * t_quantile(points) if points else by_means
        return np.maximum.reduce([scatter, by_means, self.meter_reaches(weights, self.bounds_w)])

    def _errors_by_means(self, weights: Any, rest_w: Any, parameters: int) -> tuple[Any, int]:
        """Standard errors as the means of states lie about the model, and their degrees of freedom.

        0 where no more states than parameters are known of.
        """
        import numpy as np

        points = max(0, len(self.groups) - parameters)
        if not points:
            return np.zeros(len(weights)), 0
        off_w = self._group_means(rest_w)
        by_state = weights @ self.membership
        return math.sqrt(float(off_w @ off_w) / points) * np.linalg.norm(by_state, axis=1), points

    def extended(self, extra: Any) -> Extension | None:
        """The least squares with one more column, a value for each row.

        ``None`` where the other columns have it already, or there are too few rows.
        """
        import numpy as np

        degrees, length = self.degrees - 1, float(np.linalg.norm(extra))
        if degrees < 1 or length <= 0 or self.span_w <= 0:
            return None
        columns = np.column_stack([self.columns, extra / length])
        if np.linalg.cond(columns) > MOST_EXTENDED_CONDITION:
            return None
        weights = np.linalg.pinv(columns)
        values = weights @ self.watts
        rest_w = self.watts - columns @ values
        figure_weights = weights[:COLUMNS] / self.lengths[:, None]
        reaches = self._reaches_about(figure_weights, rest_w, COLUMNS + 1)
        height = float(values[COLUMNS])
        height_w = height * float(np.ptp(columns[:, COLUMNS]))
        chance = 1.0
        if abs(height_w) > EXACT_RATIO * self.span_w:
            error = math.sqrt(float(rest_w @ rest_w) / degrees) * float(np.linalg.norm(weights[COLUMNS]))
            (by_means,), points = self._errors_by_means(weights[COLUMNS:], rest_w, COLUMNS + 1)
            chances = [_chance(height, error, degrees)]
            if points:
                chances.append(_chance(height, float(by_means), points))
            chance = max(chances)
        figures = (figure_weights @ self.watts).tolist()
        return Extension(tuple(figures), tuple(reaches.tolist()), height_w, chance)

    @cached_property
    def lowest_traffic_ratio(self) -> float:
        """What the state with the least traffic adds, as a part of what the one with the most adds."""
        added = self.modelled_w - self.figures[0]
        return max(0.0, float(added.min())) / float(added.max()) if added.max() > 0 else 0.0

    def curves(self) -> list[Extension]:
        """With a square root of the watts that traffic adds, of bits and of packets.

        They say what power that rises ever more slowly has without traffic.
        """
        import numpy as np

        added = np.maximum(self.modelled_w - self.figures[0], 0.0)
        columns = [np.sqrt(traffic) for traffic in (added, self.bits, self.packets)]
        extensions = [self.extended(column) for column in columns]
        return [extension for extension in extensions if extension is not None]

    @cached_property
    def times(self) -> Any | None:
        """Time of each row about their mean, 0 where it is not on record; ``None``: it is of no two."""
        import numpy as np

        dated = [at for at, row in enumerate(self.rows) if row.time_s is not None]
        times = np.array([row.time_s for row in self.rows if row.time_s is not None])
        if len(dated) < 2 or np.ptp(times) <= 0:
            return None
        centred = np.zeros(len(self.rows))
        centred[dated] = times - times.mean()
        return centred

    @cached_property
    def time_r2(self) -> float:
        """What part of when rows were measured follows from their traffic: near 1 where they were sorted."""
        import numpy as np

        if self.times is None:
            return 0.0
        aside = self.times - self.columns @ (np.linalg.pinv(self.columns) @ self.times)
        return 1 - float(aside @ aside) / float(self.times @ self.times)

    @cached_property
    def drift(self) -> Drift | None:
        """Of rows that repeat a state, which need no model of the traffic; else beside the model."""
        import numpy as np

        if self.times is None:
            return None
        span_s = float(np.ptp(self.times))
        watts = self.watts - self.membership @ self._group_means(self.watts)
        times = self.times - self.membership @ self._group_means(self.times)
        degrees = len(self.rows) - len(self.groups) - 1
        squares = float(times @ times)
        if degrees < FEWEST_REPEATS or squares <= EXACT_RATIO * span_s**2:
            extension = self.extended(self.times)
            return None if extension is None else Drift(extension.height_w, extension.chance)
        slope = float(times @ watts) / squares
        rest_w = watts - slope * times
        error = math.sqrt(float(rest_w @ rest_w) / degrees / squares)
        if abs(slope) * span_s <= EXACT_RATIO * self.span_w:
            return Drift(0.0, 1.0)
        return Drift(slope * span_s, _chance(slope, error, degrees))

    def bend(self, extra: Any) -> float:
        """The part of what traffic adds by which one more column bends the model; 0 where that is chance."""
        import numpy as np

        degrees = self.degrees - 1
        column = extra / (np.linalg.norm(extra) or 1.0)
        new_part = column - self.columns @ (np.linalg.pinv(self.columns) @ column)
        length = float(np.linalg.norm(new_part))
        if degrees < 1 or length < 1e-3 or self.span_w <= 0:
            return 0.0
        height = float(new_part @ self.rest_w) / length**2
        residuals_w = self.rest_w - height * new_part
        error = math.sqrt(float(residuals_w @ residuals_w) / degrees) / length
        if error > 0 and two_sided_p(height / error, degrees) > MOST_CHANCE:
            return 0.0
        return abs(height) * float(new_part.max() - new_part.min()) / self.span_w

    def odd(self) -> int | None:
        """The row that is off the fit of all others by more than chance allows, the furthest of them."""
        import numpy as np

        leverage = np.einsum("ij,ji->i", self.columns, np.linalg.pinv(self.columns))
        free = np.maximum(1 - leverage, 1e-9)
        squares = float(self.rest_w @ self.rest_w)
        others = np.maximum(squares - self.rest_w**2 / free, 1e-12 * squares) / (self.degrees - 1)
        studentized = np.abs(self.rest_w) / np.sqrt(np.maximum(others * free, 1e-300))
        at = int(studentized.argmax())
        chance = len(self.rows) * two_sided_p(float(studentized[at]), self.degrees - 1)
        return at if chance < ODD_CHANCE and abs(self.rest_w[at]) > EXACT_RATIO * self.span_w else None


def _chance(value: float, error: float, degrees: int) -> float:
    """That of a value as far from 0, where it is 0."""
    return two_sided_p(value / error, degrees) if error > 0 else 0.0
