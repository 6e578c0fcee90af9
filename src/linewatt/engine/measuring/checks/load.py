# SPDX-License-Identifier: Apache-2.0
"""What the load says of itself, and whether both ends run it alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from linewatt.analysis.limits import CONGESTION, SOCKET_LIMITS
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.datagrams import SURE, Losses, Unsure, datagram_losses
from linewatt.engine.measuring.window import EndRun
from linewatt.findings import LOSS_SHOWN, SEGMENT_OFFLOADS
from linewatt.loads import Load, version_text
from linewatt.model import Case, EndResult, Flag, InstanceResult
from linewatt.sensors import counter_delta, losses_of_host


def check(seen: Seen) -> Iterator[Flag]:
    """Loss, disorder, loads that spin while they wait, ends that differ."""
    sending, receiving = seen.with_role("sender"), seen.with_role("receiver")
    yield from datagrams(seen.case, seen.instances, sending, receiving, _unsure(seen))
    yield from spinning(seen.case, seen.cut.end_runs, seen.load)
    yield from counted_once(seen)
    yield from alike(seen)


def _unsure(seen: Seen) -> Unsure:
    """What lies between readings at the window's edges, of counters of drops of datagrams."""
    short = over = interval_s = 0.0
    for end, leaving in (
        *((end, True) for end in seen.with_role("sender")),
        *((end, False) for end in seen.with_role("receiver")),
    ):
        moved = {name for loss in losses_of_host(end.counters, leaving=leaving) for name in loss.counters}
        for reading in seen.readings(end):
            for name in moved & reading.channels.keys():
                delta = counter_delta(reading.values(name), seen.window, reading.channels[name].bits)
                if delta.value is not None:
                    short += delta.upper_bound - delta.value
                    over += delta.value - delta.lower_bound
                    interval_s = max(interval_s, _interval_s(reading))
    return Unsure(short, over, interval_s)


def _interval_s(reading: Reading) -> float:
    return median(after.time_s - before.time_s for before, after in pairwise(reading.records))


def is_lossy(instances: Sequence[InstanceResult]) -> bool:
    """Whether so many datagrams were lost that it is told."""
    packets, lost = _datagrams(instances)
    return packets > 0 and lost / packets >= LOSS_SHOWN


def _datagrams(instances: Sequence[InstanceResult]) -> tuple[int, int]:
    """Datagrams in all, and lost."""
    return sum(instance.packets or 0 for instance in instances), sum(
        instance.lost_packets or 0 for instance in instances
    )


def datagrams(
    case: Case,
    instances: Sequence[InstanceResult],
    senders: Sequence[EndResult],
    receivers: Sequence[EndResult],
    unsure: Unsure = SURE,
) -> Iterator[Flag]:
    """UDP that was sent but not received, with the places where it was lost, and datagrams out of order."""
    all_losses = datagram_losses(*_datagrams(instances), senders, receivers, unsure)
    for pair in case.pairs:
        pair_instances = [instance for instance in instances if case.pair_of(instance.instance) == pair]
        yield from _datagrams_of_pair(case, pair, pair_instances, all_losses)


def _datagrams_of_pair(
    case: Case, pair: Case, instances: Sequence[InstanceResult], all_losses: Losses
) -> Iterator[Flag]:
    """``all_losses`` is of all pairs together: counters do not tell them apart."""
    packets, lost = _datagrams(instances)
    disordered = sum(instance.out_of_order_packets or 0 for instance in instances)
    if is_lossy(instances) and not case.search:  # which loses on purpose
        where = all_losses.places[0].host if all_losses.places else case.receiver
        of_all = "" if lost == all_losses.lost else f"all pairs together lost {all_losses.lost}: "
        yield Flag(
            "udp-loss",
            pair.way if case.flows else where,
            f"{lost} of {packets} datagrams lost in the window ({100 * lost / packets:.2f} %): "
            f"{of_all}{all_losses.words}",
            "throughput counts only what arrived; check the places of the loss; to measure the rate without "
            "loss, lower rate or use search",
        )
    if packets and disordered / packets >= LOSS_SHOWN:
        yield Flag(
            "udp-out-of-order",
            pair.way if case.flows else case.receiver,
            f"{disordered} of about {packets} datagrams arrived out of order",
            "look for more than one path or queue between the hosts",
        )


def counted_once(seen: Seen) -> Iterator[Flag]:
    """Figures that are of more than the window: how much of them was in it is not known."""
    for run in seen.cut.end_runs:
        for interval in run.load.intervals:
            start_s, end_s = run.start_s + interval.start_s, run.start_s + interval.end_s
            if start_s < seen.window.start_s and seen.window.end_s < end_s:
                yield Flag(
                    "counted-once",
                    seen.case.pairs[0].client,
                    f"{seen.load.name} counted once, over {end_s - start_s:.1f} s; the window is "
                    f"{seen.window.seconds:.1f} s of that",
                    "make the window much longer than omit and tail",
                )
                return


def spinning(case: Case, runs: Sequence[EndRun], load: Load) -> Iterator[Flag]:
    """A rate-limited load that burns its CPU while it waits: its CPU use is not the cost of the traffic."""
    if load.busy_waits is None or not case.paced:
        return
    first, fixed = load.busy_waits
    for run in runs:
        version = tuple(int(part) for part in re.findall(r"\d+", run.load.version)[:2])
        if run.load.is_sender and first <= version < fixed:
            yield Flag(
                "load-spins",
                case.sender,
                f"{load.name} {run.load.version} busy-waits between the packets of a rate-limited test",
                f"use {load.name} older than {version_text(first)}, or {version_text(fixed)} or newer, "
                "or leave the rate out",
            )
            return


def alike(seen: Seen) -> Iterator[Flag]:
    """The load's versions at both ends, the kernel parameters that bound its sockets, and offloads."""
    yield from versions(seen)
    yield from sockets(seen)
    yield from offloads(seen)


def versions(seen: Seen) -> Iterator[Flag]:
    """Two versions of the load; whether their threads differ is read back (checks/placement.py)."""
    for run in seen.cut.runs:
        sender, receiver = run.sender.load.version, run.receiver.load.version
        if sender and receiver and sender != receiver:  # an end that is told of by the other has none
            yield Flag(
                "load-versions-differ",
                ", ".join(seen.case.pair_of(run.output.planned.instance).hosts),
                f"{seen.load.name} {sender} at the sender, {receiver} at the receiver",
                "use the same version on both hosts",
            )
            return


def sockets(seen: Seen) -> Iterator[Flag]:
    """Kernel parameters of sockets that one end has otherwise than the other."""
    protocol = "tcp" if seen.case.is_tcp else "udp"
    names = dict.fromkeys(
        [*(name for limit_names in SOCKET_LIMITS.values() for name in limit_names[protocol])]
    )
    if protocol == "tcp":
        names[CONGESTION] = None
    for pair in seen.case.pairs:
        differences = []
        for name in names:
            sender_value, receiver_value = (_setting(seen, seen.end(host), name) for host in pair.hosts)
            if sender_value is not None and receiver_value is not None and sender_value != receiver_value:
                differences.append(f"{name} {sender_value} at the sender, {receiver_value} at the receiver")
        if differences:
            yield Flag(
                "socket-settings-differ",
                ", ".join(pair.hosts),
                "; ".join(differences),
                "set them to the same values (settings: sysctl), unless the hosts are meant to differ",
            )


def offloads(seen: Seen) -> Iterator[Flag]:
    """What takes many segments of TCP for one, at one end of a pair and not at the other."""
    for pair in seen.case.pairs if seen.case.is_tcp else ():
        sender_facts, receiver_facts = (_facts(seen, seen.end(host)) for host in pair.hosts)
        differences = [
            f"{name} {sender_facts[fact]} at {pair.sender}, {receiver_facts[fact]} at {pair.receiver}"
            for name in SEGMENT_OFFLOADS
            if (fact := f"nic.offloads.{name}") in sender_facts.keys() & receiver_facts.keys()
            and sender_facts[fact] != receiver_facts[fact]
        ]
        if differences:
            yield Flag(
                "offloads-differ",
                ", ".join(pair.hosts),
                "; ".join(differences),
                "set them to the same values (settings: offload), unless the hosts are meant to differ",
            )


def _facts(seen: Seen, end: EndResult) -> Mapping[str, str]:
    """What a host showed of itself in the tail of the load."""
    readback = seen.readback(end)
    return {} if readback is None else readback.facts


def _setting(seen: Seen, end: EndResult, name: str) -> str | None:
    """As the trial had it set, else as the host showed it when the campaign began."""
    return end.settings.get(f"sysctl {name}") or seen.setup.sysctls.get(end.host, {}).get(name)
