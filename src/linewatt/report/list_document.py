# SPDX-License-Identifier: Apache-2.0
"""The lines of ``linewatt list`` as data: ``list --json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linewatt.analysis.metrics import MBPS_PER_W
from linewatt.declare import SELDOM, Schema, keys_of, listing, one_of, record
from linewatt.json_document import document_of, fill, of_class
from linewatt.records import Count
from linewatt.report.listing import NO_THROUGHPUT, Best, Listed
from linewatt.store import Damaged

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BestDocument:
    test: str
    throughput_bps: float
    """Mean of the fastest case; of an experiment, of its best setting."""
    throughput_doubtful: bool
    throughput_at_least: bool = field(default=False, metadata=SELDOM)
    """A searched rate above which no more was lost, or nothing sent."""
    system_mbps_per_w: float | None
    """At its receiver; of a soak at its server."""
    system_mbps_per_w_doubtful: bool
    provenance: str | None
    reasons: dict[str, str]
    """Why a figure is missing, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKeys:
    """What a row of ``list --json`` has behind the heading of its result."""

    flags_count: Count | None
    """Findings, each at its scope."""
    flags_reason: str | None
    """Why they are not counted."""
    damaged: None = None
    lacks: str | None
    """What of a soak's files cannot be read or is not there."""
    best: BestDocument | None
    best_reason: str | None


@dataclass(frozen=True, slots=True)
class DamagedDocument:
    """A result that cannot be read."""

    id: str
    damaged: str
    """Why it cannot be read, or shown."""


def document_of_list(results: Sequence[Listed | Damaged]) -> dict[str, Any]:
    """The document of ``list --json``; of a damaged result there is its id and why."""
    rows = [
        document_of(DamagedDocument(result.id, result.reason))
        if isinstance(result, Damaged)
        else {**result.heading, **document_of(_listed_keys(result))}
        for result in results
    ]
    return {"schema_version": SCHEMA_VERSION, "results": rows}


def schema() -> Schema:
    """Of ``list --json``."""
    from linewatt.report.printing.export import Versioned
    from linewatt.report.trials.schema import heading_schema

    shown = record({**heading_schema(), **keys_of(of_class(ListedKeys))})
    rows = listing(one_of(shown, of_class(DamagedDocument)), "By id.")
    return record({**keys_of(of_class(Versioned)), "results": rows})


def _listed_keys(result: Listed) -> ListedKeys:
    best = result.best
    return fill(
        ListedKeys,
        result,
        flags_count=result.findings,
        flags_reason=result.reason,
        damaged=None,
        best=None if best is None else _best_document(best),
        best_reason=None if best is not None else result.reason or NO_THROUGHPUT,
    )


def _best_document(best: Best) -> BestDocument:
    per_watt = best.bps_per_w
    return fill(
        BestDocument,
        best,
        throughput_doubtful=best.doubtful_throughput,
        throughput_at_least=best.at_least,
        system_mbps_per_w=None if per_watt is None else MBPS_PER_W.from_si(per_watt),
        system_mbps_per_w_doubtful=best.doubtful_watts,
        provenance=None if per_watt is None else best.provenance,
        reasons={} if per_watt is not None else {"system_mbps_per_w": best.reason},
    )
