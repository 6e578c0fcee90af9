# SPDX-License-Identifier: Apache-2.0
"""Figures of trials of a load that a feature brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from linewatt.core.feature import feature_load_of
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.trial_run import TrialRun
from linewatt.engine.measuring.cut import Setup
from linewatt.model import Case, Flag, Trial, Window
from linewatt.store import Series


class LoadMeasuring(Protocol):
    """Figures of a trial, of the reports that the load left in its :class:`TrialRun`. Pure."""

    def measure(
        self, run: TrialRun, readings: Mapping[str, Sequence[Reading]], setup: Setup, overhead_s: float
    ) -> tuple[Window, Trial]:
        """The window, and the trial. Raises ParseError for a trial that came to nothing."""

    def unsteady(self, run: TrialRun, window: Window) -> list[Flag]:
        """Whether throughput stays where it is inside the window."""

    def series(self, run: TrialRun) -> Iterable[Series]:
        """What is stored of the load beside the readings of sensors."""


def measuring_of(case: Case) -> LoadMeasuring | None:
    """How a case of a feature's load is measured; None: load processes make its load."""
    load = feature_load_of(case.test)
    if load is None:
        return None
    measuring: LoadMeasuring = load.load(load.measuring_path)
    return measuring
