# SPDX-License-Identifier: Apache-2.0
"""What is measured: one point of a campaign, and the words that it is made of."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from linewatt.core.feature import feature_load_of
from linewatt.declare import SELDOM
from linewatt.model.dealing import dealt

TestName = str
"""``tcp``, ``udp-<bytes>`` (:mod:`linewatt.sizes` says bytes of what), ``tcp-rr``, ``udp-rr``"""
Family = Literal["ipv4", "ipv6"]
Direction = Literal["forward", "reverse"]
Role = Literal["sender", "receiver"]
ENDS: tuple[Role, Role] = ("receiver", "sender")
Shape = Literal["many-to-one", "one-to-many", "both-ways", "ring"]
"""of a group: which hosts send to which at once"""
TOGETHER = " + "
"""between the hosts of a group that have one role"""


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
    zerocopy: bool | None = False
    """whether the sender sends without a copy; None: not known, as of imported files"""
    load_level: float | None = None
    factors: tuple[tuple[str, str], ...] = ()
    load: str | None = field(default=None, metadata=SELDOM)
    search: Literal["rate", "instances"] | None = field(default=None, metadata=SELDOM)
    data_ports: int | None = field(default=None, metadata=SELDOM)
    """over how many ports of its hosts the instances are dealt; None: its hosts have one"""
    users: tuple[tuple[str, str], ...] = field(default=(), metadata=SELDOM)
    """what users do that are its load, but for what ``factors`` vary: (key, value) by key"""
    shape: Shape | None = field(default=None, metadata=SELDOM)
    """of the group that it is, or that it is one flow of"""
    flows: tuple[tuple[str, str], ...] = field(default=(), metadata=SELDOM)
    """of a group: (sender, receiver) of each pair that runs at once, with so many ``instances`` each;
    ``sender`` and ``receiver`` then name all of a role, see :func:`group_of`"""
    flow_of: int | None = field(default=None, metadata=SELDOM)
    """of one pair of a group: how many run at once"""
    beside: tuple[tuple[str, str], ...] = field(default=(), metadata=SELDOM)
    """of one pair of a group: all of its pairs, for what it gets depends on the others"""
    port_weights: tuple[int, ...] = field(default=(), metadata=SELDOM)
    """of each data port, by which instances are dealt, in lowest terms; none: in turn"""
    chosen_ports: tuple[int, ...] = field(default=(), metadata=SELDOM)
    """which ports of its hosts the ``data_ports`` are, from 0; none: the first ones"""

    def __post_init__(self) -> None:
        if not _is_test(self.test):
            raise ValueError(f"{self.test[:40]!r} is not a name of a test")

    @property
    def is_tcp(self) -> bool:
        return is_tcp(self.test)

    @property
    def of_users(self) -> bool:
        """Whether users of a file server are its load: ``sender`` are their clients, ``receiver`` serves."""
        return self.test == FTP

    @property
    def of_processes(self) -> bool:
        """Whether processes between the hosts of its pairs are its load: no feature brings it."""
        return not self.of_users and feature_load_of(self.test) is None

    @property
    def arrival_rate_hz(self) -> float | None:
        """Transfers a second that are asked for of users in an open loop; they have a rate of their own."""
        user_levels = {name.removeprefix("users."): value for name, value in (*self.users, *self.factors)}
        try:
            return float(user_levels["arrival_rate"])
        except (KeyError, ValueError):
            return None

    @property
    def user_count(self) -> int | None:
        """How many users there are at once; None: it is no case of users, or is not on record."""
        user_levels = {name.removeprefix("users."): value for name, value in (*self.users, *self.factors)}
        text = user_levels.get("users", "") if self.of_users else ""
        return int(text) if text.isascii() and text.isdigit() else None

    @property
    def paced(self) -> bool:
        """Whether the load is held to a rate."""
        return self.rate_bps is not None or self.load_level is not None

    @property
    def single(self) -> Case:
        """The case with one instance, whatever its ports: it is the same for a whole series."""
        return _single(self)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Those that take part, the sender first."""
        if not self.flows:
            return self.sender, self.receiver
        return tuple(dict.fromkeys(host for end in zip(*self.flows, strict=True) for host in end))

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """(sender, receiver) of all that runs at once, its own first: equal in cases that repeat one another
        if their keys are."""
        return ((self.sender, self.receiver), *(self.flows or self.beside))

    @property
    def pairs(self) -> tuple[Case, ...]:
        """The flows of a group, each a case of two hosts; a case of two hosts is its own only one."""
        return _pairs(self) if self.flows else (self,)

    @property
    def processes(self) -> int:
        """Instances of all pairs."""
        return self.instances * len(self.flows or (1,))

    def pair_of(self, instance: int) -> Case:
        """The pair that an instance is of: each has so many, one pair after the other."""
        if not self.flows:
            return self
        return self.pairs[min(instance // max(1, self.instances), len(self.flows) - 1)]

    def roles_at(self, instance: int, host: str) -> tuple[Role, ...]:
        """What an instance does at a host: sends, receives, or nothing."""
        pair = self.pair_of(instance)
        return tuple(role for role in ENDS if pair.host(role) == host)

    def taking_part(self, host: str) -> int:
        """How many of its pairs a host is in."""
        return sum(host in pair.hosts for pair in self.pairs)

    @property
    def ends(self) -> tuple[tuple[str, Role], ...]:
        """Each host with its role, senders first; both ways, with that in the first pair. In a ring all
        send."""
        role_by_host: dict[str, Role] = {}
        for pair in self.pairs[:1] if self.shape == "both-ways" else self.pairs:
            role_by_host.setdefault(pair.sender, "sender")
        for pair in self.pairs:
            role_by_host.setdefault(pair.receiver, "receiver")
        return tuple(role_by_host.items())

    def host(self, role: Role) -> str:
        """The sender or the receiver; of a group all that are, with :data:`TOGETHER` between them."""
        return self.sender if role == "sender" else self.receiver

    @property
    def is_both_ways(self) -> bool:
        """Whether both of its hosts send and receive; each of its two pairs goes one way."""
        return self.shape == "both-ways" and bool(self.flows)

    @property
    def is_ring(self) -> bool:
        """Whether all of its hosts send and receive, each to and from another; its pairs go one way each."""
        return self.shape == "ring" and bool(self.flows)

    @property
    def ends_do_both(self) -> bool:
        """Whether figures of its ends are of hosts that send and receive."""
        return self.is_both_ways or (self.shape == "ring" and self.flow_of is not None)

    @property
    def way(self) -> str:
        """``gen → dut``, ``gen1 + gen2 → dut``, ``gen ⇄ dut``, ``a → b → c → a``."""
        if self.is_ring:
            return " → ".join((*(sender for sender, _ in self.flows), self.flows[0][0]))
        return f"{self.sender} {'⇄' if self.is_both_ways else '→'} {self.receiver}"

    def told_elsewhere(self, role: Role) -> bool:
        """Whether figures of a role are those of another case: of a group, the several hosts that have it are
        told pair by pair, and of its pairs the host that is in all of them by the group. In a ring each is
        told by the pair in which it sends."""
        if self.shape == "ring":
            return self.flow_of is None or role == "receiver"
        shared = {"many-to-one": ("receiver",), "one-to-many": ("sender",), "both-ways": ENDS}
        return self.shape is not None and (role in shared[self.shape]) == (self.flow_of is not None)

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
            "rate_bps": None if self.rate_bps is None else float(self.rate_bps),
            "streams": self.streams,
            "test": self.test,
            "zerocopy": self.zerocopy,
            **({} if self.load_level is None else {"load_level": float(self.load_level)}),
            **({"factors": dict(self.factors)} if self.factors else {}),
            **({} if self.load is None else {"load": self.load}),
            **({} if self.search is None else {"search": self.search}),
            **({} if self.data_ports in (None, 1) else {"data_ports": self.data_ports}),
            **({"port_weights": list(self.port_weights)} if self.port_weights else {}),
            **({"chosen_ports": list(self.chosen_ports)} if self.chosen_ports else {}),
            **({"users": self.users} if self.users else {}),
            **({} if self.shape is None else {"shape": self.shape}),
            **({"pairs": len(self.flows)} if self.flows else {}),
            **({} if self.flow_of is None else {"flow_of": self.flow_of}),
        }

    @property
    def port_numbers(self) -> tuple[int, ...]:
        """The data ports of its hosts over which instances are dealt, from 0."""
        return self.chosen_ports or tuple(range(self.data_ports or 1))

    @property
    def data_port_of(self) -> tuple[int, ...]:
        """The data port of each instance, from 0."""
        numbers = self.port_numbers
        return tuple(numbers[at] for at in dealt(self.port_weights or (1,) * len(numbers), self.instances))

    @property
    def ports_used(self) -> tuple[int, ...]:
        """The data ports over which its instances go."""
        return tuple(sorted(set(self.data_port_of)))

    @property
    def instances_of_a_port(self) -> int:
        """The most that any data port has."""
        return max(Counter(self.data_port_of).values(), default=0)

    @property
    def key(self) -> str:
        """Stable 12-digit hash of :attr:`parameters`; the same on every host, kernel and year."""
        return _key(self)


def group_of(shape: Shape, flows: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """What makes a case that of a group. Both ways, the ends of the first flow stand for both."""
    senders, receivers = (dict.fromkeys(hosts) for hosts in zip(*flows, strict=True))
    ends = flows[0] if shape == "both-ways" else (TOGETHER.join(senders), TOGETHER.join(receivers))
    return {"sender": ends[0], "receiver": ends[1], "shape": shape, "flows": flows}


@lru_cache(1 << 12)
def _single(case: Case) -> Case:
    return replace(case, instances=1, data_ports=None, port_weights=(), chosen_ports=())


@lru_cache(1 << 12)
def _pairs(case: Case) -> tuple[Case, ...]:
    many = len(case.flows)
    return tuple(
        replace(case, sender=sender, receiver=receiver, flows=(), flow_of=many, beside=case.flows)
        for sender, receiver in case.flows
    )


@lru_cache(1 << 10)
def _is_test(name: str) -> bool:
    """Whether a name has the shape of a test's, or is that of a feature's load: what is stored is shown, and
    names charts."""
    shaped = re.fullmatch(r"(?:tcp|udp)-rr|tcp|ftp|udp-[1-9][0-9]{1,4}", name, re.ASCII) is not None
    return shaped or feature_load_of(name) is not None


@lru_cache(1 << 16)
def _key(case: Case) -> str:
    """Asked for many times of each of thousands of cases."""
    text = json.dumps(case.parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
