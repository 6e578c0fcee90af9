# SPDX-License-Identifier: Apache-2.0
"""Campaigns with ``soak`` as a kind of plan; what plans and runs them is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linewatt.campaign import Campaign
from linewatt.campaign.planning import Plan, Site
from linewatt.declare import Keys
from linewatt.engine import OnEvent
from linewatt.features.soak.plan import SoakPlan, as_dict, keys, plan_soak, said
from linewatt.tuning import Change
from linewatt.units import format_seconds

if TYPE_CHECKING:
    from linewatt.engine import Places
    from linewatt.features.soak.run import SoakRun


class SoakPlanKind:
    """A :class:`linewatt.engine.plan_kinds.PlanKind`."""

    noun = "a soak"

    def is_of(self, campaign: Campaign) -> bool:
        return "soak" in campaign.feature_values

    def plan(self, campaign: Campaign, sites: Mapping[str, Site] | None = None) -> PlannedSoak:
        return PlannedSoak(campaign, plan_soak(campaign, sites))

    def keys(self) -> Keys:
        return keys()


@dataclass(frozen=True, slots=True)
class PlannedSoak:
    """A :class:`linewatt.engine.plan_kinds.KindPlan`."""

    campaign: Campaign
    soak_plan: SoakPlan

    @property
    def headline(self) -> str:
        return f"a soak of {format_seconds(self.soak_plan.soak.duration_s)}"

    @property
    def load_plan(self) -> Plan | None:
        return self.soak_plan.segments

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.soak_plan.changes

    def lines(self) -> Iterator[str]:
        return said(self.soak_plan)

    def notes(self) -> Iterator[str]:
        if self.soak_plan.best_of is not None:
            yield from self.soak_plan.best_of.said()

    def document(self) -> dict[str, Any]:
        return as_dict(self.soak_plan)

    def run(self, places: Places, on_event: OnEvent, *, waits: bool = False) -> SoakRun:
        from linewatt.features.soak.run import SoakRun

        return SoakRun(self.campaign, self.soak_plan, places, on_event, waits=waits)


PLAN_KIND = SoakPlanKind()
