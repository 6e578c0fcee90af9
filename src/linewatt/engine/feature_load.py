# SPDX-License-Identifier: Apache-2.0
"""Trials of a load that a feature brings, in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from linewatt.campaign import Campaign
from linewatt.campaign.planning import PlannedTrial
from linewatt.engine.events import OnEvent
from linewatt.engine.live.session import Session
from linewatt.engine.live.trial import Live, LoadTime
from linewatt.hosts.journal import Journal


class TrialMaker(Protocol):
    """Makes each trial of a run."""

    @property
    def counted(self) -> Sequence[str]:
        """Channels of the server's data interface whose sum is the throughput."""

    def trial(self, planned: PlannedTrial, load: LoadTime) -> Live:
        """A trial of which nothing is started yet."""


class TrialOpener(Protocol):
    """Opens what all trials of a run have in common: what ``trials_path`` of a feature's load leads to."""

    async def __call__(
        self, session: Session, campaign: Campaign, journal: Journal, say: OnEvent
    ) -> TrialMaker:
        """``journal`` has whatever is changed on hosts. Raises HostError, InvalidInput: hosts or this machine
        lack something."""
