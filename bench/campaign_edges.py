# SPDX-License-Identifier: Apache-2.0
"""How long a campaign takes before its first load, and after its last one until the prompt is back.

Run as at a terminal: with the live display, and the table at the end. Without an idle window, which is
measuring time. The end of the load is when its seconds are over.
"""

from __future__ import annotations

from bench.rig import lab_of, rig
from bench.rows import Row, Target

ABOUT_S = 40
_WINDOW = {"omit": 0, "seconds": 1, "tail": 1}
_LOAD_S = sum(_WINDOW.values())


def measure(*, quick: bool) -> list[Row]:
    """Short campaigns, one after the other, on one lab."""
    before: list[float] = []
    after: list[float] = []
    with rig() as own, lab_of(2, "2gbit") as lab:
        for _ in range(3 if quick else 9):
            one = own.run_at_terminal(own.campaign(lab.inventory, trials=1, window=_WINDOW))
            starts = [trial.started_s for trial in one.trials]
            before.append(min(starts) - one.spawned_s)
            after.append(one.exited_s - max(starts) - _LOAD_S)
    return [
        Row("campaign start to first load", "s", tuple(before), Target(at_most=0.6)),
        Row("last load to prompt", "s", tuple(after), Target(at_most=0.12)),
    ]
