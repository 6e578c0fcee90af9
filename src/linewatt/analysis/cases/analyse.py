# SPDX-License-Identifier: Apache-2.0
"""What a series says: regimes, the knee, findings on limits and power; of results and tables alike. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.regimes import RowRegime, explained, knee_of
from linewatt.analysis.cases.series import ceilings, outlier_words, power_rows
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.limits.ceiling import Ceiling
from linewatt.analysis.limits.knee import Knee
from linewatt.analysis.power.beside import Beside
from linewatt.analysis.power.outliers import power_outliers
from linewatt.findings import Rank, kind_of
from linewatt.model import ENDS
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


@dataclass(frozen=True, slots=True)
class Analysis:
    """One series: a regime for each case, instances ascending; ``knee`` is None where there is none."""

    title: str
    summaries: tuple[CaseSummary, ...]
    regimes: tuple[RowRegime, ...]
    knee: Knee | None
    findings: tuple[SeriesFinding, ...]


def analyse(title: str, series: Sequence[CaseSummary], beside: Readings | None = None) -> Analysis:
    """Everything about one series, instances ascending."""
    return Analysis(
        title=title,
        summaries=tuple(series),
        regimes=explained(series),
        knee=knee_of(series),
        findings=tuple(sorted(_findings(series, beside or {}), key=lambda one: one.instances)),
    )


def _findings(series: Sequence[CaseSummary], beside: Readings) -> Iterator[SeriesFinding]:
    hidden = dict(ceilings(series))
    for at, summary in enumerate(series):
        yield from _limit(summary)
        yield from _case_flags(summary)
        if at in hidden:
            yield _ceiling(summary, hidden[at])
        elif summary.limit.kind == "device-or-path":
            yield from _flagged(summary, "hidden-ceiling")
    yield from _power(series, beside)


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
    line = next((one for one in summary.limit.named if one.kind in ("line-rate", "shaper")), None)
    if line is None or line.used is None or line.capacity is None:
        return ""
    most = math.ceil(mbps_from_bps(line.capacity))
    return f": {mbps_from_bps(line.used):,.0f} Mbps of {most:,} Mbps possible"


def _case_flags(summary: CaseSummary) -> Iterator[SeriesFinding]:
    for flag in summary.case_flags:
        if flag.code not in _SERIES_CODES:
            yield from _flagged(summary, flag.code)


def _flagged(summary: CaseSummary, code: str) -> Iterator[SeriesFinding]:
    kind = kind_of(code)
    for flag in summary.case_flags:
        if flag.code == code:
            message, _, rest = flag.evidence.partition("; ")
            instances = summary.case.instances
            evidence = (*([rest] if rest else ()), flag.advice)
            yield SeriesFinding(
                code, kind.rank, instances, f"{kind.title}, {flag.where}: {message}", evidence
            )


def _ceiling(summary: CaseSummary, found: Ceiling) -> SeriesFinding:
    unknown = (f"not known: {', '.join(found.unknown)}",) if found.unknown else ()
    return SeriesFinding(
        kind="hidden-ceiling",
        rank=kind_of("hidden-ceiling").rank,
        instances=summary.case.instances,
        message=f"Hidden ceiling near {format_rate(found.throughput_bps, 4)}: not the line rate, not CPU",
        evidence=(*found.evidence, *unknown),
    )


def _power(series: Sequence[CaseSummary], beside: Readings) -> Iterator[SeriesFinding]:
    for role in ENDS:
        rows = [
            replace(row, beside=Beside(beside.get(row.instances, {}))) for row in power_rows(series, role)
        ]
        for found in power_outliers(rows):
            yield SeriesFinding(
                kind="power-outlier",
                rank=kind_of("power-outlier").rank,
                instances=found.row.instances,
                message=f"Power of the {role}: {outlier_words(found)}",
                evidence=found.evidence,
            )


def document(analyses: Sequence[Analysis], schema_version: int) -> dict[str, object]:
    """The document of ``analyze --json``; with several series each entry names its own."""
    several = len(analyses) > 1

    def named(one: Analysis) -> dict[str, object]:
        return {"series": one.title} if several else {}

    knees = {one.title: one.knee.instances if one.knee else None for one in analyses}
    bounds = {one.title: [one.knee.low, one.knee.high] if one.knee else None for one in analyses}
    return {
        "schema_version": schema_version,
        "regimes": [
            {"instances": summary.case.instances, "regime": row.regime, "why": row.why} | named(one)
            for one in analyses
            for summary, row in zip(one.summaries, one.regimes, strict=True)
            if not summary.case.of_users
        ],
        "knee_instances": knees if several else next(iter(knees.values()), None),
        "knee_ci95": bounds if several else next(iter(bounds.values()), None),
        "findings": [
            {
                "kind": found.kind,
                "rank": found.rank,
                "instances": found.instances,
                "message": found.message,
                "evidence": list(found.evidence),
            }
            | named(one)
            for one in analyses
            for found in one.findings
        ],
    }


def knee_words(found: Knee | None) -> str:
    """``Knee at 3.5 instances (95 % CI 2.7 to 5.1): 22.9 Gbps an instance before it, 2.50 Gbps after``."""
    if found is None:
        return "No knee: throughput follows instances as far as they go, or there are fewer than four cases"
    digits = 2 if f"{found.low:.2g}" != f"{found.high:.2g}" else 3
    ends = " to ".join(format_significant(end, digits) for end in (found.low, found.high))
    rates = f"{format_rate(found.before_bps)} an instance before it, {format_rate(found.after_bps)} after"
    return f"Knee at {format_significant(found.instances, 2)} instances (95 % CI {ends}): {rates}"
