# SPDX-License-Identifier: Apache-2.0
"""How long idle takes: its windows, and what hosts are given to become quiet before each. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linewatt.campaign.campaign import Campaign
from linewatt.findings.idle import QUIET_S

IDLE_S = 5.0
"""without a source of power idle only says what CPUs do"""
POWERED_IDLE_S = 30.0
POWERED_READINGS = 30
MOST_IDLE_S = 300.0
"""however slowly a meter is read"""
CPU_LOOK_S = 2.0
"""without a source of power, a short look at the CPUs is enough"""
CPU_LIMIT_LOOKS = 2.0
LIMIT_LOOKS = 6.0
"""warm parts and slow fans take most of a minute"""


@dataclass(frozen=True, slots=True)
class Settling:
    """Hosts must be quiet for ``look_s``; after ``limit_s`` idle is measured as they are."""

    look_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class IdleTime:
    """What the idle windows of a campaign take: how many there are, one of them, and all with settling.

    Without power the CPUs are most often quiet at once, and no time is planned for it.
    """

    windows: int
    window_s: float
    least_s: float
    most_s: float


NO_IDLE = IdleTime(0, 0.0, 0.0, 0.0)


def idle_time(campaign: Campaign, settings: int) -> IdleTime:
    """What idle takes with so many settings: with power, windows before and after each of them."""
    if campaign.idle_s <= 0:
        return NO_IDLE
    windows = settings * (2 if campaign.measures_power else 1)
    given = settling(campaign.idle_s, powered=campaign.measures_power)
    return IdleTime(
        windows,
        campaign.idle_s,
        windows * (campaign.idle_s + (given.look_s if campaign.measures_power else 0.0)),
        windows * (campaign.idle_s + given.limit_s),
    )


def default_s(intervals_s: Iterable[float]) -> float:
    """The idle window of a campaign whose sources of power are read this often."""
    slowest_s = max(intervals_s, default=None)
    if slowest_s is None:
        return IDLE_S
    return max(POWERED_IDLE_S, min(POWERED_READINGS * slowest_s, MOST_IDLE_S))


def settling(idle_s: float, *, powered: bool, needed_s: float = QUIET_S) -> Settling:
    """What time a host is given: never longer to look than the window itself is.

    ``needed_s`` is how long to look if there were time for it.
    """
    look_s = min(idle_s, needed_s if powered else CPU_LOOK_S)
    return Settling(look_s, (LIMIT_LOOKS if powered else CPU_LIMIT_LOOKS) * look_s)
