# SPDX-License-Identifier: Apache-2.0
"""The columns of the views ``results`` and ``findings``, and their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linewatt.analysis import Findings
from linewatt.analysis.metrics import MBPS_PER_W
from linewatt.core.feature import further_trials
from linewatt.records import Manifest
from linewatt.report.data.case_columns import RESULT
from linewatt.report.data.column import Column
from linewatt.report.kinds import result_kind
from linewatt.report.list_line import listed
from linewatt.report.listing import Best
from linewatt.report.trials.digest import Digest
from linewatt.store import Result

_BEST = "best_reason"
_PER_WATT = "best_per_watt_reason"


def result_columns() -> tuple[Column, ...]:
    """The columns of the view ``results``: one row per result, including soaks and published tables."""
    return (
        RESULT,
        Column("kind", "VARCHAR", "`trials`, `soak`, or `published`: a table without trials"),
        Column("name", "VARCHAR", "campaign name"),
        Column("created_s", "DOUBLE", "start in Unix time; to_timestamp(created_s) gives the date"),
        Column("linewatt_version", "VARCHAR", "version that measured it"),
        Column("imported_from", "VARCHAR", "source file of the figures; NULL: measured by linewatt"),
        Column("hosts", "VARCHAR", "host names, comma-separated"),
        Column("lab_hosts", "VARCHAR", "hosts simulated on one machine: not hardware results; NULL: none"),
        Column("complete", "BOOLEAN", "whether nothing is left for `linewatt resume`"),
        Column("trials_planned", "BIGINT", "trials that the campaign requests"),
        Column("trials_done", "BIGINT", "successful trials"),
        Column("trials_failed", "BIGINT", "failed trials"),
        *(
            Column(f"{trials.name}_count", "BIGINT", f"number of {trials.name}")
            for trials in further_trials()
        ),
        Column("flags_count", "BIGINT", "findings, each counted once per scope", "flags_reason"),
        Column("flags_reason", "VARCHAR", "why findings are not counted; unreadable parts of a soak"),
        Column("best_test", "VARCHAR", "test of the fastest case, or of the best setting", _BEST),
        Column("best_throughput_bps", "DOUBLE", "mean of that case, or of the soak", _BEST),
        Column("best_throughput_doubtful", "BOOLEAN", "whether the throughput is doubtful"),
        Column("best_throughput_at_least", "BOOLEAN", "whether a search gave it as a lower bound only"),
        Column(
            "best_system_mbps_per_w",
            "DOUBLE",
            "throughput ÷ watts of the receiver, or of a soak's server",
            _PER_WATT,
        ),
        Column("best_system_mbps_per_w_doubtful", "BOOLEAN", "whether a finding makes the watts doubtful"),
        Column("best_system_mbps_per_w_provenance", "VARCHAR", "of the watts: `measured`, `simulated` …"),
        Column("best_reason", "VARCHAR", "why there is no throughput"),
        Column("best_per_watt_reason", "VARCHAR", "why there is no Mbps/W"),
    )


def kind_name(manifest: Manifest) -> str:
    """``trials``, or the kind that a feature adds, such as ``soak``."""
    kind = result_kind(manifest)
    return "trials" if kind is None else kind.name


def row_of_result(result: Result, view: Digest) -> dict[str, Any]:
    """The row of a result of any kind: what ``list`` shows, and the hosts. Raises StoreError."""
    listed_result = listed(result, view)
    about, hosts = listed_result.heading, result.manifest.hosts
    lacks = [
        reason
        for reason in (listed_result.reason if listed_result.findings is None else None, listed_result.lacks)
        if reason
    ]
    return {
        "result": result.id,
        "kind": kind_name(result.manifest),
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
    """The columns of the view ``findings``: one row per finding, piece of evidence and trial."""
    return (
        RESULT,
        Column(
            "finding",
            "BIGINT",
            "number of the finding in its result, most severe first; several rows can share it",
        ),
        Column("code", "VARCHAR", "code of the finding, see docs/findings.md"),
        Column("rank", "VARCHAR", "`withheld`, `doubtful` or `note`"),
        Column("scope", "VARCHAR", "scope of the finding: `campaign`, `host`, `case` or `trial`"),
        Column("figures", "VARCHAR", "affected figures, space-separated: `throughput`, `cpu`, `power` …"),
        Column("place", "VARCHAR", "host, channel or instance where it was seen"),
        Column("trial", "BIGINT", "number of an affected trial; NULL: none"),
        Column("evidence", "VARCHAR", "what was observed"),
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
