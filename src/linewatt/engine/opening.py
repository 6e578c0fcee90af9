# SPDX-License-Identifier: Apache-2.0
"""How a run comes to have its hosts for itself, as they are when nobody has changed them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from linewatt.campaign.campaign import Campaign
from linewatt.engine import events
from linewatt.engine.live.session import Session
from linewatt.engine.undo.leftover import refuse_leftovers
from linewatt.engine.undo.restore import FirstPart, Undoer
from linewatt.errors import LinewattError
from linewatt.hosts.process import completed

NAMED = 8
"""hosts that are all named; of more the first ones are"""


class Opening:
    """The hosts of a run: connected to, kept from other controllers, and put back where a part was killed."""

    def __init__(
        self, campaign: Campaign, state: Path, session: Session, on_event: events.OnEvent, *, waits: bool
    ) -> None:
        self._specs = campaign.hosts
        self._state = state
        self._session = session
        self._say = on_event
        self._waits = waits

    async def open(self, resumed: str | None) -> None:
        """Raises HostInUse, ChangeError, HostError; an interrupt puts back what a first part left.

        ``resumed``: the result that is gone on with.
        """
        refuse_leftovers(self._state, self._specs.values(), resumed, waits=self._waits)
        first = FirstPart(self._state, resumed, Undoer(self._session.holder, self._tell))
        try:
            self._tell(f"connecting to {_names(list(self._specs))}")
            await self._session.connect(self._tell, self._tell if self._waits else None)
            refuse_leftovers(self._state, self._specs.values(), resumed)  # nobody changes them from here on
            await completed(first.undo(self._session.hosts))
        except asyncio.CancelledError as interrupt:
            if isinstance(interrupt.__cause__, LinewattError):
                self._say(events.LeftChanged((str(interrupt.__cause__),)))
            await completed(first.undo_after_all(self._say))
            raise

    def _tell(self, text: str) -> None:
        self._say(events.Phase(text))


def _names(names: list[str]) -> str:
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: NAMED - 2])} and {len(names) - NAMED + 2} more hosts"
