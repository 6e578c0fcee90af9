# SPDX-License-Identifier: Apache-2.0
"""A trial with its window found, and what must be known of its hosts to make numbers of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from linewatt.analysis.psu.supplies import Supply
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.trial import InstanceOutput, TrialRun
from linewatt.engine.measuring.power import IdlePower, Meters
from linewatt.engine.measuring.window import EndRun
from linewatt.hosts.base import HostSpec
from linewatt.model import Window


@dataclass(frozen=True, slots=True)
class Setup:
    """What the measuring of a trial needs to know beside the trial: the window asked for, and the hosts."""

    omit_s: float
    window_s: float
    hosts: Mapping[str, HostSpec]
    base_frequency_hz: Mapping[str, float | None]
    tick_accounting: Mapping[str, bool | None]
    idle_cores: Mapping[str, float | None] = field(default_factory=dict)
    idle_w: Mapping[str, IdlePower] = field(default_factory=dict)
    supplies: Mapping[str, Supply] = field(default_factory=dict)
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
            one.name: {host: value[host] for host in hosts if host in value}
            for one in fields(self)
            if isinstance(value := getattr(self, one.name), Mapping)
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

    @property
    def load(self) -> Window:
        """When all loads ran; of active idle, the trial."""
        ends = [end for one in self.runs for end in (one.sender, one.receiver)]
        if not ends:
            return Window(self.run.started_s, self.run.ended_s)
        return Window(max(end.start_s for end in ends), min(end.end_s for end in ends))

    def spec(self, host: str) -> HostSpec:
        """A host with the CPUs that were to take its receive work in this trial."""
        planned = self.run.planned
        of_sender = host == planned.case.sender
        irq_cpus = planned.sender_irq_cpus if of_sender else planned.receiver_irq_cpus
        return replace(self.setup.hosts[host], irq_cpus=irq_cpus)

    def readback(self, host: str) -> ReadBack | None:
        """What the host showed in the tail of the load."""
        return self.run.readback.get(host)
