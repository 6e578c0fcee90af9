# SPDX-License-Identifier: Apache-2.0
"""One long load in place of cases and trials, and the experiment whose best setting it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Soak:
    """How long the load runs, how often what was done is added up, and how long one test of its load is."""

    duration_s: float
    interval_s: float
    segment_s: float


@dataclass(frozen=True, slots=True)
class BestOf:
    """The best setting of the experiment ``result``, ``None`` until it was looked up.

    ``words`` say how good it is, ``notes`` what else a reader should know. ``by_hand`` are those of its
    factors that hands set.
    """

    result: str
    setting: tuple[tuple[str, str], ...] | None = None
    words: str = ""
    notes: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()

    def said(self) -> Iterator[str]:
        """A line for the setting, and one for each note."""
        shown = " ".join(f"{name}={level}" for name, level in self.setting or ())
        yield f"best of {self.result}: {shown} ({self.words})"
        yield from self.notes


def soak_in(campaign: Campaign) -> Soak | None:
    """The soak of a campaign; None: it has trials."""
    soak: Soak | None = campaign.feature_values.get("soak")
    return soak


def best_of_in(campaign: Campaign) -> BestOf | None:
    """The experiment whose best setting the soak of a campaign has."""
    best: BestOf | None = campaign.feature_values.get("best_of")
    return best
