# SPDX-License-Identifier: Apache-2.0
"""Rows that charts draw: plain data, each ``kind`` of row for one layer.

``mean`` rows have ``value`` and, when more than one trial has it, ``low`` and ``high`` one SD away; ``run``
rows are one trial each; ``ideal`` rows are linear growth from one instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics import formulas
from linewatt.analysis.metrics.unit import GBPS, MBPS, Unit
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Case, CpuShares, Role, Trial
from linewatt.report.columns import ROLES
from linewatt.report.series import Series, TestGroup, plural
from linewatt.units import BPS_PER_GBPS, format_percent, format_rate, format_significant, mbps_from_bps
from linewatt.units import percent_from_ratio as percent

Row = dict[str, Any]
Runs = Mapping[Case, Sequence[Trial]]

ENDS: tuple[tuple[Role, str], ...] = (("receiver", "Receiver (remote)"), ("sender", "Sender (local)"))
BUSY_SHARES = ("usr", "sys", "irq", "soft", "other")


def runs_of(trials: Iterable[Trial]) -> Runs:
    """The done trials of each case."""
    runs: dict[Case, list[Trial]] = {}
    for trial in trials:
        if trial.status == "done":
            runs.setdefault(trial.case, []).append(trial)
    return runs


def rate_unit(series: Iterable[Series]) -> Unit:
    """Gbps where the largest mean throughput is at least 1 Gbps, else Mbps."""
    means = [s.throughput_bps.mean for item in series for s in item.summaries if s.throughput_bps]
    return GBPS if max(means, default=0.0) >= BPS_PER_GBPS else MBPS


def throughput_rows(series: Series, runs: Runs, unit: Unit) -> list[Row]:
    """Means and runs of a series' throughput, in ``unit``."""
    rows: list[Row] = []
    for summary in series.summaries:
        if summary.throughput_bps is not None:
            base = {"series": series.label, "instances": summary.case.instances}
            rows.append(base | mean_row(summary.throughput_bps, unit.from_si))
            rows += run_rows(base, runs, summary, lambda trial: trial.throughput_bps, unit.from_si)
    return rows


def ideal_rows(series: Series, unit: Unit, top: float) -> list[Row]:
    """Ends of the line of linear growth from one instance, cut where it would leave the chart at ``top``."""
    first = series.summaries[0]
    if first.case.instances != 1 or first.throughput_bps is None:
        return []
    one = unit.from_si(first.throughput_bps.mean)
    most = min(float(series.summaries[-1].case.instances), top / one) if one > 0 else 0.0
    if most <= 1:
        return []
    return [
        {
            "kind": "ideal",
            "series": series.label,
            "instances": count,
            "value": count * one,
            "end": count == most,
        }
        for count in (1.0, most)
    ]


def efficiency_rows(series: Series, runs: Runs) -> list[Row]:
    """Means and runs of both ends' efficiency, in Mbps/core."""
    rows: list[Row] = []
    for summary in series.summaries:
        for role, name in ENDS:
            value: Estimate | None = getattr(summary, f"efficiency_{role}_bps_per_core")
            if value is not None:
                base = {"series": series.label, "instances": summary.case.instances, "end": name}
                rows.append(base | mean_row(value, mbps_from_bps))
                rows += run_rows(base, runs, summary, _efficiency(role), mbps_from_bps)
    return rows


def _efficiency(role: Role) -> Callable[[Trial], float | None]:
    def read(trial: Trial) -> float | None:
        end = trial.end(role)
        return formulas.efficiency_bps_per_core(trial.throughput_bps, None if end is None else end.cpu_cores)

    return read


def mean_row(value: Estimate, from_si: Callable[[float], float]) -> Row:
    """Mean and, with more than one trial, one SD to either side."""
    row: Row = {"kind": "mean", "value": from_si(value.mean)}
    if value.sd is not None:
        row |= {"low": from_si(max(0.0, value.mean - value.sd)), "high": from_si(value.mean + value.sd)}
    return row


def run_rows(
    base: Row,
    runs: Runs,
    summary: CaseSummary,
    read: Callable[[Trial], float | None],
    from_si: Callable[[float], float],
) -> list[Row]:
    """A row for each trial of a case that has the value."""
    values = [(trial.number, read(trial)) for trial in runs.get(summary.case, ())]
    return [
        base | {"kind": "run", "value": from_si(value), "trial": number}
        for number, value in values
        if value is not None
    ]


def share_rows(label: str, summary: CaseSummary) -> list[Row]:
    """Shares of each role's CPUs in percent, a row a share above 0; an ``unknown`` row for none."""
    rows: list[Row] = []
    for field, role in ROLES:
        shares: CpuShares | None = getattr(summary, field)
        base = {"case": label, "role": role}
        if shares is None:
            rows.append(base | {"kind": "unknown"})
            continue
        for order, name in enumerate(BUSY_SHARES):
            value = percent(getattr(shares, f"{name}_ratio"))
            if value > 0:
                rows.append(base | {"kind": "share", "share": name, "percent": value, "order": order})
    return rows


def top_of(rows: Sequence[Row]) -> float:
    """The largest value that rows draw, error bars included."""
    return max((max(row["value"], row.get("high", 0.0)) for row in rows), default=0.0)


def case_label(group: TestGroup, series: Series, summary: CaseSummary) -> str:
    """A case among those of all tests: ``TCP, 4 instances``, with its series where the test has several."""
    name = group.title if len(group.series) == 1 else series.title
    return f"{name}, {plural(summary.case.instances, 'instance')}"


def bar_label(series: Series) -> str:
    """A series of one case among all tests: complete, and with its instances unless there is one."""
    count = series.summaries[0].case.instances
    return series.title if count == 1 else f"{series.title}, {plural(count, 'instance')}"


def throughput_words(series: Series) -> str:
    """What a line shows, for whoever cannot see it."""
    points = [
        f"{plural(summary.case.instances, 'instance')} {format_rate(summary.throughput_bps.mean, 4)}"
        for summary in series.summaries
        if summary.throughput_bps
    ]
    return f"{series.label}: {', '.join(points)}"


def efficiency_words(series: Series, *, complete: bool = False) -> str:
    """What an efficiency chart shows of a series, for whoever cannot see it."""
    points = []
    for summary in series.summaries:
        ends = [
            f"{name.lower()} {format_significant(mbps_from_bps(value.mean))} Mbps/core"
            for role, name in ENDS
            if (value := getattr(summary, f"efficiency_{role}_bps_per_core")) is not None
        ]
        if ends:
            points.append(f"{plural(summary.case.instances, 'instance')} {' and '.join(ends)}")
    return f"{series.title if complete else series.label}: {', '.join(points)}"


def share_words(label: str, summary: CaseSummary) -> str:
    """How busy each role's CPUs were in a case, for whoever cannot see it."""
    busy = [
        f"{role} {format_percent(1 - shares.idle_ratio, 0)}"
        for field, role in ROLES
        if (shares := getattr(summary, field)) is not None
    ]
    return f"{label}: {', '.join(busy) or 'not measured'}"
