# SPDX-License-Identifier: Apache-2.0
"""Where a trial's datagrams were lost, from socket to socket, as far as counters say. Pure.

The load's own count of sent and not received is the sum; each place's counter is a part of it. Counters are
of a host and not of a load: where they show more than the load lost, somebody else's packets are among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linewatt.model import EndResult
from linewatt.sensors import DROP_CAUSES, Loss, losses_of_host

SLACK_RATIO = 0.05
"""of the loss, beside what counters leave open: clocks of two hosts, intervals of a load"""
_CHANNELS = frozenset(channel for cause in DROP_CAUSES for channel in cause.channels)
_NOBODY = "no counter of either host recorded them, so check the path between the hosts"


@dataclass(frozen=True, slots=True)
class Place:
    """Datagrams that one host dropped for one cause."""

    host: str
    loss: Loss


class Unsure(NamedTuple):
    """By how much counters may have counted more (``short``) or less (``over``) in a window than is taken.

    They are read now and then, and loss comes in bursts: those of a step that only touches the window lie in
    it or beside it.
    """

    short: float = 0.0
    over: float = 0.0
    interval_s: float = 0.0
    """between two readings"""


SURE = Unsure()


@dataclass(frozen=True, slots=True)
class Losses:
    """``lost`` of ``sent`` datagrams by the load's count, and the places that counters name."""

    lost: int
    sent: int
    places: tuple[Place, ...]
    unread: tuple[str, ...] = ()
    """hosts of which no counter of drops was read"""
    unsure: Unsure = SURE

    @property
    def counted(self) -> float:
        """What all places drop together."""
        return sum(place.loss.packets for place in self.places)

    @property
    def unexplained(self) -> int:
        """Lost, and dropped at no place that counts; below 0: more was dropped than the load lost."""
        uncounted = self.lost - self.counted
        fewest_drops, most_drops = self.between
        return 0 if fewest_drops - self._slack <= self.lost <= most_drops + self._slack else round(uncounted)

    @property
    def between(self) -> tuple[float, float]:
        """As few and as many as counters may have counted in the window."""
        return self.counted - self.unsure.over, self.counted + self.unsure.short

    @property
    def _slack(self) -> float:
        return SLACK_RATIO * self.lost

    @property
    def words(self) -> str:
        """All of it in one line, for people."""
        named = [f"{place.loss.words} on {place.host}" for place in self.places]
        if self.unexplained > 0:
            who = f"no counters of {' and '.join(self.unread)} were read" if self.unread else _NOBODY
            named.append(f"{self.unexplained} at an unknown place: {who}")
        if self.unexplained < 0:
            named.append(f"{-self.unexplained} of these were not the load's datagrams")
        words = ", ".join(named)
        if self.unexplained or not self.places or abs(self.lost - self.counted) <= self._slack:
            return words
        fewest_drops, most_drops = self.between
        interval_words = f"counters are read every {self.unsure.interval_s:.2g} s"
        return f"{words}; {interval_words}: {fewest_drops:.0f} to {most_drops:.0f} in the window"


def datagram_losses(
    sent: int, lost: int, senders: Sequence[EndResult], receivers: Sequence[EndResult], unsure: Unsure = SURE
) -> Losses:
    """What senders dropped of a trial's datagrams on the way out, and receivers on the way in."""
    places = [
        Place(end.host, loss)
        for ends, leaving in ((senders, True), (receivers, False))
        for end in ends
        for loss in losses_of_host(end.counters, leaving=leaving)
        if loss.cause.protocol != "tcp"
    ]
    ends_by_host = {end.host: end for end in (*senders, *receivers)}
    unread = tuple(name for name, end in ends_by_host.items() if not any(map(is_read, end.counters.items())))
    return Losses(lost, sent, tuple(sorted(places, key=lambda place: -place.loss.packets)), unread, unsure)


def is_read(counted: tuple[str, float | None]) -> bool:
    """Whether a counter is one of drops, and was read."""
    name, value = counted
    return value is not None and name in _CHANNELS
