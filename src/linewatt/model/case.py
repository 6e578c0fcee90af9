# SPDX-License-Identifier: Apache-2.0
"""What is measured: one point of a campaign, and the words that it is made of."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

TestName = str
"""``tcp``, ``udp-<bytes>`` (:mod:`linewatt.sizes` says bytes of what), ``tcp-rr``, ``udp-rr``"""
Family = Literal["ipv4", "ipv6"]
Direction = Literal["forward", "reverse"]
Role = Literal["sender", "receiver"]
ENDS: tuple[Role, Role] = ("receiver", "sender")


FTP = "ftp"
"""the test that scripted users make, of transfers both ways"""


def is_tcp(test: TestName) -> bool:
    return test in ("tcp", "tcp-rr", FTP)


def is_request_response(test: TestName) -> bool:
    """Whether one message is under way at a time, there and back: what is measured is its latency."""
    return test in ("tcp-rr", "udp-rr")


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a campaign.

    Traffic flows from ``sender`` to ``receiver``. ``direction`` says who opens the connection: in
    ``forward`` the sender is the client, in ``reverse`` the receiver is.
    ``rate_bps`` is the offered rate of one instance; ``None`` is as fast as it goes. ``load_level`` is the
    part (0..1) of the calibrated maximum that is offered, the rate then follows from the calibration; 0 is
    active idle. ``factors`` are the settings that this case differs from others in: (factor, level) by name.
    ``load`` is the program that makes it; ``None``: the one that campaigns have unless they name another.
    ``search`` says what of it is searched, if anything: its trials are steps. Those of a rate are cases with
    the rate that those before them led to; those of instances, of which a plan has the most, are ordinary
    cases.
    """

    test: TestName
    sender: str
    receiver: str
    instances: int = 1
    streams: int = 1
    direction: Direction = "forward"
    family: Family = "ipv4"
    network: str = "bare"
    rate_bps: float | None = None
    zerocopy: bool = False
    load_level: float | None = None
    factors: tuple[tuple[str, str], ...] = ()
    load: str | None = None
    search: Literal["rate", "instances"] | None = None
    data_ports: int | None = None
    """over how many ports of its hosts the instances are dealt in turn; None: there is one"""
    users: tuple[tuple[str, str], ...] = ()
    """what users do that are its load, but for what ``factors`` vary: (key, value) by key"""

    def __post_init__(self) -> None:
        if not _is_test(self.test):
            raise ValueError(f"{self.test[:40]!r} is no name of a test")

    @property
    def is_tcp(self) -> bool:
        return is_tcp(self.test)

    @property
    def of_users(self) -> bool:
        """Whether users of a file server are its load: ``sender`` are their clients, ``receiver`` serves."""
        return self.test == FTP

    @property
    def paced(self) -> bool:
        """Whether the load is held to a rate."""
        return self.rate_bps is not None or self.load_level is not None

    @property
    def hosts(self) -> tuple[str, str]:
        return self.sender, self.receiver

    def host(self, role: Role) -> str:
        """The sender or the receiver."""
        return self.sender if role == "sender" else self.receiver

    @property
    def client(self) -> str:
        return self.sender if self.direction == "forward" else self.receiver

    @property
    def server(self) -> str:
        return self.receiver if self.direction == "forward" else self.sender

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes this case comparable elsewhere: everything but the hosts, sorted."""
        return {
            "direction": self.direction,
            "family": self.family,
            "instances": self.instances,
            "network": self.network,
            "rate_bps": self.rate_bps,
            "streams": self.streams,
            "test": self.test,
            "zerocopy": self.zerocopy,
            **({} if self.load_level is None else {"load_level": self.load_level}),
            **({"factors": dict(self.factors)} if self.factors else {}),
            **({} if self.load is None else {"load": self.load}),
            **({} if self.search is None else {"search": self.search}),
            **({} if self.data_ports is None else {"data_ports": self.data_ports}),
            **({"users": self.users} if self.users else {}),
        }

    @property
    def ports_used(self) -> int:
        """Over how many data ports its instances go: they are dealt in turn."""
        return min(self.data_ports or 1, self.instances)

    @property
    def instances_of_a_port(self) -> int:
        """The most that any data port has."""
        return -(-self.instances // (self.data_ports or 1))

    @property
    def key(self) -> str:
        """Stable 12-digit hash of :attr:`parameters`; the same on every host, kernel and year."""
        return _key(self)


@lru_cache(1 << 10)
def _is_test(name: str) -> bool:
    """Whether a name has the shape of a test's: what is stored is shown, and names charts."""
    return re.fullmatch(r"(?:tcp|udp)-rr|tcp|ftp|udp-[1-9][0-9]{1,4}", name, re.ASCII) is not None


@lru_cache(1 << 16)
def _key(case: Case) -> str:
    """Asked for many times of each of thousands of cases."""
    text = json.dumps(case.parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
