# SPDX-License-Identifier: Apache-2.0
"""A Locust worker with users: it proves who it is, is told what to do, and reports until its last user ended.

HELLO → JOB → JOINED → START (and Locust's own spawning) → READY and GO where users start in step
→ REPORT … REPORT, the last one ``final``. STOP ends it early. A worker reports by messages of its own:
Locust's own statistics stay empty, and cost nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import gevent
from locust import argument_parser, runners
from locust.env import Environment
from locust.runners import WorkerRunner

from linewatt.features.users.worker.content import MemoryFile
from linewatt.features.users.worker.crew import Crew, Share
from linewatt.features.users.worker.job import UsersJob, from_dict
from linewatt.features.users.worker.life import BARRIER_LIMIT_S
from linewatt.features.users.worker.tally import WorkerReport

HELLO, JOB, JOINED, START = "users-hello", "users-job", "users-joined", "users-start"
READY, GO, REPORT, STOP, BROKEN = "users-ready", "users-go", "users-report", "users-stop", "users-broken"
_LOCUSTS_OWN_REPORT_S = 60.0


class Message(Protocol):
    """What Locust hands to a listener."""

    data: Any
    node_id: str


def listen(runner: Any, kind: str, taken: Callable[[Message], None]) -> None:
    """Have ``taken`` called with each message of that kind."""
    runner.register_message(kind, lambda environment, msg, **_: taken(msg))


class Worker:
    """This process as a worker. ``crew`` is there from START on, before Locust spawns the first user."""

    def __init__(self, environment: Environment, runner: WorkerRunner, name: str, secret: str) -> None:
        self._runner = runner
        self._name = name
        self._job: UsersJob | None = None
        self._share = Share(0, 1, 0)
        self._interval_s = 0.0
        self._source: MemoryFile | None = None
        self._go = threading.Event()
        self._is_broken = False
        self.crew: Crew | None = None
        runners.WORKER_REPORT_INTERVAL = _LOCUSTS_OWN_REPORT_S
        _parse_options_once()
        for kind, taken in (
            (JOB, self._take_job),
            (START, self._take_start),
            (GO, lambda _: self._go.set()),
            (STOP, self._take_stop),
        ):
            listen(runner, kind, taken)
        environment.events.user_error.add_listener(self._say_broken)  # type: ignore[no-untyped-call]
        runner.send_message(HELLO, {"name": name, "secret": secret})

    def _take_job(self, message: Message) -> None:
        self._job = from_dict(message.data["job"])
        self._share = Share(**message.data["share"])
        self._interval_s = float(message.data["interval_s"])
        self._source = MemoryFile() if self._job.get_share < 1 else None
        self._runner.send_message(JOINED)

    def _take_start(self, message: Message) -> None:
        if self._job is None or self.crew is not None:
            return
        left_s = float(message.data["left_s"])
        if message.data["go"]:
            self._go.set()
        self.crew = Crew(self._job, self._share, left_s, self._source, step_off=self._step_off)
        gevent.spawn_later(left_s + self._job.limits.last_s, self.crew.ended.set)
        gevent.spawn(self._account, self.crew)

    def _take_stop(self, message: Message) -> None:
        if self.crew is not None:
            within_s = float(message.data["within_s"])
            self.crew.stop(self.crew.job.limits.grace_s)
            gevent.spawn_later(within_s, self.crew.ended.set)

    def _step_off(self) -> None:
        self._runner.send_message(READY)
        self._go.wait(BARRIER_LIMIT_S)

    def _account(self, crew: Crew) -> None:
        """Report every interval, and once more when all have ended."""
        due_s, is_over = time.monotonic(), False
        start_s, cpu_s = time.time(), time.process_time()
        while not is_over:
            due_s += self._interval_s
            is_over = crew.ended.wait(max(0.0, due_s - time.monotonic()))
            end_s, cpu_now_s = time.time(), time.process_time()
            used_s = cpu_now_s - cpu_s
            report = WorkerReport(self._name, start_s, end_s, used_s, crew.running, crew.tally.taken())
            start_s, cpu_s = end_s, cpu_now_s
            self._runner.send_message(REPORT, {"final": is_over, "report": report.as_dict()})

    def _say_broken(self, exception: BaseException, **_: object) -> None:
        """What no user was written to expect: once, for it may well repeat."""
        if not self._is_broken:
            self._is_broken = True
            self._runner.send_message(BROKEN, {"text": repr(exception)})


def _parse_options_once() -> None:
    """Locust parses its options once for each one of the master when users are to begin: 0.14 s of CPU time.

    All workers of a load would spend that at one moment, on hosts that may share their CPUs.
    """
    defaults = argument_parser.default_args_dict()
    argument_parser.default_args_dict = lambda: defaults
