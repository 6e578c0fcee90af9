# SPDX-License-Identifier: Apache-2.0
"""Single changes of hosts through the undo journal, beside the settings of a campaign."""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.engine.undo.knobs import KNOBS
from linewatt.errors import LinewattError
from linewatt.hosts.base import Host
from linewatt.hosts.journal import Entry, Journal
from linewatt.tuning import apply
from linewatt.tuning.base import Change


class Journalled:
    """Makes a change, or takes back its own when what was there before is asked for."""

    def __init__(self, hosts: Mapping[str, Host], journal: Journal) -> None:
        self._hosts, self._journal = hosts, journal

    async def __call__(self, change: Change) -> None:
        """Raises ChangeError, HostError; what was changed until then is in the journal."""
        host, knob = self._hosts[change.host], KNOBS[change.knob]
        shown = await apply.read(host, knob, change.target)
        wanted = apply.wanted_setting(knob, change, shown)
        own = self._own(change)
        if own is not None and own.before == wanted:
            await apply.undo(host, knob, own, self._journal)
        elif own is not None and own.wanted == wanted:
            await apply.reassert(host, [own], KNOBS)
        elif wanted != shown:
            await self._make(host, change, shown, wanted)
        self._journal.sync()

    async def _make(self, host: Host, change: Change, shown: str, wanted: str) -> None:
        number = self._journal.next_number()
        entry = Entry(number, change.host, change.knob, change.target, shown, wanted)
        self._journal.intend([entry])
        (outcome,) = await apply.make(host, KNOBS, [entry], self._journal)
        if isinstance(outcome, LinewattError):
            raise outcome

    def _own(self, change: Change) -> Entry | None:
        """The newest change of that setting that is not undone."""
        key = (change.host, change.knob, change.target)
        entries = reversed(self._journal.read()[1])
        return next((one for one in entries if (one.host, one.knob, one.target) == key), None)
