# SPDX-License-Identifier: Apache-2.0
"""What may limit a trial: how much there is, how much was used, what speaks for and against. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from linewatt.findings import OVERFLOW_PART
from linewatt.model import CpuShares, OtherProcess, Role, SharedCpu

Kind = Literal[
    "paced",
    "line-rate",
    "shaper",
    "sender-pcie",
    "receiver-pcie",
    "receiver-app-cpu",
    "receiver-irq-cpu",
    "receiver-cpu",
    "sender-app-cpu",
    "sender-irq-cpu",
    "sender-cpu",
    "sender-cpu-quota",
    "receiver-cpu-quota",
    "receive-window",
    "send-buffer",
    "sender-queue",
    "receiver-ring",
    "receiver-backlog",
    "receiver-socket-buffer",
    "retransmits",
    "device-or-path",
    "not-found",
    "unknown",
]
"""Stable words of JSON and CSV."""

BYTES = "B"
"""the unit of how full a send buffer is; its other measure is the time that TCP waited for it, in s"""
SYMPTOMS: frozenset[Kind] = frozenset(
    {
        "receive-window",
        "send-buffer",
        "sender-queue",
        "receiver-ring",
        "receiver-backlog",
        "receiver-socket-buffer",
        "retransmits",
    }
)
"""Queues, windows and loss: queues fill up and drop before what is slow, so another candidate that is full
explains them."""


@dataclass(frozen=True, slots=True)
class SentAgain:
    """TCP segments that were retransmitted, and what the hosts dropped of packets that go that way, a trial.

    ``ratio`` is of all segments, ``drops`` the packets by end and place (``in the receive ring (missed)``),
    ``uncounted`` the ends whose counters are missing.
    """

    segments: float
    ratio: float
    drops: Mapping[tuple[Role, str], float] = field(default_factory=dict)
    uncounted: frozenset[Role] = frozenset()

    def dropped(self, end: Role) -> float:
        """Packets that an end dropped."""
        return sum(packets for (role, _), packets in self.drops.items() if role == end)

    def place(self, end: Role) -> str:
        """Where an end dropped most of what it dropped."""
        places = {place: packets for (role, place), packets in self.drops.items() if role == end}
        return max(places, key=lambda place: places[place])

    @property
    def end(self) -> Role | None:
        """The end that dropped so many that they explain the retransmits; ``None``: no end did."""
        roles: tuple[Role, Role] = ("sender", "receiver")
        dropping = (role for role in roles if self.dropped(role) >= OVERFLOW_PART * self.segments > 0)
        return next(dropping, None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that may limit one trial. ``share`` is used ÷ capacity, both in ``unit``.

    ``source`` says where the capacity is from, ``otherwise`` what would be seen if this were not the limit.
    ``ruled_out``: there is evidence against it that its share does not show; ``against`` names it. Of a CPU,
    ``cpu`` has the shares of the busiest of its role (of all where single ones are not known), ``role`` those
    of all together.
    """

    kind: Kind
    end: Role | None
    capacity: float | None
    used: float | None
    unit: str
    share: float
    source: str
    otherwise: str
    evidence: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    ruled_out: bool = False
    host: str | None = None
    cpu: CpuShares | None = None
    role: CpuShares | None = None
    shared: SharedCpu | None = None
    """of a CPU, who used how much of it, where others than the load used a part"""
    processes: tuple[OtherProcess, ...] = ()
    """those that were seen there"""
    cgroup: str | None = None
    """the control group whose quota it is"""
    throttled_s: float | None = None
    """of a quota: how long it kept the load from running between two reads, the sum over CPUs"""
    between_s: float | None = None
    """how far apart the two reads were"""
    waited_ratio: float | None = None
    """of app CPUs: how long the load's thread that waited most for a CPU did, as a part of the time"""
    sent_again: SentAgain | None = None
    """of retransmits: how many, and where the segments were lost"""
    port: str | None = None
    """the one of several data ports that it is about"""
    load_niced: bool = False
    """of a CPU: whether what runs niced does not give way to the load there"""
    two_roles: bool = False
    """whether its host sends and receives, so that its name stands where else that of its role does"""
