# SPDX-License-Identifier: Apache-2.0
"""``rest``: what a campaign waits for between trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Tag

from linewatt.campaign.campaign import Campaign, Rest
from linewatt.document import KeyPath, Part

if TYPE_CHECKING:
    from linewatt.campaign.entries.schema import CampaignFile

LIMIT_S = 300.0
MAX_LIMIT_S = 7200.0


class RestEntry(Part):
    """What is waited for before each trial, and for how long."""

    until: Literal["cool"] = Field(
        description="`cool`: temperatures, fans and watts of its hosts are as in their idle window."
    )
    limit: float = Field(
        default=LIMIT_S,
        gt=0,
        le=MAX_LIMIT_S,
        description="Seconds that one trial waits at most; then it begins, and a finding says so.",
    )


RestField = Annotated[
    Annotated[Literal["until-cool"], Tag("name")] | Annotated[RestEntry, Tag("RestEntry")],
    Discriminator(lambda value: "name" if isinstance(value, str) else "RestEntry"),
]


def rest_of(entry: RestEntry | str | None) -> Rest | None:
    """The wait, as a campaign has it."""
    if entry is None:
        return None
    return Rest(entry.limit if isinstance(entry, RestEntry) else LIMIT_S)


def check_rest(entry: CampaignFile) -> Iterator[tuple[KeyPath, str]]:
    """What has no trials, or nothing to compare with."""
    if entry.rest is None:
        return
    if entry.replaces_trials:
        yield ("rest",), "is between trials, and a soak has none; take it out"
    elif entry.idle.seconds == 0:
        yield ("rest",), "compares with the idle window, and idle.seconds is 0; take one of them out"


def check_temperatures(campaign: Campaign) -> Iterator[tuple[KeyPath, str]]:
    """Hosts of which it is known beforehand that nothing tells their temperature."""
    if campaign.rest is None or "cpufreq" in campaign.sensors:
        return
    for name in campaign.hosts:
        if not campaign.power.get(name):
            yield (
                ("rest",),
                f"needs a temperature, and {name} has none: sensors.cpufreq is off, no power source is named",
            )
