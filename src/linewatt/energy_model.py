# SPDX-License-Identifier: Apache-2.0
"""P = P0 + E_bit·bit/s + E_packet·packets/s: what states of traffic let be told of it, and what of it a
meter of some step can show. Pure.

- Conditioning: of the design with columns of unit length (D. Belsley, E. Kuh, R. Welsch, Regression
  Diagnostics, 1980): from 30 on columns depend on each other.
- A meter errs in the same way in all rows of one state, by up to its step: more rows make that no less. What
  scatters from row to row is as the means of states lie about the model (Student's t).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linewatt.findings import ENERGY_STEPS
from linewatt.missing import Missing
from linewatt.sensors.power import student_t

COLUMNS = 3
"""power without traffic, bit/s, packets/s"""
FEWEST_STATES = 4
"""of different traffic: with fewer nothing could show that the model is wrong"""
SAME_RATIO = 0.01
"""rates and packet sizes nearer than this are one"""
MOST_CONDITION = 30.0


class Traffic:
    """States of traffic as a design: columns of unit length, so that neither bits nor packets outweigh the
    other. ``bits`` are bit/s, ``packets`` packets/s, a row each."""

    def __init__(self, bits: Sequence[float], packets: Sequence[float]) -> None:
        import numpy as np

        self.bits, self.packets = np.array(bits, float), np.array(packets, float)
        columns = np.column_stack([np.ones(len(self.bits)), self.bits, self.packets])
        self.lengths = np.linalg.norm(columns, axis=0)
        self.columns = columns / np.where(self.lengths > 0, self.lengths, 1.0)
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
    def groups(self) -> list[list[int]]:
        """Rows of the same traffic, by their number: all near the first of them."""
        groups_by_bin: dict[tuple[int, int], list[list[int]]] = {}
        states = list(zip(self.bits.tolist(), self.packets.tolist(), strict=True))
        for at, state in enumerate(states):
            bin_bits, bin_packets = (int(math.log(max(1.0, value)) / SAME_RATIO) for value in state)
            near = (
                nearest
                for x in (-1, 0, 1)
                for y in (-1, 0, 1)
                for nearest in groups_by_bin.get((bin_bits + x, bin_packets + y), ())
                if _same(states[nearest[0]], state)
            )
            nearest = next(near, None)
            if nearest is None:
                groups_by_bin.setdefault((bin_bits, bin_packets), []).append([at])
            else:
                nearest.append(at)
        return [nearest for groups in groups_by_bin.values() for nearest in groups]

    @cached_property
    def membership(self) -> Any:
        """Rows × groups: 1 where a row is in a group, else 0. A product with it sums over each group."""
        import numpy as np

        membership = np.zeros((len(self.bits), len(self.groups)))
        for at, group in enumerate(self.groups):
            membership[group, at] = 1.0
        return membership

    @cached_property
    def group_sizes(self) -> Any:
        """Rows of each group."""
        return self.membership.sum(axis=0)

    def meter_reaches(self, weights: Any, bounds_w: Any) -> list[float]:
        """Half of what a meter leaves open of each figure, by a bound of its error in each row."""
        import numpy as np

        by_group = (np.abs(weights) * bounds_w) @ self.membership
        reaches: list[float] = np.linalg.norm(by_group, axis=1).tolist()
        return reaches


def _same(state: tuple[float, float], other_state: tuple[float, float]) -> bool:
    """Whether bit/s and packets/s of both are as good as the same."""
    return all(
        abs(value - other_value) <= SAME_RATIO * max(value, other_value)
        for value, other_value in zip(state, other_state, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Resolution:
    """The least energies that states of traffic and a meter can tell, all for 1 W of its step: J a bit, J a
    packet, and the scatter of trials (SD, W) with which these are as surely told."""

    states: int
    bit_j: float
    packet_j: float
    scatter_w: float


def resolution(states: Sequence[tuple[float, float]], trials: int) -> Resolution | Missing:
    """What states, each (bit/s, packets/s) in so many trials, let be told; or why nothing."""
    import numpy as np

    traffic = Traffic(*zip(*states, strict=True))
    number = len(traffic.groups)
    if number < FEWEST_STATES:
        return Missing(
            f"{number} states of traffic: three parameters fit any three states; {FEWEST_STATES} are needed"
        )
    if traffic.collinear:
        return Missing(traffic.collinear)
    reaches = traffic.meter_reaches(traffic.weights, np.ones(len(states)))
    smallest_j = [
        max(reach, ENERGY_STEPS / float(np.ptp(rates)))
        for reach, rates in zip(reaches[1:], (traffic.bits, traffic.packets), strict=True)
    ]
    moved = np.linalg.norm(traffic.weights[1:], axis=1) / math.sqrt(trials)
    scatter_w = min(
        energy_j / (student_t(number - COLUMNS) * float(by))
        for energy_j, by in zip(smallest_j, moved, strict=True)
    )
    return Resolution(number, smallest_j[0], smallest_j[1], scatter_w)
