# SPDX-License-Identifier: Apache-2.0
"""What limits a case, in words with the evidence; or that nothing known does. Pure.

The verdict is the candidate nearest to full whose evidence holds in every trial, with those as near as
``TIE_RATIO``; where the best is below ``FULL_RATIO`` nothing is named (docs/limits.md). The other cases of
its series may tell more: ``analysis/limits/ceiling.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from linewatt.analysis.limits import limit_text
from linewatt.analysis.limits.candidate import Kind
from linewatt.analysis.limits.cpus import ROLES, count
from linewatt.analysis.limits.paths import line_words, lost_ratio
from linewatt.analysis.limits.ranking import Ranked, rank
from linewatt.analysis.statistics.stats import known_mean
from linewatt.findings import EXCEEDED_RATE_RATIO, LIMITING_LOSS_RATIO, REACHED_RATE_RATIO, TIE_RATIO
from linewatt.model import ENDS, Case, Trial, is_request_response
from linewatt.units import format_percent, format_rate

_LINES: tuple[Kind, ...] = ("line-rate", "shaper")
MEMORY_PRESSURE, PRESSURE_FILE = "memory some", "/proc/pressure/memory"
SHARED = ", shared with other processes"
"""behind the names of limits that are all CPUs which others use, too"""


@dataclass(frozen=True, slots=True)
class Limit:
    """What limits a case: ``what`` in few words, ``clauses`` the evidence with the figures.

    ``kinds`` are stable words, the first limit first; ``named`` the candidates that they are. ``ranked`` are
    all candidates, nearest to full first; ``unknown`` what nothing is known of. ``margin`` is the least that
    would change the verdict.
    """

    kinds: tuple[Kind, ...]
    what: str
    clauses: tuple[str, ...]
    margin: str = ""
    named: tuple[Ranked, ...] = ()
    ranked: tuple[Ranked, ...] = ()
    unknown: tuple[str, ...] = ()
    but_of: tuple[str, ...] = ()
    """of pairs that run at once, those that have a limit where nothing known limits all of them together"""

    of_all: tuple[Ranked, ...] = ()
    """of one pair that all pairs together limit: what is full for all of them"""

    @property
    def kind(self) -> Kind:
        return self.kinds[0]

    @property
    def evidence(self) -> str:
        return "; ".join(self.clauses)

    @property
    def found(self) -> bool:
        """Whether anything limits the case, as far as is known."""
        return self.kind not in ("not-found", "unknown")

    @property
    def words(self) -> str:
        """The whole as one line of text."""
        return f"{self.what} ({self.evidence})" if self.evidence else self.what

    @property
    def lead(self) -> str:
        """``Limited by the line rate``, ``No limit found``."""
        return f"Limited by {self.what}" if self.found else self.what[0].upper() + self.what[1:]

    def candidate(self, kind: Kind) -> Ranked | None:
        """One of ``ranked``; of several data ports that of all together."""
        return next(
            (candidate for candidate in self.ranked if candidate.kind == kind and candidate.port is None),
            None,
        )


UNKNOWN = Limit(("unknown",), "limit not known", ("no trial has a throughput",))


def verdict(trials: Sequence[Trial]) -> Limit:
    """What limits a case, from all its trials; failed ones say nothing."""
    done = [trial for trial in trials if trial.status == "done"]
    if all(trial.throughput_bps is None and trial.offered_bps is None for trial in done):
        return UNKNOWN
    case, ranked = done[0].case, rank(done)
    unknown = _unknown(case, ranked, has_line=any(trial.line_goodput_bps for trial in done))
    paced_candidate = next((candidate for candidate in ranked if candidate.kind == "paced"), None)
    if paced_candidate is not None and paced_candidate.holds and paced_candidate.share <= EXCEEDED_RATE_RATIO:
        return _paced(paced_candidate, ranked, unknown)
    named, added = _named(case, done, ranked), [*_added(done), *_elsewhere(done)]
    if added:  # what such a path carries is no figure of the line
        named = tuple(candidate for candidate in named if candidate.kind not in _LINES)
    if not named:
        return _not_found(ranked, unknown, [*added, *_memory_pressure(done)])
    several = len(named) > 1
    first = {
        (candidate.host, candidate.shared): candidate for candidate in reversed(named)
    }  # a CPU can have two roles
    parts = [
        clause
        for candidate in named
        for clause in limit_text.clauses(
            candidate, named=several, users=first[candidate.host, candidate.shared] is candidate
        )
    ]
    return Limit(
        kinds=tuple(dict.fromkeys(candidate.kind for candidate in named)),
        what=limit_text.names(named) + (SHARED if all(candidate.shared for candidate in named) else ""),
        clauses=(*parts, *_missed(paced_candidate), *_loss(case, done, named, unknown), *added),
        margin=_margin(named, ranked),
        named=named,
        ranked=ranked,
        unknown=unknown,
    )


def _paced(paced_candidate: Ranked, ranked: tuple[Ranked, ...], unknown: tuple[str, ...]) -> Limit:
    asked_bps = paced_candidate.capacity or 0.0
    evidence = (
        f"{format_percent(paced_candidate.share)} of {format_rate(asked_bps)} arrived"
        if asked_bps
        else "active idle: nothing is sent"
    )
    return Limit(
        ("paced",),
        limit_text.limit_name(paced_candidate),
        (evidence,),
        _margin((paced_candidate,), ranked),
        (paced_candidate,),
        ranked,
        unknown,
    )


def _named(case: Case, done: Sequence[Trial], ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The full candidates that limit. With TCP all parts wait for the slowest.

    With UDP the sender's parts limit what is sent, and what is behind them what arrives of it; where no more
    is lost than LOSS the two are one. What arrives is the throughput, so that is named first. Both ways,
    every part does both.
    """
    full = [candidate for candidate in ranked if candidate.kind != "paced" and candidate.holds]
    lost = known_mean(map(lost_ratio, done))
    if case.is_tcp or case.is_both_ways or (lost is not None and lost < LIMITING_LOSS_RATIO):
        return _nearest(full)
    sending = [candidate for candidate in full if candidate.end == "sender" and candidate.is_cause]
    return (*_nearest([candidate for candidate in full if candidate not in sending]), *_nearest(sending))


def _nearest(full: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Those nearest to full; queues and windows only where nothing that is slow explains them."""
    pool = [candidate for candidate in full if candidate.is_cause] or list(full)
    best = max((min(1.0, candidate.share) for candidate in pool), default=0.0)
    return tuple(candidate for candidate in pool if best - min(1.0, candidate.share) <= TIE_RATIO)


def _missed(requested: Ranked | None) -> list[str]:
    """That the asked rate did not arrive."""
    if requested is None:
        return []
    only = "only " if requested.share < REACHED_RATE_RATIO else ""
    return [f"{only}{limit_text.short_limit(requested)} arrived"]


def _loss(case: Case, done: Sequence[Trial], named: Sequence[Ranked], unknown: Sequence[str]) -> list[str]:
    """How much of a UDP load did not arrive, and whether anything explains it."""
    lost = known_mean(map(lost_ratio, done))
    if case.is_tcp or lost is None or lost < LIMITING_LOSS_RATIO:
        return []
    spared = not any(
        candidate.end == "receiver" or candidate.two_roles or candidate.kind in _LINES for candidate in named
    )
    is_receiver_known = not any("receiver" in what or what == "the CPUs of both ends" for what in unknown)
    why = ", though no CPU of the receiver is full" if spared and is_receiver_known else ""
    return [f"{format_percent(lost)} of what was sent did not arrive{why}"]


def _added(done: Sequence[Trial]) -> list[str]:
    """What netem does to the path, where it was in force."""
    hosts = sorted({flag.where for trial in done for flag in trial.flags if flag.code == "netem"})
    return (
        [f"netem delays or loses what {' and '.join(hosts)} send{'s' if len(hosts) == 1 else ''}"]
        if hosts
        else []
    )


def _elsewhere(done: Sequence[Trial]) -> list[str]:
    """That the line which is known is not the one that the load took."""
    hosts = sorted(
        {flag.where for trial in done for flag in trial.flags if flag.code == "load-not-on-interface"}
    )
    return [f"the load took another interface than the one known of {' and '.join(hosts)}"] if hosts else []


def _memory_pressure(done: Sequence[Trial]) -> list[str]:
    """That tasks of a host waited for memory: reclaim and swap slow a load without any CPU being full."""
    ratios: dict[str, list[float]] = {}
    for limits, host in ((end.outside_limits, end.host) for trial in done for end in trial.ends):
        waited_s = None if limits is None else limits.pressure_s.get(MEMORY_PRESSURE)
        if limits is not None and waited_s is not None:
            ratios.setdefault(host, []).append(waited_s / limits.between_s)
    return [
        f"tasks on {host} waited for memory {format_percent(fmean(of_host))} of the time ({PRESSURE_FILE})"
        for host, of_host in ratios.items()
        if fmean(of_host) >= limit_text.WAIT_TOLD
    ]


def _not_found(ranked: tuple[Ranked, ...], unknown: tuple[str, ...], added: Sequence[str] = ()) -> Limit:
    paced_candidate = next((candidate for candidate in ranked if candidate.kind == "paced"), None)
    unpaced = [candidate for candidate in ranked if candidate.kind != "paced"]
    parts = [*added, *_missed(paced_candidate)]
    some = [ranked for ranked in unpaced if ranked.full_in and not ranked.ruled_out and ranked.is_cause]
    now_and_then = [ranked for ranked in some if not (added and ranked.kind in _LINES)]
    parts += [
        f"{limit_text.limit_name(candidate)} full in {candidate.full_in} of {len(candidate.shares)} trials"
        for candidate in now_and_then
    ]
    cpus = [candidate for candidate in unpaced if candidate.cpu is not None and candidate not in now_and_then]
    parts += [f"busiest: {limit_text.short_limit(cpus[0])}"] if cpus else []
    parts += [
        f"{limit_text.owner(cpu, the='')} host: {text}"
        for cpu in cpus
        for text in limit_text.waited_words(cpu.waited_ratio)
    ]
    parts += [
        clause
        for candidate in unpaced
        if candidate.throttled_s and candidate not in now_and_then and not candidate.ruled_out
        for clause in limit_text.clauses(candidate, named=True)
    ]
    parts += [
        line_words(candidate.share)
        for candidate in unpaced
        if candidate.kind in _LINES and candidate.port is None
    ]
    ports = [
        candidate
        for candidate in unpaced
        if candidate.port is not None and not candidate.ruled_out and candidate not in now_and_then
    ]
    parts += [f"fullest port: {limit_text.short_limit(ports[0])}"] if ports else []
    parts += [
        f"{limit_text.limit_name(candidate)} ruled out: {candidate.against[0]}"
        for candidate in unpaced
        if candidate.ruled_out and candidate.full_in
    ]
    if unknown:
        parts.append(f"not known: {', '.join(unknown)}")
    margin = _margin((), ranked)
    return Limit(("not-found",), "no limit found", tuple(parts), margin, (), ranked, unknown)


def _unknown(case: Case, ranked: Sequence[Ranked], *, has_line: bool) -> tuple[str, ...]:
    """What a limit may hide in because nothing is known of it; one message at a time fills no line."""
    kinds = {candidate.kind for candidate in ranked}
    judged = case.shape == "ring" and case.flow_of is not None  # with both of its ends
    elsewhere = () if judged else tuple(f"{role}-" for role in ENDS if case.told_elsewhere(role))
    ends = {role: case.host(role) if case.is_both_ways else f"the {role}" for role in ENDS}
    missing = [
        f"{ends['sender' if kind.startswith('sender-') else 'receiver']}'s {cpu}"
        for kind, cpu in ROLES.items()
        if kind not in kinds and not kind.startswith(elsewhere)
    ]
    parts = ["the CPUs of both ends"] if len(missing) == len(ROLES) else missing
    if not is_request_response(case.test) and not kinds & set(_LINES):
        parts = ["how much of the line was used" if has_line else "the line rate", *parts]
    blurred = [
        f"single ones of {limit_text.owner(candidate)} {count(candidate.role)} CPUs"
        for candidate in ranked
        if candidate.role is not None
        and candidate.kind in ROLES
        and candidate.role == candidate.cpu
        and count(candidate.role) > 1
    ]
    return (*parts, *dict.fromkeys(blurred))


def _margin(named: Sequence[Ranked], ranked: Sequence[Ranked]) -> str:
    """The least that would change the verdict."""
    unnamed = [
        candidate
        for candidate in ranked
        if candidate not in named and candidate.is_cause and candidate.kind != "paced"
    ]
    following = next((candidate for candidate in unnamed if not candidate.ruled_out), None)
    if following is None and unnamed:
        return "all else that was measured is ruled out"
    if following is None:
        return "what else may limit it was not measured"
    if named:
        return f"the next is {limit_text.short_limit(following)}"
    nearest, threshold = limit_text.short_limit(following), format_percent(following.full_from, 0)
    if not following.full_in:
        return f"nearest is {nearest}; from {threshold} on it is named"
    full_trials = f"{following.full_in} of {len(following.shares)} trials"
    return f"nearest is {nearest}: {threshold} or more in {full_trials}, named as the limit only if in all"
