# SPDX-License-Identifier: Apache-2.0
"""What a trial takes beyond its load, on two hosts with CPU at both ends: beside bare iperf3's own overhead.

A trial's ``overhead_s`` runs from the end of the load before it to the end of its own, less its load
seconds: everything in between is in it, storing included. By hand it is the client's wall time less
``--time``, with a server that listens already. As a check on ``overhead_s``, the same is taken from the
times at which trials started.
"""

from __future__ import annotations

from itertools import pairwise

from bench import byhand
from bench.effort import Effort
from bench.rig import lab_of, namespaces, rig
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.model import Trial

ABOUT_S = 110
_WINDOW = {"omit": 1, "seconds": 2, "tail": 1}
_LOAD_S = sum(_WINDOW.values())


def measure(effort: Effort) -> list[Row]:
    """One campaign of many short trials, and runs by hand before and after it."""
    trials = effort.of(15, 4, 2)
    with rig() as own, lab_of(2, "2gbit") as lab:
        first = own.run(own.campaign(lab.inventory, trials=1, window=_WINDOW))
        commands = byhand.commands_of(first.path, namespaces(lab))
        half = effort.of(4, 1, 1)
        by_hand = [byhand.run(commands).wall_s - commands.seconds for _ in range(half)]
        finished = own.run(own.campaign(lab.inventory, trials=trials, window=_WINDOW))
        by_hand += [byhand.run(commands).wall_s - commands.seconds for _ in range(half)]
    peer = Peer("iperf3 by hand", tuple(by_hand))
    return [
        Row(
            "trial beyond its load, 2 hosts",
            "s",
            overheads(finished.trials),
            Target(at_most=0.1),
            peer,
            f"{trials} trials of {_LOAD_S} s; the first has its servers to start",
        ),
        Row("the same, from start to start", "s", _start_to_start(finished.trials)),
    ]


def overheads(trials: tuple[Trial, ...]) -> tuple[float, ...]:
    """``overhead_s`` of every trial. Raises MeasurementFailed where one has none."""
    found = [trial.overhead_s for trial in trials]
    if any(value is None for value in found):
        raise MeasurementFailed(f"{found.count(None)} of {len(found)} trials have no overhead_s")
    return tuple(value for value in found if value is not None)


def _start_to_start(trials: tuple[Trial, ...]) -> tuple[float, ...]:
    starts = sorted(trial.started_s for trial in trials)
    return tuple(later - earlier - _LOAD_S for earlier, later in pairwise(starts))
