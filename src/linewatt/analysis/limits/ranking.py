# SPDX-License-Identifier: Apache-2.0
"""Candidates of single trials drawn together over the trials of a case, nearest to full first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from linewatt.analysis.cases.shares import mean_shares
from linewatt.analysis.limits.candidate import BYTES, SYMPTOMS, Candidate, Kind
from linewatt.analysis.limits.cpus import cpu_candidates
from linewatt.analysis.limits.paths import lost_ratio, path_candidates
from linewatt.analysis.limits.quotas import quota_candidates
from linewatt.analysis.limits.retransmits import mean_sent_again, retransmit_candidates
from linewatt.analysis.statistics.stats import known_mean
from linewatt.findings import (
    FILLED_RATIO,
    FULL_ALONE_RATIO,
    FULL_RATIO,
    LIMITING_LOSS_RATIO,
    REACHED_RATE_RATIO,
    THROTTLED_PERIODS_RATIO,
    WAITED_RATIO,
)
from linewatt.model import Case, Role, SharedCpu, Trial

_OF_TIME: tuple[Kind, ...] = ("receive-window", "send-buffer", "retransmits")
"""whose share is of the time that TCP had data to send"""

Key = tuple[Kind, str | None, Role | None]
"""what limits, the data port and the end that it is about"""


@dataclass(frozen=True, slots=True)
class Ranked(Candidate):
    """One candidate over all done trials of a case; figures are means over the trials that have them.

    ``shares`` is used ÷ capacity in each trial, ``None`` where it is not known.
    """

    shares: tuple[float | None, ...] = ()
    shared_in: int = 0
    """in how many trials others used a part of it, of which ``shared`` has the means"""

    @property
    def known(self) -> tuple[float, ...]:
        return tuple(share for share in self.shares if share is not None)

    @property
    def full_from(self) -> float:
        """The share from which on it counts as full."""
        if self.port is not None:
            return FULL_ALONE_RATIO
        if self.unit == BYTES:
            return FILLED_RATIO
        if self.cgroup is not None:
            return THROTTLED_PERIODS_RATIO
        return (
            REACHED_RATE_RATIO
            if self.kind == "paced"
            else WAITED_RATIO
            if self.kind in _OF_TIME
            else FULL_RATIO
        )

    @property
    def full_in(self) -> int:
        """In how many trials it is full."""
        full_from = self.full_from
        return sum([share >= full_from for share in self.shares if share is not None])

    @property
    def holds(self) -> bool:
        """Whether it is full in every trial, and nothing rules it out."""
        return not self.ruled_out and self.full_in == len(self.shares)

    @property
    def is_cause(self) -> bool:
        """Neither a queue nor a window, which fill up before whatever is slow, nor loss: queues drop."""
        return self.kind not in SYMPTOMS


def rank(trials: Sequence[Trial]) -> tuple[Ranked, ...]:
    """All candidates of done ``trials`` of one case, nearest to full first.

    Where two measures tell of the same limit, the one by which it is full in every trial is kept, else the
    one nearer to full.
    """
    alike: dict[tuple[Key, str], list[Candidate | None]] = {}
    for at, trial in enumerate(trials):
        for candidate in candidates(trial):
            key = candidate.kind, candidate.port, candidate.end
            alike.setdefault((key, candidate.unit), [None] * len(trials))[at] = candidate
    merged: dict[Key, Ranked] = {}
    for (key, _unit), trial_candidates in alike.items():
        ranked = _merged(trial_candidates, trials[0].case)
        merged[key] = max(merged[key], ranked, key=_holds_and_share) if key in merged else ranked
    return tuple(sorted(merged.values(), key=lambda ranked: (-_capped(ranked), -_fitting(ranked))))


def _holds_and_share(ranked: Ranked) -> tuple[bool, float]:
    return ranked.holds, ranked.share


def candidates(trial: Trial) -> tuple[Candidate, ...]:
    """Everything known that may limit one trial, in no order."""
    limits = (
        *path_candidates(trial),
        *cpu_candidates(trial),
        *quota_candidates(trial),
        *retransmit_candidates(trial),
    )
    if trial.case.is_both_ways:  # both ends send, so none is spared as a receiver
        return tuple(replace(candidate, two_roles=candidate.end is not None) for candidate in limits)
    lost = lost_ratio(trial)
    if trial.case.is_tcp or lost is None or lost >= LIMITING_LOSS_RATIO:
        return limits
    return tuple(_spared(candidate) if candidate.end == "receiver" else candidate for candidate in limits)


def _spared(candidate: Candidate) -> Candidate:
    """A part of a UDP receiver, which nothing waits for: where all arrives it limits nothing."""
    why = "what is sent arrives: a UDP sender does not wait for the receiver"
    return replace(candidate, ruled_out=True, against=(*candidate.against, why))


def _merged(trial_candidates: Sequence[Candidate | None], case: Case) -> Ranked:
    present = [candidate for candidate in trial_candidates if candidate is not None]
    first = present[0]
    cpu = mean_shares([candidate.cpu for candidate in present if candidate.cpu is not None])
    alike = all(candidate.role is candidate.cpu for candidate in present)
    again = mean_sent_again(
        [candidate.sent_again for candidate in present if candidate.sent_again is not None]
    )
    return Ranked(
        kind=first.kind,
        end=first.end if again is None else again.end,
        host=first.host if again is None or again.end is None else case.host(again.end),
        sent_again=again,
        port=first.port,
        cgroup=first.cgroup,
        throttled_s=known_mean(candidate.throttled_s for candidate in present),
        between_s=known_mean(candidate.between_s for candidate in present),
        waited_ratio=known_mean(candidate.waited_ratio for candidate in present),
        load_niced=any(candidate.load_niced for candidate in present),
        two_roles=first.two_roles,
        share=fmean(candidate.share for candidate in present),
        shares=tuple(None if candidate is None else candidate.share for candidate in trial_candidates),
        capacity=known_mean(candidate.capacity for candidate in present),
        used=known_mean(candidate.used for candidate in present),
        unit=first.unit,
        source=first.source,
        otherwise=first.otherwise,
        evidence=tuple(dict.fromkeys(sentence for candidate in present for sentence in candidate.evidence)),
        against=tuple(dict.fromkeys(sentence for candidate in present for sentence in candidate.against)),
        ruled_out=any(candidate.ruled_out for candidate in present),
        cpu=cpu,
        shared=_mean_shared([candidate.shared for candidate in present if candidate.shared is not None]),
        shared_in=sum(candidate.shared is not None for candidate in present),
        processes=tuple(process for candidate in present for process in candidate.processes),
        role=cpu
        if alike
        else mean_shares([candidate.role for candidate in present if candidate.role is not None]),
    )


def _mean_shared(shared_cpus: Sequence[SharedCpu]) -> SharedCpu | None:
    if not shared_cpus:
        return None
    return SharedCpu(
        cpus=tuple(sorted({cpu for shared in shared_cpus for cpu in shared.cpus})),
        role=shared_cpus[0].role,
        busy_ratio=fmean(shared.busy_ratio for shared in shared_cpus),
        load_cores=known_mean(shared.load_cores for shared in shared_cpus),
        other_cores=fmean(shared.other_cores for shared in shared_cpus),
        softirq_cores=fmean(shared.softirq_cores for shared in shared_cpus),
    )


def _capped(ranked: Ranked) -> float:
    return min(1.0, ranked.share)


def _fitting(ranked: Ranked) -> float:
    """Of a CPU for processes and interrupts alike: how much of its time is of the candidate's role."""
    if ranked.cpu is None:
        return 0.0
    serving = ranked.cpu.soft_ratio + ranked.cpu.irq_ratio
    return serving if "irq" in ranked.kind else ranked.cpu.usr_ratio + ranked.cpu.sys_ratio
