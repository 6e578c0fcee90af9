# SPDX-License-Identifier: Apache-2.0
"""TCP segments that were retransmitted as what may limit: how many, and where they were lost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from linewatt.analysis.limits.candidate import Candidate, SentAgain
from linewatt.findings import LOSSY_RETRANSMIT_RATIO, SEGMENT_BITS
from linewatt.model import EndResult, Role, Trial
from linewatt.sensors import losses_of_host

_ROLES: tuple[Role, Role] = ("sender", "receiver")


def retransmitted_ratio(trial: Trial) -> float | None:
    """Segments retransmitted as a part of all; ``None`` where they were not counted."""
    if trial.retransmits is None or trial.window is None or not trial.throughput_bps:
        return None
    full = trial.throughput_bps * trial.window.seconds / SEGMENT_BITS  # of a larger MTU more than were sent
    sent = trial.sender.counters.get("nstat.TcpOutSegs") if trial.sender is not None else None
    return trial.retransmits / min(full, sent or full)


def pair_retransmitted_ratio(trial: Trial) -> float | None:
    """The same of a trial of one pair; ``None`` where TCP did not count them, or the trial is of several."""
    return None if not trial.case.is_tcp or trial.case.flows else retransmitted_ratio(trial)


def sent_again(trial: Trial, ratio: float) -> SentAgain:
    """Of a trial of one pair that sent this part of its segments again: where they may have been dropped."""
    return SentAgain(
        float(trial.retransmits or 0),
        ratio,
        {(role, place): packets for role in _ROLES for place, packets in _dropped(trial, role).items()},
        frozenset(role for role in _ROLES if not _is_counted(trial.end(role))),
    )


def _is_counted(end: EndResult | None) -> bool:
    """Whether counters of an end's packets were read; those of its interrupts say nothing of drops."""
    return end is not None and any(
        value is not None for name, value in end.counters.items() if name.startswith("nic.")
    )


def _dropped(trial: Trial, role: Role) -> Mapping[str, float]:
    """Place → packets on the way of the load that an end dropped, those of other protocols left out."""
    end = trial.end(role)
    dropped: dict[str, float] = {}
    for loss in losses_of_host(end.counters, leaving=role == "sender") if end is not None else ():
        if loss.cause.is_packets and loss.cause.protocol in (None, "tcp"):
            dropped[loss.cause.place] = dropped.get(loss.cause.place, 0.0) + loss.packets
    return dropped


def mean_sent_again(trials: Sequence[SentAgain]) -> SentAgain | None:
    """Means over trials; an end is counted where all of them have its counters."""
    if not trials:
        return None
    keys = dict.fromkeys(key for trial_counts in trials for key in trial_counts.drops)
    return SentAgain(
        fmean(trial_counts.segments for trial_counts in trials),
        fmean(trial_counts.ratio for trial_counts in trials),
        {key: fmean(trial_counts.drops.get(key, 0.0) for trial_counts in trials) for key in keys},
        frozenset().union(*(trial_counts.uncounted for trial_counts in trials)),
    )


def retransmit_candidates(trial: Trial) -> Iterator[Candidate]:
    """Loss that TCP makes up for, where it is more than TCP needs to find its rate."""
    ratio = pair_retransmitted_ratio(trial)
    if ratio is None or ratio < LOSSY_RETRANSMIT_RATIO:
        return
    again = sent_again(trial, ratio)
    yield Candidate(
        kind="retransmits",
        end=None,
        capacity=None,
        used=again.segments,
        unit="segments",
        share=1 - _waited_for_windows(trial),
        source="retransmits that the load counted; counters of both hosts for where segments were lost; "
        "share: the time in which connections waited for no window or buffer (ss -ti)",
        otherwise="fewer than 1 % of the segments retransmitted",
        sent_again=again,
    )


def _waited_for_windows(trial: Trial) -> float:
    """The part of the time in which windows or buffers of sockets held TCP, not its congestion window; 0
    where it is not known."""
    states = [instance.tcp for instance in trial.instances if instance.tcp is not None]
    busy_s = sum(state.busy_s or 0.0 for state in states)
    if len(states) < len(trial.instances) or busy_s <= 0:
        return 0.0
    waited_s = sum((state.rwnd_limited_s or 0.0) + (state.sndbuf_limited_s or 0.0) for state in states)
    return min(1.0, waited_s / busy_s)
