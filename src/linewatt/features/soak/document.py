# SPDX-License-Identifier: Apache-2.0
"""A soak as one JSON document: SI, units in keys, missing is null with a reason beside it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

from linewatt.declare import (
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    choice,
    listing,
    maybe,
    of_class,
    record,
    said,
    sometimes,
    table,
    version,
)
from linewatt.features.soak import figures
from linewatt.features.soak.balance import Balance
from linewatt.features.soak.digest import GroupTotals, HostPower, Interval, Soak
from linewatt.features.soak.flags import findings, flags
from linewatt.features.soak.ledger import COLUMNS, Ledger, Line
from linewatt.features.soak.scan import MissingChunks
from linewatt.features.soak.series_steps import Gap
from linewatt.features.soak.summary import energy_j, packets, transfers
from linewatt.features.users.worker.percentiles import Summary
from linewatt.missing import Missing
from linewatt.model import Provenance
from linewatt.records import BestOf, Event
from linewatt.report.printing.export import PrintedFlag

SCHEMA_VERSION = 1


def as_json(soak: Soak) -> dict[str, Any]:
    """The document of ``show --json`` for a soak."""
    rates = soak.rates
    dropped, packet_count = soak.ledger.dropped, packets(soak).value
    lacks = soak.ledger.dropped_lacks
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "soak",
        "id": soak.result.id,
        "name": soak.result.manifest.name,
        "created_s": soak.result.manifest.created_s,
        "complete": soak.complete,
        **_best(soak),
        "duration_planned_s": soak.plan.duration_s,
        "duration_s": soak.ran_s,
        "load_s": soak.load_s,
        "slice_s": soak.scan.cell_s,
        "parts": [
            {"number": part.number, "started_s": part.started_s, "ended_s": part.ended_s, "why": part.why}
            for part in soak.parts
        ],
        "summary": {
            "rate_mean_bps": soak.mean_bps,
            "rate_peak_bps": rates.peak_bps if rates else None,
            "rate_percentiles_bps": rates.percentiles_bps if rates else None,
            "transfers_count": transfers(soak).value if soak.roles.has_users else None,
            "packets_count": packet_count,
            "dropped_count": dropped,
            "dropped_ratio": dropped / packet_count
            if dropped is not None and packet_count and not lacks
            else None,
            **({"dropped_lacks": lacks} if lacks else {}),
            "total_bytes": soak.moved_bytes,
        },
        "stalls": [_stall(soak, stall) for stall in soak.stalls],
        "drift": None if isinstance(soak.drift, Missing) else asdict(soak.drift),
        "users": _users(soak),
        "groups": [_group(group) for group in soak.groups],
        "power": [_power(soak, host_power) for host_power in soak.power],
        "ledger": _ledger(soak.ledger),
        "ledger_by_interval": [_interval(interval) for interval in soak.intervals],
        "balance": asdict(soak.balance),
        "gaps": [asdict(gap) for gap in soak.scan.gaps],
        "missing": [asdict(missing_span) for missing_span in soak.missing],
        "gone": list(soak.gone),
        "damaged": {str(path.relative_to(soak.result.path)): why for path, why in soak.damaged.items()},
        "events": [event.as_written() for event in soak.events],
        "flags_count": len(findings(soak).every),
        "flags": [asdict(flag) for flag in flags(soak)],
    }


def _best(soak: Soak) -> dict[str, Any]:
    """Only of soaks that ran with the best setting of an experiment."""
    best = soak.result.manifest.asked.best_of
    if best is None:
        return {}
    return {"best_of": {**best.as_written(), "setting": dict(best.setting)}}


def _stall(soak: Soak, stall: figures.Stall) -> dict[str, Any]:
    scan = soak.scan
    return {
        "start_s": scan.start_s + stall.first * scan.cell_s,
        "end_s": scan.start_s + stall.end * scan.cell_s,
        "least_bps": stall.least_bps,
    }


def _users(soak: Soak) -> dict[str, Any] | None:
    done = soak.users
    if done is None:
        return None
    per_gbit, saturated = soak.client_cpu
    return {
        "planned_count": soak.users_planned,
        "sustained_at_bps": soak.sustained_bps,
        "sustained_count": None if soak.users_lack else soak.sustained_users,
        **({"sustained_reason": soak.users_lack} if soak.users_lack else {}),
        "times": {name: asdict(time) for name, time in done.times.items()},
        "times_reason": done.reason,
        "first_lines": done.first_lines,
        "client_cpu_s_per_gbit": per_gbit,
        "clients_saturated_ratio": saturated,
    }


def _group(group_totals: GroupTotals) -> dict[str, Any]:
    counted = {
        name: getattr(group_totals, name) for name in ("got_bytes", "put_bytes", "transfers", "failed")
    }
    return {
        "name": group_totals.name,
        "clients": group_totals.clients,
        **{name: figure.value for name, figure in counted.items()},
        "reasons": {name: figure.reason for name, figure in counted.items() if figure.reason},
    }


def _power(soak: Soak, host_power: HostPower) -> dict[str, Any]:
    used = energy_j(soak, host_power)
    return {
        "host": host_power.host,
        "power_w": host_power.total.power_w if host_power.total else None,
        "scope": host_power.total.scope if host_power.total else None,
        "provenance": host_power.total.provenance if host_power.total else None,
        "energy_j": used,
        "energy_j_per_gb": None if used is None else figures.j_per_gb(used, soak.total_bytes),
        "covered_ratio": host_power.covered,
        "reason": host_power.reason,
    }


def _ledger(book: Ledger) -> list[dict[str, Any]]:
    return [_line(line) for line in book.lines]


def _line(line: Line) -> dict[str, Any]:
    unit = "bytes" if line.unit == "B" else "count"
    return {
        "key": line.key,
        "section": line.section,
        "title": line.title,
        "is_drop": line.is_drop,
        **{f"{column}_{unit}": figure.value for column, figure in line.figures.items()},
        "resets": {column: figure.resets for column, figure in line.figures.items() if figure.resets},
        "reasons": {column: figure.reason for column, figure in line.figures.items() if figure.reason},
    }


def _interval(interval: Interval) -> dict[str, Any]:
    values = {
        line.key: {column: figure.value for column, figure in line.figures.items()}
        for line in interval.ledger.lines
    }
    return {"start_s": interval.start_s, "end_s": interval.end_s, "values": values}


def schema() -> Schema:
    """Of :func:`as_json`."""
    best = of_class(BestOf, stored=True)
    best["properties"]["setting"] = table(TEXT, "Factor → its level.")
    part = {
        "number": COUNT,
        "started_s": NUMBER,
        "ended_s": NUMBER,
        "why": said(maybe(TEXT), "How it ended."),
    }
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "kind": {"const": "soak"},
        "id": said(TEXT, "The name of its directory."),
        "name": maybe(TEXT),
        "created_s": maybe(NUMBER),
        "complete": BOOLEAN,
        "best_of?": said(best, "The best setting of an experiment, which it had."),
        "duration_planned_s": NUMBER,
        "duration_s": said(NUMBER, "That it ran."),
        "load_s": said(NUMBER, "Of that with its load."),
        "slice_s": NUMBER,
        "parts": listing(record(part), "Each run of the controller."),
        "summary": _summary_schema(),
        "stalls": listing(record({"start_s": NUMBER, "end_s": NUMBER, "least_bps": NUMBER})),
        "drift": maybe(of_class(figures.Drift)),
        "users": maybe(_users_schema()),
        "groups": listing(_group_schema()),
        "power": listing(_power_schema()),
        "ledger": listing(_line_schema(), "A line a quantity, with a key a column that counted it."),
        "ledger_by_interval": listing(_interval_schema()),
        "balance": of_class(Balance),
        "gaps": listing(of_class(Gap)),
        "missing": listing(of_class(MissingChunks)),
        "gone": listing(TEXT, "Files that were stored and are not there."),
        "damaged": table(TEXT, "File → what is wrong with it."),
        "events": listing(of_class(Event, stored=True, closed=False)),
        "flags_count": COUNT,
        "flags": listing(of_class(PrintedFlag)),
    }
    return record(keys, "A soak: one long load in place of trials.")


def _summary_schema() -> Schema:
    return record(
        {
            "rate_mean_bps": maybe(NUMBER),
            "rate_peak_bps": maybe(NUMBER),
            "rate_percentiles_bps": maybe(table(NUMBER, "`p5`, `p50` … → the rate.")),
            "transfers_count": maybe(COUNT),
            "packets_count": maybe(COUNT),
            "dropped_count": maybe(COUNT),
            "dropped_ratio": maybe(NUMBER),
            "dropped_lacks?": said(TEXT, "Why the drops are not all counted: the count is the least."),
            "total_bytes": maybe(NUMBER),
        }
    )


def _users_schema() -> Schema:
    return record(
        {
            "planned_count": maybe(COUNT),
            "sustained_at_bps": said(maybe(NUMBER), "What a user is to move to count as sustained."),
            "sustained_count": maybe(COUNT),
            "sustained_reason?": said(TEXT, "Why they cannot be counted."),
            "times": table(of_class(Summary), "What was timed → its percentiles."),
            "times_reason": said(maybe(TEXT), "Why some are not known."),
            "first_lines": table(TEXT, "Kind of failure → the first line of it."),
            "client_cpu_s_per_gbit": maybe(NUMBER),
            "clients_saturated_ratio": table(NUMBER, "Client → part of the time that its CPU was full."),
        }
    )


def _group_schema() -> Schema:
    counted = {name: maybe(NUMBER) for name in ("got_bytes", "put_bytes", "transfers", "failed")}
    return record({"name": TEXT, "clients": COUNT, **counted, "reasons": table(TEXT)})


def _power_schema() -> Schema:
    return record(
        {
            "host": TEXT,
            "power_w": maybe(NUMBER),
            "scope": maybe(TEXT),
            "provenance": maybe(choice(*get_args(Provenance))),
            "energy_j": maybe(NUMBER),
            "energy_j_per_gb": maybe(NUMBER),
            "covered_ratio": said(NUMBER, "Part of the time that has readings."),
            "reason": maybe(TEXT),
        }
    )


def _line_schema() -> Schema:
    columns: Keys = {f"{name}_{unit}": maybe(NUMBER) for name in COLUMNS for unit in ("bytes", "count")}
    keys = {
        "key": TEXT,
        "section": TEXT,
        "title": TEXT,
        "is_drop": BOOLEAN,
        **sometimes(columns),
        "resets": table(COUNT, "Column → how often it was reset."),
        "reasons": table(TEXT, "Column → why it has no figure."),
    }
    return record(keys)


def _interval_schema() -> Schema:
    values = table(table(maybe(NUMBER)), "Key of a line → column → its figure.")
    return record({"start_s": NUMBER, "end_s": NUMBER, "values": values})
