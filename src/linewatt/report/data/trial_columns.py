# SPDX-License-Identifier: Apache-2.0
"""The columns of the views ``trials`` and ``ends``, and their rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from linewatt.analysis.cases import with_flows
from linewatt.analysis.power import Total, power_of_cpus, power_of_system
from linewatt.model import ENDS, CpuShares, EndResult, Role, Trial
from linewatt.report.columns import SHARES
from linewatt.report.data.case_columns import PARAMETERS, RESULT
from linewatt.report.data.column import Column
from linewatt.report.trials.digest import trial_rows
from linewatt.store import Result

_PROVENANCE = "`measured`, `corrected`, `datasheet`, `estimate`, `simulated`"
_FAILED = "reason"


def trial_columns() -> tuple[Column, ...]:
    """Those of the view ``trials``, as ``show --csv --trials`` names them; ``result`` is before them."""
    return (
        RESULT,
        Column("number", "BIGINT", "of the trial in its result, in the order they ran"),
        Column("repetition", "BIGINT", "of its case"),
        *PARAMETERS,
        Column("status", "VARCHAR", "`done` or `failed`"),
        Column("reason", "VARCHAR", "why it failed; of an imported one what its table does not say"),
        Column("started_s", "DOUBLE", "Unix time at which it began; to_timestamp(started_s) is its date"),
        Column("window_s", "DOUBLE", "length of the steady window that its figures are of", _FAILED),
        Column("throughput_bps", "DOUBLE", "payload received", _FAILED),
        Column("offered_bps", "DOUBLE", "payload sent", _FAILED),
        Column("target_bps", "DOUBLE", "what a load level asked for; NULL: at no level"),
        Column("lost_ratio", "DOUBLE", "lost ÷ (lost + received) datagrams; NULL: not UDP", _FAILED),
        Column("packets", "BIGINT", "datagrams lost and received; NULL: not UDP", _FAILED),
        Column("lost_packets", "BIGINT", "datagrams lost; NULL: not UDP", _FAILED),
        Column("out_of_order_packets", "BIGINT", "datagrams that came out of order; NULL: not UDP", _FAILED),
        Column("retransmits", "BIGINT", "TCP segments sent again; NULL: not TCP", _FAILED),
        *(
            Column(
                f"latency_{name}_s",
                "DOUBLE",
                f"{name.replace('_', '.')} of messages one way; NULL: of no request/response test",
                _FAILED,
            )
            for name in ("p50", "p99", "p99_9", "max")
        ),
        Column("duplicate_packets", "BIGINT", "datagrams that came twice; NULL: not counted"),
        Column("start_skew_s", "DOUBLE", "last minus first start of its instances", _FAILED),
        *(
            Column(f"{role}_cpu_cores", "DOUBLE", f"CPU used by the {role}, Σ over its CPUs", "ends.reasons")
            for role in ENDS
        ),
        *(column for role in ENDS for column in _watts(role)),
        Column("overhead_s", "DOUBLE", "time it took beyond its load"),
        Column("flags_count", "BIGINT", "findings in it"),
        Column("flags", "VARCHAR", "their codes, a blank between; the view findings has all of them"),
        Column("imported_from", "VARCHAR", "file whose figures these are; NULL: linewatt measured them"),
    )


def _watts(role: Role) -> Iterator[Column]:
    for part, words in (("system", "system"), ("cpu", "CPUs")):
        yield Column(
            f"{role}_{part}_scope", "VARCHAR", f"which watts are those of its {words}", "ends.reasons"
        )
        yield Column(f"{role}_{part}_w", "DOUBLE", f"mean power of the {role}'s {words}", "ends.reasons")
        yield Column(f"{role}_{part}_w_provenance", "VARCHAR", _PROVENANCE)
    yield Column(f"{role}_system_w_as_read", "DOUBLE", "before a calibration corrected it; NULL: none did")


def rows_of_trials(result: Result) -> Iterator[dict[str, Any]]:
    """A row a trial, that of ``show --csv --trials``; behind that of a group one for each of its pairs."""
    for row in trial_rows(result.trials, result.imported_from):
        yield {"result": result.id} | row


_PARTS = (
    ("app_cpu", "app CPUs"),
    ("irq_cpu", "IRQ CPUs"),
    ("hottest_app", "the busiest app CPU"),
    ("hottest_irq", "the busiest IRQ CPU"),
    ("hottest", "the busiest CPU of the host"),
)
"""fields of an end that are shares of CPUs"""
_FIELDS = (
    ("cpu_cores", "CPU used, Σ over the host's CPUs of (1 − idle − iowait − steal)"),
    ("load_cpu_cores", "what the load processes say they used themselves"),
    ("load_window_cores", "the same by the scheduler's account of their threads"),
    ("foreign_cores", "what others used: cpu_cores without the load's own and softirq work"),
    ("steal_cores", "what a hypervisor took; no part of cpu_cores"),
    ("base_frequency_hz", "base clock of its CPUs"),
    ("busy_frequency_hz", "clock that its busy CPUs ran at"),
    ("pcie_goodput_bps", "the most payload that the slot of its interface carries"),
    ("package_limit_w", "power limit of a CPU package"),
)
_SHOWN = (*SHARES, "steal")


def end_columns() -> tuple[Column, ...]:
    """Those of the view ``ends``: a row a trial and end of which something is on record."""
    return (
        RESULT,
        Column("trial", "BIGINT", "number of the trial: trials.number"),
        *(
            column
            for column in PARAMETERS
            if column.name in ("test", "sender", "receiver", "instances", "case_key")
        ),
        Column("role", "VARCHAR", "`sender` or `receiver`"),
        Column("host", "VARCHAR", "its name"),
        *(Column(name, "DOUBLE", words, f"reasons: {name}") for name, words in _FIELDS),
        *(share_column for name, words in _PARTS for share_column in _share_columns(name, words)),
        Column(
            "system_scope",
            "VARCHAR",
            "which watts are the system's, `psu-out`, `system` …",
            "reasons: system_w",
        ),
        Column("system_w", "DOUBLE", "mean power over the window", "reasons: system_w"),
        Column("system_w_uncertainty", "DOUBLE", "bound of its error, ±; NULL: not known"),
        Column("system_w_provenance", "VARCHAR", _PROVENANCE),
        Column("idle_w", "DOUBLE", "of the same channels in its idle windows; NULL: not measured"),
        Column("above_idle_w", "DOUBLE", "system_w − idle_w; NULL also where idle windows differ too much"),
        Column("above_idle_w_uncertainty", "DOUBLE", "bound of its error, ±"),
        Column("cpu_scope", "VARCHAR", "which watts are the CPUs'", "reasons: cpu_w"),
        Column("cpu_w", "DOUBLE", "mean power of the CPUs", "reasons: cpu_w"),
        Column("cpu_w_provenance", "VARCHAR", _PROVENANCE),
        Column("reasons", "VARCHAR", "JSON object: why values, counters and sources are missing"),
    )


def _share_columns(name: str, words: str) -> Iterator[Column]:
    stem = name if name.endswith("cpu") else f"{name}_cpu"
    yield Column(f"{stem}s", "VARCHAR", f"numbers of {words}, a blank between", f"reasons: {name}")
    for share in _SHOWN:
        yield Column(
            f"{stem}_{share}_ratio", "DOUBLE", f"{share} of {words}, mean per CPU", f"reasons: {name}"
        )


def rows_of_ends(result: Result) -> Iterator[dict[str, Any]]:
    """A row for each end of each trial, and of each pair of a group."""
    for trial in with_flows(result.trials):
        for role in ENDS:
            end = trial.end(role)
            if end is not None:
                yield {"result": result.id} | _end(trial, role, end)


def _end(trial: Trial, role: Role, end: EndResult) -> dict[str, Any]:
    case = trial.case
    row: dict[str, Any] = {
        "trial": trial.number,
        "test": case.test,
        "sender": case.sender,
        "receiver": case.receiver,
        "instances": case.instances,
        "case_key": trial.case_key,
        "role": role,
        "host": end.host,
        **{name: getattr(end, name) for name, _ in _FIELDS},
    }
    for name, _ in _PARTS:
        row |= _shares(name, getattr(end, name))
    reasons = dict(end.reasons)
    row |= _power(end, reasons)
    return row | {"reasons": json.dumps(reasons, ensure_ascii=False) if reasons else None}


def _shares(name: str, shares: CpuShares | None) -> Mapping[str, Any]:
    stem = name if name.endswith("cpu") else f"{name}_cpu"
    if shares is None:
        return {}
    cpu_numbers = None if shares.unnumbered else " ".join(map(str, shares.cpus))
    return {f"{stem}s": cpu_numbers} | {
        f"{stem}_{share_name}_ratio": getattr(shares, f"{share_name}_ratio") for share_name in _SHOWN
    }


def _power(end: EndResult, reasons: dict[str, str]) -> Mapping[str, Any]:
    """Both totals; why there is none goes into ``reasons``."""
    row: dict[str, Any] = {}
    system, cpu = power_of_system(end.power), power_of_cpus(end.power)
    if isinstance(system, Total):
        row |= {
            "system_scope": system.scope,
            "system_w": system.power_w,
            "system_w_uncertainty": system.uncertainty_w,
            "system_w_provenance": system.provenance,
            "idle_w": system.idle_w,
            "above_idle_w": system.above_idle_w,
            "above_idle_w_uncertainty": system.above_idle_uncertainty_w,
        }
    else:
        reasons["system_w"] = system.reason
    if isinstance(cpu, Total):
        row |= {"cpu_scope": cpu.scope, "cpu_w": cpu.power_w, "cpu_w_provenance": cpu.provenance}
    else:
        reasons["cpu_w"] = cpu.reason
    return row
