# SPDX-License-Identifier: Apache-2.0
"""The searches of a campaign as its trials come in: at which rate each goes on, or that it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linewatt.analysis.cases.rate_search import Next, Rule, next_step, searched
from linewatt.campaign.campaign import Campaign
from linewatt.model import Case, Trial


class SearchBook:
    """What is known of each search. The same trials, the same next step."""

    def __init__(self, campaign: Campaign, cases: Sequence[Case], stored: Iterable[Trial] = ()) -> None:
        asked = campaign.search
        self.cases = tuple(case for case in cases if case.search) if asked is not None else ()
        """what the steps of each search have in common"""
        if asked is None:
            return
        self._rule = Rule(asked.loss_ratios, asked.width_ratio, asked.max_rate_bps, asked.trials, asked.runs)
        self._trials: dict[Case, list[Trial]] = {case: [] for case in self.cases}
        for trial in stored:
            if trial.case.search:
                self._trials[searched(trial.case)].append(trial)
        self._next = {case: self._decide(case) for case in self.cases}

    def _decide(self, case: Case) -> Next:
        return next_step(self._rule, self._trials[case])

    def learn(self, trial: Trial) -> tuple[Case, ...]:
        """Take a stored step into account; the search that has ended with it."""
        case = searched(trial.case)
        self._trials[case].append(trial)
        self._next[case] = self._decide(case)
        return () if self.needs(case) else (case,)

    def needs(self, case: Case) -> bool:
        """Whether a search goes on."""
        return self.why(case) is None

    def why(self, case: Case) -> str | None:
        """Why it ended."""
        return self._next[searched(case)].ended

    def step(self, case: Case) -> Case:
        """The case of the next step; any other case as it is."""
        return replace(case, rate_bps=self._next[searched(case)].rate_bps) if case.search else case
