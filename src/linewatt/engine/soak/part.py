# SPDX-License-Identifier: Apache-2.0
"""One part of a soak on live hosts: server and users up, load running, hosts lost and found, all stored."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.soak_plan import SoakPlan
from linewatt.engine import events
from linewatt.engine.live.feed import Feed
from linewatt.engine.live.sensing import Restarts, tried
from linewatt.engine.live.session import Session
from linewatt.engine.soak import work
from linewatt.engine.soak.fleet import Fleet
from linewatt.engine.soak.recorder import Recorder
from linewatt.engine.soak.segments import Segments
from linewatt.engine.soak.server import Server
from linewatt.engine.soak.vsftpd import VsftpdServer
from linewatt.engine.undo.settings import Settings
from linewatt.errors import DiskFull, StoreError
from linewatt.hosts.clock import now_s
from linewatt.hosts.process import completed

TICK_S = 1.0
WATCH_S = 1.0
RECONNECT_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""between attempts at a host that is away; the last one again and again"""
LONGEST_S = 10.0
"""and who reads more seldom is not waited for: what came before is stored"""
LAST_READING_S = 3.0
"""what sensors may take, beyond their interval, to deliver what was when the load ended"""


class SoakPart:
    """Built up by :meth:`open`, run, its end stored by :meth:`close`, taken down by :meth:`stop`."""

    def __init__(
        self,
        campaign: Campaign,
        planned: SoakPlan,
        session: Session,
        settings: Settings,
        folder: Settings,
        say: events.OnEvent,
    ) -> None:
        """``folder``: what is in force of the server's own folder, nothing yet."""
        self._campaign, self._planned = campaign, planned
        self._session, self._settings, self._folder = session, settings, folder
        self._say = say
        self._server: Server | None = None
        self._fleet: Fleet | None = None
        self._recorder = Recorder(session.hosts, self._feeds, say)
        self._began_s, self.until_s = 0.0, math.inf
        self._away: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._restarts = Restarts(session, lambda host, text: self._happened("sensor-ended", host, text))
        self.unstored: StoreError | None = None
        """why what came last is not on disk"""

    async def open(self, password: str | None, left_s: float) -> None:
        """Server listening, and users held that are to work for ``left_s``.

        Raises LinewattError; nothing of it is left then.
        """
        try:
            await self._open(password, left_s)
        except BaseException:
            await completed(self.stop())
            raise

    async def _open(self, password: str | None, left_s: float) -> None:
        users, session, soak = self._planned.users, self._session, self._planned.soak
        if users is None:
            return
        reached_by = await work.addresses(users, session, self._campaign.families[0])
        host = None if users.server_host is None else session.hosts[users.server_host]
        server = work.make_server(
            users, host, reached_by, password, self._folder, self._happened, soak.interval_s
        )
        clients = await work.clients_of(users, session, server, reached_by)
        job = work.job_of(users, server, next(iter(reached_by.values())), left_s)
        if host is not None:
            self._say(events.Phase(f"starting the server on {host.spec.name}"))
        await server.start()
        self._server = server
        self._say(events.Phase(f"starting {users.users} users on {len(clients)} clients"))
        self._fleet = Fleet(
            session.hosts, clients, job, soak.interval_s, self._recorder.report, self._happened
        )
        await self._fleet.start()

    def _happened(self, kind: str, host: str, text: str) -> None:
        if kind == "client-lost":
            self._recorder.users.lost(host)
            self._begin(self._users_again(host))
        self._recorder.happened(kind, host, text)

    # --- the load ------------------------------------------------------------------------------------------

    async def run(self, folder: Path, left_s: float) -> None:
        """The load, for ``left_s``. Raises StoreError, HostError."""
        recorder, users = self._recorder, self._planned.users
        if users is not None and users.server_host is not None and self._server is not None:
            recorder.server = (users.server_host, self._server)
        recorder.begin(folder, users.clients if users is not None else ())
        self._began_s, self.until_s = now_s(), now_s() + left_s
        every_s = self._planned.soak.interval_s
        beside = [recorder.run(every_s), recorder.watch_server(every_s), self._watch_hosts(), self._tick()]
        await _until_done(self._load(), beside)

    async def _load(self) -> None:
        segments = Segments(self._session, self._planned, self._settings, self._recorder.add, self._happened)
        loads = [segments.run(self.until_s)]
        if self._fleet is not None:
            self._fleet.release()
            loads.append(self._fleet.ended())
        await _all_or_none(loads)

    def _feeds(self) -> list[Feed]:
        return [feed for feeds in self._session.feeds.values() for feed in feeds]

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            elapsed_s = now_s() - self._began_s
            running = None if self._fleet is None else self._recorder.users.running
            left_s = max(0.0, self.until_s - now_s())
            self._say(events.Soaking(self._rate_bps(), running, elapsed_s, left_s))

    def _rate_bps(self) -> float | None:
        """What the interfaces of the server, or of receivers, carry both ways."""
        users = self._planned.users
        if users is not None:
            names = {users.server_host} if users.server_host is not None else set(users.clients)
        else:
            names = {trial.case.receiver for one in self._planned.rounds for trial in one.trials}
        rates = [
            feed.rate_bps("nic.rx_bytes", "nic.tx_bytes")
            for feed in self._feeds()
            if feed.host in names and feed.counts_bytes
        ]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known and len(known) == len(rates) else None

    # --- hosts that go and come ------------------------------------------------------------------------

    async def _watch_hosts(self) -> None:
        """Hosts that went away, and sensors that ended by themselves, again and again."""
        try:
            while True:
                await asyncio.sleep(WATCH_S)
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
        async def again() -> None:
            await self._session.reopen(name)
            await self._settings.reassert(name)

        await self._until_it_works(name, "not connected again yet", again)
        self._happened("host-back", name, "connected again")
        users, server = self._planned.users, self._server
        if users is None:
            return
        if name == users.server_host and isinstance(server, VsftpdServer):
            server.use(self._session.hosts[name])
        if name in users.clients:
            await self._users_again(name)

    async def _users_again(self, name: str) -> None:
        """Start the users of a client anew whose worker ended; a host that is away has its own way back."""

        async def again() -> None:
            fleet = self._fleet
            if fleet is not None and fleet.lacks(name) and not self._session.hosts[name].lost:
                await fleet.again(name)

        await self._until_it_works(name, "its users do not begin again yet", again)

    async def _until_it_works(self, host: str, what: str, again: Callable[[], Awaitable[None]]) -> None:
        pauses_s = chain(RECONNECT_S, repeat(RECONNECT_S[-1]))
        await tried(again, pauses_s, lambda why: self._happened("warning", host, f"{what}: {why}"))

    # --- the end -----------------------------------------------------------------------------------------

    async def close(self, why: str) -> str:
        """End users, have all that they and the server did on disk; returns why it ended, at last."""
        if self._fleet is not None:
            await self._fleet.halt()
        if self._server is not None:
            await self._server.settle()
        ended_s = now_s()
        waits = (
            feed.heard(ended_s, min(feed.interval_s, LONGEST_S) + LAST_READING_S) for feed in self._feeds()
        )
        await asyncio.gather(*waits)
        try:
            await self._recorder.last()
        except StoreError as error:
            self.unstored = error
            return "disk full" if isinstance(error, DiskFull) else f"failed: {error}"
        return why

    async def stop(self) -> None:
        """Leave nothing running; never fails."""
        if self._fleet is not None:
            await self._fleet.stop()
        if self._server is not None:
            await self._server.stop()


async def _all_or_none(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Wait for all; what one raises ends the others, and nothing of them goes on."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_done(main: Awaitable[None], beside: Sequence[Awaitable[None]]) -> None:
    """Wait for ``main``; what one beside it raises ends it too. Nothing goes on after it."""
    first = asyncio.ensure_future(main)
    others = [asyncio.ensure_future(one) for one in beside]
    try:
        done, _ = await asyncio.wait({first, *others}, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
    finally:
        for one in (first, *others):
            one.cancel()
        await asyncio.gather(first, *others, return_exceptions=True)
