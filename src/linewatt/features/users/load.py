# SPDX-License-Identifier: Apache-2.0
"""A server and its users on their clients: the load of a trial (``trials.py``) or a soak (``soaks.py``)."""

from __future__ import annotations

from collections.abc import Callable

from linewatt.engine.live import Session
from linewatt.engine.undo import Settings
from linewatt.features.users import jobs
from linewatt.features.users.fleet import Fleet
from linewatt.features.users.model import Users
from linewatt.features.users.server import Server
from linewatt.features.users.vsftpd import Say
from linewatt.features.users.worker.tally import WorkerReport
from linewatt.model import Family


class UsersLoad:
    """Users are held from :meth:`start` to :meth:`release`; ``say`` is told what happens meanwhile.

    ``tell`` is told what is being started, ``password`` that of a server that is there already.
    """

    def __init__(
        self,
        users: Users,
        session: Session,
        say: Say,
        *,
        tell: Callable[[str], None] = lambda _: None,
        password: str | None = None,
    ) -> None:
        self.users = users
        self._session, self._say, self._tell, self._password = session, say, tell, password
        self._server: Server | None = None
        self._fleet: Fleet | None = None

    async def start(
        self,
        folder: Settings,
        family: Family,
        duration_s: float,
        interval_s: float,
        on_report: Callable[[WorkerReport], None],
    ) -> None:
        """Have the server listen, and hold users that are to work for ``duration_s``. Raises LinewattError.

        ``folder``: settings of which none is in force. Each client reports every ``interval_s``.
        """
        users, session = self.users, self._session
        reached_by = await jobs.addresses(users, session, family)
        server = jobs.make_server(
            users, session.hosts, reached_by, self._password, folder, self._say, interval_s
        )
        clients = await jobs.clients_of(users, session, server, reached_by)
        job = jobs.job_of(users, server, next(iter(reached_by.values())), duration_s)
        if users.server_host is not None:
            self._tell(f"starting the server on {users.server_host}")
        await server.start()
        self._server = server
        self._tell(f"starting {users.users} users on {len(clients)} clients")
        self._fleet = Fleet(session.hosts, clients, job, interval_s, on_report, self._say)
        await self._fleet.start()

    def release(self) -> None:
        """Let users begin: their time runs from now."""
        if self._fleet is not None:
            self._fleet.release()

    async def ended(self) -> None:
        """Wait until users have ended and reported. Raises LinewattError."""
        if self._fleet is not None:
            await self._fleet.ended()

    async def stop(self) -> None:
        """Leave nothing running, users first, and take away what the server had. Never fails."""
        fleet, self._fleet = self._fleet, None
        server, self._server = self._server, None
        if fleet is not None:
            await fleet.stop()
        if server is not None:
            await server.stop()
