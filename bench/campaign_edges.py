# SPDX-License-Identifier: Apache-2.0
"""How long a campaign takes before its first load, and after its last one until the prompt is back.

Run as at a terminal: with the live display, and the table at the end. Without an idle window, which is
measuring time. The end of the load is when its seconds are over. Windows of 1 s, which is too short to look
for steps in, of 2 s and of 10 s, as campaigns have, in turn.
"""

from __future__ import annotations

from bench.rig import lab_of, rig
from bench.rows import Row, Target

ABOUT_S = 150
_WINDOWS = (
    {"omit": 0, "seconds": 1, "tail": 1},
    {"omit": 1, "seconds": 2, "tail": 1},
    {"omit": 2, "seconds": 10, "tail": 1},
)


def measure(*, quick: bool) -> list[Row]:
    """Campaigns of one trial, one after the other, on one lab."""
    before: dict[int, list[float]] = {window["seconds"]: [] for window in _WINDOWS}
    after: dict[int, list[float]] = {window["seconds"]: [] for window in _WINDOWS}
    with rig() as own, lab_of(2, "2gbit") as lab:
        for _ in range(2 if quick else 7):
            for window in _WINDOWS:
                one = own.run_at_terminal(own.campaign(lab.inventory, trials=1, window=window))
                (trial,) = one.trials
                before[window["seconds"]].append(trial.started_s - one.spawned_s)
                after[window["seconds"]].append(one.exited_s - trial.started_s - sum(window.values()))
    edges = (
        ("campaign start to first load", before, Target(at_most=0.6)),
        ("last load to prompt", after, Target(at_most=0.12)),
    )
    return [
        Row(f"{what}, window of {seconds} s", "s", tuple(values), target)
        for what, by_window, target in edges
        for seconds, values in by_window.items()
    ]
