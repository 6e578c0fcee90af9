# SPDX-License-Identifier: Apache-2.0
"""Users under Locust, which patches Python's sockets and events for greenlets.

Distributed, linewatt starts and leads master and workers (``locust_master.py``, ``locust_worker.py``). One
process alone can be run by hand: ``python -m linewatt.features.users.worker --headless --users N
--spawn-rate N --users-job job.json`` (the JSON of ``job.as_dict``); its requests appear as ``ftp`` get, put
and login, and what Locust has not, bytes both ways, failures by name and histograms, is written to
``--users-result``.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from locust import User, constant, events, task
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

from linewatt.errors import InvalidInput
from linewatt.features.users.worker.base import Action, ActionFailed
from linewatt.features.users.worker.content import MemoryFile
from linewatt.features.users.worker.crew import Crew, Share
from linewatt.features.users.worker.job import from_dict
from linewatt.features.users.worker.life import BARRIER_LIMIT_S
from linewatt.features.users.worker.locust_master import Master
from linewatt.features.users.worker.locust_worker import Worker


class Alone:
    """This process by itself: the job comes from a file, the barrier is among its own users."""

    def __init__(self, environment: Environment, job_file: str) -> None:
        self._environment = environment
        self._job = from_dict(json.loads(Path(job_file).read_text()))
        self._ready, self._go = 0, threading.Event()
        self.crew: Crew | None = None

    def begin(self) -> None:
        job = self._job
        self.crew = Crew(
            job,
            Share(0, 1, job.users),
            job.duration_s,
            MemoryFile() if job.get_share < 1 else None,
            step_off=self._step_off,
            listener=_teller(self._environment),
        )

    def _step_off(self) -> None:
        self._ready += 1
        if self._ready >= self._job.users:
            self._go.set()
        self._go.wait(BARRIER_LIMIT_S)

    def write(self, result_file: str) -> None:
        if self.crew is None or not result_file:
            return
        path = Path(result_file)
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(self.crew.tally.as_dict()))
        part.replace(path)


class Process:
    """What this process is; users find their crew here."""

    part: Alone | Worker | None = None

    def crew(self) -> Crew:
        if self.part is None or self.part.crew is None:
            raise InvalidInput("users: there is no job yet")
        return self.part.crew


HERE = Process()


@events.init_command_line_parser.add_listener
def _options(parser: Any) -> None:
    for name, text in (
        ("--users-job", "alone: JSON of what users are to do"),
        ("--users-result", "alone: where to write what they did"),
        ("--users-control", "master: the socket of who leads it"),
        ("--users-name", "worker: its name"),
        ("--users-secret", "worker: a file with what proves it, which it removes"),
    ):
        parser.add_argument(name, default="", include_in_web_ui=False, help=text)


@events.init.add_listener
def _init(environment: Environment, **_: object) -> None:
    runner, options = environment.runner, environment.parsed_options
    if options is None:
        return
    if isinstance(runner, MasterRunner):
        Master(environment, runner, options.users_control).wait_for_release()
    elif isinstance(runner, WorkerRunner):
        secret = Path(options.users_secret)
        text = secret.read_text().strip()
        secret.unlink()
        HERE.part = Worker(environment, runner, options.users_name, text)
    elif options.users_job:
        HERE.part = Alone(environment, options.users_job)


@events.test_start.add_listener
def _test_start(environment: Environment, **_: object) -> None:
    if isinstance(HERE.part, Alone):
        HERE.part.begin()


@events.quitting.add_listener
def _write(environment: Environment, **_: object) -> None:
    if isinstance(HERE.part, Alone) and environment.parsed_options is not None:
        HERE.part.write(environment.parsed_options.users_result)


def _teller(environment: Environment) -> Any:
    def tell(action: Action, took_s: float, transferred_bytes: int, failure: ActionFailed | None) -> None:
        environment.events.request.fire(
            request_type="ftp",
            name=action,
            response_time=took_s * 1000,
            response_length=transferred_bytes,
            exception=failure,
            context={},
        )

    return tell


class ScriptedUser(User):
    """One user; when it begins and what it does next is decided by its number, as in a thread."""

    wait_time = constant(0)

    def on_start(self) -> None:
        self.crew = HERE.crew()
        self.life = self.crew.life()
        self.life.begin()

    @task
    def next_step(self) -> None:
        if self.life.over():
            raise StopUser
        self.life.step()

    def on_stop(self) -> None:
        try:
            self.life.end()
        finally:
            self.crew.one_ended()
