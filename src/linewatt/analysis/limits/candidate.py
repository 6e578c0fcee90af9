# SPDX-License-Identifier: Apache-2.0
"""What may limit a trial: how much there is, how much was used, what speaks for and against. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    "device-or-path",
    "not-found",
    "unknown",
]
"""Stable words of JSON and CSV."""

SYMPTOMS: frozenset[Kind] = frozenset(
    {
        "receive-window",
        "send-buffer",
        "sender-queue",
        "receiver-ring",
        "receiver-backlog",
        "receiver-socket-buffer",
    }
)
"""Queues and windows: they fill up before what is slow, so another candidate that is full explains them."""


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
    port: str | None = None
    """the one of several data ports that it is about"""
    two_roles: bool = False
    """whether its host sends and receives, so that its name stands where else that of its role does"""
