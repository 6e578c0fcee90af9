# SPDX-License-Identifier: Apache-2.0
"""A Locust master led by linewatt over a socket: orders come in as JSON lines, events leave on stdout.

=========  ==========================================================================================
orders     ``job`` (the job, its clients with name, secret and target, and how often they report),
           ``release``, ``lost`` (a client's process is gone), ``expect`` (a new one, with its secret),
           ``stop``, ``quit``
events     ``listening`` (port), ``joined`` (name), ``report`` (final, report), ``broken`` (name, text)
=========  ==========================================================================================

Who comes without a client's secret is given nothing. Users are never moved to another client: each has its
share, also one that comes back.
"""

from __future__ import annotations

import hmac
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import gevent
from locust import runners
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.runners import MasterRunner, WorkerNode

from linewatt.errors import HostError
from linewatt.features.users.worker.crew import Share
from linewatt.features.users.worker.job import Target, UsersJob, as_dict, from_dict
from linewatt.features.users.worker.locust_worker import (
    BROKEN,
    GO,
    HELLO,
    JOB,
    JOINED,
    READY,
    REPORT,
    START,
    STOP,
    Message,
    listen,
)

_NEVER = 1_000_000_000


@dataclass(slots=True)
class Place:
    """A client: what it may do, and its worker while there is one."""

    share: Share
    target: Target
    secret: str | None
    node: str | None = None
    has_joined: bool = False


class Master:
    """This process as the master."""

    def __init__(self, environment: Environment, runner: MasterRunner, control: str) -> None:
        self._runner = runner
        self._job: UsersJob | None = None
        self._interval_s = 0.0
        self._places: dict[str, Place] = {}
        self._ready: Counter[str] = Counter()
        self._has_gone = False
        self._until_s: float | None = None
        self._awaited = threading.Event()
        self._quits = False
        self._be_quiet(environment)
        for kind, taken in (
            (HELLO, self._greet),
            (JOINED, self._joined),
            (READY, self._one_ready),
            (REPORT, self._reported),
            (BROKEN, self._broken),
        ):
            listen(runner, kind, taken)
        self._orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._orders.connect(control)
        gevent.spawn(self._obey)
        _tell("listening", port=runner.server.port)

    def _be_quiet(self, environment: Environment) -> None:
        """What Locust would do by itself and linewatt does."""
        # Who is lost is known sooner by its SSH connection; a busy client must not be taken for a lost one.
        runners.HEARTBEAT_LIVENESS = _NEVER
        # Else it gathers a line every five seconds as long as it runs.
        self._runner.stats.total.use_response_times_cache = False
        self._runner.master_bind_port = self._runner.server.port
        environment.dispatcher_class = self._dispatcher()

    def wait_for_release(self) -> None:
        """Until users may begin: Locust starts them once this returns. Exits where none shall."""
        self._awaited.wait()
        if self._quits:
            self._runner.quit()
            sys.exit(0)

    # --- orders ------------------------------------------------------------------------------------------

    def _obey(self) -> None:
        with self._orders.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                order = json.loads(line)
                getattr(self, f"_order_{order.pop('do')}")(**order)
        if not self._quits:  # whoever led it is gone
            self._order_quit()

    def _order_job(self, job: Mapping[str, Any], clients: list[dict[str, Any]], interval_s: float) -> None:
        self._job, self._interval_s = from_dict(job), interval_s
        for slot, client in enumerate(clients):
            share = Share(slot, len(clients), self._job.users)
            self._places[client["name"]] = Place(share, Target(**client["target"]), client["secret"])

    def _order_release(self) -> None:
        if self._job is None:
            raise HostError("users: released without a job")
        self._until_s = time.monotonic() + self._job.duration_s
        for place in self._places.values():
            if place.has_joined:
                self._start(place)
        self._awaited.set()

    def _order_lost(self, name: str) -> None:
        place = self._places[name]
        node, place.node, place.has_joined = place.node, None, False
        if node is not None and node in self._runner.clients:
            del self._runner.clients[node]
        self._ready.pop(name, None)
        self._go_if_all()

    def _order_expect(self, name: str, secret: str) -> None:
        self._places[name].secret = secret

    def _order_stop(self, within_s: float) -> None:
        for place in self._places.values():
            self._send(place, STOP, {"within_s": within_s})

    def _order_quit(self) -> None:
        self._quits = True
        if self._awaited.is_set():
            self._runner.quit()
        self._awaited.set()

    # --- messages of workers -----------------------------------------------------------------------------

    def _greet(self, message: Message) -> None:
        greeting = message.data if isinstance(message.data, dict) else {}
        place = self._places.get(str(greeting.get("name")))
        if place is None or place.secret is None or self._job is None:
            return
        if not hmac.compare_digest(place.secret.encode(), str(greeting.get("secret")).encode()):
            return
        place.secret, place.node = None, message.node_id
        job = as_dict(replace(self._job, target=place.target))
        self._send(place, JOB, {"job": job, "share": asdict(place.share), "interval_s": self._interval_s})

    def _joined(self, message: Message) -> None:
        name, place = self._who(message)
        if place is None:
            return
        place.has_joined = True
        _tell("joined", name=name)
        if self._until_s is not None and self._job is not None:
            self._start(place)
            gevent.spawn(self._runner.start, self._job.users, self._job.users)

    def _start(self, place: Place) -> None:
        if self._until_s is not None:
            left_s = max(0.0, self._until_s - time.monotonic())
            self._send(place, START, {"left_s": left_s, "go": self._has_gone})

    def _one_ready(self, message: Message) -> None:
        name, place = self._who(message)
        if place is not None:
            self._ready[name] += 1
            self._go_if_all()

    def _go_if_all(self) -> None:
        """The barrier opens when every user of every client that is there has logged in, or tried to."""
        joined = {name: place for name, place in self._places.items() if place.has_joined}
        user_count = sum(len(place.share.indices) for place in joined.values())
        if not self._has_gone and self._until_s is not None and self._ready.total() >= user_count:
            self._has_gone = True
            for place in joined.values():
                self._send(place, GO, None)

    def _reported(self, message: Message) -> None:
        name, place = self._who(message)
        if place is not None:
            report = {**message.data["report"], "worker": name}
            _tell("report", final=bool(message.data["final"]), report=report)

    def _broken(self, message: Message) -> None:
        name, place = self._who(message)
        if place is not None:
            _tell("broken", name=name, text=str(message.data["text"]))

    def _who(self, message: Message) -> tuple[str, Place | None]:
        """Whose worker sent it; ``None`` where none of ours did."""
        for name, place in self._places.items():
            if place.node == message.node_id:
                return name, place
        return "", None

    def _send(self, place: Place, kind: str, data: dict[str, Any] | None) -> None:
        if place.node is not None and place.node in self._runner.clients:
            self._runner.send_message(kind, data, client_id=place.node)

    def _dispatcher(self) -> type[UsersDispatcher]:
        """Locust's own spreads users anew whenever a worker comes or goes; here each has its share."""
        master = self

        class Fixed(UsersDispatcher):
            def __init__(self, worker_nodes: list[WorkerNode], user_classes: list[Any]) -> None:
                super().__init__(worker_nodes, user_classes)
                self._name = user_classes[0].__name__

            @property
            def dispatch_in_progress(self) -> bool:
                """Always, so that Locust starts nothing by itself when a worker comes or goes."""
                return True

            def new_dispatch(self, *_: object, **__: object) -> None:
                pass

            def add_worker(self, worker_node: WorkerNode) -> None:
                pass

            def remove_worker(self, worker_node: WorkerNode) -> None:
                pass

            def __iter__(self) -> Iterator[dict[str, dict[str, int]]]:
                users_by_node = {
                    p.node: len(p.share.indices) for p in master._places.values() if p.has_joined
                }
                yield {node: {self._name: users_by_node.get(node, 0)} for node in master._runner.clients}

        return Fixed


def _tell(kind: str, **values: Any) -> None:
    sys.stdout.write(json.dumps({"is": kind, **values}) + "\n")
    sys.stdout.flush()
