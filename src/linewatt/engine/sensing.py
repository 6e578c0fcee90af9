# SPDX-License-Identifier: Apache-2.0
"""All sensors of a run started, and what is wrong with any of them told."""

from __future__ import annotations

from linewatt.engine import events
from linewatt.engine.session import Session
from linewatt.errors import InvalidInput


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
