# SPDX-License-Identifier: Apache-2.0
"""All findings of a result, the gravest first: each told once at its scope, however often seen. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from linewatt.analysis.cases.flows import with_flows
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.findings import RANKS, Figure, Kind, kind_of
from linewatt.model import Case, Flag, Role, Trial, hosts_in


@dataclass(frozen=True, slots=True)
class Sighting:
    """One piece of evidence, where it is of, and the numbers of the trials that have it."""

    where: str
    evidence: str
    trials: tuple[int, ...]

    def is_of(self, host: str, hosts: Iterable[str]) -> bool:
        """Whether it is about a host: it names that one, or none of ``hosts``."""
        named = {*hosts_in(self.where)} & {*hosts}
        return not named or host in named


def merge_sightings(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """What several say in the same words once, with the trials of all of them."""
    trials: dict[tuple[str, str], dict[int, None]] = {}
    for seen in sightings:
        trials.setdefault((seen.where, seen.evidence), {}).update(dict.fromkeys(seen.trials))
    return tuple(Sighting(*what, tuple(numbers)) for what, numbers in trials.items())


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``trials`` and ``cases`` are those it was seen in; what it is told for is its scope's."""

    kind: Kind
    sightings: tuple[Sighting, ...]
    trials: tuple[int, ...]
    cases: tuple[Case, ...]
    advice: tuple[str, ...]

    @property
    def code(self) -> str:
        return self.kind.code

    def doubts(self, case: Case, figure: Figure, role: Role | None = None) -> bool:
        """Whether a figure of one of its cases, of an end of it or of both, is doubtful because of it."""
        return self.doubts_on(None if role is None else case.host(role), case.hosts, figure)

    def doubts_on(self, host: str | None, hosts: Iterable[str], figure: Figure) -> bool:
        """The same of one of ``hosts``, or of all of them."""
        if self.kind.rank == "note" or figure not in self.kind.figures:
            return False
        return host is None or any(seen.is_of(host, hosts) for seen in self.sightings)


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of a result, the gravest first."""

    every: tuple[Finding, ...] = ()
    _of: dict[Case, list[Finding]] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for finding in self.every:
            for case in finding.cases:
                self._of.setdefault(case, []).append(finding)

    def of(self, case: Case) -> tuple[Finding, ...]:
        """Those that a case is concerned by."""
        return tuple(self._of.get(case, ()))

    def doubts(self, case: Case, figure: Figure, role: Role | None = None) -> tuple[str, ...]:
        """Codes of what makes a figure of a case doubtful, each once."""
        case_findings = self._of.get(case, ())
        return tuple(
            dict.fromkeys(finding.code for finding in case_findings if finding.doubts(case, figure, role))
        )

    def counted(self) -> str:
        """How many of which rank."""
        return counted_by_rank(finding.kind.rank for finding in self.every)


def counted_by_rank(ranks: Iterable[str]) -> str:
    """``5 (1 withheld, 1 doubtful, 3 notes)``; ``3 notes``."""
    count_by_rank = Counter(ranks)
    parts = [
        f"{count_by_rank[rank]} {rank}{'s' if rank == 'note' and count_by_rank[rank] > 1 else ''}"
        for rank in RANKS
        if rank in count_by_rank
    ]
    return (
        f"{count_by_rank.total()} ({', '.join(parts)})" if len(parts) > 1 else parts[0] if parts else "none"
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    flag: Flag
    case: Case | None
    trials: tuple[int, ...]
    is_light: bool = False


def gather_findings(
    trials: Sequence[Trial], summaries: Iterable[CaseSummary] = (), more: Iterable[Flag] = ()
) -> Findings:
    """What trials, failed ones too, cases as a whole and, with ``more``, the campaign as a whole have."""
    trials_and_pairs = with_flows(trials)
    summaries = tuple(summaries)
    light = {(summary.case, flag.code) for summary in summaries for flag in summary.flags if flag.is_light}
    seen = [
        _Seen(flag, trial.case, (trial.number,), (trial.case, flag.code) in light)
        for trial in trials_and_pairs
        for flag in trial.flags
    ]
    done: dict[Case, list[int]] = {}
    for trial in trials_and_pairs:
        if trial.status == "done":
            done.setdefault(trial.case, []).append(trial.number)
    for summary in summaries:
        done_numbers = tuple(done.get(summary.case, ()))
        seen += [_Seen(flag, summary.case, done_numbers) for flag in summary.case_flags]
    seen += [_Seen(flag, None, ()) for flag in more]
    groups: dict[tuple[str, object], list[_Seen]] = {}
    for seen_flag in seen:
        groups.setdefault((seen_flag.flag.code, _subject(seen_flag)), []).append(seen_flag)
    every_case = tuple(dict.fromkeys(trial.case for trial in trials_and_pairs))
    findings = [_finding(members, every_case) for members in groups.values()]
    return Findings(tuple(sorted(findings, key=lambda finding: _urgency(finding.kind))))


def _urgency(kind: Kind) -> tuple[int, bool, bool]:
    """By rank; of one rank those first that throughput is doubtful by: what else is wrong often follows. Of
    these, those first that name a cause: that a rate is unsteady often follows, too."""
    return RANKS.index(kind.rank), "throughput" not in kind.figures, kind.is_course


def _subject(seen_flag: _Seen) -> object:
    """What a finding is told once for."""
    match kind_of(seen_flag.flag.code).scope:
        case "campaign":
            return ()
        case "host":
            return seen_flag.flag.hosts
        case "case":
            if seen_flag.case is None or seen_flag.case.shape is None:
                return seen_flag.case or seen_flag.flag.where
            group_case = replace(seen_flag.case, sender="", receiver="", flows=(), flow_of=None, beside=())
            return group_case, seen_flag.flag.where  # what a group and its pairs say of a host is told once
        case "trial":
            return seen_flag.trials


def _finding(members: Sequence[_Seen], every_case: tuple[Case, ...]) -> Finding:
    """One finding of all that was seen of it; what is of no case concerns the cases of its host, or all."""
    cases = dict.fromkeys(member.case for member in members if member.case is not None)
    for member in members:
        if member.case is None:
            host_cases = [case for case in every_case if {*member.flag.hosts} & {*case.hosts}]
            cases |= dict.fromkeys(host_cases or every_case)
    kind = kind_of(members[0].flag.code)
    return Finding(
        kind=kind.as_note() if all(member.is_light for member in members) else kind,
        sightings=merge_sightings(
            Sighting(member.flag.where, member.flag.evidence, member.trials) for member in members
        ),
        trials=tuple(dict.fromkeys(number for member in members for number in member.trials)),
        cases=tuple(cases),
        advice=tuple(dict.fromkeys(member.flag.advice for member in members)),
    )
