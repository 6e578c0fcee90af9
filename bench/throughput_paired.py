# SPDX-License-Identifier: Apache-2.0
"""Throughput under linewatt beside the same iperf3 by hand, in pairs.

A pair is one campaign of one trial and one run by hand, with the argument lists that linewatt used, in the
same namespaces; who goes first alternates. During a run by hand nothing of linewatt is on the hosts: no
connection, no sensor. Both are cut to the same part of the run. By hand against by hand, one run after
the next, shows how much of the spread is the machine's own; the verdict needs an interval that agrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bench import byhand
from bench.effort import Effort
from bench.rig import Rig, lab_of, namespaces, rig
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.features.lab.api import Lab

ABOUT_S = 460
_TARGET = Target(at_least=0.99, at_most=1.01)


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    rate: str
    pairs: int


def measure(effort: Effort) -> list[Row]:
    """A link shaped well below what the CPUs can do, and one where a CPU is the limit."""
    kinds = (
        _Kind("link shaped to 2 Gbit/s", "2gbit", effort.of(20, 3, 2)),
        _Kind("unshaped, a CPU is the limit", "none", effort.of(20, 3, 2)),
    )
    return [_row(kind, effort) for kind in kinds]


def _row(kind: _Kind, effort: Effort) -> Row:
    window = {"omit": 1, "seconds": effort.of(3, 2, 1), "tail": 1}
    with rig() as own, lab_of(2, kind.rate) as lab:
        pairs = _pairs(own, lab, kind.pairs, window)
    ratios = tuple(with_linewatt / without for with_linewatt, without in pairs)
    by_hand = [without for _, without in pairs]
    noise = tuple(after / before for before, after in pairwise(by_hand))
    return Row(
        f"throughput, linewatt ÷ by hand, {kind.name}",
        "ratio",
        ratios,
        _TARGET,
        Peer("by hand ÷ by hand", noise),
        f"{len(ratios)} pairs, {min(by_hand) / 1e9:.2f} to {max(by_hand) / 1e9:.2f} Gbit/s by hand",
        by_interval=True,
    )


def _pairs(own: Rig, lab: Lab, count: int, window: dict[str, int]) -> list[tuple[float, float]]:
    """(with linewatt, by hand) in bit/s; a first run of each warms up and tells the argument lists."""
    campaign = own.campaign
    first = own.run(campaign(lab.inventory, trials=1, window=window))
    commands = byhand.commands_of(first.path, namespaces(lab))
    byhand.run(commands)

    def with_linewatt() -> float:
        (trial,) = own.run(campaign(lab.inventory, trials=1, window=window)).trials
        if trial.throughput_bps is None:
            raise MeasurementFailed(f"a trial has no throughput: {trial.reason}")
        return trial.throughput_bps

    def without() -> float:
        received = byhand.run(commands).received
        return byhand.throughput_bps(received, window["omit"], window["seconds"])

    pairs = []
    for number in range(count):
        if number % 2:
            by_hand_bps = without()
            pairs.append((with_linewatt(), by_hand_bps))
        else:
            linewatt_bps = with_linewatt()
            pairs.append((linewatt_bps, without()))
    return pairs
