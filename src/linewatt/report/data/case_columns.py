# SPDX-License-Identifier: Apache-2.0
"""The view ``cases``: its columns, made from the declarations of metrics, and its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from linewatt.analysis.metrics import POWER_METRICS, CaseMetric, PowerMetric, power_title
from linewatt.model import ENDS, Role
from linewatt.report.columns import COLUMNS, MORE_COLUMNS, ROLES, SHARES, power_reasons
from linewatt.report.data.column import Column, mean_columns
from linewatt.report.trials.digest import Digest, case_rows

RESULT = Column("result", "VARCHAR", "id of the result")

PARAMETERS = (
    Column("test", "VARCHAR", "`tcp`, `udp-<bytes>`, `tcp-rr`, `udp-rr`, `ftp`"),
    Column("sender", "VARCHAR", "sending host"),
    Column("receiver", "VARCHAR", "receiving host"),
    Column("direction", "VARCHAR", "`forward`: the sender opens the connection; `reverse`: the receiver"),
    Column("family", "VARCHAR", "`ipv4` or `ipv6`"),
    Column("instances", "BIGINT", "load processes at each end"),
    Column("network", "VARCHAR", "network; `bare`: the interfaces unchanged"),
    Column("rate_bps", "DOUBLE", "rate offered by each instance; NULL: no limit"),
    Column("streams", "BIGINT", "connections per instance"),
    Column("zerocopy", "BOOLEAN", "whether the sender sends without copying"),
    Column("load_level", "DOUBLE", "part of the calibrated maximum; 0: active idle; NULL: no load level"),
    Column("factors", "VARCHAR", "factor levels, `gro=off mtu=9000`; NULL: no factors"),
    Column(
        "load",
        "VARCHAR",
        "load program; NULL: the default, or users",
    ),
    Column("search", "VARCHAR", "what was searched: `rate`, `instances`; NULL: no search"),
    Column("data_ports", "BIGINT", "number of data ports that share the instances; NULL: one"),
    Column("port_weights", "VARCHAR", "JSON list of port weights; NULL: equal"),
    Column("chosen_ports", "VARCHAR", "JSON list of the data ports used, from 0; NULL: the first ones"),
    Column("users", "VARCHAR", "settings of the users, `key=value …`; NULL: no users"),
    Column("shape", "VARCHAR", "shape of the group: `many-to-one`, `one-to-many`, `both-ways`, `ring`"),
    Column("pairs", "BIGINT", "rows of groups: number of parallel pairs"),
    Column("flow_of", "BIGINT", "rows of pairs: number of pairs in the group"),
    Column("beside", "VARCHAR", "rows of pairs: the other pairs of the group"),
    Column("case_key", "VARCHAR", "hash of the case without hosts; add sender and receiver to join cases"),
)


def case_columns() -> tuple[Column, ...]:
    """The columns of ``show --csv``, with ``result`` before them and ``reasons`` after them."""
    return (
        RESULT,
        *PARAMETERS,
        Column("trials_done", "BIGINT", "successful trials; a mean covers at most these"),
        Column("trials_failed", "BIGINT", "failed trials"),
        *(column for metric in COLUMNS + MORE_COLUMNS for column in _of_metric(metric)),
        *(column for field, title in ROLES for column in _shares(field, title)),
        *_modes(),
        *(column for role in ENDS for column in _power(role)),
        Column("flags_count", "BIGINT", "kinds of findings about the case or its trials"),
        Column("flags", "VARCHAR", "codes of these findings, space-separated; details: view findings"),
        *_levels(),
        Column("limited_by", "VARCHAR", "what limits the case"),
        Column("limited_by_kinds", "VARCHAR", "the same as fixed keywords, space-separated"),
        Column("regime", "VARCHAR", "`single`, `multi`, `saturated` or `paced`", "regime_why"),
        Column("regime_why", "VARCHAR", "evidence for the regime"),
        Column("imported_from", "VARCHAR", "source file of the figures; NULL: measured by linewatt"),
        Column("reasons", "VARCHAR", "JSON object: why values are missing, or cover only some trials"),
    )


def _of_metric(metric: CaseMetric) -> tuple[Column, ...]:
    meaning = metric.title if metric.term in ("", metric.title) else f"{metric.title} ({metric.term})"
    reason = f"reasons: {metric.name}"
    if metric.of_series:
        return (Column(metric.si_key, "DOUBLE", meaning, reason),)
    return mean_columns(metric.si_key, meaning, reason, ci=metric.show_ci)


def _shares(field: str, title: str) -> Iterator[Column]:
    yield Column(f"{field}_cpus", "VARCHAR", f"{title}: CPU numbers, space-separated", f"reasons: {field}")
    for name in SHARES:
        yield Column(f"{field}_{name}_ratio", "DOUBLE", f"{title}: mean {name} share", f"reasons: {field}")


def _modes() -> Iterator[Column]:
    yield Column("throughput_modes", "BIGINT", "number of modes of throughput; NULL: too few trials")
    for name in ("high", "low"):
        yield from mean_columns(
            f"throughput_mode_{name}_bps", f"{name} mode, if there are two", "throughput_modes"
        )


def _power(role: Role) -> Iterator[Column]:
    scope = f"reasons: {role}_power"
    yield Column(f"{role}_system_scope", "VARCHAR", "scope of system power: `psu-out`, `system` …", scope)
    yield Column(f"{role}_cpu_scope", "VARCHAR", "scope of CPU power", scope)
    for metric in POWER_METRICS:
        yield from _of_power(metric, role)


def _of_power(metric: PowerMetric, role: Role) -> Iterator[Column]:
    key = f"{role}_{metric.si_key}"
    yield from mean_columns(key, f"{power_title(metric)} of the {role}", f"reasons: {key}, or {role}_power")
    yield Column(
        f"{key}_provenance", "VARCHAR", "`measured`, `corrected`, `datasheet`, `estimate`, `simulated`"
    )
    if metric.bound:
        yield Column(f"{key}_uncertainty", "DOUBLE", "error bound, ±")


def _levels() -> Iterator[Column]:
    for role in ENDS:
        key = f"overall_score_{role}_mbps_per_w"
        yield Column(key, "DOUBLE", f"over all load levels: Σ throughput ÷ Σ watts of the {role}")
        yield Column(f"{key}_provenance", "VARCHAR", "provenance of the watts")
    yield Column("load_level_remark", "VARCHAR", "why this load level is doubtful")


def rows_of_cases(view: Digest) -> Iterator[dict[str, object]]:
    """One row per case: the row of ``show --csv``, the result, and why values are missing."""
    for summary, row in zip(view.summaries, case_rows(view), strict=True):
        reasons = {**summary.reasons, **power_reasons(summary)}
        text = json.dumps(reasons, ensure_ascii=False) if reasons else None
        yield {"result": view.result.id} | row | {"reasons": text}
