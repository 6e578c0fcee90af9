# SPDX-License-Identifier: Apache-2.0
"""What may limit beside CPUs: the asked rate, the line, PCI Express, socket buffers and queues. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from linewatt.analysis.cases.flows import flow_trials
from linewatt.analysis.limits.candidate import BYTES, Candidate, Kind
from linewatt.analysis.limits.ports import lines_apart
from linewatt.findings import IMPOSSIBLE_LINE_RATIO, LIMITING_LOSS_RATIO, OVERFLOW_PART
from linewatt.model import ENDS, EndResult, Role, TcpState, Trial
from linewatt.units import format_percent, format_rate

MORE_THAN_ARRIVES = 1.1
SEEN_WAITING_RATIO = 0.05
"""of the time that TCP had data to send: it waited for its buffer not at the start alone"""
_OVERFLOWS: tuple[tuple[Kind, bool, tuple[str, ...], str], ...] = (
    ("sender-queue", True, ("qdisc.dropped",), "its queueing discipline"),
    ("receiver-ring", False, ("nic.rx_missed_errors", "nic.rx_fifo_errors"), "its NIC's receive ring"),
    ("receiver-backlog", False, ("softnet.dropped",), "its backlog (net.core.netdev_max_backlog)"),
    (
        "receiver-socket-buffer",
        False,
        ("nstat.UdpRcvbufErrors", "nstat.Udp6RcvbufErrors"),
        "its UDP socket (net.core.rmem_max)",
    ),
)
"""kind, whether at the sender, counters, and where in words"""


def asked_bps(trial: Trial) -> float | None:
    """The rate that was asked for, all instances together; ``None``: none was, or it is not known."""
    if trial.target_bps is not None:
        return trial.target_bps
    return None if trial.case.rate_bps is None else trial.case.rate_bps * trial.case.processes


def lost_ratio(trial: Trial) -> float | None:
    """Part of what was sent that did not arrive: counted, else from both rates; ``None``: not known."""
    if trial.lost_ratio is not None:
        return trial.lost_ratio
    if trial.throughput_bps is None or not trial.offered_bps:
        return None
    return max(0.0, 1 - trial.throughput_bps / trial.offered_bps)


def path_candidates(trial: Trial) -> Iterator[Candidate]:
    """All of this room that are known of a trial."""
    yield from _asked(trial)
    yield from _line(trial)
    for end in (trial.receiver, trial.sender):
        if end is not None:
            yield from _pcie(trial, end)
    yield from _windows(trial)
    yield from _overflows(trial)


def _asked(trial: Trial) -> Iterator[Candidate]:
    target_bps = asked_bps(trial)
    if target_bps is None or trial.throughput_bps is None:
        return
    share = trial.throughput_bps / target_bps if target_bps > 0 else 1.0
    yield Candidate(
        kind="paced",
        end=None,
        capacity=target_bps,
        used=trial.throughput_bps,
        unit="bit/s",
        share=share,
        source="the campaign, or the calibrated level",
        otherwise="less arrives than was asked for",
    )


def _line(trial: Trial) -> Iterator[Candidate]:
    if trial.line_goodput_bps is None:
        return
    shaped = trial.line_kind == "shaper"
    words = (
        "rate × payload ÷ bytes on the wire, of the " + ("shaper" if shaped else "slower link"),
        "throughput below what it carries",
        "more than it can carry: an error of the measurement",
    )
    kind: Kind = "shaper" if shaped else "line-rate"
    where = None, trial.line_host
    yield from _carrier(kind, trial.throughput_bps, trial.line_goodput_bps, words, where)
    for port in lines_apart(trial):
        for candidate in _carrier(kind, port.throughput_bps, port.line_goodput_bps, words, where):
            yield replace(candidate, port=port.sender_interface)


def _pcie(trial: Trial, end: EndResult) -> Iterator[Candidate]:
    if end.pcie_goodput_bps is None:
        return
    sends = end.role == "sender"
    words = (
        "lanes × rate × encoding × payload ÷ (payload + packet headers) of its slot",
        "throughput below what the slot carries",
        "more than computed: its packets are larger than assumed",
    )
    kind: Kind = "sender-pcie" if sends else "receiver-pcie"
    used = trial.offered_bps if sends else trial.throughput_bps
    yield from _carrier(kind, used, end.pcie_goodput_bps, words, (end.role, end.host))


def _carrier(
    kind: Kind,
    used: float | None,
    capacity: float | None,
    words: tuple[str, str, str],
    where: tuple[Role | None, str | None],
) -> Iterator[Candidate]:
    """What carries payload, at an end and a host. ``words``: where its capacity is from, what would be seen
    if it were not the limit, and why it is ruled out where more went through than it can carry."""
    if capacity is None or capacity <= 0 or used is None:
        return
    beyond = used / capacity > IMPOSSIBLE_LINE_RATIO
    yield Candidate(
        kind=kind,
        end=where[0],
        capacity=capacity,
        used=used,
        unit="bit/s",
        share=used / capacity,
        source=words[0],
        otherwise=words[1],
        against=(words[2],) if beyond else (),
        ruled_out=beyond,
        host=where[1],
    )


def _windows(trial: Trial) -> Iterator[Candidate]:
    """TCP that waits for room: in the receiver's window, or in the sender's buffer. Both ways, and in a ring,
    each pair has windows of its own."""
    if trial.case.is_both_ways or trial.case.is_ring:
        return
    states = [instance.tcp for instance in trial.instances if instance.tcp is not None]
    busy_s = sum(state.busy_s or 0.0 for state in states)
    if len(states) < len(trial.instances) or busy_s <= 0:
        return
    waited: tuple[tuple[Kind, str, float], ...] = (
        ("receive-window", "rwnd_limited", sum(state.rwnd_limited_s or 0.0 for state in states)),
        ("send-buffer", "sndbuf_limited", sum(state.sndbuf_limited_s or 0.0 for state in states)),
    )
    congestion_words = _congestion(trial)
    for kind, name, seconds in waited:
        share = min(1.0, seconds / busy_s)
        yield Candidate(
            kind=kind,
            end="receiver" if kind == "receive-window" else "sender",
            capacity=busy_s,
            used=seconds,
            unit="s",
            share=share,
            source=f"ss -ti at the sender: {name} of the time that connections were busy",
            otherwise=f"no {name} time",
            evidence=congestion_words,
            host=trial.case.receiver if kind == "receive-window" else trial.case.sender,
        )
    has_waited = waited[1][2] >= SEEN_WAITING_RATIO * busy_s
    yield from _full_send_buffers(trial, states) if has_waited and congestion_words else ()


def _full_send_buffers(trial: Trial, states: Sequence[TcpState]) -> Iterator[Candidate]:
    """How full data on its way keeps the send buffers: throughput × RTT (Little's law) of their size.

    The kernel stops counting the wait when it wakes the sender (Linux, ``tcp_check_space``), so its count
    lacks the time until a sender that is late runs.
    """
    sizes_bytes = [state.send_buffer_bytes for state in states if state.send_buffer_bytes]
    rtts_s = [state.rtt_s for state in states if state.rtt_s]
    if len(sizes_bytes) < len(states) or len(rtts_s) < len(states) or trial.throughput_bps is None:
        return
    capacity_bytes, on_way_bytes = sum(sizes_bytes), trial.throughput_bps / 8 * fmean(rtts_s)
    yield Candidate(
        kind="send-buffer",
        end="sender",
        capacity=capacity_bytes,
        used=on_way_bytes,
        unit=BYTES,
        share=min(1.0, on_way_bytes / capacity_bytes),
        source="ss -tim at the sender: throughput × RTT ÷ the memory of its sockets' send buffers (tb)",
        otherwise="no sndbuf_limited time, or less on its way than the buffer holds",
        evidence=_congestion(trial),
        host=trial.case.sender,
    )


def _congestion(trial: Trial) -> tuple[str, ...]:
    """Whether the congestion windows would let clearly more through than arrived: cwnd × MSS ÷ RTT."""
    states = [instance.tcp for instance in trial.instances if instance.tcp is not None]
    cwnd_rates_bps = [
        8 * state.cwnd_bytes / state.rtt_s for state in states if state.cwnd_bytes and state.rtt_s
    ]
    if len(cwnd_rates_bps) < len(states) or trial.throughput_bps is None:
        return ()
    more = sum(cwnd_rates_bps) >= MORE_THAN_ARRIVES * trial.throughput_bps
    return ("the congestion windows would carry more (cwnd ÷ RTT)",) if more else ()


def _overflows(trial: Trial) -> Iterator[Candidate]:
    """UDP: queues that dropped a part of the loss that explains it; both ways, of that of either way."""
    if trial.case.is_tcp:
        return
    if not trial.case.is_both_ways:
        yield from _overflows_of(trial, {role: trial.end(role) for role in ENDS})
        return
    ends = {end.host: end for end in trial.ends}
    for flow in flow_trials(trial):
        yield from _overflows_of(flow, {role: ends.get(flow.case.host(role)) for role in ENDS})


def _overflows_of(trial: Trial, ends: Mapping[Role, EndResult | None]) -> Iterator[Candidate]:
    lost = trial.lost_packets
    if not lost or (trial.lost_ratio or 0.0) < LIMITING_LOSS_RATIO:
        return
    on_way = f" on {trial.case.way}" if trial.case.flow_of else ""
    for kind, at_sender, counters, where in _OVERFLOWS:
        end = ends["sender" if at_sender else "receiver"]
        dropped = sum(end.counters.get(name) or 0.0 for name in counters) if end else 0.0
        if end is None or dropped < OVERFLOW_PART * lost:
            continue
        yield Candidate(
            kind=kind,
            end=end.role,
            capacity=None,
            used=dropped,
            unit="packets",
            share=1.0,
            source=f"counters {', '.join(counters)}",
            otherwise="no drops there",
            evidence=(f"{where} dropped most of what was lost{on_way}",),
            host=end.host,
        )


def line_words(share: float) -> str:
    """``98.5 % of the goodput that the line can carry``."""
    return f"{format_percent(share)} of the goodput that the line can carry"


def rate_words(used: float, capacity: float) -> str:
    """``9.00 of 14.0 Gbps``, as two rates with their units."""
    return f"{format_rate(used)} of {format_rate(capacity)}"
