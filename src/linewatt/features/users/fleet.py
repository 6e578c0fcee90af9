# SPDX-License-Identifier: Apache-2.0
"""Users on many clients: a Locust master here, a worker on each client, on the leash of its connection.

Master and workers meet on 127.0.0.1 alone: a client's end of the line is a port that its SSH connection
forwards to here. So what is said, the server's password among it, crosses no network unencrypted, and no
firewall has to be opened. Who else is on a client and finds the port is given nothing: a worker proves
itself by a secret, from a file that only it can read and that it removes.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from linewatt.errors import HostError, HostLost, InvalidInput, LinewattError, WaitTimeout
from linewatt.features.users.cpus import check_cpus, cpus_wrapper
from linewatt.features.users.master_process import START_LIMIT_S, MasterProcess, last_words
from linewatt.features.users.worker.job import Target, UsersJob, as_dict
from linewatt.features.users.worker.locust_commands import KEEP_PRIVATE, worker_command
from linewatt.features.users.worker.tally import WorkerReport
from linewatt.foreign import contained
from linewatt.hosts import LONGER_THAN_ANY_RUN_S, Host, Process

STOP_MARGIN_S = 5.0
"""how long after ``grace_s`` users that are stopped early may take to remove their files and log out"""
AT_ONCE = 32
"""workers that are started at once"""
AT_ONCE_SHARED = 2
"""the same where clients share CPUs, as in a lab: each takes a second of CPU time to start"""
REPORT_LIMIT_S = 10.0
"""how long the last reports may be on their way"""


@dataclass(frozen=True, slots=True)
class Client:
    """A host with users. ``python`` has Locust; ``python_path``: where this package is, if not in it.

    ``saturates``: whether full CPUs are its own doing, and not that of hosts on the same machine. ``cpus``
    are those that its worker runs on, ``None``: any.
    """

    host: str
    python: str
    python_path: str | None
    target: Target
    saturates: bool = True
    cpus: tuple[int, ...] | None = None


@dataclass(slots=True)
class _Seat:
    """A client and its worker. ``lost`` says why it has none any more."""

    client: Client
    secret: str = ""
    secret_file: str | None = None
    process: Process | None = None
    watch: asyncio.Task[None] | None = None
    line: tuple[Host, int] | None = None
    has_joined: bool = False
    is_final: bool = False
    lost: str | None = None

    @property
    def name(self) -> str:
        return self.client.host


@dataclass(slots=True)
class _State:
    released_s: float | None = None
    stops: bool = False
    is_ending: bool = False
    master_ended: bool = False
    failure: BaseException | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Fleet:
    """The users of a job on their clients, spread evenly over them; each client has its share throughout.

    ``on_report`` is given what a worker counted every ``interval_s``, ``say(kind, host, text)`` what happens:
    ``client-lost``, ``client-back``, ``warning``. What either raises, :meth:`ended` raises.
    """

    def __init__(
        self,
        hosts: Mapping[str, Host],
        clients: Sequence[Client],
        job: UsersJob,
        interval_s: float,
        on_report: Callable[[WorkerReport], None],
        say: Callable[[str, str, str], None],
    ) -> None:
        self._hosts = hosts
        self._job = job
        self._interval_s = interval_s
        self._on_report = on_report
        self._say = say
        self._seats = {client.host: _Seat(client) for client in clients}
        if not clients or len(self._seats) < len(clients):
            raise InvalidInput("users: each client must be named, and once")
        self._master = MasterProcess()
        self._port = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._state = _State()
        alone = all(client.saturates for client in clients)
        self._few = asyncio.Semaphore(AT_ONCE if alone else AT_ONCE_SHARED)

    async def start(self) -> None:
        """Start master and workers; returns when all are connected, and nothing is loaded yet.

        Raises HostError (what a client lacks, in its own words), WaitTimeout naming who is missing,
        and leaves nothing running.
        """
        try:
            await self._master.start(self._job.users)
            self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._watch_master())]
            for task in self._tasks:
                task.add_done_callback(self._task_ended)
            await self._until(lambda: self._port > 0, START_LIMIT_S)
            for seat in self._seats.values():
                seat.secret = secrets.token_hex(16)
            self._master.order("job", **self._orders())
            begun = (self._seated(seat) for seat in self._seats.values())
            for outcome in await asyncio.gather(*begun, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
        except BaseException:  # Ctrl-C too
            await self._finish()
            raise

    def release(self) -> None:
        """Let users begin; their time runs from now."""
        self._state.released_s = time.monotonic()
        self._master.order("release")

    async def ended(self) -> None:
        """Wait until the time is over and the last reports are in; workers stay until :meth:`stop`.

        Raises HostError where the master ended, and what ``on_report`` and ``say`` raised.
        """
        state = self._state
        if state.released_s is None:
            raise HostError("users: waited for the end of users that were not released")
        left_s = state.released_s + self._job.duration_s - time.monotonic()
        await self._until(lambda: state.stops, left_s)
        await self._last_reports(self._job.limits.last_s + REPORT_LIMIT_S)

    async def stop(self) -> None:
        """Leave nothing running, users first (:meth:`halt`). Bounded, and never fails."""
        await self.halt()
        await self._finish()

    async def halt(self) -> None:
        """End users early: they end what they do, within ``grace_s``, remove their files, and report.

        Bounded, and never fails; their workers stay. Nothing happens when all is over.
        """
        state = self._state
        state.stops = True
        state.changed.set()
        if state.released_s is not None and not state.is_ending and not state.master_ended:
            within_s = self._job.limits.grace_s + STOP_MARGIN_S
            self._master.order("stop", within_s=within_s)
            await self._last_reports(within_s + REPORT_LIMIT_S, heeds=False)

    async def again(self, host: str) -> None:
        """Start the worker of a client that was lost anew, with the same users; says ``client-back``.

        Raises HostError where it is not lost, or cannot be started: it stays lost then.
        """
        async with self._few:
            await self._again(self._seats[host])
        self._say("client-back", host, "its users begin again")

    def lacks(self, host: str) -> bool:
        """Whether a client has lost its users, and there is still something for them to do."""
        return self._seats[host].lost is not None and not self._state.stops and not self._state.is_ending

    async def _again(self, seat: _Seat) -> None:
        if not self.lacks(seat.name):
            raise HostError(f"{seat.name}: its users are not lost, or all is over")
        seat.lost, seat.secret = None, secrets.token_hex(16)
        seat.has_joined = seat.is_final = False
        self._master.order("expect", name=seat.name, secret=seat.secret)
        try:
            await self._begin(seat)
            await self._joined(seat)
        except BaseException as error:  # Ctrl-C too
            seat.lost = seat.lost or str(error) or "it was not waited for"
            await self._end_worker(seat)
            raise

    # --- workers -----------------------------------------------------------------------------------------

    def _orders(self) -> dict[str, Any]:
        clients = [
            {"name": seat.name, "secret": seat.secret, "target": asdict(seat.client.target)}
            for seat in self._seats.values()
        ]
        return {"job": as_dict(self._job), "clients": clients, "interval_s": self._interval_s}

    async def _seated(self, seat: _Seat) -> None:
        async with self._few:
            await self._begin(seat)
            await self._joined(seat)

    async def _begin(self, seat: _Seat) -> None:
        host = self._hosts[seat.name]
        await check_cpus(host, seat.client.cpus, "users.client_cpus")
        if seat.line is None or seat.line[0] is not host:
            seat.line = (host, await host.forward(self._port))
        done = await host.run(["bash", "-c", KEEP_PRIVATE, "linewatt"], stdin=seat.secret)
        if done.status:
            raise HostError(f"{seat.name}: no file for its users: {done.stderr.strip()}; make room in /tmp")
        seat.secret_file = done.stdout.strip()
        client = seat.client
        argv = worker_command(client.python, client.python_path, seat.line[1], seat.name, seat.secret_file)
        seat.process = await host.start(argv, wrapper=cpus_wrapper(client.cpus))
        seat.watch = asyncio.create_task(self._watch(seat, seat.process))

    async def _joined(self, seat: _Seat) -> None:
        if not await self._until(lambda: seat.has_joined or seat.lost is not None, START_LIMIT_S):
            raise WaitTimeout(f"{seat.name}: waited {START_LIMIT_S:g} s for its Locust worker")
        if seat.lost:
            raise HostError(f"{seat.name}: its users cannot run: {seat.lost}")

    async def _watch(self, seat: _Seat, process: Process) -> None:
        try:
            ended = await process.wait(LONGER_THAN_ANY_RUN_S, "the end of its users")
            text = f"its worker ended: {last_words(ended)}"
        except HostLost as error:
            text = str(error)
        if self._state.is_ending or seat.process is not process:
            return
        counts = seat.has_joined and not seat.is_final
        seat.lost = text
        self._master.order("lost", name=seat.name)
        if counts:
            self._tell("client-lost", seat.name, text)
        self._state.changed.set()

    async def _dismissed(self, seat: _Seat) -> None:
        async with self._few:
            await self._end_worker(seat)

    async def _end_worker(self, seat: _Seat) -> None:
        process, watch, seat.watch = seat.process, seat.watch, None
        if process is not None:
            with suppress(HostError):
                await process.stop()
        if watch is not None:
            await asyncio.gather(watch, return_exceptions=True)
        host = self._hosts[seat.name]
        if seat.secret_file and not seat.has_joined and host.lost is None:
            with suppress(HostError):
                await host.run(["rm", "-f", "--", seat.secret_file])

    # --- the master --------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            event = await self._master.events.get()
            try:
                with contained("users: what a worker says"):
                    self._take(event)
            except LinewattError as error:  # and the next report may well be taken
                self._fail(error)
            self._state.changed.set()

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = event.get("is")
        if kind == "listening":
            self._port = int(event["port"])
        elif kind == "joined":
            self._seats[event["name"]].has_joined = True
        elif kind == "report":
            self._seats[event["report"]["worker"]].is_final = bool(event["final"])
            self._on_report(WorkerReport.from_dict(event["report"]))
        elif kind == "broken":
            self._say("warning", event["name"], f"users: {event['text']}")
        else:
            raise HostError(f"users: the Locust master said {str(event)[:200]}")

    async def _watch_master(self) -> None:
        ended = await self._master.ended()
        self._state.master_ended = True
        if not self._state.is_ending:
            self._fail(HostError(f"users: the Locust master ended: {last_words(ended)}"))

    async def _last_reports(self, limit_s: float, *, heeds: bool = True) -> None:
        """Until all are in; with ``heeds`` not after something went wrong."""
        state = self._state

        def missing() -> list[str]:
            seats = [seat for seat in self._seats.values() if seat.lost is None]
            return [seat.name for seat in seats if not seat.is_final]

        def is_so() -> bool:
            return not missing() or (state.master_ended and not heeds)

        if not await self._until(is_so, limit_s, heeds=heeds):
            for name in missing():
                self._tell("warning", name, f"the last report of its users was awaited for {limit_s:g} s")

    async def _finish(self) -> None:
        if self._state.is_ending:
            return
        self._state.is_ending = True
        ends = (self._dismissed(seat) for seat in self._seats.values())
        await asyncio.gather(*ends, return_exceptions=True)
        self._master.order("quit")
        await self._master.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- waiting -----------------------------------------------------------------------------------------

    async def _until(self, is_so: Callable[[], bool], limit_s: float, *, heeds: bool = True) -> bool:
        """Whether it became so within the limit. With ``heeds`` raises what went wrong meanwhile."""
        state, end_s = self._state, time.monotonic() + limit_s
        while not is_so():
            if heeds and state.failure is not None:
                raise state.failure
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            state.changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):  # wait_for of Python 3.11 may swallow a cancellation
                    await state.changed.wait()
        return True

    def _tell(self, kind: str, host: str, text: str) -> None:
        try:
            self._say(kind, host, text)
        except LinewattError as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._state.failure = self._state.failure or error
        self._state.changed.set()
