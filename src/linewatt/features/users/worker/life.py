# SPDX-License-Identifier: Apache-2.0
"""One user from its start to its end: log in, get and put, think, and log in again after a failure.

Nothing here sleeps otherwise than on an event, so that it runs in a thread and in a greenlet alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from linewatt.features.users.worker import decisions
from linewatt.features.users.worker.base import (
    KEEPS_SESSION,
    Action,
    ActionFailed,
    RemoteFile,
    Stopped,
    Transfer,
)
from linewatt.features.users.worker.ftp import FtpUser
from linewatt.features.users.worker.job import UsersJob
from linewatt.features.users.worker.tally import Tally

BARRIER_LIMIT_S = 60.0
Listener = Callable[[Action, float, int, ActionFailed | None], None]
"""hears of every action: the seconds that it took, its bytes, and its failure, None where it was done"""


@dataclass(frozen=True, slots=True)
class Company:
    """What the users of a process have in common. Times are on ``time.monotonic``'s line.

    ``arrivals`` are when transfers of an open loop are due, after ``began_s``; whoever is free takes the
    next. ``step_off`` waits for all others and is called once by each user, logged in or not.
    """

    job: UsersJob
    tally: Tally
    began_s: float
    until_s: float
    stop: threading.Event = field(default_factory=threading.Event)
    arrivals: Iterator[float] | None = None
    step_off: Callable[[], None] | None = None
    listener: Listener | None = None


class Life:
    """What a user does from one thing to the next."""

    def __init__(self, index: int, company: Company, user: FtpUser) -> None:
        self._index = index
        self._company = company
        self._job = company.job
        self._randomness = decisions.own_randomness(company.job, index)
        self._turn = decisions.first_turn(company.job, index)
        self._counts = company.tally.user(index)
        self._user = user
        self._logged_in = False
        self._failed_in_a_row = 0
        self._done_of_cycle = 0
        self._read_back: RemoteFile | None = None

    def begin(self) -> None:
        """Wait for this user's start; in step, all log in first and then wait for each other."""
        self._sleep(decisions.start_delay_s(self._job, self._index, self._randomness))
        if self._company.step_off is not None:
            self._log_in()
            self._company.step_off()

    def over(self) -> bool:
        return self._company.stop.is_set() or time.monotonic() >= self._company.until_s

    def step(self) -> None:
        """One login or one transfer, and the pause after it."""
        if not self._logged_in and not self._log_in():
            self._sleep(decisions.retry_s(self._failed_in_a_row))
            return
        due_s = self._due_s()
        if due_s is not None:
            self._sleep(due_s - time.monotonic())
            if self.over():
                return
        if not self._transfer(due_s):
            self._sleep(decisions.retry_s(self._failed_in_a_row))
        elif self._job.login_per == "cycle" and self._done_of_cycle >= self._job.cycle_transfers:
            self._log_out()
        if due_s is None:
            self._sleep(decisions.think_s(self._job, self._randomness))

    def end(self) -> None:
        """Leave no file and no connection; a failure of that is counted as one of a put."""
        began_s = time.monotonic()
        try:
            self._user.leave()
        except ActionFailed as error:
            self._failed("put", error, began_s)
        finally:
            self._user.drop()

    def _due_s(self) -> float | None:
        arrivals = self._company.arrivals
        return None if arrivals is None else self._company.began_s + next(arrivals)

    def _log_in(self) -> bool:
        began_s = time.monotonic()
        try:
            self._user.login()
        except ActionFailed as error:
            self._failed("login", error, began_s)
            return False
        took_s = time.monotonic() - began_s
        self._company.tally.logged_in(self._index, took_s)
        self._tell("login", took_s, 0, None)
        self._logged_in, self._failed_in_a_row, self._done_of_cycle = True, 0, 0
        return True

    def _log_out(self) -> None:
        self.end()
        self._logged_in, self._read_back = False, None

    def _transfer(self, due_s: float | None) -> bool:
        action = decisions.action(self._turn, self._job.get_share)
        self._turn += 1
        began_s = time.monotonic()
        try:
            transfer = self._get() if action == "get" else self._put()
        except ActionFailed as error:
            self._failed(action, error, began_s)
            return False
        except Stopped:
            self._counts.unfinished += 1
            self._leave_at_once()
            return True
        wait_s = None if due_s is None else max(0.0, began_s - due_s)
        self._company.tally.done(self._index, action, transfer, wait_s)
        self._tell(action, transfer.total_s + (wait_s or 0.0), transfer.transferred_bytes, None)
        self._failed_in_a_row = 0
        self._done_of_cycle += 1
        return True

    def _get(self) -> Transfer:
        back, self._read_back = self._read_back, None
        if back is not None:
            return self._user.get(back, check=True)
        file = decisions.chosen(self._job.files, self._randomness)
        return self._user.get(file, check=self._is_checked())

    def _put(self) -> Transfer:
        self._read_back = None
        transfer = self._user.put(decisions.chosen(self._job.put_sizes, self._randomness))
        if self._is_checked():
            self._read_back = self._user.written()
        return transfer

    def _is_checked(self) -> bool:
        return self._randomness.random() < self._job.checked_share

    def _failed(self, action: Action, error: ActionFailed, began_s: float) -> None:
        self._company.tally.failed(self._index, action, error.failure, str(error))
        self._tell(action, time.monotonic() - began_s, 0, error)
        self._failed_in_a_row += 1
        if action == "login" or error.failure not in KEEPS_SESSION:
            self._leave_at_once()

    def _leave_at_once(self) -> None:
        self._user.drop()
        self._logged_in, self._read_back = False, None

    def _tell(self, action: Action, took_s: float, count: int, failure: ActionFailed | None) -> None:
        if self._company.listener is not None:
            self._company.listener(action, took_s, count, failure)

    def _sleep(self, wait_s: float) -> None:
        left_s = self._company.until_s - time.monotonic()
        if min(wait_s, left_s) > 0:
            self._company.stop.wait(min(wait_s, left_s))
