# SPDX-License-Identifier: Apache-2.0
"""The columns of the view ``cases``, made of the metrics' declarations, and its rows."""

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
    Column("sender", "VARCHAR", "host that sends"),
    Column("receiver", "VARCHAR", "host that receives"),
    Column("direction", "VARCHAR", "`forward`: the sender opens the connection; `reverse`: the receiver"),
    Column("family", "VARCHAR", "`ipv4` or `ipv6`"),
    Column("instances", "BIGINT", "load processes at each end"),
    Column("network", "VARCHAR", "name of the network, `bare` without one"),
    Column("rate_bps", "DOUBLE", "offered by each instance; NULL: as fast as it goes"),
    Column("streams", "BIGINT", "connections of each instance"),
    Column("zerocopy", "BOOLEAN", "whether the sender sends without a copy"),
    Column("load_level", "DOUBLE", "part of the calibrated maximum; 0 is active idle; NULL: at no level"),
    Column("factors", "VARCHAR", "levels of factors, `gro=off mtu=9000`; NULL: there are none"),
    Column(
        "load",
        "VARCHAR",
        "program that made it; NULL: the default one, or users",
    ),
    Column("search", "VARCHAR", "what was searched of it: `rate`, `instances`; NULL: nothing"),
    Column("data_ports", "BIGINT", "ports over which instances were dealt; NULL: there is one"),
    Column("port_weights", "VARCHAR", "JSON list of their weights; NULL: in turn"),
    Column("users", "VARCHAR", "what users did, `key=value …`; NULL: no users"),
    Column("shape", "VARCHAR", "of a group or its pair: `many-to-one`, `one-to-many`, `both-ways`, `ring`"),
    Column("pairs", "BIGINT", "of a group: how many pairs ran at once"),
    Column("flow_of", "BIGINT", "of one pair of a group: how many ran at once"),
    Column("beside", "VARCHAR", "of one pair of a group: the pairs that ran with it"),
    Column(
        "case_key", "VARCHAR", "the same for the same case on any hosts; with sender and receiver one case"
    ),
)


def case_columns() -> tuple[Column, ...]:
    """Those of the view, as ``show --csv`` names them; ``result`` is before and ``reasons`` behind them."""
    return (
        RESULT,
        *PARAMETERS,
        Column("trials_done", "BIGINT", "trials that gave numbers; every mean is over at most these"),
        Column("trials_failed", "BIGINT", "trials that did not"),
        *(column for metric in COLUMNS + MORE_COLUMNS for column in _of_metric(metric)),
        *(column for field, title in ROLES for column in _shares(field, title)),
        *_modes(),
        *(column for role in ENDS for column in _power(role)),
        Column("flags_count", "BIGINT", "kinds of findings in its trials or about it"),
        Column("flags", "VARCHAR", "their codes, a blank between; the view findings has all of them"),
        *_levels(),
        Column("limited_by", "VARCHAR", "what limits it, in words"),
        Column("limited_by_kinds", "VARCHAR", "the same in stable words, a blank between"),
        Column("regime", "VARCHAR", "`single`, `multi`, `saturated` among its series", "regime_why"),
        Column("regime_why", "VARCHAR", "why"),
        Column("imported_from", "VARCHAR", "file whose figures these are; NULL: linewatt measured them"),
        Column("reasons", "VARCHAR", "JSON object: why values are missing, or are of some trials only"),
    )


def _of_metric(metric: CaseMetric) -> tuple[Column, ...]:
    meaning = metric.title if metric.term in ("", metric.title) else f"{metric.title} ({metric.term})"
    reason = f"reasons: {metric.name}"
    if metric.of_series:
        return (Column(metric.si_key, "DOUBLE", meaning, reason),)
    return mean_columns(metric.si_key, meaning, reason, ci=metric.show_ci)


def _shares(field: str, title: str) -> Iterator[Column]:
    yield Column(f"{field}_cpus", "VARCHAR", f"{title}: which CPUs, a blank between", f"reasons: {field}")
    for name in SHARES:
        yield Column(f"{field}_{name}_ratio", "DOUBLE", f"{title}: {name}, mean per CPU", f"reasons: {field}")


def _modes() -> Iterator[Column]:
    yield Column(
        "throughput_modes", "BIGINT", "groups that throughput falls into; NULL: too few trials to tell"
    )
    for name in ("high", "low"):
        yield from mean_columns(
            f"throughput_mode_{name}_bps", f"the {name} one of two modes", "throughput_modes"
        )


def _power(role: Role) -> Iterator[Column]:
    scope = f"reasons: {role}_power"
    yield Column(
        f"{role}_system_scope", "VARCHAR", "which watts are the system's, `psu-out`, `system` …", scope
    )
    yield Column(f"{role}_cpu_scope", "VARCHAR", "which watts are the CPU's", scope)
    for metric in POWER_METRICS:
        yield from _of_power(metric, role)


def _of_power(metric: PowerMetric, role: Role) -> Iterator[Column]:
    key = f"{role}_{metric.si_key}"
    yield from mean_columns(key, f"{power_title(metric)} of the {role}", f"reasons: {key}, or {role}_power")
    yield Column(
        f"{key}_provenance", "VARCHAR", "`measured`, `corrected`, `datasheet`, `estimate`, `simulated`"
    )
    if metric.bound:
        yield Column(f"{key}_uncertainty", "DOUBLE", "bound of its error, ±")


def _levels() -> Iterator[Column]:
    for role in ENDS:
        key = f"overall_score_{role}_mbps_per_w"
        yield Column(key, "DOUBLE", f"of its curve of load levels: Σ throughput ÷ Σ watts of the {role}")
        yield Column(f"{key}_provenance", "VARCHAR", "of its watts")
    yield Column("load_level_remark", "VARCHAR", "what makes the curve doubtful at this level")


def rows_of_cases(view: Digest) -> Iterator[dict[str, object]]:
    """A row a case: that of ``show --csv``, its result, and why values are missing."""
    for summary, row in zip(view.summaries, case_rows(view), strict=True):
        reasons = summary.reasons | power_reasons(summary)
        text = json.dumps(reasons, ensure_ascii=False) if reasons else None
        yield {"result": view.result.id} | row | {"reasons": text}
