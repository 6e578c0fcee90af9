# SPDX-License-Identifier: Apache-2.0
"""A result as data: the document behind ``--json`` and the rows behind ``--csv``; missing is ``None``.

Values are SI; those of power have the units of their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from linewatt.analysis import Findings, Sighting, gather_findings
from linewatt.analysis.cases import (
    CaseSummary,
    Goal,
    InstanceSearch,
    LevelCurve,
    RateSearch,
    level_curves,
    summarise,
    with_flows,
    with_search_flags,
)
from linewatt.analysis.flags import meter_flags, not_ready_flags
from linewatt.analysis.power import (
    Heat,
    Total,
    end_of_host,
    heat_of,
    is_heat_known,
    power_of_cpus,
    power_of_system,
    power_of_system_as_read,
    why_no_heat,
)
from linewatt.core.feature import FurtherTrials, further_trials, result_keys
from linewatt.core.third_party import load
from linewatt.declare import FLAT
from linewatt.findings import Figure, Rank, Scope, kind_of
from linewatt.json_document import document_of, fill
from linewatt.model import Case, EndResult, Role, Trial
from linewatt.records import Count, Host
from linewatt.report.columns import power_reasons
from linewatt.report.findings import FindingNote, Marks, finding_notes, marks_of
from linewatt.report.machine.environment import cores_are
from linewatt.report.printing.export import CaseKeys, Identity, case_keys, case_of, identity_of_result
from linewatt.report.series import (
    TestGroup,
    by_test,
    case_labels,
    describe_cases,
    series_of,
    setting_text,
)
from linewatt.report.trials.answer.limits import export_limit, limit_document
from linewatt.report.trials.power.idle import idle_power
from linewatt.report.trials.searches.knees import as_documents as knee_documents
from linewatt.report.trials.searches.knees import instance_searches_of
from linewatt.report.trials.searches.searches import as_documents as search_documents
from linewatt.report.trials.searches.searches import searches_of
from linewatt.report.trials.settings.effects import as_document as effects_document
from linewatt.report.trials.settings.effects import experiment
from linewatt.report.trials.settings.levels import NO_LEVEL, as_documents, level_keys
from linewatt.report.trials.settings.scalability import export_case
from linewatt.store import Result, further_numbers


@dataclass(frozen=True, slots=True)
class Digest:
    """A result with what every view of it needs, computed once."""

    result: Result
    summaries: tuple[CaseSummary, ...]
    groups: tuple[TestGroup, ...]
    """cases at full or at a fixed rate, which are what the standard tables and figures are of"""
    levels: tuple[LevelCurve, ...]
    """load levels, which have tables and figures of their own"""
    findings: Findings
    notes: tuple[FindingNote, ...]
    """the findings by kind, each under its letter"""
    labels: dict[Case, str]
    """each case's name among all, by the case with one instance"""
    searches: tuple[RateSearch, ...] = ()
    """rates that were searched, which have tables and figures of their own"""
    steps: Mapping[Case, CaseSummary] = field(default_factory=dict)
    """the cases that are their steps, which are among no others"""
    knees: tuple[InstanceSearch, ...] = ()
    """instances that were searched, whose steps are cases like any"""

    def step_of(self, goal: Goal) -> CaseSummary | None:
        """The case whose rate a search found for a loss; None where it found none."""
        if goal.lower is None or goal.rate_bps is None:
            return None
        return self.steps[goal.lower.steps[-1].trial.case]

    def doubts_of_watts(self, summaries: Iterable[CaseSummary], role: Role) -> Iterator[str]:
        """Codes of what makes the watts at one end of cases doubtful, or their throughput."""
        for summary in summaries:
            yield from self.findings.doubts(summary.case, "power", role)
            yield from self.findings.doubts(summary.case, "throughput")

    def describe(self, *cases: Case) -> str:
        """Cases by name and instances, in few words."""
        return describe_cases(cases, self.labels)

    @property
    def marks(self) -> Marks:
        """The letters of its notes."""
        return marks_of(self.findings, self.notes)

    @property
    def has_efficiency(self) -> bool:
        """Whether any figure is by core."""
        return any(
            summary.efficiency_receiver_bps_per_core or summary.efficiency_sender_bps_per_core
            for summary in self.summaries
        )

    @property
    def done(self) -> int:
        """Trials that gave a number."""
        return sum(trial.status == "done" for trial in self.result.trials)

    @property
    def failed(self) -> tuple[Trial, ...]:
        """Trials that did not."""
        return tuple(trial for trial in self.result.trials if trial.status == "failed")

    @property
    def further(self) -> list[tuple[FurtherTrials, int]]:
        """Further trials that are stored beside those that are measured, and how many; none without any."""
        counts = (
            (trials, len(further_numbers(self.result.path, trials.name))) for trials in further_trials()
        )
        return [(trials, count) for trials, count in counts if count]

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Host name → what the manifest has of it."""
        return self.result.manifest.hosts


def digest_of(result: Result) -> Digest:
    """Summaries and flag notes of a result."""
    all_summaries, knees = summarise(result.trials), instance_searches_of(result)
    summaries = with_search_flags([summary for summary in all_summaries if not summary.case.search], knees)
    steps = {summary.case: summary for summary in all_summaries if summary.case.search}
    labels = {
        case: label
        for cases in (steps, [summary.case for summary in summaries])
        for case, label in case_labels({case.single: None for case in cases}).items()
    }
    groups = by_test(series_of([summary for summary in summaries if summary.case.load_level is None]))
    of_campaign = [
        *not_ready_flags(result.manifest.not_ready),
        *meter_flags(result.meters, result.idle, result.trials),
    ]
    findings = gather_findings(result.trials, summaries, of_campaign)
    return Digest(
        result,
        summaries,
        groups,
        level_curves(summaries),
        findings,
        finding_notes(findings),
        labels,
        searches_of(result),
        steps,
        knees,
    )


def digest_document(view: Digest, *, trials: bool = False) -> dict[str, Any]:
    """The document of ``show --json``: heading, cases, flags, failed trials; every trial when asked."""
    keys = level_keys(view.levels)
    document = {
        **heading(view),
        "linewatt_version": view.result.manifest.linewatt_version,
        "method": min((trial.method for trial in view.result.trials), default=None),
        "hosts": list(view.hosts),
        "core_is": cores_are(view.hosts),
        "cases": [
            export_case(summary)
            | keys.get(summary.case, NO_LEVEL)
            | export_limit(summary)
            | {"limit": limit_document(summary.limit)}
            | {"reasons": {**summary.reasons, **power_reasons(summary)}}
            for summary in view.summaries
        ],
        "load_levels": as_documents(view.levels),
        "repeats": view.result.repeats and view.result.repeats.as_written(),
        "idle_power": [asdict(reading) for reading in idle_power(view.result)],
        "flags": [document_of(_note(note)) for note in view.notes],
        "failed_trials": [
            document_of(FailedTrial(trial.number, case_of(trial.case), trial.reason)) for trial in view.failed
        ],
    }
    if view.searches or view.knees:
        rates = search_documents(view.searches, view.result)
        knees = knee_documents(view.knees, view.findings)
        document["searches"] = [*rates, *knees]
    effects = experiment(view.result)
    if effects is not None:
        document["effects"] = effects_document(effects)
    for key in result_keys():
        value = load(key.document_path, f"{key.key} of show --json")(view)
        if value is not None:
            document[key.key] = value
    heats = [document_of(heat) for heat in _heats(view)]
    if heats:
        document["thermal"] = heats
    if trials:
        document["trials"] = [document_of(trial) for trial in view.result.trials]
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatDocument:
    host: str
    trial: Count
    case_key: str
    """Stable hash of what makes the case comparable: equal on every host, kernel and year."""
    heat: Heat = field(metadata=FLAT)
    reasons: dict[str, str]
    """Why figures are missing, by name."""


def _heats(view: Digest) -> Iterator[HeatDocument]:
    """What stood beside the watts of each host in each trial; nothing of hosts that tell nothing."""
    for host in view.hosts:
        trial_ends = [
            (trial, end) for trial in view.result.trials if (end := end_of_host(trial, host)) is not None
        ]
        for trial, end in trial_ends if any(is_heat_known(end) for _, end in trial_ends) else ():
            heat = heat_of([end])
            missing = (name for name, value in asdict(heat).items() if value is None and name != "provenance")
            reasons = {name: why_no_heat(name, [end]) for name in missing}
            yield HeatDocument(
                host=host, trial=trial.number, case_key=trial.case_key, heat=heat, reasons=reasons
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What identifies a result and how far it got; also one row of ``list --json``."""

    identity: Identity = field(metadata=FLAT)
    complete: bool
    """Whether nothing is left for `linewatt resume`."""
    soak: bool
    """Whether it is one long load, which has no trials."""
    trials_planned: Count
    trials_done: Count
    trials_failed: Count
    flags_count: Count
    """Findings, each at its scope."""


def heading(view: Digest) -> dict[str, Any]:
    """As :class:`Heading` has it, and how many further trials there are of each kind."""
    heading_document = Heading(
        identity=identity_of_result(view.result),
        complete=view.result.complete,
        soak=view.result.is_soak,
        trials_planned=view.result.trials_planned,
        trials_done=view.done,
        trials_failed=len(view.failed),
        flags_count=len(view.findings.every),
    )
    further = {f"{trials.name}_count": count for trials, count in view.further}
    return {**document_of(heading_document), **further}


def case_rows(view: Digest) -> list[dict[str, Any]]:
    """Rows of ``show --csv``: one a case."""
    keys = level_keys(view.levels)
    return [
        export_case(summary)
        | keys.get(summary.case, NO_LEVEL)
        | export_limit(summary)
        | _flat(summary.case, view.result.imported_from)
        for summary in view.summaries
    ]


def trial_rows(trials: Sequence[Trial], imported_from: str | None = None) -> list[dict[str, Any]]:
    """Rows of ``show --csv --trials``: one a trial; behind that of a group one for each of its pairs."""
    return [_trial(trial) | _flat(trial.case, imported_from) for trial in with_flows(trials)]


def _flat(case: Case, imported_from: str | None) -> dict[str, Any]:
    """Where figures are from that linewatt did not measure; what of a case is a list, each as one text."""
    others = [f"{sender} → {receiver}" for sender, receiver in case_keys(case).get("beside", ())]
    return {
        "imported_from": imported_from,
        "factors": setting_text(case.factors) or None,
        **({"users": setting_text(case.users)} if case.users else {}),
        **({"beside": ", ".join(others)} if others else {}),
    }


def csv_columns(*, trials: bool = False) -> list[str]:
    """Column names of ``show --csv``; what only some loads have stands behind them."""
    case = Case("tcp", "", "")
    if trials:
        return list(_trial(Trial(0, 0, case, "", "failed", 0.0)) | _flat(case, None))
    nothing = CaseSummary(case, 0, 0)
    return list(export_case(nothing) | NO_LEVEL | export_limit(nothing) | _flat(case, None))


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "repetition": trial.repetition,
        **case_keys(trial.case),
        "load_level": trial.case.load_level,
        "case_key": trial.case_key,
        "status": trial.status,
        "reason": trial.reason,
        "started_s": trial.started_s,
        "window_s": trial.window.seconds if trial.window else None,
        "throughput_bps": trial.throughput_bps,
        "offered_bps": trial.offered_bps,
        "target_bps": trial.target_bps,
        "lost_ratio": trial.lost_ratio,
        "packets": trial.packets,
        "lost_packets": trial.lost_packets,
        "out_of_order_packets": trial.out_of_order_packets,
        "retransmits": trial.retransmits,
        **{f"latency_{name.replace('.', '_')}_s": value for name, value in trial.latency_s.items()},
        **({} if trial.duplicate_packets is None else {"duplicate_packets": trial.duplicate_packets}),
        "start_skew_s": trial.start_skew_s,
        "receiver_cpu_cores": trial.receiver and trial.receiver.cpu_cores,
        "sender_cpu_cores": trial.sender and trial.sender.cpu_cores,
        **_watts("receiver", trial.receiver),
        **_watts("sender", trial.sender),
        "overhead_s": trial.overhead_s,
        "flags_count": len(trial.flags),
        "flags": " ".join(dict.fromkeys(flag.code for flag in trial.flags)),
    }


def _watts(role: Role, end: EndResult | None) -> dict[str, Any]:
    """Power of one end of a trial: which watts, how many, and whether they were measured."""
    row: dict[str, Any] = {}
    for part, total in (("system", system_power(end)), ("cpu", cpu_power(end))):
        row[f"{role}_{part}_scope"] = total.scope if total else None
        row[f"{role}_{part}_w"] = total.power_w if total else None
        row[f"{role}_{part}_w_provenance"] = total.provenance if total else None
    if end is not None and (read := power_of_system_as_read(end.power)) is not None:
        row[f"{role}_system_w_as_read"] = read.power_w
    return row


def system_power(end: EndResult | None) -> Total | None:
    """The system's power at one end of a trial; ``None`` when unknown."""
    total = None if end is None else power_of_system(end.power)
    return total if isinstance(total, Total) else None


def cpu_power(end: EndResult | None) -> Total | None:
    """The CPUs' power at one end of a trial; ``None`` when unknown."""
    total = None if end is None else power_of_cpus(end.power)
    return total if isinstance(total, Total) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDocument:
    mark: str
    """Its letter in tables."""
    code: str
    """Stable; docs/findings.md has each."""
    rank: Rank
    scope: Scope
    """What it is told once for."""
    figures: tuple[Figure, ...]
    """What it makes doubtful."""
    count: Count
    trials: tuple[Count, ...]
    """Numbers of those it was seen in."""
    cases: list[CaseKeys]
    evidence: tuple[Sighting, ...]
    advice: tuple[str, ...]


def _note(note: FindingNote) -> FindingDocument:
    kind = kind_of(note.code)
    return fill(
        FindingDocument,
        note,
        scope=kind.scope,
        figures=note.kind.figures,
        cases=[case_of(case) for case in note.cases],
        evidence=tuple(note.sightings),
    )


@dataclass(frozen=True, slots=True)
class FailedTrial:
    number: Count
    case: CaseKeys = field(metadata=FLAT)
    reason: str | None
