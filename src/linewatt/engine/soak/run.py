# SPDX-License-Identifier: Apache-2.0
"""A soak: one part of it, and what is left of one that was cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.places import Site
from linewatt.campaign.plan import Round
from linewatt.campaign.soak_plan import SoakPlan, as_dict, plan_soak
from linewatt.engine import events
from linewatt.engine.live.secrets import server_password
from linewatt.engine.live.sensing import start_sensors
from linewatt.engine.networks.proof import legs, prove
from linewatt.engine.run import Places, Run
from linewatt.engine.soak.part import SoakPart
from linewatt.engine.soak.work import counter_feeds
from linewatt.engine.undo.knobs import KNOBS
from linewatt.engine.undo.settings import Settings
from linewatt.errors import DiskFull, LinewattError
from linewatt.hosts.clock import now_s
from linewatt.hosts.journal import Journal
from linewatt.hosts.process import completed
from linewatt.store import read
from linewatt.store import soak as store
from linewatt.tuning.base import Change

LEAST_LEFT_S = 1.0
"""a soak of which less is left is done"""


class SoakRun(Run[events.SoakEnded]):
    """One run of a soak."""

    def __init__(
        self,
        campaign: Campaign,
        planned: SoakPlan,
        places: Places,
        on_event: events.OnEvent,
        *,
        waits: bool = False,
    ) -> None:
        super().__init__(campaign, places, on_event, waits=waits)
        self._plan = self._first_plan = planned
        self._password = server_password(campaign)
        for feed in counter_feeds(campaign):
            self._session.feeds[feed.host].append(feed)

    async def resume(self, result: read.Result) -> events.SoakEnded:
        """Run what is left of it; the time since its last part is its gap. Raises StoreError."""
        if self._left_s(result.path) < LEAST_LEFT_S:
            self._tell(f"{result.id}: nothing to do, all of it was run")
            return self._ended(result.path)
        return await self._run(result)

    def _needs_cpus(self) -> bool:
        return self._first_plan.segments is not None and super()._needs_cpus()

    def _place(self, sites: Mapping[str, Site]) -> tuple[Sequence[Round], Iterable[Change]]:
        planned = self._plan = plan_soak(self._campaign, sites)
        every = (None, *planned.rounds)
        return planned.rounds, (change for round_ in every for change in planned.changes_in(round_))

    def _planned(self) -> Mapping[str, Any]:
        return {"plan": as_dict(self._first_plan), "order": None, "seed": None, "trials_planned": 0}

    async def _measure(
        self, path: Path, settings: Settings, journal: Journal, result: read.Result | None
    ) -> events.SoakEnded:
        session, planned = self._session, self._plan
        folder = Settings(session.hosts, KNOBS, journal)  # of its own: it outlives each round's settings
        await start_sensors(session, self._say, refuses=True)
        await settings.to(planned.changes_in(next(iter(planned.rounds), None)), session.hosts)
        for problem in await prove(session.hosts, legs(session, planned.rounds)):
            if problem is not None:
                self._say(events.Warned(problem.text))
        await session.first_readings()
        part = SoakPart(self._campaign, planned, session, settings, folder, self._say)
        left_s = self._left_s(path)
        await part.open(self._password, left_s)
        await self._part(path, part, left_s)
        return self._ended(path)

    async def _part(self, path: Path, part: SoakPart, left_s: float) -> None:
        """Run the load and have its end on record. Raises LinewattError."""
        why = "interrupted"
        try:
            folder = store.new_part(path, now_s())
            try:
                await part.run(folder, left_s)
                why = "done"
            except DiskFull:
                why = "disk full"
                raise
            except LinewattError as error:
                why = f"failed: {error}"
                raise
            finally:
                await completed(_closed(part, folder, why))
        finally:
            await completed(part.stop())
        if part.unstored is not None:
            raise part.unstored

    def _ended(self, path: Path) -> events.SoakEnded:
        left_s = self._left_s(path)
        not_run_s = 0.0 if left_s < LEAST_LEFT_S else left_s
        ended = events.SoakEnded(path.name, str(path), _ran_s(path), not_run_s)
        self._say(ended)
        return ended

    def _left_s(self, path: Path) -> float:
        return self._first_plan.soak.duration_s - _ran_s(path)


def _ran_s(result: Path) -> float:
    """How long all parts ran. Raises StoreError."""
    return sum(max(0.0, part.ended_s - part.started_s) for part in store.parts(result))


async def _closed(part: SoakPart, folder: Path, why: str) -> None:
    """Close a part and have its end on record."""
    ended_s = min(now_s(), part.until_s)
    why = await part.close(why)
    with suppress(DiskFull):  # told already; a part without an end is one that was cut
        store.end_part(folder, ended_s, why)
