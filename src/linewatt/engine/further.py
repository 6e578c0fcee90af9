# SPDX-License-Identifier: Apache-2.0
"""Trials that features add after those that are measured, as a run makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from linewatt.campaign.planning import Round
from linewatt.store import further_numbers


class FurtherRunner(Protocol):
    """What ``run_path`` of a feature's further trials makes.

    It is called with the run's ``Session``, its ``Campaign``, its ``Stage``, a ``RoundRunner`` and where
    events go.
    """

    async def run(self, result: Path, round_: Round) -> None:
        """Make one and store it, also one whose load fails.

        Raises HostError for a host that is gone, and LabelError for what only hands can set.
        """


def lacking_trials(result: Path, further: Mapping[str, Sequence[Round]]) -> dict[str, list[Round]]:
    """Of the further trials of a plan, by name, those that a result lacks; no name without any."""
    lacking_rounds: dict[str, list[Round]] = {}
    for name, rounds in further.items():
        stored = further_numbers(result, name)
        if unstored := [round_ for round_ in rounds if round_.trials[0].number not in stored]:
            lacking_rounds[name] = unstored
    return lacking_rounds
