# SPDX-License-Identifier: Apache-2.0
"""What searches have in common: a case whose next trial follows from those that are stored. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from linewatt.model import Case, Trial

FAILURES = 3
"""trials that come to no number, one after the other, end a search"""


@dataclass(frozen=True, slots=True)
class Next:
    """The next step: the rate of one instance, None: as fast as it goes, or how many instances.

    With ``ended`` there is none, and that is why.
    """

    rate_bps: float | None = None
    ended: str | None = None
    instances: int | None = None

    def step(self, case: Case) -> Case:
        """The case of it: of a rate a step of its own, of instances a case like any that names as many."""
        if self.instances is None:
            return replace(case, rate_bps=self.rate_bps)
        return replace(case, instances=self.instances, search=None)


def without_steps(case: Case) -> Case:
    """What the steps of one search have in common; a case that is not searched as it is."""
    if case.search == "instances":
        return replace(case, instances=1)
    return replace(case, rate_bps=None) if case.search else case


def failing(trials: Sequence[Trial], counted: Iterable[Trial], otherwise: str) -> str | None:
    """Why a search whose last trials all came to no number ends; ``otherwise``: where they do not say."""
    counted_ids = {id(trial) for trial in counted}
    last = [trial for trial in trials[-FAILURES:] if id(trial) not in counted_ids]
    if len(last) < FAILURES:
        return None
    return f"{FAILURES} trials in a row came to no number: {last[-1].reason or otherwise}"


def sent_s(trials: Iterable[Trial]) -> float:
    """How long trials sent, up to the end of their windows."""
    return sum(trial.window.end_s - trial.started_s for trial in trials if trial.window)
