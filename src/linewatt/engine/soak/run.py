# SPDX-License-Identifier: Apache-2.0
"""A soak from its first connection to its last undo: one part of it, and what is left of one that was cut."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.places import Site
from linewatt.campaign.sites import read_topologies, site
from linewatt.campaign.soak_plan import SoakPlan, as_dict, plan_soak
from linewatt.engine import events
from linewatt.engine.campaign import Places
from linewatt.engine.live.secrets import passwords, server_password
from linewatt.engine.live.sensing import start_sensors
from linewatt.engine.live.session import Session
from linewatt.engine.networks.proof import legs, prove
from linewatt.engine.networks.reach import check_reach
from linewatt.engine.opening import Opening
from linewatt.engine.result import kept_if_measured, new_result, same_hosts
from linewatt.engine.soak.part import SoakPart
from linewatt.engine.soak.work import counter_feeds
from linewatt.engine.undo.knobs import KNOBS
from linewatt.engine.undo.restore import undo_and_tell
from linewatt.engine.undo.settings import Settings
from linewatt.errors import DiskFull, InvalidInput, LinewattError
from linewatt.hosts.clock import now_s
from linewatt.hosts.journal import Journal, journal_path
from linewatt.hosts.process import completed
from linewatt.store import read, samples
from linewatt.store import soak as store

LEAST_LEFT_S = 1.0
"""a soak of which less is left is done"""


def elapsed_s(result: Path) -> float:
    """How long all parts ran. Raises StoreError."""
    return sum(max(0.0, part.ended_s - part.started_s) for part in store.parts(result))


class SoakRun:
    """One run of a soak, new or resumed."""

    def __init__(
        self,
        campaign: Campaign,
        planned: SoakPlan,
        places: Places,
        on_event: events.OnEvent,
        *,
        waits: bool = False,
    ) -> None:
        """``waits``: for other controllers. Raises InvalidInput for a password that is not there."""
        self._topologies = read_topologies(campaign)
        self._campaign = campaign
        self._planned = self._placed = planned
        self._places = places
        self._say = on_event
        self._waits = waits
        self._password = server_password(campaign)
        self._session = Session(campaign, passwords(campaign))
        for feed in counter_feeds(campaign):
            self._session.feeds[feed.host].append(feed)

    async def start(self) -> events.SoakEnded:
        """Run it from its beginning. Raises LinewattError; what was changed is undone first."""
        return await self._run(None)

    async def resume(self, result: read.Result) -> events.SoakEnded:
        """Run what is left of it; the time since its last part is its gap. Raises StoreError."""
        left_s = self._planned.soak.duration_s - elapsed_s(result.path)
        if left_s < LEAST_LEFT_S:
            self._say(events.Phase(f"{result.id}: nothing to do, all of it was run"))
            return self._ended(result.path)
        return await self._run(result)

    async def _run(self, result: read.Result | None) -> events.SoakEnded:
        campaign, session = self._campaign, self._session
        try:
            with_hosts = Opening(campaign, self._places.state, session, self._say, waits=self._waits)
            await with_hosts.open(result.id if result else None)
            await session.learn()
            await check_reach(campaign.described, self._session.hosts)
            self._placed = plan_soak(campaign, dict(self._sites()))
            if result is None:
                with kept_if_measured(self._new_result(), self._say) as path:
                    return await self._run_changed(path)
            return await self._run_changed(same_hosts(campaign, self._session.facts, result))
        finally:
            await completed(self._session.close())

    def _sites(self) -> Iterator[tuple[str, Site]]:
        for name, spec in self._campaign.hosts.items():
            try:
                yield name, site(spec, self._session.facts[name], self._topologies.get(name))
            except InvalidInput as error:
                if self._campaign.chooses_cpus and self._planned.segments is not None:
                    raise InvalidInput(f"{name}: {error}") from error

    def _new_result(self) -> Path:
        planned = {"plan": as_dict(self._planned), "order": None, "seed": None, "trials_planned": 0}
        return new_result(self._places.results, self._campaign, self._session.facts, planned)

    async def _run_changed(self, path: Path) -> events.SoakEnded:
        """With every change made before, and undone after, whatever happens in between."""
        session, planned = self._session, self._placed
        journal = Journal(journal_path(self._places.state, path.name), create=True)
        journal.begin(self._campaign.hosts.values())
        try:
            settings = Settings(session.hosts, KNOBS, journal)
            for round_ in (None, *planned.rounds):
                await settings.check(planned.changes_in(round_))
            await asyncio.gather(
                start_sensors(session, self._say, refuses=True), asyncio.to_thread(samples.warm_up)
            )
            await settings.to(planned.changes_in(next(iter(planned.rounds), None)), session.hosts)
            for problem in await prove(session.hosts, legs(session, planned.rounds)):
                if problem is not None:
                    self._say(events.Warned(problem.text))
            await session.first_readings()
            part = SoakPart(self._campaign, planned, session, settings, journal, self._say)
            left_s = planned.soak.duration_s - elapsed_s(path)
            await part.open(self._password, left_s)
            await self._part(path, part, left_s)
        finally:
            await completed(undo_and_tell(journal, session.hosts, session.holder, self._say))
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
        ran_s = elapsed_s(path)
        left_s = max(0.0, self._planned.soak.duration_s - ran_s)
        ended = events.SoakEnded(path.name, str(path), ran_s, 0.0 if left_s < LEAST_LEFT_S else left_s)
        self._say(ended)
        return ended


async def _closed(part: SoakPart, folder: Path, why: str) -> None:
    """Close a part and have its end on record."""
    ended_s = min(now_s(), part.until_s)
    why = await part.close(why)
    with suppress(DiskFull):  # told already; a part without an end is one that was cut
        store.end_part(folder, ended_s, why)
