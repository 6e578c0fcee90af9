# SPDX-License-Identifier: Apache-2.0
"""The searches of a campaign as its trials come in: at which case each goes on, or that it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from linewatt.analysis.cases import (
    Next,
    bounded_by_cpus,
    next_instance_step,
    next_rate_step,
)
from linewatt.campaign import Campaign
from linewatt.model import Case, Trial
from linewatt.records import Host


class SearchBook:
    """What is known of each search. The same trials, the same next step."""

    def __init__(
        self,
        campaign: Campaign,
        cases: Sequence[Case],
        stored: Iterable[tuple[Case, Trial]],
        hosts: Mapping[str, Host],
    ) -> None:
        """``stored`` are steps, each with the case of the plan whose search it is one of."""
        self._campaign, self._hosts = campaign, hosts
        self.cases = tuple(case for case in cases if case.search)
        """what is planned of each search"""
        self._trials: dict[Case, list[Trial]] = {case: [] for case in self.cases}
        for case, trial in stored:
            self._trials[case].append(trial)
        self._next = {case: self._decide(case) for case in self.cases}

    def _decide(self, case: Case) -> Next:
        rates, instances = self._campaign.search, self._campaign.instance_search
        if case.search == "instances" and instances is not None:
            rule = bounded_by_cpus(instances, self._hosts, case)
            return next_instance_step(rule, self._trials[case])
        if rates is None:
            return Next(ended="the campaign does not say how")
        return next_rate_step(rates, self._trials[case])

    def learn(self, case: Case, trial: Trial) -> tuple[Case, ...]:
        """Take a stored step of a search into account; the search, if it has ended with it."""
        self._trials[case].append(trial)
        self._next[case] = self._decide(case)
        return () if self.needs(case) else (case,)

    def needs(self, case: Case) -> bool:
        """Whether a search goes on."""
        return self.why(case) is None

    def why(self, case: Case) -> str | None:
        """Why it ended."""
        return self._next[case].ended

    def step(self, case: Case) -> Case:
        """The case of the next step of a search."""
        return self._next[case].step(case)
