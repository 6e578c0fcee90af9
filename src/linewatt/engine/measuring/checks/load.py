# SPDX-License-Identifier: Apache-2.0
"""What the load says of itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linewatt.engine.measuring.seen import Seen
from linewatt.engine.measuring.window import EndRun
from linewatt.findings.limits import FULL_CPU, HEADROOM
from linewatt.findings.load import LOSS_SHOWN, SPINS_BEFORE, SPINS_FROM
from linewatt.model import Case, EndResult, Flag, InstanceResult


def check(seen: Seen) -> Iterator[Flag]:
    """Loss, disorder, and loads that are not what limits."""
    ends = [end for one in seen.cut.runs for end in (one.sender, one.receiver)]
    yield from datagrams(seen.case, seen.instances)
    yield from spinning(seen.case, ends)
    yield from bottleneck(seen.case, seen.sender, seen.receiver)


def datagrams(case: Case, instances: Sequence[InstanceResult]) -> list[Flag]:
    """UDP that was sent but not received, and datagrams out of order."""
    packets = sum(one.packets or 0 for one in instances)
    lost = sum(one.lost_packets or 0 for one in instances)
    disordered = sum(one.out_of_order_packets or 0 for one in instances)
    flags = []
    if packets and lost / packets >= LOSS_SHOWN:
        flags.append(
            Flag(
                "udp-loss",
                case.receiver,
                f"{lost} of {packets} datagrams lost in the window ({100 * lost / packets:.2f} %)",
                "throughput is what arrived; offer less (rate) to learn what arrives without loss",
            )
        )
    if packets and disordered / packets >= LOSS_SHOWN:
        flags.append(
            Flag(
                "udp-out-of-order",
                case.receiver,
                f"{disordered} of about {packets} datagrams arrived out of order",
                "look for more than one path or queue between the hosts",
            )
        )
    return flags


def bottleneck(case: Case, sender: EndResult, receiver: EndResult) -> list[Flag]:
    """A sender whose CPU is full while the receiver has room: the figure is the sender's.

    A load level is limited by what it asks for; that a sender does not keep up is said where levels are
    (analysis/load_levels.py).
    """
    if case.load_level is not None:
        return []
    if sender.app_cpu is None or receiver.app_cpu is None:
        return []
    busy = 1 - sender.app_cpu.idle_ratio
    roles = [role for role in (receiver.app_cpu, receiver.irq_cpu) if role is not None]
    fullest = max(1 - role.idle_ratio for role in roles)
    if busy < FULL_CPU or fullest > HEADROOM:
        return []
    return [
        Flag(
            "sender-is-the-bottleneck",
            case.sender,
            f"its app CPU is {100 * busy:.1f} % busy, the receiver's fullest CPU {100 * fullest:.1f} %",
            "the receiver could take more: send from more instances or a faster host",
        )
    ]


def spinning(case: Case, runs: Sequence[EndRun]) -> list[Flag]:
    """A rate-limited iperf3 that burns its CPU while it waits: its CPU use is not the cost of the traffic."""
    for run in runs:
        version = tuple(int(part) for part in re.findall(r"\d+", run.load.version)[:2])
        if case.paced and run.load.is_sender and SPINS_FROM <= version < SPINS_BEFORE:
            return [
                Flag(
                    "load-spins",
                    case.sender,
                    f"iperf3 {run.load.version} busy-waits between the packets of a rate-limited test",
                    "use iperf3 before 3.16 or from 3.18 on, or leave the rate out",
                )
            ]
    return []
