# SPDX-License-Identifier: Apache-2.0
"""TCP segments that were sent again: how many, and where they were lost, by counters. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from linewatt.findings.limits import OVERFLOW_PART, RETRANSMITTED, SEGMENT_BITS
from linewatt.model import Case, EndResult, Flag, Trial
from linewatt.sensors.drops import losses
from linewatt.units import format_percent


def retransmit_flags(case: Case, trials: Sequence[Trial]) -> Iterator[Flag]:
    """A finding where TCP sent more segments again than it needs to find its rate; ``trials`` are done."""
    if not case.is_tcp or case.flows:  # of a group each pair says it
        return
    ratios = [(trial, ratio) for trial in trials if (ratio := retransmitted_ratio(trial)) is not None]
    above = [trial for trial, ratio in ratios if ratio >= RETRANSMITTED]
    if not ratios or fmean(ratio for _, ratio in ratios) < RETRANSMITTED:
        return
    again = fmean(trial.retransmits or 0 for trial in above)
    ratio = fmean(ratio for trial, ratio in ratios if trial in above)
    yield Flag(
        "tcp-retransmits",
        case.way,
        f"{again:,.0f} segments a trial were sent again ({format_percent(ratio)}), in {len(above)} of "
        f"{len(ratios)} trials: {_place(case, above)}",
        "find the queue or link that drops (tc -s qdisc, ethtool -S, the switch's ports), and measure again",
    )


def retransmitted_ratio(trial: Trial) -> float | None:
    """Segments sent again as a part of all; ``None`` where they were not counted."""
    if trial.retransmits is None or trial.window is None or not trial.throughput_bps:
        return None
    full = trial.throughput_bps * trial.window.seconds / SEGMENT_BITS  # of a larger MTU more than were sent
    sent = trial.sender.counters.get("nstat.TcpOutSegs") if trial.sender is not None else None
    return trial.retransmits / min(full, sent or full)


def _place(case: Case, trials: Sequence[Trial]) -> str:
    """Where they were lost, as far as counters tell; reordered packets are sent again, but not lost."""
    again = sum(trial.retransmits or 0 for trial in trials)
    ends = (
        (case.sender, [trial.sender for trial in trials], True),
        (case.receiver, [trial.receiver for trial in trials], False),
    )
    for host, host_ends, leaving in ends:
        dropped = _dropped(host_ends, leaving=leaving)
        if dropped and sum(dropped.values()) >= OVERFLOW_PART * again:
            place = max(dropped, key=lambda name: dropped[name])
            return f"{host} dropped {sum(dropped.values()):,.0f} packets, most of them {place}"
    if any(end is None or not end.counters for _, host_ends, _ in ends for end in host_ends):
        return "where they were lost is not known, for the counters of a host are missing"
    return f"{case.sender} and {case.receiver} counted no such drops, so look at the path between them"


def _dropped(ends: Sequence[EndResult | None], *, leaving: bool) -> Mapping[str, float]:
    """Place → packets that hosts dropped, other protocols left out."""
    dropped: dict[str, float] = {}
    for end in ends:
        for loss in losses(end.counters, leaving=leaving) if end is not None else ():
            if loss.cause.is_packets and loss.cause.protocol in (None, "tcp"):
                dropped[loss.cause.place] = dropped.get(loss.cause.place, 0.0) + loss.packets
    return dropped
