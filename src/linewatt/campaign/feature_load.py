# SPDX-License-Identifier: Apache-2.0
"""Loads of trials that features bring: what plans are made of, and which load a campaign file asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.design import Setting
from linewatt.core.feature import FeatureLoad, feature_loads
from linewatt.model import Case

if TYPE_CHECKING:  # plans of stored campaigns are made without it
    from linewatt.campaign.entries.schema import CampaignFile


class LoadPlanning(Protocol):
    """What campaigns and plans ask of a load that a feature brings. Pure."""

    @property
    def overhead_s(self) -> float:
        """Wall time of a trial beyond its load and what every trial takes."""

    @property
    def factor_names(self) -> Collection[str]:
        """Its factors, ``<load>.<key>`` each."""

    def check_factor(self, name: str, text: str) -> str:
        """A level of a factor in its one spelling. Raises InvalidInput: no such factor, no such level."""

    def with_setting(self, campaign: Campaign, setting: Setting) -> Campaign:
        """The campaign with the levels of its factors in place of what its file says of the load.

        Raises InvalidInput: the campaign has no such load, or none with these levels.
        """

    def described(self, value: Any, setting: Setting) -> Mapping[str, str]:
        """What the campaign's ``value`` of the load's key says, with the levels of a setting: key → text.

        Loads of two campaigns do the same where this is the same.
        """

    def named_server(self, entry: CampaignFile) -> str | None:
        """The host on which the load's server is started; CPUs that go offline do so on that host alone."""

    def server(self, campaign: Campaign) -> str | None:
        """The same of a checked campaign."""

    def count_cases(self, entry: CampaignFile) -> int:
        """How many cases there are in each setting."""

    def cases(self, campaign: Campaign) -> Iterator[Case]:
        """The cases, without a setting."""

    def lines(self, campaign: Campaign) -> Iterator[str]:
        """What the load is, for who reads the plan."""

    def notes(self, campaign: Campaign) -> Iterator[str]:
        """What a reader of the plan should know before it runs."""


def planning_of(load: FeatureLoad) -> LoadPlanning:
    """Raises InvalidInput where its path leads nowhere."""
    planning: LoadPlanning = load.load(load.planning_path)
    return planning


def load_of_factor(name: str) -> FeatureLoad | None:
    """The load that a factor ``<load>.<key>`` is of; None: it is of none that a feature brings."""
    prefix, dot, _ = name.partition(".")
    return next((load for load in feature_loads() if dot and load.name == prefix), None)


def named_load(entry: CampaignFile) -> FeatureLoad | None:
    """The load of a feature whose key is written."""
    return next((load for load in feature_loads() if entry.value_of(load.name) is not None), None)


def load_of_trials(entry: CampaignFile) -> FeatureLoad | None:
    """The load of trials that a feature brings; None: there are no trials, or load processes make theirs."""
    return None if entry.replaces_trials else named_load(entry)
