# SPDX-License-Identifier: Apache-2.0
"""Kinds of plans that features add, in place of trials: how each is made, told and run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from linewatt.campaign import Campaign
from linewatt.campaign.planning import Plan, Site
from linewatt.core.feature import feature_functions
from linewatt.declare import Keys
from linewatt.tuning import Change

if TYPE_CHECKING:
    from linewatt.engine.events import OnEvent, RunEnded
    from linewatt.engine.run import Places, Run


class PlanKind(Protocol):
    """What a feature's ``plan_kind`` leads to."""

    @property
    def noun(self) -> str:
        """What such a campaign is, with an article."""

    def is_of(self, campaign: Campaign) -> bool:
        """Whether a campaign is planned into this."""

    def plan(self, campaign: Campaign, sites: Mapping[str, Site] | None = None) -> KindPlan:
        """The plan of a campaign, pure; ``sites`` as for ``linewatt.campaign.planning.plan.plan_campaign``.

        Raises InvalidInput for a plan that is impossible.
        """

    def keys(self) -> Keys:
        """Of :meth:`KindPlan.document`, for the schema of ``plan --json``."""


class KindPlan(Protocol):
    """A campaign that is planned into a kind."""

    @property
    def headline(self) -> str:
        """What it is and how long it takes, in a few words."""

    @property
    def load_plan(self) -> Plan | None:
        """The campaign's tests that it runs, planned as trials are; None: it runs none of them."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """What hosts show throughout."""

    def lines(self) -> Iterator[str]:
        """What it does, a line each, for ``linewatt plan``."""

    def notes(self) -> Iterator[str]:
        """What one should know before it runs, a line each."""

    def document(self) -> dict[str, Any]:
        """What is printed of it, and stored in the manifest: plain values, units in the keys."""

    def run(self, places: Places, on_event: OnEvent, *, waits: bool = False) -> Run[RunEnded]:
        """What runs it; ``waits``: for other controllers. Raises InvalidInput for a password not there."""


def kinds_of_plans() -> list[PlanKind]:
    """Those of all features."""
    return feature_functions("plan_kind")


def plan_kind(campaign: Campaign) -> PlanKind | None:
    """What a campaign is planned into; None: trials."""
    return next((kind for kind in kinds_of_plans() if kind.is_of(campaign)), None)
