# SPDX-License-Identifier: Apache-2.0
"""How long idle takes: its windows, and what hosts are given to become quiet before each. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field

from linewatt.campaign.campaign import Campaign
from linewatt.declare import SELDOM
from linewatt.findings import QUIET_S

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


Loaded = tuple[Collection[str], Hashable]
"""a round: its hosts, and the setting that they show"""


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
    between_windows: int | None = field(default=None, metadata=SELDOM)
    """how many of them stand between trials of one setting"""
    every_rounds: int | None = field(default=None, metadata=SELDOM)
    """after how many rounds of a setting one of those stands; None: none does"""


NO_IDLE = IdleTime(0, 0.0, 0.0, 0.0)


class Between:
    """When idle windows between trials are due: hosts had ``every`` so many rounds with a setting since the
    last window with it, or their first in this run; None: never."""

    def __init__(self, interval_rounds: int | None) -> None:
        self.every = interval_rounds
        self._rounds: dict[tuple[str, Hashable], int] = {}

    def due(self, hosts: Iterable[str], setting: Hashable) -> set[str]:
        """Those of the hosts that are to be idle before another round with a setting."""
        if self.every is None:
            return set()
        return {name for name in hosts if self._rounds.get((name, setting), self.every) >= self.every}

    def measured(self, hosts: Iterable[str], setting: Hashable) -> None:
        """An idle window was measured."""
        self._rounds |= {(name, setting): 0 for name in hosts}

    def ran(self, hosts: Iterable[str], setting: Hashable) -> None:
        """A round with a setting begins."""
        for name in hosts:
            self._rounds[name, setting] = self._rounds.get((name, setting), 0) + 1


def rounds_between(campaign: Campaign) -> int | None:
    """After how many rounds of a setting an idle window stands, so that idle has its share of the time."""
    if campaign.energy is None or campaign.idle_s <= 0:
        return None
    ratio = campaign.energy.idle_ratio
    return max(1, math.floor(campaign.idle_s * (1 - ratio) / (ratio * campaign.load_s) + 1e-9))


def idle_time(
    campaign: Campaign, settings: int, rounds: Iterable[Loaded] = (), *, begun: int = 0
) -> IdleTime:
    """What idle takes with so many settings: with power, windows before and after each of them, and between
    the ``rounds``, which are in the order of time. ``begun`` of the settings have their window before."""
    if campaign.idle_s <= 0:
        return NO_IDLE
    interval_rounds = rounds_between(campaign)
    between = None if interval_rounds is None else _count_between(interval_rounds, rounds)
    windows = settings * (2 if campaign.measures_power else 1) - begun + (between or 0)
    settle_limits = settling_limits(campaign.idle_s, powered=campaign.measures_power)
    return IdleTime(
        windows,
        campaign.idle_s,
        windows * (campaign.idle_s + (settle_limits.look_s if campaign.measures_power else 0.0)),
        windows * (campaign.idle_s + settle_limits.limit_s),
        between,
        interval_rounds,
    )


def _count_between(interval_rounds: int, rounds: Iterable[Loaded]) -> int:
    """Windows between rounds; the first of a setting is the one before its trials."""
    between, number = Between(interval_rounds), 0
    seen: set[tuple[str, Hashable]] = set()
    for hosts, setting in rounds:
        due = between.due(hosts, setting)
        number += bool(seen.issuperset((name, setting) for name in due) and due)
        seen |= {(name, setting) for name in hosts}
        between.measured(due, setting)
        between.ran(hosts, setting)
    return number


def default_s(intervals_s: Iterable[float]) -> float:
    """The idle window of a campaign whose sources of power are read this often."""
    slowest_s = max(intervals_s, default=None)
    if slowest_s is None:
        return IDLE_S
    return max(POWERED_IDLE_S, min(POWERED_READINGS * slowest_s, MOST_IDLE_S))


def settling_limits(idle_s: float, *, powered: bool, needed_s: float = QUIET_S) -> Settling:
    """What time a host is given: never longer to look than the window itself is.

    ``needed_s`` is how long to look if there were time for it.
    """
    look_s = min(idle_s, needed_s if powered else CPU_LOOK_S)
    return Settling(look_s, (LIMIT_LOOKS if powered else CPU_LIMIT_LOOKS) * look_s)
