# SPDX-License-Identifier: Apache-2.0
"""A trial with its window found, and what must be known of its hosts to make numbers of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from linewatt.campaign import host_as_set
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun
from linewatt.engine.measuring.ends import cpu_shares
from linewatt.engine.measuring.window import EndRun
from linewatt.engine.measuring.window_power import IdlePower, Meters
from linewatt.hosts import HostSpec, Offset
from linewatt.loads import Load, load_of
from linewatt.model import Case, CpuShares, EndResult, InstanceResult, Role, Window
from linewatt.records import Supplies


@dataclass(frozen=True, slots=True)
class Setup:
    """What the measuring of a trial needs to know beside the trial: the window asked for, and the hosts."""

    omit_s: float
    window_s: float
    hosts: Mapping[str, HostSpec]
    base_frequency_hz: Mapping[str, float | None]
    tick_accounting: Mapping[str, bool | None]
    """whether each host's kernel charges CPU time by the tick; ``None`` where it cannot be told"""
    idle_cores: Mapping[str, float | None] = field(default_factory=dict)
    idle_w: Mapping[str, IdlePower] = field(default_factory=dict)
    supplies: Mapping[str, Supplies] = field(default_factory=dict)
    package_limit_w: Mapping[str, float | None] = field(default_factory=dict)
    steer: bool = False
    """whether the campaign asks for a receive queue for each instance"""
    meters: Mapping[str, Meters] = field(default_factory=dict)
    """host → what is known of its meters when the trial is measured"""
    cores: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """the CPUs that share a core, core by core"""
    sysctls: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """kernel parameters of sockets, as each host showed them when the campaign began"""
    concurrent_pairs: bool = False
    """whether pairs that share no host run at the same time"""

    def of(self, hosts: Collection[str]) -> Setup:
        """The same without what is known of other hosts."""
        by_host: dict[str, Any] = {
            setup_field.name: {host: value[host] for host in hosts if host in value}
            for setup_field in fields(self)
            if isinstance(value := getattr(self, setup_field.name), Mapping)
        }
        return replace(self, **by_host)


@dataclass(frozen=True, slots=True)
class InstanceRun:
    """Both ends of one instance on the controller's time line."""

    output: InstanceOutput
    sender: EndRun
    receiver: EndRun


@dataclass(frozen=True, slots=True)
class Cut:
    """A trial with its window found: all that its numbers are made of."""

    run: TrialRun
    runs: Sequence[InstanceRun]
    window: Window
    readings: Mapping[str, Sequence[Reading]]
    setup: Setup
    users_cores: Mapping[str, float] = field(default_factory=dict)
    """host → what its users used in the window; of a server's sessions that is not known"""

    @property
    def end_runs(self) -> list[EndRun]:
        """Both ends of every instance."""
        return [end for run in self.runs for end in (run.sender, run.receiver)]

    @property
    def load(self) -> Window:
        """When all loads ran; of active idle, the trial."""
        ends = self.end_runs
        if not ends:
            return Window(self.run.started_s, self.run.ended_s)
        return Window(max(end.start_s for end in ends), min(end.end_s for end in ends))

    def spec(self, host: str) -> HostSpec:
        """A host with the CPUs that were online, and to take its receive work, in this trial."""
        planned = self.run.planned
        server = None if planned.case.of_processes else planned.case.receiver or None
        host_spec = host_as_set(self.setup.hosts[host], planned.case.factors, server)
        return replace(host_spec, irq_cpus=planned.irq_cpus(host))

    def readback(self, host: str) -> ReadBack | None:
        """What the host showed in the tail of the load."""
        return self.run.readback.get(host)

    def placed(self, host: str) -> list[PlacedProcess]:
        """The load process of each instance at a host."""
        return [
            PlacedProcess(
                output.planned.instance,
                output.planned.sender_cpu if role == "sender" else output.planned.receiver_cpu,
                output.pids.get(host),
                output.start_migrations.get(host),
            )
            for output in self.run.outputs
            for role in self.run.planned.case.roles_at(output.planned.instance, host)
        ]


class PlacedProcess(NamedTuple):
    """A load process: its instance, the CPUs it was put on (a CPU list; None: it may run anywhere), its id.

    ``start_migrations``: how often the kernel had moved it when it had just been put there.
    """

    instance: int
    cpus: str | None
    pid: int | None
    start_migrations: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One measured trial with all its evidence; ``ends`` are its hosts, those that send first."""

    cut: Cut
    instances: tuple[InstanceResult, ...]
    ends: tuple[EndResult, ...]

    @property
    def case(self) -> Case:
        return self.cut.run.planned.case

    @property
    def load(self) -> Load:
        return load_of(self.case.load)

    @property
    def setup(self) -> Setup:
        return self.cut.setup

    @property
    def window(self) -> Window:
        return self.cut.window

    @property
    def pairs(self) -> Iterator[tuple[Case, tuple[InstanceResult, ...]]]:
        """Each pair that it has, with its instances."""
        for pair in self.case.pairs:
            instances = (result for result in self.instances if self.case.pair_of(result.instance) == pair)
            yield pair, tuple(instances)

    def with_role(self, role: Role) -> tuple[EndResult, ...]:
        """The ends that send, or receive, in any pair."""
        hosts = {pair.host(role) for pair in self.case.pairs}
        return tuple(end for end in self.ends if end.host in hosts)

    def end(self, host: str) -> EndResult:
        return next(end for end in self.ends if end.host == host)

    def spec(self, end: EndResult) -> HostSpec:
        """The host of an end, with the CPUs that were to take its receive work in this trial."""
        return self.cut.spec(end.host)

    def clock(self, end: EndResult) -> Offset:
        return self.cut.run.clocks[end.host]

    def readings(self, end: EndResult) -> Sequence[Reading]:
        return self.cut.readings.get(end.host, ())

    def reading(self, end: EndResult, source: str) -> Reading | None:
        """What one sensor of an end's host delivered."""
        return next((reading for reading in self.readings(end) if reading.source == source), None)

    def cpu_shares(self, end: EndResult) -> dict[int, CpuShares | None]:
        """Shares of each CPU of an end's host over the window."""
        return cpu_shares(self.spec(end), self.readings(end), self.window)

    def readback(self, end: EndResult) -> ReadBack | None:
        return self.cut.readback(end.host)

    def processes(self, end: EndResult) -> Iterator[tuple[InstanceResult, Role]]:
        """The load processes at an end: of which instance, and whether they send or receive."""
        for instance in self.instances:
            yield from ((instance, role) for role in self.case.roles_at(instance.instance, end.host))
