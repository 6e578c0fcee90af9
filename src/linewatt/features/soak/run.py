# SPDX-License-Identifier: Apache-2.0
"""A soak on live hosts, or what is left of one: users and load at work, hosts lost and found, all stored."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from linewatt.analysis.cases import whole_sum
from linewatt.campaign import Campaign
from linewatt.campaign.planning import Round, Site
from linewatt.engine import ImportStep, Places, Run, events
from linewatt.engine.live import Restarts, is_current, start_sensors, try_until_it_works, watts_now
from linewatt.engine.networks import legs_of_rounds, prove_paths
from linewatt.engine.undo import ALL_KNOBS, Settings
from linewatt.errors import DiskFull, LinewattError, StoreError
from linewatt.features.soak import storage as store
from linewatt.features.soak.plan import SoakPlan, as_dict, plan_soak
from linewatt.features.soak.recorder import Recorder
from linewatt.features.soak.segments import Segments
from linewatt.features.users.soaks import users_of_soak
from linewatt.hosts import finish_before_cancel, now_s
from linewatt.hosts.journal import Journal
from linewatt.store import Result, warm_up_samples
from linewatt.tuning import Change

LEAST_LEFT_S = 1.0
"""a soak of which less is left is done"""
TICK_S = 1.0
WATCH_S = 1.0
RECONNECT_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""between attempts at a host that is away; the last one again and again"""
LONGEST_S = 10.0
"""and who reads more seldom is not waited for: what came before is stored"""
LAST_READING_S = 3.0
"""what sensors may take, beyond their interval, to deliver what was when the load ended"""


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
        self._users = users_of_soak(
            campaign, self._session, self._happened, lambda text: self._say(events.Phase(text))
        )
        self._recorder = Recorder(self._session.all_feeds, self._users, self._say)
        self._began_s, self._until_s = 0.0, math.inf
        self._away: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._restarts = Restarts(self._session, partial(self._happened, "sensor-ended"))
        self._unstored: StoreError | None = None
        """why what came last is not on disk"""

    async def resume(self, result: Result) -> events.SoakEnded:
        """Run what is left of it; the time since its last part is its gap. Raises StoreError."""
        if self._left_s(result.path) < LEAST_LEFT_S:
            self._tell(f"{result.id}: nothing to do, all of it was run")
            return self._ended(result.path)
        return await self._run(result)

    def _needed(self) -> list[ImportStep]:
        return [*super()._needed(), warm_up_samples]

    def _needs_cpus(self) -> bool:
        return self._first_plan.segments is not None and super()._needs_cpus()

    def _place(self, sites: Mapping[str, Site]) -> tuple[Sequence[Round], Iterable[Change]]:
        planned = self._plan = plan_soak(self._campaign, sites)
        rounds = (None, *planned.rounds)
        return planned.rounds, (change for round_ in rounds for change in planned.changes_in(round_))

    def _planned(self) -> Mapping[str, Any]:
        return {"plan": as_dict(self._first_plan), "order": None, "seed": None, "trials_planned": 0}

    async def _measure(
        self, path: Path, settings: Settings, journal: Journal, result: Result | None
    ) -> events.SoakEnded:
        session, planned = self._session, self._plan
        folder = Settings(session.hosts, ALL_KNOBS, journal)  # of its own: it outlives each round's settings
        await start_sensors(session, self._say, refuses=True)
        await settings.to(planned.changes_in(next(iter(planned.rounds), None)), session.hosts)
        for problem in await prove_paths(session.hosts, legs_of_rounds(session, planned.rounds)):
            if problem is not None:
                self._say(events.Warned(problem.text))
        await session.first_readings()
        left_s = self._left_s(path)
        try:
            if self._users is not None:
                await self._users.hold(folder, self._campaign.families[0], left_s, self._plan.soak.interval_s)
            async with self._measuring():
                await self._part(path, settings, left_s)
        finally:
            await finish_before_cancel(self._stop())
        if self._unstored is not None:
            raise self._unstored
        return self._ended(path)

    async def _part(self, path: Path, settings: Settings, left_s: float) -> None:
        """Run the load and have its end on record. Raises LinewattError."""
        why = "interrupted"
        folder = store.new_part(path, now_s())
        try:
            await self._load(folder, settings, left_s)
            why = "done"
        except DiskFull:
            why = "disk full"
            raise
        except LinewattError as error:
            why = f"failed: {error}"
            raise
        finally:
            await finish_before_cancel(self._close(folder, why))

    def _happened(self, kind: str, host: str, text: str) -> None:
        if kind == "client-lost" and self._users is not None:
            self._users.totals.lost(host)
            self._begin(self._users_again(host))
        self._recorder.happened(kind, host, text)

    # --- the load ------------------------------------------------------------------------------------------

    async def _load(self, folder: Path, settings: Settings, left_s: float) -> None:
        """The load, for ``left_s``. Raises StoreError, HostError."""
        recorder = self._recorder
        recorder.begin(folder)
        self._began_s, self._until_s = now_s(), now_s() + left_s
        self._observers.soak_runs(self._ends)
        every_s = self._plan.soak.interval_s
        side_work = [recorder.run(every_s), recorder.watch_server(every_s), self._watch_hosts(), self._tick()]
        await _until_done(self._loads(settings), side_work)

    async def _loads(self, settings: Settings) -> None:
        segments = Segments(self._session, self._plan, settings, self._recorder.add, self._happened)
        loads = [segments.run(self._until_s)]
        if self._users is not None:
            self._users.release()
            loads.append(self._users.ended())
        await _all_or_none(loads)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            elapsed_s = now_s() - self._began_s
            running = None if self._users is None else self._users.totals.running
            left_s = max(0.0, self._until_s - now_s())
            watts = watts_now(self._session.all_feeds(self._measured))
            self._say(events.Soaking(self._rate_bps(), running, elapsed_s, left_s, watts))

    @property
    def _measured(self) -> set[str]:
        """The server, or else clients, or receivers."""
        users = self._plan.users
        if users is None:
            return {trial.case.receiver for round_ in self._plan.rounds for trial in round_.trials}
        return {users.server_host} if users.server_host is not None else set(users.clients)

    @property
    def _ends(self) -> tuple[events.Placed, ...]:
        """The server and its clients, or else both ends of each pair; where the load runs there changes."""
        users = self._plan.users
        if users is None:
            ends = (end for round_ in self._plan.rounds for trial in round_.trials for end in trial.case.ends)
            return tuple(events.Placed(host, role) for host, role in dict.fromkeys(ends))
        server = () if users.server_host is None else (events.Placed(users.server_host, "receiver"),)
        return (*server, *(events.Placed(host, "sender") for host in users.clients))

    def _rate_bps(self) -> float | None:
        """What their interfaces carry both ways."""
        return whole_sum(
            feed.rate_bps("nic.rx_bytes", "nic.tx_bytes") if is_current(feed) else None
            for feed in self._session.all_feeds(self._measured)
            if feed.counts_bytes
        )

    # --- hosts that go and come ------------------------------------------------------------------------

    async def _watch_hosts(self) -> None:
        """Hosts that went away, and sensors that ended by themselves, again and again."""
        try:
            while True:
                await asyncio.sleep(WATCH_S)
                self._note_slow_hosts()
                for name, why in self._session.lost().items():
                    if name not in self._away or self._away[name].done():
                        self._happened("host-lost", name, f"lost: {why}; connecting again")
                        self._away[name] = asyncio.create_task(self._reconnect(name))
                await self._restarts.look({name for name, task in self._away.items() if not task.done()})
        finally:
            work = [*self._away.values(), *self._tasks]
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reconnect(self, name: str) -> None:
        await self._until_it_works(name, "not connected again yet", partial(self._reopened, name))
        self._happened("host-back", name, "connected again")
        if self._users is None:
            return
        self._users.reconnected(name)
        if name in self._users.users.clients:
            await self._users_again(name)

    async def _users_again(self, name: str) -> None:
        """Start the users of a client anew whose worker ended; a host that is away has its own way back."""
        if self._users is not None:
            again = partial(self._users.again, name)
            await self._until_it_works(name, "its users do not begin again yet", again)

    async def _until_it_works(self, host: str, what: str, again: Callable[[], Awaitable[None]]) -> None:
        pauses_s = chain(RECONNECT_S, repeat(RECONNECT_S[-1]))
        await try_until_it_works(
            again, pauses_s, lambda why: self._happened("warning", host, f"{what}: {why}")
        )

    # --- the end -----------------------------------------------------------------------------------------

    async def _close(self, folder: Path, why: str) -> None:
        """End users, have all that they and the server did on disk, and why it ended at last."""
        ended_s = min(now_s(), self._until_s)
        if self._users is not None:
            await self._users.close()
        quiet_s, feeds = now_s(), self._session.all_feeds()
        limits_s = [min(feed.interval_s, LONGEST_S) + LAST_READING_S for feed in feeds]
        await asyncio.gather(*(feed.heard(quiet_s, s) for feed, s in zip(feeds, limits_s, strict=True)))
        try:
            await self._recorder.last()
        except StoreError as error:
            self._unstored = error
            why = "disk full" if isinstance(error, DiskFull) else f"failed: {error}"
        with suppress(DiskFull):  # told already; a part without an end is one that was cut
            store.end_part(folder, ended_s, why)

    async def _stop(self) -> None:
        """Leave nothing running; never fails."""
        if self._users is not None:
            await self._users.stop()

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


async def _all_or_none(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Wait for all; what one raises ends the others, and nothing of them goes on."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_done(main: Awaitable[None], side_work: Sequence[Awaitable[None]]) -> None:
    """Wait for ``main``; what one beside it raises ends it too. Nothing goes on after it."""
    first = asyncio.ensure_future(main)
    others = [asyncio.ensure_future(awaitable) for awaitable in side_work]
    try:
        done, _ = await asyncio.wait({first, *others}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (first, *others):
            task.cancel()
        await asyncio.gather(first, *others, return_exceptions=True)
