# SPDX-License-Identifier: Apache-2.0
"""What a series says: regimes, the knee, findings on limits and power; of results and tables alike. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from linewatt.analysis.cases.regimes import RowRegime, explained, knee_of
from linewatt.analysis.cases.series import ceilings, outlier_words, power_rows
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.flags.case_flag import clauses_of
from linewatt.analysis.limits.ceiling import Ceiling
from linewatt.analysis.limits.knee import Knee
from linewatt.analysis.power.machine_conditions import Beside
from linewatt.analysis.power.outliers import power_outliers
from linewatt.analysis.statistics.stats import Estimate
from linewatt.findings import Rank, kind_of
from linewatt.json_document import document_of
from linewatt.model import ENDS, Flag, Role
from linewatt.units import format_rate, format_significant, mbps_from_bps

Readings = Mapping[int, Mapping[str, float]]
"""instances → readings beside the power of that case, by their names in words"""
_SERIES_CODES = ("hidden-ceiling", "power-outlier")


@dataclass(frozen=True, slots=True)
class SeriesFinding:
    """One thing that a series shows; ``kind`` is a finding's code or a limit's stable word."""

    kind: str
    rank: Rank
    instances: int
    message: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What changes from one case of a series to the next; ``None`` where it is not known of both.

    CPU and watts are those of the whole host at an end.
    """

    from_instances: int
    instances: int
    throughput_ratio: float | None
    """(new − old) ÷ old"""
    receiver_cpu_ratio: float | None
    sender_cpu_ratio: float | None
    receiver_power_w: float | None
    """new − old"""
    sender_power_w: float | None


@dataclass(frozen=True, slots=True)
class Analysis:
    """One series: a regime for each case, instances ascending; ``knee`` is None where there is none."""

    title: str
    summaries: tuple[CaseSummary, ...]
    regimes: tuple[RowRegime, ...]
    knee: Knee | None
    findings: tuple[SeriesFinding, ...]
    steps: tuple[Step, ...]


def analyse_series(title: str, series: Sequence[CaseSummary], readings: Readings | None = None) -> Analysis:
    """Everything about one series, instances ascending."""
    return Analysis(
        title=title,
        summaries=tuple(series),
        regimes=explained(series),
        knee=knee_of(series),
        findings=tuple(sorted(_findings(series, readings or {}), key=lambda finding: finding.instances)),
        steps=tuple(_step(fewer, more) for fewer, more in pairwise(series)),
    )


def _step(fewer: CaseSummary, more: CaseSummary) -> Step:
    cpu_ratios = {role: _change(fewer.cpu_cores(role), more.cpu_cores(role)) for role in ENDS}
    watts = {role: _power_step_w(fewer, more, role) for role in ENDS}
    return Step(
        from_instances=fewer.case.instances,
        instances=more.case.instances,
        throughput_ratio=_change(fewer.throughput_bps, more.throughput_bps),
        receiver_cpu_ratio=cpu_ratios["receiver"],
        sender_cpu_ratio=cpu_ratios["sender"],
        receiver_power_w=watts["receiver"],
        sender_power_w=watts["sender"],
    )


def _change(old: Estimate | None, new: Estimate | None) -> float | None:
    return None if old is None or new is None or old.mean <= 0 else new.mean / old.mean - 1


def _power_step_w(fewer: CaseSummary, more: CaseSummary, role: Role) -> float | None:
    """How much more an end draws, by watts of one scope."""
    old, new = fewer.power(role), more.power(role)
    if old is None or new is None or old.system_scope != new.system_scope:
        return None
    return None if old.system_w is None or new.system_w is None else new.system_w.mean - old.system_w.mean


def _findings(series: Sequence[CaseSummary], readings: Readings) -> Iterator[SeriesFinding]:
    hidden = dict(ceilings(series))
    for at, summary in enumerate(series):
        yield from _limit(summary)
        flags = summary.case_flags
        yield from (_flagged(summary, flag) for flag in flags if flag.code not in _SERIES_CODES)
        if at in hidden:
            yield _ceiling(summary, hidden[at])
        elif summary.limit.kind == "device-or-path":
            yield from (_flagged(summary, flag) for flag in flags if flag.code == "hidden-ceiling")
    yield from _power(series, readings)


def _limit(summary: CaseSummary) -> Iterator[SeriesFinding]:
    limit = summary.limit
    if not limit.found or limit.kind == "device-or-path":
        return
    yield SeriesFinding(
        kind=limit.kind,
        rank="note",
        instances=summary.case.instances,
        message=f"{limit.lead}{_of_line(summary)}",
        evidence=(limit.evidence, *([limit.margin] if limit.margin else ())),
    )


def _of_line(summary: CaseSummary) -> str:
    """``: 94,237 of 94,149 Mbps possible``, where that is the limit."""
    line = next(
        (candidate for candidate in summary.limit.named if candidate.kind in ("line-rate", "shaper")), None
    )
    if line is None or line.used is None or line.capacity is None:
        return ""
    capacity_mbps = math.ceil(mbps_from_bps(line.capacity))
    return f": {mbps_from_bps(line.used):,.0f} Mbps of {capacity_mbps:,} Mbps possible"


def _flagged(summary: CaseSummary, flag: Flag) -> SeriesFinding:
    kind = kind_of(flag.code)
    message, *details = clauses_of(flag)
    return SeriesFinding(
        kind=flag.code,
        rank=kind.rank,
        instances=summary.case.instances,
        message=f"{kind.title}, {flag.where}: {message}",
        evidence=(*(["; ".join(details)] if details else ()), flag.advice),
    )


def _ceiling(summary: CaseSummary, ceiling: Ceiling) -> SeriesFinding:
    unknown = (f"not known: {', '.join(ceiling.unknown)}",) if ceiling.unknown else ()
    return SeriesFinding(
        kind="hidden-ceiling",
        rank=kind_of("hidden-ceiling").rank,
        instances=summary.case.instances,
        message=f"Hidden ceiling near {format_rate(ceiling.throughput_bps, 4)}: not the line rate, not CPU",
        evidence=(*ceiling.evidence, *unknown),
    )


def _power(series: Sequence[CaseSummary], readings: Readings) -> Iterator[SeriesFinding]:
    for role in ENDS:
        rows = [
            replace(row, read_beside=partial(Beside, readings.get(row.instances, {})))
            for row in power_rows(series, role)
        ]
        for power_outlier in power_outliers(rows):
            yield SeriesFinding(
                kind="power-outlier",
                rank=kind_of("power-outlier").rank,
                instances=power_outlier.row.instances,
                message=f"Power of the {role}: {outlier_words(power_outlier)}",
                evidence=power_outlier.evidence,
            )


def analysis_document(analyses: Sequence[Analysis], schema_version: int) -> dict[str, object]:
    """The document of ``analyze --json``; with several series each entry names its own."""
    several = len(analyses) > 1

    def named(analysis: Analysis) -> dict[str, object]:
        return {"series": analysis.title} if several else {}

    knees = {analysis.title: analysis.knee.instances if analysis.knee else None for analysis in analyses}
    bounds = {
        analysis.title: [analysis.knee.low, analysis.knee.high] if analysis.knee else None
        for analysis in analyses
    }
    return {
        "schema_version": schema_version,
        "regimes": [
            {"instances": summary.case.instances, "regime": row.regime, "why": row.why} | named(analysis)
            for analysis in analyses
            for summary, row in zip(analysis.summaries, analysis.regimes, strict=True)
            if not summary.case.of_users
        ],
        "knee_instances": knees if several else next(iter(knees.values()), None),
        "knee_ci95": bounds if several else next(iter(bounds.values()), None),
        "steps": [document_of(step) | named(analysis) for analysis in analyses for step in analysis.steps],
        "findings": [
            document_of(finding) | named(analysis) for analysis in analyses for finding in analysis.findings
        ],
    }


def knee_words(knee: Knee | None) -> str:
    """``Knee at 3.5 instances (95 % CI 2.7 to 5.1): 22.9 Gbps an instance before it, 2.50 Gbps after``."""
    if knee is None:
        return "No knee: throughput follows instances as far as they go, or there are fewer than four cases"
    rates = f"{format_rate(knee.before_bps)} an instance before it, {format_rate(knee.after_bps)} after"
    return f"Knee at {knee_place(knee)}: {rates}"


def knee_place(knee: Knee) -> str:
    """``3.5 instances (95 % CI 2.7 to 5.1)``."""
    digits = 2 if f"{knee.low:.2g}" != f"{knee.high:.2g}" else 3
    ends = " to ".join(format_significant(end, digits) for end in (knee.low, knee.high))
    return f"{format_significant(knee.instances, 2)} instances (95 % CI {ends})"
