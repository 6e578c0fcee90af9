# SPDX-License-Identifier: Apache-2.0
"""Trials of a campaign that are still to run: what is stored is not, nor what a case no longer needs.

A step of a search gets its rate or its instances here, from the steps that are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from linewatt.analysis.cases import without_steps
from linewatt.analysis.statistics import RepeatOutcome, RepeatRule
from linewatt.analysis.statistics import Repeats as RepeatBook
from linewatt.campaign import Campaign
from linewatt.campaign.planning import Plan, PlannedTrial, Round
from linewatt.engine.searches import SearchBook
from linewatt.model import Case, Trial
from linewatt.records import SCHEMA_VERSION, EndedSearch, Host, Repeats, Searches, StoppedCase
from linewatt.store import write_json

FILE = "repeats.json"
SEARCHES = "searches.json"


class Remaining:
    """The trials of a plan that are still to run; cases that may stop early do so as trials come in."""

    def __init__(
        self,
        campaign: Campaign,
        plan: Plan,
        stored: Sequence[Trial] = (),
        hosts: Mapping[str, Host] | None = None,
    ) -> None:
        """``hosts`` is what is on record of them: their CPUs bound instances that are searched."""
        self._plan = plan
        self._case_of = {trial.number: trial.case for trial in plan.trials}
        self.stored = {trial.number for trial in stored}
        """numbers of the trials that were stored"""
        self._left = Counter(trial.case for trial in plan.trials if trial.number not in self.stored)
        self._book = _book(campaign, plan, [trial for trial in stored if not self._is_step(trial.number)])
        of_searches = [
            (self._case_of[trial.number], trial) for trial in stored if self._is_step(trial.number)
        ]
        self._searches = SearchBook(campaign, plan.cases, of_searches, hosts or {})
        self.total = len(self.stored) + sum(self._left.values())
        """trials that the campaign has, if no case stops before its last"""
        self.to_run = sum(number for case, number in self._left.items() if self._needs(case))
        """trials that are still to run, as far as is known now"""

    def _is_step(self, number: int) -> bool:
        return self._case_of[number].search is not None

    def round(self, planned: Round) -> Round:
        """A round with those of its trials that are still to run, steps of searches as they have come to."""
        pending = (trial for trial in planned.trials if trial.number not in self.stored)
        needed = tuple(trial for trial in pending if self._needs(self._case_of[trial.number]))
        return self._plan.with_steps(replace(planned, trials=needed), self._step)

    def _step(self, planned: PlannedTrial) -> Case:
        case = self._case_of[planned.number]
        return self._searches.step(case) if case.search else case

    def follows(self, later: Round, earlier: Round) -> bool:
        """Whether a round has steps of searches that those of an earlier one lead to."""
        before = {self._case_of[trial.number] for trial in earlier.trials if self._is_step(trial.number)}
        return any(self._case_of[trial.number] in before for trial in later.trials)

    def rounds(self) -> list[Round]:
        """The rounds of the plan with what is left of them."""
        return [needed for needed in map(self.round, self._plan.rounds) if needed.trials]

    def learn(self, trial: Trial) -> None:
        """Take a trial into account that is on disk now."""
        self.stored.add(trial.number)
        case = self._case_of[trial.number]
        self._left[case] -= 1
        self.to_run -= self._needs(case)
        if case.search:
            stopped = self._searches.learn(case, trial)
        else:
            stopped = () if self._book is None else self._book.learn(trial)
        self.to_run -= sum(self._left[case] for case in stopped)

    def record(self, result: Path) -> None:
        """Write down why each case and search stopped, once nothing is left to run. Raises StoreError."""
        if self._book is not None and not self.to_run and not (result / FILE).exists():
            write_json(result / FILE, self._stopped(self._book).as_written())
        if self._searches.cases and not self.to_run and not (result / SEARCHES).exists():
            write_json(result / SEARCHES, self._ended().as_written())

    def _needs(self, case: Case) -> bool:
        if case.search:
            return self._searches.needs(case)
        return self._book is None or self._book.needs(case)

    def _ended(self) -> Searches:
        return Searches(
            schema_version=SCHEMA_VERSION,
            trials_left_out=sum(self._left[case] for case in self._searches.cases),
            searches=[
                EndedSearch(
                    case_key=without_steps(case).key,
                    sender=case.sender,
                    receiver=case.receiver,
                    trials_left_out=self._left[case],
                    why=self._searches.why(case),
                )
                for case in self._searches.cases
            ],
        )

    def _stopped(self, book: RepeatBook) -> Repeats:
        return Repeats(
            schema_version=SCHEMA_VERSION,
            min=book.rule.fewest,
            max=book.rule.most,
            until_ratio=book.rule.until_ratio,
            trials_left_out=sum(number for case, number in self._left.items() if not case.search),
            cases=[self._case(case, book.outcome(case)) for case in self._plan.cases if not case.search],
        )

    def _case(self, case: Case, outcome: RepeatOutcome) -> StoppedCase:
        return StoppedCase(
            case_key=case.key,
            sender=case.sender,
            receiver=case.receiver,
            runs=outcome.runs,
            trials_failed=outcome.failed,
            trials_left_out=self._left[case],
            half_width_ratio=outcome.half_width_ratio,
            until_met=outcome.stopped,
            why=outcome.why,
        )


def _book(campaign: Campaign, plan: Plan, stored: Sequence[Trial]) -> RepeatBook | None:
    if campaign.min_trials is None or campaign.until_ratio is None:
        return None
    rule = RepeatRule(campaign.min_trials, campaign.trials, campaign.until_ratio)
    cases = [case for case in plan.cases if not case.search]
    return RepeatBook(rule, cases, stored)
