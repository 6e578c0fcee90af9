# SPDX-License-Identifier: Apache-2.0
"""The columns of the views ``results`` and ``findings``, and their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linewatt.analysis import Findings
from linewatt.analysis.metrics import MBPS_PER_W
from linewatt.core.feature import further_trials
from linewatt.report.data.case_columns import RESULT
from linewatt.report.data.column import Column
from linewatt.report.kinds import result_kind
from linewatt.report.listing import Best, listed
from linewatt.report.trials.digest import Digest
from linewatt.store import Result

_BEST = "best_reason"
_PER_WATT = "best_per_watt_reason"


def result_columns() -> tuple[Column, ...]:
    """Those of the view ``results``: a row a result, also of soaks and of published tables."""
    return (
        RESULT,
        Column("kind", "VARCHAR", "`trials`, `soak`, or `published`: a table without trials"),
        Column("name", "VARCHAR", "of its campaign"),
        Column("created_s", "DOUBLE", "Unix time at which it began; to_timestamp(created_s) is its date"),
        Column("linewatt_version", "VARCHAR", "that measured it"),
        Column("imported_from", "VARCHAR", "file whose figures these are; NULL: linewatt measured them"),
        Column("hosts", "VARCHAR", "their names, a comma between"),
        Column("lab_hosts", "VARCHAR", "those simulated on one machine, no measure of hardware; NULL: none"),
        Column("complete", "BOOLEAN", "whether all that was asked for is there"),
        Column("trials_planned", "BIGINT", "that the campaign asks for"),
        Column("trials_done", "BIGINT", "that gave numbers"),
        Column("trials_failed", "BIGINT", "that did not"),
        *(
            Column(f"{trials.name}_count", "BIGINT", f"{trials.name} beside its trials")
            for trials in further_trials()
        ),
        Column("flags_count", "BIGINT", "findings, each told once at its scope", "flags_reason"),
        Column("flags_reason", "VARCHAR", "why findings are not counted, and what of a soak cannot be read"),
        Column("best_test", "VARCHAR", "test of the case with the most throughput", _BEST),
        Column("best_throughput_bps", "DOUBLE", "mean of that case; of a soak its mean", _BEST),
        Column("best_throughput_doubtful", "BOOLEAN", "whether a finding makes it so"),
        Column(
            "best_throughput_at_least", "BOOLEAN", "a searched rate above which nothing was sent, or lost"
        ),
        Column(
            "best_system_mbps_per_w",
            "DOUBLE",
            "throughput ÷ watts of its receiver, a soak's server",
            _PER_WATT,
        ),
        Column("best_system_mbps_per_w_doubtful", "BOOLEAN", "whether a finding makes it so"),
        Column("best_system_mbps_per_w_provenance", "VARCHAR", "of its watts: `measured`, `simulated` …"),
        Column("best_reason", "VARCHAR", "why there is no throughput"),
        Column("best_per_watt_reason", "VARCHAR", "why there is no Mbps/W"),
    )


def row_of_result(result: Result, view: Digest) -> dict[str, Any]:
    """The row of a result, whatever it is of: what ``list`` says of it, and its hosts. Raises StoreError."""
    listed_result = listed(result, view)
    about, hosts, kind = listed_result.heading, result.manifest.hosts, result_kind(result.manifest)
    lacks = [
        reason
        for reason in (listed_result.reason if listed_result.findings is None else None, listed_result.lacks)
        if reason
    ]
    return {
        "result": result.id,
        "kind": "trials" if kind is None else kind.name,
        "name": result.manifest.name,
        "created_s": result.created_s,
        "linewatt_version": result.manifest.linewatt_version,
        "imported_from": result.imported_from,
        "hosts": ", ".join(hosts) or None,
        "lab_hosts": ", ".join(name for name, host in hosts.items() if host.lab) or None,
        "complete": about["complete"],
        "trials_planned": about["trials_planned"],
        "trials_done": about["trials_done"],
        "trials_failed": about["trials_failed"],
        **{f"{trials.name}_count": about.get(f"{trials.name}_count", 0) for trials in further_trials()},
        "flags_count": listed_result.findings,
        "flags_reason": "; ".join(lacks) or None,
        **_best(listed_result.best, listed_result.reason),
    }


def _best(best: Best | None, reason: str | None) -> dict[str, Any]:
    if best is None:
        why = reason or "no throughput is on record"
        return {"best_reason": why, "best_per_watt_reason": why}
    per_watt = best.bps_per_w
    return {
        "best_test": best.test,
        "best_throughput_bps": best.throughput_bps,
        "best_throughput_doubtful": best.doubtful_throughput,
        "best_throughput_at_least": best.at_least,
        "best_system_mbps_per_w": None if per_watt is None else MBPS_PER_W.from_si(per_watt),
        "best_system_mbps_per_w_doubtful": None if per_watt is None else best.doubtful_watts,
        "best_system_mbps_per_w_provenance": None if per_watt is None else best.provenance,
        "best_per_watt_reason": None if per_watt is not None else best.reason,
    }


def finding_columns() -> tuple[Column, ...]:
    """Those of the view ``findings``: a row a finding, piece of evidence, and trial that has it."""
    return (
        RESULT,
        Column(
            "finding",
            "BIGINT",
            "number of the finding in its result, the gravest first; rows of one share it",
        ),
        Column("code", "VARCHAR", "its kind, as docs/findings.md names it"),
        Column("rank", "VARCHAR", "`withheld`, `doubtful` or `note`"),
        Column("scope", "VARCHAR", "what it is told once for: `campaign`, `host`, `case`, `trial`"),
        Column("figures", "VARCHAR", "what it is about, a blank between: `throughput`, `cpu`, `power` …"),
        Column("place", "VARCHAR", "host, channel or instance it was seen at"),
        Column("trial", "BIGINT", "number of a trial that has it; NULL: it is of none"),
        Column("evidence", "VARCHAR", "what was seen"),
        Column("advice", "VARCHAR", "what to do about it"),
    )


def rows_of_findings(result: str, findings: Findings) -> Iterator[dict[str, Any]]:
    """The rows of all findings of a result."""
    for number, finding in enumerate(findings.every, start=1):
        about = {
            "result": result,
            "finding": number,
            "code": finding.code,
            "rank": finding.kind.rank,
            "scope": finding.kind.scope,
            "figures": " ".join(finding.kind.figures) or None,
            "advice": "; ".join(finding.advice),
        }
        for seen in finding.sightings:
            for trial in seen.trials or (None,):
                yield about | {"place": seen.where, "trial": trial, "evidence": seen.evidence}
