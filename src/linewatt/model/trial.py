# SPDX-License-Identifier: Apache-2.0
"""One repetition of a case, and how it is written as a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from linewatt.declare import SELDOM
from linewatt.model.case import Case, Role
from linewatt.model.ends import EndResult, FlowResult, InstanceResult, PortResult
from linewatt.model.samples import Flag, Window

METHOD = 5
"""Counts up whenever the same raw output would make other figures or findings."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One repetition of a case, as stored in ``trials/<n>/trial.json``.

    A failed trial has ``status`` "failed", a ``reason``, and ``None`` where numbers would be.
    An imported one is done and has a ``reason`` for what its table does not say.
    ``lost_ratio`` is lost / (lost + received) datagrams in the window; ``start_skew_s`` is last minus
    first instance start; ``clock`` maps host to its offset and uncertainty in seconds.
    """

    number: int
    repetition: int
    case: Case
    case_key: str
    status: Literal["done", "failed"]
    started_s: float
    reason: str | None = None
    window: Window | None = None
    throughput_bps: float | None = None
    throughput_se_bps: float | None = field(default=None, metadata=SELDOM)
    """standard error of it as a mean of the intervals of its window; None: too few intervals, or not known"""
    offered_bps: float | None = None
    target_bps: float | None = None
    """what a load level asked for, all instances together"""
    line_goodput_bps: float | None = None
    """the most payload that the line between the hosts can carry; None: its rate is not known"""
    line_kind: Literal["link", "shaper"] | None = None
    """what that line is: the slower link, or a shaper below it; None: not known"""
    line_host: str | None = None
    """the host whose interface is the slower one"""
    retransmits: int | None = None
    packets: int | None = None
    lost_packets: int | None = None
    lost_ratio: float | None = None
    out_of_order_packets: int | None = None
    start_skew_s: float | None = None
    sender: EndResult | None = None
    receiver: EndResult | None = None
    instances: tuple[InstanceResult, ...] = ()
    flags: tuple[Flag, ...] = ()
    clock: dict[str, tuple[float, float]] = field(default_factory=dict)
    overhead_s: float | None = None
    """wall time of the trial beyond its load seconds"""
    duplicate_packets: int | None = field(default=None, metadata=SELDOM)
    latency_s: Mapping[str, float] = field(default_factory=dict, metadata=SELDOM)
    """percentile → the largest of all instances: that of their messages together is at most so much"""
    method: int = 1
    """by which method (``METHOD``) its figures were made; results stored before methods had numbers have 1"""
    data_ports: tuple[PortResult, ...] = field(default=(), metadata=SELDOM)
    """those that instances used, where the hosts have several"""
    flows: tuple[FlowResult, ...] = field(default=(), metadata=SELDOM)
    """of a group: each of its pairs; ``sender`` and ``receiver`` are then of the host that is in all"""
    schema_version: int = 1
    incoming: Trial | None = field(default=None, metadata=SELDOM)
    """of one pair of a ring, as it is made of the trial of all: the pair in which its sender receives, for
    the figures of that host are of both"""

    def end_bps(self, role: Role) -> float | None:
        """What one end received, sent, or both: what figures of its CPUs and watts are for.

        ``None`` also where throughput is withheld. If only the receiver of TCP counted, that much was sent.
        """
        if self.throughput_bps is None and self.instances:
            return None
        if self.case.is_both_ways and self.instances:
            return self._moved_bps(self.case.host(role))
        if role == "receiver" and self.incoming is None:
            return self.throughput_bps
        sent_bps = self.offered_bps
        if sent_bps is None and self.case.is_tcp:
            sent_bps = self.throughput_bps
        if self.incoming is None:
            return sent_bps
        received_bps = self.incoming.throughput_bps
        return None if sent_bps is None or received_bps is None else sent_bps + received_bps

    def _moved_bps(self, host: str) -> float:
        """What a host sent and what it received, together."""
        return sum(
            instance.offered_bps if role == "sender" else instance.throughput_bps
            for instance in self.instances
            for role in self.case.roles_at(instance.instance, host)
        )

    def end(self, role: Role) -> EndResult | None:
        """What was recorded of the sender or of the receiver."""
        return self.sender if role == "sender" else self.receiver

    @property
    def ends(self) -> tuple[EndResult, ...]:
        """All that were recorded, those of single pairs of a group behind."""
        all_ends = (self.sender, self.receiver, *(flow.end for flow in self.flows))
        return tuple(end for end in all_ends if end is not None)

    def with_ends(self, changed: Callable[[EndResult], EndResult]) -> Trial:
        """The same with every end as ``changed`` gives it back; itself where each is what it was."""
        ends = {id(end): changed(end) for end in self.ends}
        if all(id(end) == before for before, end in ends.items()):
            return self

        def of(end: EndResult | None) -> EndResult | None:
            return None if end is None else ends[id(end)]

        flows = tuple(replace(flow, end=of(flow.end)) for flow in self.flows)
        return replace(self, sender=of(self.sender), receiver=of(self.receiver), flows=flows)
