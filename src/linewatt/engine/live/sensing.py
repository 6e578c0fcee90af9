# SPDX-License-Identifier: Apache-2.0
"""Sensors of a run started, what is wrong with any told, and what ends, hangs or goes away tried again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator

from linewatt.analysis.power import Refused, Shown, refused_scopes
from linewatt.engine import events
from linewatt.engine.live.feed import LiveFeed
from linewatt.engine.live.meters import MeterFeed
from linewatt.engine.live.session import Session
from linewatt.errors import InvalidInput, LinewattError
from linewatt.hosts import now_s

AGAIN_S = 10.0
"""between starts of a sensor that ends by itself or hangs"""


async def start_sensors(session: Session, say: events.OnEvent, *, refuses: bool) -> None:
    """Start them and wait until sources of power have spoken.

    With ``refuses``, as before any change and any load, a choice that cannot be raises InvalidInput; what
    else is wrong with a source of power is told, and the run goes on without it.
    """
    say(events.Phase("starting sensors"))
    await session.start_sensors()
    silent = await session.silent()
    refused = next(((feed, why) for feed, why in silent if feed.refused is not None), None)
    if refused is not None and refuses:
        raise InvalidInput(f"{refused[0].host}: {refused[0].source}: {refused[1]}")
    for feed, why in silent:
        say(events.Warned(f"{feed.host}: {feed.source}: {why}; going on without it"))
    for host, contradiction in _contradictions(session.all_feeds()):
        say(
            events.Warned(
                f"{host}: {contradiction.source}: {contradiction.evidence}; find out which is "
                f"wrong before using either"
            )
        )


def _contradictions(feeds: Iterable[LiveFeed]) -> Iterator[tuple[str, Refused]]:
    """What cannot be of the first watts of each host."""
    shown: dict[str, list[Shown]] = {}
    for feed in feeds:
        values = feed.latest(1)[0].values if feed.latest(1) else {}
        for channel in feed.channels_in(("W",)):
            value = values.get(channel.name)
            if value is not None and channel.provenance != "estimate":
                first_reading = Shown(feed.source, channel.name, channel.scope, value)
                shown.setdefault(feed.host, []).append(first_reading)
    for host, readings in shown.items():
        yield from ((host, refusal) for refusal in refused_scopes(readings))


class Restarts:
    """Starts sensors again that ended by themselves or hang, now and then; meters try again by themselves."""

    def __init__(self, session: Session, tell: Callable[[str, str], None]) -> None:
        """``tell`` is given a host, and in words what ended there: once, until it has run on again."""
        self._session = session
        self._tell = tell
        self._again_s: dict[tuple[str, str], float] = {}

    async def look(self, away: Collection[str] = ()) -> bool:
        """Start what has ended or hangs on hosts that are there; whether anything was started."""
        feeds = self._session.all_feeds()
        looks = (self._look_at(feed) for feed in feeds if feed.host not in away)
        return any(await asyncio.gather(*looks))

    async def _look_at(self, feed: LiveFeed) -> bool:
        key, host = (feed.host, feed.source), self._session.hosts[feed.host]
        if not host.lost:
            feed.notice_silence()
        if feed.failure is None and now_s() > self._again_s.get(key, math.inf) + AGAIN_S:
            del self._again_s[key]  # it runs on: if it ends another time, that is told too
        if feed.failure is None or isinstance(feed, MeterFeed) or host.lost:
            return False
        if key not in self._again_s:
            self._tell(feed.host, f"{feed.source} {feed.failure}; starting it again")
        if now_s() < self._again_s.get(key, 0.0):
            return False
        self._again_s[key] = now_s() + AGAIN_S
        try:
            await feed.start(host)
        except LinewattError:
            return False
        return True


async def try_until_it_works(
    attempt: Callable[[], Awaitable[None]],
    pauses_s: Iterable[float],
    tell: Callable[[str], None] = lambda _: None,
) -> str | None:
    """Try after each of these pauses until it works; why it did not at the last, None: it does.

    ``tell`` is told why it does not, and again only where that is another reason.
    """
    problem = None
    for pause_s in pauses_s:
        await asyncio.sleep(pause_s)
        try:
            await attempt()
        except LinewattError as error:
            if str(error) != problem:
                tell(problem := str(error))
        else:
            return None
    return problem
