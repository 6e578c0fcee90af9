# SPDX-License-Identifier: Apache-2.0
"""What a trial left behind, before numbers are made of it: values, with no host behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from linewatt.campaign.planning import PlannedInstance, PlannedTrial
from linewatt.engine.live.line_rate import LineLimit, PortLine
from linewatt.engine.live.readback import ReadBack
from linewatt.hosts import Ended, Offset
from linewatt.network import Framing


@dataclass(frozen=True, slots=True)
class InstanceOutput:
    """What one instance's processes wrote and when they ended (host clocks)."""

    planned: PlannedInstance
    commands: dict[str, list[str]]
    client: Ended | None
    server: Ended | None
    pids: dict[str, int | None] = field(default_factory=dict)
    """host → process id"""
    start_migrations: dict[str, int | None] = field(default_factory=dict)
    """host → how often the kernel had moved its process when it had just been put on its CPUs"""


@dataclass(frozen=True, slots=True)
class UsersReport:
    """What users of one client did from ``start_s`` to ``end_s``, on the controller's time line.

    Bytes are those at their data sockets; ``failures`` has action and name → how often.
    """

    host: str
    start_s: float
    end_s: float
    cpu_s: float
    received_bytes: int
    sent_bytes: int
    gets: int
    puts: int
    failures: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialRun:
    """Everything a trial left behind, before numbers are made of it. ``failure`` says why it came to none."""

    planned: PlannedTrial
    started_s: float
    ended_s: float
    load_s: float
    outputs: tuple[InstanceOutput, ...]
    clocks: dict[str, Offset] = field(default_factory=dict)
    failure: str | None = None
    target_bps: float | None = None
    line_goodput_bps: float | None = None
    framings: Mapping[str, Framing] = field(default_factory=dict)
    """host → how the load's packets leave and reach it"""
    readback: Mapping[str, ReadBack] = field(default_factory=dict)
    path_problem: str | None = None
    """what was wrong with the way of its data before it began"""
    line_kind: Literal["link", "shaper"] | None = None
    line_host: str | None = None
    pcie_goodput_bps: Mapping[str, float | None] = field(default_factory=dict)
    """host → the most payload that the slot of its data interface carries"""
    data_ports: tuple[PortLine, ...] = ()
    """those that it uses of several"""
    users: tuple[UsersReport, ...] = ()
    """of a trial of users: what they did, in the order in which it was told"""
    complaints: tuple[str, ...] = ()
    """the first line of each kind of failure of users"""
    flows: tuple[LineLimit | None, ...] = ()
    """of a group: the line of each of its pairs"""
    warm: Mapping[str, str] = field(default_factory=dict)
    """host → what was awaited of it in vain before the trial, where the campaign lets hosts cool down"""

    @property
    def line(self) -> LineLimit | None:
        """What its line carries, where that is known."""
        if self.line_goodput_bps is None or self.line_kind is None or self.line_host is None:
            return None
        return LineLimit(self.line_goodput_bps, self.line_kind, self.line_host)

    def of_its_hosts(self) -> TrialRun:
        """The same without what other hosts of its round showed."""
        readbacks = {name: self.readback[name] for name in self.planned.case.hosts if name in self.readback}
        return replace(self, readback=readbacks)


def together(planned: PlannedTrial, runs: Sequence[TrialRun], line: LineLimit | None) -> TrialRun:
    """What the pairs of a group left behind as one trial; ``line`` is that of all of them together."""
    if not planned.flows or not planned.case.of_processes:  # a load of a feature is one run on all hosts
        return runs[0]
    each_way = planned.case.shape == "both-ways"  # a slot carries as much each way
    return TrialRun(
        planned,
        min(run.started_s for run in runs),
        max(run.ended_s for run in runs),
        runs[0].load_s,
        tuple(output for run in runs for output in run.outputs),
        {host: clock for run in runs for host, clock in run.clocks.items()},
        _failure(planned, runs),
        line_goodput_bps=line.goodput_bps if line else None,
        line_kind=line.kind if line else None,
        line_host=line.host if line else None,
        pcie_goodput_bps={} if each_way else {k: v for run in runs for k, v in run.pcie_goodput_bps.items()},
        framings={host: framing for run in runs for host, framing in run.framings.items()},
        flows=tuple(run.line for run in runs),
    )


def _failure(planned: PlannedTrial, runs: Sequence[TrialRun]) -> str | None:
    """Of which pair, and why; of none where all have one reason, which is then what all have in common."""
    failed = [(run.planned.case.way, run.failure) for run in runs if run.failure is not None]
    if not failed:
        return None
    way, why = failed[0]
    if len(failed) == len(planned.flows) and len({reason for _, reason in failed}) == 1:
        return why
    return f"{way}: {why}" + (f" (and {len(failed) - 1} more pairs)" if len(failed) > 1 else "")
