# SPDX-License-Identifier: Apache-2.0
"""Users of a job in this process, a thread each: for tests that have no Locust between them and users."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress

from linewatt.errors import WaitTimeout
from linewatt.features.users.worker.content import MemoryFile
from linewatt.features.users.worker.crew import put_path
from linewatt.features.users.worker.decisions import arrivals, own_randomness
from linewatt.features.users.worker.ftp import FtpUser, Surroundings
from linewatt.features.users.worker.job import UsersJob
from linewatt.features.users.worker.life import BARRIER_LIMIT_S, Company, Life
from linewatt.features.users.worker.tally import Tally


def run(job: UsersJob, stop: threading.Event | None = None, tally: Tally | None = None) -> Tally:
    """Run all users of a job here. ``stop`` ends it early; ``tally`` can be watched meanwhile.

    Raises WaitTimeout where users do not end within the job's limits after its time.
    """
    tally = Tally() if tally is None else tally
    began_s = time.monotonic()
    with MemoryFile() if job.get_share < 1 else nullcontext() as source:
        company = _company(job, tally, began_s, stop or threading.Event())
        until_s = company.until_s + job.limits.grace_s
        around = Surroundings(source, job.limits, until_s, wait_writable, job.discard)
        with ThreadPoolExecutor(job.users, "user") as pool:
            lives = [_life(job, index, company, around) for index in range(job.users)]
            _await([pool.submit(live, life) for life in lives], company)
    return tally


def wait_writable(descriptor: int, limit_s: float) -> None:
    """As a greenlet waits for a socket, in a thread. Raises TimeoutError."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if not poll.poll(1000 * limit_s):
        raise TimeoutError("the server took nothing")


def live(life: Life) -> None:
    """Until the time is over; then everything is taken back."""
    try:
        life.begin()
        while not life.over():
            life.step()
    finally:
        life.end()


class _Locked:
    """What one thread takes of an iterator after the other: a generator is for one at a time."""

    def __init__(self, values: Iterator[float]) -> None:
        self._values, self._lock = values, threading.Lock()

    def __iter__(self) -> Iterator[float]:
        return self

    def __next__(self) -> float:
        with self._lock:
            return next(self._values)


def _company(job: UsersJob, tally: Tally, began_s: float, stop: threading.Event) -> Company:
    rate_hz = job.arrival_rate_hz
    due = None if rate_hz is None else _Locked(arrivals(rate_hz, own_randomness(job, -1)))
    barrier = threading.Barrier(job.users)

    def step_off() -> None:
        with suppress(threading.BrokenBarrierError):  # one that hangs at login does not hold up the others
            barrier.wait(min(BARRIER_LIMIT_S, job.limits.connect_s + job.limits.reply_s))

    return Company(
        job,
        tally,
        began_s,
        began_s + job.duration_s,
        stop,
        due,
        step_off if job.start == "synchronised" else None,
    )


def _life(job: UsersJob, index: int, company: Company, around: Surroundings) -> Life:
    counted = company.tally.user(index).bytes
    return Life(index, company, FtpUser(job.target, put_path(job, index), counted, around))


def _await(running: list[Future[None]], company: Company) -> None:
    """Until all have ended; what no user was written to expect is raised here."""
    last_s = company.job.limits.last_s
    limit_s = max(0.0, company.until_s + last_s - time.monotonic())
    done, left = wait(running, limit_s, FIRST_EXCEPTION)
    company.stop.set()
    for one in done:
        one.result()
    if left:
        raise WaitTimeout(
            f"users: {len(left)} of {len(running)} to end were awaited for {last_s:g} s after their time;"
            " see whether the server answers"
        )
