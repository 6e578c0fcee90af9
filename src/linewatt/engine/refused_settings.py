# SPDX-License-Identifier: Apache-2.0
"""Settings that hosts refused in a run: further trials that need them fail without another attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linewatt.campaign.planning import Plan, PlannedTrial, Round
from linewatt.engine.labels import label_levels
from linewatt.errors import SettingRefused
from linewatt.tuning import Change


@dataclass(frozen=True, slots=True)
class _Refusal:
    """``changes`` are all that the host was to show, ``labels`` what was set by hand then."""

    changes: frozenset[Change]
    labels: Mapping[str, str]
    reason: str


class RefusedSettings:
    """What hosts refused so far."""

    def __init__(self, label_names: Iterable[str]) -> None:
        """``label_names``: factors that hands set, with whose other levels a host may be another system."""
        self._label_names = frozenset(label_names)
        self._refusals: list[_Refusal] = []

    def add(self, plan: Plan, round_: Round, trial: PlannedTrial, error: SettingRefused) -> None:
        """A host refused what it was to show in this trial of a round."""
        changes = _changes(plan, round_, trial)
        of_host = frozenset(change for change in changes if change.host == error.where)
        labels = label_levels(trial.case.factors, self._label_names)
        self._refusals.append(_Refusal(of_host or changes, labels, str(error)))

    def reason(self, plan: Plan, round_: Round, trial: PlannedTrial) -> str | None:
        """Why a trial cannot begin: a host refused all that it is to show there; ``None``: no host did."""
        if not self._refusals:
            return None
        changes = _changes(plan, round_, trial)
        labels = label_levels(trial.case.factors, self._label_names)
        return next(
            (
                refusal.reason
                for refusal in self._refusals
                if refusal.changes <= changes and refusal.labels == labels
            ),
            None,
        )


def _changes(plan: Plan, round_: Round, trial: PlannedTrial) -> frozenset[Change]:
    """What the hosts of a trial are to show."""
    return frozenset(change for change in plan.changes_in(round_) if change.host in trial.case.hosts)
