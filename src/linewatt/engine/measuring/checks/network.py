# SPDX-License-Identifier: Apache-2.0
"""Ways not proven, delay and loss that netem adds, packets that were dropped, or are not the load's. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from linewatt.campaign import load_options
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.measuring.checks.load import counted_once, is_lossy
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.window import EndRun
from linewatt.errors import ParseError
from linewatt.findings import (
    ANSWER_BYTES,
    DROPS_SHOWN_RATIO,
    FLOOR_BPS,
    FLOOR_PPS,
    LAST_READING_EDGE_S,
    LEAST_OF_LOAD_RATIO,
    LEAST_SEEN_PAYLOAD_RATIO,
    LEAST_SEGMENT_RATIO,
    SLACK_RATIO,
    SMALLER_PACKET_OPTIONS,
    STRAY_PPS,
    USUAL_DROP_CAUSES,
)
from linewatt.hosts.facts import fact_of_port
from linewatt.model import Case, EndResult, Flag, InstanceResult, Role, is_request_response
from linewatt.network import FCS_BYTES, Framing, frame_sizes
from linewatt.sensors import Loss, losses_of_host, netcounters_time_s
from linewatt.sizes import IP_BYTES, UDP_BYTES
from linewatt.units import format_packets, format_rate


def check(seen: Seen) -> Iterator[Flag]:
    """The way of the data, then both ends."""
    yield from paths(seen)
    datagrams_lost = any(is_lossy(instances) for _, instances in seen.pairs)
    for end in seen.ends:
        yield from emulated(end.host, seen.readback(end))
        yield from drops(
            end, datagrams_told=datagrams_lost, both_ways=seen.case.shape in ("both-ways", "ring")
        )
        yield from neighbours(seen, end)
        yield from impossible(seen, end)


def emulated(host: str, readback: ReadBack | None) -> Iterator[Flag]:
    """What netem does to what data interfaces send, whoever set it."""
    emulations = []
    for fact, text in readback.facts.items() if readback is not None else ():
        name, port = fact_of_port(fact)
        if name == "nic.qdisc" and text.startswith("netem "):
            emulations.append(f"{text}{'' if port is None else f' of {port}'}")
    if emulations:
        yield Flag(
            "netem",
            host,
            f"netem acts on the traffic that its data interface sends: {'; '.join(emulations)}",
            "throughput, loss and latency include netem's effect; to measure the hosts, set netem: none",
        )


def drops(end: EndResult, *, datagrams_told: bool = False, both_ways: bool = False) -> Iterator[Flag]:
    """Packets that the host's own counters say were dropped in the window, by cause.

    ``datagrams_told``: where the load's datagrams were lost is told with its own count (``udp-loss``), at a
    host that sends and receives them (``both_ways``) of either way.
    """
    relevant_losses = [loss for loss in losses_of_host(end.counters) if _matters(loss, end)]
    if datagrams_told:
        ways = (True, False) if both_ways else (end.role == "sender",)
        load_causes = {
            loss.cause for leaving in ways for loss in losses_of_host(end.counters, leaving=leaving)
        }
        relevant_losses = [
            loss for loss in relevant_losses if loss.cause.protocol == "tcp" or loss.cause not in load_causes
        ]
    if relevant_losses:
        causes = ", ".join(f"{loss.words} ({', '.join(loss.counters)})" for loss in relevant_losses)
        yield Flag(
            "packets-dropped",
            end.host,
            f"dropped in the window: {causes}",
            "check ring sizes, socket buffers (net.core.rmem_max), queues (tc -s qdisc) and "
            "net.core.netdev_max_backlog",
        )


def _matters(loss: Loss, end: EndResult) -> bool:
    """Not a few among millions where that is usual."""
    if loss.cause.key not in USUAL_DROP_CAUSES:
        return True
    way = "tx" if set(loss.counters) <= set(loss.cause.leaving) else "rx"
    passed = end.counters.get(f"nic.{way}_packets")
    return passed is None or loss.packets >= DROPS_SHOWN_RATIO * passed


def neighbours(seen: Seen, end: EndResult) -> Iterator[Flag]:
    """Bytes on the data interface, either way, that neither the load's packets nor its answers explain.

    A host takes part in one trial at a time. Where the load takes another interface nothing is told.
    """
    framing = seen.cut.run.framings.get(end.host)
    reading = seen.reading(end, "netcounters")
    if is_request_response(seen.case.test):  # messages of any size, and as many back
        return
    if framing is None or reading is None or not seen.instances:
        return
    findings = [*_beside(seen, end, framing, reading)] if _under_load(reading, seen) else []
    for others in findings or _strays(end.counters, seen.window.seconds):
        yield Flag(
            "neighbour-traffic",
            end.host,
            others,
            "find what else uses the interface (ss -tupn, tcpdump -ni) and stop it, or measure on an "
            "interface without other traffic",
        )


def impossible(seen: Seen, end: EndResult) -> Iterator[Flag]:
    """More payload counted by the receiving processes than the data interface of either end carried: a little
    of it where the load takes that interface, hardly any where it takes another."""
    reading = seen.reading(end, "netcounters")
    if is_request_response(seen.case.test) or not seen.instances or end.host not in seen.cut.run.framings:
        return
    if reading is None or not _under_load(reading, seen) or any(counted_once(seen)):
        return
    ways: tuple[tuple[str, Role], ...] = (("rx", "receiver"), ("tx", "sender"))
    for way, role in ways:
        if (evidence := _on_another_interface(seen, end, way, role)) is not None:
            yield Flag(
                "load-not-on-interface",
                end.host,
                evidence,
                "check which interface the data takes (ip route get), name it in the inventory, and measure "
                "again",
            )
        evidence = _above_interface(seen, end, reading, way, role)
        if evidence is not None:
            yield Flag(
                "goodput-above-interface",
                end.host,
                evidence,
                "compare with another load, look for a second path (ip route get), and measure again",
            )


def _goodput_bps(seen: Seen, end: EndResult, role: Role) -> float:
    """What processes that have a role at an end moved, as their receivers counted."""
    return sum(instance.throughput_bps for instance, its in seen.processes(end) if its == role)


def _on_another_interface(seen: Seen, end: EndResult, way: str, role: Role) -> str | None:
    """How little of the load the data interface of an end carried, where the load takes another one."""
    carried_bytes, seconds = end.counters.get(f"nic.{way}_bytes"), seen.window.seconds
    goodput_bps = _goodput_bps(seen, end, role)
    if carried_bytes is None or goodput_bps <= FLOOR_BPS:
        return None
    if carried_bytes >= LEAST_OF_LOAD_RATIO * goodput_bps / 8 * seconds:
        return None
    verb = "received" if way == "rx" else "sent"
    return (
        f"the load moved {format_rate(goodput_bps)} of payload, but its data interface {verb} only "
        f"{format_rate(8 * carried_bytes / seconds)} in total: the load took another interface"
    )


def _above_interface(seen: Seen, end: EndResult, reading: Reading, way: str, role: Role) -> str | None:
    """By how much goodput of the processes in a role is more than the interface can have carried."""
    carried_bytes, seconds = end.counters.get(f"nic.{way}_bytes"), seen.window.seconds
    goodput_bps = _goodput_bps(seen, end, role)
    counted_bytes = goodput_bps / 8 * seconds
    if carried_bytes is None or carried_bytes < LEAST_OF_LOAD_RATIO * counted_bytes:
        return None
    uneven_ratio = max(_uneven_ratio(seen, "sender"), _uneven_ratio(seen, "receiver"))
    edges = (_late_s(reading, f"nic.{way}_bytes", seen) + _astray_s(reading)) / seconds + uneven_ratio
    least_bytes = counted_bytes * _least_ratio(seen.case, seen.cut.run.framings[end.host])
    if least_bytes <= carried_bytes * (1 + SLACK_RATIO + edges) + FLOOR_BPS / 8 * seconds:
        return None
    verb = "received" if way == "rx" else "sent"
    headers = (
        "" if least_bytes == counted_bytes else f" ({format_rate(8 * least_bytes / seconds)} with headers)"
    )
    carried = format_rate(8 * carried_bytes / seconds)
    counted = f"{format_rate(goodput_bps)} of payload{headers}"
    sent_bps = sum(instance.offered_bps for instance, its in seen.processes(end) if its == role)
    twice = (
        f"; only {format_rate(sent_bps)} of payload were sent, so datagrams arrived twice and were counted "
        "twice"
        if not seen.case.is_tcp and goodput_bps > (1 + SLACK_RATIO) * sent_bps
        else ""
    )
    return f"the load counted {counted}, but its data interface {verb} only {carried} in total{twice}"


def _least_ratio(case: Case, framing: Framing) -> float:
    """Bytes that any interface counts at least for one of payload: headers of IP and UDP with each datagram.
    Of TCP it is 1, because virtual interfaces count one header for many segments."""
    if case.is_tcp:
        return 1.0
    payload, _ = frame_sizes(case.test, case.family, framing)
    return (payload + IP_BYTES[case.family] + UDP_BYTES) / payload


def _beside(seen: Seen, end: EndResult, framing: Framing, reading: Reading) -> Iterator[str]:
    """What the interface that the load takes passed beyond what the load can have made."""
    load = _load_made(seen, end, framing)
    ways = ("tx", "rx") if end.role == "sender" else ("rx", "tx")
    if all(
        (end.counters.get(f"nic.{way}_bytes") or 0.0) >= load[way].payload * LEAST_SEEN_PAYLOAD_RATIO
        for way in ways
    ):
        uneven = _uneven_ratio(seen, "sender")
        astray_s = _astray_s(reading)
        beyond = {
            way: (_late_s(reading, f"nic.{way}_bytes", seen) + astray_s) / seen.window.seconds + uneven
            for way in ways
        }
        sentences = (_others(way, load[way], end.counters, seen.window.seconds, beyond[way]) for way in ways)
        yield from filter(None, sentences)


def _late_s(reading: Reading, name: str, seen: Seen) -> float:
    """How old a count of the load may be when it is read; 0 where each reading has moved.

    Some NICs write their counters once a second (ethtool(8), stats-block-usecs), and drivers of virtual
    functions ask for theirs every other second: readings find them unmoved, then with what was of before.
    """
    load = seen.cut.load
    counts = [
        (time_s, value)
        for time_s, value in reading.values(name)
        if value is not None and load.start_s <= time_s <= load.end_s + LAST_READING_EDGE_S
    ]
    moved_s = [after[0] for before, after in pairwise(counts) if after[1] != before[1]]
    if len(moved_s) >= len(counts) - 1:
        return 0.0
    return max(after - before for before, after in pairwise([counts[0][0], *moved_s, counts[-1][0]]))


def _astray_s(reading: Reading) -> float:
    """By how much longer one record was under way than another: each counts for when it arrived.

    A host whose CPU does nothing but receive sends what it read up to a second later.
    """
    late_s = []
    for record in reading.records:
        with suppress(ParseError):
            late_s.append(record.received_s - netcounters_time_s(record.text))
    return max(late_s) - min(late_s) if late_s else 0.0


def _uneven_ratio(seen: Seen, counted_by: Role) -> float:
    """How much of the load that one end counted may have passed on the other side of an edge of the window.

    As a part of the window's load. Load and interface are counted in intervals of their own, and each shares
    those on an edge out evenly. A load that stood still there and caught up passed most of one on one side. A
    receiver that did so takes up in the window what its interface had received before.
    """
    moved = sum(instance.offered_bps for instance in seen.instances) / 8 * seen.window.seconds
    edges_s = (seen.window.start_s, seen.window.end_s)
    ends = [run.sender if counted_by == "sender" else run.receiver for run in seen.cut.runs]
    astray = sum(_astray(end, edge_s) for end in ends for edge_s in edges_s)
    return astray / moved if moved else 0.0


def _astray(run: EndRun, edge_s: float) -> float:
    """By how many bytes intervals at an edge, or next to one that is, differ from the load's mean."""
    intervals = run.load.intervals
    rate = sum(interval.transferred_bytes for interval in intervals) / sum(
        interval.end_s - interval.start_s for interval in intervals
    )
    at_s = edge_s - run.start_s
    return max(
        (
            abs(interval.transferred_bytes - rate * length_s)
            for interval in intervals
            if (length_s := interval.end_s - interval.start_s)
            and interval.start_s - length_s <= at_s <= interval.end_s + length_s
        ),
        default=0.0,
    )


def _strays(counters: Mapping[str, float | None], seconds: float) -> Iterator[str]:
    """Datagrams that no process of this host wanted: where the load itself lost many, bytes and packets of
    others hide below what it may have sent."""
    strays = sum(counters.get(f"nstat.{name}") or 0.0 for name in ("UdpNoPorts", "Udp6NoPorts"))
    received = counters.get("nic.rx_packets")
    if received is None or strays <= SLACK_RATIO * received + STRAY_PPS * seconds:
        return
    rates = [format_packets(count / seconds) for count in (strays, received)]
    yield (
        f"about {rates[0]} of other traffic: datagrams to UDP ports without a listener (UdpNoPorts, all "
        f"interfaces of the host); its data interface received {rates[1]} in total"
    )


def _others(
    way: str, load: _LoadMade, counters: Mapping[str, float | None], seconds: float, beyond: float
) -> str | None:
    """Bytes that are not the load's, or else packets: small ones make few bytes, and cost a CPU as much.

    ``beyond``: the load of so much more, as a part of the window, may be in what was read in it.
    """
    nic_bytes, packets = (counters.get(f"nic.{way}_{unit}") for unit in ("bytes", "packets"))
    max_bytes, most_packets = (of_load * (1 + beyond) for of_load in (load.most, load.most_packets))
    if nic_bytes is not None and nic_bytes > max_bytes + FLOOR_BPS / 8 * seconds:
        rates = [
            format_rate(8 * byte_count / seconds)
            for byte_count in (nic_bytes - load.least, nic_bytes, load.least)
        ]
    elif packets is not None and load.packets is not None and packets > most_packets + FLOOR_PPS * seconds:
        rates = [
            format_packets(packet_count / seconds)
            for packet_count in (packets - load.packets, packets, load.packets)
        ]
    else:
        return None
    verb = "sent" if way == "tx" else "received"
    return (
        f"about {rates[0]} of other traffic: its data interface {verb} {rates[1]} in the window, the "
        f"load accounts for {rates[2]}"
    )


@dataclass(frozen=True, slots=True)
class _LoadMade:
    """What a load makes of bytes, least and most, and of packets on an interface one way in the window.

    ``packets`` None: its writes may be smaller than its packets could be, so that nothing says how many.
    """

    payload: float
    least: float
    most: float
    packets: float | None
    most_packets: float


def _load_made(seen: Seen, end: EndResult, framing: Framing) -> dict[str, _LoadMade]:
    """Either way, from what was offered: what was lost left the sender, and may have come to the receiver,
    and datagrams may have come there twice.

    Hardware counts frames; a virtual interface counts what segmentation makes of them later as one, with one
    header, so that it shows less. Each packet may have an answer.
    """
    case = seen.case
    payload, frame = _segment_sizes(seen, framing)
    offered: dict[Role, float] = {"sender": 0.0, "receiver": 0.0}
    of_sender: dict[Role, dict[str, list[InstanceResult]]] = {"sender": {}, "receiver": {}}
    for instance, role in seen.processes(end):
        moved_bps = (
            instance.offered_bps if role == "sender" else max(instance.offered_bps, instance.throughput_bps)
        )
        offered[role] += moved_bps * seen.window.seconds / 8
        of_sender[role].setdefault(case.pair_of(instance.instance).sender, []).append(instance)
    again = {
        role: sum(_sent_again(seen, host, instances) for host, instances in instances_by_host.items())
        for role, instances_by_host in of_sender.items()
    }
    full = {role: of_role / payload + again[role] for role, of_role in offered.items()}
    counted = {role: _packets(seen, end, role, offered[role], again[role]) for role in offered}
    ways: tuple[tuple[str, Role, Role], ...] = (("tx", "sender", "receiver"), ("rx", "receiver", "sender"))
    load_by_way = {}
    for way, data_role, answer_role in ways:
        forward = full[data_role] * (frame + FCS_BYTES)
        back = full[answer_role] * framing.wire_bytes(ANSWER_BYTES) if case.is_tcp else 0.0
        answers = counted[answer_role] or 0.0 if case.is_tcp else 0.0
        most_packets = (counted[data_role] or 0.0) * (1 + SLACK_RATIO) + answers
        max_bytes = forward * (1 + SLACK_RATIO) + back
        load_by_way[way] = _LoadMade(offered[data_role], forward, max_bytes, counted[data_role], most_packets)
    return load_by_way


def _segment_sizes(seen: Seen, framing: Framing) -> tuple[int, int]:
    """Payload and frame of a full packet; of TCP of the MSS that its connections have, where that is less
    than the MTU has room for."""
    payload, frame = frame_sizes(seen.case.test, seen.case.family, framing)
    states = [instance.tcp for instance in seen.instances] if seen.case.is_tcp else []
    sizes_bytes = [state.mss_bytes for state in states if state is not None and state.mss_bytes]
    less_bytes = payload - min((payload, *sizes_bytes))
    return payload - less_bytes, frame - less_bytes


def _packets(seen: Seen, end: EndResult, role: Role, offered: float, again: float) -> float | None:
    """Those of a load in one role: as small as both ends agree on; datagrams as it counts them itself."""
    case, framings = seen.case, seen.cut.run.framings.values()
    full = offered / min(_segment_sizes(seen, framing)[0] for framing in framings)
    if case.is_tcp:
        return None if SMALLER_PACKET_OPTIONS & {name for name, _ in load_options(case)} else full + again
    packet_counts = [instance.packets for instance, its in seen.processes(end) if its == role]
    return None if None in packet_counts else max(full, sum(count or 0 for count in packet_counts))


def _sent_again(seen: Seen, host: str, instances: Sequence[InstanceResult]) -> float:
    """Segments by the host's counter; where others sent there, too, by the load's own count if it has one."""
    retransmits = [instance.retransmits for instance in instances if instance.retransmits is not None]
    if len(retransmits) == len(instances) < len([*seen.processes(seen.end(host))]):
        return float(sum(retransmits))
    return seen.end(host).counters.get("nstat.TcpRetransSegs") or 0.0


def _under_load(reading: Reading, seen: Seen) -> bool:
    """Whether the readings that the window is cut from lie between the start and the end of all loads."""
    times = [record.time_s for record in reading.records if record.problem is None]
    before = [time_s for time_s in times if time_s <= seen.window.start_s]
    after = [time_s for time_s in times if time_s >= seen.window.end_s]
    if not before or not after:
        return False
    load = seen.cut.load
    return before[-1] >= load.start_s and after[0] <= load.end_s + LAST_READING_EDGE_S


def paths(seen: Seen) -> Iterator[Flag]:
    """The way of the trial's data, instance by instance."""
    where = seen.case.way
    problem = seen.cut.run.path_problem
    if problem is not None and seen.instances:
        yield Flag("path-not-proven", where, problem, "fix the path, or allow pings, and measure again")
    for pair, instances in seen.pairs:
        yield from silent(pair.way, instances)
        yield from small_segments(pair, instances, seen.cut.run.framings)
    if seen.setup.steer and seen.instances:
        yield from steering(seen.case, seen.readback(seen.end(seen.case.receiver)))


def small_segments(
    pair: Case, instances: Sequence[InstanceResult], framings: Mapping[str, Framing]
) -> Iterator[Flag]:
    """Segments of TCP smaller than the MTU of an end has room for, where the load did not ask for that."""
    sizes_bytes = [
        instance.tcp.mss_bytes
        for instance in instances
        if instance.tcp is not None and instance.tcp.mss_bytes
    ]
    mtus = {host: framings[host].mtu for host in pair.hosts if host in framings}
    if not sizes_bytes or not mtus or "mss" in {name for name, _ in load_options(pair)}:
        return
    host, smallest = max(mtus, key=lambda name: mtus[name]), min(mtus, key=lambda name: mtus[name])
    room_bytes, mss_bytes = frame_sizes(pair.test, pair.family, framings[host])[0], min(sizes_bytes)
    if mss_bytes >= LEAST_SEGMENT_RATIO * room_bytes:
        return
    is_unlike = mtus[smallest] < mtus[host]
    why = f"the MTU of {smallest} is {mtus[smallest]:,} bytes" if is_unlike else "the path allows less"
    yield Flag(
        "segments-small",
        pair.way,
        f"its segments carry {mss_bytes:,} bytes; the MTU of {host} ({mtus[host]:,} bytes) has room for "
        f"{room_bytes:,} bytes: {why}",
        "set the same MTU at both ends and on the path, look for MSS clamping (nft, iptables TCPMSS) and "
        "routes with an mtu or advmss (ip route), and measure again",
    )


def silent(where: str, instances: Sequence[InstanceResult]) -> Iterator[Flag]:
    """Instances of which nothing arrived, beside others."""
    numbers = [str(instance.instance) for instance in instances if instance.throughput_bps <= 0]
    if numbers:
        yield Flag(
            "instance-got-nothing",
            where,
            f"no data of instance {', '.join(numbers)} arrived in the window",
            "check its output in raw.tar.gz and its port, and look for a firewall",
        )


def steering(case: Case, readback: ReadBack | None) -> Iterator[Flag]:
    """``steer: true`` without a rule in force."""
    if readback is None or any(setting.knob == "ntuple" for setting in readback.settings):
        return
    why = "the receiver opens the connections, so its port does not distinguish instances"
    if case.direction != "reverse":
        queues = case.instances_of_a_port
        why = f"its interface lacks dedicated interrupts, has fewer queues than {queues}, or needs root"
    yield Flag(
        "steering-not-possible",
        case.receiver,
        f"no rule steers an instance to a queue: {why}",
        "leave steer out, or see docs/placement.md for its requirements",
    )
