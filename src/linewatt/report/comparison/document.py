# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from linewatt.analysis.cases.summary import FlagCount
from linewatt.analysis.comparison.compare import Comparison, Finding, Pair
from linewatt.analysis.comparison.matching import Match, Side
from linewatt.analysis.comparison.rows import Row
from linewatt.analysis.soak.job import Job
from linewatt.report.comparison.tables import single_ratio
from linewatt.report.comparison.words import lab_words
from linewatt.report.printing.export import keyed_case, mean_keys, numbers

SCHEMA_VERSION = 1


def as_document(found: Comparison, verdict: Finding) -> dict[str, Any]:
    """The document of ``compare --json``; values of a response are in the unit that its name ends with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "base": _side(found.base),
        "other": _side(found.other),
        "by": found.options.by,
        "levels": list(found.levels),
        "hosts": None if found.hosts is None else list(found.hosts),
        "caveats": lab_words(found),
        "factor_ratio": found.options.matters,
        "matched": list(found.words),
        "comparisons": [_row(row) for row in found.rows],
        "overall": [_overall(row) for row in found.overall],
        "flags": [_flags(pair) for pair in found.pairs if pair.base_flags or pair.other_flags],
        "remarks": [
            {**_case(pair.match), "remarks": list(pair.remarks)} for pair in found.pairs if pair.remarks
        ],
        "left_over": [{"side": one.side, "why": one.why, **keyed_case(one.case)} for one in found.left_over],
        "differences": [asdict(one) for one in found.differences],
        "exit_code": verdict.exit_code,
        "finding": verdict.words or None,
    }


def _side(side: Side) -> dict[str, Any]:
    named: dict[str, Any] = {"name": side.name, "id": side.id, "created_s": side.created_s}
    named |= {"searched_rates": list(side.searched)} if side.searched else {}
    named |= {"searched_instances": list(side.knees)} if side.knees else {}
    return named if side.soak is None else {**named, "soaks": [_soak(one) for one in side.runs]}


def _soak(side: Side) -> dict[str, Any]:
    run = side.soak
    if run is None:
        return {}
    told = {"id": side.id, "created_s": side.created_s, "duration_s": run.ran_s, "complete": run.complete}
    ledger = {"balance": run.balance, "balance_words": run.balance_words}
    return {**told, **ledger, "flags": [asdict(flag) for flag in run.flags]}


def job_keys(job: Job) -> dict[str, Any]:
    """What a soak was asked to do, behind the key by which it is compared."""
    return {
        "job_key": job.key,
        "server": job.server,
        "hosts": list(job.hosts),
        "job": dict(job.parameters),
    }


def _case(match: Match) -> dict[str, Any]:
    levels = {"base_level": match.base_level or None, "level": match.level or None}
    base, other = match.base, match.other
    if isinstance(base, Job) or isinstance(other, Job):
        keys = {"case_key": base.key, "test": "soak", "other_case_key": other.key}
        return keys | (job_keys(base) if isinstance(base, Job) else {}) | levels
    ends = {"other_sender": other.sender, "other_receiver": other.receiver}
    return {**keyed_case(base), "other_case_key": other.key, **ends, **levels}


def _row(row: Row) -> dict[str, Any]:
    change = row.verdict.change
    return {
        **_case(row.match),
        "response": row.response.name,
        **mean_keys("base", row.base),
        **mean_keys("other", row.other),
        **numbers(row.response, row.verdict),
        **({} if change or single_ratio(row) is None else {"ratio": single_ratio(row)}),
        "p_shuffled": None if change is None else change.permutation_p,
        "kind": row.outcome,
        "also_different": list(row.besides),
        "scope": row.scope,
        "provenance": row.provenance,
    }


def _overall(row: Row) -> dict[str, Any]:
    """A row over pairs of hosts, which are not named in it."""
    hosts = {"sender", "receiver", "other_sender", "other_receiver"}
    return {"pairs": row.pairs, **{name: value for name, value in _row(row).items() if name not in hosts}}


def _flags(pair: Pair) -> dict[str, Any]:
    def counted(flags: Sequence[FlagCount]) -> list[dict[str, Any]]:
        return [{"code": one.code, "trials": one.trials, "evidence": one.example.evidence} for one in flags]

    return {**_case(pair.match), "base": counted(pair.base_flags), "other": counted(pair.other_flags)}


def csv_rows(found: Comparison) -> list[dict[str, Any]]:
    """Rows of ``compare --csv``: one a case and response."""
    flags = {pair.match: pair for pair in found.pairs}
    return [
        _row(row)
        | {
            "factors": None
            if isinstance(row.match.base, Job)
            else " ".join(f"{name}={level}" for name, level in row.match.base.factors) or None,
            "also_different": ", ".join(row.besides) or None,
            "base_flags": " ".join(one.code for one in flags[row.match].base_flags),
            "other_flags": " ".join(one.code for one in flags[row.match].other_flags),
        }
        for row in found.rows
    ]


CSV_COLUMNS = (
    *("test", "sender", "receiver", "other_sender", "other_receiver", "direction", "family", "instances"),
    *("network", "rate_bps", "streams", "zerocopy", "load_level", "factors", "case_key", "other_case_key"),
    *("base_level", "level", "response", "base_mean", "base_sd", "base_n", "other_mean", "other_sd"),
    *("other_n", "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
    *("p", "p_holm", "p_shuffled", "kind", "verdict", "scope", "provenance", "also_different"),
    *("base_flags", "other_flags"),
)
"""Column names of ``compare --csv``, the same for every comparison."""
