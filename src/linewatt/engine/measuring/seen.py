# SPDX-License-Identifier: Apache-2.0
"""What the checks of a trial see: everything it left behind, and the figures that were made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.measuring.cut import Cut, Setup
from linewatt.hosts.base import HostSpec
from linewatt.hosts.clock import Offset
from linewatt.loads.base import Load
from linewatt.loads.registry import DEFAULT, LOADS
from linewatt.model import Case, EndResult, InstanceResult, Window


@dataclass(frozen=True, slots=True)
class Seen:
    """One measured trial with all its evidence."""

    cut: Cut
    instances: tuple[InstanceResult, ...]
    sender: EndResult
    receiver: EndResult

    @property
    def case(self) -> Case:
        return self.cut.run.planned.case

    @property
    def load(self) -> Load:
        return LOADS[self.case.load or DEFAULT]

    @property
    def setup(self) -> Setup:
        return self.cut.setup

    @property
    def window(self) -> Window:
        return self.cut.window

    @property
    def ends(self) -> tuple[EndResult, EndResult]:
        return self.sender, self.receiver

    def spec(self, end: EndResult) -> HostSpec:
        """The host of an end, with the CPUs that were to take its receive work in this trial."""
        return self.cut.spec(end.host)

    def clock(self, end: EndResult) -> Offset:
        return self.cut.run.clocks[end.host]

    def readings(self, end: EndResult) -> Sequence[Reading]:
        return self.cut.readings.get(end.host, ())

    def reading(self, end: EndResult, source: str) -> Reading | None:
        """What one sensor of an end's host delivered."""
        return next((one for one in self.readings(end) if one.source == source), None)

    def readback(self, end: EndResult) -> ReadBack | None:
        return self.cut.readback(end.host)

    def placed(self, end: EndResult) -> list[tuple[int, str | None, int | None]]:
        """Each instance at an end: its number, the CPUs it was put on, and its process id."""
        return [
            (
                output.planned.instance,
                output.planned.sender_cpu if end.role == "sender" else output.planned.receiver_cpu,
                output.pids.get(end.host),
            )
            for output in self.cut.run.outputs
        ]
