# SPDX-License-Identifier: Apache-2.0
"""The scalability table of a test: rows, what is missing from them and why, and a case as a flat export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.statistics.modes import FEWEST_RUNS
from linewatt.model import Case, CpuShares
from linewatt.report.columns import COLUMNS, MORE_COLUMNS, ROLES, SHARES, Cell, Column
from linewatt.report.findings import Marks
from linewatt.report.power_columns import export_power
from linewatt.report.series import Series, TestGroup


def shown_columns(summaries: Sequence[CaseSummary]) -> tuple[Column, ...]:
    """Columns that apply to these cases and have at least one value among them."""
    return tuple(column for column in COLUMNS if column.applies(summaries) and column.has_values(summaries))


@dataclass(frozen=True, slots=True)
class Absence:
    """Columns that lack values for one reason, and the cases that do; ``None`` when all cases do."""

    titles: tuple[str, ...]
    cases: str | None
    reason: str

    @property
    def sentence(self) -> str:
        """The whole as one line of text."""
        return f"{', '.join(self.titles)}: {f'{self.cases}: ' if self.cases else ''}{self.reason}"


def absences(group: TestGroup) -> tuple[Absence, ...]:
    """Why values of columns that apply are missing: nothing goes missing unsaid."""
    found: dict[tuple[str, tuple[Case, ...]], list[str]] = {}
    for column in COLUMNS:
        if column.applies(group.summaries):
            for reason, lacking in _lacking(column, group.summaries).items():
                found.setdefault((reason, tuple(lacking)), []).append(column.title)
    return tuple(
        Absence(
            tuple(titles), None if len(lacking) == len(group.summaries) else _names(group, lacking), reason
        )
        for (reason, lacking), titles in found.items()
    )


def _lacking(column: Column, summaries: Sequence[CaseSummary]) -> dict[str, list[Case]]:
    """Cases that lack the column's value, by reason."""
    lacking: dict[str, list[Case]] = {}
    for summary in summaries:
        reason = summary.reasons.get(column.field)
        if reason is not None and not (column.trivial and summary.case.instances == 1):
            lacking.setdefault(reason, []).append(summary.case)
    return lacking


def _names(group: TestGroup, lacking: Sequence[Case]) -> str:
    """``h1 → h2, IPv6: 1, 2 instances``; only instances where the test has one series."""
    names = []
    for series in group.series:
        counts = [summary.case.instances for summary in series.summaries if summary.case in lacking]
        if counts:
            count = f"{', '.join(map(str, counts))} {'instance' if counts == [1] else 'instances'}"
            names.append(count if len(group.series) == 1 else f"{series.label}, {count}")
    return "; ".join(names)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One case: its cells in column order, and the letters of the findings that concern it."""

    series: Series
    summary: CaseSummary
    cells: tuple[Cell, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The scalability table of one test, each column with the unit it is in."""

    group: TestGroup
    columns: tuple[tuple[Column, Unit], ...]
    rows: tuple[TableRow, ...]
    absent: tuple[Absence, ...]

    @property
    def title(self) -> str:
        """The test, and the series where there is only one."""
        return self.group.series[0].title if len(self.group.series) == 1 else self.group.title


def scalability_table(group: TestGroup, marks: Marks) -> Table:
    """The table of a test: columns with values only, a row a case."""
    summaries = group.summaries
    columns = tuple((column, column.unit(summaries)) for column in shown_columns(summaries))
    rows = [_row(series, summary, columns, marks) for series in group.series for summary in series.summaries]
    return Table(group, columns, tuple(rows), absences(group))


def _row(
    series: Series,
    summary: CaseSummary,
    columns: Sequence[tuple[Column, Unit]],
    marks: Marks,
) -> TableRow:
    return TableRow(
        series=series,
        summary=summary,
        cells=tuple(
            replace(column.cell(summary, unit), doubts=marks.cell(summary.case, column.figure, column.role))
            for column, unit in columns
        ),
        marks=marks.row(summary.case),
    )


def export_case(summary: CaseSummary) -> dict[str, Any]:
    """One flat row of JSON or CSV: parameters, counts, every column in SI, shares of every role."""
    case = summary.case
    row: dict[str, Any] = {
        "test": case.test,
        "sender": case.sender,
        "receiver": case.receiver,
        **{name: value for name, value in case.parameters.items() if name != "test"},
        "load_level": case.load_level,
        "case_key": case.key,
        "trials_done": summary.trials_done,
        "trials_failed": summary.trials_failed,
    }
    for column in COLUMNS + MORE_COLUMNS:
        row |= column.export(summary)
    for field, _ in ROLES:
        row |= _export_shares(field, getattr(summary, field))
    row |= _export_modes(summary)
    row |= export_power(summary)
    row["flags_count"] = len(summary.flags)
    row["flags"] = " ".join(flag.code for flag in summary.flags)
    return row


def _export_modes(summary: CaseSummary) -> dict[str, Any]:
    """How many modes throughput has, where there are runs enough to tell, and both if there are two."""
    runs = summary.throughput_bps.n if summary.throughput_bps else 0
    found = summary.modes
    row: dict[str, Any] = {"throughput_modes": 2 if found else 1 if runs >= FEWEST_RUNS else None}
    for name, mode in (("high", found and found.high), ("low", found and found.low)):
        row[f"throughput_mode_{name}_bps_mean"] = mode and mode.mean
        row[f"throughput_mode_{name}_bps_sd"] = mode and mode.sd
        row[f"throughput_mode_{name}_bps_n"] = mode.n if mode else 0
    return row


def _export_shares(field: str, shares: CpuShares | None) -> dict[str, Any]:
    known = None if shares is None or shares.unnumbered else shares.cpus
    row: dict[str, Any] = {f"{field}_cpus": None if known is None else " ".join(map(str, known))}
    for name in SHARES:
        row[f"{field}_{name}_ratio"] = None if shares is None else getattr(shares, f"{name}_ratio")
    return row
