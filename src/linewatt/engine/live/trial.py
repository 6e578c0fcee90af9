# SPDX-License-Identifier: Apache-2.0
"""One trial on live hosts: servers up, clients held at the barrier, let go, and what they wrote collected.

Numbers are made of it elsewhere (:mod:`linewatt.engine.measuring.measure`), after the load has ended.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Protocol

from linewatt.campaign import load_options
from linewatt.campaign.planning import PlannedInstance, PlannedTrial
from linewatt.engine.live.line_rate import PortLine, all_lines
from linewatt.engine.live.session import End, Session
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun
from linewatt.engine.readiness.checkup_probes import listening_command
from linewatt.engine.readiness.port_probes import Refusal, try_ports
from linewatt.errors import HostError, InvalidInput, LinewattError, ParseError
from linewatt.hosts import Ended, Host, Offset, Process, clock_set_s, now_s, set_in_trial
from linewatt.loads import LoadJob, protocol_of
from linewatt.model import Case, Trial
from linewatt.network import Framing, payload_bytes
from linewatt.placement import bind_to_cpus

LISTEN_LIMIT_S = 5
END_LIMIT_S = 10.0
STOP_LIMIT_S = 3.0
ABANDONED_S = 1.0
"""how much later than its client a server may end: then it may be that no client came to it"""
REFUSED_LIMIT_S = 1.2
"""for a connection to a server that a client did not get to"""


class TrialFailed(LinewattError):
    """A trial came to no result; its text is the reason."""


@dataclass(frozen=True, slots=True)
class LoadTime:
    """How long a load runs, and how often it says what it did, in seconds."""

    seconds: float
    interval_s: float


@dataclass(slots=True)
class Instance:
    """The two processes of one load instance: host → what binds its process to CPUs, role → its command."""

    planned: PlannedInstance
    pins: dict[str, list[str]]
    commands: dict[str, list[str]]
    most_bytes: int
    server: Process | None = None
    client: Process | None = None


class Live(Protocol):
    """A trial from its preparation to the collection of its output, whatever makes its load."""

    planned: PlannedTrial

    @property
    def case(self) -> Case: ...

    async def prepared(self) -> str | None:
        """Why it cannot be prepared, with everything stopped; ``None``: it is ready."""

    def pids(self) -> dict[str, list[int | None]]:
        """Host → the processes whose threads are to be read back."""

    def release(self) -> None:
        """Open the barrier."""

    async def collect(self) -> TrialRun:
        """Wait for the load to end and return what it wrote; a failure is part of the answer, not raised."""

    async def stop(self) -> None:
        """End whatever of this trial still runs."""

    def failed(self, reason: str) -> TrialRun:
        """The answer for a trial that never got to its load."""


class LiveTrial:
    """One trial of two hosts, or one pair of a group, from its preparation to what it wrote."""

    def __init__(self, session: Session, planned: PlannedTrial, load: LoadTime, levels: Levels) -> None:
        self.planned = planned
        self.load_s = load.seconds
        self._levels = levels
        self._target_bps: float | None = None
        self._lines: tuple[PortLine, ...] = ()
        self._pcie_goodput_bps: dict[str, float | None] = {}
        self._framings: dict[str, Framing] = {}
        self._session = session
        self._interval_s = load.interval_s
        self._instances: list[Instance] = []
        self._started_s = now_s()
        self._clocks: dict[str, Offset] = {}
        """as they were at the barrier"""
        self._refusal: asyncio.Task[str] | None = None

    @property
    def case(self) -> Case:
        return self.planned.case

    async def prepare(self) -> None:
        """Servers listening, clients held. Raises TrialFailed, HostError."""
        self._target_bps = self._levels.target_bps(self.case)
        self._lines = self._session.port_lines(self.case)
        self._pcie_goodput_bps = self._session.pcie_goodput_bps(self.case)
        self._framings = {name: end.framing for name, end in self._session.ends(self.case).items()}
        self._instances = [self._instance(planned) for planned in self.planned.instances]
        server, client = self._session.hosts[self.case.server], self._session.hosts[self.case.client]
        await asyncio.gather(*(self._start(instance, server, client) for instance in self._instances))
        if self._instances:
            await self._wait_listening(server)
        await asyncio.gather(*(instance.client.ready() for instance in self._instances if instance.client))

    async def prepared(self) -> str | None:
        """Why it cannot be prepared, with everything stopped; ``None``: it is ready."""
        try:
            await self.prepare()
        except (TrialFailed, HostError) as error:
            await self.stop()
            return str(error)
        return None

    def _instance(self, planned: PlannedInstance) -> Instance:
        case, session = self.case, self._session
        ends = session.ends(case, planned.data_port or 0)
        job = LoadJob(
            test=case.test,
            server_address=ends[case.server].address,
            client_address=ends[case.client].address,
            payload_bytes=_payload_bytes(case, ends.values()),
            port=planned.port,
            duration_s=self.load_s,
            interval_s=self._interval_s,
            family=case.family,
            streams=case.streams,
            rate_bps=case.rate_bps if self._target_bps is None else self._target_bps / case.instances,
            reverse=case.direction == "reverse",
            zerocopy=bool(case.zerocopy),
            options=load_options(case),
        )
        pins = {
            case.sender: bind_to_cpus(planned.sender_cpu, planned.sender_node),
            case.receiver: bind_to_cpus(planned.receiver_cpu, planned.receiver_node),
        }
        load, versions = session.load, session.versions
        commands = {
            "server": load.server_command(job, versions[case.server]),
            "client": load.client_command(job, versions[case.client]),
        }
        return Instance(planned, pins, commands, load.most_bytes(job))

    async def _start(self, instance: Instance, server: Host, client: Host) -> None:
        pins, commands = instance.pins, instance.commands
        instance.server = await server.start(commands["server"], wrapper=pins[self.case.server])
        instance.server.bound(instance.most_bytes)
        instance.client = await client.start(commands["client"], wrapper=pins[self.case.client], held=True)
        instance.client.bound(instance.most_bytes)

    async def _wait_listening(self, server: Host) -> None:
        load = self._session.load
        ports = [instance.planned.port for instance in self._instances]
        limit_s = LISTEN_LIMIT_S + math.ceil(self._session.late_s([self.case.server]))
        command = listening_command(limit_s, ports, load.listens(protocol_of(self.case.test)))
        done = await server.run(command, timeout_s=limit_s + 2)
        if done.status != 0:
            complaints = " ".join(
                line for instance in self._instances if (line := self._complaint(instance.server))
            )
            raise TrialFailed(
                f"{server.spec.name}: waited {limit_s} s for {load.name} to listen on "
                f"{_ports(ports)}; {complaints or 'is something else using these ports?'}"
            )

    def pids(self) -> dict[str, list[int | None]]:
        """Host → its load processes, in the order of the instances."""
        return {
            self.case.client: [
                instance.client.pid if instance.client else None for instance in self._instances
            ],
            self.case.server: [
                instance.server.pid if instance.server else None for instance in self._instances
            ],
        }

    def release(self) -> None:
        """Open the barrier for every client of this trial."""
        self._started_s = now_s()
        with suppress(HostError):
            self._clocks = self._session.clocks(self.case)
        for instance in self._instances:
            if instance.client is not None:
                instance.client.release()

    async def collect(self) -> TrialRun:
        """Wait for the load to end and return what it wrote; a failure is part of the answer, not raised."""
        waits = [wait for instance in self._instances for wait in self._waits(instance)]
        if not waits:  # active idle: time passes, and that is the load
            waits = [asyncio.ensure_future(asyncio.sleep(self.load_s))]
        failure = None
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_EXCEPTION)
            failure = next((str(wait.exception()) for wait in done if wait.exception()), None)
        finally:
            for wait in waits:
                wait.cancel()
            ended_s = now_s()
            await self.stop()
        return self._run(ended_s, failure)

    def _waits(self, instance: Instance) -> Iterator[asyncio.Future[None]]:
        """For the ends of both processes."""
        server = None
        if instance.server is not None and self._session.load.server_ends:
            server = asyncio.ensure_future(self._ended(instance.server, "server"))
            yield server
        if instance.client is not None:
            yield asyncio.ensure_future(self._client_ended(instance, instance.client, server))

    async def _client_ended(
        self, instance: Instance, client: Process, server: asyncio.Future[None] | None
    ) -> None:
        """A client that failed may say so in its output alone, while its server waits. Raises TrialFailed."""
        try:
            await self._ended(client, "client")
            if server is None:
                return
            await asyncio.wait({server}, timeout=ABANDONED_S + self._session.late_s(self.case.hosts))
            if not server.done():
                self._session.load.parse(client.so_far().stdout, instance.commands["client"])
        except (TrialFailed, ParseError) as error:
            complaint = str(error) if isinstance(error, TrialFailed) else f"{client.name} (client): {error}"
            if instance.server is None or instance.server.so_far().status is not None:
                raise TrialFailed(complaint) from error
            if self._refusal is None:
                self._refusal = asyncio.ensure_future(self._refusal_text(instance))
            refusal = await self._refusal
            raise TrialFailed(f"{complaint}{refusal and '; '}{refusal}") from error

    async def _refusal_text(self, instance: Instance) -> str:
        """What keeps a client from the port on which its server listens; empty where that is not it."""
        case, session, port = self.case, self._session, instance.planned.port
        load, address = session.load, session.ends(case, instance.planned.data_port or 0)[case.server].address
        protocol = load.listens(protocol_of(case.test))
        if protocol != "TCP":
            return ""
        try:
            listening = await session.hosts[case.server].run(listening_command(0, [port], protocol))
            if listening.status != 0:
                return ""
            outcomes = await try_ports(session.hosts[case.client], [(address, port)], REFUSED_LIMIT_S)
        except HostError:
            return ""
        outcome = outcomes[address, port]
        if outcome in ("open", "unknown"):
            return ""
        refusal = Refusal(
            case.client, case.server, case.family, address, (port,), outcome, listening=load.name
        )
        return refusal.text("of the campaign")

    async def _ended(self, process: Process, what: str) -> None:
        limit_s = self.load_s + END_LIMIT_S + self._session.late_s(self.case.hosts)
        awaited = f"the {what} to end, {limit_s:g} s after its start"
        if self._session.load.server_ends:
            awaited += (
                f"; the ends of {self._session.load.name} agree on that by the way of its data: look for "
                "loss there, and for a host whose CPUs are full"
            )
        ended = await process.wait(limit_s, awaited)
        if ended.status != 0:
            raise TrialFailed(
                f"{process.name} ({what}) ended with status {ended.status}: {self._said(ended)}"
            )

    def _complaint(self, process: Process | None) -> str:
        ended = process.so_far() if process is not None else None
        return self._said(ended) if ended is not None and ended.status is not None else ""

    def _said(self, ended: Ended) -> str:
        return self._session.load.complaint(ended.stdout, ended.stderr)

    async def stop(self) -> None:
        """End whatever of this trial still runs."""
        processes = [
            process
            for instance in self._instances
            for process in (instance.client, instance.server)
            if process is not None
        ]
        await asyncio.gather(*(_stopped(process) for process in processes))

    def failed(self, reason: str) -> TrialRun:
        """The answer for a trial that never got to its load."""
        return self._run(now_s(), reason)

    def _output(self, instance: Instance) -> InstanceOutput:
        processes = {self.case.client: instance.client, self.case.server: instance.server}
        hosts = {"server": self.case.server, "client": self.case.client}
        return InstanceOutput(
            instance.planned,
            {role: [*instance.pins[hosts[role]], *argv] for role, argv in instance.commands.items()},
            instance.client.so_far() if instance.client else None,
            instance.server.so_far() if instance.server else None,
            {host: process.pid if process else None for host, process in processes.items()},
            {host: process.start_migrations if process else None for host, process in processes.items()},
        )

    def _run(self, ended_s: float, failure: str | None) -> TrialRun:
        outputs = tuple(self._output(instance) for instance in self._instances)
        clocks = {}
        with suppress(HostError):
            clocks = self._session.clocks(self.case)
        if failure is None and self._instances:
            failure = _set_meanwhile(self._clocks, clocks, ended_s - self._started_s)
        line = all_lines([port.line for port in self._lines])
        return TrialRun(
            self.planned,
            self._started_s,
            ended_s,
            self.load_s,
            outputs,
            clocks,
            failure,
            self._target_bps,
            line.goodput_bps if line else None,
            line_kind=line.kind if line else None,
            line_host=line.host if line else None,
            pcie_goodput_bps=self._pcie_goodput_bps,
            framings=self._framings,
            data_ports=self._lines if self.case.data_ports else (),
        )


def _set_meanwhile(before: Mapping[str, Offset], after: Mapping[str, Offset], seconds: float) -> str | None:
    """Why stamps of a trial cannot be put on one time line: a host's clock was set between two of them."""
    for name, clock in after.items():
        step_s = clock_set_s(before[name], clock, seconds) if name in before else None
        if step_s is not None:
            return set_in_trial(name, step_s)
    return None


def _payload_bytes(case: Case, ends: Iterable[End]) -> int | None:
    """What fits through both ends. Raises TrialFailed."""
    try:
        sizes = [payload_bytes(case.test, case.family, end.framing) for end in ends]
    except InvalidInput as error:
        raise TrialFailed(str(error)) from error
    return min((size for size in sizes if size is not None), default=None)


async def _stopped(process: Process) -> None:
    with suppress(HostError):
        await process.stop(STOP_LIMIT_S)


def _ports(ports: Sequence[int]) -> str:
    return f"port {ports[0]}" if len(ports) == 1 else f"ports {min(ports)}-{max(ports)}"


class Levels:
    """Learns from trials at full rate, and says what a level of them is."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self._seen: dict[str, dict[tuple[str, ...], list[float]]] = {}
        for trial in trials:
            self.learn(trial)

    def learn(self, trial: Trial) -> None:
        """Take a trial into account; only those at full rate that are done say anything."""
        if trial.case.load_level is None and trial.throughput_bps is not None:
            pairs = self._seen.setdefault(trial.case.key, {})
            pairs.setdefault(trial.case.hosts, []).append(trial.throughput_bps)

    def target_bps(self, case: Case) -> float | None:
        """What all instances of a case together are to offer; ``None``: what the case says itself.

        It is of the smallest mean of all pairs of hosts at full rate, so that every one is offered the same.
        Raises TrialFailed where no trial at full rate has come to a number: no part of it can be offered.
        """
        if case.load_level is None:
            return None
        if case.load_level == 0:
            return 0.0
        pairs = self._seen.get(replace(case, load_level=None).key)
        if pairs is None:
            raise TrialFailed("its maximum is not known: no trial of this case at full rate is done")
        return case.load_level * min(fmean(rates) for rates in pairs.values())
