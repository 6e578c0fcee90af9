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
    """The columns of ``show --csv --trials``, with ``result`` before them."""
    return (
        RESULT,
        Column("number", "BIGINT", "number of the trial in its result, in run order"),
        Column("repetition", "BIGINT", "number of the repetition"),
        *PARAMETERS,
        Column("status", "VARCHAR", "`done` or `failed`"),
        Column("reason", "VARCHAR", "why the trial failed; imported trials: what the table lacks"),
        Column("started_s", "DOUBLE", "start in Unix time; to_timestamp(started_s) gives the date"),
        Column("window_s", "DOUBLE", "length of the steady window that the figures cover", _FAILED),
        Column("throughput_bps", "DOUBLE", "payload received", _FAILED),
        Column("offered_bps", "DOUBLE", "payload sent", _FAILED),
        Column("target_bps", "DOUBLE", "target rate of the load level; NULL: no load level"),
        Column("lost_ratio", "DOUBLE", "lost ÷ (lost + received) datagrams; NULL: not UDP", _FAILED),
        Column("packets", "BIGINT", "datagrams lost + received; NULL: not UDP", _FAILED),
        Column("lost_packets", "BIGINT", "datagrams lost; NULL: not UDP", _FAILED),
        Column("out_of_order_packets", "BIGINT", "datagrams received out of order; NULL: not UDP", _FAILED),
        Column("retransmits", "BIGINT", "TCP segments retransmitted; NULL: not TCP", _FAILED),
        *(
            Column(
                f"latency_{name}_s",
                "DOUBLE",
                f"{name.replace('_', '.')} of half the round trip; NULL: no request/response test",
                _FAILED,
            )
            for name in ("p50", "p99", "p99_9", "max")
        ),
        Column("duplicate_packets", "BIGINT", "duplicate datagrams; NULL: not counted"),
        Column("start_skew_s", "DOUBLE", "last minus first start time of the instances", _FAILED),
        *(
            Column(f"{role}_cpu_cores", "DOUBLE", f"CPU used by the {role}, Σ over its CPUs", "ends.reasons")
            for role in ENDS
        ),
        *(column for role in ENDS for column in _watts(role)),
        Column("overhead_s", "DOUBLE", "wall time minus load time"),
        Column("flags_count", "BIGINT", "number of findings"),
        Column("flags", "VARCHAR", "codes of these findings, space-separated; details: view findings"),
        Column("imported_from", "VARCHAR", "source file of the figures; NULL: measured by linewatt"),
    )


def _watts(role: Role) -> Iterator[Column]:
    for part, words in (("system", "system"), ("cpu", "CPU")):
        yield Column(f"{role}_{part}_scope", "VARCHAR", f"scope of {words} power", "ends.reasons")
        yield Column(f"{role}_{part}_w", "DOUBLE", f"mean {words} power of the {role}", "ends.reasons")
        yield Column(f"{role}_{part}_w_provenance", "VARCHAR", _PROVENANCE)
    yield Column(f"{role}_system_w_as_read", "DOUBLE", "system power before calibration; NULL: not corrected")


def rows_of_trials(result: Result) -> Iterator[dict[str, Any]]:
    """The rows of ``show --csv --trials``: one per trial; after that of a group, one per pair."""
    for row in trial_rows(result.trials, result.imported_from):
        yield {"result": result.id} | row


_PARTS = (
    ("app_cpu", "app CPUs"),
    ("irq_cpu", "IRQ CPUs"),
    ("hottest_app", "the busiest app CPU"),
    ("hottest_irq", "the busiest IRQ CPU"),
    ("hottest", "the busiest CPU of the host"),
)
"""fields of an end that hold CPU shares"""
_FIELDS = (
    ("cpu_cores", "CPU used, Σ over the host's CPUs of (1 − idle − iowait − steal)"),
    ("load_cpu_cores", "CPU used by the load processes, as they report it"),
    ("load_window_cores", "the same from the scheduler's thread accounting"),
    ("foreign_cores", "CPU used by others: cpu_cores minus load and softirq work"),
    ("steal_cores", "CPU taken by a hypervisor; not in cpu_cores"),
    ("base_frequency_hz", "base clock of its CPUs"),
    ("busy_frequency_hz", "clock of its busy CPUs, weighted by use"),
    ("pcie_goodput_bps", "maximum payload rate of the interface's PCIe slot"),
    ("package_limit_w", "power limit of a CPU package"),
)
_SHOWN = (*SHARES, "steal")


def end_columns() -> tuple[Column, ...]:
    """The columns of the view ``ends``: one row per trial and end with recorded data."""
    return (
        RESULT,
        Column("trial", "BIGINT", "number of the trial: trials.number"),
        *(
            column
            for column in PARAMETERS
            if column.name in ("test", "sender", "receiver", "instances", "case_key")
        ),
        Column("role", "VARCHAR", "`sender` or `receiver`"),
        Column("host", "VARCHAR", "host name"),
        *(Column(name, "DOUBLE", words, f"reasons: {name}") for name, words in _FIELDS),
        *(share_column for name, words in _PARTS for share_column in _share_columns(name, words)),
        Column("system_scope", "VARCHAR", "scope of system_w: `psu-out`, `system` …", "reasons: system_w"),
        Column("system_w", "DOUBLE", "mean system power over the window", "reasons: system_w"),
        Column("system_w_uncertainty", "DOUBLE", "error bound, ±; NULL: unknown"),
        Column("system_w_provenance", "VARCHAR", _PROVENANCE),
        Column("idle_w", "DOUBLE", "idle power of the same channels; NULL: not measured"),
        Column("above_idle_w", "DOUBLE", "system_w − idle_w; also NULL if idle windows differ too much"),
        Column("above_idle_w_uncertainty", "DOUBLE", "error bound, ±"),
        Column("cpu_scope", "VARCHAR", "scope of cpu_w", "reasons: cpu_w"),
        Column("cpu_w", "DOUBLE", "mean CPU power", "reasons: cpu_w"),
        Column("cpu_w_provenance", "VARCHAR", _PROVENANCE),
        Column("reasons", "VARCHAR", "JSON object: why values, counters and sources are missing"),
    )


def _share_columns(name: str, words: str) -> Iterator[Column]:
    stem = name if name.endswith("cpu") else f"{name}_cpu"
    yield Column(f"{stem}s", "VARCHAR", f"numbers of {words}, space-separated", f"reasons: {name}")
    for share in _SHOWN:
        yield Column(f"{stem}_{share}_ratio", "DOUBLE", f"mean {share} share of {words}", f"reasons: {name}")


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
    """System and CPU power; the reason for a missing total goes into ``reasons``."""
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
