# SPDX-License-Identifier: Apache-2.0
"""A soak as one JSON document: SI, units in keys, missing is null with a reason beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from linewatt.declare import FLAT, SELDOM, TEXT, Schema, listing, table
from linewatt.features.soak import figures
from linewatt.features.soak.balance import Balance
from linewatt.features.soak.digest import GroupTotals, HostPower, Interval, Soak
from linewatt.features.soak.flags import findings, flags
from linewatt.features.soak.ledger import COLUMNS, Line
from linewatt.features.soak.scan import MissingChunks
from linewatt.features.soak.series_steps import Gap
from linewatt.features.soak.summary import energy_j, energy_j_per_gb, packets, transfers
from linewatt.features.users.worker.percentiles import Summary
from linewatt.json_document import document_of, fill, of_class
from linewatt.missing import Missing
from linewatt.model import Provenance
from linewatt.records import BestOf, Count, Event
from linewatt.report.printing import SCHEMA_VERSION, PrintedFlag, Versioned

Total = Annotated[float, Field(ge=0)]
"""a sum of counters, as they are read"""


@dataclass(frozen=True, slots=True)
class PartDocument:
    number: Count
    started_s: float
    ended_s: float
    why: str | None
    """How it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDocument:
    rate_mean_bps: float | None
    rate_peak_bps: float | None
    rate_percentiles_bps: dict[str, float] | None
    """`p5`, `p50` … → the rate."""
    transfers_count: Total | None
    packets_count: Total | None
    dropped_count: Count | None
    dropped_ratio: float | None
    dropped_lacks: str | None = field(default=None, metadata=SELDOM)
    """Why the drops are not all counted: the count is the least."""
    total_bytes: float | None


@dataclass(frozen=True, slots=True)
class StallDocument:
    start_s: float
    end_s: float
    least_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersDocument:
    planned_count: Count | None
    sustained_at_bps: float | None
    """What a user is to move to count as sustained."""
    sustained_count: Count | None
    sustained_reason: str | None = field(default=None, metadata=SELDOM)
    """Why they cannot be counted."""
    times: dict[str, Summary]
    """What was timed → its percentiles."""
    times_reason: str | None
    """Why some are not known."""
    first_lines: dict[str, str]
    """Kind of failure → the first line of it."""
    client_cpu_s_per_gbit: float | None
    clients_saturated_ratio: dict[str, float]
    """Client → part of the time that its CPU was full."""


@dataclass(frozen=True, slots=True)
class GroupDocument:
    name: str
    clients: Count
    got_bytes: float | None
    put_bytes: float | None
    transfers: float | None
    failed: float | None
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class PowerDocument:
    host: str
    power_w: float | None
    scope: str | None
    provenance: Provenance | None
    energy_j: float | None
    energy_j_per_gb: float | None
    covered_ratio: float
    """Part of the time that has readings."""
    reason: str | None


@dataclass(frozen=True, slots=True)
class IntervalDocument:
    start_s: float
    end_s: float
    values: dict[str, dict[str, float | None]]
    """Key of a line → column → its figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakDocument(Versioned):
    """A soak: one long load in place of trials."""

    kind: Literal["soak"] = "soak"
    id: str
    """The name of its directory."""
    name: str | None
    created_s: float | None
    complete: bool
    best_of: dict[str, Any] | None = field(default=None, metadata=SELDOM)
    """The best setting of an experiment, which it had."""
    duration_planned_s: float
    duration_s: float
    """That it ran."""
    load_s: float
    """Of that with its load."""
    slice_s: float
    parts: tuple[PartDocument, ...]
    """Each run of the controller."""
    summary: SummaryDocument
    stalls: tuple[StallDocument, ...]
    drift: figures.Drift | None
    users: UsersDocument | None
    groups: tuple[GroupDocument, ...]
    power: tuple[PowerDocument, ...]
    ledger: list[LineDocument]
    """A line a quantity, with a key a column that counted it."""
    ledger_by_interval: tuple[IntervalDocument, ...]
    balance: Balance
    gaps: tuple[Gap, ...]
    missing: tuple[MissingChunks, ...]
    gone: tuple[str, ...]
    """Files that were stored and are not there."""
    damaged: dict[str, str]
    """File → what is wrong with it."""
    events: list[dict[str, Any]]
    flags_count: Count
    flags: tuple[PrintedFlag, ...]


def schema() -> Schema:
    """Of :func:`as_json`."""
    soak_schema = of_class(SoakDocument)
    counted = (f"{name}_{unit}" for name in COLUMNS for unit in ("bytes", "count"))
    line = soak_schema["$defs"]["LineDocument"]
    line["properties"] |= dict.fromkeys(counted, line.pop("additionalProperties"))
    line["additionalProperties"] = False
    best = of_class(BestOf, stored=True)
    best["properties"]["setting"] = table(TEXT, "Factor → its level.")
    for name, part in {
        "best_of": best,
        "events": listing(of_class(Event, stored=True, closed=False)),
    }.items():
        soak_schema["properties"][name] |= part
    return soak_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDocument:
    key: str
    section: str
    title: str
    is_drop: bool
    counted: dict[str, float | None] = field(metadata=FLAT)
    resets: dict[str, Count]
    """Column → how often it was reset."""
    reasons: dict[str, str]
    """Column → why it has no figure."""


def as_json(soak: Soak) -> dict[str, Any]:
    """The document of ``show --json`` for a soak."""
    manifest = soak.result.manifest
    soak_document = fill(
        SoakDocument,
        soak,
        schema_version=SCHEMA_VERSION,
        kind="soak",
        id=soak.result.id,
        name=manifest.name,
        created_s=manifest.created_s,
        best_of=_best(manifest.asked.best_of),
        duration_planned_s=soak.plan.duration_s,
        duration_s=soak.ran_s,
        slice_s=soak.scan.cell_s,
        parts=tuple(fill(PartDocument, part) for part in soak.parts),
        summary=_summary(soak),
        stalls=tuple(_stall(soak, stall) for stall in soak.stalls),
        drift=None if isinstance(soak.drift, Missing) else soak.drift,
        users=_users(soak),
        groups=tuple(map(_group, soak.groups)),
        power=tuple(_power(soak, host_power) for host_power in soak.power),
        ledger=[_line(line) for line in soak.ledger.lines],
        ledger_by_interval=tuple(map(_interval, soak.intervals)),
        gaps=soak.scan.gaps,
        damaged={str(path.relative_to(soak.result.path)): why for path, why in soak.damaged.items()},
        events=[event.as_written() for event in soak.events],
        flags_count=len(findings(soak).every),
        flags=tuple(fill(PrintedFlag, flag) for flag in flags(soak)),
    )
    return document_of(soak_document)


def _summary(soak: Soak) -> SummaryDocument:
    rates, lacks = soak.rates, soak.ledger.dropped_lacks
    dropped, packet_count = soak.ledger.dropped, packets(soak).value
    return SummaryDocument(
        rate_mean_bps=soak.mean_bps,
        rate_peak_bps=rates.peak_bps if rates else None,
        rate_percentiles_bps=rates.percentiles_bps if rates else None,
        transfers_count=transfers(soak).value if soak.roles.has_users else None,
        packets_count=packet_count,
        dropped_count=dropped,
        dropped_ratio=None if dropped is None or not packet_count or lacks else dropped / packet_count,
        dropped_lacks=lacks or None,
        total_bytes=soak.moved_bytes,
    )


def _best(best: BestOf | None) -> dict[str, Any] | None:
    """Only of soaks that ran with the best setting of an experiment."""
    return None if best is None else {**best.as_written(), "setting": dict(best.setting)}


def _stall(soak: Soak, stall: figures.Stall) -> StallDocument:
    scan = soak.scan
    start_s, end_s = (scan.start_s + at * scan.cell_s for at in (stall.first, stall.end))
    return StallDocument(start_s, end_s, stall.least_bps)


def _users(soak: Soak) -> UsersDocument | None:
    done = soak.users
    if done is None:
        return None
    per_gbit, saturated = soak.client_cpu
    return UsersDocument(
        planned_count=soak.asked.users,
        sustained_at_bps=soak.asked.sustained_bps,
        sustained_count=None if soak.users_lack else soak.sustained_users,
        sustained_reason=soak.users_lack or None,
        times=done.times,
        times_reason=done.reason,
        first_lines=done.first_lines,
        client_cpu_s_per_gbit=per_gbit,
        clients_saturated_ratio=saturated,
    )


def _group(totals: GroupTotals) -> GroupDocument:
    counted = {name: getattr(totals, name) for name in ("got_bytes", "put_bytes", "transfers", "failed")}
    reasons = {name: figure.reason for name, figure in counted.items() if figure.reason}
    values = {name: figure.value for name, figure in counted.items()}
    return fill(GroupDocument, totals, **values, reasons=reasons)


def _power(soak: Soak, host_power: HostPower) -> PowerDocument:
    total = host_power.total
    return fill(
        PowerDocument,
        host_power,
        power_w=total.power_w if total else None,
        scope=total.scope if total else None,
        provenance=total.provenance if total else None,
        energy_j=energy_j(soak, host_power),
        energy_j_per_gb=energy_j_per_gb(soak, host_power),
        covered_ratio=host_power.covered,
    )


def _line(line: Line) -> LineDocument:
    unit, figures = "bytes" if line.unit == "B" else "count", line.figures
    return fill(
        LineDocument,
        line,
        counted={f"{column}_{unit}": figure.value for column, figure in figures.items()},
        resets={column: figure.resets for column, figure in figures.items() if figure.resets},
        reasons={column: figure.reason for column, figure in figures.items() if figure.reason},
    )


def _interval(interval: Interval) -> IntervalDocument:
    values = {
        line.key: {column: figure.value for column, figure in line.figures.items()}
        for line in interval.ledger.lines
    }
    return IntervalDocument(interval.start_s, interval.end_s, values)
