# SPDX-License-Identifier: Apache-2.0
"""What a load level is to offer: a part of the maximum that trials at full rate have shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import fmean

from linewatt.errors import LinewattError
from linewatt.model import Case, Trial


class NotCalibrated(LinewattError):
    """No trial at full rate has come to a number, so no part of it can be offered."""


class Levels:
    """Learns from trials at full rate, and says what a level of them is."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self._seen: dict[str, dict[tuple[str, str], list[float]]] = {}
        for trial in trials:
            self.learn(trial)

    def learn(self, trial: Trial) -> None:
        """Take a trial into account; only those at full rate that are done say anything."""
        if trial.case.load_level is None and trial.throughput_bps is not None:
            pairs = self._seen.setdefault(trial.case.key, {})
            pairs.setdefault(trial.case.hosts, []).append(trial.throughput_bps)

    def maximum_bps(self, case: Case) -> float | None:
        """Smallest mean of all pairs of hosts at full rate, so that every one is offered the same."""
        pairs = self._seen.get(replace(case, load_level=None).key, {})
        return min((fmean(rates) for rates in pairs.values()), default=None)

    def target_bps(self, case: Case) -> float | None:
        """What all instances of a case together are to offer; ``None``: what the case says itself.

        Raises NotCalibrated.
        """
        if case.load_level is None:
            return None
        if case.load_level == 0:
            return 0.0
        maximum_bps = self.maximum_bps(case)
        if maximum_bps is None:
            raise NotCalibrated("its maximum is not known: no trial of this case at full rate is done")
        return case.load_level * maximum_bps
