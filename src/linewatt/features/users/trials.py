# SPDX-License-Identifier: Apache-2.0
"""One trial of users: a server and users of its own, let go at the barrier, counted, and taken away."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from linewatt.campaign import Campaign
from linewatt.campaign.planning import PlannedTrial
from linewatt.engine import events
from linewatt.engine.live import LoadTime, Session, TrialRun, UsersReport
from linewatt.engine.undo import ALL_KNOBS, Settings
from linewatt.errors import HostError, LinewattError
from linewatt.features.users import jobs as work
from linewatt.features.users.load import UsersLoad
from linewatt.features.users.model import users_in
from linewatt.features.users.worker.tally import WorkerReport
from linewatt.hosts import Offset, now_s
from linewatt.hosts.journal import Journal
from linewatt.model import Case

REPORT_S = 1.0
"""how often a client says what its users did, at most"""
TROUBLE = ("client-lost", "server-ended")
"""after which a trial is none: its users, or what they use, were not there all the time"""


@dataclass(frozen=True, slots=True)
class UsersAtWork:
    """What trials of users have in common. ``folder``: settings in which only folders of servers are."""

    session: Session
    campaign: Campaign
    folder: Settings
    say: events.OnEvent

    counted: ClassVar[tuple[str, ...]] = ("nic.rx_bytes", "nic.tx_bytes")
    """users move data both ways"""

    @classmethod
    async def of(
        cls, session: Session, campaign: Campaign, journal: Journal, say: events.OnEvent
    ) -> UsersAtWork:
        """Raises HostError: a client is not prepared for users."""
        if (users := users_in(campaign)) is not None:
            await work.environments(users, session)
        return cls(session, campaign, Settings(session.hosts, ALL_KNOBS, journal), say)

    def trial(self, planned: PlannedTrial, load: LoadTime) -> UsersTrial:
        return UsersTrial(self, planned, load)


class UsersTrial:
    """Keeps to what :class:`~linewatt.engine.rounds.RoundRunner` does with a live trial."""

    def __init__(self, common: UsersAtWork, planned: PlannedTrial, load: LoadTime) -> None:
        self.planned = planned
        self.load_s = load.seconds
        self._common, self._session = common, common.session
        self._report_s = min(REPORT_S, 2 * load.interval_s)
        self._started_s = now_s()
        self._clocks: dict[str, Offset] = {}
        self._users: UsersLoad | None = None
        self._reports: list[UsersReport] = []
        self._said: dict[str, str] = {}
        self._trouble: list[str] = []

    @property
    def case(self) -> Case:
        return self.planned.case

    async def prepared(self) -> str | None:
        """Why it cannot be prepared, with everything stopped; ``None``: users are held at the barrier."""
        try:
            await self._prepare()
        except LinewattError as error:
            await self.stop()
            return str(error)
        except BaseException:
            await self.stop()
            raise
        return None

    async def _prepare(self) -> None:
        if (campaign_users := users_in(self._common.campaign)) is None:
            raise HostError("this campaign has no users")
        users = work.users_of_trial(campaign_users, self.planned)
        self._users = UsersLoad(users, self._session, self._happened)
        await self._users.start(
            self._common.folder, self.case.family, self.load_s, self._report_s, self._report
        )

    def _happened(self, kind: str, host: str, text: str) -> None:
        where = f"{host}: {text}" if host else text
        if kind in TROUBLE:
            self._trouble.append(where)
        elif kind == "warning":
            self._common.say(events.Warned(where))

    def _report(self, report: WorkerReport) -> None:
        clock, total = self._session.hosts[report.worker].clock, report.tally.total()
        self._said |= {f"{a} {f}": line for (a, f), line in report.tally.said.items()} | self._said
        self._reports.append(
            UsersReport(
                host=report.worker,
                start_s=clock.to_controller(report.start_s),
                end_s=clock.to_controller(report.end_s),
                cpu_s=report.cpu_s,
                received_bytes=total.bytes.received_bytes,
                sent_bytes=total.bytes.sent_bytes,
                gets=total.gets,
                puts=total.puts,
                failures={f"{action} {name}": count for (action, name), count in total.failures.items()},
            )
        )

    def pids(self) -> dict[str, list[int | None]]:
        """No process of users is looked at by itself; what is set on their hosts is."""
        return {name: [] for name in self.case.hosts}

    def release(self) -> None:
        """Let users begin: their time runs from now."""
        self._started_s = now_s()
        with suppress(HostError):
            self._clocks = self._session.clocks(self.case)
        if self._users is not None:
            self._users.release()

    async def collect(self) -> TrialRun:
        """Wait until users have ended; a failure is part of the answer, not raised."""
        failure = None
        try:
            if self._users is not None:
                await self._users.ended()
        except LinewattError as error:
            failure = str(error)
        finally:
            ended_s = now_s()
            await self.stop()
        return self._run(ended_s, failure or next(iter(self._trouble), None))

    async def stop(self) -> None:
        """End whatever of this trial still runs, the users first, and take away what the server had."""
        if self._users is not None:
            await self._users.stop()

    def failed(self, reason: str) -> TrialRun:
        """The answer for a trial that never got to its load."""
        return self._run(now_s(), reason)

    def _run(self, ended_s: float, failure: str | None) -> TrialRun:
        clocks: Mapping[str, Offset] = {}
        with suppress(HostError):
            clocks = self._session.clocks(self.case)
        return TrialRun(
            self.planned,
            self._started_s,
            ended_s,
            self.load_s,
            (),
            {**self._clocks, **clocks},
            failure,
            flows=(None,) * len(self.case.flows),
            users=tuple(self._reports),
            complaints=tuple(f"{kind}: {line}" for kind, line in self._said.items()),
        )
