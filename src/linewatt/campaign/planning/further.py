# SPDX-License-Identifier: Apache-2.0
"""Trials that features add after those that are measured, as a plan has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from linewatt.campaign.campaign import Campaign
from linewatt.core.feature import further_trials
from linewatt.model import Case


class FurtherPlan(Protocol):
    """What ``plan_path`` of a feature's further trials leads to. Pure."""

    @property
    def overhead_s(self) -> float:
        """What one takes more than a trial that is measured, at most."""

    def cases(self, campaign: Campaign, cases: Sequence[Case]) -> list[Case]:
        """Those of the campaign that run once more, in their order."""

    def notes(self, campaign: Campaign, cases: Sequence[Case]) -> Iterator[str]:
        """What a reader of the plan should know of them, such as which cases have none and why."""

    @property
    def beside(self) -> str:
        """What runs beside their load, as the end of a sentence."""


def further_plans(campaign: Campaign) -> dict[str, FurtherPlan]:
    """Name of further trials that a campaign asks for → how they are planned."""
    return {
        trials.name: trials.load(trials.plan_path)
        for trials in further_trials()
        if trials.campaign_key in campaign.feature_values
    }
