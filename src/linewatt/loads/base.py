# SPDX-License-Identifier: Apache-2.0
"""What a load is: two argument lists and a parser, all pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from linewatt.model import Family, TestName


@dataclass(frozen=True, slots=True)
class LoadJob:
    """What one instance is to do. ``duration_s`` covers omit, window and tail."""

    test: TestName
    server_address: str
    port: int
    duration_s: float
    interval_s: float = 1.0
    client_address: str | None = None
    family: Family = "ipv4"
    streams: int = 1
    rate_bps: float | None = None
    reverse: bool = False
    zerocopy: bool = False
    payload_bytes: int | None = None
    """of one datagram; None: what a bare interface of MTU 1500 has room for"""
    options: tuple[tuple[str, str], ...] = ()
    """the load's own options by name, beyond those above"""


@dataclass(frozen=True, slots=True)
class LoadInterval:
    """What one end counted from ``start_s`` to ``end_s`` after the start of the test, all streams.

    ``packets`` are datagrams: sent at the sender; received plus lost at the receiver.
    """

    start_s: float
    end_s: float
    transferred_bytes: int
    retransmits: int | None = None
    packets: int | None = None
    lost_packets: int | None = None


@dataclass(frozen=True, slots=True)
class LoadEnd:
    """One end's account of one instance. ``cpu_cores`` is the process's own use over its whole test.

    ``connections`` are its data connections: the own port, the other end's.
    """

    is_sender: bool
    version: str
    intervals: tuple[LoadInterval, ...]
    duration_s: float
    cpu_cores: float | None
    out_of_order_packets: int | None = None
    congestion: str | None = None
    connections: tuple[tuple[int, int], ...] = ()


class Load(Protocol):
    """A traffic generator. ``version`` is what the host's copy says of itself, e.g. ``(3, 12)``."""

    name: str

    def server_command(self, job: LoadJob, version: tuple[int, ...]) -> list[str]: ...

    def client_command(self, job: LoadJob, version: tuple[int, ...]) -> list[str]: ...

    def most_bytes(self, job: LoadJob) -> int:
        """More than one end of this job ever writes."""

    def parse(self, text: str) -> LoadEnd:
        """Parse one end's output. Raises ParseError with the tool's own error text when it failed."""

    def parse_version(self, text: str) -> tuple[int, ...]: ...

    def too_old(self, version: tuple[int, ...]) -> str | None:
        """What is wrong with a version that cannot do what every job needs; ``None``: nothing."""
