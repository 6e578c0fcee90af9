# SPDX-License-Identifier: Apache-2.0
"""Truths, planted: what is done to two hosts, the campaign that meets it, and what must be said of it first.

The truth stands beside each plant as data. Machines with two CPUs have one for each host: there the plants
that need an app CPU and an IRQ CPU at the receiver borrow the sender's CPU, and say so in the inventory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from tests.truth.hosts import (
    Data,
    Ground,
    add_to_group,
    cpu_quota,
    delayed,
    helper,
    moved_bytes,
    run,
    shape,
    shaped,
    shaper,
    shrink_receive_buffers,
    sysctl,
)

WINDOW: Data = {"seconds": 3, "omit": 1.1, "tail": 1.4}
LONG_WINDOW: Data = {"seconds": 6, "omit": 1.1, "tail": 1.4}
DIP_S = 2.0
PROCESS_S = 5.0
NEIGHBOUR_BPS = 1.5e9
FLOW_LIMIT_S = 10.0
QUOTA_CORES = 0.1

Planting = Callable[[Ground], AbstractContextManager[Data]]
"""Plants a truth while it lasts; gives keys of the campaign that only the ground knows."""


@contextmanager
def nothing(_: Ground) -> Iterator[Data]:
    """The lab as it is."""
    yield {}


@dataclass(frozen=True, slots=True)
class Plant:
    """A truth: ``limits`` are words for it, any of which may come first; ``findings`` likewise."""

    name: str
    truth: str
    campaign: Data
    limits: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()
    """what is told of how it was planted: before the findings, for it explains them"""
    planting: Planting = nothing
    during: Callable[[Ground], None] | None = None
    """what is done in each trial, from its start on"""
    places: Callable[[Ground], Mapping[str, Data]] = field(default=lambda _: {})
    """changes of the inventory"""
    says: tuple[str, ...] = ()
    """words that the sentence, or the evidence of the finding, must have"""
    idle_machine: bool = True
    """whether the truth stands only where nothing else keeps this machine's CPUs busy"""


def _costly(host: int, which: str, sockets: int) -> Planting:
    """Packets of a host's data interface cost CPU time."""

    @contextmanager
    def planting(ground: Ground) -> Iterator[Data]:
        with helper(ground.lab.hosts[host].namespace, "costly", "data0", which, str(sockets)):
            yield {}

    return planting


def _shaped(*words: str) -> Planting:
    @contextmanager
    def planting(ground: Ground) -> Iterator[Data]:
        with shaped(ground.h1, *words):
            yield {}

    return planting


@contextmanager
def _narrow_switch(ground: Ground) -> Iterator[Data]:
    """The switch lets less through than any interface says."""
    port = ("dev", ground.h2.switch_port, "root")
    run(ground.switch, "tc", "qdisc", "add", *port, "tbf", *shaper("2gbit"))
    try:
        yield {}
    finally:
        run(ground.switch, "tc", "qdisc", "del", *port)


def _buffer(host: int, name: str, size: int, delay_s: float) -> Planting:
    """A small TCP buffer at one end, and a round trip that makes it too small."""

    @contextmanager
    def planting(ground: Ground) -> Iterator[Data]:
        with delayed(ground, delay_s), sysctl(ground.lab.hosts[host], name, f"4096 {size} {size}"):
            yield {}

    return planting


def _until_it_flows(ground: Ground) -> None:
    """Until the load of a trial arrives."""
    before, end_s = moved_bytes(ground.h2), time.monotonic() + FLOW_LIMIT_S
    while moved_bytes(ground.h2) - before < 10_000_000:
        assert time.monotonic() < end_s, f"waited {FLOW_LIMIT_S:g} s for the load to arrive"
        time.sleep(0.02)


@contextmanager
def _moderated(ground: Ground) -> Iterator[Data]:
    """What arrives is handed on once a millisecond, as where a NIC moderates its interrupts: in bursts."""
    with delayed(ground, 1e-3):
        yield {}


def _small_socket(ground: Ground) -> None:
    """The load's receiving socket holds half of what arrives in a millisecond."""
    _until_it_flows(ground)
    shrink_receive_buffers(ground.h2, "iperf3", 24_000)


def _onto_one_cpu(ground: Ground) -> None:
    """Somebody moves receive work that may go to two CPUs to the second of them.

    No hash of a flow does it: packets of a virtual link keep the one that their socket drew (``sk_txhash``).
    """
    _until_it_flows(ground)
    queue = "/sys/class/net/data0/queues/rx-0/rps_cpus"
    run(ground.h2.namespace, "sh", "-c", f"echo {1 << ground.irq_cpu:x} > {queue}")


def _dip(ground: Ground) -> None:
    """Two seconds at almost nothing, in the middle of the window."""
    _until_it_flows(ground)
    time.sleep(2.5)  # the plan of the dip: when it comes, and how long it is
    shape(ground.h1, *shaper("1mbit"))
    time.sleep(DIP_S)
    shape(ground.h1, *shaper("2gbit"))


def _foreign(ground: Ground) -> None:
    """A process beside the receiver, through the window of the trial."""
    with helper(ground.h2.namespace, "busy", str(PROCESS_S), cpu=ground.h2.cpus[-1]) as process:
        process.wait(timeout=2 * PROCESS_S)


@contextmanager
def _neighbour(ground: Ground) -> Iterator[Data]:
    """Another transfer between the same interfaces."""
    port = "6001"
    rate = [port, ground.h2.data_ipv4, str(NEIGHBOUR_BPS)]
    with (
        helper(ground.h2.namespace, "neighbour", "take", port, cpu=ground.h2.cpus[-1]),
        helper(ground.h1.namespace, "neighbour", "send", *rate, cpu=ground.h1.cpus[-1]),
    ):
        yield {}


@contextmanager
def _quota(ground: Ground) -> Iterator[Data]:
    """A control group with a tenth of a CPU, for the sender's load."""
    with cpu_quota(ground.h1, QUOTA_CORES):
        yield {}


def _into_quota(ground: Ground) -> None:
    """The sender's load alone, as in a service or container of its own: neither sensors nor sshd."""
    _until_it_flows(ground)
    add_to_group(ground.h1, "iperf3")


def _words(*words: str) -> frozenset[str]:
    return frozenset(words)


UNPINNED: Data = {"placement": "none"}
PLANTS = (
    Plant(
        "shaper",
        "the sender's interface lets 2 Gbit/s through",
        {},
        limits=_words("shaper"),
        planting=_shaped(*shaper("2gbit")),
        idle_machine=False,
    ),
    Plant(
        "sender-app-cpu",
        "sending costs the sender's CPU so much that it is full, and the asked rate is not reached",
        {"rate": "9G"},
        limits=_words("sender-app-cpu", "sender-irq-cpu"),
        findings=_words("rate-not-reached"),
        planting=_costly(0, "all", 8),
    ),
    Plant(
        "receiver-irq-cpu",
        "the receiver's interrupt CPU is full, its app CPU is not",
        {},
        limits=_words("receiver-irq-cpu"),
        planting=_costly(1, "received", 40),
        places=Ground.apart,
    ),
    Plant(
        "one-hot-cpu",
        "of the receiver's two interrupt CPUs one is full",
        {"window": {"seconds": 3, "omit": 3, "tail": 3.3}},  # receive work is moved before the window begins
        limits=_words("receiver-irq-cpu"),
        findings=_words("setting-changed"),
        planting=_costly(1, "received", 40),
        during=_onto_one_cpu,
        places=lambda ground: ground.apart(f"{ground.app_cpu},{ground.irq_cpu}"),
    ),
    Plant(
        "small-send-buffer",
        "128 KiB of send buffer over a round trip of half a millisecond",
        {},
        limits=_words("send-buffer"),
        planting=_buffer(0, "net.ipv4.tcp_wmem", 131072, 500e-6),
        idle_machine=False,
    ),
    Plant(
        "small-receive-window",
        "32 KiB of receive buffer over a round trip of half a millisecond",
        {},
        limits=_words("receive-window"),
        planting=_buffer(1, "net.ipv4.tcp_rmem", 32768, 500e-6),
        idle_machine=False,
    ),
    Plant(
        "client-bound",
        "the client's CPU is full and the server has room: the test bed is the limit",
        {},
        limits=_words("sender-app-cpu", "sender-irq-cpu"),
        findings=_words("test-bed-is-the-limit"),
        planting=_costly(0, "all", 8),
        says=("h1 is the limit, not h2",),
    ),
    Plant(
        "hidden-ceiling",
        "the switch lets 2 Gbit/s through, which no host can see",
        {"instances": [1, 2], "trials": 2},
        limits=_words("device-or-path"),
        planting=_narrow_switch,
        says=("Gbps",),
    ),
    Plant(
        "loss-at-the-socket",
        "the receiver's UDP socket holds half of the datagrams that arrive at a time",
        {"tests": ["udp-1500"], "rate": "500M"},
        limits=_words("receiver-socket-buffer"),
        findings=_words("udp-loss"),
        planting=_moderated,
        during=_small_socket,
        says=("socket",),
    ),
    Plant(
        "loss-at-the-queue",
        "the sender's queue holds two datagrams, and bursts are longer",
        {"tests": ["udp-1500"], "rate": "200M"},
        limits=_words("sender-queue"),
        findings=_words("udp-loss"),
        planting=_shaped(*shaper("300mbit", 2000, 4000)),
        says=("queue",),
        idle_machine=False,
    ),
    Plant(
        "foreign-process",
        "a foreign process computes on the CPU that serves interrupts",
        {"rate": "500M"},
        findings=_words("foreign-load"),
        during=_foreign,
        places=Ground.apart,
        says=("IRQ CPU",),
    ),
    Plant(
        "foreign-process-beside-an-unpinned-load",
        "a foreign process computes beside a load that may run anywhere",
        {"rate": "500M", **UNPINNED},
        findings=_words("foreign-load"),
        during=_foreign,
        says=("h2",),
    ),
    Plant(
        "cpu-quota",
        "the control group of the sender's load may use a tenth of a CPU",
        {"window": {"seconds": 3, "omit": 3, "tail": 3.3}},  # the load is in it before the window begins
        limits=_words("sender-cpu-quota"),
        findings=_words("cpu-quota-throttled"),
        planting=_quota,
        during=_into_quota,
        says=("h1", "/linewatt-quota-", "a quota of 0.1 CPUs"),
    ),
    Plant(
        "neighbour",
        "another transfer of 1.5 Gbit/s runs over the same interfaces",
        {"rate": "500M"},
        findings=_words("neighbour-traffic"),
        planting=_neighbour,
    ),
    Plant(
        "dip",
        "for two seconds of the window the link carries almost nothing",
        {"window": LONG_WINDOW},
        findings=_words("throughput-dips"),
        causes=_words("interface-changed"),
        planting=_shaped(*shaper("2gbit")),
        during=_dip,
    ),
)

HEADROOM: Data = {
    "tests": [
        {"test": "tcp", "rate": "500M", "instances": [1, 2]},
        {"test": "udp-1500", "rate": "200M"},
        {"test": "udp-60", "rate": "4M"},
        {"test": "tcp", "rate": "1G"},
    ],
    "trials": 1,
}
"""five cases for which there is room everywhere"""
