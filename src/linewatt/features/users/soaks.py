# SPDX-License-Identifier: Apache-2.0
"""The users of one soak: clients and a server that may go and come, and what they counted so far.

Of the modules that run users, the soak imports this one only.
"""

from __future__ import annotations

from collections.abc import Callable

from linewatt.campaign import Campaign
from linewatt.engine.live import Session
from linewatt.engine.undo import Settings
from linewatt.errors import HostError, ParseError
from linewatt.features.users.jobs import counter_feeds
from linewatt.features.users.load import UsersLoad
from linewatt.features.users.model import Users, users_in
from linewatt.features.users.server_password import server_password
from linewatt.features.users.totals import UserTotals
from linewatt.features.users.vsftpd import CHANNELS, SOURCE, Say, VsftpdServer
from linewatt.features.users.worker.tally import WorkerReport
from linewatt.hosts import now_s
from linewatt.model import Family
from linewatt.store import Series


def users_of_soak(
    campaign: Campaign, session: Session, say: Say, tell: Callable[[str], None]
) -> SoakUsers | None:
    """The users of a campaign, if it has any; counters of the server's interfaces join those of the session.

    Raises InvalidInput: the password of its server is not where the campaign says.
    """
    users = users_in(campaign)
    if users is None:
        return None
    load = SoakUsers(users, session, say, tell, server_password(campaign))
    for feed in counter_feeds(campaign):
        session.feeds[feed.host].append(feed)
    return load


class SoakUsers(UsersLoad):
    """``say(kind, host, text)`` is told of each kind of failure once, and what goes and comes."""

    def __init__(
        self, users: Users, session: Session, say: Say, tell: Callable[[str], None], password: str | None
    ) -> None:
        super().__init__(users, session, say, tell=tell, password=password)
        self.totals = UserTotals()

    async def hold(self, folder: Settings, family: Family, left_s: float, interval_s: float) -> None:
        """As :meth:`start`, with what users report counted in ``totals``."""
        await self.start(folder, family, left_s, interval_s, self._count)

    def _count(self, report: WorkerReport) -> None:
        for kind, line in self.totals.add(report, self._session.hosts[report.worker].clock):
            self._say("first-failure", report.worker, f"{kind}: {line}")

    def server_series(self) -> list[Series]:
        """What the server counted until now; empty without one that linewatt starts."""
        server = self._server
        if not isinstance(server, VsftpdServer):
            return []
        return [Series(server.host.spec.name, SOURCE, CHANNELS, server.samples(now_s()))]

    # --- hosts that go and come ----------------------------------------------------------------------------

    def reconnected(self, host: str) -> None:
        """Go on over a new connection; a server that ended with the old one is started."""
        if host == self.users.server_host and isinstance(self._server, VsftpdServer):
            self._server.use(self._session.hosts[host])

    async def again(self, host: str) -> None:
        """Start the users of a client anew whose worker ended, if its host is there. Raises HostError."""
        fleet = self._fleet
        if fleet is not None and fleet.lacks(host) and not self._session.hosts[host].lost:
            await fleet.again(host)

    # --- the end -------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End users, and have all that they and the server did counted. Never fails."""
        if self._fleet is not None:
            await self._fleet.halt()
        try:
            await self._settle()
        except (HostError, ParseError) as error:
            host = self.users.server_host or ""
            self._say("warning", host, f"its log was not read to the end: {error}")

    async def _settle(self) -> None:
        """Have the server's log read to its end, over a new connection where the old one has ended."""
        server, hosts = self._server, self._session.hosts
        if not isinstance(server, VsftpdServer):
            return
        server.keep_no_longer()
        try:
            await server.settle()
        except HostError:
            name = server.host.spec.name
            if hosts[name].lost:
                await self._session.connect_again(name)
            elif hosts[name] is server.host:
                raise
            server.use(hosts[name])
            await server.settle()
