# SPDX-License-Identifier: Apache-2.0
"""What limits the cases of a test, in words: cases with the same limit share a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linewatt.analysis.cases import CaseSummary, Regime
from linewatt.analysis.limits import (
    Kind,
    Limit,
    Ranked,
    SentAgain,
    cpu_users_text,
    limit_name,
    short_limit,
    used_ratio,
)
from linewatt.declare import FLAT, SELDOM
from linewatt.findings import FULL_RATIO
from linewatt.json_document import document_of, fill
from linewatt.model import ENDS, Role
from linewatt.records import Count
from linewatt.report.series import Series, TestGroup, instances_text, of_ends, plural
from linewatt.report.table import Note
from linewatt.units import first_of, format_percent

MOST_NAMED = 6
"""cases that a line names; JSON has all"""
MOST_WITH_EVIDENCE = 2
"""cases that a line gives the evidence of, each"""


def limit_notes(group: TestGroup) -> tuple[Note, ...]:
    """The limits of a test's cases, those most cases have first; those not found last.

    A limit is the lead of its line, which names the cases that have it, with the evidence.
    """
    cases_by_limit: dict[tuple[str, bool], list[tuple[str, str]]] = {}
    for series in group.series:
        for summary in series.summaries:
            limit = summary.limit
            cases_by_limit.setdefault((limit.lead, limit.found), []).append(
                (_name(group, series, summary), limit.evidence)
            )

    def order(limit: tuple[str, bool]) -> tuple[bool, int]:
        _, is_found = limit
        return not is_found, -len(cases_by_limit[limit])

    ranked = sorted(cases_by_limit, key=order)
    return tuple(Note("remark", _named(cases_by_limit[lead, is_found]), lead) for lead, is_found in ranked)


def _named(cases: Sequence[tuple[str, str]]) -> str:
    """The first cases by name, each with its evidence; of more than two only the first one has it."""
    several = len(cases) > MOST_WITH_EVIDENCE
    shown = [
        f"{name}{f' ({evidence})' if evidence and (at == 0 or not several) else ''}"
        for at, (name, evidence) in enumerate(cases[:MOST_NAMED])
    ]
    more = len(cases) - MOST_NAMED
    return "; ".join(shown) + (f"; and {plural(more, 'more case')}" if more > 0 else "")


def _name(group: TestGroup, series: Series, summary: CaseSummary) -> str:
    """``h1 → h2``, ``4 instances`` or both: what tells the case apart in its test."""
    count = instances_text(summary.case)
    if len(group.series) == 1:
        return count
    return f"{series.label}, {count}" if len(series.summaries) > 1 else series.label


@dataclass(frozen=True, slots=True)
class LimitKeys:
    """Keys of JSON and CSV: words, and their kinds, which are stable."""

    limited_by: str
    """What limits the case, in words with the evidence."""
    limited_by_kinds: str
    """The same in stable words, with blanks between."""
    regime: Regime | None
    regime_why: str | None


def export_limit(summary: CaseSummary) -> dict[str, Any]:
    """As :class:`LimitKeys` has it."""
    limit, regime = summary.limit, summary.regime
    ends = (regime.regime, regime.why) if regime else (None, None)
    return document_of(LimitKeys(limit.words, " ".join(limit.kinds), *ends))


@dataclass(frozen=True, slots=True)
class QuotaKeys:
    cgroup: str
    """The control group whose CPU quota it is."""
    throttled_s: float | None
    """How long it kept the load from running, the sum over CPUs."""
    between_s: float | None
    """Of how long: the time between the reads before and after the window."""


@dataclass(frozen=True, slots=True)
class RetransmitKeys:
    sent_again_ratio: float
    """Of retransmits: the part of the segments that was retransmitted."""
    sender_dropped: float | None
    """Packets a trial that the sender dropped of what it sent."""
    receiver_dropped: float | None
    """Packets a trial that the receiver dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateDocument:
    kind: Kind
    end: Role | None
    host: str | None
    what: str
    named: bool
    """Whether it is among what limits the case."""
    share_mean: float
    """Used ÷ capacity."""
    share_low: float
    share_high: float
    trials_full: Count
    trials_known: Count
    capacity: float | None
    """In `unit`."""
    used: float | None
    """In `unit`."""
    unit: str
    source: str
    """Where the capacity is from."""
    for_: tuple[str, ...]
    against: tuple[str, ...]
    ruled_out: bool
    otherwise: str
    """What would be seen if this were not the limit."""
    cpus: tuple[Count, ...] | None
    role_used_mean: float | None
    port: str | None = field(default=None, metadata=SELDOM)
    """The one of several data ports that it is about."""
    quota: QuotaKeys | None = field(metadata=FLAT)
    retransmits: RetransmitKeys | None = field(metadata=FLAT)


@dataclass(frozen=True, slots=True)
class LimitDocument:
    """The whole verdict: every candidate with evidence for and against."""

    kinds: tuple[Kind, ...]
    """The first limit first."""
    what: str | None
    evidence: str
    margin: str | None
    """The least that would change the verdict."""
    unknown: tuple[str, ...]
    """What nothing is known of."""
    candidates: tuple[CandidateDocument, ...]
    """Nearest to full first."""


def limit_document(limit: Limit) -> dict[str, Any]:
    """As :class:`LimitDocument` has it."""
    candidates = (_candidate(candidate, named=candidate in limit.named) for candidate in limit.ranked)
    what, margin = limit.what if limit.found else None, limit.margin or None
    return document_of(fill(LimitDocument, limit, what=what, margin=margin, candidates=tuple(candidates)))


def _candidate(ranked: Ranked, *, named: bool) -> CandidateDocument:
    return fill(
        CandidateDocument,
        ranked,
        what=limit_name(ranked),
        named=named,
        share_mean=ranked.share,
        share_low=min(ranked.known),
        share_high=max(ranked.known),
        trials_full=ranked.full_in,
        trials_known=len(ranked.known),
        for_=ranked.evidence,
        cpus=ranked.cpu.cpus if ranked.cpu else None,
        role_used_mean=used_ratio(ranked.role, load_niced=ranked.load_niced) if ranked.role else None,
        quota=None if ranked.cgroup is None else fill(QuotaKeys, ranked),
        retransmits=None if ranked.sent_again is None else _retransmits(ranked.sent_again),
    )


def _retransmits(again: SentAgain) -> RetransmitKeys:
    dropped = {end: None if end in again.uncounted else again.dropped(end) for end in ENDS}
    return RetransmitKeys(again.ratio, dropped["sender"], dropped["receiver"])


def limit_words(summary: CaseSummary) -> str:
    """What limits a case in one sentence: the finder's verdict, where, and how busy the other end is."""
    return limit_forms(summary)[0]


def limit_forms(summary: CaseSummary, verb: str = "limited by ") -> tuple[str, ...]:
    """The same in ever fewer words: without the other end, without evidence; ``verb`` is before a limit."""
    limit = summary.limit
    paced = limit.candidate("paced")
    if limit.kind == "paced":
        return (f"reached its target rate: {limit.evidence}",)
    missed = f"; {short_limit(paced)} arrived" if paced is not None and not paced.holds else ""
    if limit.found:
        named_limit = f"{verb}{limit.what}"
        where = f"{named_limit} ({_where(limit)})"
        forms = (f"{where}{_other_end(limit)}{missed}", f"{where}{missed}", named_limit)
    else:
        lead = limit.lead[0].lower() + limit.lead[1:]
        margin = f": {limit.margin}" if limit.margin else ""
        those = "those" if len(limit.but_of) > 1 else "that"
        brief = f"{lead} but {those} of {first_of(limit.but_of, 2, between=', ')}" if limit.but_of else lead
        forms = (f"{lead}{margin}{missed}", f"{brief}{missed}", brief)
    return tuple(dict.fromkeys(of_ends(form, summary.case) for form in forms))


def _where(limit: Limit) -> str:
    """``h1, 99.2 %``: of the first that is named, and of a CPU at the other end that is, too.

    Without the host where its name has it; of a ceiling that only a series shows the evidence.
    """
    evidence = limit.clauses[0] if limit.clauses else ""
    if not limit.named:
        return evidence
    first = limit.named[0]
    if first.cpu is None:
        share = format_percent(min(1.0, first.share)) if first.unit == "bit/s" else evidence
        return _at(first, share)
    busiest: dict[str | None, Ranked] = {}
    for candidate in limit.named:
        if candidate.cpu is not None:
            busiest_cpu = busiest.setdefault(candidate.end, candidate)
            busiest[candidate.end] = max(busiest_cpu, candidate, key=lambda ranked: ranked.share)
    several = len(busiest) > 1
    parts = (
        (_at(candidate, format_percent(min(1.0, candidate.share)), named=several), *cpu_users_text(candidate))
        for candidate in busiest.values()
    )
    return "; ".join(": ".join(part) for part in parts)


def _at(ranked: Ranked, share: str, *, named: bool = False) -> str:
    host = ranked.host if named or not ranked.two_roles else None
    return share if host is None else f"{host}, {share}"


def _other_end(limit: Limit) -> str:
    """Whether the other end is the limit, too: how busy it is, where one end limits, or none does."""
    ends = {candidate.end for candidate in limit.named}
    others = [
        candidate
        for candidate in limit.ranked
        if candidate.end not in ends and candidate.end is not None and candidate.cpu is not None
    ]
    if len(ends) != 1 or not others:
        return ""
    busiest = max(others, key=lambda candidate: candidate.share)
    share = format_percent(min(1.0, busiest.share), 0)
    if busiest.share >= FULL_RATIO:
        return f"; the busiest CPU of {busiest.host} is at {share}, too"
    if ends == {None}:
        return f", not by a host: the busiest CPU, of {busiest.host}, is at {share}"
    return f", not by {busiest.host}, whose busiest CPU is at {share}"
