# SPDX-License-Identifier: Apache-2.0
"""The users of one Locust process: which of a job's they are, what they share, and when all have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from linewatt.errors import HostError
from linewatt.features.users.worker import decisions
from linewatt.features.users.worker.content import MemoryFile
from linewatt.features.users.worker.ftp import FtpUser, Surroundings
from linewatt.features.users.worker.job import UsersJob
from linewatt.features.users.worker.life import Company, Life, Listener
from linewatt.features.users.worker.tally import Tally

_ARRIVALS = -1
"""the index whose randomness says when transfers are due"""


@dataclass(frozen=True, slots=True)
class Share:
    """A process's users among those of a job: ``first``, ``first + step``, … below the number of all."""

    first: int
    step: int
    users: int

    @property
    def indices(self) -> range:
        return range(self.first, self.users, self.step)


def put_path(job: UsersJob, index: int) -> str:
    """The one file of a user on the server."""
    return f"{job.put_folder}/users-{index}"


class Crew:
    """Users that Locust starts one by one. To be made when the load begins, for ``left_s`` seconds.

    An open loop's transfers arrive here as often as this is a share of all users.
    """

    def __init__(
        self,
        job: UsersJob,
        share: Share,
        left_s: float,
        source: MemoryFile | None,
        *,
        step_off: Callable[[], None] | None = None,
        listener: Listener | None = None,
    ) -> None:
        began_s, count = time.monotonic(), len(share.indices)
        arrivals = None
        if job.arrival_rate_hz is not None and count:
            rate_hz = job.arrival_rate_hz * count / job.users
            arrivals = decisions.arrivals(rate_hz, decisions.own_randomness(job, _ARRIVALS - share.first))
        self.job = job
        self.tally = Tally()
        self.ended = threading.Event()
        """all have ended, or are waited for no longer"""
        self._company = Company(
            job,
            self.tally,
            began_s,
            began_s + left_s,
            arrivals=arrivals,
            step_off=step_off if job.start == "synchronised" else None,
            listener=listener,
        )
        until_s = self._company.until_s + job.limits.grace_s
        self._around = Surroundings(source, job.limits, until_s, _wait_writable, job.discard)
        self._indices = iter(share.indices)
        self._left, self.running = count, 0
        if not count:
            self.ended.set()

    def life(self) -> Life:
        """The next user. Raises HostError where all have begun."""
        index = next(self._indices, None)
        if index is None:
            raise HostError("users: Locust started more users here than are this process's share")
        counted = self.tally.user(index).bytes
        user = FtpUser(self.job.target, put_path(self.job, index), counted, self._around)
        self.running += 1
        return Life(index, self._company, user)

    def one_ended(self) -> None:
        self.running -= 1
        self._left -= 1
        if not self._left:
            self.ended.set()

    def stop(self, within_s: float) -> None:
        """Begin nothing more; transfers are cut after ``within_s``."""
        self._company.stop.set()
        self._around.until_s = min(self._around.until_s, time.monotonic() + within_s)


def _wait_writable(descriptor: int, limit_s: float) -> None:
    import gevent.socket

    gevent.socket.wait_write(descriptor, timeout=limit_s, timeout_exc=TimeoutError("the server took nothing"))
