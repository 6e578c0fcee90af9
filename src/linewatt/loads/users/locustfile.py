# SPDX-License-Identifier: Apache-2.0
"""The same users under Locust: ``locust -f locustfile.py --users-job job.json --users N --spawn-rate N``.

Distributed, the master alone reads the job (the JSON of ``job.as_dict``) and sends it to its workers; start
it with ``--expect-workers``. Requests appear as ``ftp`` get, put and login. What Locust has not, bytes both
ways, failures by name and histograms that can be added, travels with its own reports; the master writes the
sum to ``--users-result`` at the end.

Locust patches Python's sockets and events for greenlets when it is imported. A ``Life`` runs in
either world.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import gevent.socket
from locust import User, constant, events, task
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import LocalRunner, MasterRunner, WorkerRunner

from linewatt.errors import InvalidInput, WaitTimeout
from linewatt.loads.users.base import Action, ActionFailed, ByteCount
from linewatt.loads.users.content import MemoryFile
from linewatt.loads.users.decisions import own_randomness
from linewatt.loads.users.fleet import put_path
from linewatt.loads.users.ftp import FtpUser, Surroundings
from linewatt.loads.users.job import UsersJob, as_dict, from_dict
from linewatt.loads.users.life import BARRIER_LIMIT_S, Arrivals, Company, Life
from linewatt.loads.users.tally import Tally

JOB, READY, GO, COUNTED = "users-job", "users-ready", "users-go", "linewatt_users"
_JOB_LIMIT_S = 30.0
_ARRIVALS = -1


class Process:
    """What the users of this process share: the job once it is known, and what was counted."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.reported = Tally()
        """master: the sum of all workers"""
        self.company: Company | None = None
        self.around: Surroundings | None = None
        self.numbers = itertools.count()
        self.ready = 0
        self.known = threading.Event()
        self.go = threading.Event()
        self.workers = 1

    def begin(self, job: UsersJob, environment: Environment) -> None:
        """Time begins when the job is known; in step, when the last has logged in."""
        began_s = time.monotonic()
        rate_hz = job.arrival_rate_hz
        arrivals = None
        if rate_hz is not None:
            own = environment.runner.worker_index if isinstance(environment.runner, WorkerRunner) else 0
            arrivals = Arrivals(rate_hz / self.workers, own_randomness(job, _ARRIVALS - own))
        self.company = Company(
            job,
            self.tally,
            began_s,
            began_s + job.duration_s,
            arrivals=arrivals,
            step_off=(lambda: self._step_off(environment)) if job.start == "synchronised" else None,
            listener=_teller(environment),
        )
        until_s = self.company.until_s + job.limits.grace_s
        source = MemoryFile() if job.get_share < 1 else None
        self.around = Surroundings(source, job.limits, until_s, _wait_writable, job.discard)
        self.known.set()

    def known_job(self) -> tuple[Company, Surroundings]:
        """Raises WaitTimeout where the master sends none."""
        self.known.wait(_JOB_LIMIT_S)
        if self.company is None or self.around is None:
            raise WaitTimeout(f"users: the master's job was awaited for {_JOB_LIMIT_S:g} s")
        return self.company, self.around

    def _step_off(self, environment: Environment) -> None:
        """Say that one more is ready, and wait until the master, or the last one here, says go."""
        runner = environment.runner
        if isinstance(runner, WorkerRunner):
            runner.send_message(READY)
        else:
            self.one_ready()
        self.go.wait(BARRIER_LIMIT_S)

    def one_ready(self) -> bool:
        """True for the last of the job's users."""
        self.ready += 1
        is_last = self.company is not None and self.ready >= self.company.job.users
        if is_last:
            self.go.set()
        return is_last


HERE = Process()


@events.init_command_line_parser.add_listener
def _options(parser: Any) -> None:
    parser.add_argument(
        "--users-job", default="", include_in_web_ui=False, help="JSON of what users are to do"
    )
    parser.add_argument(
        "--users-result", default="", include_in_web_ui=False, help="where to write what they did"
    )


@events.init.add_listener
def _init(environment: Environment, **_: object) -> None:
    runner = environment.runner
    if isinstance(runner, WorkerRunner):
        runner.register_message(JOB, lambda environment, msg, **_: _take_job(environment, msg.data))
        runner.register_message(GO, lambda environment, msg, **_: HERE.go.set())
    elif isinstance(runner, MasterRunner):
        runner.register_message(READY, lambda environment, msg, **_: _take_ready(environment))


@events.test_start.add_listener
def _test_start(environment: Environment, **_: object) -> None:
    """Here or on the master: messages to a worker keep their order, so the job is there before its users."""
    runner = environment.runner
    if isinstance(runner, WorkerRunner):
        return
    options = environment.parsed_options
    job = from_dict(json.loads(Path(options.users_job).read_text())) if options else None
    if job is None:
        raise InvalidInput("users: --users-job names no file")
    if isinstance(runner, MasterRunner):
        HERE.company = Company(job, HERE.reported, 0.0, 0.0)
        for worker in list(runner.clients):
            runner.send_message(JOB, {"job": as_dict(job), "workers": runner.worker_count}, client_id=worker)
    else:
        HERE.begin(job, environment)


def _take_job(environment: Environment, data: dict[str, Any]) -> None:
    HERE.workers = int(data["workers"])
    HERE.begin(from_dict(data["job"]), environment)


def _take_ready(environment: Environment) -> None:
    if HERE.one_ready() and environment.runner is not None:
        environment.runner.send_message(GO)


@events.report_to_master.add_listener
def _report(client_id: str, data: dict[str, Any]) -> None:
    """What was counted since the last report. Users' counters are emptied in place: they hold on to them."""
    data[COUNTED] = HERE.tally.taken().as_dict()


@events.worker_report.add_listener
def _reported(client_id: str, data: dict[str, Any]) -> None:
    if COUNTED in data:
        HERE.reported.merge(Tally.from_dict(data[COUNTED]))


@events.quitting.add_listener
def _write(environment: Environment, **_: object) -> None:
    options = environment.parsed_options
    if options is None or not options.users_result or isinstance(environment.runner, WorkerRunner):
        return
    tally = HERE.tally if isinstance(environment.runner, LocalRunner) else HERE.reported
    path = Path(options.users_result)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(tally.as_dict()))
    part.replace(path)


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


def _wait_writable(descriptor: int, limit_s: float) -> None:
    gevent.socket.wait_write(descriptor, timeout=limit_s, timeout_exc=TimeoutError("the server took nothing"))


class ScriptedUser(User):
    """One user; when it begins and what it does next is decided by its number, as in a thread."""

    wait_time = constant(0)

    def on_start(self) -> None:
        company, around = HERE.known_job()
        runner = self.environment.runner
        own = runner.worker_index if isinstance(runner, WorkerRunner) else 0
        index = own + HERE.workers * next(HERE.numbers)

        def script(counted: ByteCount) -> FtpUser:
            return FtpUser(company.job.target, put_path(company.job, index), counted, around)

        self.life = Life(index, company, script)
        self.life.begin()

    @task
    def next_step(self) -> None:
        if self.life.over():
            raise StopUser
        self.life.step()

    def on_stop(self) -> None:
        self.life.end()
