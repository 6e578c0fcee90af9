# SPDX-License-Identifier: Apache-2.0
"""What hosts draw now, from the newest readings of their meters. Pure but for the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from linewatt.analysis.power.totals import Total, system_now
from linewatt.engine.events import Watts
from linewatt.engine.live.feed import Feed
from linewatt.engine.measuring.power import MOST_W, POWER_UNITS
from linewatt.hosts.clock import now_s
from linewatt.model import Channel, PowerResult

FRESH_S = 5.0
FRESH_INTERVALS = 3
"""A reading that is older than so many intervals, and than so many seconds, is not of now."""
TOTALS = 4
"""A total has to grow from each of so many readings to the next: of one that its meter updates more seldom
than it is read, two readings tell of 0 W or of many times what was drawn."""


def is_current(feed: Feed) -> bool:
    """Whether the newest record of a sensor tells of now."""
    newest = feed.latest(1)
    oldest_s = now_s() - max(FRESH_S, FRESH_INTERVALS * feed.interval_s)
    return feed.failure is None and bool(newest) and newest[0].problem is None and newest[0].time_s > oldest_s


def watts_now(feeds: Iterable[Feed]) -> tuple[Watts, ...]:
    """Of each host whose meters tell it; nothing of others."""
    power: dict[str, list[PowerResult]] = {}
    for feed in feeds:
        power.setdefault(feed.host, []).extend(_readings(feed))
    totals = ((host, system_now(every)) for host, every in power.items() if every)
    return tuple(
        Watts(host, total.power_w, total.provenance, total.scope)
        for host, total in totals
        if isinstance(total, Total)
    )


def _readings(feed: Feed) -> Iterator[PowerResult]:
    """Each channel of watts or joules with its newest value; ``None`` where there is none of now."""
    current = is_current(feed)
    for channel in feed.channels_in(POWER_UNITS):
        watts = _newest_w(feed, channel) if current else None
        yield PowerResult(
            feed.source, channel.name, channel.scope, channel.provenance, channel.method, power_w=watts
        )


def _newest_w(feed: Feed, channel: Channel) -> float | None:
    of_total = channel.unit == "J"
    newest = [
        (one.time_s, value)
        for one in feed.latest(TOTALS if of_total else 1)
        if one.problem is None and (value := one.values.get(channel.name)) is not None
    ]
    if not of_total:
        return newest[-1][1] if newest else None
    if len(newest) < TOTALS or any(
        now <= then or more <= less for (then, less), (now, more) in pairwise(newest)
    ):
        return None
    (then, less), (now, more) = newest[0], newest[-1]
    return watts if (watts := (more - less) / (now - then)) <= MOST_W else None
