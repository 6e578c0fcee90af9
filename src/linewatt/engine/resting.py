# SPDX-License-Identifier: Apache-2.0
"""Hosts that are let cool down between trials, and refused where nothing tells whether they do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from linewatt.analysis.power import DEGREES
from linewatt.engine.live.feed import Feed
from linewatt.engine.live.session import Session
from linewatt.engine.measuring.cool import follows_s, sources_of, warm
from linewatt.errors import InvalidInput, WaitTimeout
from linewatt.hosts import now_s
from linewatt.model import Window
from linewatt.records import IdleHost

LOOK_S = 3.0
"""What is looked at, from when the wait began at the earliest: the last seconds, or two readings of a slower
source. Less is not enough: fans follow a load late, and a slow meter still shows what was before it."""
LATE_LIMIT_S = 5.0
AGAIN_S = 1.0
NO_TEMPERATURE = "no temperature was read; only fans and watts were awaited"


def refuse_without_temperature(session: Session) -> None:
    """Where all sources of a host have spoken, and none tells of a temperature. Raises InvalidInput."""
    for name in session.specs:
        feeds = session.feeds[name]
        spoke = all(feed.failure is None and feed.latest_s > 0 for feed in feeds)
        if spoke and not _has_temperature(feeds):
            raise InvalidInput(
                f"{name}: rest: until-cool needs a temperature, and neither its kernel (coretemp, k10temp, a "
                "CPU's thermal zone) nor a source of power tells of one; take rest out, or name such a source"
            )


async def cooled(session: Session, idle: Mapping[str, IdleHost | None], limit_s: float) -> dict[str, str]:
    """Wait until hosts are as cool as they were ``idle``, for at most ``limit_s``.

    Returns of each that is not, or of which it is not known, what was awaited, in words.
    """
    until_s = now_s() + limit_s
    reasons = await asyncio.gather(
        *(_cooled(session, name, idle_host, until_s, limit_s) for name, idle_host in idle.items())
    )
    return {name: why for name, why in zip(idle, reasons, strict=True) if why is not None}


async def _cooled(
    session: Session, name: str, idle: IdleHost | None, until_s: float, limit_s: float
) -> str | None:
    feeds = session.feeds[name]
    if idle is None or not sources_of(idle):
        return "it has no idle window with temperatures, fans or watts to compare with"
    compared_feeds = [feed for feed in feeds if feed.source in sources_of(idle)]
    began_s = now_s()
    looked_s = began_s + max([LOOK_S, follows_s(idle), *(2 * feed.interval_s for feed in compared_feeds)])
    while True:
        still_warm = _warm(idle, feeds, began_s)
        at_s = now_s()
        if not still_warm and at_s >= min(looked_s, until_s):
            return None if _has_temperature(feeds) else NO_TEMPERATURE
        if at_s >= until_s:
            return f"waited {limit_s:g} s, and still: {'; '.join(still_warm)}"
        await _next_reading(compared_feeds, until_s - at_s)


def _warm(idle: IdleHost, feeds: Iterable[Feed], began_s: float) -> tuple[str, ...]:
    """By what was read since the wait began."""
    end_s = now_s()
    exceeded: list[str] = []
    for feed in feeds:
        start_s = max(began_s, end_s - max(LOOK_S, 2 * feed.interval_s))
        exceeded += warm(idle, feed.reading(start_s, end_s), Window(start_s, end_s))
    return tuple(exceeded)


async def _next_reading(feeds: Iterable[Feed], limit_s: float) -> None:
    """Of every source that delivers; of none a second, in which meters try again."""
    live = [feed for feed in feeds if feed.failure is None]
    if live:
        await asyncio.gather(*(_past(feed, min(limit_s, feed.interval_s + LATE_LIMIT_S)) for feed in live))
    else:
        await asyncio.sleep(min(limit_s, AGAIN_S))


async def _past(feed: Feed, limit_s: float) -> None:
    with suppress(WaitTimeout):
        await feed.wait_past(feed.latest_s + 1e-6, limit_s)


def _has_temperature(feeds: Iterable[Feed]) -> bool:
    return any(feed.channels_in((DEGREES,)) for feed in feeds)
